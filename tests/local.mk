# Compiled tests link the rooms' convenience libraries and reach internal symbols.
TEST_CPPFLAGS = $(libttarchive_la_CPPFLAGS) $(CHECK_CFLAGS) -I$(top_srcdir)/tests
TEST_LIBS = libttarchive.la libttlive.la libttbase.la $(TT_ARCHIVE_LIBS) $(CHECK_LIBS)

include tests/base/local.mk
include tests/format/local.mk
include tests/fuzz/local.mk
include tests/live/local.mk
if TT_ARCHIVE
include tests/archive/local.mk
include tests/cli/local.mk
include tests/examples/local.mk
include tests/bench/local.mk
include tests/interop/local.mk
include tests/lint/local.mk
endif
EXTRA_DIST += tests/functions.sh
