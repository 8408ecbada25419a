#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run every benchmark of a build and show the table of both sides.
#
#	run.sh BUILD [PROGRAM...]
#
# BENCH_OUT   where PROGRAM.jsonl and the plots go (BUILD/bench/results)
# BENCH_LONG  1: the windows that the targets name (90 s a side, 1,000 rolls; half an hour)
# BENCH_DIR   where rings and files are written, in place of /dev/shm and of the disk below $TMPDIR
#             or, without it, BUILD
# TT_PEERS    a python that has npyt and versioned_hdf5
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
out=${BENCH_OUT:-$build/bench/results}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$build"

all='append_latency append_peers append_rate roll_stall reader_latency fanout scan'
# not built without the archive
[ ! -x bench/staged ] || all="$all staged"
[ $# = 0 ] || all=$*

arguments() {
	if [ "${BENCH_LONG:-0}" != 0 ]; then
		case $1 in
		append_latency) echo --repetitions 201 ;;
		append_peers) echo --seconds 1 --rounds 9 ;;
		append_rate) echo --seconds 90 --rounds 3 $archiver ;;
		roll_stall) echo --rolls 1000 ;;
		reader_latency) echo --seconds 9 --rounds 3 ;;
		fanout) echo --seconds 60 --rounds 120 ;;
		scan) echo --rounds 31 ;;
		staged) echo --seconds 0.5 --rounds 5 ;;
		esac
	else
		case $1 in
		append_latency) echo --repetitions 51 ;;
		append_peers) echo --seconds 0.3 --rounds 5 ;;
		append_rate) echo --seconds 9 --rounds 3 $archiver ;;
		roll_stall) echo --rolls 300 ;;
		reader_latency) echo --seconds 1.5 --rounds 3 ;;
		fanout) echo --seconds 8 --rounds 32 ;;
		scan) echo --rounds 15 ;;
		staged) echo --seconds 0.1 --rounds 3 ;;
		esac
	fi
}

# without the archive there is nothing to run beside a feed
archiver=
[ ! -x ticktail ] || archiver="--ticktail $build/ticktail"

BENCH_STAGED_PYTHON=$here/staged_python.py
export BENCH_STAGED_PYTHON

load=$(cut -d ' ' -f 1 /proc/loadavg)
echo "load average $load; anything else that runs is in the figures"
for bench in $all; do
	echo "== $bench"
	# shellcheck disable=SC2046
	./bench/$bench $(arguments "$bench") >"$out/$bench.new" || {
		echo "$bench failed" >&2
		exit 1
	}
	mv "$out/$bench.new" "$out/$bench.jsonl"
	sh "$here/table.sh" text "$out/$bench.jsonl"
done
sh "$here/table.sh" plots "$out" "$out"/*.jsonl
echo "results in $out"
