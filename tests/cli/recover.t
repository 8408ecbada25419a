#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Damage as a user meets it: nothing refuses to start, recover says exactly what it kept and cut.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99

seq 1 20 | sed 's/$/,1.5/' >rows.csv
make_file() {
	rm -rf f.npy f.npy.bad-*
	"$ticktail" create f.npy --dtype 'n:i8,px:f8' --capacity 64 &&
		"$ticktail" append f.npy rows.csv --columns n,px >/dev/null
}
rows() { "$ticktail" read "$@" 2>err | tail -n +2; }
size() { wc -c <"$1" | tr -d ' '; }

# ---- a file ----
make_file
cp f.npy whole
exits 0 "a whole file is left alone" "$ticktail" recover f.npy
is "... and it says so" "$(cat .out)" "f.npy: nothing to recover, 20 rows"
same "... not a byte changed" f.npy whole

# the rows begin where the header ends: 20 rows of 16 bytes, of which 7 and a half are left
off=$(($(size f.npy) - 40 - 64 * 16))
head -c $((off + 7 * 16 + 8)) whole >f.npy
exits 3 "verify finds a cut file" "$ticktail" verify f.npy
cp f.npy cut.npy
exits 3 "a dry run says 3" "$ticktail" recover f.npy --dry-run
same "... and changes nothing" f.npy cut.npy
exits 0 "recover brings a cut file back" "$ticktail" recover f.npy --keep-cut rest
note "$(cat .out)"
is "... says what it kept and cut" "$(sed -n 's/.*: \(kept [^:]*\):.*/\1/p' .out)" \
	"kept 7 rows (7 unproven), cut 0 rows, 8 bytes"
is "... all whole rows are there" "$(rows f.npy | cut -d, -f1 | tr '\n' ' ')" "1 2 3 4 5 6 7 "
is "... the cut bytes are kept" "$(size rest)" 8
same "... the damaged file as well" f.npy.bad-1 cut.npy
exits 0 "... verify is content" "$ticktail" verify f.npy
exits 0 "... and rows go on" "$ticktail" append f.npy rows.csv --columns n,px
exits 0 "a second recover finds nothing" "$ticktail" recover f.npy
is "... of 27 rows" "$(cat .out)" "f.npy: nothing to recover, 27 rows"

# every place near a boundary: found, with what to do, and brought back
make_file
all=$(size whole)
for n in $off $((off + 1)) $((off + 20 * 16)) $((all - 41)) $((all - 40)) $((all - 39)) \
	$((all - 32)) $((all - 8)) $((all - 1)); do
	head -c "$n" whole >f.npy
	exits 3 "verify finds a file cut at $n" "$ticktail" verify f.npy
	is "... and says what to do" "$(grep -c 'ticktail recover' .out)" 1
	exits 0 "... recover" "$ticktail" recover f.npy
	exits 0 "... verify again" "$ticktail" verify f.npy
done
make_file
dd if=/dev/zero of=f.npy bs=1 count=$off conv=notrunc 2>/dev/null
exits 3 "without a header it asks what a row is" "$ticktail" recover f.npy
is "... naming the option" "$(grep -c -e '--dtype DESCR' .out)" 1
exits 0 "--dtype says it" "$ticktail" recover f.npy --dtype 'n:i8,px:f8' --json
is "... as JSON" "$(grep -o '"rows_kept": *[0-9]*' .out | head -n 1 | grep -o '[0-9]*$')" 20
is "... the tail tells the rest" "$(rows f.npy | wc -l | tr -d ' ')" 20
make_file
dd if=/dev/zero of=f.npy bs=1 count=$off conv=notrunc 2>/dev/null
exits 0 "--like says it as well" "$ticktail" recover f.npy --like whole
exits 2 "--like and --dtype are one too many" "$ticktail" recover f.npy --like whole --dtype i8
exits 1 "what is not there cannot be recovered" "$ticktail" recover nothing.npy

# cut inside the header, to nothing, or where the tail began: each command says what to do
make_file
for n in 0 1 3 6 7 8 9 20 $((off - 1)); do
	head -c "$n" whole >f.npy
	for command in verify append info; do
		"$ticktail" $command f.npy </dev/null >words 2>&1
		is "$command of $n bytes names what to do" "$(grep -c "ticktail recover f.npy --dtype DESCR" words)" 1
	done
	exits 0 "recover of $n bytes" "$ticktail" recover f.npy --like whole
	exits 0 "... rows go on" "$ticktail" append f.npy rows.csv --columns n,px --grow
	exits 0 "... verify" "$ticktail" verify f.npy
done
make_file
head -c $((all - 40)) whole >f.npy
exits 1 "append to a file that lost its tail" "$ticktail" append f.npy rows.csv --columns n,px
is "... names recover, not adopt" "$(grep -c 'ticktail recover' .out) $(grep -c adopt .out)" "1 0"
"$ticktail" read whole --format npy -o p.npy
exits 1 "append to a plain array" "$ticktail" append p.npy rows.csv --columns n,px
is "... names adopt" "$(grep -c 'ticktail adopt' .out)" 1

