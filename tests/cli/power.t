#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the program says of rows that were not on disk when the power went.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/power.sh"

"$ticktail" create r --rolling --dtype i4 --capacity 64 --keep 4 --exact
seq 0 9 | "$ticktail" append r --columns value >/dev/null
store() { "$ticktail" tail r --from-start --resume pos >/dev/null; }
lose_power r 10 16 store
is "rows that are not proven are not shown" "$(count r)" 10
cp pos before
"$ticktail" tail r --resume pos >out 2>words
is "a position past the mark" "$(tr '\n' ' ' <out)$(cat words)" \
	"value ticktail: tail: r: 7 rows were cut after the power loss"
"$ticktail" tail r --resume pos >out 2>words
is "is said once" "$(tr '\n' ' ' <out)$(cat words)" "value "
seq 100 101 | "$ticktail" append r --columns value >/dev/null 2>words
grep -q "7 rows of .* not synced before the power loss were cut, now .*\.npy\.cut" words &&
	ok "append says what it cut" || not_ok "append says what it cut" "$(cat words)"
"$ticktail" tail r --resume before >out 2>words
is "a position past the cut goes on behind it" "$(tr '\n' ' ' <out)$(cat words)" \
	"value 100 101 ticktail: tail: r: 7 rows were cut after the power loss"
"$ticktail" tail r -q --resume before >out 2>words
is "and is at the new rows then" "$(tr '\n' ' ' <out)$(cat words)" "value "
is "read" "$("$ticktail" read r | tail -n 3 | tr '\n' ' ')" "9 100 101 "
is "what was cut is kept" "$("$ticktail" read r/*.cut | tr '\n' ' ')" "value 10 11 12 13 14 15 16 "

# rows of a file that was just left are archived, and then not on disk
take() { "$ticktail" archive a -o a.h5 --dataset d >out 2>words; }
"$ticktail" create a --rolling --dtype i4 --capacity 8 --keep 4 --exact
lose_power a 0 19 take
is "two files are archived" "$("$ticktail" read a.h5 d | wc -l | tr -d ' ')" 17
second=$(cd a && ls | sed -n 's/^\([0-9]*\)\.npy$/\1/p' | sort -n | sed -n 2p)
"$age" a "$second" 3
is "only what was synced is shown" "$(count a)" 11
exits 0 "what waits for the next writer is no damage" "$ticktail" verify a
exits 0 "archive, before the next writer" take
said="ticktail: archive: warning: $work/a/$second.npy: 5 rows that are archived were cut later, after a power loss; the archive keeps them"
is "says what was cut" "$(cat words)" "$said"
seq 100 112 | "$ticktail" append a --columns value >/dev/null 2>&1
exits 0 "archive, after it" take
is "says it too" "$(cat words)" "$said"
is "each row once" "$("$ticktail" read a.h5 d | tail -n +2 | tr '\n' ' ')" \
	"$(seq 0 15 | tr '\n' ' ')$(seq 100 107 | tr '\n' ' ')"
exits 0 "verify" "$ticktail" verify a.h5
exits 0 "prune takes the cut file for archived" "$ticktail" prune a --archived-in a.h5 --dry-run
finish
