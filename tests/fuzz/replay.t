#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every fuzz target over its corpus.  A target without libFuzzer also mutates each file a little
# (TT_SEED replays, TT_LONG mutates much) and prints TAP, which is passed on here.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"

# pass_on TARGET: the lines of its TAP as our own
pass_on() {
	while IFS= read -r line; do
		case $line in
		"ok "*) ok "$1: ${line#*- }" ;;
		"not ok "*) not_ok "$1: ${line#*- }" "$(tail -n 30 "$work/$1.err")" ;;
		"#"*) echo "$line" ;;
		esac
	done <"$work/$1.out"
}

for target in dtype manifest npy settings tail; do
	program=$top_builddir/tests/fuzz/fuzz_$target
	status=0
	"$program" -runs=0 "$top_srcdir/tests/fuzz/corpus/$target" \
		>"$work/$target.out" 2>"$work/$target.err" || status=$?
	pass_on "$target"
	if [ "$status" = 0 ]; then
		ok "$target: the whole corpus"
	else
		not_ok "$target: the whole corpus" "exit $status
$(grep '^Bail' "$work/$target.out"; tail -n 30 "$work/$target.err")"
	fi
done
finish
