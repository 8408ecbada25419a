# SPDX-License-Identifier: Apache-2.0
"""Archives of ours in h5py and versioned_hdf5, which then extend them and delete from them."""
import io
import json

import h5py
import numpy as np
from versioned_hdf5 import VersionedHDF5File, delete_versions

from tap import main, ok, run, same

TICK = np.dtype([("ts", "<i8"), ("sym", "<i4"), ("px", "<f8"), ("flags", "u1")], align=True)
TYPES = {
    "ticks": TICK,
    "plain": np.dtype("<f8"),
    "big": np.dtype([("a", ">i4"), ("b", ">f8")]),
    "text": np.dtype([("s", "S5"), ("b", "?"), ("h", "<f2")]),
    "arrays": np.dtype([("bid", "<f8", (3,)), ("n", "<u2")]),
    "complex": np.dtype("<c16"),
}


def fill(dtype, n, seed=1):
    raw = np.random.default_rng(seed).integers(0, 60, n * dtype.itemsize, dtype=np.uint8)
    rows = np.zeros(n, dtype)

    def put(a, bits):
        if a.dtype.names:
            for name in a.dtype.names:
                put(a[name], bits)
        elif a.dtype.kind == "S":
            a[...] = [b"q%d" % (b % 9) for b in bits[: a.shape[0]]]
        else:
            a[...] = np.resize(bits, a.shape)

    put(rows, raw)
    return rows


def save(path, rows):
    np.save(path, rows)


def archived(*args):
    return json.loads(run("archive", *args, "--json"))


def npy(archive, dataset, *options):
    return np.load(io.BytesIO(run("read", archive, dataset, "--format", "npy", *options)))


def every_version_opens():
    for name, dtype in TYPES.items():
        rows = fill(dtype, 1000)
        path = name + ".npy"
        run("create", path, "--dtype", "@type.npy" if np.save("type.npy", rows[:1]) else
            "@type.npy", "--capacity", 1100)
        for version, upto in (("one", 333), ("two", 1000)):
            have = 0 if version == "one" else 333
            out = io.BytesIO()
            np.lib.format.write_array(out, rows[have:upto])
            run("append", path, "--format", "npy", stdin=out.getvalue())
            archived(path, "-o", "a-%s.h5" % name, "--version", version, "--chunk", 64)
        with h5py.File("a-%s.h5" % name, "r") as f:
            vf = VersionedHDF5File(f)
            same("%s: versioned_hdf5 reads version one" % name,
                 np.asarray(vf["one"][name][()]).view(rows.dtype), rows[:333])
            same("%s: and two" % name,
                 np.asarray(vf["two"][name][()]).view(rows.dtype), rows)
            ok(vf.current_version == "two", "%s: and knows the current one" % name)
            plain = f["_version_data/versions/two"][name]
            ok(plain.is_virtual and plain.shape == (1000,), "%s: h5py shows a virtual dataset" % name)


def python_goes_on():
    rows = fill(TICK, 500)
    save("ticks.npy", rows[:300])
    first = archived("ticks.npy", "-o", "a.h5", "--version", "one", "--chunk", 32)
    with h5py.File("a.h5", "r+") as f:
        vf = VersionedHDF5File(f)
        with vf.stage_version("py") as group:
            data = group["ticks"]
            data.resize((400,))
            data[300:400] = rows[300:400]
    same("we read what Python staged", npy("a.h5", "ticks"), rows[:400])
    same("and the version before", npy("a.h5", "ticks", "--version", "one"), rows[:300])
    run("verify", "a.h5")
    ok(first["rows"] == 300, "the report counted the rows", first)
    save("more.npy", rows[400:])
    archived("more.npy", "-o", "a.h5", "--dataset", "ticks", "--version", "three")
    same("we go on after Python", npy("a.h5", "ticks"), rows)
    with h5py.File("a.h5", "r") as f:
        same("and Python reads it",
             np.asarray(VersionedHDF5File(f)["three"]["ticks"][()]).view(TICK), rows)
    with h5py.File("a.h5", "r+") as f:
        delete_versions(f, ["py"])
    same("we read after Python's delete_versions", npy("a.h5", "ticks"), rows)
    same("every version left", npy("a.h5", "ticks", "--version", "one"), rows[:300])
    run("verify", "a.h5")
    ok(archived("more.npy", "-o", "a.h5", "--dataset", "ticks")["rows"] == 0,
       "what was archived is still known")


main(every_version_opens, python_goes_on)
