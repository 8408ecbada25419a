# SPDX-License-Identifier: Apache-2.0
"""Rings made, fed and read by npyt and by ticktail in turn.  TT_SEED replays the mixed runs,
TT_LONG=1 makes many of them."""
import io
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import numpy as np
from loguru import logger
from npyt import NPY8, NPYT

from tap import main, ok, run, same, ticktail

logger.remove()
RUNS, TURNS = (60, 40) if os.environ.get("TT_LONG") == "1" else (2, 12)
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

def number(ring):
    """The number of the place behind the last row, None when it has none."""
    if os.path.exists("pos"):
        os.unlink("pos")
    run("tail", ring, "-n", 0, "--resume", "pos")
    words = open("pos").read().split()
    return int(words[2]) if len(words) > 2 and words[2] != "-" else None


def rows_are_numbered_again():
    writer = NPY8("r", 8, 4).load()
    for first in range(0, 44, 4):
        writer.append(rows(first, 4))
    del writer
    ok(number("r") is None, "npyt numbers nothing", number("r"))
    feed("r", 44, 20)
    ok(number("r") == 64, "from the first feed on rows are numbered", number("r"))
    writer = NPY8("r", 8, 4).load()
    writer.append(rows(64, 8))
    writer.append(rows(72, 8))
    del writer
    feed("r", 80, 3)
    ok(number("r") == 83, "after npyt they go on while all its files are in the queue",
       number("r"))
    shutil.copy("pos", "old")
    writer = NPY8("r", 8, 4).load()
    for first in range(83, 163, 8):
        writer.append(rows(first, 8))
    del writer
    feed("r", 163, 2)
    ok(number("r") is None, "else nobody knows, and none is made up", number("r"))
    same("all rows are there", read("r"), rows(0, 165))
    same("and a place from before is gone on with",
         np.load(io.BytesIO(resumed("r", "old"))), rows(83, 82))


def resumed(ring, place):
    raw = run("tail", ring, "--resume", place, "--format", "raw")
    out = io.BytesIO()
    np.save(out, np.frombuffer(raw, dtype=ROW))
    return out.getvalue()


class Tail:
    """ticktail tail -f of a ring, from its start."""

    def __init__(self, ring, wait):
        self.out = open("out." + wait, "w+b")
        self.words = open("words." + wait, "w+b")
        self.run = subprocess.Popen([ticktail, "tail", ring, "-f", "--from-start", "--wait", wait,
                                     "--format", "raw"], stdout=self.out, stderr=self.words)

    def end(self, count):
        """Its rows once there are count of them."""
        deadline = time.monotonic() + 60
        while (os.path.getsize(self.out.name) < count * ROW.itemsize
               and time.monotonic() < deadline and self.run.poll() is None):
            time.sleep(0.01)
        time.sleep(0.05)  # for what comes twice
        self.run.send_signal(signal.SIGTERM)
        status = self.run.wait(20)
        self.words.seek(0)
        words = self.words.read().decode()
        return status, words, np.fromfile(self.out.name, dtype=ROW)


class Peer:
    """npyt's reader; the rows it gave so far.  It looks after each append of npyt's, which cuts
    files that leave the queue whoever has them open.  Beside a feed of another process it
    leaves out rows that come between its look at a file and its look at the manifest."""

    def __init__(self, ring, size):
        self.reader, self.parts, self.left = NPY8(ring, 8, size, dtype=ROW).load(), [], False

    def look(self):
        for _ in range(8):
            part = np.array(self.reader.read(1000))
            if len(part) == 0:
                break
            self.parts.append(part)

    def rows(self):
        return np.concatenate(self.parts) if self.parts else rows(0, 0)


def feed_beside(ring, first, count, peer):
    """A feed of ours while npyt's reader looks."""
    with open("feed.in", "wb") as rows_in:
        rows_in.write(rows(first, count).tobytes())
    with open("feed.in", "rb") as rows_in, open("feed.out", "wb") as out:
        done = subprocess.Popen([ticktail, "append", ring, "--format", "raw"], stdin=rows_in,
                                stdout=out, stderr=out)
    while done.poll() is None:
        peer.look()
    peer.look()
    if done.returncode != 0:
        raise RuntimeError(open("feed.out").read())


