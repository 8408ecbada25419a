# tests of live
LIVE_TEST_SOURCES = \
	tests/lib/mp.c tests/lib/mp.h \
	tests/lib/tmpdir.c tests/lib/tmpdir.h \
	tests/live/file_helpers.c tests/live/file_helpers.h
LIVE_TEST_LIBS = libttlive.la libttbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/live/test_file
TESTS += tests/live/test_file
tests_live_test_file_SOURCES = tests/live/test_file.c $(LIVE_TEST_SOURCES)
tests_live_test_file_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_file_LDADD = $(LIVE_TEST_LIBS)

check_PROGRAMS += tests/live/test_file_resize
TESTS += tests/live/test_file_resize
tests_live_test_file_resize_SOURCES = tests/live/test_file_resize.c $(LIVE_TEST_SOURCES)
tests_live_test_file_resize_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_file_resize_LDADD = $(LIVE_TEST_LIBS)

check_PROGRAMS += tests/live/test_file_ops
TESTS += tests/live/test_file_ops
tests_live_test_file_ops_SOURCES = tests/live/test_file_ops.c $(LIVE_TEST_SOURCES)
tests_live_test_file_ops_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_file_ops_LDADD = $(LIVE_TEST_LIBS)

check_PROGRAMS += tests/live/test_file_bad
TESTS += tests/live/test_file_bad
tests_live_test_file_bad_SOURCES = tests/live/test_file_bad.c $(LIVE_TEST_SOURCES)
tests_live_test_file_bad_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_file_bad_LDADD = $(LIVE_TEST_LIBS)

check_PROGRAMS += tests/live/test_file_mp
TESTS += tests/live/test_file_mp
tests_live_test_file_mp_SOURCES = tests/live/test_file_mp.c $(LIVE_TEST_SOURCES)
tests_live_test_file_mp_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_file_mp_LDADD = $(LIVE_TEST_LIBS)

check_PROGRAMS += tests/live/test_file_threads
TESTS += tests/live/test_file_threads
tests_live_test_file_threads_SOURCES = tests/live/test_file_threads.c $(LIVE_TEST_SOURCES)
tests_live_test_file_threads_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_file_threads_LDADD = $(LIVE_TEST_LIBS)

check_PROGRAMS += tests/live/test_file_storm
TESTS += tests/live/test_file_storm
tests_live_test_file_storm_SOURCES = tests/live/test_file_storm.c $(LIVE_TEST_SOURCES)
tests_live_test_file_storm_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_file_storm_LDADD = $(LIVE_TEST_LIBS)

check_PROGRAMS += tests/live/test_golden
TESTS += tests/live/test_golden
tests_live_test_golden_SOURCES = tests/live/test_golden.c $(LIVE_TEST_SOURCES)
tests_live_test_golden_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_golden_LDADD = $(LIVE_TEST_LIBS)

# The build with failpoints; the names that the test walks through are in one list.
check_PROGRAMS += tests/live/crash_file
TESTS += tests/live/crash_file tests/live/crash_names.t
EXTRA_DIST += tests/live/crash_file.names tests/live/crash_names.t
tests_live_crash_file_SOURCES = tests/live/crash_file.c $(LIVE_TEST_SOURCES)
tests_live_crash_file_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_crash_file_LDADD = libttfail.la $(CHECK_LIBS)

include tests/live/ring.mk
include tests/live/upkeep.mk
include tests/live/power.mk
include tests/live/recover.mk
