# SPDX-License-Identifier: Apache-2.0
"""Random headers: NumPy's against ours.

usage: npy_numpy.py ECHO SEED COUNT

ECHO is the program npy_echo.  What we write must be NumPy's bytes, with the first extent in 21
columns too; of dicts written in other ways, and broken ones, we must accept what NumPy
accepts and find the same in them."""
import io
import math
import random
import struct
import subprocess
import sys
import warnings

import numpy as np

try:
    from numpy.lib import _format_impl as npformat
except ImportError:
    from numpy.lib import format as npformat

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from dtype_numpy import dtype as random_dtype

warnings.simplefilter("ignore")


class Wide(tuple):
    """A shape whose first extent prints in 21 columns."""

    def __repr__(self):
        items = ["%21d" % self[0]] + ["%d" % x for x in self[1:]]
        return "(%s%s)" % (", ".join(items), "," if len(self) == 1 else "")


def written(rng):
    while True:
        dtype = random_dtype(rng)
        if not dtype.hasobject and dtype.subdtype is None and dtype.itemsize:
            break
    rank = rng.choice([0, 1, 1, 1, 2, 3])
    shape = tuple(rng.choice([1, 2, 3, 7, 10, 99, 12345]) for _ in range(rank))
    if rank:
        shape = (rng.choice([0, 1, 9, 10, 4096, 10**6, 10**12]),) + shape[1:]
    wide = rank > 0 and rng.random() < 0.7
    descr = npformat.dtype_to_descr(dtype)
    out = io.BytesIO()
    npformat._write_array_header(out, {"shape": Wide(shape) if wide else shape,
                                       "fortran_order": False, "descr": descr})
    line = "write %d %s %s" % (wide, ",".join(map(str, shape)) or "-",
                               repr(descr).encode().hex())
    return line, out.getvalue().hex()


SPACES = ["", "", "", " ", "  ", "\t", "\n", " # x\n", "\f"]
DESCRS = ["<i8", "|u1", ">f4", "|S7", "<U3", "<M8[ns]"]


def quoted(rng, text):
    quote = rng.choice(["'", "'", '"', '"', "'''", '"""'])
    return rng.choice(["", "", "", "u", "U", "r"]) + quote + text + quote


def extent(rng):
    n = rng.choice([0, 1, 3, 7, 100, 65536, 10**9])
    text = rng.choice(["%d", "%d", "%d", "%dL", "+%d", "0x%x", "0o%o", "%d L", "-%d", "%d_0",
                       "0%d", "%d.0", "%dl", "(%d)", "%d__0", "99999999999999999999%d",
                       "True", "+True", "-0"])
    return text % n if "%" in text else text


def dict_text(rng):
    def gap():
        return rng.choice(SPACES)

    n = rng.choice([0, 1, 1, 1, 2, 3])
    shape = "(" + gap()
    for i in range(n):
        shape += extent(rng) if rng.random() < 0.3 else str(rng.randint(0, 99))
        shape += gap() + ("," if i < n - 1 or n == 1 or rng.random() < 0.3 else "") + gap()
    shape += ")"
    items = [("descr", quoted(rng, rng.choice(DESCRS))),
             ("fortran_order", rng.choice(["True", "False", "False", "False", "False", "0", "None"])),
             ("shape", shape)]
    rng.shuffle(items)
    if rng.random() < 0.05:
        items.append(rng.choice(items))
    if rng.random() < 0.05:
        items.pop()
    body = ("," + gap()).join(gap() + quoted(rng, k) + gap() + ":" + gap() + v + gap()
                              for k, v in items)
    text = "{" + body + rng.choice(["", ",", ", "]) + "}" + rng.choice(["", " ", "\n", "  \n"])
    # of a descr that a later one replaces we do not look into the value
    if len(items) < 4 and rng.random() < 0.15: # break it: one character dropped, doubled or put in
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(["", text[at] * 2, rng.choice("(){},:'\"xL0 ")]) + text[at + 1:]
    return text


def numpy_reads(raw):
    """Shape, order and type, or None; also None for what we refuse on purpose."""
    f = io.BytesIO(raw)
    try:
        version = npformat.read_magic(f)
        shape, fortran, dtype = npformat._read_array_header(f, version)
    except Exception:
        return None
    shape = tuple(int(x) for x in shape)
    row = dtype.itemsize * math.prod(shape[1:])
    if any(x < 0 or x >= 2**64 for x in shape) or len(shape) > 32 or row == 0:
        return None
    if row >= 2**63 or row * (shape[0] if shape else 1) >= 2**63:
        return None
    return shape, fortran, npformat.dtype_to_descr(dtype)


def parsed(rng):
    text = dict_text(rng).encode("latin1")
    major = rng.choice([1, 1, 2, 3])
    raw = b"\x93NUMPY" + bytes([major, 0]) + struct.pack("<H" if major == 1 else "<I", len(text)) + text
    want = numpy_reads(raw)
    if want is None:
        return "parse " + raw.hex(), "error"
    shape, fortran, descr = want
    return "parse " + raw.hex(), "ok %d %d %s- %r" % (
        fortran, len(raw), "".join("%d," % x for x in shape), descr)


def main():
    echo, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    cases = [rng.choice([written, parsed, parsed])(rng) for _ in range(count)]
    text = "".join(line + "\n" for line, _ in cases)
    got = subprocess.run([echo], input=text.encode(), stdout=subprocess.PIPE, check=True)
    lines = got.stdout.decode("latin1").splitlines()
    if len(lines) != len(cases):
        sys.exit("%d answers to %d headers" % (len(lines), len(cases)))
    bad = 0
    for (line, want), have in zip(cases, lines):
        if have == want or (want == "error" and have.startswith("error")):
            continue
        bad += 1
        if bad <= 10:
            verb, _, rest = line.partition(" ")
            print("%s\n  wanted %s\n  got    %s" % (
                bytes.fromhex(rest) if verb == "parse" else line, want, have))
    if bad:
        sys.exit("%d of %d headers differ" % (bad, count))


main()
