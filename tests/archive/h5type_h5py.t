#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Element types both ways against h5py: datasets that we make show h5py's own fields, offsets
# and bytes; types that h5py makes come back as the dtype that h5py shows.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python h5py numpy
tool=$top_builddir/tests/archive/h5type_tool
: "${TT_SEED:=$(date +%s)}"
export TT_SEED
note "TT_SEED=$TT_SEED"

cat > "$work/peer.py" <<'END'
import ast, os, random, sys
import h5py, numpy as np
work = sys.argv[2]
PLAIN = ['b1', 'i1', '<i2', '>i2', '<i4', '>i4', '<i8', '>i8', 'u1', '<u2', '>u2', '<u4', '>u8',
         '<f2', '>f2', '<f4', '>f4', '<f8', '>f8', '<f16', '<c8', '>c8', '<c16', '>c16', '<c32',
         'S1', 'S7', 'V1', 'V9', 'M8[ns]', '>M8[25us]', '<m8[D]', '<U1', '<U5', '>U3']
rnd = random.Random(int(os.environ['TT_SEED']))

def plain():
    d = rnd.choice(PLAIN)
    if d[1:] in ('f16', 'c32') and not np.dtype('g').itemsize == 16:
        d = '<f8'
    return np.dtype(d)

def struct(depth):
    names = rnd.sample(['a', 'b', 'r', 'i', 'ts', 'px', 'with space', "it's", 'é', 'x.y',
                        'back\\slash', 'TRUE', 'long' * 20], rnd.randint(1, 6))
    formats, offsets, at = [], [], rnd.choice([0, 0, 3])
    for _ in names:
        d = struct(depth + 1) if depth < 2 and rnd.random() < .2 else plain()
        if rnd.random() < .25:
            d = np.dtype((d, tuple(rnd.randint(1, 3) for _ in range(rnd.randint(1, 3)))))
        formats.append(d)
        offsets.append(at)
        at += d.itemsize + rnd.choice([0, 0, 0, 1, 5])
    return np.dtype({'names': names, 'formats': formats, 'offsets': offsets,
                     'itemsize': at + rnd.choice([0, 0, 2])})

