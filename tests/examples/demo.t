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
rm -rf "$work"/ticktail-demo.*	# of the failed one
finish
