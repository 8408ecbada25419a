#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tail: last rows, following, positions, files that are replaced.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99
pid=
cleanup_fn() { [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; }
flat() { tr '\n' ' ' <"$1"; }
lines() { [ "$(wc -l <"$1")" -ge "$2" ]; }
put() { # put PATH FROM TO
	seq "$2" "$3" | "$ticktail" append "$1" --columns value >/dev/null
}
# follow ARGS...: tail in the background, output in out, words in words
follow() {
	: >out # now, not when the job has started
	: >words
	"$ticktail" tail "$@" >out 2>words &
	pid=$!
}
# ends SIGNAL: its exit status in $s
ends() {
	kill -"$1" $pid
	(sleep 20; kill -9 $pid) 2>/dev/null &
	guard=$!
	s=0
	wait $pid || s=$?
	pid=
	kill $guard 2>/dev/null
}
reaches() { # reaches NAME LINES
	wait_for 20 lines out "$2" && ok "$1" || not_ok "$1" "$(cat out words)"
}

"$ticktail" create f.npy --dtype i4 --capacity 64
"$ticktail" create r --rolling --dtype i4 --capacity 4 --keep 2 --exact
put f.npy 0 19
put r 0 19
for p in f.npy r; do
	is "$p: the last 10" "$("$ticktail" tail $p | tr '\n' ' ')" "value 10 11 12 13 14 15 16 17 18 19 "
	is "$p: -n 3" "$("$ticktail" tail $p -n 3 | tr '\n' ' ')" "value 17 18 19 "
	is "$p: -n3" "$("$ticktail" tail $p -n3 | tr '\n' ' ')" "value 17 18 19 "
	is "$p: -n 0" "$("$ticktail" tail $p -n 0)" value
	is "$p: -n 100 prints what there is" "$("$ticktail" tail $p -n 100 | wc -l | tr -d ' ')" 21
	is "$p: --from-start" "$("$ticktail" tail $p --from-start | wc -l | tr -d ' ')" 21
	is "$p: jsonl" "$("$ticktail" tail $p -n 1 --format jsonl)" '{"value":19}'
	is "$p: raw" "$("$ticktail" tail $p -n 2 --format raw | wc -c | tr -d ' ')" 8
	exits 2 "$p: npy not with -f" "$ticktail" tail $p -f --format npy
	for wait in spin yield sleep; do
		is "$p: --timeout ends, --wait $wait" \
			"$("$ticktail" tail $p -f -n 1 --timeout 0.3 --wait $wait | tr '\n' ' ')" "value 19 "
	done
	for signal in INT TERM; do
		rm -f pos
		follow $p -f -n 2 --resume pos
		reaches "$p: -f prints the last rows at once" 3
		put $p 20 22
		reaches "$p: and those that come" 6
		ends $signal
		is "$p: SIG$signal ends it with 0" "$s $(flat out)$(cat words)" "0 value $(
			[ $signal = INT ] && echo "18 19 20 21 22 " || echo "21 22 20 21 22 ")"
		put $p 30 31
		is "$p: --resume goes on" "$("$ticktail" tail $p --resume pos | tr '\n' ' ')" "value 30 31 "
		is "$p: and has nothing more" "$("$ticktail" tail $p --resume pos | tr '\n' ' ')" "value "
		put $p 20 22
		rm -f pos
	done
	printf 'nonsense\n' >pos
	exits 1 "$p: a position file that is none" "$ticktail" tail $p --resume pos
	rm pos
	mkfifo pos
	exits 1 "$p: a FIFO as position file" timeout 20 "$ticktail" tail $p --resume pos
	rm pos
	echo kept >other
	ln -s other pos.tmp
	exits 1 "$p: a symbolic link where it is made" "$ticktail" tail $p --resume pos
	is "$p: ... is not written through" "$(cat other)" kept
	rm -f pos pos.tmp other
done
rm -f pos
"$ticktail" tail f.npy --from-start --resume pos >/dev/null
"$ticktail" tail r --resume pos >out 2>words && not_ok "a position of a file in a ring" ||
	ok "a position of a file is none in a ring"

# kill -9: at least once
rm -f pos
follow f.npy -f --from-start --resume pos
sleep 1.5
put f.npy 50 50
sleep 1.5
kill -9 $pid
wait $pid 2>/dev/null
pid=
[ -s pos ] && ok "the position is saved each second" || not_ok "the position is saved each second"
is "nothing is missing after kill -9" "$("$ticktail" tail f.npy --resume pos | tail -n +2)" ""

# nobody takes the output: a signal ends it, and the position is of what was taken
rm -f n.npy pos pipe
"$ticktail" create n.npy --dtype i8 --capacity 200k
seq 1 200000 | "$ticktail" append n.npy --columns value >words
mkfifo pipe
for how in TERM INT; do
	rm -f pos
	sleep 60 <pipe &
	reader=$!
	"$ticktail" tail n.npy -f --from-start --resume pos >pipe 2>words &
	pid=$!
	sleep 0.5
	ends $how
	kill $reader
	wait $reader 2>/dev/null || :
	is "$how while the output is stuck" "$s $(cat pos)" "0 - 0"
done
rm -f pos
"$ticktail" tail n.npy -f --from-start --resume pos >pipe 2>words &
pid=$!
while read -r line; do echo "$line"; done <pipe >got &
reader=$!
sleep 0.5
ends TERM
wait $reader
"$ticktail" tail n.npy --resume pos | sed 1d >>got
{ echo value; seq 1 200000; } >wanted
same "a slow reader gets all that the position counts" got wanted

