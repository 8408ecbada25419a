#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Archives between ticktail, h5py and versioned_hdf5; the cases are in archive_vh5.py.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
need_python numpy h5py versioned_hdf5
PYTHONDONTWRITEBYTECODE=1 "$python" "$top_srcdir/tests/interop/archive_vh5.py"
