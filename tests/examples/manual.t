#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the manual pages show is what there is: the shell lines of ticktail(1) and ticktail(7)
# work, in their order, the C of section 3 compiles, the Python of npyt(5) finds the rows.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
: "${CC:=cc}"
man=$top_srcdir/man
mkdir "$work/bin" "$work/one" "$work/data" "$work/archive" "$work/metrics" "$work/other"
ln -s "$ticktail" "$work/bin/ticktail"
PATH=$work/bin:$PATH

# block PAGE N: the N-th literal display of a page; 0: all those of EXAMPLES, each with its end
block() {
	awk -v want="$2" '
	/^\.Sh / { examples = ($2 == "EXAMPLES") }
	/^\.Ed/ { if (on && want == 0) print "=="; on = 0 }
	on { gsub(/\\e/, "\\"); gsub(/\\&/, ""); print }
	/^\.Bd -literal/ { n++; on = (want == 0 ? examples : n == want) }' "$man/$1"
}

cd "$work/one" || exit 99
block ticktail.1 0 | sed -e '/^==$/d' -e 's/tail ring -f/tail ring -f --timeout 1/' >lines
success "the lines of ticktail(1) work" sh -e lines
is "and bring the rows" "$(sed -n 's/^ticktail read ring --from/&/p' lines | sh | wc -l)" 3
is "also from the archive" "$(ticktail read ticks.h5 ring/ | wc -l)" 4

# ---- ticktail(7), its directories below $work ----

cd "$work/data" || exit 99
# page N: a block as it is run here
page() { block ticktail.7 "$1" | sed -E "s,(^|[ >])/(data|archive|metrics|other)/,\1$work/\2/,g"; }
echo 'time,symbol,price,venue,size
2026-11-27T14:30:00.25,ABC,101.25,Q,300
2026-11-27T14:30:01,ABC,nan,N,100' >file.csv
page 1 >lines
success "the ring of ticktail(7)" sh -e lines
page 2 >lines
success "its feed" sh -e lines
is "has every row" "$(ticktail read trades | wc -l)" 3
page 3 >lines
is "the line of crontab is one line" "$(wc -l <lines) $(grep -c '^5 0 \* \* \* ' lines)" "1 1"
sed "s/^5 0 [* ]*//; s/\$/ --version NAME --timestamp $(date -u -d '2 days ago' +%FT%TZ)/" lines >line
success "and its command works" sh -e line
is "without a word" "$(cat "$work/.out")" ""
success "what follows it" ticktail verify "$work/archive/trades.h5"
page 4 | sed -e "s,trades\.h5,$work/archive/&,g" -e "s,'trades/2026-11-\*','trades/2*'," >lines
success "as it was yesterday" sh -e lines
is "all rows, twice" "$(grep -c ABC "$work/.out")" 4
page 5 >lines
exits 1 "the check finds no feed" sh -e lines
page 6 >lines
success "metrics" sh -e lines
for name in $(grep -oE '^\.Li (time\(\) - )?ticktail_[a-z_]+' "$man/ticktail.7" |
	sed 's/.* //; s/_bucket$//' | sort -u); do
	case $name in
	ticktail_disk_left_seconds) continue ;; # of a ring that is older than its feed
	esac
	grep -q "^$name" "$work/metrics/trades.prom" || not_ok "$name is a metric"
done
page 7 >lines
success "prune" sh -e lines
page 8 >lines
success "the archive elsewhere" sh -e lines

# a session: lines after "$ " are run, what follows is what they print, cut at "..."
ticktail create trades.npy --dtype ts:i8,px:f8 --capacity 1000 --exact || not_ok "create"
seq 1 60 | sed 's/$/,1.5/' | ticktail append -q trades.npy --columns ts,px || not_ok "append"
page 9 >session
grep '^\$ ' session | sed 's/^..//' >commands
number=0
while read -r command; do
	number=$((number + 1))
	want=$(awk -v n=$number '/^\$ / { at++; next } at == n' session | tr '\n' ' ' | sed 's/ $//')
	got=$(sh -c "$command" 2>&1 </dev/null | tr '\n' ' ' | sed 's/ $//')
	case $want in
	*...) case $got in "${want%...}"*) got=$want ;; esac ;;
	esac
	is "$command" "$got" "$want"
done <commands

# ---- section 3 ----

cat >"$work/prelude" <<'C'
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ticktail/archive.h>
#include <ticktail/staged.h>
#include <ticktail/ticktail.h>
struct tick { int64_t ts; int32_t sym; double px; };
int decode(struct tick *tick);
void use(const void *rows, uint64_t count);
extern struct tt_error err;
extern struct tt_ring_writer *writer;
extern struct tt_ring_reader *reader;
extern struct tt_view view;
extern struct tt_staged *day, *current;
extern struct tt_staged_info info;
extern const struct tt_index where[2];
extern const struct tt_element f8;
extern const struct tt_nd price;
extern const struct tt_base_slab stored;
extern int rc;
C
for page in "$man"/*.3; do
	block "$(basename "$page")" 0 | awk -v prelude="$work/prelude" '
	BEGIN { while ((getline line < prelude) > 0) print line }
	/^==$/ { if (body ~ /;\n/) print "int f" ++n "(void)\n{\n" body "\nreturn 0;\n}"; body = ""; next }
	{ body = body $0 "\n" }' >"$work/a.c"
	grep -q '^int f1' "$work/a.c" || continue
	success "the C of $(basename "$page") compiles" $CC -std=c11 -Wall -Werror -Wno-unused \
		-I"$top_srcdir/include" -fsyntax-only "$work/a.c"
done

if find_python numpy; then
	{
		echo 'import numpy as np; path = "trades.npy"'
		block npyt.5 0 | sed '/^==$/d'
		echo 'print(len(rows), rows["ts"][-1])'
	} >a.py
	is "the Python of npyt(5) finds the rows" "$("$python" a.py 2>&1)" "60 60"
else
	skip "the Python of npyt(5) finds the rows" "numpy is not here"
fi
finish
