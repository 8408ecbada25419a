# tests of rings
check_PROGRAMS += tests/live/test_ring
TESTS += tests/live/test_ring
tests_live_test_ring_SOURCES = tests/live/test_ring.c tests/live/ring_help.h
tests_live_test_ring_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_ring_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/live/test_ring_upkeep
TESTS += tests/live/test_ring_upkeep
tests_live_test_ring_upkeep_SOURCES = tests/live/test_ring_upkeep.c tests/live/ring_help.h
tests_live_test_ring_upkeep_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_ring_upkeep_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)

# every failpoint of the ring code; linked with the rooms that have them compiled in
check_PROGRAMS += tests/live/crash_ring
tests_live_crash_ring_SOURCES = tests/live/crash_ring.c
tests_live_crash_ring_CPPFLAGS = $(TEST_CPPFLAGS) -DTTI_FAILPOINTS
tests_live_crash_ring_LDADD = libttfail.la
TESTS += tests/live/crash_ring.t
EXTRA_DIST += tests/live/crash_ring.t tests/live/crash_helper.names
tests/live/crash_ring.log: tests/live/crash_ring$(EXEEXT)

check_PROGRAMS += tests/live/prop_ring
TESTS += tests/live/prop_ring
tests_live_prop_ring_SOURCES = tests/live/prop_ring.c tests/live/ring_help.h \
	tests/lib/mp.c tests/lib/mp.h
tests_live_prop_ring_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_prop_ring_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)


# marks, and the tool that makes them look old
check_PROGRAMS += tests/live/test_mark tests/live/age_mark
TESTS += tests/live/test_mark
tests_live_test_mark_SOURCES = tests/live/test_mark.c tests/live/age_mark.h \
	tests/live/ring_help.h
tests_live_test_mark_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_mark_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)
tests_live_age_mark_SOURCES = tests/live/age_mark.c tests/live/age_mark.h
tests_live_age_mark_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_age_mark_LDADD = libttlive.la libttbase.la

check_PROGRAMS += tests/live/test_status tests/live/test_register
TESTS += tests/live/test_status tests/live/test_register
tests_live_test_status_SOURCES = tests/live/test_status.c tests/live/ring_help.h \
	tests/lib/mp.c tests/lib/mp.h
tests_live_test_status_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_status_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)
tests_live_test_register_SOURCES = tests/live/test_register.c tests/live/ring_help.h \
	tests/lib/mp.c tests/lib/mp.h
tests_live_test_register_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_register_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)
check_PROGRAMS += tests/live/test_ring_damage
TESTS += tests/live/test_ring_damage
tests_live_test_ring_damage_SOURCES = tests/live/test_ring_damage.c tests/live/ring_help.h
tests_live_test_ring_damage_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_ring_damage_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)

# the two threads of a process's writers
check_PROGRAMS += tests/live/test_helper
TESTS += tests/live/test_helper
tests_live_test_helper_SOURCES = tests/live/test_helper.c tests/live/ring_help.h \
	tests/lib/mp.c tests/lib/mp.h
tests_live_test_helper_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_helper_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/live/crash_helper
tests_live_crash_helper_SOURCES = tests/live/crash_helper.c
tests_live_crash_helper_CPPFLAGS = $(TEST_CPPFLAGS) -DTTI_FAILPOINTS
tests_live_crash_helper_LDADD = libttfail.la
TESTS += tests/live/crash_helper.t
EXTRA_DIST += tests/live/crash_helper.t
tests/live/crash_helper.log: tests/live/crash_helper$(EXEEXT)

check_PROGRAMS += tests/live/test_reboot
TESTS += tests/live/test_reboot
tests_live_test_reboot_SOURCES = tests/live/test_reboot.c tests/live/age_mark.h \
	tests/live/reboot_help.h tests/live/ring_help.h
tests_live_test_reboot_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_reboot_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/live/crash_reboot
tests_live_crash_reboot_SOURCES = tests/live/crash_reboot.c tests/live/age_mark.h \
	tests/live/reboot_help.h tests/live/ring_help.h
tests_live_crash_reboot_CPPFLAGS = $(TEST_CPPFLAGS) -DTTI_FAILPOINTS
tests_live_crash_reboot_LDADD = libttfail.la $(CHECK_LIBS)
TESTS += tests/live/crash_reboot.t
EXTRA_DIST += tests/live/crash_reboot.t
tests/live/crash_reboot.log: tests/live/crash_reboot$(EXEEXT)
check_PROGRAMS += tests/live/test_wait
TESTS += tests/live/test_wait
tests_live_test_wait_SOURCES = tests/live/test_wait.c tests/live/ring_help.h \
	tests/lib/mp.c tests/lib/mp.h
tests_live_test_wait_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_wait_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/live/test_file_mark
TESTS += tests/live/test_file_mark
tests_live_test_file_mark_SOURCES = tests/live/test_file_mark.c tests/live/age_mark.h \
	tests/live/ring_help.h
tests_live_test_file_mark_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_file_mark_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/live/crash_file_mark
tests_live_crash_file_mark_SOURCES = tests/live/crash_file_mark.c tests/live/age_mark.h \
	tests/live/ring_help.h
tests_live_crash_file_mark_CPPFLAGS = $(TEST_CPPFLAGS) -DTTI_FAILPOINTS
tests_live_crash_file_mark_LDADD = libttfail.la $(CHECK_LIBS)
TESTS += tests/live/crash_file_mark.t
EXTRA_DIST += tests/live/crash_file_mark.t
tests/live/crash_file_mark.log: tests/live/crash_file_mark$(EXEEXT)
