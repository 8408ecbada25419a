#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Conversion between every two element types gives what NumPy's gives.  TT_SEED replays.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python numpy
driver=$top_builddir/tests/staged/driver
[ -x "$driver" ] || missing "tests/staged/driver"
"$python" -c 'import numpy, sys; sys.exit(numpy.dtype("longdouble").itemsize != 16)' ||
	missing "NumPy with a long double of 16 bytes"
# shellcheck disable=SC2086 # no seed: no argument
"$python" "$top_srcdir/tests/staged/casts.py" "$driver" ${TT_SEED:-} \
	>"$work/out" 2>"$work/err" || {
	grep -q '^not ok' "$work/out" || echo "not ok - casts.py ended" >>"$work/out"
}
echo 1..1
cat "$work/out"
note "$(cat "$work/err")"
! grep -q '^not ok' "$work/out"
