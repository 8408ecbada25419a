#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A feed that pauses just before its file is full, where the next file may have its name already:
# for nothing to one and a half seconds, stopped there, killed there and started again.  Beside it
# come merge, archive, prune, seal requests, verify, and a reader that is ended and resumed: each
# row is in the ring or the archive, and the reader gets each once, in order.
#
# TT_SEED=N replays the times; TT_LONG=1: 12 rounds of each kind and more rows, instead of one.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99
: "${TT_SEED:=$(date +%s)}"
note "TT_SEED=$TT_SEED"
pids= feed=
cleanup_fn() {
	: >done
	for pid in $feed $pids; do kill -CONT "$pid"; kill -9 "$pid"; done 2>/dev/null
}
capacity=64
rows=$((capacity * 10))
[ -z "${TT_LONG:-}" ] || rows=$((capacity * 40))
rounds=1
[ -z "${TT_LONG:-}" ] || rounds=12

# draws WHO: lines of five random numbers below 1000
draws() {
	awk -v seed="$TT_SEED$1" 'BEGIN { srand(seed)
		for (i = 0; i < 3000; i++) print int(rand() * 1000), int(rand() * 1000),
			int(rand() * 1000), int(rand() * 1000), int(rand() * 1000) }'
}
# nap MILLISECONDS
nap() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

# near_ends FROM WHO: the rows from FROM on; before each end of a file a pause, one in eight long
near_ends() {
	from=$1
	draws "feed$2" | while read -r left kind long short after && [ "$from" -lt $rows ]; do
		to=$(((from / capacity + 1) * capacity - left % 4))
		[ $to -gt "$from" ] || to=$((from + 1))
		seq "$from" $((to - 1))
		from=$to
		case $((kind % 8)) in
		0) nap $((long * 3 / 2)) ;;
		1 | 2) nap $((short / 5)) ;;
		*) nap $((short / 25)) ;;
		esac
		[ $((after % 3)) != 0 ] || { to=$((from + after % 90)); seq "$from" $((to - 1)); from=$to; }
	done
}
rows_fed() { "$ticktail" status r --json 2>/dev/null | sed -n 's/.*"rows_total": *\([0-9]*\).*/\1/p'; }

# run_feed ROUND SYNC: until all rows are in; a feed that was killed is started again
run_feed() {
	n=0
	fed=0
	: >feed.pid
	while [ $fed -lt $rows ]; do
		n=$((n + 1))
		mkfifo "feed.$n"
		near_ends $fed "$1.$n" >"feed.$n" 2>/dev/null &
		"$ticktail" append r --columns value --sync "$2" <"feed.$n" >>feed.out 2>>feed.words &
		echo $! >feed.pid
		wait $! 2>/dev/null
		: >feed.pid
		fed=$("$ticktail" read r --tail 1 2>/dev/null | tail -n +2)
		fed=$((${fed:--1} + 1)) # none, when it was killed before its first row
	done
	: >done
}
# torment ROUND: stops and kills the feed
torment() {
	draws "torment$1" | while read -r before kind stopped _ && [ ! -e done ]; do
		nap $((before / 4))
		pid=$(cat feed.pid 2>/dev/null)
		[ -n "$pid" ] || continue
		kill -STOP "$pid"
		nap $((stopped / 4 + kind / 900 * 1000))
		[ $((kind % 5)) != 0 ] || kill -KILL "$pid"
		kill -CONT "$pid"
	done 2>/dev/null
}
# again WHO ROUND COMMAND...: until the feed is done; what failed goes to WHO.bad
again() {
	who=$1
	draws "$who$2" >"$who.draws"
	shift 2
	while read -r before _ && [ ! -e done ]; do
		nap $((before / 8))
		s=0
		"$@" >"$who.out" 2>"$who.words" || s=$?
		[ $s = 0 ] || grep -qE 'another process is|being written|there is no such archive|timed out|did not' "$who.words" ||
			{ echo "exit $s:"; cat "$who.words" "$who.out"; } >>"$who.bad"
	done <"$who.draws"
}
# follow ROUND: ended and resumed at random times, at last when all rows came
follow() {
	draws "follow$1" >follow.draws
	while read -r before _; do
		last=
		[ ! -e done ] || last="--timeout 1"
		"$ticktail" tail r -f --from-start --resume place $last >>tailed 2>>tail.words &
		pid=$!
		if [ -n "$last" ]; then
			wait $pid
			return
		fi
		nap $((before + 50))
		kill -TERM $pid
		wait $pid 2>/dev/null || [ $? = 143 ] || # it was not up yet
			echo "tail ends badly" >>tail.bad
	done <follow.draws
}
start() { "$@" & pids="$pids $!"; }

one() { # one KIND SYNC ROUND
	rm -rf r a.h5* done place tailed feed.* ./*.bad ./*.out ./*.words
	pids=
	round="$1 $2 $3"
	"$ticktail" create r --rolling --dtype i4 --capacity $capacity --keep 4 --exact -q
	start run_feed "$3$1" "$2"
	feeder=$!
	start torment "$3$1"
	start again merge "$3$1" "$ticktail" merge r --batch 3
	start again archive "$3$1" "$ticktail" archive r -o a.h5 --dataset d --chunk 512 --seal
	start again verify "$3$1" "$ticktail" verify r
	if [ "$1" = archived ]; then
		start again prune "$3$1" "$ticktail" prune r --archived-in a.h5
	else
		start follow "$3$1"
	fi
	for pid in $pids; do wait "$pid"; done
	pids=
	is "$round: nothing failed but for being second" "$(cat ./*.bad 2>/dev/null | head -n 10)" ""
	success "$round: the ring is whole" "$ticktail" verify r
	"$ticktail" archive r -o a.h5 --dataset d --chunk 512 --seal >last 2>&1 ||
		not_ok "$round: the last archive" "$(cat last)"
	all=$("$ticktail" read r --tail 1 | tail -n +2)
	seq 0 "$all" >all
	"$ticktail" read a.h5 d | tail -n +2 >archived
	same "$round: the archive has each row once" archived all
	note "$round: $(ls feed.* | grep -c '^feed\.[0-9]') feeds, $((all + 1)) rows"
	if [ "$1" = follow ]; then
		"$ticktail" read r | tail -n +2 >left
		same "$round: so has the ring" left all
		grep -v '^value' tailed >got
		same "$round: and the reader got them" got all
		is "$round: with nothing to tell" "$(head -n 5 tail.words)" ""
	fi
}

for i in $(seq $rounds); do
	one follow 20 "$i"
	one archived none "$i"
done
finish