# a path that is not there yet
s=0
start=$(date +%s)
"$ticktail" tail later.npy -f --timeout 1 >out 2>words || s=$?
is "waiting for PATH counts for --timeout" "$s $(($(date +%s) - start <= 5))" "0 1"
exits 0 "--timeout .2" "$ticktail" tail later.npy -f --timeout .2
for t in . x 1x -1 '' nan; do
	exits 2 "--timeout '$t'" "$ticktail" tail later.npy -f --timeout "$t"
done
exits 1 "without -f no path is an error" "$ticktail" tail later.npy
for kind in file ring; do
	rm -rf later
	follow later -f --from-start
	sleep 0.3
	if [ $kind = file ]; then
		"$ticktail" create later --dtype i4 --capacity 8
	else
		"$ticktail" create later --rolling --dtype i4 --capacity 8 --keep 2
	fi
	put later 1 3
	reaches "a $kind that appears" 4
	ends TERM
	is "a $kind that appears: rows" "$s $(flat out)" "0 value 1 2 3 "
done

# what another program has only begun to make
: >nothing
exits 1 "a file of 0 bytes, without -f" "$ticktail" tail nothing
for kind in file ring; do
	rm -rf later made
	case $kind in
	file)
		: >later
		"$ticktail" create made --dtype i4 --capacity 8
		;;
	ring)
		mkdir later
		"$ticktail" create made --rolling --dtype i4 --capacity 8 --keep 2
		;;
	esac
	put made 1 3
	exits 0 "a $kind being made is waited for" "$ticktail" tail later -f --timeout 0.2
	follow later -f --from-start
	sleep 0.3
	if [ $kind = file ]; then
		mv made later
	else
		: >later/.lock # a manifest, but no file
		sleep 0.3
		mv made/*.npy later
		cp made/.lock later/.lock
	fi
	reaches "a $kind that is finished" 4
	ends TERM
	is "a $kind that is finished: rows" "$s $(flat out)" "0 value 1 2 3 "
done

# grown, cleared, replaced
rm -f g.npy pos
"$ticktail" create g.npy --dtype i4 --capacity 4
put g.npy 1 3
follow g.npy -f --from-start --resume pos
reaches "a file" 4
"$ticktail" resize g.npy --capacity 100 || not_ok "resize"
put g.npy 4 40
reaches "a grown file is gone on with" 41
is "at the same row, without a word" "$(sed 1d out | tr '\n' ' ')$(cat words)" "$(seq 1 40 | tr '\n' ' ')"
"$ticktail" clear g.npy || not_ok "clear"
put g.npy 70 71
reaches "a cleared file is read from its start" 43
grep -q "went back" words && ok "and that is said" || not_ok "said" "$(cat words)"
rm -f g.npy
"$ticktail" create g.npy --dtype i4 --capacity 4
put g.npy 80 82
reaches "another file is read from its start" 46
grep -q "replaced" words && ok "and that is said too" || not_ok "said too" "$(cat words)"
# something else in its place for a while: passed over, and gone on with at the same row
# (the pause lets the reader see it; the rows must be right without it too)
mv g.npy aside.npy
: >g.npy
sleep 0.5
mv aside.npy g.npy
put g.npy 83 83
reaches "a file that came back" 47
is "it is the same one" "$(grep -c replaced words)" 2
ends INT
is "all rows" "$s $(tail -n 6 out | tr '\n' ' ')" "0 70 71 80 81 82 83 "
rm -f g.npy
"$ticktail" create g.npy --dtype i4 --capacity 4
s=0
"$ticktail" tail g.npy --resume pos >out 2>words || s=$?
is "a position past the end of a single file" $s 1

# lost rows
rm -rf l pos
"$ticktail" create l --rolling --dtype i4 --capacity 4 --keep 2 --exact
put l 0 5
"$ticktail" tail l --resume pos >/dev/null
put l 6 29
find l -name '*.npy' | sort | head -n 3 | xargs rm -f
s=0
"$ticktail" tail l --resume pos >out 2>words || s=$?
is "lost rows are reported, exit 0" "$s $(grep -cE 'lost [0-9]+ rows' words) $(sed -n 2p out)" "0 1 12"

# npyt makes the directory, then .lock, then the first file
mkdir early
exits 0 "an empty directory is waited for" "$ticktail" tail early -f --timeout 0.1
follow early -f --from-start
head -c 16 /dev/zero >early/.lock
sleep 0.1
"$ticktail" create early2 --rolling --dtype i4 --capacity 4 --keep 2 --exact
put early2 0 9
rm early2/.ticktail
cp early2/*.npy early
dd if=early2/.lock of=early/.lock conv=notrunc 2>/dev/null
reaches "a ring is followed from before its first file" 11
ends TERM
is "with all its rows" "$s $(flat out)" "0 value 0 1 2 3 4 5 6 7 8 9 "
head -c 16 /dev/zero >early/.lock
rm early/*.npy
exits 0 "a ring without a file counts for --timeout" "$ticktail" tail early -f --timeout 0.1
exits 1 "without -f it is an error" "$ticktail" tail early

# misaligned tails
rm -f m.npy
"$ticktail" create m.npy --dtype 'V17' --exact --capacity 3
s=0
"$ticktail" tail m.npy -f --timeout 2 >out 2>words || s=$?
is "a misaligned tail is not followed; resize mends it" "$s $(grep -c 'ticktail resize' words)" "1 1"
exits 1 "an unwritable position file" "$ticktail" tail f.npy --resume none/pos
finish
