#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Conversion between every two element types, by set and by astype, against NumPy's.

casts.py DRIVER [SEED].  Values are those for which NumPy's answer does not depend on the machine:
numbers that the target can hold, integers of all bits between integers, NaN and infinities
between floating types and to bool.
"""
import random
import subprocess
import sys
import warnings

import numpy as np

KINDS = "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 f16 c8 c16 c32".split()
TYPES = KINDS + [">" + k for k in KINDS if k not in ("b1", "i1", "u1")]


class Driver:
    def __init__(self, path):
        self.process = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def do(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = []
        while (got := self.process.stdout.readline()) != ".\n":
            if got == "" or got.startswith("error"):
                raise RuntimeError(f"{line[:60]}: {got}")
            answer.append(got.rstrip("\n"))
        return answer


def hex_of(array):
    return np.ascontiguousarray(array).tobytes().hex()


def values(source, target, rng):
    """Numbers of source that target can take."""
    if source.kind in "iu":
        info = np.iinfo(source)
        many = [0, 1, 2, 100, info.min, info.max, info.max - 1]
        many += [rng.randint(info.min, info.max) for _ in range(40)]
        return np.array(many, source)
    if source.kind == "b":
        return np.array([True, False, True], source)
    real = [0.0, -0.0, 1.0, 1.5, 2.5, 100.75, 0.1, 1 / 3]
    if target.kind != "u":
        real += [-1.0, -1.9, -99.5]
    if target.kind in "iu":
        info = np.iinfo(target)
        top = min(int(info.max), 60000)
        real += [rng.uniform(max(int(info.min), -60000), top - 1) for _ in range(30)]
        if target.itemsize == 8 and source.itemsize >= 4:
            real += [2.0**62, 2.0**40 + 1]
        if target == np.dtype("u8") and source.itemsize >= 4:
            real += [2.0**63, 2.0**63 + 2.0**42]
    else:
        real += [np.nan, np.inf, -np.inf, 65504.0, 1e-5, 6e-8, 2049.0, 65519.0, 65520.0]
        real += [rng.gauss(0, 1) * 10.0 ** rng.randint(-9, 9) for _ in range(60)]
        if source.itemsize >= 8:
            real += [1e300, 1e-300, 5e-324, 1e39, 3.4028236e38, 1e-45, 7e-46]
            real += [1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-50, 1 + 2.0**-11 + 2.0**-40]
    if source.kind == "c":
        imaginary = [rng.choice([0.0, 1.0, -2.5, np.nan, np.inf]) for _ in real]
        whole = np.empty(len(real), source)
        whole.real = real
        whole.imag = imaginary
        return whole
    return np.array(real).astype(source)


def differences(got, want):
    """Places whose number differs; sign of zero counts, NaN's bits do not."""

    def parts(a):
        return (a.real, a.imag) if a.dtype.kind == "c" else (a,)

    bad = np.zeros(got.shape, bool)
    for a, b in zip(parts(got), parts(want)):
        equal = a == b
        if a.dtype.kind == "f":
            equal = (equal & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
        bad |= ~equal
    return bad


def answer_of(line):
    dtype, shape, data = line.split(" ")
    return np.frombuffer(bytes.fromhex(data), dtype)


def compare(driver, source, target, rng):
    s, t = np.dtype(source), np.dtype(target)
    given = values(s, t, rng)
    n = len(given)
    want = given.astype(t)
    if t.newbyteorder("=") == np.dtype("f2") and s.itemsize == (32 if s.kind == "c" else 16) and s.kind in "fc":
        # NumPy rounds a long double to float first, and so twice; we round to double first
        want = given.astype("c16" if s.kind == "c" else "f8").astype(t)
    zero = "00"
    driver.do(f"full a {target} {n} {n} {zero * t.itemsize}")
    driver.do(f"set a ... | {source} {n} {hex_of(given)}")
    by_set = answer_of(driver.do("get a ...")[0])
    driver.do(f"full s {source} {n} {n} {zero * s.itemsize}")
    driver.do(f"set s ... | {source} {n} {hex_of(given)}")
    driver.do(f"astype s d {target}")
    by_astype = answer_of(driver.do("get d ...")[0])
    for name in "asd":
        driver.do(f"free {name}")
    for how, got in (("set", by_set), ("astype", by_astype)):
        bad = differences(got, want)
        if got.dtype != t or bad.any():
            i = int(np.argmax(bad))
            return f"{how} {source} to {target}: {given[i]!r} gives {got[i]!r}, not {want[i]!r}"
    return None


def main():
    driver = Driver(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32)
    print(f"# seed {seed}")
    rng = random.Random(seed)
    bad = []
    with np.errstate(all="ignore"):
        for source in TYPES:
            for target in TYPES:
                bad.append(compare(driver, source, target, rng))
    for words in filter(None, bad):
        print(f"# {words}")
    good = not any(bad)
    print(f"{'ok' if good else 'not ok'} - {len(bad)} pairs of element types")
    sys.exit(not good)


warnings.simplefilter("ignore")  # that an imaginary part is dropped
main()
