#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Small archives that claim much: a length, a count or a number of values that the file's own
# size does not bear out is damage, named at once, and neither memory nor time goes into it.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python h5py numpy
[ -x "$ticktail" ] || missing "$ticktail"

cat > "$work/make.py" <<'END'
import sys
import h5py, numpy as np
path, what = sys.argv[1:3]

def grow(parent, name, rows):
    """the same table, with room for rows that are not there"""
    old = parent[name]
    kept, attrs = old[()], dict(old.attrs)
    dtype, chunks, n = old.dtype, old.chunks, len(old)
    del parent[name]
    new = parent.create_dataset(name, (rows,), dtype, maxshape=(None,), chunks=chunks)
    new[:n] = kept
    for key, value in attrs.items():
        new.attrs[key] = value
    return new

with h5py.File(path, 'r+') as f:
    data = f['_version_data/x']
    if what == 'format':
        del f['_ticktail'].attrs['format']
        f['_ticktail'].attrs['format'] = np.ones(4096, '<i8')
    elif what == 'ledger':
        grow(f['_ticktail'], 'ledger', 1 << 27)
    elif what == 'table':
        grow(data, 'hash_table', 1 << 40).attrs['largest_index'] = 1 << 40
    elif what == 'slots':
        data['raw_data'].resize((1 << 50,))
    elif what == 'both':
        data['raw_data'].resize((1 << 50,))
        grow(data, 'hash_table', 1 << 40).attrs['largest_index'] = 1 << 40
END

"$python" -c "
import sys, numpy as np
np.save(sys.argv[1] + '/x.npy', np.arange(100, dtype='<i8'))
np.save(sys.argv[1] + '/more.npy', np.arange(200, dtype='<i8'))" "$work"
"$ticktail" archive "$work/x.npy" -o "$work/good.h5" >/dev/null || not_ok "an archive is made"

# refused NAME STATUS WORDS COMMAND...: within seconds, with those words
refused() {
	name=$1 status=$2 words=$3
	shift 3
	timeout -k 5 60 "$@" >"$work/out" 2>&1
	got=$?
	if [ $got -eq "$status" ] && grep -q "$words" "$work/out"; then
		ok "$name"
	else
		not_ok "$name" "status $got, not $status: $(head -n 3 "$work/out")"
	fi
}

for what in format ledger table slots both; do
	cp "$work/good.h5" "$work/$what.h5"
	"$python" "$work/make.py" "$work/$what.h5" $what || not_ok "$what is made"
done
cp "$work/more.npy" "$work/x.npy"
refused "a format of many numbers" 3 "unexpected number of integers" \
	"$ticktail" archive "$work/x.npy" -o "$work/format.h5"
refused "a ledger of rows that are not there" 3 "ledger.*extent cannot be" \
	"$ticktail" archive "$work/x.npy" -o "$work/ledger.h5"
refused "a hash_table of rows that are not there" 3 "hash_table" \
	"$ticktail" verify "$work/table.h5"
refused "slots that are not there" 3 "more than the file has bytes" \
	"$ticktail" verify "$work/slots.h5"
refused "slots that are not there, read" 3 "more than the file has bytes" \
	"$ticktail" read "$work/slots.h5" x
for command in verify archive; do
	if [ $command = verify ]; then
		set -- verify "$work/both.h5"
	else
		set -- archive "$work/x.npy" -o "$work/both.h5"
	fi
	refused "slots and hash_table that are not there, $command" 3 \
		"more than the file has bytes" "$ticktail" "$@"
done
finish
