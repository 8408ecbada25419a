#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What every command has in common: help, options, exit statuses, where words go.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99

exits 0 "--help" "$ticktail" --help
commands=$(sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' .out)
for c in adopt append archive backup clear create gen info merge read resize seal tail update \
	verify versions; do
	case " $(echo $commands) " in
	*" $c "*) ok "--help lists $c" ;;
	*) not_ok "--help lists $c" ;;
	esac
	exits 0 "$c --help" "$ticktail" $c --help
	grep -q "^usage: ticktail $c" .out && ok "$c --help begins with its usage" ||
		not_ok "$c --help begins with its usage" "$(head -n 1 .out)"
	"$ticktail" $c --help >help 2>words
	is "$c --help goes to stdout" "$(cat words)" ""
	grep -A 1 '^options:$' help | grep -qx '' && not_ok "$c --help has options below their title"
	"$ticktail" $c --long-options >long || not_ok "$c --long-options"
	grep -qx help long && ok "$c --long-options" || not_ok "$c --long-options"
	exits 2 "$c --frobnicate is wrong usage" "$ticktail" $c --frobnicate
	case $(cat .out) in
	"ticktail: $c: unknown option --frobnicate; the nearest one is --"*) ok "$c says so" ;;
	*) not_ok "$c says so" "$(cat .out)" ;;
	esac
done
is "commands are sorted" "$(echo "$commands" | sort)" "$commands"
exits 0 "--version" "$ticktail" --version
grep -qE '^ticktail [0-9]+\.[0-9]+\.[0-9]+$' .out && ok "--version says it" ||
	not_ok "--version says it" "$(cat .out)"
exits 2 "no command" "$ticktail"
exits 2 "an unknown command" "$ticktail" apend
grep -q "'append'" .out && ok "names the nearest command" || not_ok "names the nearest" "$(cat .out)"
exits 2 "an unknown option" "$ticktail" create f --dtype f8 --capcity 3
grep -q -e "--capacity" .out && ok "names the nearest option" || not_ok "nearest" "$(cat .out)"
exits 2 "an option cut short is unknown" "$ticktail" create f --dtype f8 --capa 3
exits 2 "an unknown short option" "$ticktail" tail -x f
is "... is named as it was given" "$("$ticktail" tail -x f 2>&1 | grep -c 'option -x;')" 1
exits 2 "an option without its value" "$ticktail" create f --dtype
exits 2 "a value for a flag" "$ticktail" create f --exact=yes
exits 2 "too many arguments" "$ticktail" clear a b
exits 2 "too few arguments" "$ticktail" backup a
exits 2 "an unknown format" "$ticktail" gen --format cvs
grep -q "csv" .out && ok "names the nearest format" || not_ok "nearest format" "$(cat .out)"

# numbers
for n in 10 1_000 2k 1Ki 0 x 1K -1 1.5 1__0 _1 1_ k 18446744073709551616; do
	s=0
	"$ticktail" gen --rows "$n" >rows 2>words || s=$?
	case $n in
	10 | 1_000 | 2k | 1Ki | 0)
		want=$(echo "$n" | sed 's/_//; s/2k/2000/; s/1Ki/1024/')
		is "--rows $n" "$s $(($(wc -l <rows) - 1))" "0 $want" ;;
	*) is "--rows $n is refused" "$s" 2 ;;
	esac
done
"$ticktail" gen --rows=7 --seed 3 >a
"$ticktail" gen --seed=3 --rows 7 >b
same "--name=value and --name value are the same" a b
"$ticktail" create x.npy --dtype=f8 --capacity=8
printf 'value\n1\n2\n' | "$ticktail" append -- x.npy >/dev/null
is "-- ends the options" "$("$ticktail" tail -n1 x.npy | tail -n 1)" 2
is "options may stand behind arguments" "$("$ticktail" tail x.npy -n 1 | tail -n 1)" 2
is "-q says nothing" "$(printf 'value\n3\n' | "$ticktail" append x.npy -q 2>&1)" ""
is "-q before the command too" "$(printf 'value\n3\n' | "$ticktail" -q append x.npy 2>&1)" ""

# output that fails
if [ -c /dev/full ]; then
	for c in "gen --rows 10" "gen --rows 100000" "read x.npy" "tail x.npy" "info x.npy" \
		"info x.npy --json" "verify x.npy --json" "--help" "create --help" "--version"; do
		s=0
		# shellcheck disable=SC2086
		"$ticktail" $c >/dev/full 2>words || s=$?
		is "$c on a full disk" "$s $(grep -c 'No space left' words)" "1 1"
	done
	s=0
	printf 'value\n1\n' | "$ticktail" append x.npy >/dev/full 2>/dev/null || s=$?
	is "append on a full disk" $s 1
else
	skip "output that fails" "/dev/full is not here"
fi
s=0
"$ticktail" gen --rows 3 >&- 2>words || s=$?
is "a closed stdout" "$s $(grep -c stdout words)" "1 1"
"$ticktail" gen --rows 1M 2>words | head -n 1 >first
is "SIGPIPE ends quietly" "$(cat words)" ""
"$ticktail" gen --rows 10 -o kept.csv
"$ticktail" gen --rows 10 >wanted.csv
same "-o writes what stdout gets" kept.csv wanted.csv
chmod 555 . && { s=0; "$ticktail" gen --rows 1 -o new.csv 2>words || s=$?; chmod 755 .
	[ "$(id -u)" = 0 ] && skip "-o into a directory without permission" "root may do all" ||
	is "-o into a directory without permission" $s 1; }
# a store is not replaced by results, its own or others'
"$ticktail" create own.npy --dtype i8 --capacity 8
printf 'value\n1\n2\n' | "$ticktail" append own.npy -q
"$ticktail" create own --dtype i8 --capacity 8 --rolling --keep 2
printf 'value\n1\n' | "$ticktail" append own -q
"$ticktail" archive own.npy -o own.h5 -q
ln -s own.npy link
for to in own.npy ./own.npy link own.h5 own/*.npy; do
	for from in own.npy own "own.h5 own" x.npy; do
		# shellcheck disable=SC2086
		exits 1 "read $from -o $to" "$ticktail" read $from -o "$to"
	done
	exits 1 "gen -o $to" "$ticktail" gen --rows 1 -o "$to"
done
is "they are as they were" "$("$ticktail" read own.npy | tr '\n' ' ')$("$ticktail" read own |
	tr '\n' ' ')$("$ticktail" verify own.h5)" "value 1 2 value 1 own.h5: ok"
"$ticktail" read own.npy --format npy -o plain.npy
exits 0 "a plain .npy file is replaced" "$ticktail" read plain.npy --head 1 --format npy -o plain.npy
is "... by its own rows" "$("$ticktail" read plain.npy | tr '\n' ' ')" "value 1 "
exits 1 "-o into no directory" "$ticktail" gen --rows 1 -o none/new.csv
is "nothing is left behind" "$(find . -name '*.csv.*')" ""
"$ticktail" gen --rows 100 --progress 2>words >/dev/null
grep -q rows words && ok "--progress shows a line in a pipe" || not_ok "--progress" "$(cat words)"
"$ticktail" gen --rows 100 2>words >/dev/null
is "no progress line in a pipe" "$(cat words)" ""
finish
