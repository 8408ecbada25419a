#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An archive cut off at any length, or with bits turned over: opening, listing, reading and
# verifying end with an error or with damage named, never by a signal and never without end.
# libhdf5 itself does not survive every damage; what dies or hangs inside it is counted, and
# may not be more than one case in ten.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python h5py numpy
tool=$top_builddir/tests/archive/archive_tool
: "${TT_SEED:=$(date +%s)}"
: "${TT_ROUNDS:=60}"
export TT_SEED
note "TT_SEED=$TT_SEED TT_ROUNDS=$TT_ROUNDS"
[ -x "$tool" ] || missing "$tool"

cat > "$work/run.py" <<'END'
import os, random, subprocess, sys
import h5py, numpy as np
tool, work, what = sys.argv[1:4]
rnd = random.Random(int(os.environ['TT_SEED']))
rounds = int(sys.argv[4])
path = work + '/bad.h5'
libhdf5 = 0

def make():
    import hashlib
    hashed = np.dtype([('hash', 'u1', (32,)), ('shape', '<i8', (2,))])
    dtype = np.dtype([('ts', '<i8'), ('px', '<f8')])
    with h5py.File(work + '/good.h5', 'w') as f:
        vs = f.create_group('_version_data/versions')
        vs.attrs['current_version'] = 'v1'
        vs.attrs['data_version'] = 4
        vs.create_group('__first_version__').attrs['timestamp'] = '2026-11-01 00:00:00.000000+0000'
        raw = f.create_dataset('_version_data/d/x/raw_data', (32,), dtype, maxshape=(None,),
                               chunks=(8,), compression='gzip', shuffle=True)
        raw.attrs['chunks'] = [8]
        rows = np.zeros(32, dtype)
        rows['ts'] = np.arange(32)
        rows['px'] = np.arange(32) * .5
        raw[:] = rows
        table = f.create_dataset('_version_data/d/x/hash_table', (4,), hashed, maxshape=(None,))
        for i in range(4):
            h = hashlib.sha256(rows[8 * i:8 * i + 8].tobytes() + b'(8,)').digest()
            table[i] = (np.frombuffer(h, 'u1'), (8 * i, 8 * i + 8))
        table.attrs['largest_index'] = 4
        for k, name in enumerate(['v0', 'v1']):
            v = vs.create_group(name)
            v.attrs['prev_version'] = 'v0' if k else '__first_version__'
            v.attrs['committed'] = True
            v.attrs['timestamp'] = '2026-11-0%d 00:00:00.000000+0000' % (k + 2)
            n = 16 + 16 * k
            layout = h5py.VirtualLayout((n,), dtype)
            for i in range(0, n, 8):
                src = h5py.VirtualSource('.', raw.name, raw.shape, dtype, maxshape=(None,))
                layout[i:i + 8] = src[i:i + 8]
            ds = v.create_virtual_dataset('d/x', layout, fillvalue=np.zeros((), dtype)[()])
            ds.attrs['raw_data'] = raw.name
            ds.attrs['chunks'] = [8]
            np.save(work + '/%s.npy' % name, rows[:n])
    with open(work + '/list', 'w') as f:
        for name in ('v0', 'v1'):
            f.write('%s\td/x\t%s/%s.npy\n' % (name, work, name))

def run(*args, **k):
    p = subprocess.run([tool] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=120, **k)
    return p.returncode, p.stdout + p.stderr

def attempt(blob, label):
    with open(path, 'wb') as f:
        f.write(blob)
    found, said = run('verify', path)
    versions, more = run('versions', path)
    with open(work + '/list') as lines:
        read, words = run('list', path, stdin=lines)
    global libhdf5
    if 4 in (found, versions, read):
        libhdf5 += 1
        return 4, 4
    for code, text in ((found, said), (versions, more), (read, words)):
        assert code in (0, 1, 3), (label, code, text)
        assert code == 0 or text.strip(), (label, 'fails without a word')
    return found, read

make()
good = open(work + '/good.h5', 'rb').read()
assert attempt(good, 'whole') == (0, 0)
if what == 'cut':
    for n in sorted(set([0, 1, 7, 8, 9, 95, 96, len(good) - 1] +
                        [rnd.randrange(len(good)) for _ in range(rounds // 2)])):
        assert attempt(good[:n], 'cut at %d' % n)[0] != 0, n
else:
    sound = 0
    for i in range(rounds):
        blob = bytearray(good)
        label = []
        for _ in range(rnd.choice([1, 1, 1, 3])):
            at, bit = rnd.randrange(len(blob)), rnd.randrange(8)
            blob[at] ^= 1 << bit
            label.append((at, bit))
        sound += attempt(bytes(blob), label)[0] == 0
    assert libhdf5 <= rounds // 10, libhdf5
    print('%d of %d were sound still, %d ended in libhdf5' % (sound, rounds, libhdf5))
END
success "cut at any length" "$python" "$work/run.py" "$tool" "$work" cut "$TT_ROUNDS"
success "bits turned over" "$python" "$work/run.py" "$tool" "$work" flip "$TT_ROUNDS"
note "$(cat "$work/.out")"
finish
