#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random headers against every NumPy at hand: TT_PEERS, the system's.  TT_SEED replays.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"

echo=$top_builddir/tests/format/npy_echo
seed=${TT_SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
count=${TT_LONG:+20000}
tried=" "

# agree PYTHON
agree() {
	where=$("$1" -c 'import numpy; print(numpy.__file__)' 2>/dev/null) || return 0
	case $tried in *" $where "*) return 0 ;; esac
	tried="$tried$where "
	version=$("$1" -c 'import numpy; print(numpy.__version__)')
	success "headers agree with NumPy $version (TT_SEED=$seed)" \
		"$1" -B "$top_srcdir/tests/format/npy_numpy.py" "$echo" "$seed" "${count:-600}"
}

for p in ${TT_PEERS:+"$TT_PEERS"} "$PYTHON" /usr/bin/python3 python3; do
	agree "$p"
done
[ "$tt_count" -gt 0 ] || missing "python3 with numpy"
finish
