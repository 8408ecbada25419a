#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What we commit, versioned_hdf5 reads, stages upon, resizes and deletes; then we go on.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python numpy h5py versioned_hdf5
tool=$top_builddir/tests/archive/commit_tool
[ -x "$tool" ] || missing "tests/archive/commit_tool"
cd "$work" || exit 99

cat > peer.py <<'END'
import hashlib, os, subprocess, sys
import h5py, numpy as np
from versioned_hdf5 import VersionedHDF5File, delete_versions

tool = sys.argv[1]
count = 0

def check(name, good):
    global count
    count += 1
    print('%s %d - %s' % ('ok' if good else 'not ok', count, name), flush=True)

def archive(*args):
    done = subprocess.run([tool, 'archive', *args], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr

def commit(path, array, dataset, version, *more):
    np.save('in.npy', array)
    os.rename('in.npy', version + '.npy') # another path: another source
    code, words = archive('-o', path, '-d', dataset, '-v', version, *more, version + '.npy')
    assert code == 0, words
    return words

def equal(a, b):
    if a.shape != b.shape or a.dtype.itemsize != b.dtype.itemsize:
        return False
    if a.dtype.names:
        return all(equal(a[n], b[n]) for n in a.dtype.names)
    return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()

def read(path, version, dataset, mode='r'):
    with h5py.File(path, mode) as f:
        return VersionedHDF5File(f)[version][dataset][()]

def whole(path):
    """Hash tables, mappings and digests as the layout wants them."""
    with h5py.File(path, 'r') as f:
        def look(name, o):
            if not (isinstance(o, h5py.Dataset) and o.is_virtual) or o.dtype == object:
                return
            raw = f[o.attrs['raw_data']]
            table = f[os.path.dirname(o.attrs['raw_data'])]['hash_table']
            n = int(table.attrs['largest_index'])
            rows = {tuple(int(x) for x in r['shape']): bytes(r['hash']) for r in table[:n]}
            assert len(rows) == n and len(set(rows.values())) == n
            for s in o.virtual_sources():
                start, _, many, block = s.src_space.get_regular_hyperslab()
                box = tuple(slice(a, a + m * b) for a, m, b in zip(start, many, block))
                data = np.ascontiguousarray(raw[box])
                digest = hashlib.sha256(raw_bytes(raw, box, data))
                digest.update(str(tuple(int(x) for x in data.shape)).encode())
                assert rows[(box[0].start, box[0].stop)] == digest.digest(), (name, box)
        f['_version_data/versions'].visititems(look)
    return True

def raw_bytes(raw, box, data):
    if data.dtype.names is None:
        return data.tobytes()
    # padding comes back from h5py as it lay in memory: zero it, as we store it
    clean = np.zeros(data.shape, data.dtype)
    for n in data.dtype.names:
        clean[n] = data[n]
    return clean.tobytes()

rng = np.random.default_rng(7)
kinds = {
    'i8': rng.integers(0, 9, 130), 'be': rng.integers(0, 99, 130).astype('>u2'),
    'f2': rng.random(130).astype('f2'), 'c': rng.random(130) + 1j,
    'flag': rng.integers(0, 2, 130).astype(bool), 'text': np.array([b'ab', b'c'] * 65, 'S4'),
    'cube': rng.random((130, 3, 2)),
    'rows': np.array([(i, i / 4, b'x' * (i % 5)) for i in range(130)],
                     np.dtype([('ts', 'i8'), ('px', 'f4'), ('s', 'S4')], align=True)),
    'nest': np.zeros(130, [('a', [('b', '<i2'), ('c', '<f8', (2,))]), ('t', 'u1')]),
    'when': np.arange(130).astype('M8[ms]'), 'wide': np.array(['ab', 'é'] * 65, 'U3'),
}
for kind, array in kinds.items():
    path = kind + '.h5'
    commit(path, array, 'deep/x', 'one', '-c', '50')
    back = array.view('i8') if array.dtype.kind == 'M' else \
        array.view('u4').reshape(130, 3) if array.dtype.kind == 'U' else array
    good = equal(read(path, 'one', 'deep/x'), back) and equal(read(path, 'one', 'deep/x', 'r+'), back)
    check(kind + ': read, r and r+', good and whole(path))
    with h5py.File(path, 'r+') as f:
        with VersionedHDF5File(f).stage_version('py') as staged:
            staged['deep/x'][3] = back[7]
            staged['deep/x'].resize((90,) + back.shape[1:])
    want = back.copy()
    want[3] = back[7]
    want = want[:90]
    check(kind + ': staged upon', equal(read(path, 'py', 'deep/x'), want)
          and equal(read(path, 'one', 'deep/x'), back) and whole(path))
    words = commit(path, array, 'deep/x', 'two')
    want = np.concatenate([want, back]).astype(back.dtype)
    check(kind + ': extended again', equal(read(path, 'two', 'deep/x'), want)
          and equal(read(path, 'one', 'deep/x'), back) and whole(path))
    with h5py.File(path, 'r+') as f:
        delete_versions(f, ['one', 'py'])
    check(kind + ': after delete_versions', equal(read(path, 'two', 'deep/x'), want) and whole(path))
    commit(path, array[:10], 'deep/x', 'three')
    want = np.concatenate([want, back[:10]]).astype(back.dtype)
    check(kind + ': extended after that', equal(read(path, 'three', 'deep/x', 'r+'), want)
          and whole(path))

# the ledger through h5py, and what a deletion means to it
array = np.arange(300)
commit('l.h5', array, 'x', 'first', '-c', '64')
os.rename('first.npy', 'grow.npy')
commit('m.h5', array[:100], 'x', 'a', '-c', '64')
os.rename('a.npy', 'same.npy')
code, words = archive('-o', 'g.h5', '-d', 'x', '-v', 'one', '-c', '64', 'same.npy')
np.save('same.npy', array[:250])
code, words = archive('-o', 'g.h5', '-d', 'x', '-v', 'two', 'same.npy')
check('a longer file adds its new rows', 'rows=150 ' in words)
with h5py.File('g.h5', 'r') as f:
    ledger = f['_ticktail/ledger'][()]
    check('the ledger is a table that h5py reads', [bytes(v) for v in ledger['version']] ==
          [b'one', b'two'] and list(ledger['file_row']) == [0, 100] and list(ledger['rows']) == [100, 150])
with h5py.File('g.h5', 'r+') as f:
    del VersionedHDF5File(f)['two']
code, words = archive('-o', 'g.h5', '-d', 'x', '-v', 'three', 'same.npy')
check('rows of a version deleted at the end come again', 'rows=150 ' in words
      and equal(read('g.h5', 'three', 'x'), array[:250]))
with h5py.File('g.h5', 'r+') as f:
    delete_versions(f, ['one'])
code, words = archive('-o', 'g.h5', '-d', 'x', 'same.npy')
check('rows of a version deleted before are still there', "version='' rows=0 " in words)
with h5py.File('g.h5', 'r+') as f:
    with VersionedHDF5File(f).stage_version('py') as staged:
        staged['x'][0] = 77
np.save('same.npy', array[:260])
code, words = archive('-o', 'g.h5', '-d', 'x', '-v', 'four', 'same.npy')
want = array[:260].copy()
want[0] = 77
check('a version of theirs on top is built upon', 'rows=10 ' in words
      and equal(read('g.h5', 'four', 'x'), want) and whole('g.h5'))
with h5py.File('g.h5', 'r+') as f:
    VersionedHDF5File(f).current_version = 'three'
np.save('same.npy', array[:270])
code, words = archive('-o', 'g.h5', '-d', 'x', '-v', 'five', 'same.npy')
check('a current version off the line is refused', code == 1 and '--parent' in words)
code, words = archive('-o', 'g.h5', '-d', 'x', '-v', 'five', '-p', 'four', 'same.npy')
check('and --parent says where to build', code == 0 and 'rows=10 ' in words)

# archives of theirs: filters, attributes, groups, what they leave unset
with h5py.File('p.h5', 'w') as f:
    vf = VersionedHDF5File(f)
    with vf.stage_version('r0') as staged:
        staged.create_dataset('g/z', data=np.arange(100), chunks=(16,), compression='gzip',
                              shuffle=True, fillvalue=-1)
        staged.create_dataset('names', data=np.array(['a', 'bb'], object), dtype=h5py.string_dtype(),
                              chunks=(8,))
        staged['g'].attrs['unit'] = 'USD'
        staged['g/z'].attrs['levels'] = np.arange(3)
        staged.create_group('empty')
commit('p.h5', np.concatenate([np.arange(20), np.full(40, -1)]), 'g/z', 'r1')
with h5py.File('p.h5', 'r') as f:
    v = VersionedHDF5File(f)['r1']
    group = f['_version_data/versions/r1']
    check('attributes and groups are inherited', group['g'].attrs['unit'] == 'USD'
          and list(group['g/z'].attrs['levels']) == [0, 1, 2] and 'empty' in group
          and list(v['names'][()]) == [b'a', b'bb'])
    check('their filters and fill value are kept', f['_version_data/g/z/raw_data'].compression == 'gzip'
          and f['_version_data/g/z/raw_data'].shuffle
          and equal(v['g/z'][()], np.concatenate([np.arange(100), np.arange(20), np.full(40, -1)])))
check('chunks of the fill value are not stored', whole('p.h5'))
code, words = archive('-o', 'p.h5', '-d', 'names', 'same.npy')
check('strings cannot be extended', code == 1 and 'names' in words)
for number in (2, 3, 5):
    with h5py.File('p.h5', 'r+') as f:
        f['_version_data/versions'].attrs['data_version'] = number
    code, words = archive('-o', 'p.h5', '-d', 'g/z', 'same.npy')
    check('data_version %d is refused' % number, code == 1 and str(number) in words)

# what interrupted or mistaken programs leave
def theirs(path, rows=50, **more):
    f = h5py.File(path, 'w')
    vf = VersionedHDF5File(f)
    with vf.stage_version('a') as staged:
        staged.create_dataset('x', data=np.arange(rows), chunks=(10,), **more)
    return f, vf

np.save('more.npy', np.arange(1000, 1025))
f, vf = theirs('left.h5', 45)
f['_version_data/x/raw_data'].resize((80,))
f['_version_data/x/raw_data'][50:] = 7
f['_version_data/x/hash_table'].resize((8,))
f.close()
code, words = archive('-o', 'left.h5', '-d', 'x', '-v', 'b', 'more.npy')
check('slots of an interrupted commit are used again', code == 0 and whole('left.h5') and
      equal(read('left.h5', 'b', 'x'), np.concatenate([np.arange(45), np.arange(1000, 1025)])))
f, vf = theirs('short.h5')
f['_version_data/x/hash_table'].attrs['largest_index'] = 3
f.close()
before = open('short.h5', 'rb').read()
code, words = archive('-o', 'short.h5', '-d', 'x', '-v', 'b', 'more.npy')
check('a table shorter than what is used is refused', code == 1 and 'rebuild_hashtables' in words
      and open('short.h5', 'rb').read() == before)
f, vf = theirs('filter.h5', scaleoffset=0)
f.close()
code, words = archive('-o', 'filter.h5', '-d', 'x', '-v', 'b', 'more.npy')
check('an unknown filter is refused by its number', code == 1 and 'filter 6' in words)
f, vf = theirs('open.h5')
with vf.stage_version('b') as staged:
    staged['x'][0] = 3
f['_version_data/versions/b'].attrs['committed'] = False
f.close()
code, words = archive('-o', 'open.h5', '-d', 'x', '-v', 'c', 'more.npy')
check('a current version never committed is no parent', code == 1 and "'b'" in words)
code, words = archive('-o', 'open.h5', '-d', 'x', '-v', 'c', '-p', 'a', 'more.npy')
check('but another can be named', code == 0 and len(read('open.h5', 'c', 'x')) == 75)
f, vf = theirs('gone.h5')
with vf.stage_version('b') as staged:
    del staged['x']
del f['_version_data/versions'].attrs['data_version']
f.close()
code, words = archive('-o', 'gone.h5', '-d', 'x', '-v', 'c', 'more.npy')
check('a dataset that the parent lost is added to, not made again', code == 0
      and equal(read('gone.h5', 'c', 'x'), np.arange(1000, 1025)) and whole('gone.h5')
      and equal(read('gone.h5', 'a', 'x'), np.arange(50)))
with h5py.File('gone.h5', 'r') as f:
    check('data_version 1 becomes 4', f['_version_data/versions'].attrs['data_version'] == 4)
print('1..%d' % count)
END
"$python" peer.py "$tool" 2>peer.err || { sed 's/^/# /' peer.err; exit 1; }
