#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rings between ticktail and npyt; the cases are in ring_npyt.py.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python numpy npyt
PYTHONDONTWRITEBYTECODE=1 "$python" "$top_srcdir/tests/interop/ring_npyt.py"
