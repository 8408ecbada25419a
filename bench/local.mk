# benchmarks: make bench runs them; make check builds them and sees that each speaks
BENCH_COMMON = bench/bench.c bench/machine.c bench/bench.h
BENCHES += \
	bench/append_latency \
	bench/append_peers \
	bench/append_rate \
	bench/roll_stall \
	bench/reader_latency \
	bench/fanout \
	bench/scan
check_PROGRAMS += $(BENCHES)
bench_append_latency_SOURCES = bench/append_latency.c bench/split_limit.h $(BENCH_COMMON)
bench_append_latency_LDADD = bench/libsplit_limit.la libticktail.la
# shared, in whatever way libticktail is built: what a call into a library costs
check_LTLIBRARIES += bench/libsplit_limit.la
bench_libsplit_limit_la_SOURCES = bench/split_limit.c bench/split_limit.h
bench_libsplit_limit_la_LDFLAGS = -avoid-version -shared -rpath $(abs_builddir)
bench_append_peers_SOURCES = bench/append_peers.c bench/peers.h bench/peer_lmdb.c \
	bench/peer_sqlite.c bench/peer_hdf5.c $(BENCH_COMMON)
bench_append_peers_CPPFLAGS = $(AM_CPPFLAGS) -include config.h $(LMDB_CFLAGS) $(SQLITE_CFLAGS) \
	$(HDF5_CFLAGS)
bench_append_peers_LDADD = libticktail.la $(LMDB_LIBS) $(SQLITE_LIBS) $(HDF5_HL_LIBS)
bench_append_rate_SOURCES = bench/append_rate.c $(BENCH_COMMON)
bench_append_rate_LDADD = libticktail.la
bench_roll_stall_SOURCES = bench/roll_stall.c $(BENCH_COMMON)
bench_roll_stall_LDADD = libticktail.la
bench_reader_latency_SOURCES = bench/reader_latency.c $(BENCH_COMMON)
bench_reader_latency_LDADD = libticktail.la
bench_fanout_SOURCES = bench/fanout.c $(BENCH_COMMON)
bench_fanout_LDADD = libticktail.la
bench_scan_SOURCES = bench/scan.c $(BENCH_COMMON)
bench_scan_LDADD = libticktail.la
if TT_ARCHIVE
BENCHES += bench/staged
bench_staged_SOURCES = bench/staged.c bench/staged_cases.c bench/staged_cases.h \
	$(BENCH_COMMON)
bench_staged_CPPFLAGS = $(AM_CPPFLAGS) $(CRYPTO_CFLAGS)
bench_staged_LDADD = libticktail-archive.la libticktail.la $(CRYPTO_LIBS)
endif
EXTRA_DIST += bench/staged_python.py bench/README.md bench/run.sh bench/table.sh bench/table.awk
