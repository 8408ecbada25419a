#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CSV in and out, value by value.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99

fresh() { rm -f f.npy; "$ticktail" create f.npy --dtype "$1" --capacity 64; }
put() { printf -- "$1" | "$ticktail" append f.npy >out 2>words; }
rows() { "$ticktail" read f.npy | tail -n +2; }

# takes NAME DTYPE INPUT ROWS: all of INPUT goes in and reads as ROWS
takes() {
	fresh "$2"
	s=0
	put "$3" || s=$?
	is "$1" "$s:$(rows)" "0:$(printf -- "$4")"
}
# refuses NAME DTYPE INPUT LINE COUNT [WORDS]: exit 1 naming LINE, COUNT rows are in
refuses() {
	fresh "$2"
	s=0
	put "$3" || s=$?
	is "$1" "$s $(grep -cE "line $4[:,]?( |$).*${6:-}" words) $(cat out)" "1 1 appended $5 rows" ||
		cat words
	[ "$("$ticktail" info f.npy | sed -n 's/^end  *//p')" = "$5" ] || not_ok "$1: rows that are in"
}

ab=a:i4,b:S4
takes "LF" $ab 'a,b\n1,x\n2,y\n' '1,x\n2,y\n'
takes "CRLF" $ab 'a,b\r\n1,x\r\n2,y\r\n' '1,x\n2,y\n'
takes "LF and CRLF mixed" $ab 'a,b\n1,x\r\n2,y\n' '1,x\n2,y\n'
takes "the last newline may be missing" $ab 'a,b\n1,x\n2,y' '1,x\n2,y\n'
takes "a byte order mark" $ab '\357\273\277a,b\n1,x\n' '1,x\n'
takes "0 bytes" $ab '' ''
takes "a byte order mark alone" $ab '\357\273\277' ''
takes "a header alone" $ab 'a,b\n' ''
takes "a header without newline" $ab 'a,b' ''
takes "an empty last line" $ab 'a,b\n1,x\n\n' '1,x\n'
takes "an empty last line, CRLF" $ab 'a,b\r\n1,x\r\n\r\n' '1,x\n'
takes "columns in another order" $ab 'b,a\nx,1\n' '1,x\n'
takes "quoted header and values" $ab '"a","b"\n"1","x"\n' '1,x\n'
takes "comma, quote and newline in quotes" $ab 'a,b\n1,","\n2,""""\n3,"\n"\n4,"\r\n"\n' \
	'1,","\n2,""""\n3,"\n"\n4,"\r\n"\n'
takes "spaces belong to text" $ab 'a,b\n1,  x \n' '1,  x \n'
takes "signs" $ab 'a,b\n+1,x\n-2147483648,y\n007,z\n' '1,x\n-2147483648,y\n7,z\n'
takes "empty text" $ab 'a,b\n1,\n2,""\n' '1,\n2,\n'
takes "one empty text a row" S4 'value\n""\nx\n""\n' '""\nx\n""\n'
takes "escapes" $ab 'a,b\n1,\\x00\\xff!\n2,a\\\\b\n3,\\q\\x\n4,\\x4\n5,\\\n' \
	'1,\\x00\\xff!\n2,a\\\\b\n3,\\\\q\\\\x\n4,\\\\x4\n5,\\\\\n'
takes "controls and bytes outside UTF-8" $ab 'a,b\n1,\001\177\n2,\377\303\251\n3,\303\n' \
	'1,\\x01\\x7f\n2,\\xff\303\251\n3,\\xc3\n'
takes "a NUL byte inside" $ab 'a,b\n1,x\000y\n' '1,x\\x00y\n'
takes "trailing NULs are dropped" $ab 'a,b\n1,x\\x00\\x00\n' '1,x\n'
takes "text of just the size" $ab 'a,b\n1,abcd\n2,\\x00\\x01\\x02\\x03\n' '1,abcd\n2,\\x00\\x01\\x02\\x03\n'
takes "U counts characters" U3 'value\n\303\251\342\202\254\360\237\230\200\n' \
	'\303\251\342\202\254\360\237\230\200\n'
