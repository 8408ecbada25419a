#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The C examples feed and tail one ring; read_ring.py reads the same rows with NumPy alone.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
feed=$top_builddir/examples/feed_handler
reader=$top_builddir/examples/tail_reader
cd "$work" || exit 99
pid=
cleanup_fn() { [ -z "$pid" ] || kill "$pid" 2>/dev/null; }

lines() { [ "$(wc -l <"$1")" -ge "$2" ]; }

success "a handler makes the ring and feeds it" "$feed" ring 10000
"$reader" ring 1 >rows 2>words
is "the reader ends well when nothing comes" "$?" 0
is "the reader has every row" "$(wc -l <rows | tr -d ' ')" 10000

"$reader" ring 60 >tailed 2>words &
pid=$!
wait_for 30 lines tailed 1 || note "$(cat words)"
success "a second run goes on in the ring" "$feed" ring 5000
wait_for 60 lines tailed 15000
is "the tailing reader saw both" "$(wc -l <tailed | tr -d ' ')" 15000
kill "$pid"
wait "$pid" 2>/dev/null
pid=
head -n 10000 tailed >first
same "in one order" first rows
is "a handler without a place says so" \
	"$("$feed" /nowhere/at/all 1 2>&1 >/dev/null | sed 's/:.*//')" feed_handler
"$ticktail" create packed --rolling --keep 2 --capacity 64 \
	--dtype ts:i8,sym:i4,qty:i4,px:f8,flags:u1
"$feed" packed 1 >out 2>words
is "a handler leaves a ring of another type alone" \
	"$? $(grep -c 'are no ticks' words) $("$ticktail" read packed | wc -l | tr -d ' ')" "1 1 1"
printf 'x' >file
"$reader" file 1 >out 2>&1
is "a reader of no ring fails with words" "$?" 1

if ! (need_python numpy) >/dev/null; then
	[ -z "${TT_CI:-}" ] || not_ok "numpy is here"
	skip "read_ring.py reads the ring" "python3 with numpy is not here"
	finish
fi
need_python numpy
cat >compare.py <<'PY'
import sys
a, b = ([tuple(map(float, line.split(","))) for line in open(p)] for p in sys.argv[1:])
sys.exit(0 if a == b else "%d and %d rows differ" % (len(a), len(b)))
PY
success "read_ring.py reads the ring" sh -c \
	"'$python' '$top_srcdir/examples/read_ring.py' ring >numpy"
success "the same rows" "$python" compare.py tailed numpy
"$python" "$top_srcdir/examples/read_ring.py" ring -f >followed 2>words &
pid=$!
wait_for 60 lines followed 15000
"$feed" ring 3000 >/dev/null
wait_for 60 lines followed 18000
is "read_ring.py follows the ring over rolls" "$(wc -l <followed | tr -d ' ')" 18000
kill "$pid"
wait "$pid" 2>/dev/null
pid=
head -n 15000 followed >first
same "in one order with NumPy" first numpy
set -- ring/*.npy
"$python" "$top_srcdir/examples/read_ring.py" "$1" >one
is "read_ring.py reads one file" "$(head -n "$(wc -l <one)" numpy | cmp - one && echo same)" same
"$python" -c 'import numpy; numpy.save("plain.npy", numpy.arange(3))'
is "read_ring.py reads a plain file" \
	"$("$python" "$top_srcdir/examples/read_ring.py" plain.npy | tr '\n' ' ')" "0 1 2 "
echo hello >text
mkdir empty
for path in none empty text; do
	for follow in "" -f; do
		# shellcheck disable=SC2086
		exits 1 "read_ring.py $path $follow: refused" "$python" "$top_srcdir/examples/read_ring.py" $path $follow
		is "... in one line that names it" "$(wc -l <.out) $(grep -c "read_ring.py: $path: " .out)" "1 1"
	done
done
finish
