#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Chunks that we filtered, read by h5py; chunks that h5py filtered, read by us.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python h5py numpy
program=$top_builddir/tests/archive/test_filters

cat > "$work/peer.py" <<'END'
import sys, h5py, numpy as np
ROWS, WIDTH = 3000, 12
def fill(kind):
    i = np.arange(ROWS * WIDTH, dtype=np.int64)
    if kind == 1:
        out, s = [], 12345
        for _ in i:
            s = (s * 1664525 + 1013904223) & 0xffffffff
            out.append(s >> 24)
        return np.array(out, 'u1').tobytes()
    if kind == 2:
        return bytes(ROWS * WIDTH)
    a = np.where(i % WIDTH < 4, (i // WIDTH) >> (8 * (i % 4)), i % WIDTH)
    return (a & 255).astype('u1').tobytes()
def read(path):
    with h5py.File(path, 'r') as f:
        assert len(f) == 42, len(f)
        for name in f:
            assert f[name][:].tobytes() == fill(int(name[1])), name
def write(path):
    kinds = [dict(), dict(compression='lzf'), dict(compression='lzf', shuffle=True),
             dict(compression='gzip', compression_opts=1), dict(compression='gzip', shuffle=True),
             dict(fletcher32=True), dict(compression='lzf', fletcher32=True),
             dict(compression='gzip', shuffle=True, fletcher32=True)]
    with h5py.File(path, 'w') as f:
        for kind in range(3):
            data = np.frombuffer(fill(kind), 'V12')
            for i, k in enumerate(kinds):
                f.create_dataset('d%d_%d' % (kind, i), data=data, chunks=(ROWS,), **k)
globals()[sys.argv[1]](sys.argv[2])
END
success "we write 42 filtered datasets" "$program" write "$work"
success "h5py reads them" "$python" "$work/peer.py" read "$work/ours.h5"
success "h5py writes 24 filtered datasets" "$python" "$work/peer.py" write "$work/theirs.h5"
success "we read them" "$program" check "$work"
finish
