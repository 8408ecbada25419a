# tests of the benchmarks: that they run and say both sides; nothing is timed
TESTS += tests/bench/smoke.t
EXTRA_DIST += tests/bench/smoke.t

tests/bench/smoke.log: $(BENCHES)
