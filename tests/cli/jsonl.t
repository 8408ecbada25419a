#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# JSON lines in and out.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99

fresh() { rm -f f.npy; "$ticktail" create f.npy --dtype "$1" --capacity "${2:-64}"; }
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
{"a":100000000000000000000.0}' '{"a":null}
{"a":1.5}
{"a":-0.0}
{"a":1e+16}
{"a":1e+20}'
takes "the last of a key given twice" a:i4 '{"a":1,"a":2}' '{"a":2}'
takes "the ends of signed integers" a:i1,b:i2,c:i4,d:i8 \
	'{"a":-128,"b":-32768,"c":-2147483648,"d":-9223372036854775808}
{"a":127,"b":32767,"c":2147483647,"d":9223372036854775807}'
takes "the ends of unsigned integers" a:u1,b:u2,c:u4,d:u8 \
	'{"a":255,"b":65535,"c":4294967295,"d":18446744073709551615}
{"a":0,"b":0,"c":0,"d":0}'
takes "big-endian" 'a:>i8,b:>u8,c:>f8,d:>f2' '{"a":-9223372036854775808,"b":18446744073709551615,"c":0.1,"d":0.1}'
takes "every digit of a float" a:f2,b:f4,c:f8 \
	'{"a":65500,"b":3.4028235e+38,"c":1.7976931348623157e+308}
{"a":-0.0,"b":-0.0,"c":-0.0}
{"a":6e-08,"b":1e-45,"c":5e-324}
{"a":1.0004882812500000000001,"b":16777217.0000000001,"c":9007199254740993.00000000001}
{"a":0.0000000298023223876953126,"b":1e-1,"c":2.4703282292062328e-324}' \
	'{"a":65500,"b":3.4028235e+38,"c":1.7976931348623157e+308}
{"a":-0.0,"b":-0.0,"c":-0.0}
{"a":6e-08,"b":1e-45,"c":5e-324}
{"a":1.001,"b":16777218,"c":9007199254740994}
{"a":6e-08,"b":0.1,"c":5e-324}'
if [ "$(uname -m)" = x86_64 ]; then
	takes "f16 beyond a double" a:f16 '{"a":1e+400}
{"a":1.189731495357231765e+4932}
{"a":4e-4951}
{"a":0.1}
{"a":1.8446744073709551615e+19}
{"a":-0.0}'
	takes "f16 of a 64-bit integer" a:f16 '{"a":18446744073709551615}' '{"a":1.8446744073709551615e+19}'
fi
takes "an integer for a float is exact" a:f8,b:f4 '{"a":9007199254740993,"b":16777217}' \
	'{"a":9007199254740992,"b":16777216}'
takes "the integer -0 is 0" a:f8,b:i4 '{"a":-0,"b":-0}' '{"a":0,"b":0}'
takes "exponents" a:f8 '{"a":1E2}
{"a":1e-2}' '{"a":100}
{"a":0.01}'
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
takes "escapes" a:S8,b:U8 \
	'{"a":"\u0041\/\b\f\n\r\t","b":"\u20ac\uD83D\uDE00\u00fF"}' \
	'{"a":"A/\u0008\u000c\n\r\t","b":"€😀ÿ"}'
takes "NUL within a text" a:S3,b:U3 '{"a":"x\u0000y","b":"x\u0000y"}'
takes "NUL at its end" a:S3,b:U3 '{"a":"x\u0000","b":"x\u0000"}' '{"a":"x","b":"x"}'
takes "an escaped key" 'a:i4' '{"\u0061":1}' '{"a":1}'
takes "half a surrogate pair is U+FFFD" a:U2 '{"a":"\ud83d"}
{"a":"\ude00x"}' '{"a":"�"}
{"a":"�x"}'
takes "a pair behind half of one" a:U4 '{"a":"\ud83d\ud836\udc00\ude00"}
{"a":"\uD836\uDC00\ud836𝠀"}' '{"a":"�𝠀�"}
{"a":"𝠀�𝠀"}'
takes "an escape that is none before a pair" a:S16 '{"a":"\\ud836\\\ud836\udc00"}' '{"a":"\\ud836\\𝠀"}'
refuses "a comment behind a pair that is read twice" a:U1 '{"a":"\ud836\udc00"} // one' 1
refuses "a wide character outside a string" a:U1 '{"a":"𝠀"}𝠀' 1
takes "times" 'a:M8[s],b:m8[s],c:c16,d:V2' \
	'{"a":"2013-10-08T00:00:00Z","b":-5,"c":"1.5-2j","d":"00ff"}
{"a":"NaT","b":"NaT","c":"nan+0j","d":"0000"}'
takes "an M8 as a count" 'a:M8[s]' '{"a":1}' '{"a":"1970-01-01T00:00:01Z"}'
deep() { printf "%.0s$1" $(seq 32); }
one=$(seq -s, 32 | sed 's/[0-9]*/1/g')
takes "32 dimensions" "a:i1[$one]" "{\"a\":$(deep '[')7$(deep ']')}"
refuses "33 dimensions" "a:i1[$one]" "{\"a\":[$(deep '[')7$(deep ']')]}" 1 "'a'"
{ printf '{"a":'; awk 'BEGIN { for (i = 0; i < 100000; i++) printf "[" }'; echo; echo '{"a":1}'; } >in
fresh a:i4
is "100000 brackets" "$("$ticktail" append f.npy in --format jsonl --skip-bad 2>words) $(grep -c '1 malformed' words)" \
	"appended 1 rows 1"
