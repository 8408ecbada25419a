# SPDX-License-Identifier: Apache-2.0
"""Every dataset of every golden archive: rows appended by `ticktail archive`, read back by
h5py and by us, staged upon (edited and resized) by versioned_hdf5, then put through its
delete_versions, extended by us once more; verify finds nothing at any step.  The rows are few or
fill chunks, by turns from one dataset to the next; with TT_LONG both everywhere."""
import itertools
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

import h5py
import numpy as np
from versioned_hdf5 import VersionedHDF5File, delete_versions

import tap
from tap import run


def ours(archive, name, version, work):
    out = work / "out.npy"
    run("read", archive, name, "--version", version, "--format", "npy", "-o", out)
    return np.load(out)


def same(a, b):
    """Type, shape and every bit but padding."""
    return a.dtype == b.dtype and a.shape == b.shape and repr(a.tolist()) == repr(b.tolist())


def joined(a, b):
    """np.concatenate would take byte order and padding out of the type."""
    both = np.zeros((len(a) + len(b), *a.shape[1:]), a.dtype)
    both[: len(a)], both[len(a) :] = a, b
    return both


def names_of(archive):
    names = []
    with h5py.File(archive, "r") as f:
        versions = f["_version_data/versions"]
        current = versions.attrs["current_version"]
        versions[current].visititems(
            lambda n, o: names.append(n) if isinstance(o, h5py.Dataset) else None
        )
        return current, names


def plain(archive, version, name):
    with h5py.File(archive, "r") as f:
        return f["_version_data/versions"][version][name][()]


def staged(archive, name, expected):
    """Edit, then shrink, as Python would."""
    with h5py.File(archive, "r+") as f:
        vf = VersionedHDF5File(f)
        with vf.stage_version("edited") as group:
            group[name][0:1] = expected[-1:]
        with vf.stage_version("shorter") as group:
            group[name].resize((len(expected) - 1, *expected.shape[1:]))
    edited = expected.copy()
    edited[0] = expected[-1]
    return edited, edited[:-1]


def case(golden, name, rows, work):
    archive = work / golden.name
    shutil.copyfile(golden, archive)
    current, _ = names_of(archive)
    before = plain(archive, current, name)
    more = before[np.arange(rows) % len(before)]
    np.save(work / "more.npy", more)
    run("archive", work / "more.npy", "-o", archive, "--dataset", name, "--version", "ours")
    expected = joined(before, more)
    assert same(ours(archive, name, "ours", work), expected), "our reader"
    assert same(plain(archive, "ours", name), expected), "h5py"
    assert same(plain(archive, current, name), before), "the parent changed"
    run("verify", archive)

    edited, shorter = staged(archive, name, expected)
    for version, wanted in (("ours", expected), ("edited", edited), ("shorter", shorter)):
        assert same(ours(archive, name, version, work), wanted), version
    with h5py.File(archive, "r+") as f:
        delete_versions(f, ["ours", "edited"])
    assert same(ours(archive, name, "shorter", work), shorter), "after delete_versions"
    run("verify", archive)

    np.save(work / "again.npy", more)
    run("archive", work / "again.npy", "-o", archive, "--dataset", name, "--version", "last")
    wanted = joined(shorter, more)
    assert same(ours(archive, name, "last", work), wanted), "extended again"
    assert same(plain(archive, "last", name), wanted), "extended again, by h5py"
    run("verify", archive)


turns = itertools.cycle([(1, 150)] if os.environ.get("TT_LONG") else [(1,), (150,)])
for golden in sorted(Path(sys.argv[1]).glob("*.h5")):
    for name in names_of(golden)[1]:
        for rows in next(turns):
            with tempfile.TemporaryDirectory() as work:
                try:
                    case(golden, name, rows, Path(work))
                    why = ""
                except Exception:
                    why = traceback.format_exc()
                tap.ok(not why, f"{golden.name}: {name}, {rows} rows", why)
tap.main()
