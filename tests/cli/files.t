#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# create, info, resize, adopt, clear, backup, seal, merge, verify.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99
key() { "$ticktail" info "$1" --json | tr -d '\n' | sed "s/.*\"$2\": *\\([^,}]*\\).*/\\1/; s/^ *//; s/ *\$//"; }
put() { seq "$2" "$3" | "$ticktail" append "$1" --columns value >/dev/null; }
rows() { "$ticktail" read "$1" | tail -n +2 | tr '\n' ' '; }

exits 0 "create" "$ticktail" create f.npy --dtype 'ts:i8,px:f8' --capacity 10
is "the capacity is rounded up" "$(key f.npy capacity)" 12
exits 1 "it exists" "$ticktail" create f.npy --dtype 'ts:i8,px:f8' --capacity 10
exits 0 "--if-same" "$ticktail" create f.npy --dtype 'ts:i8,px:f8' --capacity 10 --if-same
exits 1 "--if-same of another type" "$ticktail" create f.npy --dtype 'ts:i8,px:f4' --capacity 10 --if-same
exits 0 "--exact" "$ticktail" create e.npy --dtype 'ts:i8,px:f8' --capacity 10 --exact
is "keeps the capacity" "$(key e.npy capacity)" 10
exits 0 "--tail 4" "$ticktail" create t4.npy --dtype i4 --capacity 16 --tail 4
is "writes the tail of npyt 0.3" "$(key t4.npy tail_words) $(key t4.npy update_timestamp)" "4 null"
exits 2 "--tail 3" "$ticktail" create x.npy --dtype i4 --capacity 16 --tail 3
exits 2 "0 rows" "$ticktail" create x.npy --dtype i4 --capacity 0
exits 2 "no dtype" "$ticktail" create x.npy --capacity 1
exits 2 "no capacity" "$ticktail" create x.npy --dtype i4
for d in O '|O' x9 'a:i4,a:i4' "[('a', '<i4')" S0 'a:' ''; do
	exits 1 "--dtype '$d' is refused" "$ticktail" create x.npy --dtype "$d" --capacity 4
done
[ -e x.npy ] && not_ok "nothing is left of those" || ok "nothing is left of those"
exits 0 "--dtype @FILE" "$ticktail" create at.npy --dtype @f.npy --capacity 4
is "takes the type" "$(key at.npy dtype)" "$(key f.npy dtype)"
exits 0 "a NumPy descr" "$ticktail" create nd.npy --dtype "[('a', '>i2', (2,)), ('b', '|S3')]" --capacity 4
exits 0 "--align" "$ticktail" create al.npy --dtype a:i1,b:f8 --align --capacity 4
is "--align pads" "$(key al.npy row_bytes)" 16
exits 0 "--row-shape" "$ticktail" create rs.npy --dtype f8 --row-shape 3,2 --capacity 4
is "--row-shape: bytes" "$(key rs.npy row_bytes)" 48
exits 2 "--row-shape 0" "$ticktail" create x.npy --dtype f8 --row-shape 3,0 --capacity 4
exits 1 "no directory" "$ticktail" create none/x.npy --dtype f8 --capacity 4
exits 1 "shape times size overflows" "$ticktail" create x.npy --dtype f8 --capacity 18446744073709551615
exits 2 "--keep without --rolling" "$ticktail" create x.npy --dtype f8 --capacity 4 --keep 3

exits 2 "--rolling needs --keep" "$ticktail" create r --rolling --dtype i4 --capacity 4
exits 2 "--keep 1" "$ticktail" create r --rolling --dtype i4 --capacity 4 --keep 1
exits 2 "--roll-at 25:00" "$ticktail" create r --rolling --dtype i4 --capacity 4 --keep 2 --roll-at 25:00
exits 0 "a ring" "$ticktail" create r --rolling --dtype i4 --capacity 4 --keep 2 --exact --roll-at 23:30 \
	--max-bytes 1M --sync none
