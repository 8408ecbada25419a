#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trades in CSV go into a rolling ring while another process tails it, then into an archive, and
# come back equal: on made-up rows shaped like a day of trades, and on a recorded day where
# $TT_SHARED has one.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99
pid=
cleanup_fn() { [ -z "$pid" ] || kill "$pid" 2>/dev/null; }
lines() { [ "$(wc -l <"$1")" -ge "$2" ]; }
columns=time_ms,price,shares,exch,cond,susp

# by_python: versioned_hdf5's rows of every dataset, in the order of names, as that CSV
by_python() {
	"$python" - "$1" <<'PY'
import sys
import h5py
from versioned_hdf5 import VersionedHDF5File

with h5py.File(sys.argv[1], "r") as f:
    version = VersionedHDF5File(f)[None]
    for name in sorted(version["ring"]):
        for row in version["ring"][name][()].tolist():
            print(*(x.decode() if isinstance(x, bytes) else x for x in row), sep=",")
PY
}

# day NAME CSV ROWS PER_FILE
day() {
	rm -rf ring a.h5 tailed
	success "$1: create" "$ticktail" create ring --rolling --capacity "$4" --keep 4 \
		--dtype time_ms:i4,price:i4,shares:i4,exch:S1,cond:S8,susp:u1
	"$ticktail" tail ring -f --from-start >tailed 2>words &
	pid=$!
	is "$1: every row is appended" \
		"$("$ticktail" append ring --columns $columns <"$2" 2>&1)" "appended $3 rows"
	wait_for 120 lines tailed $(($3 + 1))
	kill -TERM $pid
	wait $pid
	is "$1: tail ends well" "$?" 0
	pid=
	{ echo $columns; cat "$2"; [ -z "$(tail -c 1 "$2")" ] || echo; } >wanted
	same "$1: the other process saw every row in order" tailed wanted
	is "$1: tail said nothing was lost" "$(cat words)" ""
	files=$(find ring -name '*.npy' | wc -l)
	[ "$files" -ge $(($3 / $4)) ] && ok "$1: the ring rolled" ||
		not_ok "$1: the ring rolled" "$files files"
	success "$1: archive" "$ticktail" archive ring -o a.h5 --seal
	"$ticktail" read a.h5 ring/ >back
	same "$1: the archive gives the rows back" back wanted
	"$ticktail" archive ring -o a.h5 --seal --json >again
	is "$1: archiving again adds nothing" \
		"$(tr -d ' \n' <again | grep -oE '"(rows|chunks_new)":[0-9]+' | tr '\n' ' ')" \
		'"rows":0 "chunks_new":0 '
	is "$1: one version" "$("$ticktail" versions a.h5 --json | tr -d ' \n' |
		grep -oE '"committed":true' | wc -l | tr -d ' ')" 1
	success "$1: verify finds no damage" "$ticktail" verify a.h5
	success "$1: nor in the ring" "$ticktail" verify ring
	if (need_python h5py versioned_hdf5) >/dev/null; then
		need_python h5py versioned_hdf5
		{ echo $columns; by_python a.h5; } >python
		same "$1: versioned_hdf5 has the same rows" python wanted
	elif [ -n "${TT_CI:-}" ]; then
		not_ok "versioned_hdf5 is here"
	else
		skip "$1: versioned_hdf5 has the same rows" "versioned_hdf5 is not here"
	fi
}

awk -v n=60000 'BEGIN {
	srand(11)
	t = 34200000
	for (i = 0; i < n; i++) {
		if (rand() < 0.4) t += int(rand() * 30)
		printf "%d,%d,%d,%s,%s,%d\n", t - (rand() < 0.01), 1672500 + int(rand() * 5000),
			100 * (1 + int(rand() * rand() * 20)), substr("PZQDNTK", 1 + int(rand() * 7), 1),
			rand() < 0.3 ? "20002020" : "2000", rand() < 0.01
	}
}' | head -c -1 >made.csv
day "made-up trades" made.csv 60000 5000

spy=${TT_SHARED:-}/ticks/spy_20131008_trade.zip
if [ -n "${TT_SHARED:-}" ] && [ -f "$spy" ] && command -v unzip >/dev/null; then
	unzip -p "$spy" >spy.csv
	day "a recorded day" spy.csv 451545 50000
else
	skip "a recorded day" "TT_SHARED names no place with recorded ticks"
fi
finish
