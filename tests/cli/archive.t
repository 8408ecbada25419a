#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# archive, versions, read of an archive: words, options, exit statuses.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99
put() { seq "$2" "$3" | "$ticktail" append "$1" --columns value >/dev/null; }
rows() { "$ticktail" read "$@" | tail -n +2 | tr '\n' ' '; }
flat() { tr -d ' \n'; }

"$ticktail" create f.npy --dtype i4 --capacity 64
put f.npy 1 5
exits 2 "-o is needed" "$ticktail" archive f.npy
exits 2 "a SRC is needed" "$ticktail" archive -o a.h5
for o in "--filter zip" "--filter gzip:x" "--io disk" "--chunk 0" "--threads 0" "--timestamp now"; do
	# shellcheck disable=SC2086
	exits 2 "$o" "$ticktail" archive f.npy -o a.h5 $o
done
[ -e a.h5 ] && not_ok "nothing was made" || ok "nothing was made"
exits 0 "archive" "$ticktail" archive f.npy -o a.h5 --version one --timestamp 2020-01-01T00:00:00Z
is "read" "$(rows a.h5 f)" "1 2 3 4 5 "
"$ticktail" archive f.npy -o a.h5 --json >json
is "nothing new: null and zeros" "$(flat <json)" \
	'{"version":null,"rows":0,"chunks":0,"chunks_new":0,"chunks_reused":0,"bytes":0,"seconds":0}'
exits 0 "nothing new says so" "$ticktail" archive f.npy -o a.h5
grep -q "nothing new" .out && ok "in words" || not_ok "in words" "$(cat .out)"
put f.npy 6 8
"$ticktail" archive f.npy -o a.h5 --version two --timestamp 2020-01-02T00:00:00Z --json >json
is "the rows that are new" "$(flat <json | sed 's/,"chunks".*//')" '{"version":"two","rows":3'
is "the current version" "$(rows a.h5 f)" "1 2 3 4 5 6 7 8 "
is "--version" "$(rows a.h5 f --version one)" "1 2 3 4 5 "
is "--as-of" "$(rows a.h5 f --as-of 2020-01-01T12:00:00Z)" "1 2 3 4 5 "
is "--as-of, the instant itself" "$(rows a.h5 f --as-of 2020-01-02)" "1 2 3 4 5 6 7 8 "
exits 1 "--as-of before all" "$ticktail" read a.h5 f --as-of 2019-01-01
exits 1 "no such version" "$ticktail" read a.h5 f --version three
exits 2 "--version and --as-of" "$ticktail" read a.h5 f --version one --as-of 2020-01-01
exits 2 "--as-of no time" "$ticktail" read a.h5 f --as-of then
exits 2 "which dataset?" "$ticktail" read a.h5
exits 1 "no such dataset" "$ticktail" read a.h5 nope
put f.npy 9 9
exits 1 "a version that exists" "$ticktail" archive f.npy -o a.h5 --version two
is "writes nothing" "$("$ticktail" versions a.h5 --json | grep -c '"committed"')" 2
is "--slice" "$(rows a.h5 f --slice 2:-1)" "3 4 5 6 7 "
is "--head" "$(rows a.h5 f --head 2)" "1 2 "
"$ticktail" versions a.h5 --json | flat >json
case $(cat json) in
'[{"name":"one","prev":'*'"timestamp":"2020-01-01T00:00:00'*'Z","committed":true,"current":false,"datasets":[{"name":"f","shape":[5],"dtype":"<i4","chunk":['*'],"chunks":'*'{"name":"two","prev":"one",'*)
	ok "versions --json" ;;
*) not_ok "versions --json" "$(cat json)" ;;
esac
is "info --json" "$("$ticktail" info a.h5 --json | flat)" "{\"kind\":\"archive\",\"versions\":$(cat json)}"
exits 0 "versions in words" "$ticktail" versions a.h5
exits 0 "info in words" "$ticktail" info a.h5
exits 0 "verify" "$ticktail" verify a.h5
exits 1 "tail of an archive" "$ticktail" tail a.h5
exits 1 "append to an archive" "$ticktail" append a.h5 f.npy
exits 0 "--dtype @ARCHIVE/DATASET" "$ticktail" create at.npy --dtype @a.h5/f --capacity 4

# prefixes and globs
"$ticktail" create x.npy --dtype i4 --capacity 8
"$ticktail" create y.npy --dtype 'a:i4,b:i8' --capacity 8
"$ticktail" create z.npy --dtype 'b:i8,c:i4' --capacity 8
put x.npy 100 101
printf 'a,b\n1,2\n' | "$ticktail" append y.npy >/dev/null
printf 'b,c\n3,4\n' | "$ticktail" append z.npy >/dev/null
for n in 2020-01-10 2020-01-09; do
	"$ticktail" archive x.npy -o p.h5 --dataset day/$n >/dev/null
	put x.npy 102 103
