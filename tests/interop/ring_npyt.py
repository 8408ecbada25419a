# SPDX-License-Identifier: Apache-2.0
"""Rings made, fed and read by npyt and by ticktail in turn."""
import io
import json
import os
import struct

import numpy as np
from loguru import logger
from npyt import NPY8

from tap import main, ok, run, same

logger.remove()
ROW = np.dtype([("number", "<i8"), ("value", "<f8")])


def rows(first, count):
    out = np.zeros(count, dtype=ROW)
    out["number"] = np.arange(first, first + count)
    out["value"] = out["number"] * 0.5
    return out


def feed(ring, first, count):
    run("append", ring, "--format", "raw", stdin=rows(first, count).tobytes())


def read(ring):
    return np.load(io.BytesIO(run("read", ring, "--format", "npy")))


def read_npyt(ring, size):
    reader = NPY8(ring, 8, size).load()
    parts = []
    while True:
        part = np.array(reader.read(1000))
        if len(part) == 0:
            return np.concatenate(parts) if parts else rows(0, 0)
        parts.append(part)


def info(ring):
    return json.loads(run("info", ring, "--json"))


def npyt_reads_a_ring_of_ticktail():
    run("create", "r", "--rolling", "--dtype", "number:i8,value:f8", "--capacity", 8,
        "--keep", 3)
    feed("r", 0, 20)
    same("npyt reads what ticktail wrote", read_npyt("r", 3), rows(0, 20))
    tail = np.concatenate([np.array(part) for part in NPY8("r", 8, 3).load().tail(6)])
    same("npyt's tail", tail, rows(14, 6))
    feed("r", 20, 20)
    same("and after the queue moved on", read_npyt("r", 3), rows(16, 24))
    ok(run("verify", "r") is not None, "its look left the ring whole")


def ticktail_reads_a_ring_of_npyt():
    writer = NPY8("r", 8, 3).load()
    for first in range(0, 60, 5):
        writer.append(rows(first, 5))
    got = read("r")
    same("ticktail reads what npyt wrote", got, rows(0, 60))
    ok(info("r")["keep"] == 3, "keep is the length of its manifest", info("r"))
    ok(info("r")["writer_pid"] is None, "nobody can tell who writes it", info("r"))


def npyt_goes_on_in_a_ring_of_ticktail():
    run("create", "r", "--rolling", "--dtype", "number:i8,value:f8", "--capacity", 8,
        "--keep", 3)
    feed("r", 0, 10)
    writer = NPY8("r", 8, 3, dtype=ROW).load()
    for first in range(10, 50, 4):
        writer.append(rows(first, 4))
    same("npyt appended to it, ticktail reads on", read("r"), rows(0, 50))
    del writer
    feed("r", 50, 30)
    same("and takes the ring back", read("r"), rows(0, 80))
    ok(run("verify", "r") is not None, "verify finds it whole")


def ticktail_takes_a_ring_of_npyt_over():
    writer = NPY8("r", 8, 3).load()
    for first in range(0, 30, 5):
        writer.append(rows(first, 5))
    del writer
    feed("r", 30, 20)
    same("rows follow each other", read("r"), rows(0, 50))
    got = read_npyt("r", 3)
    same("npyt reads the newest files", got, rows(50 - len(got), len(got)))
    ok(len(got) > 16, "three of them", len(got))
    run("seal", "r")
    feed("r", 50, 1)
    same("sealed and gone on", read("r"), rows(0, 51))


def a_name_without_a_file_is_an_empty_file():
    writer = NPY8("r", 8, 3).load()
    writer.append(rows(0, 5))
    del writer
    slots = list(struct.unpack("<3Q", open("r/.lock", "rb").read()))
    slots[1] = slots[0] + 1000
    open("r/.lock", "wb").write(struct.pack("<3Q", *slots))
    same("it has no rows yet", read("r"), rows(0, 5))
    feed("r", 5, 3)
    ok(os.path.exists("r/%d.npy" % slots[1]), "ticktail makes it under that name")
    same("and goes on there", read("r"), rows(0, 8))


def npyt_with_a_longer_queue_enlarges_the_manifest():
    run("create", "r", "--rolling", "--dtype", "number:i8,value:f8", "--capacity", 8,
        "--keep", 2)
    feed("r", 0, 30)
    NPY8("r", 8, 6).load()
    ok(os.path.getsize("r/.lock") == 48, "npyt enlarged it")
    feed("r", 30, 40)
    ok(info("r")["keep"] == 6, "keep is what it holds now", info("r"))
    same("rows follow each other", read("r"), rows(0, 70))


def files_merged_by_npyt_are_read():
    writer = NPY8("r", 8, 2).load()
    for first in range(0, 56, 8):
        writer.append(rows(first, 8))
    writer.merge(2)
    ok(any(name.endswith(".npy_") for name in os.listdir("r")), "npyt merged some")
    same("all rows in order", read("r"), rows(0, 56))


main(npyt_reads_a_ring_of_ticktail, ticktail_reads_a_ring_of_npyt,
     npyt_goes_on_in_a_ring_of_ticktail, ticktail_takes_a_ring_of_npyt_over,
     a_name_without_a_file_is_an_empty_file, npyt_with_a_longer_queue_enlarges_the_manifest,
     files_merged_by_npyt_are_read)
