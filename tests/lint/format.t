#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The layout is .clang-format's, as version 14 reads it; other versions differ in details.  It
# leaves comments as they are: those end by column 100.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"

cat >"$work/wide.awk" <<'AWK'
{
	column = 0
	for (i = 1; i <= length($0); i++)
		column += substr($0, i, 1) == "\t" ? 8 - column % 8 : 1
	if (column > 100)
		print FILENAME ":" FNR
}
AWK
wide=$(cd "$top_srcdir" && find src tools include tests bench examples -name '*.[ch]' \
	-exec awk -f "$work/wide.awk" {} +)
is "no line goes past column 100" "$wide" ""

format=
for try in clang-format-14 clang-format; do
	if command -v $try >/dev/null && $try --version | grep -q 'version 14\.'; then
		format=$try
		break
	fi
done
if [ -z "$format" ]; then
	skip "clang-format would change nothing" "clang-format 14 is not this system's"
	finish
fi
cd "$top_srcdir" || exit 99
[ -f .clang-format ] || missing ".clang-format"
find src tools include tests bench examples -name '*.[ch]' | sort |
	xargs "$format" --dry-run --Werror >"$work/words" 2>&1 ||
	: # what it says is judged
bad=$(sed -n 's/^\([^:]*\):[0-9]*:.*/\1/p' "$work/words" | sort -u)
[ -n "$bad" ] || bad=$(cat "$work/words")
is "clang-format would change nothing" "$bad" ""
finish
