#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What careless hands do to live files and rings: the words, the numbers and the status are right.
. "$(dirname "$0")/../functions.sh"
cd "$work" || exit 99

# ring NAME [OPTIONS]: five files of four rows, 1 to 20
ring() {
	rm -rf "$1"
	name=$1
	shift
	"$ticktail" create "$name" --dtype i8 --capacity 4 --exact --rolling --keep 2 "$@" &&
		seq 1 20 | "$ticktail" append "$name" --columns value -q
}
file() { ls "$1" | grep 'npy$' | sed -n "$2p"; }
numbers() { tail -n +2 "$1" | tr '\n' ' '; }

# a damaged file in the middle takes away its own rows only, whoever named the files
for index in whole made_again missing; do
	for bytes in 0 100 130 150; do
		ring r
		[ "$index" = whole ] || rm r/.ticktail
		[ "$index" != made_again ] || "$ticktail" recover r -q
		second=$(file r 2)
		head -c "$bytes" "r/$second" >part && cp part "r/$second"
		"$ticktail" read r >out 2>err
		is "$index, $bytes bytes: read goes on behind it" "$(numbers out)" \
			"$(seq 1 20 | grep -vx '[5678]' | tr '\n' ' ')"
		is "... with words" "$(grep -c "$second.*damaged" err)" 1
	done
	"$ticktail" tail r --from-start >out 2>err
	is "$index: tail goes on behind it" "$(numbers out)" \
		"$(seq 1 20 | grep -vx '[5678]' | tr '\n' ' ')"
	is "... with words" "$(grep -c "$second.*passed over" err)" 1
done

ring r
exits 2 "--set refuses files of 0 rows" "$ticktail" create r --rolling --set --capacity 0
exits 2 "... and one file in the queue" "$ticktail" create r --rolling --set --keep 1
is "... and leaves the ring as it was" "$("$ticktail" info r | grep -c '^capacity *4$')" 1

for policy in none 20 each; do
	"$ticktail" append r --sync "$policy" </dev/null >out 2>err
	is "--sync $policy for one run is said in its own words" \
		"$(grep -c -e "--sync $policy for this run instead of the ring's own 1000" err)" 1
done

# names of files are text: numbers as large are rounded by readers of JSON
is "status names the newest file as info does" \
	"$("$ticktail" status r --json | "$PYTHON" -c 'import json, sys
print(json.load(sys.stdin)["newest"]["name"])')" \
	"$("$ticktail" info r --json | "$PYTHON" -c 'import json, sys
print(json.load(sys.stdin)["files"][-1]["name"])')"

finish
