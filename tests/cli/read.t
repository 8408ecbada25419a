#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# read: slices, ranges of time, fields; of files and rings.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99
got() { "$ticktail" read "$@" 2>words | tail -n +2 | tr '\n' ' '; }

"$ticktail" create f.npy --dtype i4 --capacity 16
"$ticktail" create r --rolling --dtype i4 --capacity 4 --keep 2 --exact
seq 0 9 | "$ticktail" append f.npy --columns value >/dev/null
seq 0 9 | "$ticktail" append r --columns value >/dev/null
for p in f.npy r; do
	is "$p: all" "$(got $p)" "0 1 2 3 4 5 6 7 8 9 "
	while IFS='|' read -r slice want rest; do
		is "$p: --slice $slice" "$(got $p --slice=$slice)" "$want"
	done <<'END'
2:5|2 3 4 |
:3|0 1 2 |
7:|7 8 9 |
:|0 1 2 3 4 5 6 7 8 9 |
-3:|7 8 9 |
:-7|0 1 2 |
-5:-2|5 6 7 |
-100:2|0 1 |
5:3||
3:100|3 4 5 6 7 8 9 |
100:||
::3|0 3 6 9 |
1:8:2|1 3 5 7 |
-4::3|6 9 |
1:8:100|1 |
::1|0 1 2 3 4 5 6 7 8 9 |
END
	is "$p: --head 3" "$(got $p --head 3)" "0 1 2 "
	is "$p: --head 0" "$(got $p --head 0)" ""
	is "$p: --head 100" "$(got $p --head 100)" "0 1 2 3 4 5 6 7 8 9 "
	is "$p: --tail 3" "$(got $p --tail 3)" "7 8 9 "
	is "$p: --tail 0" "$(got $p --tail 0)" ""
	is "$p: --tail 1k" "$(got $p --tail 1k)" "0 1 2 3 4 5 6 7 8 9 "
	is "$p: the header comes for 0 rows too" "$("$ticktail" read $p --head 0)" value
	for bad in 5 a:b ::0 ::-1 1:2:3:4 :x; do
		exits 2 "$p: --slice $bad is wrong usage" "$ticktail" read $p --slice=$bad
	done
	exits 2 "$p: --head and --tail" "$ticktail" read $p --head 1 --tail 1
	exits 2 "$p: --slice and --head" "$ticktail" read $p --slice 1: --head 1
done
is "a ring: files out of the queue are read too" "$(got r --head 1)" "0 "
is "a ring: --queued" "$(got r --queued)" "4 5 6 7 8 9 "
exits 2 "--version is for archives" "$ticktail" read f.npy --version v
exits 2 "a dataset of a file" "$ticktail" read f.npy x
exits 1 "no such path" "$ticktail" read none

