#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What cannot work says so with path, value and reason, exits 1 (3 for damage), and leaves
# everything as it was.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99
mounted=
cleanup_fn() { [ -z "$mounted" ] || umount "$work/small"; }
# header SHAPE DESCR: an .npy header of version 1, 128 bytes
header() {
	printf '\223NUMPY\001\000\166\000'
	printf '%-117s\n' "{'descr': $2, 'fortran_order': False, 'shape': $1, }"
}
# says STATUS NAME WORDS COMMAND...
says() {
	want=$1
	name=$2
	words=$3
	shift 3
	s=0
	"$@" >out 2>words || s=$?
	if [ "$s" = "$want" ] && grep -q "^ticktail: $2: .*$words" words; then
		ok "$name"
	else
		not_ok "$name" "exit $s: $(cat words)"
	fi
}

# the program with files of at most 64 blocks
printf '#!/bin/sh\nulimit -f 64\nexec "%s" "$@"\n' "$ticktail" >limited
chmod +x limited

{ header '(4,)' "'<i4'"; head -c 16 /dev/zero; } >good.npy
is "a good file is read" "$("$ticktail" read good.npy | tail -n +2 | tr '\n' ' ')" "0 0 0 0 "
{ header '(4,)' "'|O'"; head -c 32 /dev/zero; } >object.npy
says 1 "objects" "object.npy" "$ticktail" read object.npy
{ header '(4,)' "'<q9'"; head -c 32 /dev/zero; } >unknown.npy
says 1 "an unknown dtype" "unknown.npy" "$ticktail" read unknown.npy
{ header '(9223372036854775807, 16)' "'<f8'"; head -c 32 /dev/zero; } >huge.npy
says 3 "shape times size overflows" "huge.npy" "$ticktail" read huge.npy
{ header '(4,)' "'<i4'"; head -c 15 /dev/zero; } >short.npy
says 3 "a file cut short" "short.npy" "$ticktail" read short.npy
{ header '(4,)' "'<i4'"; head -c 17 /dev/zero; } >long.npy
says 3 "bytes that belong to nothing" "long.npy" "$ticktail" read long.npy
echo 'no array' >text
says 1 "no .npy file" "text" "$ticktail" read text
says 1 "no such file" "none.npy.*No such file" "$ticktail" read none.npy
says 1 "a missing directory" "none" "$ticktail" create none/f.npy --dtype i4 --capacity 4
mkfifo pipe
says 1 "a FIFO" "pipe" "$ticktail" read pipe
says 1 "a directory that is no ring" "\\." "$ticktail" info .

"$ticktail" create ring --rolling --dtype i4 --capacity 4 --keep 2
says 1 "a ring that is there, to create" "ring: File exists; --set changes" \
	"$ticktail" create ring --rolling --dtype i4 --capacity 4 --keep 2
says 1 "a file that is there, to create" "good.npy: .*--if-same" \
	"$ticktail" create good.npy --dtype i4 --capacity 4
says 1 "nothing to append to" "none: No such file.*'ticktail create'" "$ticktail" append none
says 1 "versions of a ring" "ring: is a ring.*'ticktail info ring'" "$ticktail" versions ring
says 1 "a ring, to resize" "ring: is a ring.*--set" "$ticktail" resize ring --trim
says 2 "a word that is none of an option's" "--wait: 'foo' .* spin, yield, sleep" \
	"$ticktail" tail ring --wait foo
"$ticktail" archive good.npy -o good.h5 -q --timestamp 2026-01-02
says 1 "a time before the first version" "good.h5: .* the oldest is of 2026-01-02" \
	"$ticktail" read good.h5 good --as-of 2026-01-01

says 1 "a limit on the size of files" "large.npy: .*File too large" \
	./limited create large.npy --dtype i8 --capacity 100k
[ -e large.npy ] && not_ok "nothing half made" || ok "nothing half made"
says 1 "a limit and a ring" "large.*File too large" \
	./limited create large --rolling --dtype i8 --capacity 100k --keep 2
[ -e large ] && not_ok "no half a ring" || ok "no half a ring"
says 1 "a limit and stdout" "File too large" ./limited gen --rows 10k -o large.csv

"$ticktail" create f.npy --dtype i4 --capacity 16
end=$(($(wc -c <f.npy) - 32))
cp f.npy bad.npy
printf '\377' | dd of=bad.npy bs=1 seek=$((end)) conv=notrunc 2>/dev/null
says 3 "end above the capacity" "bad.npy" "$ticktail" read bad.npy
says 3 "append to it" "bad.npy" "$ticktail" append bad.npy /dev/null
cp f.npy bad.npy
printf '\001' | dd of=bad.npy bs=1 seek=$((end - 8)) conv=notrunc 2>/dev/null
says 3 "start above end" "bad.npy" "$ticktail" info bad.npy
printf 'abcde' | "$ticktail" append f.npy --format raw >out 2>words
is "a row count that does not divide the input" "$? $(cat out) $(grep -c '1 bytes' words)" "1 appended 1 rows 1"
printf 'value\n1\n2\n3\n4\n5\n6x\n7\n' | "$ticktail" append f.npy >out 2>words
is "a bad number on line 7" "$? $(cat out) $(grep -c "line 7: column 'value': '6x'" words)" "1 appended 5 rows 1"

