#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random sequences of operations, done by versioned_hdf5's StagedChangesArray and by ours: values,
# tables, slabs and the texts of plans.  TT_SEED replays, TT_LONG=1 takes 100,000 sequences.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python numpy versioned_hdf5.staged_changes
driver=$top_builddir/tests/staged/driver
[ -x "$driver" ] || missing "tests/staged/driver"
sequences=${TT_LONG:+100000}
# shellcheck disable=SC2086 # no seed: no argument
"$python" "$top_srcdir/tests/staged/differential.py" "$driver" "${sequences:-600}" \
	${TT_SEED:-} >"$work/out" 2>"$work/err" || {
	grep -q '^not ok' "$work/out" || echo "not ok - differential.py ended" >>"$work/out"
}
echo 1..1
cat "$work/out"
note "$(cat "$work/err")"
! grep -q '^not ok' "$work/out"