exits 1 "it exists" "$ticktail" create r --rolling --dtype i4 --capacity 4 --keep 2
exits 0 "--set" "$ticktail" create r --rolling --set --keep 3
is "--set raises keep" "$(key r keep)" 3
exits 1 "--set never lowers keep" "$ticktail" create r --rolling --set --keep 2
is "the settings are told" "$(key r roll_at) $(key r max_bytes) $(key r keep_batches_whole)" '"23:30" 1000000 false'
exits 2 "--roll-at never" "$ticktail" create r --rolling --set --roll-at never
exits 0 "--set --keep-batches-whole" "$ticktail" create r --rolling --set --keep-batches-whole
is "what is not given stays" "$(key r roll_at) $(key r max_bytes) $(key r keep_batches_whole)" '"23:30" 1000000 true'
exits 2 "both" "$ticktail" create r --rolling --set --keep-batches-whole --no-keep-batches-whole
exits 0 "each is taken back" "$ticktail" create r --rolling --set --roll-at none --max-bytes 0 --no-keep-batches-whole
is "and is gone" "$(key r roll_at) $(key r max_bytes) $(key r keep_batches_whole)" 'null null false'
put r 0 17
is "info of a ring" "$(key r kind) $("$ticktail" info r | sed -n 's/^rows *//p') $(key r capacity) $(key r row_bytes) $(key r writer_pid)" \
	'"npy8" 18 4 4 0'
is "its files" "$("$ticktail" info r --json | grep -c '"sealed":true') $("$ticktail" info r --json | grep -c '"queued":true')" "4 3"

put_f() { printf 'ts,px\n1,1.5\n2,2.5\n' | "$ticktail" append f.npy >/dev/null; }
put_f
is "info of a file" "$(key f.npy kind) $(key f.npy start) $(key f.npy end) $(($(key f.npy data_offset) % 64)) $(key f.npy tail_words)" \
	'"npyt" 0 2 0 5'
"$ticktail" read f.npy >wanted
exits 0 "resize" "$ticktail" resize f.npy --capacity 100
[ "$(key f.npy capacity)" -ge 100 ] && ok "grows" || not_ok "grows" "$(key f.npy capacity)"
"$ticktail" read f.npy >got
same "keeps the rows" got wanted
exits 0 "resize --trim" "$ticktail" resize f.npy --trim
[ "$(key f.npy capacity)" -lt 20 ] && ok "trims" || not_ok "trims" "$(key f.npy capacity)"
"$ticktail" read f.npy >got
same "keeps the rows too" got wanted
exits 2 "resize of neither" "$ticktail" resize f.npy
exits 2 "resize of both" "$ticktail" resize f.npy --trim --capacity 4
"$ticktail" resize f.npy --capacity 1 >words 2>&1
"$ticktail" read f.npy >got
same "resize never loses rows" got wanted

"$ticktail" read f.npy --format npy >plain.npy
exits 1 "append to a plain file" "$ticktail" append plain.npy /dev/null
grep -q "ticktail adopt" .out && ok "names adopt" || not_ok "names adopt" "$(cat .out)"
exits 0 "adopt" "$ticktail" adopt plain.npy --capacity 50
grep -qE "in place|by copy" .out && ok "says how" || not_ok "says how" "$(cat .out)"
is "a live file now" "$(key plain.npy kind) $(key plain.npy end)" '"npyt" 2'
exits 1 "adopt of a live file" "$ticktail" adopt plain.npy

exits 0 "backup of a file" "$ticktail" backup f.npy b.npy
is "has its rows and capacity" "$(rows b.npy) $(key b.npy capacity)" "$(rows f.npy) $(key f.npy capacity)"
exits 1 "backup onto something" "$ticktail" backup f.npy b.npy
exits 0 "backup of a ring" "$ticktail" backup r rb
is "has its rows" "$(rows rb)" "$(rows r)"
before=$(find r | sort)
exits 1 "backup of a ring into itself" "$ticktail" backup r r/copy
exits 1 "a ring within a ring" "$ticktail" create r/in --rolling --dtype i8 --capacity 8 --keep 2
is "leaves nothing there" "$(find r | sort)" "$before"
(umask 077 && "$ticktail" create p.npy --dtype i8 --capacity 8 &&
	"$ticktail" create pr --rolling --dtype i8 --capacity 8 --keep 2) >/dev/null