awk 'BEGIN { printf "{\"a\":\""; for (i = 0; i < 1048575; i++) printf "x"; print "\xc3\xa4\"}" }' >in
fresh a:S1048577 1
"$ticktail" append f.npy in --format jsonl >out
rows >out
same "a line of 1 MiB" out in
awk 'BEGIN { printf "{\"a\":["; for (i = 0; i < 99999; i++) printf "18446744073709551615,"; print "0]}" }' >in
fresh "a:u8[100000]" 1
"$ticktail" append f.npy in --format jsonl >out
rows >out
same "100000 elements" out in
fresh a:i4
: >in
is "0 bytes" "$("$ticktail" append f.npy in --format jsonl)" "appended 0 rows"

refuses "a missing key" a:i4,b:i4 '{"a":1,"b":2}
{"a":1}' 2 "'b'"
refuses "an unknown key" a:i4 '{"a":1,"c":2}' 1 "key 'c' is unknown"
refuses "an unknown key of controls" a:i4 '{"a":1,"c\u0007":2}' 1 "key 'c.x07' is unknown"
refuses "null for an integer" a:i4 '{"a":null}' 1 "'a'"
refuses "a float for an integer" a:i4 '{"a":1.0}' 1
refuses "out of range" a:u8 '{"a":18446744073709551616}' 1
refuses "out of range below" a:i8 '{"a":-9223372036854775809}' 1
refuses "an integer of more than 64 bits for a float" a:f8 '{"a":1}
{"a":100000000000000000000}' 2
refuses "such a one beside the largest" 'a:u8[2],b:S40' \
	'{"b":"18446744073709551615 \" \u0022","a":[18446744073709551615,18446744073709551616]}' 1
takes "digits that are none" 'a:u8,b:S40,c:f8,d:i8' \
	'{"a":18446744073709551615,"b":"\"18446744073709551616","c":1.844674407370955e+19,"d":-9223372036854775808}'
refuses "below an integer's range" a:i1 '{"a":-129}' 1 "'a'"
refuses "below zero" a:u8 '{"a":-1}' 1 "'a'"
refuses "beyond a float" a:f4 '{"a":1e39}' 1 "'a'"
refuses "a string for a number" a:i4 '{"a":"1"}' 1
refuses "a number for a string" a:S4 '{"a":1}' 1
refuses "NaN is no JSON" a:f8 '{"a":NaN}' 1
refuses "Infinity is no JSON" a:f8 '{"a":-Infinity}' 1
refuses "true for a number" a:f8 '{"a":true}' 1 "'a'"
refuses "null for a string" a:S4 '{"a":null}' 1 "'a'"
refuses "null in an array" 'a:i2[2]' '{"a":[1,null]}' 1 "'a'"
refuses "an object for a value" a:i4 '{"a":{}}' 1 "'a'"
refuses "an array for a value" a:i4 '{"a":[1]}' 1 "'a'"
refuses "a comment" a:i4 '{"a":1} // one' 1
refuses "True is no JSON" a:b1 '{"a":True}' 1
refuses "an unknown escape" a:S4 '{"a":"\q"}' 1
refuses "an escape cut short" a:S4 '{"a":"\u12"}' 1
refuses "only null" a:i4 'null ' 1
refuses "a BOM" a:i4 "$(printf '\357\273\277{"a":1}')" 1
refuses "an unknown key beside a missing one" a:i4,b:i4 '{"a":1,"c":2}' 1 "'c'"
refuses "one name for two fields" "[('a', [('b', 'i4')]), ('a.b', 'i4')]" '{"a.b":1}' 1
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
for bytes in '\377' '\303' '\300\200' '\340\200\200' '\355\240\200' '\364\220\200\200'; do
	refuses "no UTF-8: $bytes" a:S8 "$(printf "{\"a\":\"$bytes\"}")" 1 UTF-8
done
printf '{"a":1}\000\n' >in
fresh a:i4
exits 1 "a NUL behind" "$ticktail" append f.npy in --format jsonl
fresh a:U2
printf '%s\n' '{"a":"\ud83d' '{"a":"\u0041"}' | "$ticktail" append f.npy --format jsonl --skip-bad >out 2>words
is "nothing of a bad line stays" "$(rows)" '{"a":"A"}'
fresh a:i4
printf '{"a":1}\nx\n{"a":2}\n' | "$ticktail" append f.npy --format jsonl --skip-bad >out 2>words
is "--skip-bad" "$(cat out) $(grep -c '1 malformed' words)" "appended 2 rows 1"
# published while the writer is still there, half a line not
end() { "$ticktail" info f.npy --json | tr -d ' \n' | sed 's/.*"end":\([0-9]*\).*/\1/'; }
ended() { [ "$(end)" = "$1" ]; }
fresh a:i4
mkfifo pipe
"$ticktail" append f.npy pipe --format jsonl >out &
exec 3>pipe
printf '{"a":1}\n{"a":2}\n{"a":' >&3
wait_for 20 ended 2
is "rows are there as soon as the input pauses" "$(end)" 2
printf '3}\n' >&3
wait_for 20 ended 3
is "and so is the line cut in two" "$(rows | tail -n 1)" '{"a":3}'
exec 3>&-
wait
is "at the end" "$(cat out)" "appended 3 rows"
exits 2 "--columns is for csv" "$ticktail" append f.npy --format jsonl --columns a
finish
