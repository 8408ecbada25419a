# SPDX-License-Identifier: Apache-2.0
"""Rows of a live file or a ring with NumPy alone:  python3 read_ring.py PATH [-f]"""
import sys
import time
from pathlib import Path

import numpy as np


def rows(path):
    """Published rows of one file; np.load alone shows its whole capacity."""
    data = np.load(path, mmap_mode="r")
    tail_at = data.offset + data.nbytes
    if Path(path).stat().st_size == tail_at:  # a plain np.save file
        return data
    start, end = np.fromfile(path, "<u8", 2, offset=tail_at)
    return data[int(start) : int(end)]


def files(ring):
    """Files of a ring, oldest first; the manifest (.lock) names the newest."""
    newest = np.fromfile(Path(ring) / ".lock", "<u8").max()
    found = sorted((int(p.stem), p) for p in Path(ring).glob("[0-9]*.npy*"))
    return [path for name, path in found if name <= newest]


def follow(ring, wait=0.01):
    """Views of the ring's rows from the oldest on, for ever."""
    at, row = None, 0
    while True:
        for path in files(ring):  # first the list, then the rows: none is passed over
            if at is None or int(path.stem) >= int(at.stem):
                row = row if path == at else 0
                at, new = path, rows(path)[row:]
                row += len(new)
                if len(new):
                    yield new
        time.sleep(wait)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    path = sys.argv[1]
    try:
        if "-f" in sys.argv:
            views = follow(path)
        else:
            views = map(rows, files(path) if Path(path).is_dir() else [path])
        for view in views:
            for row in view.tolist():
                print(*(row if isinstance(row, tuple) else [row]), sep=",", flush=True)
    except (OSError, ValueError) as why:  # no such path, no ring, no .npy file
        sys.exit(f"{sys.argv[0]}: {path}: {why}")