says 1 "an archive that is no HDF5" "text" "$ticktail" versions text
wide=$(seq 1 2500 | sed 's/.*/a_field_with_a_name_of_some_length_&:i1/' | paste -sd,)
"$ticktail" create wide.npy --dtype "$wide" --capacity 64 2>words
is "create warns of a header that np.load refuses" "$? $(grep -c max_header_size words)" "0 1"
is "and of a type that cannot be archived" "$(grep -c 'cannot be archived' words)" 1
head -c 2500 /dev/zero | "$ticktail" append wide.npy --format raw >/dev/null
says 1 "a type that HDF5 cannot hold" "" "$ticktail" archive wide.npy -o a.h5
[ -e a.h5 ] && not_ok "nothing was made" || ok "nothing was made"

if [ "$(id -u)" != 0 ]; then
	mkdir locked
	chmod 555 locked
	says 1 "a read-only directory" "locked.*Permission denied" "$ticktail" create locked/f.npy --dtype i4 --capacity 4
	"$ticktail" create ro.npy --dtype i4 --capacity 4
	chmod 444 ro.npy
	says 1 "a read-only file" "ro.npy" "$ticktail" append ro.npy /dev/null
	exits 0 "is read" "$ticktail" tail ro.npy
else
	skip "a read-only directory" "root may write everywhere"
fi

# verify names the path once
"$ticktail" create cut.npy --dtype i8 --capacity 8
truncate -s 231 cut.npy
exits 3 "a cut tail" "$ticktail" verify cut.npy
is "the path comes once" "$(grep -o 'cut.npy' .out | wc -l | tr -d ' ')" 1
exits 3 "a cut tail, --json" "$ticktail" verify cut.npy --json
is "the path comes once there, too" "$(grep -o 'cut.npy' .out | wc -l | tr -d ' ')" 1

# a ring whose files are not there
"$ticktail" create lr --rolling --dtype i4 --capacity 4 --keep 2
rm lr/*.npy
exits 3 "the newest file is missing" "$ticktail" verify lr
grep -q 'names file [0-9]* as the newest, which is not there' .out && ok "is said" || not_ok "is said"
is "info tells what is known" "$("$ticktail" info lr --json | tr -d ' \n' | sed 's/,"capacity".*//')" \
	'{"kind":"npy8","dtype":null,"row_shape":null,"row_bytes":null'
exits 0 "info in words" "$ticktail" info lr
says 1 "its dtype" "no file yet" "$ticktail" create x.npy --dtype @lr --capacity 4
says 1 "its options" "no file yet" "$ticktail" create lr --rolling --dtype i4 --capacity 4 --keep 3 --set
says 1 "append" "lr: no file in it" "$ticktail" append lr /dev/null
says 1 "read" "no file yet" "$ticktail" read lr
"$ticktail" create lr2 --rolling --dtype i4 --capacity 4 --keep 2
printf '\001\0\0\0\0\0\0\0' | dd of=lr2/.lock conv=notrunc 2>dd.words
exits 3 "a manifest that names another file" "$ticktail" verify lr2
grep -q 'names file 1 as the newest' .out && ok "is said too" || not_ok "is said too"
exits 0 "info of it" "$ticktail" info lr2

mkdir small
if mount -t tmpfs -o size=256k none small 2>/dev/null; then
	mounted=1
	says 1 "a full disk: create" "small/f.npy.*needs [0-9]* bytes.*free" "$ticktail" create small/f.npy --dtype i4 --capacity 1M
	is "nothing is left" "$(ls -A small)" ""
	"$ticktail" create small/r --rolling --dtype 'V1024' --capacity 60 --keep 2 --exact
	head -c 1000000 /dev/zero >zeros
	s=0
	"$ticktail" append small/r zeros --format raw >out 2>words || s=$?
	n=$(sed -n 's/^appended \([0-9]*\) rows$/\1/p' out)
	is "a full disk: a ring that rolls" "$s $("$ticktail" info small/r | sed -n 's/^rows *//p')" "1 $n"
	[ "$n" -ge 60 ] && ok "the rows before it are in" || not_ok "the rows before it" "$n"
	exits 0 "and the ring is whole" "$ticktail" verify small/r
	says 1 "a full disk: -o" "no space left.*needs [0-9]* bytes, 0 are free" "$ticktail" gen --rows 100k -o small/out.csv
	[ -e small/out.csv ] && not_ok "no half a file" || ok "no half a file"
	"$ticktail" create g.npy --dtype V1024 --capacity 600
	"$ticktail" append g.npy zeros --format raw >/dev/null 2>&1
	says 1 "a full disk: archive" "" "$ticktail" archive g.npy -o small/a.h5
	says 1 "a full disk: backup" "" "$ticktail" backup g.npy small/b.npy
	[ -e small/b.npy ] && not_ok "no half a copy" || ok "no half a copy"
	rm -rf small/*
	"$ticktail" create small/g.npy --dtype V1024 --capacity 100 --exact
	s=0
	"$ticktail" append small/g.npy zeros --format raw --grow --batch 64 >out 2>words || s=$?
	n=$("$ticktail" info small/g.npy | sed -n 's/^capacity *//p')
	is "a full disk: --grow fills what room there is" \
		"$s $(cat out) $(grep -c 'no space left' words)" "1 appended $n rows 1"
	exits 0 "and the file is whole" "$ticktail" verify small/g.npy
	umount small
	mounted=
else
	skip "a full disk" "a tmpfs cannot be mounted here"
fi
finish
