#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# append and tail killed at any instant, again and again.  What append left is a piece of its
# input from the first row on, so the next one goes on behind it; tail --resume has printed
# every row when it ends, some of them twice.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99
pid=
cleanup_fn() { [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; }
: "${TT_SEED:=$(date +%s)}"
note "TT_SEED=$TT_SEED"
rounds=8
[ -z "${TT_LONG:-}" ] || rounds=100
# naps SALT: as many random times of 5 to 250 ms as there are rounds
naps() {
	awk -v seed="$TT_SEED$1" -v n=$rounds 'BEGIN { srand(seed)
		for (i = 0; i < n; i++) printf "%.3f\n", 0.005 + rand() * rand() * 0.245 }'
}
last() { "$ticktail" read "$1" --tail 1 | tail -n +2; }

rows=100000
for kind in f.npy r; do
	if [ $kind = r ]; then
		"$ticktail" create r --rolling --dtype i4 --capacity 1000 --keep 3
	else
		"$ticktail" create f.npy --dtype i4 --capacity $rows
	fi
	bad=
	kills=0
	for nap in $(naps $kind); do
		from=$(last $kind)
		seq $((${from:--1} + 1)) $((rows - 1)) >in
		"$ticktail" append $kind in --columns value --batch 16 >/dev/null 2>words &
		pid=$!
		sleep "$nap"
		kill -9 $pid 2>/dev/null && kills=$((kills + 1))
		wait $pid 2>/dev/null
		pid=
		to=$(last $kind)
		"$ticktail" verify $kind >words 2>&1 || bad="$bad verify: $(cat words)"
		"$ticktail" read $kind | tail -n +2 >back
		[ "$(wc -l <back)" -eq $((${to:--1} + 1)) ] || bad="$bad rows up to $to"
	done
	from=$(last $kind)
	seq $((${from:--1} + 1)) $((rows - 1)) | "$ticktail" append $kind --columns value >/dev/null
	seq 0 $((rows - 1)) >all
	"$ticktail" read $kind | tail -n +2 >back
	is "$kind: each append left a whole ($kills kills)" "$bad" ""
	same "$kind: every row once, in order" back all
done

for kind in f.npy r; do
	rm -f pos out
	: >out
	for nap in $(naps tail$kind); do
		"$ticktail" tail $kind -f --from-start --resume pos --format csv >piece 2>words &
		pid=$!
		sleep "$nap"
		kill -9 $pid 2>/dev/null
		wait $pid 2>/dev/null
		pid=
		# the last line may be half written
		sed '$d' piece | grep -v value >whole
		[ -s whole ] && cat whole >>out
	done
	"$ticktail" tail $kind --from-start --resume pos >piece 2>words
	grep -v value piece >>out
	sort -nu out >back
	same "$kind: tail --resume printed every row at least once" back all
done
finish
