# recovering files and rings
check_PROGRAMS += tests/live/test_recover
TESTS += tests/live/test_recover
tests_live_test_recover_SOURCES = tests/live/test_recover.c tests/live/ring_help.h
tests_live_test_recover_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_recover_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/live/test_recover_doubt
TESTS += tests/live/test_recover_doubt
tests_live_test_recover_doubt_SOURCES = tests/live/test_recover_doubt.c tests/live/age_mark.h \
	tests/live/reboot_help.h tests/live/ring_help.h
tests_live_test_recover_doubt_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_recover_doubt_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/live/crash_recover
tests_live_crash_recover_SOURCES = tests/live/crash_recover.c
tests_live_crash_recover_CPPFLAGS = $(TEST_CPPFLAGS) -DTTI_FAILPOINTS
tests_live_crash_recover_LDADD = libttfail.la
TESTS += tests/live/crash_recover.t
EXTRA_DIST += tests/live/crash_recover.t
tests/live/crash_recover.log: tests/live/crash_recover$(EXEEXT)
