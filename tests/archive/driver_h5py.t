#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stock HDF5 beside our commits: shut out while one is under way, and whole states after.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python h5py numpy
crash=$top_builddir/tests/archive/test_crash
driver=$top_builddir/tests/archive/test_driver

cat > "$work/peer.py" <<'END'
import errno, glob, os, sys
import h5py, numpy as np

def element(what, n):
    i = np.arange(n, dtype=np.uint64)
    if what == 'y':
        return (i // np.uint64(100)).astype('<i4')
    with np.errstate(over='ignore'):
        mixed = (i + np.uint64(ord(what))) * np.uint64(0x9e3779b97f4a7c15)
    return (mixed >> np.uint64(33)).astype('<u4').view('<i4')

def state(path):
    """The state of the file, every byte looked at."""
    with h5py.File(path, 'r') as f:
        s = f.attrs['current']
        s = int((s.decode() if isinstance(s, bytes) else s).split()[1])
        for what, chunk in (('x', 32768), ('y', 3001)):
            assert (f[what][:] == element(what, s * 3 * chunk)).all(), (path, what)
        i = np.arange(5000 + s, dtype=np.int64)
        table = (i * 7919 * s + s).astype('<u4').view('<i4')
        assert (f['table'][:] == table).all(), (path, 'table')
        assert ['group%d' % k in f for k in range(1, s + 2)] == [True] * s + [False], path
        return s

def all_states(dir):
    found = [state(p) for p in glob.glob(dir + '/step*.h5')]
    print('old', found.count(2), 'new', found.count(3))
    assert set(found) == {2, 3} and min(found.count(2), found.count(3)) > 5

def commit(path):
    with h5py.File(path, 'r+') as f:
        f['python'] = np.arange(10)

def refused(path, mode='r'):
    try:
        h5py.File(path, mode).close()
    except OSError as e:
        assert e.errno == errno.EAGAIN, e
        return
    sys.exit('was let in')

result = globals()[sys.argv[1]](*sys.argv[2:])
if sys.argv[1] == 'state':
    print(result)
END
peer() {
	env -u HDF5_USE_FILE_LOCKING "$python" "$work/peer.py" "$@"
}

mkdir "$work/steps" "$work/pending" "$work/run"
success "a commit dies at each of its steps, a reader of ours opens each" \
	"$crash" crash "$work/steps"
success "h5py finds each whole, old or new" peer all_states "$work/steps"

success "a commit dies with its journal durable" "$crash" pending "$work/pending"
is "h5py, which knows no journal, finds the old state" "$(peer state "$work/pending/base.h5")" 2
success "h5py commits before the replay" peer commit "$work/pending/base.h5"
is "we find its commit, not ours" "$("$driver" state "$work/pending/base.h5" 2>&1)" 2
is "the journal is set aside" "$(ls "$work/pending" | grep -c 'stale-')" 1
is "h5py still finds its own state" "$(peer state "$work/pending/base.h5")" 2

"$driver" commit "$work/run/a.h5" >"$work/first" 2>&1
is "a first commit" "$(cat "$work/first")" 1
mkfifo "$work/go"
"$driver" hold "$work/run/a.h5" <"$work/go" >"$work/held" 2>&1 &
holder=$!
exec 7>"$work/go"
success "a run begins" wait_for 30 grep -q ready "$work/held"
success "h5py is refused with errno 11 during the run" peer refused "$work/run/a.h5"
success "h5py may not write then either" peer refused "$work/run/a.h5" r+
exec 7>&-
success "the run commits" wait "$holder"
is "h5py opens the new state" "$(peer state "$work/run/a.h5")" 2
success "h5py extends it" peer commit "$work/run/a.h5"
is "and so do we again" "$("$driver" commit "$work/run/a.h5" 2>&1)" 3
is "h5py finds that" "$(peer state "$work/run/a.h5")" 3
finish
