#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# JSON lines in and out.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99

fresh() { rm -f f.npy; "$ticktail" create f.npy --dtype "$1" --capacity 64; }
rows() { "$ticktail" read f.npy --format jsonl; }
takes() {
	fresh "$2"
	printf '%s\n' "$3" >in
	s=0
	"$ticktail" append f.npy in --format jsonl >out 2>words || s=$?
	is "$1" "$s:$(rows)" "0:${4:-$3}"
}
refuses() {
	fresh "$2"
	printf '%s\n' "$3" >in
	s=0
	"$ticktail" append f.npy in --format jsonl >out 2>words || s=$?
	is "$1" "$s $(grep -cE "line $4: .*${5:-}" words)" "1 1" || cat words
}

takes "one object a row" a:i4,b:S4 '{"a":1,"b":"x"}
{"a":-2,"b":""}'
takes "any order, spaces, CR" a:i4,b:S4 ' { "b" : "x" , "a" : 1 } ' '{"a":1,"b":"x"}'
takes "an empty last line" a:i4 '{"a":1}
' '{"a":1}'
takes "64-bit integers are exact" a:u8,b:i8 '{"a":18446744073709551615,"b":-9223372036854775808}'
takes "null is NaN" a:f8 '{"a":null}
{"a":1.5}
{"a":-0.0}
{"a":1e+16}
{"a":100000000000000000000}' '{"a":null}
{"a":1.5}
{"a":-0.0}
{"a":1e+16}
{"a":1e+20}'
fresh f8
printf 'value\ninf\n-inf\nnan\n' | "$ticktail" append f.npy >/dev/null
is "infinities and NaN are null" "$(rows | sort -u)" '{"value":null}'
takes "sub-arrays are arrays" 'a:i2[2],b:f8' '{"a":[1,2],"b":3}'
takes "arrays in arrays, nested names" "[('s', [('x', '<i2', (2, 2))])]" '{"s.x":[[1,2],[3,4]]}'
takes "bool" a:b1 '{"a":true}
{"a":0}' '{"a":true}
{"a":false}'
takes "text" a:S9,b:U4 '{"a":"a\"\n\\d","b":"\u00e9\ud83d\ude00"}' '{"a":"a\"\n\\d","b":"é😀"}'
takes "bytes that are no text" a:S6 '{"a":"\\xff\\\\x41"}'
takes "times" 'a:M8[s],b:m8[s],c:c16,d:V2' \
	'{"a":"2013-10-08T00:00:00Z","b":-5,"c":"1.5-2j","d":"00ff"}
{"a":"NaT","b":"NaT","c":"nan+0j","d":"0000"}'
takes "an M8 as a count" 'a:M8[s]' '{"a":1}' '{"a":"1970-01-01T00:00:01Z"}'
fresh a:i4
: >in
is "0 bytes" "$("$ticktail" append f.npy in --format jsonl)" "appended 0 rows"

refuses "a missing key" a:i4,b:i4 '{"a":1,"b":2}
{"a":1}' 2 "'b'"
refuses "an unknown key" a:i4 '{"a":1,"c":2}' 1 "'c'"
refuses "a key twice" a:i4 '{"a":1,"a":1}' 1 "'a'"
refuses "null for an integer" a:i4 '{"a":null}' 1 "'a'"
refuses "a float for an integer" a:i4 '{"a":1.0}' 1
refuses "out of range" a:u8 '{"a":18446744073709551616}' 1
refuses "a string for a number" a:i4 '{"a":"1"}' 1
refuses "a number for a string" a:S4 '{"a":1}' 1
refuses "NaN is no JSON" a:f8 '{"a":NaN}' 1
refuses "leading zeros" a:f8 '{"a":01}' 1
refuses "a plus sign" a:f8 '{"a":+1}' 1
refuses "text too long" a:S2 '{"a":"abc"}' 1
refuses "no object" a:i4 '[1]' 1
refuses "something behind" a:i4 '{"a":1} x' 1
refuses "two objects a line" a:i4 '{"a":1}{"a":2}' 1
refuses "a comma too many" a:i4 '{"a":1,}' 1
refuses "cut short" a:i4 '{"a":1' 1
refuses "an empty line" a:i4 '{"a":1}

{"a":2}' 2
refuses "a short array" 'a:i2[2]' '{"a":[1]}' 1
refuses "a long array" 'a:i2[2]' '{"a":[1,2,3]}' 1
refuses "no array" 'a:i2[2]' '{"a":1}' 1
printf '{"a":"\377"}\n' >in
fresh a:S2
exits 1 "a string that is not UTF-8" "$ticktail" append f.npy in --format jsonl
fresh a:i4
printf '{"a":1}\nx\n{"a":2}\n' | "$ticktail" append f.npy --format jsonl --skip-bad >out 2>words
is "--skip-bad" "$(cat out) $(grep -c '1 malformed' words)" "appended 2 rows 1"
exits 2 "--columns is for csv" "$ticktail" append f.npy --format jsonl --columns a
finish
