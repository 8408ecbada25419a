#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A feed that stands before a full disk: status says so as long as it stands and no longer, the
# same feed goes on when there is room, and no row is lost.  On a small tmpfs, which only root
# can mount.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python json
feed=$top_builddir/tests/cli/patient_feed
[ -x "$feed" ] || missing "patient_feed"
cd "$work" || exit 99
pid=
reader=
cleanup_fn() {
	[ -z "$pid$reader" ] || kill -9 $pid $reader 2>/dev/null
	cd /
	umount "$work/m" 2>/dev/null || umount -l "$work/m" 2>/dev/null
}
[ "$(id -u)" = 0 ] || missing "root, for mounting"
mkdir m
mount -t tmpfs -o size=2M,mode=755 none m >mount.out 2>&1 || missing "a tmpfs: $(cat mount.out)"

json() { # json EXPRESSION...
	"$ticktail" status m/r --json --sample 0 >r.json 2>words
	"$python" "$top_srcdir/tests/cli/status.py" json r.json "$@" 2>&1
}
line() { "$ticktail" status m/r --sample 0 | sed -n "s/^$1  *//p"; }
metric() { "$ticktail" status m/r --prometheus | grep "^ticktail_$1" ; }
said() { [ "$(grep -c "$1" fed)" -ge "$2" ]; }
state_is() { [ "$(json 'd["state"]')" = "\"$1\"" ]; }
# each TIMES COMMAND: how often it held, of so many looks
holds() {
	n=0
	for i in $(seq "$1"); do
		"$2" "$3" && n=$((n + 1))
	done
	echo $n
}
read_back() { "$ticktail" read m/r 2>&1 | tail -n +2; }
full() { dd if=/dev/zero of=m/filler bs=512 2>/dev/null; }
begin() { # begin COUNT SYNC HELPER FILLER KEEP
	rm -rf m/* tailed
	head -c "$4" /dev/zero >m/filler
	"$ticktail" create m/r --rolling --dtype i8 --capacity 2000 --keep "$5" --exact --sync "$2" -q
	mkfifo try 2>/dev/null
	"$feed" m/r "$1" "$3" <try >fed 2>feed.words &
	pid=$!
	exec 9>try
	"$ticktail" tail m/r -f --from-start --register=desk >tailed 2>tail.words &
	reader=$!
}

# check HOW: the feed is before a full disk
check_standing() {
	wait_for 20 said stands 1 && ok "$1: the feed stands" || not_ok "$1: the feed stands" "$(cat fed)"
	at=$(sed -n 's/^stands \([0-9]*\) .*/\1/p' fed)
	is "$1: for want of space, with the bytes" \
		"$(sed -n 's/^stands [0-9]* \(.*\)/\1/p' fed | grep -cE '^DISK_FULL .*no space left.*needs [0-9]+ bytes, [0-9]+ (is|are) free')" 1
	is "$1: status says so at every look" "$(holds 5 state_is failing)" 5
	# rows are counted a little after they came, and then look newer than the error behind them
	"$python" -c 'import struct, time
with open("m/r/.ticktail", "r+b") as f:
    f.seek(0x1400 + 32)
    f.write(struct.pack("<q", time.time_ns()))'
	is "$1: also when rows before it are counted late" "$(holds 1 state_is failing)" 1
	is "$1: in words" "$(line state)" "FAILING: DISK_FULL, and no row since"
	line "last error" | grep -q '^DISK_FULL .*no space left' && ok "$1: and why" ||
		not_ok "$1: and why" "$(line 'last error')"
	is "$1: in JSON" "$(json 'd["last_error"]["tag"]' 'd["last_error"]["code"]' 'd["writer_alive"]' \
		'd["rows"]' 'd["counters"]["errors"] > 0' '"no space left" in d["last_error"]["text"]')" \
		"\"DISK_FULL\" -28 true $at true true"
	is "$1: in metrics" "$(metric last_error_timestamp_seconds | grep -c 'tag="DISK_FULL"')" 1
	"$ticktail" top m/r --count 1 >top.out
	is "$1: in top" "$(grep -c ' failing ' top.out)" 1
	before=$(json 'd["counters"]["errors"]')
	echo >&9
	wait_for 20 said stands 2 && ok "$1: another try stands too" || not_ok "$1: another try" "$(cat fed)"
	is "$1: and is counted" "$(($(json 'd["counters"]["errors"]') > before))" 1
	is "$1: it still says so" "$(holds 3 state_is failing)" 3
}

check_going_on() {
	echo >&9
	wait_for 20 said "goes on" 1 && ok "$1: the same feed goes on" || not_ok "$1: goes on" "$(cat fed)"
	is "$1: at the row that had no room" "$(sed -n 's/^goes on //p' fed)" "$at"
	wait_for 20 state_is running && ok "$1: with its first row status says nothing of it" ||
		not_ok "$1: with its first row status says nothing of it" "$(line state)"
	is "$1: but what it was" "$(json 'd["last_error"]["tag"]' 'd["last_error"]["rows_since"]')" '"DISK_FULL" 1'
	echo >&9
	wait_for 20 said "^done" 1 && ok "$1: to its end" || not_ok "$1: to its end" "$(cat fed)"
	all_tailed() { [ "$(wc -l <tailed)" = $((rows + 1)) ]; }
	wait_for 20 all_tailed
	seq 0 $((rows - 1)) >all
	sed 1d tailed >back
	same "$1: every row once, in order, to the reader that was there all along" back all
	kill -TERM $reader
	wait $reader
	reader=
	is "$1: which lost nothing" "$(cat tail.words)" ""
	wait $pid
	is "$1: the feed ends well" $? 0
	pid=
	exec 9>&-
	success "$1: the ring is whole" "$ticktail" verify m/r
}

# ---- what fills the disk is another's ----
rows=60000
for how in none 10 each; do
	begin $rows $how helped 1600k 40
	check_standing "$how"
	rm m/filler
	check_going_on "$how"
	read_back >back
	same "$how: every row is there" back all
done

# ---- it is the ring itself ----
begin $rows none alone 1600k 3
check_standing alone
caught_up() { [ "$(wc -l <tailed)" = $((at + 1)) ]; }
wait_for 20 caught_up
read_back >was
"$ticktail" prune m/r --keep-bytes 100k >pruned
gone=$(sed -n 's/^deleted [0-9]* files: \([0-9]*\) rows.*/\1/p' pruned)
is "alone: prune takes files that left the queue" "$((gone > 0))" 1
read_back >back
sed "1,${gone}d" was >all
same "alone: all others stay" back all
check_going_on alone
finish
