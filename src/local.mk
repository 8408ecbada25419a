# libttbase: base + format; libttlive: live; libttstaged: staged; libttarchive: archive.
# Tests link these; the world links the exported ones, each with its own version script.
noinst_LTLIBRARIES += libttbase.la libttlive.la libttstaged.la libttarchive.la
libttbase_la_CFLAGS = $(AM_CFLAGS) $(TT_HIDDEN)
libttbase_la_SOURCES =
libttlive_la_CFLAGS = $(AM_CFLAGS) $(TT_HIDDEN)
libttlive_la_SOURCES =
libttlive_la_LIBADD = libttbase.la
libttstaged_la_CPPFLAGS = $(AM_CPPFLAGS) $(CRYPTO_CFLAGS)
libttstaged_la_CFLAGS = $(AM_CFLAGS) $(TT_HIDDEN)
libttstaged_la_SOURCES =
libttarchive_la_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CFLAGS) $(URING_CFLAGS) $(CRYPTO_CFLAGS)
libttarchive_la_CFLAGS = $(AM_CFLAGS) $(TT_HIDDEN)
libttarchive_la_SOURCES =
libttarchive_la_LIBADD = libttstaged.la
TT_ARCHIVE_LIBS = $(HDF5_LIBS) $(URING_LIBS) $(CRYPTO_LIBS) $(LZF_LIBS) $(ZLIB_LIBS) -lm

# -version-info current:revision:age; changed in a release commit only (HACKING has the rules).
lib_LTLIBRARIES += libticktail.la
libticktail_la_SOURCES =
libticktail_la_LIBADD = libttlive.la
libticktail_la_LDFLAGS = $(AM_LDFLAGS) -no-undefined -version-info 0:0:0 \
	-Wl,--version-script=$(srcdir)/src/libticktail.map
EXTRA_libticktail_la_DEPENDENCIES = src/libticktail.map
# The archive library carries its own copy of base and format (pure functions, hidden) and
# calls the live room through its public header only.
if TT_ARCHIVE
lib_LTLIBRARIES += libticktail-archive.la
endif
libticktail_archive_la_SOURCES =
libticktail_archive_la_LIBADD = libttarchive.la libttbase.la libticktail.la $(TT_ARCHIVE_LIBS)
libticktail_archive_la_LDFLAGS = $(AM_LDFLAGS) -no-undefined -version-info 0:0:0 \
	-Wl,--version-script=$(srcdir)/src/libticktail-archive.map
EXTRA_libticktail_archive_la_DEPENDENCIES = src/libticktail-archive.map
EXTRA_DIST += src/libticktail.map src/libticktail-archive.map

# What has failpoints, compiled once more with them, for the crash tests only.  These link the
# objects themselves, ahead of the rooms' libraries: of an archive the linker might take the
# room's own object of the same functions.
EXTRA_LIBRARIES += libttfail_live.a
libttfail_live_a_CPPFLAGS = $(AM_CPPFLAGS) -DTTI_FAILPOINTS
libttfail_live_a_SOURCES = src/base/failpoint.c
if TT_ARCHIVE
EXTRA_LIBRARIES += libttfail_archive.a
endif
libttfail_archive_a_CPPFLAGS = $(libttarchive_la_CPPFLAGS) -DTTI_FAILPOINTS
libttfail_archive_a_SOURCES =
FAIL_LIVE_LIBS = $(libttfail_live_a_OBJECTS) libttlive.la libttbase.la
FAIL_ARCHIVE_LIBS = $(libttfail_archive_a_OBJECTS) $(libttfail_live_a_OBJECTS) \
	libttarchive.la libttlive.la libttbase.la $(TT_ARCHIVE_LIBS)

include src/base/local.mk
include src/format/local.mk
include src/live/local.mk
if TT_ARCHIVE
include src/staged/local.mk
include src/archive/local.mk
endif

ticktailincludedir = $(includedir)/ticktail
ticktailinclude_HEADERS = \
	include/ticktail/archive.h \
	include/ticktail/dtype.h \
	include/ticktail/error.h \
	include/ticktail/file.h \
	include/ticktail/npy.h \
	include/ticktail/recover.h \
	include/ticktail/ring.h \
	include/ticktail/staged.h \
	include/ticktail/status.h \
	include/ticktail/ticktail.h \
	include/ticktail/time.h
