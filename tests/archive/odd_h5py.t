#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Archives as other programs may leave them, made here with h5py alone: what the layout allows
# is read, what it forbids is read when that can be done truly and named by verify, and what
# contradicts itself is an error with a reason.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python h5py numpy
tool=$top_builddir/tests/archive/archive_tool
cat > "$work/make.py" <<'END'
import hashlib, sys
import h5py, numpy as np
out = sys.argv[1]
STR = h5py.string_dtype()
HASH = np.dtype([('hash', 'u1', (32,)), ('shape', '<i8', (2,))])

def digest(chunk):
    text = str(tuple(int(n) for n in chunk.shape)).encode()
    return np.frombuffer(hashlib.sha256(np.ascontiguousarray(chunk).tobytes() + text).digest(), 'u1')

class Archive:
    """one dataset of rank 1 in chunks of 4, versions by lists of rows"""
    def __init__(self, name, dtype='<i8', data_version=4, **raw):
        self.dtype, self.slots = np.dtype(dtype), {}
        self.name = name
        f = self.f = h5py.File(out + '/' + name + '.h5', 'w')
        vs = self.vs = f.create_group('_version_data/versions')
        vs.attrs['current_version'] = '__first_version__'
        if data_version is not None:
            vs.attrs['data_version'] = data_version
        vs.create_group('__first_version__').attrs['timestamp'] = '2026-11-01 00:00:00.000000+0000'
        self.raw = f.create_dataset('_version_data/x/raw_data', (0,), dtype, maxshape=(None,),
                                    chunks=(4,), **raw)
        self.raw.attrs['chunks'] = np.array([4])
        self.table = f.create_dataset('_version_data/x/hash_table', (1,), HASH, maxshape=(None,))
        self.table.attrs['largest_index'] = 0

    def slot(self, rows):
        d = digest(rows)
        key = d.tobytes()
        if key not in self.slots:
            n = self.slots[key] = len(self.slots)
            self.raw.resize((4 * n + 4,))
            self.raw[4 * n:4 * n + len(rows)] = rows
            self.table.resize((n + 1,))
            self.table[n] = (d, (4 * n, 4 * n + len(rows)))
            self.table.attrs['largest_index'] = n + 1
        return self.slots[key]

    def version(self, name, rows, prev='__first_version__', day=2, chunks=None, group='x'):
        v = self.vs.create_group(name)
        v.attrs['prev_version'] = prev
        v.attrs['committed'] = True
        v.attrs['timestamp'] = '2026-11-%02d 00:00:00.000000+0000' % day
        rows = np.asarray(rows, self.dtype)
        layout = h5py.VirtualLayout((len(rows),), self.dtype)
        for i in range(0, len(rows), 4):
            part = rows[i:i + 4]
            s = 4 * self.slot(part)
            src = h5py.VirtualSource('.', self.raw.name, self.raw.shape, self.dtype,
                                     maxshape=(None,))
            layout[i:i + len(part)] = src[s:s + len(part)]
        ds = v.create_virtual_dataset(group, layout, fillvalue=np.zeros((), self.dtype)[()])
        ds.attrs['raw_data'] = self.raw.name
        ds.attrs['chunks'] = np.array([4])
        self.vs.attrs['current_version'] = name
        np.save('%s/%s.%s.npy' % (out, self.name, name), rows)
        return ds

    def remap(self, version, pieces, n):
        """replace the dataset by one with the given mappings (to, from, length)"""
        v = self.vs[version]
        del v['x']
        layout = h5py.VirtualLayout((n,), self.dtype)
        for to, frm, length in pieces:
            src = h5py.VirtualSource('.', self.raw.name, self.raw.shape, self.dtype,
                                     maxshape=(None,))
            layout[to:to + length] = src[frm:frm + length]
        ds = v.create_virtual_dataset('x', layout, fillvalue=0)
        ds.attrs['raw_data'] = self.raw.name
        return ds

def plain(name, **k):
    a = Archive(name, **k)
    a.version('v1', range(10))
    a.version('v2', list(range(10)) + [7, 7], 'v1', 3)
    return a

plain('good')
for n in (1, 2, 3, 5):
    plain('version%d' % n, data_version=n)
plain('version_absent', data_version=None)
a = plain('int32_version'); a.vs.attrs.create('data_version', 4, dtype='<i4')
a.table.attrs.create('largest_index', 4, dtype='<i4')

for attr in ('prev_version', 'committed', 'timestamp'):
    a = plain('no_' + attr)
    del a.vs['v2'].attrs[attr]
