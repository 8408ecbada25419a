# Macros of this project.  SPDX-License-Identifier: Apache-2.0

# TT_WARNINGS: the warnings the tree is clean under; -Werror only on request.
AC_DEFUN([TT_WARNINGS],
[AC_ARG_ENABLE([werror],
	[AS_HELP_STRING([--enable-werror],[treat compiler warnings as errors])])
TT_WARN=
for tt_flag in -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wundef -Wold-style-definition; do
	TT_TRY_CFLAG([$tt_flag],[TT_WARN="$TT_WARN $tt_flag"])
done
AS_IF([test "x$enable_werror" = xyes],[TT_WARN="$TT_WARN -Werror"])
AC_SUBST([TT_WARN])])

# TT_TRY_CFLAG(FLAG, IF-ACCEPTED)
AC_DEFUN([TT_TRY_CFLAG],
[tt_saved_CFLAGS=$CFLAGS
CFLAGS="$CFLAGS -Werror $1"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([],[])],[$2])
CFLAGS=$tt_saved_CFLAGS])

AC_DEFUN([TT_VISIBILITY],
[TT_HIDDEN=
TT_TRY_CFLAG([-fvisibility=hidden],[TT_HIDDEN=-fvisibility=hidden])
AC_SUBST([TT_HIDDEN])])

# --enable-sanitize=LIST: as the compiler's -fsanitize, proved to link.
AC_DEFUN([TT_ARG_SANITIZE],
[AC_ARG_ENABLE([sanitize],
	[AS_HELP_STRING([--enable-sanitize=LIST],
		[build with -fsanitize=LIST, for example address,undefined])])
TT_SAN=
AS_CASE(["$enable_sanitize"],[''|no],[enable_sanitize=],
	[yes],[AC_MSG_ERROR([--enable-sanitize needs a list, for example address,undefined])],
	[TT_SAN="-fsanitize=$enable_sanitize -fno-sanitize-recover=all -fno-omit-frame-pointer"
	tt_saved_CFLAGS=$CFLAGS
	CFLAGS="$CFLAGS $TT_SAN"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([],[])],[],
		[AC_MSG_ERROR([$CC cannot link with $TT_SAN])])
	CFLAGS=$tt_saved_CFLAGS])
AC_SUBST([TT_SAN])
AM_CONDITIONAL([TT_SANITIZED],[test -n "$enable_sanitize"])])

# --enable-fuzzers: link the fuzz targets with libFuzzer instead of the replayer.
AC_DEFUN([TT_ARG_FUZZERS],
[AC_ARG_ENABLE([fuzzers],
	[AS_HELP_STRING([--enable-fuzzers],[build libFuzzer programs (needs CC=clang)])])
TT_FUZZ=
AS_IF([test "x$enable_fuzzers" = xyes],
	[TT_FUZZ=-fsanitize=fuzzer
	tt_saved_CFLAGS=$CFLAGS
	CFLAGS="$CFLAGS -fsanitize=fuzzer-no-link"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([],[])],[],
		[AC_MSG_ERROR([$CC does not know -fsanitize=fuzzer; use CC=clang])])
	CFLAGS=$tt_saved_CFLAGS
	TT_SAN="$TT_SAN -fsanitize=fuzzer-no-link"])
AC_SUBST([TT_FUZZ])
AM_CONDITIONAL([TT_FUZZERS],[test "x$enable_fuzzers" = xyes])])

# Everything missing is named at once, with the packages that bring it.
# --without-archive: libticktail alone, which needs libc, and its tests.
AC_DEFUN([TT_ARG_ARCHIVE],
[AC_ARG_WITH([archive],
	[AS_HELP_STRING([--without-archive],
		[build only libticktail, without the archive and the program])],
	[],[with_archive=yes])
AM_CONDITIONAL([TT_ARCHIVE],[test "$with_archive" != no])])