def stored(d):
    """what HDF5 can hold in the place of d"""
    if d.subdtype:
        inner = stored(d.base)
        return np.dtype((inner.base, d.shape + inner.shape))
    if d.names:
        return np.dtype({'names': list(d.names), 'formats': [stored(d[n]) for n in d.names],
                         'offsets': [d.fields[n][1] for n in d.names], 'itemsize': d.itemsize})
    if d.kind in 'Mm':
        return np.dtype(d.byteorder + 'i8')
    if d.kind == 'U':
        return np.dtype((d.byteorder + 'u4', (d.itemsize // 4,)))
    return d

def shown(d):
    """h5py takes two equal floats named r and i for one complex number"""
    if d.subdtype:
        return np.dtype((shown(d.base), d.shape))
    if d.names == ('r', 'i') and d['r'] == d['i'] and d['r'].kind == 'f' and \
            d.fields['r'][1] == 0 and d.fields['i'][1] == d['r'].itemsize and \
            d.itemsize == 2 * d['r'].itemsize and d['r'].itemsize >= 4:
        return np.dtype(d['r'].byteorder + 'c%d' % d.itemsize)
    if d.names:
        return np.dtype({'names': list(d.names), 'formats': [shown(d[n]) for n in d.names],
                         'offsets': [d.fields[n][1] for n in d.names], 'itemsize': d.itemsize})
    return d

types = [np.dtype(p) for p in PLAIN] + [struct(0) for _ in range(200)]

def pattern(n, size):
    return bytes((i * 7 + n) & 255 for i in range(size))

def descr():
    for d in types:
        print(repr(np.lib.format.dtype_to_descr(d)))

def check():
    said = open(work + '/said').read().splitlines()
    assert len(said) == len(types), (len(said), len(types))
    with h5py.File(work + '/ours.h5', 'r') as f:
        for n, d in enumerate(types):
            assert said[n] == 'ok', (d, said[n])
            want, ds = shown(stored(d)), f['d%d' % n]
            shape = (3,)
            if want.subdtype:
                shape, want = shape + want.shape, want.base
            assert ds.dtype == want and ds.shape == shape, (d, ds.dtype, want, ds.shape)
            if d.itemsize:
                raw = np.empty(shape, want)
                ds.id.read(h5py.h5s.ALL, h5py.h5s.ALL, raw, mtype=ds.id.get_type())
                assert raw.tobytes() == pattern(n, raw.nbytes), d

def store():
    with h5py.File(work + '/theirs.h5', 'w') as f:
        for n, d in enumerate(types):
            d = stored(d)
            base, shape = (d.base, (3,) + d.shape) if d.subdtype else (d, (3,))
            t = h5py.h5t.py_create(base, logical=True)
            h5py.h5d.create(f.id, b'd%d' % n, t, h5py.h5s.create_simple(shape))
        f.create_dataset('d%d' % len(types), shape=(2,), dtype=h5py.string_dtype())
        e = h5py.enum_dtype({'UP': 1, 'DOWN': 2}, basetype='<i2')
        f.create_dataset('d%d' % (len(types) + 1), shape=(2,), dtype=e)
        h5py.h5d.create(f.id, b'd%d' % (len(types) + 2),
                        h5py.h5t.array_create(h5py.h5t.IEEE_F32LE, (2, 3)),
                        h5py.h5s.create_simple((4,)))
        o = h5py.opaque_dtype(np.dtype('<M8[ms]'))
        f.create_dataset('d%d' % (len(types) + 3), data=np.arange(3).astype(o))
        for i, t in enumerate([h5py.vlen_dtype('i4'), h5py.ref_dtype]):
            f.create_dataset('d%d' % (len(types) + 4 + i), shape=(2,), dtype=t)
        t = h5py.h5t.IEEE_F32LE.copy()
        t.set_fields(31, 24, 7, 0, 24)
        t.set_ebias(63)
        h5py.h5d.create(f.id, b'd%d' % (len(types) + 6), t, h5py.h5s.create_simple((2,)))

def shows():
    lines = open(work + '/shown').read().splitlines()
    assert len(lines) == len(types) + 7, len(lines)
    with h5py.File(work + '/theirs.h5', 'r') as f:
        for n, d in enumerate(types):
            text, axes = lines[n].split('\t')
            got = np.lib.format.descr_to_dtype(ast.literal_eval(text))
            assert got == f['d%d' % n].dtype and axes == '', (d, got, f['d%d' % n].dtype)
    extra = lines[len(types):]
    assert extra[0] == 'vlen\t', extra
    assert extra[1] == "'<i2'\t", extra
    assert extra[2] == "'<f4'\t2,3,", extra
    assert extra[3] == "'<M8[ms]'\t", extra
    assert 'variable-length sequences' in extra[4], extra
    assert 'references' in extra[5], extra
    assert 'a float of a format' in extra[6], extra

globals()[sys.argv[1]]()
END
run() { PYTHONIOENCODING=utf8 "$python" "$work/peer.py" "$1" "$work"; }
run descr > "$work/descr" || not_ok "numpy prints the types"
"$tool" make "$work/ours.h5" < "$work/descr" > "$work/said"
success "h5py shows our types and bytes as its own" run check
success "h5py stores the types" run store
"$tool" show "$work/theirs.h5" > "$work/shown"
success "we show its types as it does" run shows

big=$(i=0; printf '['; while [ $i -lt 4000 ]; do printf "('field_number_%d', '<i4'), " $i; i=$((i + 1)); done; printf ']')
printf '%s\n' "$big" | "$tool" make "$work/big.h5" > "$work/said"
success "a type longer than an object header is refused with a reason" \
	grep -q "^error .*their type takes" "$work/said"
finish