takes "U keeps what UTF-8 cannot hold" U2 'value\n\\xed\\xa0\\x80x\n' '\\xed\\xa0\\x80x\n'
takes "bool" b1 'value\ntrue\nfalse\n1\n0\n' 'true\nfalse\ntrue\nfalse\n'
takes "floats" f8 'value\n1\n1.0\n-0\n1e3\n.5\n5.\nnan\n-inf\nINF\n0.1\n1e16\n123456789012345680\n1e-5\n0.0001\n1e-400\n' \
	'1\n1\n-0\n1000\n0.5\n5\nnan\n-inf\ninf\n0.1\n1e+16\n1.2345678901234568e+17\n1e-05\n0.0001\n0\n'
takes "f4 is shortest for itself" f4 'value\n0.1\n16777216\n3.4028235e38\n1e-45\n' \
	'0.1\n16777216\n3.4028235e+38\n1e-45\n'
takes "f2 too, rounded once" f2 'value\n0.1\n65504\n1.00048828125000000000001\n6e-8\n65519.999\n' \
	'0.1\n65500\n1.001\n6e-08\n65500\n'
takes "u8" u8 'value\n18446744073709551615\n-0\n' '18446744073709551615\n0\n'
takes "complex" c16 'value\n1.5-2j\n1e-3+1e+3j\n2j\n-1\nnan-infj\n-1e-5-2e-7j\n' \
	'1.5-2j\n0.001+1000j\n0+2j\n-1+0j\nnan-infj\n-1e-05-2e-07j\n'
takes "V is hex" V2 'value\n00ff\nABcd\n' '00ff\nabcd\n'
takes "m8" 'm8[ms]' 'value\n-5\nNaT\n' '-5\nNaT\n'
takes "M8 in its digits" 'M8[ms]' \
	'value\n2013-10-08T09:30:00.5-04:00\n2013-10-08\n12\nNaT\n2013-10-08 00:00:00Z\n' \
	'2013-10-08T13:30:00.500Z\n2013-10-08T00:00:00.000Z\n1970-01-01T00:00:00.012Z\nNaT\n2013-10-08T00:00:00.000Z\n'
for u in 's:Z' 'us:.000000Z' 'ns:.000000000Z' 'ps:.000000000000Z' 'fs:.000000000000000Z' \
	'as:.000000000000000000Z' 'm:Z' 'h:Z'; do
	takes "M8[${u%%:*}]" "M8[${u%%:*}]" 'value\n1970-01-01T00:00:00Z\n' "1970-01-01T00:00:00${u#*:}\n"
done
for u in D W M Y; do
	takes "M8[$u] is a date" "M8[$u]" 'value\n0\n' '1970-01-01\n'
done
takes "sub-arrays and nested fields" "[('a', [('x', '<i4'), ('y', '<i2', (2,))]), ('b', '<i4', (2, 2))]" \
	'a.x,a.y[0],a.y[1],b[0][0],b[0][1],b[1][0],b[1][1]\n1,2,3,4,5,6,7\n' '1,2,3,4,5,6,7\n'

