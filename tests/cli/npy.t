#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Formats npy and raw, against NumPy.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
need_python numpy
cd "$work" || exit 99

"$python" - "$ticktail" <<'PY'
import io, os, subprocess, sys
import numpy as np

ticktail = sys.argv[1]
count = bad = 0

def check(name, good, words=""):
    global count, bad
    count += 1
    bad += not good
    print("%sok %d - %s" % ("" if good else "not ", count, name))
    if not good and words:
        print("#", str(words)[:600].replace("\n", "\n# "))

def run(*args, data=None, stdin=None):
    return subprocess.run([ticktail, *map(str, args)], input=data, stdin=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)

def fresh(dtype, capacity=64, *more):
    if os.path.exists("f.npy"):
        os.unlink("f.npy")
    r = run("create", "f.npy", "--dtype", dtype, "--capacity", capacity, *more)
    assert r.returncode == 0, r.stderr

def descr(dtype):
    return repr(np.lib.format.dtype_to_descr(np.dtype(dtype)))

def saved(a):
    f = io.BytesIO()
    np.save(f, a)
    return f.getvalue()

def read(*args):
    r = run("read", "f.npy", "--format", "npy", *args)
    assert r.returncode == 0, r.stderr
    return r.stdout

rows = np.zeros(5, [("ts", "<M8[ns]"), ("px", ">f8"), ("s", "S3"), ("u", "<U2"), ("b", "<i2", (2, 3))])
rows["px"] = np.arange(5) / 4
rows["b"] = np.arange(30).reshape(5, 2, 3)
for array in (rows, np.arange(6.0).reshape(2, 3), np.arange(7, dtype=">i2"),
              np.zeros(3, np.dtype([("a", "i1"), ("b", "f8")], align=True)),
              np.zeros((2, 2), rows.dtype)):
    shape = ",".join(map(str, array.shape[1:]))
    fresh(descr(array.dtype), 8, *(["--row-shape", shape] if shape else []))
    for way in ("pipe", "file"):
        if way == "pipe":
            r = run("append", "f.npy", "--format", "npy", data=saved(array))
        else:
            np.save("in.npy", array)
            r = run("append", "f.npy", "in.npy", "--format", "npy")
        check("npy in by %s: %s %s" % (way, array.dtype.descr[0], shape), r.returncode == 0, r.stderr)
    both = np.zeros((2 * len(array),) + array.shape[1:], array.dtype)
    both[:len(array)] = both[len(array):] = array
    check("npy out is what np.save writes", read() == saved(both), read()[:200])
    check("of no rows too", read("--slice", "0:0") == saved(both[:0]))
    check("raw out is the bytes", run("read", "f.npy", "--format", "raw").stdout == both.tobytes())

fresh(descr(rows.dtype))
run("append", "f.npy", "--format", "npy", data=saved(rows))
one = np.zeros(5, [("px", ">f8")])
one["px"] = rows["px"]
check("--fields gives a structured array even for one", read("--fields", "px") == saved(one))
two = np.zeros(5, [("b", "<i2", (2, 3)), ("px", ">f8")])
two["b"], two["px"] = rows["b"], rows["px"]
check("--fields in another order, packed", read("--fields", "b,px") == saved(two))
check("with a range the number is found out first", read("--from", "0", "--to", "1") == saved(rows))
r = run("read", "f.npy", "--format", "npy", "-o", "out.npy")
check("-o", open("out.npy", "rb").read() == saved(rows), r.stderr)
check("tail without -f", run("tail", "f.npy", "-n", 2, "--format", "npy").stdout == saved(rows[-2:]))
check("tail -f has no number of rows", run("tail", "f.npy", "-f", "--format", "npy").returncode == 2)

# what can be converted without loss
ok = [("<i4", "<i8"), (">i4", "<i8"), ("<u4", "<i8"), ("<u2", "<f4"), ("<i4", "<f8"), ("<i8", "<f16"),
      ("<f2", "<f4"), ("<f4", ">f8"), ("<f8", "<f16"), ("<f4", "<c8"), ("<c8", "<c16"), ("S3", "S5"),
      ("<U2", ">U4"), ("|b1", "<i2"), (">M8[ns]", "<M8[ns]"), ("|u1", "<f2")]
no = [("<i8", "<i4"), ("<i4", "<u8"), ("<u8", "<i8"), ("<i8", "<f8"), ("<f8", "<f4"), ("S5", "S3"),
      ("<M8[s]", "<M8[ns]"), ("<f8", "<i8"), ("<c16", "<f8"), ("S3", "<U3"), ("V3", "V4"), ("<u4", "<f4")]
for source, target in ok + no:
    kind = np.dtype(source).kind
    if kind in "SU":
        a = np.array(["", "ab", "x"], source)
    elif kind == "V":
        a = np.zeros(3, source)
    elif kind == "b":
        a = np.array([True, False, True])
    elif kind in "iu":
        info = np.iinfo(source)
        a = np.array([info.min, info.max, 7], source)
    elif kind == "M":
        a = np.array([1, 2, 3], "i8").astype(source)
    else:
        a = np.array([1.5, -0.25, np.inf], source)
    fresh("'%s'" % target)
    r = run("append", "f.npy", "--format", "npy", data=saved(a))
    if (source, target) in ok:
        got = np.load(io.BytesIO(read()))
        check("%s becomes %s" % (source, target), r.returncode == 0 and got.dtype == np.dtype(target)
              and (got == a.astype(target)).all(), r.stderr)
    else:
        check("%s does not become %s" % (source, target), r.returncode == 1 and b"dtype" in r.stderr,
              r.stderr)