def mixed(seed):
    """Feeds of both take the ring over in turn; readers of both run beside them."""
    chance = random.Random(seed)
    keep = chance.randint(3, 6)
    total = chance.randint(1, 8)
    if chance.random() < 0.5:
        NPY8("r", 8, keep).load().append(rows(0, total))
    else:
        run("create", "r", "--rolling", "--dtype", "number:i8,value:f8", "--capacity", 8,
            "--keep", keep)
        feed("r", 0, total)
    tails = [Tail("r", wait) for wait in ("spin", "yield", "sleep")]
    peer = Peer("r", keep)
    peer.look()
    for _ in range(TURNS):
        if chance.random() < 0.5:
            writer = NPY8("r", 8, keep, dtype=ROW).load()
            for _ in range(chance.randint(1, 12)):
                count = chance.randint(1, 8)
                writer.append(rows(total, count))
                total += count
                peer.look()
            del writer
        else:
            for _ in range(chance.randint(1, 3)):
                count = chance.randint(1, 9)
                feed_beside("r", total, count, peer)
                total += count
        if chance.random() < 0.1:
            same("seed %d: all of them after %d rows" % (seed, total), read("r"),
                 rows(0, total))
    peer.look()
    for tail, wait in zip(tails, ("spin", "yield", "sleep")):
        status, words, got = tail.end(total)
        ok(status == 0 and words == "", "seed %d: %s: nothing to say" % (seed, wait),
           "%s %s" % (status, words))
        same("seed %d: %s: %d rows, each once, in order" % (seed, wait, total), got,
             rows(0, total))
    got = peer.rows()
    same("seed %d: npyt's reader: in order, whole" % seed, got,
         rows(0, total)[sorted(set(got["number"].tolist()))])
    same("seed %d: and the newest" % seed, got[-1:], rows(total - 1, 1))
    ok(run("verify", "r") is not None, "seed %d: verify finds the ring whole" % seed)


def mixed_feeds():
    first = int(os.environ.get("TT_SEED", time.time_ns() // 1000000 % 1000000))
    for seed in range(first, first + RUNS):
        print("# TT_SEED=%d" % seed, flush=True)
        with tempfile.TemporaryDirectory(prefix="mixed.", dir=".") as place:
            os.chdir(place)
            mixed(seed)
            os.chdir("..")


def a_file_emptied_and_refilled_under_a_tail():
    run("create", "f.npy", "--dtype", "number:i8,value:f8", "--capacity", 64)
    run("append", "f.npy", "--format", "raw", stdin=rows(0, 10).tobytes())
    tail = Tail("f.npy", "sleep")
    wait_size("out.sleep", 10)
    peer = NPYT("f.npy").load(mmap_mode="r+")
    peer.clear()
    peer.append(rows(100, 5))  # fewer than before: end went back
    wait_size("out.sleep", 15)
    tail.run.send_signal(signal.SIGSTOP)  # all of it between two looks
    peer.clear()
    peer.append(rows(200, 20))
    tail.run.send_signal(signal.SIGCONT)
    wait_size("out.sleep", 35)
    status, words, got = tail.end(35)
    same("old rows, then all the new ones, twice", got,
         np.concatenate([rows(0, 10), rows(100, 5), rows(200, 20)]))
    ok(status == 0 and words.count("start") == 2, "and each time that is said", words)


def wait_size(path, count):
    deadline = time.monotonic() + 30
    while os.path.getsize(path) < count * ROW.itemsize and time.monotonic() < deadline:
        time.sleep(0.01)

main(npyt_reads_a_ring_of_ticktail, ticktail_reads_a_ring_of_npyt,
     npyt_goes_on_in_a_ring_of_ticktail, ticktail_takes_a_ring_of_npyt_over,
     a_name_without_a_file_is_an_empty_file, npyt_with_a_longer_queue_enlarges_the_manifest,
     files_merged_by_npyt_are_read, rows_are_numbered_again, mixed_feeds,
     a_file_emptied_and_refilled_under_a_tail)