AC_DEFUN([TT_CHECK_DEPENDENCIES],
[tt_missing=
PKG_CHECK_MODULES([CHECK],[check >= 0.15],
	[tt_check_version=`$PKG_CONFIG --modversion check`],
	[tt_missing="$tt_missing check>=0.15(check)"])
AS_IF([test "$with_archive" != no],[TT_ARCHIVE_DEPENDENCIES],[tt_archive_words=no])
AS_IF([test -n "$tt_missing"],
	[AC_MSG_ERROR([missing:$tt_missing
On Debian or Ubuntu ./bootstrap installs them; by hand: apt-get install libhdf5-dev liburing-dev libssl-dev check libjson-c-dev liblzf-dev libcsv-dev zlib1g-dev])])])

# What the archive and the program need besides.
AC_DEFUN([TT_ARCHIVE_DEPENDENCIES],
[TT_FIND_HDF5
PKG_CHECK_MODULES([URING],[liburing >= 2.3],
	[tt_liburing_version=`$PKG_CONFIG --modversion liburing`],
	[tt_missing="$tt_missing liburing>=2.3(liburing-dev)"])
PKG_CHECK_MODULES([CRYPTO],[libcrypto >= 3.0],
	[tt_libcrypto_version=`$PKG_CONFIG --modversion libcrypto`],
	[tt_missing="$tt_missing libcrypto>=3.0(libssl-dev)"])
PKG_CHECK_MODULES([JSONC],[json-c >= 0.15],[],
	[tt_missing="$tt_missing json-c>=0.15(libjson-c-dev)"])
TT_FIND_LIBRARY([LZF],[lzf_compress],[lzf],[liblzf/lzf.h lzf.h],[liblzf-dev])
TT_FIND_LIBRARY([CSV],[csv_parse],[csv],[csv.h],[libcsv-dev])
TT_FIND_LIBRARY([ZLIB],[compress2],[z],[zlib.h],[zlib1g-dev])
tt_archive_words="HDF5 $tt_hdf5_version ($tt_hdf5_from), liburing $tt_liburing_version, libcrypto $tt_libcrypto_version"])

# TT_FIND_LIBRARY(PREFIX, FUNCTION, LIBRARY, HEADERS, PACKAGE): for libraries without a .pc file.
AC_DEFUN([TT_FIND_LIBRARY],
[tt_saved_LIBS=$LIBS
tt_found=no
AC_CHECK_HEADERS([$4],[tt_found=yes; break])
AC_CHECK_LIB([$3],[$2],[$1_LIBS=-l$3],[tt_found=no])
LIBS=$tt_saved_LIBS
AS_IF([test $tt_found = no],[tt_missing="$tt_missing $3($5)"])
AC_SUBST([$1_LIBS])])

