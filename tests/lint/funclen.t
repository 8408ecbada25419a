#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions of more than 80 lines need a reason, as "long: ..." in the comment above; those of
# more than 40 and files of more than 500 lines are named.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"

cat >"$work/funclen.awk" <<'AWK'
FNR == 1 { reason = 0; start = 0; previous = "" }
/long: / { reason = FNR }
/^{/ { start = FNR; head = previous }
/^}/ && start {
	lines = FNR - start + 1
	name = head
	sub(/\(.*/, "", name)
	sub(/.*[ *]/, "", name)
	if (lines > 80 && !(reason && start - reason <= 15))
		print "fail " FILENAME ":" start ": " name " has " lines " lines"
	else if (lines > 40)
		print "note " FILENAME ":" start ": " name " has " lines " lines"
	start = 0
}
/^[a-zA-Z]/ && /\(/ { previous = $0 }
AWK
find "$top_srcdir/src" "$top_srcdir/tools" "$top_srcdir/bench" "$top_srcdir/examples" \
	-name '*.[ch]' | sort >"$work/files"
xargs awk -f "$work/funclen.awk" <"$work/files" >"$work/found"
xargs wc -l <"$work/files" |
	awk '$2 != "total" && $1 > 500 { print "note " $2 ": " $1 " lines" }' >>"$work/found"
sed -n 's/^note /# /p' "$work/found"
is "no function is longer than 80 lines without a reason" \
	"$(sed -n 's/^fail //p' "$work/found")" ""
finish
