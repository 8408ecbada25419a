#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions of more than 80 lines need a reason, as "long: ..." in the comment above, those of
# more than five parameters one as "params: ..."; of src/ and tools/ no file has more than 500
# lines.  Functions of more than 40 lines and other long files are named.
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
# One line a definition: the head, from the name's line to the brace.
cat >"$work/params.awk" <<'AWK'
FNR == 1 { reason = 0; head = "" }
/params: / { reason = FNR }
/^[a-zA-Z].*\(/ && !/;$/ { head = ""; start = FNR }
/^[a-zA-Z].*\(/ || head != "" { head = head " " $0 }
/;$/ { head = "" }
/^{/ && head != "" {
	text = head
	name = head
	sub(/\(.*/, "", name)
	sub(/.*[ *]/, "", name)
	sub(/^[^(]*\(/, "", text)
	depth = 1
	count = 1
	for (i = 1; i <= length(text) && depth > 0; i++) {
		c = substr(text, i, 1)
		depth += (c == "(") - (c == ")")
		count += c == "," && depth == 1
	}
	if (count > 5 && !(reason && start - reason <= 5) && !(name in known))
		print "fail " FILENAME ":" start ": " name " takes " count " parameters"
	head = ""
}
BEGIN {
	# public: an options struct would change what callers have
	known["tt_npy_header_format"]; known["tt_ring_merge"]
	known["tt_ring_read"]; known["tt_time_parse"]
}
AWK
find "$top_srcdir/src" "$top_srcdir/tools" "$top_srcdir/bench" "$top_srcdir/examples" \
	-name '*.[ch]' | sort >"$work/files"
xargs awk -f "$work/funclen.awk" <"$work/files" >"$work/found"
xargs wc -l <"$work/files" |
	awk -v top="$top_srcdir" '$2 != "total" && $1 > 500 {
		ours = index($2, top "/src/") == 1 || index($2, top "/tools/") == 1
		print (ours ? "big " : "note ") $2 ": " $1 " lines"
	}' >>"$work/found"
find "$top_srcdir/src" "$top_srcdir/tools" -name '*.[ch]' | sort |
	xargs awk -f "$work/params.awk" >"$work/params"
sed -n 's/^note /# /p' "$work/found"
is "no function is longer than 80 lines without a reason" \
	"$(sed -n 's/^fail //p' "$work/found")" ""
is "no file of src/ or tools/ is longer than 500 lines" "$(sed -n 's/^big //p' "$work/found")" ""
is "no function takes more than five parameters without a reason" "$(cat "$work/params")" ""
finish
