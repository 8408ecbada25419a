# Compiled tests link the rooms' convenience libraries and reach internal symbols.  A program
# that says nothing else is one source file of its own name, linked with live and check.
AM_CPPFLAGS += $(CHECK_CFLAGS) -I$(top_srcdir)/tests
TEST_CPPFLAGS = $(libttarchive_la_CPPFLAGS)
TEST_LIBS = libttarchive.la libttlive.la libttbase.la $(TT_ARCHIVE_LIBS) $(CHECK_LIBS)
LDADD = tests/lib/libhelp.la libttlive.la libttbase.la $(CHECK_LIBS)

# processes, directories and files of the tests
check_LTLIBRARIES += tests/lib/libhelp.la
tests_lib_libhelp_la_SOURCES = \
	tests/lib/mp.c tests/lib/mp.h \
	tests/lib/quiet_thread.c tests/lib/quiet_thread.h \
	tests/lib/sanitizers.h tests/lib/suite.h \
	tests/lib/tmpdir.c tests/lib/tmpdir.h tests/lib/until.h \
	tests/live/crash_help.c tests/live/crash_help.h tests/live/crash_suite.h \
	tests/live/file_helpers.c tests/live/file_helpers.h

# the longest first, so that none is left over alone at the end
if TT_ARCHIVE
include tests/interop/local.mk
include tests/cli/local.mk
endif
include tests/base/local.mk
include tests/format/local.mk
include tests/fuzz/local.mk
include tests/live/local.mk
if TT_ARCHIVE
include tests/staged/local.mk
include tests/archive/local.mk
include tests/examples/local.mk
include tests/bench/local.mk
include tests/lint/local.mk
endif
EXTRA_DIST += tests/functions.sh tests/lib/valgrind.supp
