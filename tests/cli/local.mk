# tests of cli
CLI_TESTS = \
	tests/cli/ahead.t \
	tests/cli/append.t \
	tests/cli/archive.t \
	tests/cli/bad_input.t \
	tests/cli/careless.t \
	tests/cli/csv.t \
	tests/cli/clock.t \
	tests/cli/cut_full.t \
	tests/cli/denied.t \
	tests/cli/disk_full.t \
	tests/cli/files.t \
	tests/cli/hostile.t \
	tests/cli/jsonl.t \
	tests/cli/limits.t \
	tests/cli/messages.t \
	tests/cli/kill.t \
	tests/cli/no_inode.t \
	tests/cli/npy.t \
	tests/cli/power.t tests/cli/power_file.t \
	tests/cli/pauses.t \
	tests/cli/program.t \
	tests/cli/prune.t \
	tests/cli/read.t \
	tests/cli/recover.t \
	tests/cli/recover_full.t \
	tests/cli/roundtrip.t \
	tests/cli/standing.t \
	tests/cli/status.t \
	tests/cli/storm.t \
	tests/cli/surroundings.t \
	tests/cli/tail.t
TESTS += $(CLI_TESTS)
EXTRA_DIST += $(CLI_TESTS) tests/cli/roundtrip.py tests/cli/status.py

tests/cli/power.log tests/cli/power_file.log tests/cli/cut_full.log: tests/live/age_mark

# what the tests preload into the program
check_LTLIBRARIES += tests/lib/preload.la
tests_lib_preload_la_SOURCES = tests/lib/preload.c
tests_lib_preload_la_LDFLAGS = -module -avoid-version -shared -rpath $(abs_builddir)
tests_lib_preload_la_LIBADD = -ldl
tests/cli/surroundings.log tests/cli/clock.log tests/cli/limits.log: tests/lib/preload.la
TESTS += tests/cli/tail_cut.t
EXTRA_DIST += tests/cli/tail_cut.t
EXTRA_DIST += tests/cli/power.sh

# a feed that a full disk does not end
check_PROGRAMS += tests/cli/patient_feed
tests_cli_patient_feed_SOURCES = tests/cli/patient_feed.c
tests_cli_patient_feed_LDADD = libticktail.la
tests/cli/standing.log tests/cli/no_inode.log tests/cli/denied.log: tests/cli/patient_feed$(EXEEXT)
