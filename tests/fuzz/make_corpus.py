# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds under tests/fuzz/corpus: good inputs of every shape and the nasty ones.

usage: make_corpus.py [DIRECTORY]   (default: corpus beside this file)

Inputs that once broke a parser are added by hand beside them, named crash-*."""
import os
import struct
import sys

ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "corpus")
MAGIC = 20250510080000
FULL = 2 ** 64 - 1


def put(target, name, data):
    directory = os.path.join(ROOT, target)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, name), "wb") as file:
        file.write(data)


TYPES = {
    "plain": "'<f8'",
    "big_endian": "'>u2'",
    "datetime_step": "'<M8[25us]'",
    "generic_time": "'<m8'",
    "characters": "'>U12'",
    "ticks": "[('ts', '<i8'), ('px', '<f8'), ('sym', '|S8')]",
    "sub_array": "[('ts', '<i8'), ('bid', '<f8', (10,)), ('m', '|u1', (2, 3))]",
    "sub_of_sub": "[('a', ('<f8', (3,)), (2,))]",
    "nested": "[('a', [('b', [('c', '|i1'), ('d', '>f4')], (2, 2)), ('e', '<c16')]), ('f', '|b1')]",
    "padded": "[('a', '|i1'), ('', '|V3'), ('b', '<i4'), ('c', '|S3'), ('', '|V1')]",
    "padding_first": "[('', '|V2'), ('a', '|V2')]",
    "titles": "[(('a title', 'a'), '<i4'), ((None, 'b'), '<i4'), (('', 'c'), '<i4')]",
    "quotes": "[('it\\'s', '<i4'), (\"q\", '<i4'), ('\\x41\\u0416\\U0001f600\\101\\n', '|u1')]",
    "unicode": "[('\u00e9t\u00e9', '<i4'), ('\u200b', '<i4')]",
    "python2": "[(u'a', u'<i4', (2L, 3L)), (b'b', r'<i8'), ('c' 'd', '''<f2''')]",
    "object": "[('a', '|O')]",
    "zero_size": "[('a', '<U0'), ('b', '<f8', (0,))]",
    "same_name": "[('a', '<i4'), (('a', 'b'), '<i4')]",
    "huge": "[('a', '<f8', (4294967295, 4294967297)), ('b', '|S2147483647')]",
    "many_leaves": "[('a', [('b', [('c', '|i1')], (32,))], (32,))]",
    "too_many_leaves": "[('a', [('b', [('c', '|i1')], (257,))], (256,))]",
    "deep": "[('a'," * 33 + "'|i1'" + ")]" * 33,
    "open_ended": "[('a', [('b', [('c', [",
    "metadata": "('<f8', {'unit': 'ms'})",
}

for name, text in TYPES.items():
    put("dtype", "descr_" + name, b"\x02" + text.encode())
for name, text in {
    "plain": "f8", "named": "float64", "ticks": "ts:i8,sym:S8,px:f8,bid:f8[10]",
    "extents": "a:>u2[2,3], b : f4[2][3],t:M8[ns][4]", "nested": "a:{x:i4,y:{z:U3}[2]},:V3,b:?",
    "deep": "a:{" * 40 + "a:i4", "no_name": ":V4", "object": "a:O", "bad_extent": "a:i4[0]",
}.items():
    put("dtype", "short_" + name, b"\x00" + text.encode())
    put("dtype", "aligned_" + name, b"\x01" + text.encode())
put("dtype", "dict", b"\x00{'names':['a','b'],'formats':['<i4',('f4',(2,))],'offsets':[0,8],"
                     b"'titles':[None,'t'],'itemsize':24,'aligned':False}")
put("dtype", "dict_overlap", b"\x00{'names':['a','b'],'formats':['i4','i4'],'offsets':[2,0]}")
put("dtype", "not_utf8", b"\x02[('\xff\xfe', '<i4')]")
put("dtype", "empty", b"\x00")


def header(text, major=1, minor=0, length=None, pad=True, coding="latin-1"):
    body = text.encode(coding)
    prefix = 10 if major == 1 else 12
    if pad:
        body += b" " * (64 - (prefix + len(body) + 1) % 64) + b"\n"
    size = len(body) if length is None else length
    return (b"\x93NUMPY" + bytes([major, minor]) +
            struct.pack("<H" if major == 1 else "<I", size) + body)


def fields(descr="'<f8'", order="False", shape="(3,)"):
    return "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)


for name, text in TYPES.items():
    version = 3 if name == "unicode" else 1
    put("npy", "type_" + name, header(fields(text), version, coding="utf-8"))
for name, data in {
    "version_2": header(fields(), 2),
    "version_4": header(fields(), 4),
    "latin1": header(fields("[('\u00e9', '<i4')]")),
    "wide_extent": header(fields(shape="(                    7, 3)")),
    "rank_0": header(fields(shape="()")),
    "rank_32": header(fields(shape="(" + "1, " * 32 + ")")),
    "rank_33": header(fields(shape="(" + "1, " * 33 + ")")),
    "zero_rows": header(fields(shape="(0, 4)")),
    "zero_columns": header(fields(shape="(4, 0)")),
    "fortran": header(fields(order="True", shape="(2, 3)")),
    "longs": header(fields(shape="(3L, 0x10)")),
    "underscores": header(fields(shape="(1_000,)")),
    "negative": header(fields(shape="(-1,)")),
    "overflow": header(fields(shape="(9223372036854775807, 8)")),
    "past_64_bits": header(fields(shape="(99999999999999999999,)")),
    "no_tuple": header(fields(shape="(3)")),
    "other_order": header('{"shape": (3, ), "fortran_order": False , "descr": "<f8"}'),
    "missing_key": header("{'descr': '<f8', 'shape': (3,)}"),
    "extra_key": header("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'x': 1}"),
    "key_twice": header(fields() [:-1] + "'shape': (4,)}"),
    "text_behind": header(fields() + " x"),
    "comment": header("{'descr': '<f8', # eight\n'fortran_order': False, 'shape': (3,)}"),
    "room_behind": header(fields() + " " * 40),
    "no_room": header(fields(), pad=False),
    "cut": header(fields())[:40],
    "cut_prefix": b"\x93NUMPY\x01\x00\x40",
    "long_length": header(fields(), 2, length=FULL >> 32),
    "no_length": header("", length=0, pad=False),
    "not_npy": b"PK\x03\x04" + b"\0" * 60,
    "nul_in_dict": header("{'descr': '<f8\0', 'fortran_order': False, 'shape': (3,)}"),
    "bracket_too_many": header(fields("'<f8')")),
}.items():
    put("npy", name, data)


def end(data_off, row_bytes, capacity, words, surplus=None, file_bytes=None):
    tail = b"".join(struct.pack("<Q", word) for word in words)
    if file_bytes is None:
        file_bytes = 2 ** 63 | (len(tail) if surplus is None else surplus)
    head = struct.pack("<QQQQ", data_off, row_bytes, capacity, file_bytes)
    return head + tail.rjust(40, b"\x11")


five, four = [2, 7, 123, 128, MAGIC], [2, 7, 128, MAGIC]
for name, data in {
    "five_words": end(128, 8, 10, five),
    "four_words": end(128, 8, 10, four),
    "plain": end(128, 8, 10, [], 0),
    "superseded": end(128, 8, 10, five[:4] + [MAGIC + 1]),
    "superseded_four": end(128, 8, 10, four[:3] + [MAGIC + 1]),
    "adopting": end(128, 8, 10, [0, 10, 1, 128, MAGIC], 8 * 5 + 40),
    "adopting_four": end(128, 8, 10, [0, 10, 128, MAGIC], 8 * 5 + 32),
    "adopting_odd": end(128, 24, 10, [0, 10, 1, 128, MAGIC], 50),
    "end_past_capacity": end(128, 8, 10, [0, 11, 1, 128, MAGIC]),
    "start_past_end": end(128, 8, 10, [8, 7, 1, 128, MAGIC]),
    "other_offset": end(128, 8, 10, [0, 7, 1, 192, MAGIC]),
    "no_magic": end(128, 8, 10, [0, 7, 1, 128, MAGIC - 1]),
    "surplus": end(128, 8, 10, [], 39),
    "short": end(128, 8, 10, [], file_bytes=100),
    "empty_file": end(128, 8, 10, [], file_bytes=0),
    "overflow": end(128, FULL, FULL, five, file_bytes=FULL),
    "capacity_0": end(128, 8, 0, [0, 0, 1, 128, MAGIC]),
    "row_1": end(64, 1, 2 ** 40, [0, 2 ** 40, 1, 64, MAGIC]),
    "small_file": end(0, 1, 0, [0, 0, 0, MAGIC], file_bytes=32),
    "nothing": b"",
}.items():
    put("tail", name, data)


def slots(*names):
    return b"".join(struct.pack("<Q", name) for name in names)


first = 1795986219304126309
for name, data in {
    "one": slots(first), "full": slots(first, first + 1, first + 2, first + 9),
    "free_behind": slots(first, first + 1, 0, 0), "free_before": slots(0, 0, first),
    "all_free": slots(0, 0, 0, 0), "shift_half_done": slots(first, first + 1, first + 1, first + 2),
    "descends": slots(first, first - 1), "descends_past_0": slots(first, 0, first - 1),
    "largest": slots(FULL - 1, FULL), "odd_size": slots(first)[:7], "empty": b"",
    "swapped_bytes": struct.pack(">QQ", first, first + 1), "many": slots(*range(1, 300)),
    "name": b"1795986219304126309.npy", "name_merged": b"1.npy_", "name_zero": b"0.npy",
    "name_leading_zero": b"01.npy", "name_largest": b"18446744073709551615.npy_",
    "name_too_large": b"18446744073709551616.npy", "name_sign": b"+1.npy",
    "name_temporary": b".1.npy.tmp", "name_other": b"1.npy__",
}.items():
    put("manifest", name, data)


def copy(sequence=3, capacity=1000, keep=8, max_bytes=0, sync_ms=-1, roll_at_s=-1, zone=0,
         flags=0, tail_words=5):
    data = struct.pack("<Q16sQQQqiIIIqI", sequence, b"0123456789abcdef", capacity, keep,
                       max_bytes, sync_ms, roll_at_s, zone, flags, tail_words, 0, 0)
    return data.ljust(128, b"\0")


def mark(sequence=1, file=first, start=0, stop=10):
    return struct.pack("<QQQQQ16sII", sequence, file, start, stop, 5, b"b" * 16, 6, 0)


# the first mark of a ring says nothing, in slot 1; the one that says something comes beside it
silent = struct.pack("<QQQQQ16sII", 1, 0, 0, 0, 0, bytes(16), 0, 0)

for name, data in {
    "untouched": b"\x00", "bad_magic": b"\x00TKTTAIL2", "zero_header": b"\x00" + bytes(128),
    "version_2": b"\x00" + struct.pack("<QI", 0x314c494154544b54, 2),
    "incompat": b"\x00" + struct.pack("<QII", 0x314c494154544b54, 1, 1),
    "copy": b"\x05" + copy(), "second_copy": b"\x07" + copy(sequence=9),
    "copy_not_sealed": b"\x01" + copy(), "sequence_0": b"\x05" + copy(sequence=0),
    "sequence_largest": b"\x07" + copy(sequence=FULL),
    "copy_lost": b"\x05" + bytes(128), "copies_lost": b"\x01" + bytes(640),
    "capacity_0": b"\x05" + copy(capacity=0), "capacity_largest": b"\x05" + copy(capacity=FULL),
    "keep_1": b"\x05" + copy(keep=1), "keep_many": b"\x05" + copy(keep=2 ** 40),
    "sync_each": b"\x05" + copy(sync_ms=0), "sync_negative": b"\x05" + copy(sync_ms=-2),
    "sync_long": b"\x05" + copy(sync_ms=86400001), "roll_midnight": b"\x05" + copy(roll_at_s=0),
    "roll_late": b"\x05" + copy(roll_at_s=86400), "zone": b"\x05" + copy(zone=1),
    "flags": b"\x05" + copy(flags=3), "unknown_flags": b"\x05" + copy(flags=0x80000000),
    "old_tail": b"\x05" + copy(tail_words=4), "tail_words_6": b"\x05" + copy(tail_words=6),
    "mark": b"\x06" + mark(), "mark_not_sealed": b"\x02" + mark(),
    "mark_silent": b"\x06" + bytes(512) + silent,
    "mark_beside_silent": b"\x06" + mark(sequence=2).ljust(512, b"\0") + silent,
    "mark_beside_none": b"\x06" + mark(sequence=2),
    "mark_backwards": b"\x06" + mark(start=11), "both_bad": b"\x01" + bytes(1024),
    "ones": b"\x00" + b"\xff" * 4096, "nothing": b"",
}.items():
    put("settings", name, data)
