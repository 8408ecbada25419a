#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every kind of value through every format and back.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
need_python numpy
cd "$work" || exit 99
"$python" "$top_srcdir/tests/cli/roundtrip.py"