a = plain('no_raw_attribute'); del a.vs['v2/x'].attrs['raw_data']
a = plain('no_chunks'); del a.raw.attrs['chunks']
a = plain('no_largest_index'); del a.table.attrs['largest_index']
a = plain('no_table'); del a.f['_version_data/x/hash_table']
a = plain('no_raw'); del a.f['_version_data/x/raw_data']
a = plain('no_current'); del a.vs.attrs['current_version']
a = plain('dangling_current'); a.vs.attrs['current_version'] = 'gone'
a = plain('uncommitted'); a.vs['v2'].attrs['committed'] = False
a = plain('committed_int'); a.vs['v2'].attrs['committed'] = 1
a = plain('fixed_string'); a.vs['v2'].attrs['timestamp'] = np.bytes_('2026-11-03 00:00:00.000000+0000')
a = plain('raw_fixed'); a.vs['v2/x'].attrs['raw_data'] = np.bytes_(a.raw.name)
a = plain('bad_timestamp'); a.vs['v2'].attrs['timestamp'] = '2026-11-03T00:00:00Z'
a = plain('loop_of_versions'); a.vs['v1'].attrs['prev_version'] = 'v2'
a = plain('dangling_prev'); a.vs['v1'].attrs['prev_version'] = 'deleted'
a = plain('number_for_a_string'); a.vs['v2'].attrs['prev_version'] = 7

a = Archive('backwards')    # timestamps against the chain, names against both
a.version('c', [1], day=9); a.version('b', [2], 'c', 8); a.version('a', [3], 'b', 7)
a.version('branch', [4], 'c', 9)

a = plain('coalesced'); a.remap('v2', [(0, 0, 8)], 10)
np.save(out + '/coalesced.v2.npy', a.vs['v2/x'][:])
a = plain('partial'); a.remap('v2', [(0, 0, 2), (4, 4, 4)], 10)
np.save(out + '/partial.v2.npy', a.vs['v2/x'][:])
a = plain('misaligned'); a.remap('v2', [(2, 0, 4)], 10)
np.save(out + '/misaligned.v2.npy', a.vs['v2/x'][:])
a = plain('two_shapes'); a.remap('v2', [(0, 0, 4), (4, 4, 4), (8, 0, 2)], 10)
np.save(out + '/two_shapes.v2.npy', a.vs['v2/x'][:])
a = plain('past_the_end'); a.raw.resize((8,))
a = plain('table_past_raw'); a.table.resize((9,)); a.table[8] = (digest(np.zeros(4)), (400, 404))
a.table.attrs['largest_index'] = 9
a = plain('unknown_digest'); a.table[1] = (np.zeros(32, 'u1'), (4, 8))
a = plain('short_table'); a.table.attrs['largest_index'] = 1
a = plain('wrong_digest'); row = a.table[2]; row['hash'][0] ^= 1; a.table[2] = row
a = plain('duplicate_digest')
a.raw.resize((20,)); a.raw[16:20] = a.raw[0:4]; a.table.resize((5,))
row = a.table[0].copy(); row['shape'] = (16, 20); a.table[4] = row
a.table.attrs['largest_index'] = 5
a.remap('v2', [(0, 16, 4), (4, 4, 4)], 8); np.save(out + '/duplicate_digest.v2.npy', np.arange(8))
a = plain('leftovers_after_crash'); a.raw.resize((40,)); a.table.resize((9,))

a = plain('other_file')
v = a.vs['v2']; del v['x']
layout = h5py.VirtualLayout((4,), '<i8')
layout[0:4] = h5py.VirtualSource('good.h5', '/_version_data/x/raw_data', (12,))[0:4]
np.save(out + '/other_file.v2.npy', np.arange(4))
v.create_virtual_dataset('x', layout).attrs['raw_data'] = a.raw.name
a = plain('other_raw')
v = a.vs['v2']; del v['x']
a.f['elsewhere'] = np.arange(12)
layout = h5py.VirtualLayout((4,), '<i8')
layout[0:4] = h5py.VirtualSource('.', '/elsewhere', (12,))[0:4]
np.save(out + '/other_raw.v2.npy', np.arange(4))
v.create_virtual_dataset('x', layout).attrs['raw_data'] = a.raw.name
a = plain('external_raw'); a.vs['v2/x'].attrs['raw_data'] = '/link/raw_data'
a.f['link'] = h5py.ExternalLink('good.h5', '/_version_data/x')
a = plain('raw_is_no_chunks')
del a.f['_version_data/x/raw_data']; a.f['_version_data/x/raw_data'] = np.arange(12)

