#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The demo holds, on generated ticks and on CSV files with and without a header line.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
demo=$top_srcdir/examples/demo.sh
export TMPDIR="$work"

TT_DEMO_ROWS=20000
export TT_DEMO_ROWS
success "the demo holds on generated ticks" sh "$demo" "$ticktail"

# time, price, text with commas, quotes and an end of line, a code with leading zeros
awk 'BEGIN {
	print "time,price,note,code,time"
	for (i = 0; i < 700; i++)
		printf "%d,%.2f,\"a, \"\"b\"\"%s\",%03d,%s\n", 1000 + i / 3, 100 + i / 7,
			i % 50 ? "" : "\nc", i % 100, i % 9 ? "x" : ""
}' >"$work/own.csv"
success "on a CSV file with a header line" sh "$demo" "$ticktail" "$work/own.csv"
sed 's/$/\r/' "$work/own.csv" | sed 's/"a.*c"/z/' >"$work/crlf.csv"
success "on one with CRLF" sh "$demo" "$ticktail" "$work/crlf.csv"
awk 'BEGIN { for (i = 0; i < 300; i++) print i "," i * 0.5 ",Q" i % 3 }' >"$work/bare.csv"
success "on one without a header line" sh "$demo" "$ticktail" "$work/bare.csv"
printf '1,2\n3\n' >"$work/bad.csv"
exits 1 "a bad one is refused" sh "$demo" "$ticktail" "$work/bad.csv"
is "naming the row" "$(grep -c 'has 1 fields' "$work/.out")" 1
rm -rf "$work"/ticktail-demo.*
printf 'a\tb\n1\t2\n' >"$work/bad.tsv"
exits 1 "tabs are refused" sh "$demo" "$ticktail" "$work/bad.tsv"
is "with the way out" "$(grep -c "tr \"" "$work/.out")" 1
printf 'a,b\n' >"$work/bad.csv"
exits 1 "a header line alone is refused" sh "$demo" "$ticktail" "$work/bad.csv"
is "nothing is left of refused files" "$(find "$work" -name 'ticktail-demo.*')" ""

# the digits of the second vary, as Python prints them; one number is missing
awk 'BEGIN {
	print "time,ns,px,size"
	for (i = 0; i < 200; i++)
		printf "2026-11-27 14:%02d:%02d%s,17959862193041%05d,%s,%s\n", i / 60, i % 60,
			i % 4 ? "." i % 10 "25" : "", i, i % 9 ? i / 8 : "NaN", i == 7 ? "" : i
}' >"$work/types.csv"
success "on one with times and missing numbers" sh "$demo" "$ticktail" "$work/types.csv"
is "types are found" "$(sed -n 's/.* --dtype \(time[^ ]*\).*/\1/p' "$work/.out" | sed -n 1p)" \
	"time:M8[ms],ns:i8,px:f8,size:S3"
is "and a column that is text says why" \
	"$(grep -c 'size is kept as text, for row 8 has ""' "$work/.out")" 1
finish
