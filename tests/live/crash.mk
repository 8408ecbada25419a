# Each failpoint in turn; linked with the rooms that have them compiled in.  A script walks a
# program through the names that it lists; crash_file does so itself.
CRASH_CPPFLAGS = $(AM_CPPFLAGS) -DTTI_FAILPOINTS
CRASH_LIBS = tests/lib/libhelp.la $(FAIL_LIVE_LIBS) $(CHECK_LIBS)
CRASH_WALKED = \
	tests/live/crash_file_mark \
	tests/live/crash_helper \
	tests/live/crash_reboot \
	tests/live/crash_recover \
	tests/live/crash_ring \
	tests/live/crash_unproven
CRASH_WALKS = \
	tests/live/crash_file_mark.t \
	tests/live/crash_helper.t \
	tests/live/crash_reboot.t \
	tests/live/crash_recover.t \
	tests/live/crash_ring.t \
	tests/live/crash_unproven.t \
	tests/live/crash_names.t

check_PROGRAMS += tests/live/crash_file $(CRASH_WALKED)
TESTS += tests/live/crash_file $(CRASH_WALKS)
EXTRA_DIST += $(CRASH_WALKS) tests/live/crash_file.names tests/live/crash_helper.names

tests_live_crash_file_CPPFLAGS = $(CRASH_CPPFLAGS)
tests_live_crash_file_LDADD = $(CRASH_LIBS)
tests_live_crash_file_mark_CPPFLAGS = $(CRASH_CPPFLAGS)
tests_live_crash_file_mark_LDADD = $(CRASH_LIBS)
tests_live_crash_helper_CPPFLAGS = $(CRASH_CPPFLAGS)
tests_live_crash_helper_LDADD = $(CRASH_LIBS)
tests_live_crash_reboot_CPPFLAGS = $(CRASH_CPPFLAGS)
tests_live_crash_reboot_LDADD = $(CRASH_LIBS)
tests_live_crash_recover_CPPFLAGS = $(CRASH_CPPFLAGS)
tests_live_crash_recover_LDADD = $(CRASH_LIBS)
tests_live_crash_ring_CPPFLAGS = $(CRASH_CPPFLAGS)
tests_live_crash_ring_LDADD = $(CRASH_LIBS)
tests_live_crash_unproven_CPPFLAGS = $(CRASH_CPPFLAGS)
tests_live_crash_unproven_LDADD = $(CRASH_LIBS)

tests/live/crash_file_mark.log: tests/live/crash_file_mark$(EXEEXT)
tests/live/crash_helper.log: tests/live/crash_helper$(EXEEXT)
tests/live/crash_reboot.log: tests/live/crash_reboot$(EXEEXT)
tests/live/crash_recover.log: tests/live/crash_recover$(EXEEXT)
tests/live/crash_ring.log: tests/live/crash_ring$(EXEEXT)
tests/live/crash_unproven.log: tests/live/crash_unproven$(EXEEXT)
