#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A single file whose last rows were not on disk when the power went: what its positions, its
# archive, verify and recover say, and that no position ever stands for two rows in silence.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
age=$top_builddir/tests/live/age_mark
[ -x "$age" ] || missing "age_mark"
[ -r /proc/sys/kernel/random/boot_id ] || missing "a boot id, without which there are no marks"
cd "$work" || exit 99
pid=
cleanup_fn() { [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; }
count() { "$ticktail" read "$1" 2>/dev/null | tail -n +2 | wc -l | tr -d " "; }
rows_are() { [ "$(count "$1")" = "$2" ]; }
put() { seq "$2" "$3" | "$ticktail" append "$1" --columns value >/dev/null 2>words; }
# lose_power PATH FROM TO [COMMAND]: as tests/cli/power.t
lose_power() {
	rm -f feed
	mkfifo feed
	"$ticktail" append "$1" feed --columns value --sync 86400000 >/dev/null 2>&1 &
	pid=$!
	exec 3>feed
	seq "$2" "$3" >&3
	wait_for 20 rows_are "$1" $(($3 + 1)) || not_ok "$1: rows come"
	${4:-:}
	kill -9 $pid
	exec 3>&-
	wait $pid 2>/dev/null
	pid=
	"$age" "$1" >/dev/null || not_ok "$1: marks made old"
}
make() {
	rm -f ./*.npy ./*.cut ./*.cut-* ./*.mark
	"$ticktail" create f.npy --dtype i4 --capacity 64
	seq 0 9 | "$ticktail" append f.npy --columns value --sync 86400000 >/dev/null
}
resume() { # resume POSITIONS: rows and words
	exits "$1" "$2" "$ticktail" tail f.npy --resume pos
}
said() { grep -q "$1" .out && ok "$2" || not_ok "$2" "$(cat .out)"; }

# ---- positions and archives past the cut ----
make
store() {
	"$ticktail" tail f.npy --from-start --resume pos >/dev/null
	"$ticktail" archive f.npy -o a.h5 --dataset d >/dev/null 2>&1
}
lose_power f.npy 10 16 store
cp pos stored
resume 1 "a position past the mark, before the next writer"
said "position 17 lies past the end of f.npy, which has rows up to 10" "... is said"
exits 1 "archive, before the next writer" "$ticktail" archive f.npy -o a.h5 --dataset d
said "rows 0-16 are archived .* fewer now: .*--dataset" "... says what to do"
put f.npy 100 102
grep -q "7 rows that were not synced before the power loss were cut, now f.npy.cut" words &&
	ok "append says what it cut" || not_ok "append says what it cut" "$(cat words)"
resume 1 "a position past the end of the cut file"
said "from row 10 on were cut after a power loss and are in f.npy.cut" "... tells the cut"
is "... the position stays" "$(cat pos)" "$(cat stored)"
exits 1 "archive, after it" "$ticktail" archive f.npy -o a.h5 --dataset d
put f.npy 103 108
"$ticktail" tail f.npy --resume pos >out 2>words
is "a position at rows that are others now" "$(tr '\n' ' ' <out)$(cat words)" \
	"value 100 101 102 103 104 105 106 107 108 ticktail: tail: f.npy: 7 rows were cut after the power loss"
put f.npy 109 109
is "... is said once" "$("$ticktail" tail f.npy --resume pos 2>&1 | tr '\n' ' ')" "value 109 "
exits 1 "archive of others" "$ticktail" archive f.npy -o a.h5 --dataset d
said "has others there now: .*--dataset" "... says what to do"
is "... the archive is as it was" "$("$ticktail" read a.h5 d | tail -n +2 | tr '\n' ' ')" \
	"$(seq 0 16 | tr '\n' ' ')"
exits 0 "... and under another name" "$ticktail" archive f.npy -o a.h5 --dataset e
is "... it takes all" "$("$ticktail" read a.h5 e | tail -n +2 | tr '\n' ' ')" \
	"$(seq 0 9 | tr '\n' ' ')$(seq 100 109 | tr '\n' ' ')"
exits 0 "... and goes on there" "$ticktail" archive f.npy -o a.h5 --dataset e

# a position before the cut, and one in the middle of what was cut
cp stored pos
make
"$ticktail" tail f.npy --from-start --resume before >/dev/null
middle() { "$ticktail" tail f.npy --from-start --resume middle >/dev/null; }
lose_power f.npy 10 12 middle
put f.npy 100 119
is "a position before the cut" "$("$ticktail" tail f.npy --resume before 2>&1 | sed -n 2p)" 100
is "one in what was cut" "$("$ticktail" tail f.npy --resume middle 2>/dev/null | sed -n 2p)" 100
# cut twice
make
lose_power f.npy 10 16
put f.npy 10 11
twice() { "$ticktail" tail f.npy --from-start --resume pos2 >/dev/null; }
seq 12 13 | "$ticktail" append f.npy --columns value --sync 86400000 >/dev/null 2>&1
lose_power f.npy 14 19 twice
put f.npy 200 212
is "a file cut twice" "$("$ticktail" tail f.npy --resume pos2 2>&1 | tr '\n' ' ')" \
	"ticktail: tail: f.npy: 6 rows were cut after the power loss value $(seq 200 212 | tr '\n' ' ')"
finish