# times
cat >t.csv <<'END'
ts,px,id
1970-01-01T00:00:01Z,1.5,0
1970-01-01T00:00:02.5Z,2.5,1
NaT,3.5,2
1970-01-01T00:00:02Z,4.5,3
1970-01-01T00:00:04Z,5.5,4
END
"$ticktail" create t.npy --dtype 'ts:M8[ms],px:f8,id:i8' --capacity 16
"$ticktail" append t.npy t.csv >/dev/null
ids() { got t.npy --fields id "$@"; }
is "--from" "$(ids --from 1970-01-01T00:00:02Z)" "1 3 4 "
is "--to" "$(ids --to 1970-01-01T00:00:02Z)" "0 "
is "half open, rows out of order, NaT never" "$(ids --from 1970-01-01T00:00:02Z --to 1970-01-01T00:00:04Z)" "1 3 "
is "NaT never, without a bound that it could miss" "$(ids --from -9223372036854775807)" "0 1 3 4 "
is "an integer as stored" "$(ids --from 2000 --to 2501)" "1 3 "
is "a zone" "$(ids --from 1970-01-01T01:00:02+01:00)" "1 3 4 "
is "no zone is UTC" "$(ids --from '1970-01-01 00:00:02')" "1 3 4 "
is "finer than the unit" "$(ids --from 1970-01-01T00:00:02.0001Z)" "1 4 "
is "finer than the unit, --to" "$(ids --to 1970-01-01T00:00:02.0001Z)" "0 3 "
is "before all" "$(ids --from -0999-01-01)" "0 1 3 4 "
is "a date far away" "$(ids --from 292278995-01-01)" ""
is "a date far away, --to" "$(ids --to 292278995-01-01)" "0 1 3 4 "
is "--head of the range" "$(ids --from 1970-01-01T00:00:02Z --head 2)" "1 3 "
is "--tail of the range" "$(ids --from 1970-01-01T00:00:02Z --tail 2)" "3 4 "
is "--slice is of the file" "$(ids --from 1970-01-01T00:00:02Z --slice 3:)" "3 4 "
is "--time-field" "$(ids --time-field id --from 2 --to 4)" "2 3 "
exits 2 "--time-field that is none" "$ticktail" read t.npy --from 1 --time-field px
exits 2 "--time-field unknown" "$ticktail" read t.npy --from 1 --time-field x
exits 2 "--from no time" "$ticktail" read t.npy --from yesterday
exits 2 "no field is a time" "$ticktail" read f.npy --from 1
is "an integer field in its own unit" "$(got f.npy --time-field value --from 3 --to 5)" "3 4 "
exits 2 "RFC 3339 for 4 bytes" "$ticktail" read f.npy --time-field value --from 1970-01-01
for name in ts time recv_ns; do
	rm -f n.npy
	"$ticktail" create n.npy --dtype "a:i8,$name:i8" --capacity 4
	printf "a,$name\n9,1000000000\n1,3000000000\n" | "$ticktail" append n.npy >/dev/null
	is "default field $name, ns since 1970" "$(got n.npy --from 1970-01-01T00:00:02Z)" "1,3000000000 "
done
rm -f n.npy
"$ticktail" create n.npy --dtype "ts:>i8,u:u8" --capacity 4
printf "ts,u\n-5,1\n5,18446744073709551615\n" | "$ticktail" append n.npy >/dev/null
is "big-endian and negative" "$(got n.npy --to 0)" "-5,1 "
is "u8 beyond i8" "$(got n.npy --time-field u --from 18446744073709551615)" "5,18446744073709551615 "
is "u8, --to" "$(got n.npy --time-field u --to 18446744073709551615)" "-5,1 "

# fields
is "--fields in another order" "$("$ticktail" read t.npy --fields id,px --head 1 | tr '\n' ' ')" "id,px 0,1.5 "
exits 1 "--fields unknown" "$ticktail" read t.npy --fields id,nope
grep -q nope .out && ok "is named" || not_ok "is named" "$(cat .out)"
"$ticktail" create q.npy --dtype "[('a,b', '<i4'), ('c', '<i4', (2,)), ('d', [('x', '<i4'), ('y', '<i4')])]" --capacity 4
printf '1,2,3,4,5\n' | "$ticktail" append q.npy --columns '"a,b",c,d' >/dev/null
is "--fields takes quotes" "$("$ticktail" read q.npy --fields '"a,b",d.y' | tr '\n' ' ')" '"a,b",d.y 1,5 '
is "a sub-array whole" "$("$ticktail" read q.npy --fields c | tr '\n' ' ')" 'c[0],c[1] 2,3 '
is "a struct whole" "$("$ticktail" read q.npy --fields d | tr '\n' ' ')" 'd.x,d.y 4,5 '
exits 1 "an element of a sub-array alone" "$ticktail" read q.npy --fields 'c[0]'

# -o
"$ticktail" read f.npy >wanted
exits 0 "-o" "$ticktail" read f.npy -o out.csv
same "-o has what stdout gets" out.csv wanted
echo keep >old.csv
ln -s old.csv link.csv
exits 0 "-o through a link" "$ticktail" read f.npy -o link.csv
[ -L link.csv ] && ok "leaves the link" || not_ok "leaves the link"
same "and writes the file" old.csv wanted
exits 1 "-o with an error" "$ticktail" read none -o out.csv
same "leaves the file as it was" out.csv wanted

# plain files
"$ticktail" read t.npy --format npy >plain.npy
is "a plain file" "$(got plain.npy --fields id)" "0 1 2 3 4 "
is "info calls it npy" "$("$ticktail" info plain.npy | sed -n 's/^kind *//p')" npy
finish
