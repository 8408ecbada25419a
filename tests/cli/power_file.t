#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A single file whose last rows were not on disk when the power went: what its positions, its
# archive, verify and recover say, and that no position ever stands for two rows in silence.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
[ -r /proc/sys/kernel/random/boot_id ] || missing "a boot id, without which there are no marks"
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/power.sh"
put() { seq "$2" "$3" | "$ticktail" append "$1" --columns value >/dev/null 2>words; }
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

# ---- recover and verify ----
make
lose_power f.npy 10 16
exits 0 "a file that waits for its next writer is whole" "$ticktail" verify f.npy
exits 3 "recover --dry-run says that there is something" "$ticktail" recover f.npy --dry-run
is "... and changes nothing" "$(ls)" "$(ls | grep -v cut)"
exits 0 "recover cuts by the mark" "$ticktail" recover f.npy
said "f.npy: 10 rows, lost 0, cut 7 rows, 0 bytes" "... and counts"
is "... what was cut is kept" "$("$ticktail" read f.npy.cut | tr '\n' ' ')" "value 10 11 12 13 14 15 16 "
[ -e f.npy.mark ] && ok "... the mark is kept" || not_ok "... the mark is kept"
exits 0 "... verify" "$ticktail" verify f.npy
exits 0 "... a second one" "$ticktail" recover f.npy
said "nothing to recover, 10 rows" "... finds nothing"
put f.npy 100 102
is "... a writer has nothing to cut" "$(cat words) $(count f.npy)" " 13"
# the rows that were synced are others: nothing is cut unless it is asked for
make
lose_power f.npy 10 16
tail_at=$(($(wc -c <f.npy) - 40))
printf '\377' | dd of=f.npy bs=1 seek=$((tail_at - 64 * 4 + 8)) conv=notrunc 2>dd.words
exits 3 "verify finds synced rows that are others" "$ticktail" verify f.npy
said "f.npy.mark: rows 0 to 10 are not those that were synced: their checksum is 0x" "... with path and value"
exits 3 "recover alone leaves them" "$ticktail" recover f.npy
said "f.npy.mark: left as it is: rows 0 to 10 .*--cut-unproven" "... says what does not"
is "... all" "$(count f.npy)" 17
exits 0 "recover --cut-unproven cuts" "$ticktail" recover f.npy --cut-unproven
said "f.npy: 10 rows, lost 0, cut 7 rows" "... what is past the mark"
exits 0 "... once" "$ticktail" recover f.npy --cut-unproven
said "nothing to recover, 10 rows" "... and is done"
# this boot's mark past the end
make
lose=$(($(wc -c <f.npy) - 32))
printf '\004' | dd of=f.npy bs=1 seek=$lose conv=notrunc 2>dd.words
exits 3 "verify finds a mark past the end" "$ticktail" verify f.npy
said "its mark says that 10 rows are on disk, its end is 4" "... with both values"
exits 0 "recover gives the rows back that were synced" "$ticktail" recover f.npy
said "f.npy.mark: mended: its mark says that 10 rows are on disk" "... and says why"
said "f.npy: 10 rows, lost 0, cut 0 rows" "... they are shown again"
exits 0 "... verify" "$ticktail" verify f.npy
exits 0 "... a second one" "$ticktail" recover f.npy
said "nothing to recover, 10 rows" "... finds nothing, and all are there"
# a damaged mark
make
printf 'x' | dd of=f.npy.mark bs=1 seek=20 conv=notrunc 2>dd.words
cp f.npy.mark before.mark
exits 3 "recover --dry-run finds one damaged slot" "$ticktail" recover f.npy --dry-run
same "... and changes nothing" f.npy.mark before.mark
exits 0 "recover mends it" "$ticktail" recover f.npy
said "f.npy.mark: mended: slot 0, at byte 0, is damaged" "... and says so"
exits 0 "... verify" "$ticktail" verify f.npy
exits 0 "... a second one" "$ticktail" recover f.npy
said "nothing to recover, 10 rows" "... finds nothing"
make
printf 'x' | dd of=f.npy.mark bs=1 seek=20 conv=notrunc 2>dd.words
printf 'x' | dd of=f.npy.mark bs=1 seek=532 conv=notrunc 2>dd.words
exits 3 "verify finds a damaged mark" "$ticktail" verify f.npy
said "f.npy.mark: slot ., at byte .* is damaged" "... and its place"
exits 0 "recover mends both slots" "$ticktail" recover f.npy
exits 0 "... verify" "$ticktail" verify f.npy
is "... all rows" "$(count f.npy)" 10
# of another file: nobody's damage
make
cp f.npy g.npy
cp f.npy.mark g.npy.mark
exits 0 "a copied file with a copied mark is whole" "$ticktail" verify g.npy
# a damaged file with a mark
make
head -c 400 f.npy >part && cat part >f.npy
exits 0 "recover replaces a damaged file" "$ticktail" recover f.npy
[ ! -e f.npy.mark ] && ok "... its mark is gone" || not_ok "... its mark is gone"
exits 0 "... verify" "$ticktail" verify f.npy
# a ring
"$ticktail" create r --rolling --dtype i4 --capacity 64 --keep 4 --exact
seq 0 9 | "$ticktail" append r --columns value >/dev/null
lose_power r 10 16
exits 0 "recover of a ring" "$ticktail" recover r
said "r: 10 rows, lost 0, cut 7 rows, 0 bytes" "... counts what was cut"
"$ticktail" create q --rolling --dtype i4 --capacity 64 --keep 4 --exact
seq 0 9 | "$ticktail" append q --columns value >/dev/null
n=$(ls q | grep 'npy$' | tail -n 1)
printf '\377' | dd of=q/$n bs=1 seek=$(($(wc -c <q/$n) - 40 - 64 * 4 + 8)) conv=notrunc 2>dd.words
exits 3 "verify finds rows of a ring that are not those that were synced" "$ticktail" verify q
said "q/.ticktail: $n: rows 0 to 10 are not those that were synced" "... and names them"
exits 0 "recover marks them anew" "$ticktail" recover q
said "q/.ticktail: mended: $n: rows 0 to 10 are not those" "... and says why"
exits 0 "... verify" "$ticktail" verify q
# slots of marks in .ticktail, at 0x2000 and 0x2200
for at in 8212 8724 "8212 8724"; do
	for i in $at; do
		printf 'x' | dd of=q/.ticktail bs=1 seek="$i" conv=notrunc 2>dd.words
	done
	exits 3 "verify finds damaged marks of a ring ($at)" "$ticktail" verify q
	said "q/.ticktail: slot . of the marks, at byte 0x2.00, is damaged" "... and their place"
	exits 3 "... recover --dry-run as well" "$ticktail" recover q --dry-run
	exits 0 "... recover" "$ticktail" recover q
	said "q/.ticktail: mended: slot . of the marks was damaged" "... says it"
	exits 0 "... verify is content" "$ticktail" verify q
	exits 0 "... a second one" "$ticktail" recover q
	said "nothing to recover, 10 rows" "... finds nothing"
done
printf '\004' | dd of=q/$n bs=1 seek=$(($(wc -c <q/$n) - 32)) conv=notrunc 2>dd.words
exits 3 "verify finds a ring's mark past the end" "$ticktail" verify q
exits 0 "... recover" "$ticktail" recover q
said "its mark says that 10 rows are on disk, its end is 4; marked anew" "... says it"
exits 0 "... verify is content" "$ticktail" verify q
finish
