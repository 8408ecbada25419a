#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From JSON lines of the benchmarks to what people read.
#
#	table.sh text FILE.jsonl...         a table for the terminal
#	table.sh markdown FILE.jsonl...     docs/BENCHMARKS.md, on stdout
#	table.sh plots DIR FILE.jsonl...    SVG files in DIR, where gnuplot is there
set -eu

here=$(cd "$(dirname "$0")" && pwd)
mode=${1:-}
case $mode in
text | markdown)
	shift
	exec awk -v mode="$mode" -f "$here/table.awk" "$@" ;;
plots)
	dir=$2
	shift 2 ;;
*)
	sed -n '3,7s/^# \{0,1\}//p' "$0" >&2
	exit 2 ;;
esac

command -v gnuplot >/dev/null || {
	echo "no plots: gnuplot is not here"
	exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -v mode=curves -v dir="$work" -f "$here/table.awk" "$@"

# plot NAME TITLE: the curves $work/NAME.*.dat, each with its title in the first line
plot() {
	what=
	for data in "$work/$1".*.dat; do
		[ -e "$data" ] || return 0
		what="$what${what:+, }'$data' using (1/\$1):(\$2/1000) with steps lw 1.6 title '$(sed -n "s/'/''/g; 1s/^# //p" "$data")'"
	done
	gnuplot >"$work/svg" <<-GNUPLOT
		set terminal svg size 800,480 dynamic font 'sans-serif,13' background '#ffffff'
		set title '$2'
		set logscale xy
		set xlabel 'one in so many takes at least'
		set ylabel 'µs'
		set format x '%.0s%c'
		set format y '%g'
		set grid
		set key top left opaque
		plot $what
	GNUPLOT
	sed 's/[[:blank:]]*$//' "$work/svg" >"$dir/$1.svg"
	echo "plot $dir/$1.svg"
}

plot append-latency-100000 'append at 100,000 rows/s, from when the row was due, rolls inside'
plot append-latency-1000 'append at 1,000 rows/s, from when the row was due, rolls inside'
plot roll-stall 'append that finds the file full'
plot wake-latency 'from the writer to a reader that sleeps, in another process'
plot spin-latency 'from the writer to a reader that spins, in another process'
