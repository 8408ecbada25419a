#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What README shows is what there is: its C compiles and runs, its Python is read_ring.py's, its
# shell lines work.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
: "${CC:=cc}"
readme=$top_srcdir/README.md
cd "$work" || exit 99

# block LANGUAGE: the code between its fences
block() { awk -v f="\`\`\`$1" '$0 == f { on = 1; next } /^```/ { on = 0 } on' "$readme"; }

block c >tail.c
san=$(sed -n 's/^TT_SAN = *//p' "$top_builddir/Makefile")
# shellcheck disable=SC2086
success "the C of README compiles" $CC -std=c11 -Wall -Wextra -Werror $san \
	-I"$top_srcdir/include" tail.c -o tail -L"$top_builddir/.libs" -lticktail \
	-Wl,-rpath,"$top_builddir/.libs"
"$top_builddir/examples/feed_handler" trades 9000 >/dev/null
rows=$(./tail 2>words | awk '{ n += $1 } END { print n + 0 }')
is "and reads every row" "$rows" 9000

block python >excerpt
is "the Python of README is in examples/read_ring.py" "$(awk '
	NR == FNR { want = want $0 "\n"; next }
	{ have = have $0 "\n" }
	END { print (index(have, want) > 0) }' excerpt "$top_srcdir/examples/read_ring.py")" 1

# the shell lines, with an end to gen and to tail
rm -rf trades
sed -n '/^## In a shell/,/^## In C/s/^    //p' "$readme" >lines
sed -e 's/ *#.*//' -e "s,ticktail \([a-z]\),'$ticktail' \1,g" -e 's/gen --rate 10k/gen --rows 5k/' \
	-e 's/ &$//' -e 's/tail trades -f/tail trades -f --timeout 1/' lines >lines.sh
success "the shell lines of README work" sh -e lines.sh
[ -s all.npy ] && ok "and leave the rows" || not_ok "and leave the rows"

# another place: what is exported is where an installation there has its parts
sed -n 's/^    \(export .*\)/\1/p' "$readme" >exports
libdir=$(sed -n 's/^libdir = //p' "$top_builddir/Makefile")
# shellcheck disable=SC2016
if [ "$libdir" = '${exec_prefix}/lib' ]; then
	make -s -C "$top_builddir" DESTDIR="$work/root" prefix=/user/ticktail \
		install-pkgconfigDATA >words 2>&1
	is "the exports of README name where pkg-config looks, and the loader" \
		"$(HOME=/user && . ./exports && cd "$work/root$LD_LIBRARY_PATH" && ls "$work/root$PKG_CONFIG_PATH" |
			grep -c '^libticktail')" 2
else
	skip "the exports of README name where pkg-config looks" "configured with another libdir"
fi
for word in $(grep -oE '(examples|docs)/[A-Za-z_.]+|[A-Z]+\.md' "$readme" | sort -u); do
	[ -e "$top_srcdir/$word" ] || [ -e "$top_srcdir/$word.c" ] ||
		[ -e "$top_srcdir/docs/$word" ] || not_ok "$word exists"
done
finish
