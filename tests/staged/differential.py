#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random sequences of operations, done by versioned_hdf5's StagedChangesArray and by ours.

differential.py DRIVER SEQUENCES [SEED [FIRST]]

After every operation values, slab_indices, slab_offsets and slab shapes must be equal, and
before it the texts of the plans.  Prints the seed, and on standard error each 10,000 sequences how
far it is; FIRST repeats from one sequence on.
"""
import math
import random
import subprocess
import sys
import warnings

import numpy as np
from versioned_hdf5.staged_changes import StagedChangesArray

PROGRESS = 10000
DTYPES = ["i1", "u2", "i4", "i8", "f4", "f8", "c16", "b1"]


class Difference(Exception):
    pass


class Driver:
    def __init__(self, path):
        self.process = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1 << 16
        )

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = []
        while True:
            got = self.process.stdout.readline()
            if got == "":
                raise Difference(f"the driver died at: {line}")
            if got == ".\n":
                return answer
            answer.append(got.rstrip("\n"))

    def do(self, line):
        answer = self.ask(line)
        if answer and answer[0].startswith("error"):
            raise Difference(f"{line}: {answer[0]}")
        return answer


def shape_text(shape):
    return ",".join(map(str, shape)) or "-"


def hex_of(array):
    return np.ascontiguousarray(array).tobytes().hex() or "-"


def value_of(line):
    dtype, shape, data = line.split(" ")
    shape = () if shape == "-" else tuple(map(int, shape.split(",")))
    return np.frombuffer(bytes.fromhex("" if data == "-" else data), dtype).reshape(shape)


class Arrays:
    """One array, twice; plain is what NumPy makes of it."""

    def __init__(self, driver, rng):
        self.driver, self.rng, self.name = driver, rng, "a"
        rank = rng.choice([1, 1, 2, 2, 3, 4])
        most = {1: 20, 2: 12, 3: 6, 4: 4}[rank]
        self.dtype = np.dtype(rng.choice(DTYPES))
        shape = tuple(rng.randint(0 if rng.random() < 0.2 else 1, most) for _ in range(rank))
        self.chunk = tuple(rng.randint(1, n + 1) for n in shape)
        fill = self.random((), 3)
        kind = rng.choice(["full", "bases", "staged"])
        words = f"{self.dtype.str[1:]} {shape_text(shape)} {shape_text(self.chunk)} {hex_of(fill)}"
        if kind == "full":
            self.plain = np.full(shape, fill, self.dtype)
            self.theirs = StagedChangesArray.full(
                shape, chunk_size=self.chunk, fill_value=fill, dtype=self.dtype
            )
            driver.do(f"full a {words}")
        else:
            self.plain = self.random(shape, 3)
            self.theirs = StagedChangesArray.from_array(
                self.plain.copy(),
                chunk_size=self.chunk,
                fill_value=fill,
                as_base_slabs=kind == "bases",
            )
            driver.do(f"over a {kind} {words} {hex_of(self.plain)}")
        self.fill = fill
        self.copies = []
        self.log = [f"{kind} {words}"]

    def random(self, shape, choices=200):
        numbers = np.array(
            [self.rng.randrange(choices) for _ in range(math.prod(shape))], "i8"
        ).reshape(shape)
        return numbers.astype(self.dtype)

    # ---- indices ----

    def index(self):
        rng, shape = self.rng, self.plain.shape
        listed = rng.randrange(len(shape)) if rng.random() < 0.4 else None
        kept = rng.randint(0 if listed is None else listed + 1, len(shape))
        items = []
        for axis in range(kept):
            n = shape[axis]
            pick = rng.random()
            if axis == listed and rng.random() < 0.3:
                items.append([rng.random() < 0.5 for _ in range(n)])
            elif axis == listed and n > 0:
                count = rng.randint(0, n + 2)
                many = [rng.randrange(-n, n) for _ in range(count)]
                if rng.random() < 0.5:
                    many = sorted({i % n for i in many})
                items.append(many)
            elif pick < 0.25 and n > 0 and listed is None:
                items.append(rng.randrange(-n, n))
            elif pick < 0.4:
                items.append(slice(None))
            else:
                bound = [None] + list(range(-n - 2, n + 3))
                step = rng.choice([None, 1, 1, 2, 3, n + 1])
                items.append(slice(rng.choice(bound), rng.choice(bound), step))
        if kept < len(shape) and rng.random() < 0.5:
            items.append(Ellipsis)
        return tuple(items)

    @staticmethod
    def index_text(index):
        def item(i):
            if i is Ellipsis:
                return "..."
            if isinstance(i, slice):
                text = ":".join("" if x is None else str(x) for x in (i.start, i.stop))
                return text + ("" if i.step is None else f":{i.step}")
            return str(i)

        return "(" + "".join(item(i) + "," for i in index) + ")"

    # ---- comparing ----

    def compare_plan(self, words, plan):
        text = str(plan)
        ours = "\n".join(self.driver.do(f"plan {self.name} {words}"))
        if ours != text:
            raise Difference(f"plan {words}:\nours\n{ours}\ntheirs\n{text}")

    def compare(self):
        head, slabs, offsets, shapes = self.driver.do(f"state {self.name}")
        theirs = self.theirs
        expect = [
            f"{theirs.n_base_slabs} {theirs.n_staged_slabs}",
            " ".join(map(str, theirs.slab_indices.ravel())),
            " ".join(map(str, theirs.slab_offsets.ravel())),
            " ".join("None" if s is None else shape_text(s.shape) for s in theirs.slabs),
        ]
        got = [" ".join(head.split()[1:3]), slabs.strip(), offsets.strip(), shapes.strip()]
        if got != expect:
            raise Difference(f"state\nours   {got}\ntheirs {expect}")
        self.compare_values()

    def compare_values(self):
        ours = value_of(self.driver.do(f"get {self.name} ...")[0])
        theirs = self.theirs[...]
        np.testing.assert_array_equal(theirs, self.plain)
        if ours.dtype != self.plain.dtype or ours.shape != self.plain.shape:
            raise Difference(f"value of {ours.dtype} {ours.shape}")
        np.testing.assert_array_equal(ours, self.plain)

    # ---- operations ----

    def get(self):
        index = self.index()
        text = self.index_text(index)
        self.log.append(f"get {text}")
        self.compare_plan(f"get {text}", self.theirs._getitem_plan(index))
        ours = value_of(self.driver.do(f"get {self.name} {text}")[0])
        np.testing.assert_array_equal(ours, self.plain[index])

    def set(self):
        index = self.index()
        text = self.index_text(index)
        target = self.plain[index].shape
        shape = tuple(1 if self.rng.random() < 0.15 else n for n in target)
        if shape == target and self.rng.random() < 0.2:
            shape = shape[1:]
        value = self.random(shape, 4 if self.rng.random() < 0.5 else 200)
        self.log.append(f"set {text} value {shape}")
        self.compare_plan(f"set {text}", self.theirs._setitem_plan(index))
        self.plain[index] = value
        self.theirs[index] = value
        self.driver.do(
            f"set {self.name} {text} | {self.dtype.str[1:]} {shape_text(shape)} {hex_of(value)}"
        )

    def resize(self):
        old = self.plain.shape
        shape = tuple(
            n if self.rng.random() < 0.4 else self.rng.randint(0, n + 4) for n in old
        )
        if math.prod(shape) > 600:
            return
        self.log.append(f"resize {shape}")
        self.compare_plan(f"resize {shape_text(shape)}", self.theirs._resize_plan(shape))
        grown = np.full(shape, self.fill, self.dtype)
        both = tuple(slice(0, min(a, b)) for a, b in zip(old, shape))
        grown[both] = self.plain[both]
        self.plain = grown
        self.theirs.resize(shape)
        self.driver.do(f"resize {self.name} {shape_text(shape)}")

    def load(self):
        self.log.append("load")
        self.compare_plan("load", self.theirs._load_plan())
        self.theirs.load()
        self.driver.do(f"load {self.name}")

    def commit(self):
        where = self.rng.choice(["memory", "gaps", "apart"])
        self.log.append(f"commit {where}")
        self.compare_plan("hash", self.theirs._hash_plan())
        self.theirs._calc_hashes()
        self.compare_plan("commit", self.theirs._commit_plan())
        self.theirs.commit(lambda shape, dtype: np.zeros(shape, dtype))
        self.driver.do(f"commit {self.name} {where}")

    def append(self):
        """Theirs has none: a resize and a set."""
        shape = self.plain.shape
        rows = (self.rng.randint(0, 4), *shape[1:])
        longer = (shape[0] + rows[0], *shape[1:])
        if math.prod(longer) > 600:
            return
        self.log.append(f"append {rows}")
        value = self.random(rows)
        self.plain = np.concatenate([self.plain, value])
        self.theirs.resize(longer)
        self.theirs[shape[0] :] = value
        self.driver.do(
            f"append {self.name} {self.dtype.str[1:]} {shape_text(rows)} {hex_of(value)}"
        )

    def derive(self, words, theirs):
        """Go on with an array made from this one, which must not change."""
        self.log.append(words)
        command, _, argument = words.partition(" ")
        other = "b" if self.name == "a" else "a"
        if self.copies:
            self.driver.do(f"free {other}")
            self.copies.pop()
        self.driver.do(f"{command} {self.name} {other} {argument}")
        self.copies.append((self.name, self.plain.copy()))
        self.kept = self.theirs
        self.theirs = theirs
        self.name = other

    def copy(self):
        self.derive("copy", self.theirs.copy())

    def astype(self):
        dtype = np.dtype(self.rng.choice(DTYPES))
        numbers = np.append(self.plain.ravel(), self.fill)
        if self.dtype.kind in "fc" and dtype.kind in "iu":
            # what a float becomes that the integer cannot hold is not NumPy's to say
            limits = np.iinfo(dtype)
            if numbers.real.min() < limits.min or numbers.real.max() > limits.max:
                return
        self.derive(f"astype {dtype.str[1:]}", self.theirs.astype(dtype))
        self.dtype = dtype
        self.plain = self.plain.astype(dtype)
        self.fill = self.fill.astype(dtype)

    def refill(self):
        fill = self.random((), 5)
        self.derive(f"refill {hex_of(fill)}", self.theirs.refill(fill[()]))
        self.plain = np.where(self.plain == self.fill, fill, self.plain)
        self.fill = fill

    def rechunk(self):
        chunk = tuple(self.rng.randint(1, n + 1) for n in self.plain.shape)
        self.derive(f"rechunk {shape_text(chunk)}", self.theirs.rechunk(chunk))
        self.chunk = chunk

    def run(self):
        self.compare()
        steps = 2 * [self.get, self.set, self.set, self.resize, self.load, self.commit]
        steps += [self.copy, self.append, self.astype, self.refill, self.rechunk]
        for _ in range(self.rng.randint(1, 7)):
            self.rng.choice(steps)()
            self.compare()
        for name, plain in self.copies:
            np.testing.assert_array_equal(
                value_of(self.driver.do(f"get {name} ...")[0]), plain
            )
            self.driver.do(f"free {name}")
        self.driver.do(f"free {self.name}")


def main():
    driver = Driver(sys.argv[1])
    count = int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 32)
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    print(f"# seed {seed}", flush=True)
    warnings.simplefilter("ignore")  # of a complex number that loses its imaginary part
    for i in range(first, first + count):
        arrays = None
        try:
            arrays = Arrays(driver, random.Random(f"{seed} {i}"))
            arrays.run()
        except Exception as error:
            print(f"not ok - sequence {i} of seed {seed}: {type(error).__name__} {error}")
            for line in arrays.log if arrays else []:
                print(f"#   {line}")
            sys.exit(1)
        done = i + 1 - first
        if done % PROGRESS == 0:
            print(f"# seed {seed}: {done} of {count}", file=sys.stderr, flush=True)
    print(f"ok - {count} sequences without a difference")


main()