done
"$ticktail" archive x.npy -o p.h5 --dataset day2/only >/dev/null
"$ticktail" archive y.npy -o p.h5 --dataset mix/1 >/dev/null
"$ticktail" archive z.npy -o p.h5 --dataset mix/2 >/dev/null
names=$("$ticktail" versions p.h5 --json | sed -n 's/.*"name":"\(day[^"]*\)".*/\1/p' | sort -u | wc -l)
[ "$names" -ge 2 ] && ok "datasets by --dataset" || not_ok "datasets" "$("$ticktail" versions p.h5)"
one=$(rows p.h5 day/2020-01-09)
two=$(rows p.h5 day/2020-01-10)
is "a prefix: days in the order of their names" "$(rows p.h5 day/)" "$one$two"
is "without its slash it means the same" "$(rows p.h5 day)" "$one$two"
is "a glob" "$(rows p.h5 'day/*-09')" "$one"
exits 1 "a prefix that matches nothing" "$ticktail" read p.h5 night/
exits 1 "dtypes differ" "$ticktail" read p.h5 mix/
grep -q "mix/2" .out && ok "the first that differs is named" || not_ok "named" "$(cat .out)"
is "--fields picks what they share" "$(rows p.h5 mix/ --fields b)" "2 3 "

# rings
"$ticktail" create r --rolling --dtype i4 --capacity 4 --keep 2 --exact
put r 0 9
exits 0 "a ring" "$ticktail" archive r -o r.h5
is "its sealed files" "$(rows r.h5 r/)" "0 1 2 3 4 5 6 7 "
exits 0 "--seal" "$ticktail" archive r -o r.h5 --seal
is "takes the rest" "$(rows r.h5 r/)" "0 1 2 3 4 5 6 7 8 9 "
exits 0 "--delete-archived" "$ticktail" archive r -o r.h5 --delete-archived
is "removes what left the queue" "$(find r -name '*.npy' | wc -l | tr -d ' ')" 2
put r 10 29
before=$(rows r)
exits 0 "merge --archived-in" "$ticktail" merge r --archived-in r.h5
is "loses nothing" "$(rows r)" "$before"
exits 0 "backup of an archive" "$ticktail" backup r.h5 rb.h5
is "has its rows" "$(rows rb.h5 r/)" "$(rows r.h5 r/)"
chmod 640 r.h5
(umask 022 && "$ticktail" backup r.h5 narrow.h5) >/dev/null
is "a backup is for no more eyes than the archive" "$(stat -c %a narrow.h5)" 640

# elements of 64 KiB and more: libhdf5 keeps no fill value for them
for type in S65471 S65472 S65536 'a:f8[10000],b:i4'; do
	rm -f w.npy w.h5
	"$ticktail" create w.npy --dtype "$type" --capacity 8
	for n in 1 2; do
		head -c 1000000 /dev/zero | tr '\0' "$n" | head -c "$("$ticktail" info w.npy --json |
			tr -dc '[:alnum:]_":,' | sed 's/.*"row_bytes":\([0-9]*\).*/\1/')" |
			"$ticktail" append w.npy --format raw >out
		exits 0 "archive of $type, commit $n" "$ticktail" archive w.npy -o w.h5
	done
	"$ticktail" read w.npy --format raw >w1
	"$ticktail" read w.h5 w --format raw >w2
	same "rows of $type" w1 w2
	exits 0 "verify of $type" "$ticktail" verify w.h5
done

# what is no archive
echo text >t.h5
exits 1 "read of a text" "$ticktail" read t.h5 f
exits 1 "archive into a text" "$ticktail" archive f.npy -o t.h5
is "leaves it alone" "$(cat t.h5)" text
exits 1 "a SRC that is not there" "$ticktail" archive none.npy -o n.h5
[ -e n.h5 ] && not_ok "makes nothing" || ok "makes nothing"
# files that a merge takes away meanwhile: each row gets in once
"$ticktail" create busy --dtype i8 --capacity 8 --exact --rolling --keep 2
(
	for i in $(seq 0 19); do
		seq $((i * 50)) $((i * 50 + 49)) | "$ticktail" append busy --columns value -q
		"$ticktail" merge busy -q --batch 3
	done
	touch busy.done
) &
: >words
while [ ! -e busy.done ]; do
	"$ticktail" archive busy -o busy.h5 --dataset all -q 2>>words
done
wait
is "what a merge took away is looked for again" "$(cat words)" ""
exits 0 "then all is archived" "$ticktail" archive busy -o busy.h5 --dataset all --seal
is "... each row once" "$("$ticktail" read busy.h5 all | tail -n +2 | sort -n | cksum)" \
	"$(seq 0 999 | cksum)"

finish