refuses "an unknown column" $ab 'a,c\n1,x\n' 1 0 "'c'"
refuses "and what there is, is said" $ab 'a,c\n1,x\n' 1 0 "there are a,b; --columns"
refuses "tabs are guessed" $ab 'a\tb\n1\tx\n' 1 0 "Only commas"
refuses "an empty number says what a missing one is" $ab 'a,b\n,x\n' 2 0 "column .a. is empty"
refuses "a missing column" $ab 'a\n1\n' 1 0 "'b'"
refuses "a column twice" $ab 'a,b,a\n1,x,1\n' 1 0 "'a'"
refuses "a bad number on line 7" $ab 'a,b\n1,x\n2,x\n3,x\n4,x\n5,x\n6z,x\n7,x\n' 7 5 "'a': '6z'"
refuses "an empty number" $ab 'a,b\n1,x\n,y\n' 3 1
refuses "a number out of range" $ab 'a,b\n2147483648,y\n' 2 0
refuses "spaces in a number" $ab 'a,b\n 1,y\n' 2 0
refuses "spaces behind a number" $ab 'a,b\n1 ,y\n' 2 0
refuses "hex" $ab 'a,b\n0x1,y\n' 2 0
refuses "a float for an integer" $ab 'a,b\n1.0,y\n' 2 0
refuses "text too long" $ab 'a,b\n1,abcde\n' 2 0
refuses "too few fields" $ab 'a,b\n1,x\n2\n' 3 1
refuses "too many fields" $ab 'a,b\n1,x,\n' 2 0
refuses "an empty line" $ab 'a,b\n1,x\n\n2,y\n' 3 1
refuses "an empty line of two at the end" $ab 'a,b\n1,x\n\n\n' 3 1
refuses "a line number counts newlines in quotes" $ab 'a,b\n1,"\n"\n\n2,y\n' 4 1
refuses "the line where a record begins" $ab 'a,b\n1,x\n2,"\n\n\n\n\n"\n' 3 1
refuses "a quote inside a field" $ab 'a,b\n1,x"y\n' 2 0
refuses "text behind a quote" $ab 'a,b\n1,"x"y\n' 2 0
refuses "a quote that is never closed" $ab 'a,b\n1,x\n2,"y\n3,z\n' 3 1
refuses "a carriage return outside quotes" $ab 'a,b\n1,x\ry\n' 2 0
refuses "hex floats" f8 'value\n0x1p3\n' 2 0
refuses "nan with a payload" f8 'value\nnan(1)\n' 2 0
refuses "a float out of range" f8 'value\n1e400\n' 2 0
refuses "an f4 out of range" f4 'value\n1e39\n' 2 0
refuses "an f2 out of range" f2 'value\n65520\n' 2 0
refuses "bool in words" b1 'value\nTrue\n' 2 0
refuses "a negative unsigned" u1 'value\n-1\n' 2 0
refuses "short V" V2 'value\n00\n' 2 0
refuses "V that is not hex" V2 'value\n00zz\n' 2 0
refuses "M8 finer than its unit" 'M8[s]' 'value\n1970-01-01T00:00:00.5Z\n' 2 0
refuses "no time" 'M8[s]' 'value\nyesterday\n' 2 0
refuses "U that is not UTF-8" U3 'value\n\377\n' 2 0
refuses "complex with a space" c16 'value\n1 +2j\n' 2 0
refuses "an empty header" $ab '\n1,x\n' 1 0

fresh $ab
printf '1,drop,x\n2,drop,y\n' | "$ticktail" append f.npy --columns a,-,b >out
is "--columns names and drops" "$(cat out) $(rows | tr '\n' ' ')" "appended 2 rows 1,x 2,y "
printf '3,x\nbad\n4,y,z\n5x,y\n6,z\n' | "$ticktail" append f.npy --columns a,b --skip-bad >out 2>words
is "--skip-bad" "$? $(cat out) $(grep -c '3 malformed rows skipped' words) $(rows | tail -n 1)" \
	"0 appended 2 rows 1 6,z"
fresh "[('a,b', '<i4'), ('c', '<i4', (2,)), ('d', [('x', '<i4')])]"
is "names are quoted in the header" "$("$ticktail" read f.npy)" '"a,b",c[0],c[1],d.x'
printf '1,2,3,4\n' | "$ticktail" append f.npy --columns '"a,b",c,d' >out 2>&1
is "--columns takes quotes, sub-arrays and structs whole" "$(cat out) $(rows)" "appended 1 rows 1,2,3,4"
exits 1 "--columns with an unknown name" sh -c "printf '1,2,3\n' | '$ticktail' append f.npy --columns x,c"
exits 1 "--columns with a missing name" sh -c "printf '1,2\n' | '$ticktail' append f.npy --columns c"
rm -f g.npy
"$ticktail" create g.npy --dtype i4 --row-shape 2,2 --capacity 4
is "rows of several extents" "$("$ticktail" read g.npy)" "value[0][0],value[0][1],value[1][0],value[1][1]"
printf '1,2,3,4\n' | "$ticktail" append g.npy --columns value >/dev/null
is "a row by its whole name" "$("$ticktail" read g.npy | tail -n 1)" 1,2,3,4
"$ticktail" create h.npy --align --dtype a:i1,b:i8 --capacity 4
is "padding is no column" "$("$ticktail" read h.npy)" a,b
finish