a = plain('own_rows')       # a plain dataset in the place of a virtual one
v = a.vs['v2']; del v['x']; v['x'] = np.arange(5); v['x'].attrs['raw_data'] = a.raw.name
np.save(out + '/own_rows.v2.npy', np.arange(5))
a = plain('contiguous_fill')
v = a.vs['v2']; del v['x']
d = v.create_dataset('x', (6,), '<i8', fillvalue=9); d.attrs['raw_data'] = a.raw.name
np.save(out + '/contiguous_fill.v2.npy', np.full(6, 9))
a = plain('scalar'); v = a.vs['v2']; v['s'] = 5; v['s'].attrs['raw_data'] = a.raw.name
a = plain('other_type')
v = a.vs['v2']; del v['x']; layout = h5py.VirtualLayout((4,), '<i4')
layout[0:4] = h5py.VirtualSource('.', a.raw.name, (12,))[0:4]
v.create_virtual_dataset('x', layout).attrs['raw_data'] = a.raw.name
a = plain('links'); v = a.vs['v2']
v['soft'] = h5py.SoftLink('/_version_data/versions/v1/x'); v['ext'] = h5py.ExternalLink('good.h5', '/')
v['g/h'] = np.zeros(1); del v['g/h']; v['g/loop'] = v; v['g/again'] = v['g']
a = plain('shared'); a.version('v3', range(4), 'v2', 4); del a.vs['v3/x']; a.vs['v3/x'] = a.vs['v2/x']
np.save(out + '/shared.v3.npy', list(range(10)) + [7, 7])
a = plain('fixed_descr')
a.f['_version_data/x'].attrs['_ticktail_descr'] = "'<M8[ns]'"
np.save(out + '/fixed_descr.v2.npy', np.array(list(range(10)) + [7, 7], '<M8[ns]'))
np.save(out + '/fixed_descr.v1.npy', np.arange(10).astype('<M8[ns]'))
a = plain('stale_descr'); a.f['_version_data/x'].attrs['_ticktail_descr'] = "'<f4'"
a = plain('nonsense_descr'); a.f['_version_data/x'].attrs['_ticktail_descr'] = "[[[("

a = Archive('strings', dtype=STR)
a.raw.resize((4,)); texts = ['a', 'bb', '', 'é']
a.raw[:] = texts
h = hashlib.sha256()
for t in texts:
    h.update(len(t.encode()).to_bytes(8, 'little') + t.encode())
h.update(b'(4,)')
a.table[0] = (np.frombuffer(h.digest(), 'u1'), (0, 4)); a.table.attrs['largest_index'] = 1
v = a.vs.create_group('v1'); v.attrs['prev_version'] = '__first_version__'
v.attrs['committed'] = True; v.attrs['timestamp'] = '2026-11-02 00:00:00.000000+0000'
layout = h5py.VirtualLayout((4,), STR)
layout[0:4] = h5py.VirtualSource('.', a.raw.name, (4,), STR)[0:4]
v.create_virtual_dataset('x', layout).attrs['raw_data'] = a.raw.name
a.vs.attrs['current_version'] = 'v1'
a.f.close()
import shutil
shutil.copy(out + '/strings.h5', out + '/wrong_string.h5')
with h5py.File(out + '/wrong_string.h5', 'r+') as f:
    f['_version_data/x/raw_data'][1] = 'bc'

a = Archive('unknown_filter')
dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE); dcpl.set_chunk((4,))
dcpl.set_filter(32019, h5py.h5z.FLAG_OPTIONAL, (1, 2))
del a.f['_version_data/x/raw_data']
sid = h5py.h5s.create_simple((4,), (h5py.h5s.UNLIMITED,))
did = h5py.h5d.create(a.f['_version_data/x'].id, b'raw_data', h5py.h5t.STD_I64LE, sid, dcpl)
did.write_direct_chunk((0,), b'packed away', 0)
a.raw = h5py.Dataset(did); a.raw.attrs['chunks'] = [4]
a.slots[digest(np.arange(4)).tobytes()] = 0
a.table[0] = (digest(np.arange(4)), (0, 4)); a.table.attrs['largest_index'] = 1
a.version('v1', range(4))
END
success "h5py makes the archives" "$python" "$work/make.py" "$work"

