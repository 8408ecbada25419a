#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Live files between ticktail, npyt and NumPy; the cases are in files_npyt.py.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
need_python numpy npyt
PYTHONDONTWRITEBYTECODE=1 "$python" "$top_srcdir/tests/interop/files_npyt.py"