fresh("a:i8,b:f8")
a = np.array([(1, 2)], [("b", "<f4"), ("a", "<i4")])
r = run("append", "f.npy", "--format", "npy", data=saved(a))
check("fields are matched by name", read() == saved(np.array([(2, 1)], [("a", "<i8"), ("b", "<f8")])), r.stderr)
for bad_dtype in ([("a", "<i8")], [("a", "<i8"), ("b", "<f8"), ("c", "<i4")], [("a", "<i8"), ("x", "<f8")],
                  [("a", "<i8", (1,)), ("b", "<f8")]):
    r = run("append", "f.npy", "--format", "npy", data=saved(np.zeros(1, bad_dtype)))
    check("%s is refused" % bad_dtype, r.returncode == 1, r.stderr)
check("nothing of those is in", len(np.load(io.BytesIO(read()))) == 1)
aligned = np.dtype([("a", "i1"), ("b", "i8")], align=True)
fresh(descr(aligned))
r = run("append", "f.npy", "--format", "npy", data=saved(np.array([(1, 2)], [("a", "i1"), ("b", "<i8")])))
check("packed rows go into a padded type by name", r.returncode == 0, r.stderr)

# live files as input: rows start to end, by path, by redirection, by pipe
fresh("<i8", 100)
run("append", "f.npy", "--format", "raw", data=np.arange(5).tobytes())
run("create", "g.npy", "--dtype", "<i8", "--capacity", 100)
for way in ("path", "stdin", "pipe"):
    if way == "path":
        r = run("append", "g.npy", "f.npy", "--format", "npy")
    elif way == "stdin":
        r = run("append", "g.npy", "--format", "npy", stdin=open("f.npy", "rb"))
    else:
        r = run("append", "g.npy", "--format", "npy", data=open("f.npy", "rb").read())
    check("a live file by %s gives its rows" % way, r.stdout == b"appended 5 rows\n", r.stderr)
fortran = np.asfortranarray(np.arange(6).reshape(2, 3))
os.path.exists("h.npy") and os.unlink("h.npy")
run("create", "h.npy", "--dtype", "<i8", "--row-shape", "3", "--capacity", 10)
np.save("in.npy", fortran)
for way in ("file", "pipe"):
    r = run("append", "h.npy", *(["in.npy"] if way == "file" else []), "--format", "npy",
            data=None if way == "file" else saved(fortran))
    check("Fortran order by %s" % way, r.returncode == 0, r.stderr)
r = run("read", "h.npy", "--format", "npy")
check("comes out in C order", r.stdout == saved(np.ascontiguousarray(np.concatenate([fortran, fortran]))))
check("0 bytes are 0 rows", run("append", "g.npy", "--format", "npy", data=b"").stdout == b"appended 0 rows\n")
check("an array without rows", run("append", "g.npy", "--format", "npy", data=saved(np.zeros(0, "<i8"))).stdout
      == b"appended 0 rows\n")
for name, data in (("no npy", b"hello world, this is no npy file"), ("a cut header", saved(np.arange(3))[:50]),
                   ("a value", saved(np.int64(3))), ("cut rows", saved(np.arange(3))[:-3]),
                   ("objects", saved(np.zeros(1, "<i8")).replace(b"'<i8'", b"'|O' "))):
    r = run("append", "g.npy", "--format", "npy", data=data)
    check("%s is refused" % name, r.returncode in (1, 3) and r.stderr.startswith(b"ticktail: append: "), r.stderr)
r = run("append", "g.npy", "--format", "raw", data=np.arange(3).tobytes() + b"abc")
check("raw: a part of a row is exit 1, rows before it are in",
      r.returncode == 1 and r.stdout == b"appended 3 rows\n" and b"3 bytes" in r.stderr, r)
# what has no known number of rows, or cannot be read in order, is kept aside in TMPDIR
fresh("<i8")
run("append", "f.npy", "--format", "npy", data=saved(np.arange(3)))
live = open("f.npy", "rb").read()
os.environ["TMPDIR"] = os.path.abspath("aside")
for name, args, data in (("out", ("tail", "f.npy", "--format", "npy"), None),
                         ("in", ("append", "f.npy", "--format", "npy"), live)):
    r = run(*args, data=data)
    check("kept aside, %s: no TMPDIR is exit 1 and named" % name,
          r.returncode == 1 and r.stdout in (b"", b"appended 0 rows\n") and b"aside/ticktail." in r.stderr, r)
os.environ["TMPDIR"] = "/" + 5000 * "x"
r = run("append", "f.npy", "--format", "npy", data=live)
check("kept aside: a TMPDIR that is too long", r.returncode == 1 and b"TMPDIR" in r.stderr, r)
os.environ["TMPDIR"] = os.path.abspath("aside")
os.mkdir("aside")
r = run("tail", "f.npy", "--format", "npy")
check("kept aside, out", r.stdout == saved(np.arange(3)), r)
check("kept aside, in", run("append", "f.npy", "--format", "npy", data=live).stdout == b"appended 3 rows\n")
check("nothing is left in TMPDIR", os.listdir("aside") == [])
print("1..%d" % count)
sys.exit(bad > 0)
PY
