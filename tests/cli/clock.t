#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The wall clock is set back and forward between runs: names grow, days are right, rows are
# there in their order, and the steps are counted.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -e "$preload" ] || missing "the library to preload"
cd "$work" || exit 99
export TT_FAKE_CLOCK="$work/clock"

tt() { preloaded "$ticktail" "$@"; }
at() { echo "$1" >clock; }
day=86400
n=0
feed() { # COUNT
	awk -v f="$n" -v n="$1" 'BEGIN { print "v"; for (i = 0; i < n; i++) print f + i }' |
		tt append r -q || not_ok "append at $(cat clock)"
	n=$((n + $1))
}
newest() { find r -name '*.npy' | sed 's,.*/,,; s/.npy//' | sort | tail -n 1; }

at 0
tt create r --rolling --dtype v:i8 --capacity 8 --keep 3 --exact -q || not_ok "a ring"
for offset in 0 -$((3 * day)) $((5 * day)) 0 -$((400 * day)) $((3 * 365 * day)) 0; do
	at "$offset"
	before=$(newest)
	feed 20
	[ "$(newest)" -gt "$before" ] && ok "names grow with the clock at $offset s" ||
		not_ok "names grow with the clock at $offset s" "$before, then $(newest)"
done
at 0
tt read r --format csv | tail -n +2 >got
seq 0 $((n - 1)) >wanted
same "every row once, in order" got wanted
success "the ring is whole" "$ticktail" verify r
if tt status r --json >status 2>/dev/null; then
	steps=$(tr -d ' \n' <status | sed -n 's/.*"clock_steps":{"count":\([0-9]*\).*/\1/p')
	[ "${steps:-0}" -ge 3 ] && ok "clock steps are counted" ||
		not_ok "clock steps are counted" "$steps of at least 3"
fi

# the last jump put names three years ahead: days are those of the first row all the same
rm -rf s
at $((1000 * day))
tt create s --rolling --dtype v:i8 --capacity 8 --keep 3 --exact -q
seq 1 20 | sed '1i v' | tt append s -q
at 0
seq 21 60 | sed '1i v' | tt append s -q
tt archive s -o s.h5 -q || not_ok "archive"
today=$(date -u +%Y-%m-%d)
is "rows of today are of today, whatever the names say" \
	"$("$ticktail" read s.h5 "s/$today" --format csv | tail -n +2 | tail -n 1)" 56
tt prune s --older-than 1h >out 2>&1
is "names ahead make no file old" "$(sed -n '$p' out)" "deleted 0 files: 0 rows, 0 bytes"

# the last name that there can be
mkdir l
cp -a r/. l
last=18446744073709551615
mv "l/$(newest).npy" "l/$last.npy"
printf '\377\377\377\377\377\377\377\377' >max
dd if=max of=l/.lock bs=8 seek=2 conv=notrunc 2>/dev/null
rm -f l/.ticktail
timeout 20 "$ticktail" read l --tail 1 >out 2>&1
[ $? -le 3 ] && ok "the largest name is read or refused" || not_ok "the largest name" "$(cat out)"
seq 1 20 | sed '1i v' >twenty
timeout 20 "$ticktail" append l twenty >out 2>&1
[ $? -le 3 ] && ok "and written on to its last row, or refused" || not_ok "append" "$(cat out)"

# set ahead, right again, set back: names go on from the first time, and the file before the
# last step seems to be followed by one of ten days ago
"$ticktail" create steps --rolling --dtype i8 --capacity 50 --exact --keep 2
for days in 10 0 -10; do
	echo $((days * 86400)) >"$TT_FAKE_CLOCK"
	seq 200 | tt append steps --columns value -q
done
"$ticktail" prune steps --older-than 1h >out 2>&1
is "rows that are not old stay, whatever comes after them" "$(tail -n 1 out | cut -d, -f1)" \
	"deleted 2 files: 100 rows"
finish
