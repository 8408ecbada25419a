# benchmarks: make bench builds and runs them, nothing else does
BENCHES += bench/append_latency
EXTRA_PROGRAMS += bench/append_latency
CLEANFILES += bench/append_latency$(EXEEXT)
bench_append_latency_SOURCES = bench/append_latency.c bench/bench.h
bench_append_latency_LDADD = libticktail.la
EXTRA_DIST += bench/README.md
