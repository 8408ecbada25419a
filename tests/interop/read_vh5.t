#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Archives that versioned_hdf5 makes here by random commits: each version and dataset that we
# read equals what it read back itself, and verify finds nothing; then one byte of each is
# changed and verify must name the damage.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python h5py numpy versioned_hdf5
tool=$top_builddir/tests/archive/archive_tool
: "${TT_SEED:=$(date +%s)}"
if [ -n "${TT_LONG:-}" ]; then : "${TT_ROUNDS:=24}"; else : "${TT_ROUNDS:=4}"; fi
export TT_SEED
note "TT_SEED=$TT_SEED TT_ROUNDS=$TT_ROUNDS"

cat > "$work/make.py" <<'END'
import random, sys, warnings
import h5py, numpy as np
from versioned_hdf5 import VersionedHDF5File, delete_versions
warnings.simplefilter('ignore')
seed, out = int(sys.argv[1]), sys.argv[2]
rnd, gen = random.Random(seed), np.random.default_rng(seed)
DTYPES = ['<i4', '>i8', 'u1', '<f8', '>f4', '<f2', 'b1', 'S5', '<c16',
          [('ts', '<i8'), ('px', '<f8')], [('a', 'u1'), ('b', '>f4', (2, 3)), ('s', 'S3')]]
# Not padded structs: versioned_hdf5 hashes padding bytes that it does not store.
FILTERS = [{}, {}, {'compression': 'gzip', 'compression_opts': 3}, {'compression': 'lzf'},
           {'compression': 'gzip', 'shuffle': True}, {'compression': 'lzf', 'fletcher32': True}]

def values(dtype, shape):
    """few different values, so that chunks repeat"""
    dtype = np.dtype(dtype)
    a = np.zeros(shape, dtype)
    if dtype.names:
        for name in dtype.names:
            base = dtype[name]
            a[name] = values(base.base, tuple(shape) + base.shape)
        return a
    n = gen.integers(0, rnd.choice([2, 5, 100]), size=shape)
    return n.astype(dtype)

def shape_of(rank):
    return tuple(rnd.choice([1, 3, 7, 20, 33]) for _ in range(rank))

class Maker:
    def __init__(self):
        self.f = h5py.File(out + '/a.h5', 'w')
        self.vf = VersionedHDF5File(self.f)
        self.made = {}

    def create(self, sv, name):
        kind = self.made.get(name)
        if not kind:
            rank = rnd.choice([1, 1, 1, 2, 3])
            kind = {'dtype': np.dtype(rnd.choice(DTYPES)), 'rank': rank,
                    'chunks': tuple(rnd.choice([1, 4, 10, 16]) for _ in range(rank)),
                    'filters': rnd.choice(FILTERS)}
            if kind['dtype'].kind in 'iuf' and rnd.random() < .5:
                kind['fill'] = rnd.choice([1, 3])
            self.made[name] = kind
        args = dict(chunks=kind['chunks'], maxshape=(None,) * kind['rank'], **kind['filters'])
        if 'fill' in kind:
            args['fillvalue'] = kind['fill']
        shape = shape_of(kind['rank'])
        if rnd.random() < .3:
            sv.create_dataset(name, shape=shape, dtype=kind['dtype'], **args)
        else:
            sv.create_dataset(name, data=values(kind['dtype'], shape), **args)

    def edit(self, sv, name):
        ds, kind = sv[name], self.made[name]
        what = rnd.choice(['grow', 'shrink', 'box', 'copy', 'all', 'none', 'append'])
        if what in ('grow', 'shrink', 'append'):
            shape = list(ds.shape)
            axis = 0 if what == 'append' else rnd.randrange(len(shape))
            old = shape[axis]
            shape[axis] = rnd.randint(0, old) if what == 'shrink' else old + rnd.randint(1, 25)
            ds.resize(tuple(shape))
            if what == 'append' and 0 not in shape:
                ds[old:] = values(kind['dtype'], (shape[0] - old,) + tuple(shape[1:]))
        elif what == 'all' and ds.size:
            ds[...] = values(kind['dtype'], ds.shape)
        elif what == 'box' and ds.size:
            box = []
            for n in ds.shape:
                a = rnd.randrange(n)
                box.append(slice(a, rnd.randint(a + 1, n)))
            ds[tuple(box)] = values(kind['dtype'], [b.stop - b.start for b in box])
        elif what == 'copy' and ds.size:
            n = ds.shape[0] // 2
            if n:
                ds[:n] = ds[ds.shape[0] - n:]

    def commit(self, v, prev):
        with self.vf.stage_version(v, prev_version=prev) as sv:
            for name in ['x', 'grp/y', 'grp/deep/z w', 'other']:
                there = name in sv and isinstance(name, str)
                if not there:
                    if rnd.random() < .6:
                        self.create(sv, name)
                elif rnd.random() < .1:
                    del sv[name]
                else:
                    for _ in range(rnd.randint(0, 3)):
                        self.edit(sv, name)

