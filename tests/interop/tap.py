# SPDX-License-Identifier: Apache-2.0
"""TAP lines and the program, for the interop tests."""
import os
import subprocess
import sys
import tempfile
import traceback

ticktail = os.path.join(os.environ["top_builddir"], "ticktail")
count = bad = 0


def ok(good, name, words=""):
    global count, bad
    count += 1
    bad += not good
    print("%s %d - %s" % ("ok" if good else "not ok", count, name), flush=True)
    if not good:
        for line in str(words).splitlines():
            print("# " + line)


def same(name, got, want):
    """Two arrays: type, shape and every bit but padding."""
    good = got.dtype == want.dtype and got.shape == want.shape
    ok(good and got.tolist().__repr__() == want.tolist().__repr__(), name,
       "got    %s %s %s\nwanted %s %s %s" % (got.dtype, got.shape, got[:3], want.dtype,
                                             want.shape, want[:3]))


def run(*args, status=0, stdin=b""):
    """Run ticktail; a status other than the one wanted is a failed test."""
    done = subprocess.run([ticktail, *map(str, args)], input=stdin, capture_output=True)
    if done.returncode != status:
        raise RuntimeError("ticktail %s: exit %d: %s" % (" ".join(map(str, args)),
                                                         done.returncode, done.stderr.decode()))
    return done.stdout


def main(*cases):
    """Each case in a directory of its own; an exception fails it and the rest goes on."""
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="ticktail-test.") as place:
            os.chdir(place)
            try:
                case()
            except Exception:
                ok(False, case.__name__.replace("_", " "), traceback.format_exc())
            os.chdir("/")
    print("1..%d" % count)
    sys.exit(bad > 0)
