#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cases of bench/staged.c on versioned_hdf5's StagedChangesArray.

staged_python.py SECONDS: a line "NAME NANOSECONDS" for each case, the median of what fits in
SECONDS.
"""
import statistics
import sys
import time

import numpy as np
from versioned_hdf5.staged_changes import StagedChangesArray

NEAR = (slice(None, None, 2), slice(None, None, 2))


def numbers(shape, dtype):
    return np.arange(np.prod(shape), dtype="i8").reshape(shape).astype(dtype)


def base(shape, chunk, dtype):
    return StagedChangesArray.from_array(
        numbers(shape, dtype), chunk_size=chunk, fill_value=0, as_base_slabs=True
    )


def full(shape, chunk, dtype):
    return StagedChangesArray.full(shape, chunk_size=chunk, fill_value=0, dtype=dtype)


def staged(shape, chunk, dtype):
    array = full(shape, chunk, dtype)
    array[...] = numbers(shape, dtype)
    return array


def fragmented(shape, chunk, dtype):
    array = full(shape, chunk, dtype)
    data = numbers(shape, dtype)
    for i in range(0, shape[0], chunk[0]):
        for j in range(0, shape[1], chunk[1]):
            box = (slice(i, i + chunk[0]), slice(j, j + chunk[1]))
            array[box] = data[box]
    return array


MAKE = {"base": base, "full": full, "staged": staged, "fragmented": fragmented}


def allocate(shape, dtype):
    return np.empty(shape, dtype)


def operation(words, shape, dtype):
    middle = tuple(n // 2 for n in shape)
    whole = numbers(shape, dtype) + np.dtype(dtype).type(1)
    larger = tuple(n + 2 if i == 1 and len(shape) == 3 else n + 1 for i, n in enumerate(shape))
    return {
        "get all": lambda a: a[...],
        "get point": lambda a: a[middle],
        "get ::2": lambda a: a[tuple(slice(None, None, 2) for _ in shape)],
        "get list": lambda a: a[[3, 55, 194]],
        "plan get all": lambda a: a._getitem_plan(...),
        "set all": lambda a: a.__setitem__(Ellipsis, whole),
        "set point": lambda a: a.__setitem__(middle, 7),
        "set ::2": lambda a: a.__setitem__(tuple(slice(None, None, 2) for _ in shape), 7),
        "resize +1 row": lambda a: a.resize((shape[0] + 1, *shape[1:])),
        "resize double": lambda a: a.resize(tuple(2 * n for n in shape)),
        "resize half": lambda a: a.resize(tuple(n // 2 for n in shape)),
        "resize edges": lambda a: a.resize(larger),
        "load": lambda a: a.load(),
        "commit": lambda a: a.commit(allocate),
        "commit into own memory": lambda a: a.commit(allocate),
    }[words]


def measure(array, function, seconds):
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        copy = array.copy()
        begin = time.perf_counter_ns()
        result = function(copy)
        times.append(time.perf_counter_ns() - begin)
        del copy, result
    return statistics.median(times)


def main():
    seconds = float(sys.argv[1])
    made = {}
    for line in sys.stdin:
        name, state, shape, chunk, dtype, words = line.rstrip("\n").split("\t")
        key = state, shape, chunk, dtype
        if key not in made:
            made = {key: MAKE[state](eval(shape), eval(chunk), dtype)}
        function = operation(words, eval(shape), dtype)
        print(f"{name}\t{measure(made[key], function, seconds)}", flush=True)


main()
