#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# append and update: what is in when, and what is said.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99
pid=
cleanup_fn() { [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; }
rows() { "$ticktail" read "$1" | tail -n +2 | tr '\n' ' '; }
end() { "$ticktail" info "$1" --json | tr -d ' \n' | sed 's/.*"end":\([0-9]*\).*/\1/'; }
has() { [ "$(end "$1")" = "$2" ]; }
fresh() { rm -f f.npy; "$ticktail" create f.npy --dtype i4 --exact --capacity "$1"; }

fresh 8
seq 1 3 >in
is "from stdin" "$("$ticktail" append f.npy --columns value <in) $(rows f.npy)" "appended 3 rows 1 2 3 "
is "from INPUT" "$("$ticktail" append f.npy in --columns value) $(end f.npy)" "appended 3 rows 6"
is "from -" "$("$ticktail" append f.npy - --columns value </dev/null)" "appended 0 rows"
s=0
"$ticktail" append f.npy in --columns value >out 2>words || s=$?
is "a file without room is filled to its last row" "$s $(cat out) $(end f.npy)" "1 appended 2 rows 8"
grep -q ' 1 rows did not fit' words && ok "and says what did not fit" || not_ok "did not fit" "$(cat words)"
seq 1 100000 >many
fresh 10
"$ticktail" append f.npy many --columns value >out 2>words
grep -q ' 99990 rows did not fit' words && ok "all of a file is counted" || not_ok "count" "$(cat words)"
fresh 10
cat many | "$ticktail" append f.npy --columns value --batch 100 >out 2>words
grep -q 'at least 90 rows did not fit' words && ok "of a pipe what was read" || not_ok "pipe" "$(cat words)"
fresh 3
is "rows that fit just so" "$("$ticktail" append f.npy in --columns value 2>&1)" "appended 3 rows"
fresh 2
is "--grow" "$("$ticktail" append f.npy many --columns value --grow) $(end f.npy)" "appended 100000 rows 100000"
"$ticktail" read f.npy | tail -n +2 >back
same "--grow keeps every row" back many
for b in 1 7 4096 1M; do
	fresh 8
	is "--batch $b" "$("$ticktail" append f.npy in --columns value --batch $b) $(rows f.npy)" \
		"appended 3 rows 1 2 3 "
done
exits 2 "--batch 0" "$ticktail" append f.npy in --batch 0
for s in none each 5; do
	fresh 8
	is "--sync $s" "$("$ticktail" append f.npy in --columns value --sync $s)" "appended 3 rows"
done
exits 2 "--sync often" "$ticktail" append f.npy in --sync often
for w in each never 100; do
	fresh 8
	is "--wake $w" "$("$ticktail" append f.npy in --columns value --wake $w)" "appended 3 rows"
done
exits 1 "append makes nothing" "$ticktail" append none.npy in
[ -e none.npy ] && not_ok "nothing was made" || ok "nothing was made"

# published while the input pauses, and before a bad line
fresh 100
mkfifo pipe
"$ticktail" append f.npy --columns value <pipe >out 2>words &
pid=$!
exec 3>pipe
printf '1\n2\n3' >&3
wait_for 20 has f.npy 2 && ok "rows are in while the input pauses" || not_ok "pause" "$(end f.npy)"
printf '4\n' >&3
wait_for 20 has f.npy 3 && ok "the rest of a line completes a row" || not_ok "rest" "$(end f.npy)"
s=0
"$ticktail" append f.npy in --columns value >second 2>words2 || s=$?
is "a second writer is refused with the pid of the first" "$s $(grep -c "$pid" words2)" "1 1"
is "info tells the writer" "$("$ticktail" info f.npy --json | sed -n 's/.*"writer_pid": *\([0-9]*\).*/\1/p')" $pid
printf 'x\n5\n' >&3
exec 3>&-
s=0
wait $pid || s=$?
pid=
is "a malformed line stops" "$s $(cat out) $(rows f.npy)" "1 appended 3 rows 1 2 34 "
grep -q "stdin: line 4: column 'value': 'x'" words && ok "and names line, column and value" ||
	not_ok "names" "$(cat words)"
is "no writer any more" "$("$ticktail" info f.npy --json | sed -n 's/.*"writer_pid": *\([0-9]*\).*/\1/p')" 0
for signal in INT TERM; do
	fresh 100
	"$ticktail" append f.npy --columns value <pipe >out 2>words &
	pid=$!
	exec 3>pipe
	printf '1\n2\n3' >&3
	wait_for 20 has f.npy 2
	kill -$signal $pid
	wait_for 20 grep -q appended out || kill -9 $pid
	s=0
	wait $pid || s=$?
	pid=
	exec 3>&-
	is "SIG$signal: complete rows are in" "$([ $s -gt 128 ] && echo killed) $(cat out) $(rows f.npy)" \
		"killed appended 2 rows 1 2 "
done

# update
fresh 8
"$ticktail" append f.npy in --columns value >/dev/null
before=$("$ticktail" info f.npy | sed -n 's/^update_timestamp *//p')
printf 'value\n20\n30\n' >new
exits 0 "update" "$ticktail" update f.npy 1 new
after=$("$ticktail" info f.npy | sed -n 's/^update_timestamp *//p')
is "update overwrites" "$(rows f.npy)" "1 20 30 "
[ "$after" -gt "$before" ] && ok "and bumps update_timestamp" || not_ok "bumps" "$before $after"
exits 1 "update past the end" "$ticktail" update f.npy 2 new
is "changes nothing" "$(rows f.npy)" "1 20 30 "
printf 'value\n7\nx\n' >bad
exits 1 "update with a malformed line" "$ticktail" update f.npy 0 bad
is "changes nothing either" "$(rows f.npy)" "1 20 30 "
exits 2 "update at no number" "$ticktail" update f.npy x new
exits 0 "update from stdin" sh -c "printf 'value\n9\n' | '$ticktail' update f.npy 0"
is "stdin overwrites" "$(rows f.npy)" "9 20 30 "
finish