# reads NAME VERSION...: each equals what h5py gave
reads() {
	name=$1
	shift
	for v in "$@"; do
		success "$name: version $v is read" \
			"$tool" compare "$work/$name.h5" "$v" x "$work/$name.$v.npy"
	done
}
# sound NAME: verify finds nothing
sound() { exits 0 "$1: verify finds nothing" "$tool" verify "$work/$1.h5"; }
# damaged NAME TEXT: verify says so, exit 3
damaged() {
	exits 3 "$1: verify finds damage" "$tool" verify "$work/$1.h5"
	if grep -q "$2" "$work/.out"; then
		ok "$1: verify says $2"
	else
		not_ok "$1: verify says $2" "$(cat "$work/.out")"
	fi
}
# refused NAME VERSION TEXT: reading fails with that
refused() {
	exits 1 "$1: version $2 is refused" \
		"$tool" compare "$work/$1.h5" "$2" x "$work/$1.$2.npy"
	if grep -q "$3" "$work/.out"; then
		ok "$1: because $3"
	else
		not_ok "$1: because $3" "$(cat "$work/.out")"
	fi
}

for name in good version1 version_absent int32_version committed_int raw_fixed shared \
	fixed_descr stale_descr nonsense_descr leftovers_after_crash contiguous_fill dangling_prev; do
	reads $name v1 v2
	sound $name
done
reads shared v3
for n in 2 3 5; do
	refused version$n v1 "data_version $n"
	exits 1 "version$n: verify refuses it too" "$tool" verify "$work/version$n.h5"
done

reads no_prev_version v1 v2
damaged no_prev_version 'prev_version is missing'
refused no_committed v2 'never committed'
damaged no_committed 'committed is missing'
reads no_timestamp v2
damaged no_timestamp 'timestamp is missing'
refused no_raw_attribute v2 'attribute raw_data is missing'
damaged no_raw_attribute 'attribute raw_data is missing'
reads no_chunks v2
damaged no_chunks 'attribute chunks of raw_data is missing'
reads no_largest_index v2
damaged no_largest_index 'no largest_index'
reads no_table v2
damaged no_table 'hash_table is missing'
refused no_raw v2 'no such dataset'
damaged no_raw 'there is no .*raw_data'
reads no_current v1
damaged no_current 'current_version is missing'
damaged dangling_current "'gone' names no version"
refused uncommitted v2 'never committed'
damaged uncommitted 'never committed'
reads fixed_string v2
damaged fixed_string 'fixed length'
damaged bad_timestamp 'sorts wrongly'
reads loop_of_versions v1 v2
damaged loop_of_versions 'its own ancestor'
damaged number_for_a_string 'not one string'
success "backwards: versions are listed" "$tool" versions "$work/backwards.h5"
is "backwards: ancestors come first" "$(cut -f1 "$work/.out" | tr '\n' ' ')" "c b a branch "

for name in coalesced partial misaligned; do
	reads $name v1 v2
	damaged $name 'v2	x	.*mapping'
done
reads two_shapes v2
damaged two_shapes 'v2	x	2	8	2	shares slot 0 .*another shape'
refused past_the_end v2 'chunk 2: rows 8-11: mapped to rows 12-15 of raw_data, which has 8'
damaged past_the_end 'v2	x	2	8	4	mapped to rows'
damaged table_past_raw 'row 8 of hash_table names rows 400 to 404'
damaged unknown_digest 'v1	x	1	4	4	its digest is not known'
damaged short_table 'versions use 4 slots, largest_index counts 1'
damaged wrong_digest 'v1	x	2	8	2	its bytes have the digest'
reads duplicate_digest v2
damaged duplicate_digest 'have the same digest'
refused other_file v2 'draws from another file'
refused other_raw v2 "draws from '/elsewhere'"
refused external_raw v2 'no such dataset'
refused raw_is_no_chunks v2 'not stored in chunks'
reads own_rows v2
damaged own_rows 'rows of its own'
damaged scalar 'there is no /_version_data/s/raw_data'
refused other_type v2 'element type is not that of its raw_data'
reads links v2
is "links: only hard ones are followed, and a loop ends" \
	"$("$tool" versions "$work/links.h5" | cut -f1,6- | tr '\n' ' ')" "v1	x v2	x "

sound strings
damaged wrong_string 'v1	x	0	0	4	its bytes have the digest'
exits 1 "strings: rows of them are refused" \
	"$tool" compare "$work/strings.h5" v1 x "$work/good.v1.npy"
exits 1 "unknown_filter: reading fails" \
	"$tool" compare "$work/unknown_filter.h5" v1 x "$work/unknown_filter.v1.npy"
cp "$work/.out" "$work/said"
success "unknown_filter: the filter is named" grep -q 32019 "$work/said"
exits 1 "unknown_filter: verify cannot look" "$tool" verify "$work/unknown_filter.h5"
finish
