#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The example of staged changes prints its plans and versions, the plan as its page shows it.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
cd "$work" || exit 99

cat >want <<'END'
SetItemPlan<value_shape=(), value_view=[None, None], append 1 empty slabs, 2 slice transfers among 2 slab pairs, drop 0 slabs>
  slabs.append(empty((4, 3)))  # slabs[2]
  # 1 transfers from slabs[1] to slabs[2]
  slabs[2][0:4, 0:3] = slabs[1][4:8, 0:3]
  # 1 transfers from value to slabs[2]
  slabs[2][1:2, 1:2] = value[0:1, 0:1]
slab_indices:
[[1]
 [2]]
slab_offsets:
[[0]
 [0]]

CommitPlan<append 1 empty slabs, 2 slice transfers among 2 slab pairs, drop 0 slabs>
  slabs.append(empty((8, 3)))  # slabs[2]
  # 1 transfers from slabs[2] to slabs[4]
  slabs[4][0:4, 0:3] = slabs[2][0:4, 0:3]
  # 1 transfers from slabs[3] to slabs[4]
  slabs[4][4:6, 0:3] = slabs[3][0:2, 0:3]
slab_indices:
[[1]
 [2]
 [2]]
slab_offsets:
[[0]
 [0]
 [4]]

second: 2 of 3 chunks stored
third: 1 of 3 chunks stored
prices read: 24
first: 20 21 22 23 24 25 26 27
second: 20 21 22 23 24 25.5 26 27 28 29
third: 20.5 21 20.5 23 24 25.5 26 27 28 29
END
"$top_builddir/examples/staged_corrections" >have 2>words
is "the example runs" "$? $(cat words)" "0 "
same "corrections and a backfill become versions" have want
sed -n '1,/^$/p' want | sed '$d' >plan
awk '/^\.Bd/ { on = 1; text = ""; next } /^\.Ed/ { on = 0 } on { text = text $0 "\n" }
	/^\.Ed/ && text ~ /^SetItemPlan/ { printf "%s", text }' "$top_srcdir/man/tt_staged_plan.3" >page
same "the page shows the plan that is printed" page plan
finish
