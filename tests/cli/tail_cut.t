#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tail -f of files and rings that are cut, overwritten, cleared, replaced and removed under it:
# never a signal, never old rows as new ones, never new ones left out.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99
pid=
cleanup_fn() { [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; }
put() { # put PATH FROM TO
	seq "$2" "$3" | "$ticktail" append "$1" --columns value >/dev/null
}
lines() { [ "$(wc -l <"$1")" -ge "$2" ]; }
says() { grep -q "$1" words; }
gone() { ! kill -0 "$pid" 2>/dev/null; }
follow() {
	: >out # now, not when the job has started
	: >words
	"$ticktail" tail "$@" -f --from-start >out 2>words &
	pid=$!
}
# ends: its exit status in $s
ends() {
	kill -TERM "$pid" 2>/dev/null
	(sleep 20; kill -9 "$pid") 2>/dev/null &
	guard=$!
	s=0
	wait "$pid" || s=$?
	pid=
	kill $guard 2>/dev/null
}
rows() { sed 1d "$1" | tr '\n' ' '; }
reaches() { # reaches NAME LINES
	wait_for 20 lines out "$2" && ok "$1" || not_ok "$1" "$(cat out words)"
}
make() { # 20000 rows of 4 bytes are twenty pages: the tail lies far behind the rows
	rm -f f.npy
	"$ticktail" create f.npy --dtype i4 --capacity 20000
	put f.npy 1 3
}

for wait in spin yield sleep; do
	make
	follow f.npy --wait $wait
	reaches "$wait: a file" 4
	: >f.npy
	wait_for 20 says "cut to nothing" && ok "$wait: cut to nothing, and that is said" ||
		not_ok "$wait: cut to nothing" "$(cat words)"
	rm f.npy
	make
	reaches "$wait: and the next one is read from its start" 7
	ends
	is "$wait: rows" "$s $(rows out)" "0 1 2 3 1 2 3 "

	make
	follow f.npy --wait $wait
	reaches "$wait: a file again" 4
	truncate -s 4096 f.npy
	wait_for 20 gone || :
	ends
	is "$wait: cut in its middle is damage" "$s $(rows out)" "3 1 2 3 "

	make
	follow f.npy --wait $wait
	reaches "$wait: a third" 4
	cp f.npy g.npy
	truncate -s 4096 f.npy
	dd if=g.npy of=f.npy conv=notrunc 2>dd.words # whole again within the time it may take
	put f.npy 4 5
	reaches "$wait: mended in place, it is gone on with" 6
	ends
	is "$wait: at the same row" "$s $(rows out)" "0 1 2 3 4 5 "

	make
	follow f.npy --wait $wait
	reaches "$wait: a fourth" 4
	rm f.npy
	sleep 0.3
	make
	put f.npy 4 4
	reaches "$wait: removed and made again" 8
	says "was replaced\|went back" && ok "$wait: and that is said" || not_ok "$wait: said" "$(cat words)"
	ends
	is "$wait: from its start" "$s $(rows out)" "0 1 2 3 1 2 3 4 "

	# as a reader that slept meanwhile: everything happens between two looks
	make
	follow f.npy --wait $wait
	reaches "$wait: a fifth" 4
	kill -STOP $pid
	"$ticktail" clear f.npy
	put f.npy 11 15
	kill -CONT $pid
	reaches "$wait: cleared and filled past the old end between two looks" 9
	says "replaced" && ok "$wait: is said" || not_ok "$wait: is said" "$(cat words)"
	ends
	is "$wait: no old row as new, no new one left out" "$s $(rows out)" "0 1 2 3 11 12 13 14 15 "

	# grown, then cleared and filled, all between two looks
	make
	follow f.npy --wait $wait
	reaches "$wait: a sixth" 4
	kill -STOP $pid
	"$ticktail" resize f.npy --capacity 50000
	"$ticktail" clear f.npy
	put f.npy 21 25
	kill -CONT $pid
	reaches "$wait: grown, cleared and filled between two looks" 9
	ends
	is "$wait: its rows" "$s $(rows out)" "0 1 2 3 21 22 23 24 25 "
done

# rows changed by ours are no other file
make
follow f.npy
reaches "a file whose rows are updated" 4
for i in 1 2 3; do echo 9; done | "$ticktail" update f.npy 0 --columns value >/dev/null
put f.npy 4 4
reaches "goes on" 5
ends
is "and is not read again" "$s $(rows out)$(cat words)" "0 1 2 3 4 "

# positions
make
"$ticktail" tail f.npy --resume pos >out
echo 7 | "$ticktail" update f.npy 2 --columns value >/dev/null
put f.npy 4 5
is "a position in a file whose rows were updated" "$("$ticktail" tail f.npy --resume pos 2>&1 | rows -)" "4 5 "
"$ticktail" resize f.npy --capacity 40000
put f.npy 6 6
is "in one that was grown" "$("$ticktail" tail f.npy --resume pos 2>&1 | rows -)" "6 "
"$ticktail" clear f.npy
put f.npy 11 17
"$ticktail" tail f.npy --resume pos >out 2>words
is "in one that was cleared and filled past it" "$(rows out)" "11 12 13 14 15 16 17 "
says "not the file that the position was stored for" && ok "and that is said" || not_ok "said" "$(cat words)"
echo "- 5" >pos
is "of an older release" "$("$ticktail" tail f.npy --resume pos 2>&1 | rows -)" "16 17 "
for bad in "- 5 1" "- 5 1 2 3 x" "5" "" "x 5" "5 x" "5 5 x" "5 5 5 zz"; do
	echo "$bad" >pos
	exits 1 "a position file of '$bad'" "$ticktail" tail f.npy --resume pos
done

# a ring
"$ticktail" create r --rolling --dtype i4 --capacity 4 --keep 2 --exact --sync none
put r 0 9
rm -f pos
"$ticktail" tail r --resume pos -n 1 >out
is "a position in a ring has number and id" "$(awk '{ print NF, $3, length($4) }' pos)" "4 10 32"
put r 10 499
find r -name '*.npy' | sort | head -n 120 | xargs rm -f
"$ticktail" tail r --resume pos >out 2>words
is "lost rows are exact behind a hundred files" \
	"$(sed -n 's/.*lost \([0-9]*\) rows.*/\1/p' words) $(sed -n 2p out)" "470 480"
# entries of files that are gone were used again for others
put r 500 1500
find r -name '*.npy' | sort | head -n 240 | xargs rm -f
"$ticktail" tail r --resume pos >out 2>words
first=$(sed -n 2p out)
is "and behind hundreds" "$(sed -n 's/.*lost \([0-9]*\) rows.*/\1/p' words)" $((first - 500))
rm -rf r
"$ticktail" create r --rolling --dtype i4 --capacity 4 --keep 2 --exact --sync none
put r 0 2
"$ticktail" tail r --resume pos >out 2>words
is "another ring at the path is read from its start" "$(rows out)" "0 1 2 "
says "not the ring" && ok "and that is said" || not_ok "said" "$(cat words)"
follow r
reaches "a ring" 4
mv r aside
sleep 0.3
"$ticktail" create r --rolling --dtype i4 --capacity 4 --keep 2 --exact --sync none
put r 5 6
reaches "replaced under the reader" 6
says "was replaced" && ok "is said too" || not_ok "said too" "$(cat words)"
ends
is "and read from its start" "$s $(rows out)" "0 0 1 2 5 6 "
finish