(umask 022 && "$ticktail" backup p.npy pb.npy && "$ticktail" backup pr prb) >/dev/null
is "a backup is for no more eyes than its original" \
	"$(stat -c %a pb.npy prb prb/*.npy prb/.lock prb/.ticktail | tr '\n' ' ')" \
	"600 700 600 600 600 "
exits 0 "clear" "$ticktail" clear f.npy
is "clear empties" "$(key f.npy end)" 0
exits 1 "clear of a file of a ring" "$ticktail" clear "$(find r -name '*.npy' | head -n 1)"

exits 0 "seal" "$ticktail" seal r
grep -q sealed .out && ok "says it sealed" || not_ok "says it sealed" "$(cat .out)"
exits 0 "seal again" "$ticktail" seal r
grep -q "nothing to do" .out && ok "has nothing to do" || not_ok "nothing to do" "$(cat .out)"
exits 1 "seal of a file" "$ticktail" seal f.npy
before=$(rows r)
exits 0 "merge" "$ticktail" merge r
is "merge keeps the rows" "$(rows r)" "$before"
[ -n "$(find r -name '*.npy_')" ] && ok "in a merged file" || not_ok "in a merged file" "$(ls r)"
exits 2 "merge --batch 1" "$ticktail" merge r --batch 1

for p in f.npy r rb plain.npy; do
	exits 0 "verify $p" "$ticktail" verify $p
	is "verify $p --json" "$("$ticktail" verify $p --json | tr -d ' \n')" '{"ok":true,"damage":[]}'
done
size=$(wc -c <b.npy)
head -c $((size - 16)) b.npy >cut.npy
exits 3 "verify of a file cut short" "$ticktail" verify cut.npy
exits 3 "read of it" "$ticktail" read cut.npy
s=0
"$ticktail" verify cut.npy --json >json || s=$?
is "verify --json of damage" "$s $(tr -d ' \n' <json | grep -cE '^\{"ok":false,"damage":\[\{"path":"cut.npy","version":null,"dataset":null,"chunk":null,"rows":')" "3 1" ||
	cat json
for n in 0 1 6 10 40 100; do
	head -c $n b.npy >cut.npy
	s=0
	"$ticktail" read cut.npy >/dev/null 2>words || s=$?
	case $s in
	1 | 3) grep -q '^ticktail: read: .*cut.npy' words && ok "cut at $n" || not_ok "cut at $n" "$(cat words)" ;;
	*) not_ok "cut at $n" "exit $s" ;;
	esac
done
echo text >text
exits 1 "read of a text" "$ticktail" read text
exits 1 "verify of a text" "$ticktail" verify text
mkdir empty
exits 1 "info of an empty directory" "$ticktail" info empty
"$ticktail" create wide.npy --dtype 'x:u1[8000000]' --capacity 1 >/dev/null
exits 1 "more columns than can be named" "$ticktail" read wide.npy
exits 0 "which npy has no need of" "$ticktail" read wide.npy --format npy -o out.npy
part=$(printf '%0200d' 0)
mkdir -p "$part/$part/$part"
deep=$part/$part/$part/ring
"$ticktail" create "$deep" --rolling --dtype i8 --capacity 8 --keep 2 >/dev/null
printf x >> "$(find "$deep" -name '*.npy')"
"$ticktail" verify "$deep" --json >json 2>/dev/null
is "a report names the whole of a long path" "$(grep -c "$deep/[0-9]*\.npy\"" json)" 1
finish
