# SPDX-License-Identifier: Apache-2.0
"""Random values of every kind go csv, jsonl, raw and npy and come back bit for bit; floats
print the shortest text, as repr does.  TT_SEED replays."""
import io
import json
import os
import subprocess
import sys
import time

import numpy as np

ticktail = os.path.join(os.environ["top_builddir"], "ticktail")
seed = int(os.environ.get("TT_SEED") or time.time())
rng = np.random.default_rng(seed)
print("# TT_SEED=%d" % seed)
N = 3000
count = bad = 0


def check(name, good, words=""):
    global count, bad
    count += 1
    bad += not good
    print("%sok %d - %s" % ("" if good else "not ", count, name))
    if not good:
        print("#", str(words)[:500].replace("\n", "\n# "))


def run(*args, data=None):
    r = subprocess.run([ticktail, *map(str, args)], input=data, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
    if r.returncode:
        raise RuntimeError("%s: %s" % (args, r.stderr))
    return r.stdout


def random_bytes(dtype, n=N):
    return np.frombuffer(rng.bytes(n * np.dtype(dtype).itemsize), dtype)


def saved(a):
    f = io.BytesIO()
    np.save(f, a)
    return f.getvalue()


def same(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind in "fc":  # one NaN is as good as another
        part = a.real.dtype
        x, y = a.view(part), b.view(part)
        return bool(np.all((x == y) & (np.signbit(x) == np.signbit(y)) | np.isnan(x) & np.isnan(y)))
    return a.tobytes() == b.tobytes()


doubles = random_bytes("<f8").copy()
doubles[:500] = np.round(rng.uniform(-1000, 1000, 500), 2)
doubles[500:600] = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e16, 1e15, 1e-5, 1e-4] * 10
doubles = np.concatenate([doubles, np.ldexp(1.0, np.arange(-1074, 1024))])
floats = np.concatenate([random_bytes("<f4"), np.ldexp(np.float32(1), np.arange(-149, 128)).astype("<f4")])
cases = {"<f8": doubles, ">f8": doubles.astype(">f8"), "<f4": floats, ">f4": floats.astype(">f4"),
         "<f2": np.arange(65536, dtype="<u2").view("<f2"), ">f2": np.arange(0, 65536, 7, dtype=">u2").view(">f2"),
         "<c8": random_bytes("<c8"), "<c16": random_bytes("<c16"), ">c16": random_bytes(">c16")}
if np.dtype("f16").itemsize == 16:
    cases["<f16"] = random_bytes("<i8").astype("<f16") / (2.0 ** rng.integers(0, 80, N)).astype("<f16")
for k in "<i1 <i2 >i2 <i4 >i4 <i8 >i8 <u1 <u2 >u2 <u4 >u4 <u8 >u8".split():
    cases[k.replace("<i1", "|i1").replace("<u1", "|u1")] = random_bytes(k)
cases["|b1"] = rng.integers(0, 2, N).astype("?")
for unit in "Y M W D h m s ms us ns ps fs as 25us 7D".split():
    cases["<M8[%s]" % unit] = (random_bytes("<i8") >> rng.integers(0, 63, N)).view("<M8[%s]" % unit)
cases[">M8[ns]"] = random_bytes(">i8").view(">M8[ns]")
cases["<m8[ns]"] = random_bytes("<i8").view("<m8[ns]")
alphabet = np.array(list('ab ,"\\x41\n\r\t\0é€😀0') + ["\x7f", "\x85"])
texts = ["".join(rng.choice(alphabet, rng.integers(0, 9))) for _ in range(N)]
cases["|S5"] = np.frombuffer(rng.bytes(5 * N), "S5")
cases["|S9"] = np.array([t.encode()[:9] for t in texts], "S9")
cases["<U6"] = np.array([t[:6] for t in texts], "<U6")
cases[">U6"] = cases["<U6"].astype(">U6")
wide = np.arange(0x10000, 0x110000, dtype="<u4")
halves = wide[wide & 0xf800 == 0xd800].view("<U1")  # json-c takes their pairs for half of one
cases["<U1"] = np.concatenate([halves, rng.choice(wide, N).view("<U1")])
cases["|S4"] = np.char.encode(cases["<U1"], "utf-8")
cases["|V7"] = np.frombuffer(rng.bytes(7 * N), "V7")
struct = np.zeros(N, [("a", [("x", "<i2"), ("y", ">f4", (2, 2))]), ("b,c", "S4"), ("d", "<u8")])
struct["a"]["x"] = random_bytes("<i2")
struct["a"]["y"] = rng.normal(size=(N, 2, 2))
struct["b,c"] = cases["|S5"].astype("S4")
struct["d"] = random_bytes("<u8")

for name, a in list(cases.items()) + [("struct", struct)]:
    descr = repr(np.lib.format.dtype_to_descr(a.dtype))
    for f in ("l.npy", "m.npy"):
        os.path.exists(f) and os.unlink(f)
    run("create", "l.npy", "--dtype", descr, "--capacity", len(a))
    run("append", "l.npy", "--format", "npy", data=saved(a))
    check("%s: npy" % name, run("read", "l.npy", "--format", "npy") == saved(a))
    for form in ("csv", "jsonl", "raw"):
        text = run("read", "l.npy", "--format", form)
        os.path.exists("m.npy") and os.unlink("m.npy")
        run("create", "m.npy", "--dtype", "@l.npy", "--capacity", len(a))
        run("append", "m.npy", "--format", form, data=text)
        b = np.load(io.BytesIO(run("read", "m.npy", "--format", "npy")))
        want = a
        if form == "jsonl" and a.dtype.kind == "f":
            want = np.where(np.isinf(a), np.nan, a).astype(a.dtype)
        check("%s: %s" % (name, form), same(want, b))
        if form == "csv" and name == "<f8":
            lines = text.decode().split("\n")[1:-1]
            wrong = [(x, y) for x, y in zip(map(repr, a.tolist()), lines)
                     if (x[:-2] if x.endswith(".0") else x) != y]
            check("f8 prints as repr does", not wrong, wrong[:5])
# pairs of escapes, between escaped backslashes and a half
words = ["\\" + c + "\\ud83d" + c for c in cases["<U1"].tolist()]
for name, options in ("escapes", {}), ("UTF-8", {"ensure_ascii": False}):
    for key in "value", "\U0001d800\U0010dfff":
        lines = "".join(json.dumps({key: w}, **options) + "\n" for w in words)
        os.unlink("m.npy")
        run("create", "m.npy", "--dtype", "[(%r, '<U9')]" % key, "--capacity", len(words))
        run("append", "m.npy", "--format", "jsonl", data=lines.encode())
        check("what json.dumps writes as %s, key %a" % (name, key),
              np.load("m.npy")[key][:len(words)].tolist() == words)
print("1..%d" % count)
sys.exit(bad > 0)
