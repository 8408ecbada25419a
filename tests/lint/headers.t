#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone, as strict C99 and as C++11; each internal one alone as C11.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
: "${CC:=cc}"

# compiles NAME FLAGS... FILE
compiles() {
	name=$1
	shift
	success "$name" "$@"
}

cd "$top_srcdir/include" || exit 99
for header in ticktail/*.h; do
	printf '#include <%s>\nint main(void) { return 0; }\n' "$header" >"$work/a.c"
	# shellcheck disable=SC2086
	success "<$header> is C99" $CC -std=c99 -pedantic-errors -Wall -Wextra -Werror -I. \
		-fsyntax-only "$work/a.c"
done

cxx=
for try in ${CXX:-} c++ g++ clang++; do
	command -v "$try" >/dev/null && { cxx=$try; break; }
done
if [ -z "$cxx" ] && [ -z "${TT_CI:-}" ]; then
	skip "public headers are C++11" "a C++ compiler is not here"
else
	for header in ticktail/*.h; do
		printf '#include <%s>\nint main() { return 0; }\n' "$header" >"$work/a.cc"
		success "<$header> is C++11" "${cxx:-c++}" -std=c++11 -pedantic-errors -Wall \
			-Wextra -Werror -I. -fsyntax-only "$work/a.cc"
	done
fi

# HDF5's flags, as configured
flags=$(sed -n 's/^HDF5_CFLAGS = //p' "$top_builddir/Makefile")
find "$top_srcdir/src" -name '*.h' | sort >"$work/headers"
bad=
while read -r header; do
	printf '#include "%s"\n' "$header" >"$work/a.c"
	# shellcheck disable=SC2086
	$CC -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-function -Werror \
		-I"$top_srcdir/include" -I"$top_srcdir/src" $flags -fsyntax-only \
		"$work/a.c" >"$work/words" 2>&1 || bad="$bad
$header: $(sed -n 1,3p "$work/words")"
done <"$work/headers"
is "every internal header stands alone" "$bad" ""
finish
