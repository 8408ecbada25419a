#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the libraries export is what the headers promise, and libticktail needs libc alone.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
command -v nm >/dev/null && command -v readelf >/dev/null || missing "binutils"

# names marked TT_API: the identifier before the first parenthesis
promised() {
	cat "$@" | tr '\n' ' ' | sed 's/TT_API/\n&/g' | grep '^TT_API' |
		sed -n 's/^[^(]*[ *]\(tt_[a-z0-9_]*\)(.*/\1/p' | sort
}

exported() {
	nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort
}

inc=$top_srcdir/include/ticktail
live=$top_builddir/.libs/libticktail.so
archive=$top_builddir/.libs/libticktail-archive.so

promised "$inc"/dtype.h "$inc"/error.h "$inc"/file.h "$inc"/npy.h "$inc"/recover.h "$inc"/ring.h "$inc"/status.h \
	"$inc"/time.h \
	>"$work/live.h"
exported "$live" >"$work/live.so"
same "libticktail exports what its headers declare" "$work/live.so" "$work/live.h"
promised "$inc"/archive.h "$inc"/staged.h >"$work/archive.h"
exported "$archive" >"$work/archive.so"
same "libticktail-archive exports what its headers declare" "$work/archive.so" "$work/archive.h"

undefined=$(nm -D --undefined-only "$archive" | awk '$2 ~ /^tti_/ { print $2 }')
is "libticktail-archive reaches libticktail by public names only" "$undefined" ""

if readelf -d "$live" | grep -qE 'lib[a-z]*san'; then
	skip "libticktail needs libc alone" "a sanitizer's library is linked in"
else
	needed=$(readelf -d "$live" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
		grep -vE '^(libc|libpthread|ld-linux[-a-z0-9_]*)\.so')
	is "libticktail needs libc alone" "$needed" ""
fi
# NAME(TYPE ARG, TYPE ARG) of each prototype: those of the headers, those of the pages
cat "$top_srcdir"/include/ticktail/*.h | sed 's,/\*[^*]*\*/,,g' |
	awk '/^\/\*/ { skip = 1 } !skip { print } /\*\/ *$/ { skip = 0 }' | tr '\n\t' '  ' |
	sed 's/TT_API/\n&/g' | sed -n 's/^TT_API \([^;{}]*);\).*/\1/p' | tr -s ' ' | sed 's,( ,(,g' |
	sed 's/^\(.*[ *]\)\(tt_[a-z0-9_]*\)(\(.*\));$/\2(\3) \1/; s/ *$//' | sort >"$work/headers"
cat "$top_srcdir"/man/*.3 | awk '
	/^\.Ft / { type = substr($0, 5); gsub(/"/, "", type) }
	/^\.Fo / { name = $2; args = "" }
	/^\.Fa / { a = substr($0, 5); gsub(/"/, "", a); args = args (args == "" ? "" : ", ") a }
	/^\.Fc/ { print name "(" args ") " type }' | sort >"$work/pages"
same "the pages of section 3 have the prototypes of the headers" "$work/pages" "$work/headers"
finish