# HDF5 is "hdf5" or "hdf5-serial" to pkg-config on Debian; elsewhere h5cc knows.
AC_DEFUN([TT_FIND_HDF5],
[tt_hdf5_from=
AC_ARG_VAR([H5CC],[the h5cc compiler wrapper of the HDF5 to use])
AS_IF([test -z "$H5CC"],
	[PKG_CHECK_MODULES([HDF5],[hdf5-serial >= 1.10.8],
		[tt_hdf5_from="pkg-config hdf5-serial"],
		[PKG_CHECK_MODULES([HDF5],[hdf5 >= 1.10.8],[tt_hdf5_from="pkg-config hdf5"],[:])])])
AS_IF([test -z "$tt_hdf5_from"],
	[AC_PATH_PROGS([H5CC],[h5cc],[])
	AS_IF([test -n "$H5CC"],
		[tt_prefix=`$H5CC -showconfig | sed -n 's/.*Installation point:[[ ]]*//p'`
		HDF5_CFLAGS=
		HDF5_LIBS=
		for tt_word in `$H5CC -show` "-I$tt_prefix/include" "-L$tt_prefix/lib"; do
			AS_CASE([$tt_word],
				[-I*],[HDF5_CFLAGS="$HDF5_CFLAGS $tt_word"],
				[-L*],[tt_dir=`echo "$tt_word" | sed 's/^-L//'`
				HDF5_LIBS="$HDF5_LIBS $tt_word"
				AS_IF([test -e "$tt_dir/libhdf5.so"],
					[HDF5_LIBS="$HDF5_LIBS -Wl,-rpath,$tt_dir"])])
		done
		HDF5_LIBS="$HDF5_LIBS -lhdf5"
		tt_hdf5_from="$H5CC"])])
AC_SUBST([HDF5_CFLAGS])
AC_SUBST([HDF5_LIBS])
tt_hdf5_version=
AS_IF([test -z "$tt_hdf5_from"],[tt_missing="$tt_missing hdf5>=1.10.8(libhdf5-dev)"],
	[tt_saved_CPPFLAGS=$CPPFLAGS; tt_saved_LIBS=$LIBS
	CPPFLAGS="$CPPFLAGS $HDF5_CFLAGS"; LIBS="$LIBS $HDF5_LIBS"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <hdf5.h>
#if !H5_VERSION_GE(1,10,8)
#error too old
#endif]],[[return H5open() < 0;]])],[],
		[AC_MSG_ERROR([HDF5 from $tt_hdf5_from does not compile and link, or is older than 1.10.8])])
	AC_COMPUTE_INT([tt_h5_major],[H5_VERS_MAJOR],[#include <hdf5.h>],[tt_h5_major=0])
	AC_COMPUTE_INT([tt_h5_minor],[H5_VERS_MINOR],[#include <hdf5.h>],[tt_h5_minor=0])
	AC_COMPUTE_INT([tt_h5_release],[H5_VERS_RELEASE],[#include <hdf5.h>],[tt_h5_release=0])
	tt_hdf5_version=$tt_h5_major.$tt_h5_minor.$tt_h5_release
	CPPFLAGS=$tt_saved_CPPFLAGS; LIBS=$tt_saved_LIBS])])

# Stores that the benchmarks compare with; no library or test needs them.
AC_DEFUN([TT_FIND_BENCH_PEERS],
[PKG_CHECK_MODULES([LMDB],[lmdb],[tt_peers=" LMDB"
	AC_DEFINE([HAVE_LMDB],[1],[benchmarks: LMDB is there])],
	[AC_CHECK_HEADER([lmdb.h],[AC_CHECK_LIB([lmdb],[mdb_env_create],[LMDB_LIBS=-llmdb; tt_peers=" LMDB"
		AC_DEFINE([HAVE_LMDB],[1],[benchmarks: LMDB is there])])])])
PKG_CHECK_MODULES([SQLITE],[sqlite3],[tt_peers="$tt_peers SQLite"
	AC_DEFINE([HAVE_SQLITE3],[1],[benchmarks: SQLite is there])],[:])
tt_saved_CPPFLAGS=$CPPFLAGS; tt_saved_LIBS=$LIBS
HDF5_HL_LIBS=`AS_ECHO(["$HDF5_LIBS"]) | sed 's/-lhdf5\([[_a-z]]*\)/-lhdf5\1_hl &/'`
CPPFLAGS="$CPPFLAGS $HDF5_CFLAGS"; LIBS="$LIBS $HDF5_HL_LIBS"
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <hdf5.h>
#include <hdf5_hl.h>]],[[return H5PTopen(0, "") < 0;]])],
	[tt_peers="$tt_peers HDF5-packet-tables"
	AC_DEFINE([HAVE_HDF5_HL],[1],[benchmarks: the high-level library of HDF5 is there])],
	[HDF5_HL_LIBS=])
CPPFLAGS=$tt_saved_CPPFLAGS; LIBS=$tt_saved_LIBS
AC_SUBST([HDF5_HL_LIBS])])
