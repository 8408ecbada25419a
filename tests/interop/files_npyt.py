# SPDX-License-Identifier: Apache-2.0
"""Files of ours in npyt and np.load, files of npyt's in ours; each is appended to by both."""
import io
import json
import subprocess
import sys

import numpy as np
from npyt import NPYT

from tap import main, ok, run, same

rng = np.random.default_rng(7)


def fill(dtype, shape, n):
    """n made-up rows."""
    raw = np.zeros((n, *shape), dtype)

    def put(a):
        if a.dtype.names:
            for name in a.dtype.names:
                put(a[name])
        elif a.dtype.kind in "iu":
            a[...] = rng.integers(0, 100, a.shape)
        elif a.dtype.kind == "f":
            a[...] = rng.random(a.shape).round(3)
        elif a.dtype.kind == "b":
            a[...] = rng.integers(0, 2, a.shape)
        elif a.dtype.kind in "mM":
            a[...] = rng.integers(0, 10**15, a.shape).astype(a.dtype)
        elif a.dtype.kind == "S":
            a[...] = rng.choice([b"a", b"bc", b"IBM"], a.shape)
        elif a.dtype.kind == "U":
            a[...] = rng.choice(["x", "\u00e9\u20ac", "IBM"], a.shape)
        elif a.dtype.kind == "c":
            a[...] = rng.random(a.shape) + 1j * rng.random(a.shape)

    put(raw)
    return raw


TYPES = {
    "a plain type": (np.dtype("<f8"), ()),
    "rows that are arrays": (np.dtype("<i4"), (3, 2)),
    "big-endian": (np.dtype(">u2"), ()),
    "a packed struct": (np.dtype([("ts", "<i8"), ("px", "<f8"), ("f", "u1")]), ()),
    "an aligned struct": (np.dtype([("ts", "<i8"), ("q", "<i4"), ("px", "<f8"), ("f", "u1")],
                                   align=True), ()),
    "a nested struct": (np.dtype([("a", [("x", "<i2"), ("y", "<f4")]), ("s", "S8"),
                                  ("u", "<U4")]), ()),
    "times": (np.dtype([("t", "<M8[ns]"), ("d", "<m8[ms]"), ("ok", "?")]), ()),
    "complex": (np.dtype("<c16"), ()),
}


def npy(rows):
    out = io.BytesIO()
    np.lib.format.write_array(out, rows)
    return out.getvalue()


def read(path, *options):
    return np.load(io.BytesIO(run("read", path, "--format", "npy", *options)),
                   max_header_size=1 << 20)


def descr_of(dtype, path="type.npy"):
    np.save(path, np.zeros(1, dtype))
    return "@" + path


def ours_in_npyt(name, dtype, shape):
    rows = fill(dtype, shape, 90)
    more = ["--row-shape", ",".join(map(str, shape))] if shape else []
    run("create", "a.npy", "--dtype", descr_of(dtype), "--capacity", 200, *more)
    run("append", "a.npy", "--format", "npy", stdin=npy(rows[:40]))
    theirs = NPYT("a.npy").load(mmap_mode="r+")
    same("%s: npyt reads ours" % name, np.array(theirs.data()), rows[:40])
    watching = NPYT("a.npy").load(mmap_mode="r")
    ok(theirs.append(rows[40:70]) == 0, "%s: npyt appends to ours" % name)
    same("%s: we read on" % name, read("a.npy"), rows[:70])
    run("append", "a.npy", "--format", "npy", stdin=npy(rows[70:]))
    same("%s: npyt sees our rows come" % name, np.array(watching.data()), rows)
    same("%s: np.load has them first" % name, np.load("a.npy")[:90], rows)
    info = json.loads(run("info", "a.npy", "--json"))
    ok(theirs.capacity() == info["capacity"] == np.load("a.npy").shape[0],
       "%s: one capacity" % name, info)


def theirs_in_ours(name, dtype, shape):
    rows = fill(dtype, shape, 90)
    # a capacity that npyt does not round: the tail may lie anywhere
    for capacity in (128, 131):
        path = "n%d.npy" % capacity
        NPYT(path, dtype=dtype).save(rows[:30], capacity=capacity)
        theirs = NPYT(path).load(mmap_mode="r+")
        if theirs.size() != 30:
            ok(False, "%s: npyt itself" % name)
            return
        same("%s: we read npyt's (%d)" % (name, capacity), read(path), rows[:30])
        run("append", path, "--format", "npy", stdin=npy(rows[30:60]))
        same("%s: npyt sees our rows (%d)" % (name, capacity), np.array(theirs.data()), rows[:60])
        theirs.append(rows[60:])
        same("%s: we see npyt's rows (%d)" % (name, capacity), read(path), rows)
        run("verify", path)


def every_type_both_ways():
    for name, (dtype, shape) in TYPES.items():
        ours_in_npyt(name, dtype, shape)
        theirs_in_ours(name, dtype, shape)
        for path in ("a.npy", "n128.npy", "n131.npy"):
            __import__("os").unlink(path)


def fields_that_are_arrays_in_numpy():
    """npyt cannot load them, its own neither, and teaches np.load so: a process of its own."""
    rows = fill(np.dtype([("a", [("x", "<i2"), ("y", "<f4", (2,))]), ("b", "<f8", (2, 3))]), (), 70)
    run("create", "a.npy", "--dtype", descr_of(rows.dtype), "--capacity", 100)
    run("append", "a.npy", "--format", "npy", stdin=npy(rows))
    run("read", "a.npy", "--format", "npy", "-o", "back.npy")
    np.save("rows.npy", rows)
    plain = """import numpy as np
want, ours, back = (np.load(p) for p in ("rows.npy", "a.npy", "back.npy"))
assert want.dtype == ours.dtype == back.dtype, (want.dtype, ours.dtype, back.dtype)
assert want.tobytes() == ours[:70].tobytes() == back.tobytes()"""
    done = subprocess.run([sys.executable, "-c", plain], capture_output=True, text=True)
    ok(done.returncode == 0, "np.load reads fields that are arrays", done.stderr)


def npyt_grows_and_trims_ours():
    rows = fill(np.dtype("<i8"), (), 500)
    run("create", "a.npy", "--dtype", "<i8", "--capacity", 64)
    run("append", "a.npy", "--format", "npy", stdin=npy(rows[:60]))
    NPYT("a.npy").load(mmap_mode="r+").expend(rows[60:300])
    same("npyt grows ours", read("a.npy"), rows[:300])
    run("append", "a.npy", "--grow", "--format", "npy", stdin=npy(rows[300:]))
    same("we grow what npyt grew", np.array(NPYT("a.npy").load(mmap_mode="r").data()), rows)
    run("resize", "a.npy", "--trim")
    same("npyt reads what we trimmed", np.array(NPYT("a.npy").load(mmap_mode="r").data()), rows)
    run("clear", "a.npy")
    ok(NPYT("a.npy").load(mmap_mode="r").empty(), "npyt sees ours cleared")


def an_adopted_file_is_npyts_too():
    rows = fill(TYPES["a packed struct"][0], (), 50)
    np.save("a.npy", rows)
    run("adopt", "a.npy", "--capacity", 100)
    theirs = NPYT("a.npy").load(mmap_mode="r+")
    same("npyt reads what we adopted", np.array(theirs.data()), rows)
    theirs.append(rows[:10])
    same("and appends", read("a.npy"), np.concatenate([rows, rows[:10]]))


main(every_type_both_ways, fields_that_are_arrays_in_numpy, npyt_grows_and_trims_ours, an_adopted_file_is_npyts_too)
