#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A feed, merge, archive and prune beside each other, each again and again at random times, some
# of them killed: no row is lost but those that were pruned, the archive has each at most once,
# and prune --archived-in deletes nothing that is not archived.
#
# TT_SEED=N replays the times; TT_LONG=1: 20 rounds of each kind instead of one.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99
: "${TT_SEED:=$(date +%s)}"
note "TT_SEED=$TT_SEED"
pids=
cleanup_fn() { [ -z "$pids" ] || kill -9 $pids 2>/dev/null; }
rows=20000
rounds=1
[ -z "${TT_LONG:-}" ] || rounds=20

# naps WHO COUNT: random times of 1 to 60 ms, a second number that is 0 once in eight
naps() {
	awk -v seed="$TT_SEED$1" -v n="$2" 'BEGIN { srand(seed)
		for (i = 0; i < n; i++) printf "%.3f %d\n", 0.001 + rand() * 0.059, rand() * 8 }'
}
# feeds: all rows, some hundred at a time
feed() {
	from=0
	naps "feed$1" 1000 | while read -r nap many && [ $from -lt $rows ]; do
		to=$((from + 50 + many * 100))
		[ $to -le $rows ] || to=$rows
		seq $from $((to - 1))
		from=$to
		sleep "$nap"
	done | timeout 120 "$ticktail" append r --columns value >fed 2>feed.words
	echo $? >feed.status
}
# again WHO KILLS COMMAND...: until the feed has ended; what failed goes to WHO.bad
again() {
	who=$1
	kills=$2
	shift 2
	naps "$who$round" 10000 | while read -r nap dies && [ ! -e feed.status ]; do
		sleep "$nap"
		if [ $kills = yes ] && [ "$dies" = 0 ]; then
			timeout -s KILL "$nap" "$@" >>"$who.out" 2>>"$who.words"
			continue
		fi
		s=0
		"$@" >>"$who.out" 2>out.$who || s=$?
		cat out.$who >>"$who.words"
		# one maintainer at a time, and the archive comes by and by: come again
		[ $s = 0 ] || grep -qE 'another process is|being written|there is no such archive' out.$who ||
			{ echo "exit $s:"; cat out.$who; } >>"$who.bad"
	done
}
read_rows() { "$ticktail" read "$@" | tail -n +2; }

one() { # one KIND ROUND
	kind=$1
	round=$1$2
	rm -rf r a.h5* *.bad *.out *.words out.* feed.status
	"$ticktail" create r --rolling --dtype i4 --capacity 256 --keep 3 --exact -q
	: >prune.out
	feed "$round" &
	pids=$!
	again merge yes "$ticktail" merge r --batch 4 &
	pids="$pids $!"
	again archive yes "$ticktail" archive r -o a.h5 --dataset d --chunk 512 &
	pids="$pids $!"
	again archived no "$ticktail" prune r --archived-in a.h5 &
	pids="$pids $!"
	if [ "$kind" = any ]; then
		again prune no "$ticktail" prune r --keep-bytes 16k &
		pids="$pids $!"
	fi
	wait
	pids=
	is "$round: the feed ends well" "$(cat feed.status fed)" "0
appended $rows rows"
	is "$round: nothing failed but for being second" "$(cat ./*.bad 2>/dev/null | head -n 10)" ""
	success "$round: the ring is whole" "$ticktail" verify r
	"$ticktail" archive r -o a.h5 --dataset d --chunk 512 --seal >last 2>&1 ||
		not_ok "$round: the last archive" "$(cat last)"
	success "$round: the archive is whole" "$ticktail" verify a.h5
	read_rows a.h5 d >archived
	read_rows r >left
	is "$round: the archive has each row at most once, in order" "$(sort -n -c -u archived 2>&1)" ""
	is "$round: so has the ring" "$(sort -n -c -u left 2>&1)" ""
	seq 0 $((rows - 1)) >all
	note "$round: $(grep -c '^deleted [0-9].*npy' archived.out) files pruned as archived," \
		"$(grep -c '^deleted [0-9].*npy' prune.out) others," \
		"$("$ticktail" versions a.h5 | wc -l) versions, merged $(grep -c '^merged [1-9]' merge.out) times"
	if [ "$kind" = archived ]; then
		same "$round: no row was deleted before it was archived" archived all
		return
	fi
	pruned=$(sed -n 's/^deleted [0-9]*\.npy_*: \([0-9]*\) rows.*/\1/p' prune.out | awk '{ n += $1 } END { print n + 0 }')
	gone=$((rows - $(sort -n -u archived left | wc -l)))
	is "$round: no more are gone than were pruned ($gone of $pruned)" $((gone <= pruned)) 1
	is "$round: and none is there that was not fed" "$(sort -n -u archived left | awk -v n=$rows '$1 < 0 || $1 >= n' | head -n 1)" ""
}

for i in $(seq $rounds); do
	one archived "$i"
	one any "$i"
done
finish