# ---- a type that is possible and wrong ----
flip() { # FILE FROM TO: in the header
	at=$(grep -abo "$2" "$1" | head -n 1 | cut -d: -f1)
	printf '%s' "$3" | dd of="$1" bs=1 seek="$at" conv=notrunc 2>/dev/null
}
make_file
flip f.npy '<f8' '>f8'
exits 0 "another type of the same size passes" "$ticktail" verify f.npy
exits 0 "... --dtype says which is right" "$ticktail" recover f.npy --dtype 'n:i8,px:f8'
is "... with both in words" "$(grep -c '>f8.*<f8' .out)" 1
is "... the rows are those that were written" "$(rows f.npy | grep -c ',1.5$')" 20
make_file
flip f.npy '<f8' '<U8'
cp f.npy cut.npy
exits 3 "a type of another size is found" "$ticktail" recover f.npy
is "... naming the option" "$(grep -c -e 'ask for 16.*--dtype DESCR' .out)" 1
same "... and nothing is changed" f.npy cut.npy
exits 0 "... --dtype brings the rows back" "$ticktail" recover f.npy --dtype 'n:i8,px:f8'
is "... all of them" "$(rows f.npy | wc -l | tr -d ' ')" 20
make_file
cp f.npy whole
exits 1 "a whole file is not made another" "$ticktail" recover f.npy --dtype 'n:i8,px:f4'
is "... in words" "$(grep -c 'bear it out.*left as it is' .out)" 1
same "... nor changed" f.npy whole

# ---- a ring ----
make_ring() {
	rm -rf ring
	"$ticktail" create ring --rolling --dtype 'n:i8,px:f8' --capacity 8 --exact --keep 3 &&
		"$ticktail" append ring rows.csv --columns n,px >/dev/null &&
		"$ticktail" append ring rows.csv --columns n,px >/dev/null
	second=$(ls ring | grep 'npy$' | sed -n 2p)
	newest=$(ls ring | grep 'npy$' | tail -n 1)
}
make_ring
exits 0 "a whole ring is left alone" "$ticktail" recover ring
is "... and it says so" "$(cat .out)" "ring: nothing to recover, 40 rows"
head -c 100 "ring/$second" >part && cp part "ring/$second"
exits 3 "verify names the damaged file" "$ticktail" verify ring
is "... by its name" "$(grep -c "$second" .out)" 1
exits 0 "info goes on" "$ticktail" info ring
exits 0 "info --json goes on" "$ticktail" info ring --json
is "... and names it" "$(grep -c damaged .out)" 1
is "read passes over it" "$(rows ring | wc -l | tr -d ' ')" 32
is "... with words" "$(grep -c "$second.*damaged" err)" 1
"$ticktail" tail ring --from-start >tailed 2>err
is "tail passes over it" "$(tail -n +2 tailed | wc -l | tr -d ' ')" 32
is "... with words and the number" "$(grep -c 'passed over' err) $(grep -c 'lost 8 rows' err)" "1 1"
exits 0 "append goes on" "$ticktail" append ring rows.csv --columns n,px
exits 0 "seal goes on" "$ticktail" seal ring
exits 0 "archive leaves it out" "$ticktail" archive ring -o a.h5
is "... aloud" "$(grep -c "$second.*left out" .out)" 1
exits 0 "recover brings the ring back" "$ticktail" recover ring
note "$(cat .out)"
is "... says what is lost" "$(grep -c 'ring: 52 rows, lost 8' .out)" 1
exits 0 "... verify is content" "$ticktail" verify ring
is "... read has nothing to say" "$(rows ring | wc -l | tr -d ' ') $(cat err)" "52 "
exits 0 "a second recover finds nothing" "$ticktail" recover ring

make_ring
flip "ring/$second" '<f8' '>f8'
exits 0 "one file of another type: recover" "$ticktail" recover ring
is "... as most others are" "$(grep -c "$second.*the ring's are" .out)" 1
exits 0 "... verify" "$ticktail" verify ring
is "... all rows" "$(rows ring | grep -c ',1.5$')" 40
exits 1 "a wrong --dtype is refused" "$ticktail" recover ring --dtype 'n:i8,px:i8'
is "... by what the files say" "$(grep -c 'leave --dtype' .out)" 1
rm -rf two
"$ticktail" create two --rolling --dtype 'n:i8,px:f8' --capacity 16 --exact --keep 3
"$ticktail" append two rows.csv --columns n,px >/dev/null
first=$(ls two | grep 'npy$' | head -n 1)
flip "two/$first" '<f8' '>f8'
exits 3 "one of two files: nothing decides" "$ticktail" recover two
is "... and it is said" "$(grep -c "$first: left as it is.*nothing tells which.*--dtype DESCR" .out)" 1
exits 0 "... --dtype decides" "$ticktail" recover two --dtype 'n:i8,px:f8'
is "... all rows" "$(rows two | grep -c ',1.5$')" 20
exits 0 "... verify" "$ticktail" verify two

make_ring
dd if=/dev/zero of="ring/$newest" bs=1 count=64 conv=notrunc 2>/dev/null
exits 0 "a damaged newest file does not stop info" "$ticktail" info ring
is "... nor read" "$(rows ring | wc -l | tr -d ' ')" 32
exits 0 "... nor append" "$ticktail" append ring rows.csv --columns n,px
exits 0 "... recover brings its rows back" "$ticktail" recover ring
is "... all of them, in order" "$(rows ring | cut -d, -f1 | tr '\n' ' ')" \
	"$( (cut -d, -f1 rows.csv; cut -d, -f1 rows.csv; cut -d, -f1 rows.csv) | tr '\n' ' ')"

printf 'not a row' >ring/.lock
head -c 3000 ring/.ticktail >part && cp part ring/.ticktail
exits 0 "manifest and settings damaged: info" "$ticktail" info ring
is "... read" "$(rows ring | wc -l | tr -d ' ')" 60
exits 0 "... recover" "$ticktail" recover ring
exits 0 "... verify" "$ticktail" verify ring
is "... all rows" "$(rows ring | wc -l | tr -d ' ')" 60

# ---- an archive ----
exits 0 "an archive needs no recovery" "$ticktail" recover a.h5
finish