m = Maker()
names = []
for i in range(rnd.randint(4, 9)):
    v = 'v%d' % i
    prev = rnd.choice(names) if names and rnd.random() < .2 else (names[-1] if names else None)
    try:
        m.commit(v, prev)
        names.append(v)
    except (NotImplementedError, TypeError, ValueError, IndexError) as e:
        print('commit given up: %r' % e, file=sys.stderr)
m.f.close()
with h5py.File(out + '/a.h5', 'r+') as f:
    if len(names) > 4 and rnd.random() < .5:
        gone = rnd.sample(names[:-1], 2)
        delete_versions(f, gone)
        names = [n for n in names if n not in gone]
with h5py.File(out + '/a.h5', 'r') as f, open(out + '/list', 'w') as lines:
    count = 0
    def one(name, ds):
        global count
        if isinstance(ds, h5py.Dataset) and 0 not in ds.shape[1:]:
            path = '%s/%d.npy' % (out, count)
            raw = np.empty(ds.shape, ds.dtype)
            if ds.size:
                ds.id.read(h5py.h5s.ALL, h5py.h5s.ALL, raw, mtype=ds.id.get_type())
            np.save(path, raw)
            lines.write('%s\t%s\t%s\n' % (v, name, path))
            count += 1
    for v in names:
        f['_version_data/versions/' + v].visititems(one)
    print(count, 'arrays')
    # where chunks lie, to damage one
    with open(out + '/chunks', 'w') as chunks:
        def raw(name, ds):
            if isinstance(ds, h5py.Dataset) and name.endswith('/raw_data'):
                for i in range(ds.id.get_num_chunks()):
                    c = ds.id.get_chunk_info(i)
                    chunks.write('%s %d %d %d\n' % (name[:-9].replace(' ', '?'),
                                 c.chunk_offset[0] // ds.chunks[0], c.byte_offset, c.size))
        f['_version_data'].visititems(raw)
END

cat > "$work/damage.py" <<'END'
import random, sys
out, rnd = sys.argv[1], random.Random(int(sys.argv[2]))
name, slot, at, size = rnd.choice(open(out + '/chunks').read().splitlines()).split()
with open(out + '/a.h5', 'r+b') as f:
    f.seek(int(at))		# the first element is in every trimmed chunk
    byte = f.read(1)[0]
    f.seek(int(at))
    f.write(bytes([byte ^ 0x41]))
print(name.replace('?', ' '))
END

round=0
while [ $round -lt "$TT_ROUNDS" ]; do
	seed=$((TT_SEED + round))
	dir=$work/$round
	mkdir "$dir"
	success "seed $seed: versioned_hdf5 makes an archive" "$python" "$work/make.py" $seed "$dir"
	note "$(cat "$work/.out")"
	success "seed $seed: every version and dataset is read as it was written" \
		sh -c '"$1" list "$2/a.h5" < "$2/list"' sh "$tool" "$dir"
	exits 0 "seed $seed: verify finds nothing" "$tool" verify "$dir/a.h5"
	if [ -s "$dir/chunks" ]; then
		name=$("$python" "$work/damage.py" "$dir" $seed)
		exits 3 "seed $seed: a changed byte in $name is found" "$tool" verify "$dir/a.h5"
		cp "$work/.out" "$work/damage"
		success "seed $seed: and named" grep -qF "	$name	" "$work/damage"
	fi
	round=$((round + 1))
done
finish
