#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Archives of the reference package, extended by us and then used by it; the cases are in
# golden_extend.py.  TT_SHARED names the directory that holds golden/archive.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
[ -d "${TT_SHARED:-/nonexistent}/golden/archive" ] ||
	{ echo '1..0 # SKIP TT_SHARED names no directory with golden/archive'; exit 0; }
need_python numpy h5py versioned_hdf5
PYTHONDONTWRITEBYTECODE=1 \
	"$python" "$top_srcdir/tests/interop/golden_extend.py" "$TT_SHARED/golden/archive"
