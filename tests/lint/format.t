#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The layout is .clang-format's, as version 14 reads it; other versions differ in details.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"

format=
for try in clang-format-14 clang-format; do
	if command -v $try >/dev/null && $try --version | grep -q 'version 14\.'; then
		format=$try
		break
	fi
done
if [ -z "$format" ]; then
	echo "1..0 # SKIP clang-format 14 is not this system's"
	exit 0
fi
cd "$top_srcdir" || exit 99
[ -f .clang-format ] || missing ".clang-format"
bad=$(find src tools include tests bench examples -name '*.[ch]' | sort |
	while read -r f; do
		$format "$f" | cmp -s - "$f" || echo "$f"
	done)
is "clang-format would change nothing" "$bad" ""
finish
