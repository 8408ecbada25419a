# SPDX-License-Identifier: Apache-2.0
"""Random element types: NumPy's answers against ours.

usage: dtype_numpy.py ECHO SEED COUNT

ECHO is the program dtype_echo.  For each type the descr text must be NumPy's to the byte, and
size, leaves, padding and alignment what a plain walk over the NumPy dtype finds."""
import ast
import random
import subprocess
import sys
import unicodedata
import warnings

import numpy as np
from numpy.lib import format as npformat

UNITS = "Y M W D h m s ms us ns ps fs as".split()
NASTY = ["a b", "a.b", "it's", 'say "x"', 'both \' and "', "back\\slash", "tab\there", "nl\n",
         "\x7f\x01", "\u00e9t\u00e9", "\u0416", "nb\u00a0sp", "soft\u00ad", "zero\u200bw",
         "\U0001f600", "\ufeff", "\ue000", "c[0]", "[", "None", "u'x'", "{}", "\u2028",
         "\U000e0001", "\u0378", "a,b:c"]


def plain(rng, unorder=False):
    order = rng.choice("<>=|") if not unorder else ""
    kind = rng.choice("biufcSUVMm")
    if kind in "Mm":
        unit = rng.choice(UNITS + [""])
        step = rng.choice(["", "", "2", "25", "1000", "2147483647"])
        return order + kind + "8" + ("[%s%s]" % (step, unit) if unit else "")
    sizes = {"b": [1], "i": [1, 2, 4, 8], "u": [1, 2, 4, 8], "f": [2, 4, 8, 16],
             "c": [8, 16, 32]}.get(kind, [1, 2, 3, 5, 8, 100])
    return order + kind + str(rng.choice(sizes))


def name(rng, used):
    while True:
        if rng.random() < 0.2:
            text = rng.choice(NASTY)
        else:
            text = "".join(rng.choice("abcXYZ_019") for _ in range(rng.randint(1, 6)))
        if text not in used:
            used.add(text)
            return text


def with_shape(rng, what):
    if rng.random() < 0.3:
        shape = tuple(rng.randint(1, 3) for _ in range(rng.randint(1, 3)))
        what = np.dtype((what, shape))
        if rng.random() < 0.15:
            what = np.dtype((what, (2,)))
    return what


def dtype(rng, depth=0):
    if depth >= 4 or rng.random() < (0.15 if depth == 0 else 0.7):
        return np.dtype(plain(rng))
    used, names, titles, formats = set(), [], [], []
    for _ in range(rng.randint(1, 5)):
        names.append(name(rng, used))
        titles.append(name(rng, used) if rng.random() < 0.15 else None)
        formats.append(with_shape(rng, dtype(rng, depth + 1)))
    if rng.random() < 0.4:
        return np.dtype({"names": names, "formats": formats, "titles": titles},
                        align=rng.random() < 0.6)
    offsets, end = [], 0
    for item in formats:
        end += rng.choice([0, 0, 0, 1, 3, 8])
        offsets.append(end)
        end += item.itemsize
    end += rng.choice([0, 0, 1, 5])
    return np.dtype({"names": names, "formats": formats, "titles": titles,
                     "offsets": offsets, "itemsize": end})


def quoted(rng, text):
    """text as some Python literal."""
    quote = rng.choice("'\"")
    out = []
    for c in text:
        if c == quote or c == "\\":
            out.append("\\" + c)
        elif ord(c) < 32 or ord(c) == 127 or rng.random() < 0.1:
            forms = ["\\U%08x" % ord(c)]
            if ord(c) < 0x10000:
                forms.append("\\u%04X" % ord(c))
            if ord(c) < 0x100:
                forms += ["\\x%02x" % ord(c), "\\%03o" % ord(c)]
            out.append(rng.choice(forms))
        else:
            out.append(c)
        if rng.random() < 0.03:
            out.append(quote + rng.choice(["", " "]) + quote)
    return rng.choice(["", "", "u", "U"]) + quote + "".join(out) + quote


def respelled(rng, descr):
    """The same literal, written otherwise."""
    blank = rng.choice(["", " ", "  "])
    if isinstance(descr, str):
        return blank + quoted(rng, descr)
    if isinstance(descr, int):
        return blank + str(descr) + rng.choice(["", "L"])
    inner = ("," + blank).join(respelled(rng, item) for item in descr)
    if len(descr) == 1 and isinstance(descr, tuple) or rng.random() < 0.3:
        inner += blank + ","
    return blank + ("[%s]" if isinstance(descr, list) else "(%s)") % inner + blank


def escaped(text):
    return "".join(chr(b) if 0x21 <= b <= 0x7e and b != 0x5c else "\\x%02x" % b
                   for b in text.encode())


def leaves(dt, prefix="", offset=0, shape=(), named=False):
    """(name, code, offset, shape) of each leaf, in storage order."""
    inner, more = (dt, ()) if dt.subdtype is None else dt.subdtype
    if dt.subdtype is not None and flat(dt).names is None:
        return leaves(inner, prefix, offset, shape + more, named)
    if dt.subdtype is not None:
        out = []
        for n, index in enumerate(np.ndindex(*more)):
            suffix = "".join("[%d]" % i for i in index)
            out += leaves(inner, prefix + suffix, offset + n * inner.itemsize, (), True)
        return out
    if dt.names is None:
        order = dt.str[0]
        code = "%s%s%d" % (order, dt.kind, dt.itemsize)
        return [(prefix if named else "value", code, offset, shape)]
    out = []
    for field in dt.names:
        dot = "." if named else ""
        out += leaves(dt.fields[field][0], prefix + dot + field,
                      offset + dt.fields[field][1], (), True)
    return out


def flat(dt):
    while dt.subdtype is not None:
        dt = dt.subdtype[0]
    return dt


def covered(dt):
    """Bytes of a row that are some leaf's."""
    total = 0
    for _, code, _, shape in leaves(dt):
        total += int(code[2:]) * int(np.prod(shape, dtype=np.int64))
    return total


def c_layout(dt):
    """(is that of a C struct, alignment)"""
    if dt.subdtype is not None:
        return c_layout(dt.subdtype[0])
    if dt.names is None:
        return True, 1 if dt.kind in "SV" else dt.alignment
    end, align, good = 0, 1, True
    for field in dt.names:
        item, at = dt.fields[field][:2]
        inner_good, inner = c_layout(item)
        good = good and inner_good and at == -(-end // inner) * inner
        align = max(align, inner)
        end = at + item.itemsize
    good = good and dt.itemsize == -(-end // align) * align
    return good, align if good else 1


def wanted(dt):
    lines = ["descr\t%r" % (npformat.dtype_to_descr(dt),),
             "size\t%d\t%d\t%d" % (dt.itemsize, c_layout(dt)[0], covered(dt) != dt.itemsize)]
    for leaf, code, offset, shape in leaves(dt):
        lines.append("leaf\t%s\t%s\t%d\t%s\t%d" % (
            escaped(leaf), code, offset, "".join("[%d]" % n for n in shape),
            int(np.prod(shape, dtype=np.int64))))
    return lines


def short_form(rng, depth=0):
    """(text, list for np.dtype)"""
    used, texts, fields = set(), [], []
    for _ in range(rng.randint(1, 4)):
        label = "f%d" % len(used)
        used.add(label)
        blank = rng.choice(["", "", " "])
        if depth < 2 and rng.random() < 0.2:
            text, what = short_form(rng, depth + 1)
            text = "{" + text + "}"
        else:
            text = plain(rng, unorder=rng.random() < 0.6)
            what = "<" + text if text[0] not in "<>=|" else text
        shape = ()
        if rng.random() < 0.3:
            shape = tuple(rng.randint(1, 3) for _ in range(rng.randint(1, 3)))
            text += rng.choice(["[%s]" % ",".join(map(str, shape)),
                                "".join("[%d]" % n for n in shape)])
        texts.append(blank + label + blank + ":" + blank + text + blank)
        fields.append((label, what, shape) if shape else (label, what))
    return ",".join(texts), fields


def array_descr(dt):
    if dt.subdtype is not None:
        return (array_descr(dt.subdtype[0]), dt.subdtype[1])
    return npformat.dtype_to_descr(dt)


def as_dict(rng, dt):
    """The dictionary form of a struct."""
    fields = [dt.fields[n] for n in dt.names]
    titles = [f[2] if len(f) > 2 else None for f in fields]
    items = [("names", list(dt.names)), ("formats", [array_descr(f[0]) for f in fields]),
             ("offsets", [f[1] for f in fields]), ("itemsize", dt.itemsize)]
    if any(t is not None for t in titles) or rng.random() < 0.2:
        items.append(("titles", titles))
    if rng.random() < 0.2:
        items.append(("aligned", True))
    rng.shuffle(items)
    return repr(dict(items))


def cases(rng, count):
    for _ in range(count):
        dt = dtype(rng)
        descr = npformat.dtype_to_descr(dt)
        kind = rng.random()
        if kind < 0.4:
            yield repr(descr), dt
        elif kind < 0.5:
            yield as_dict(rng, dt) if dt.names else repr(descr), dt
        elif kind < 0.75:
            yield respelled(rng, descr), dt
        elif kind < 0.9:
            text, fields = short_form(rng)
            align = rng.random() < 0.5
            yield ("align " if align else "") + text, np.dtype(fields, align=align)
        else:
            text, fields = short_form(rng)
            yield "align " + repr(fields), np.dtype(fields, align=True)


def mutated(rng, count):
    """Texts that NumPy still takes after a change; we may refuse them, not misread them."""
    pieces = ["(", ")", "[", "]", "'", ",", "0", "2", "9", "i4", "<f8", "V3", "None", "''",
              "M8[ns]", " ", "\\", "(2,)", "|", ">", "=", "S", "U", "[]", "()"]
    while count > 0:
        text = repr(npformat.dtype_to_descr(dtype(rng, 2)))
        for _ in range(rng.randint(1, 2)):
            at = rng.randint(0, len(text))
            to = min(len(text), at + rng.randint(0, 3))
            text = text[:at] + rng.choice(pieces + [""] * 10) + text[to:]
        count -= 1
        try:
            literal = ast.literal_eval(text)
            dt = npformat.descr_to_dtype(literal)
            npformat.dtype_to_descr(dt)
        except Exception:
            continue
        if dt.itemsize > 0 and dt.subdtype is None and "\n" not in text:
            yield text, dt


def every_printable():
    """Names of the characters on both sides of each border of what repr() shows."""
    last = True
    for c in range(0x80, 0x110000):
        shown = chr(c).isprintable()
        if shown != last and not (0xd800 <= c <= 0xe000):
            dt = np.dtype([(chr(c - 1) + chr(c), "<i4")])
            yield repr(npformat.dtype_to_descr(dt)), dt
        last = shown


def main():
    echo, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    print("# Python %s, NumPy %s, TT_SEED=%d" % (sys.version.split()[0], np.__version__, seed))
    warnings.simplefilter("ignore")  # of what the mutations bring up
    rng = random.Random(seed)
    todo, optional = list(cases(rng, count)), []
    if int(np.__version__.split(".")[0]) >= 2:  # NumPy 1 takes a shape of 1 for none
        optional = list(mutated(rng, 10 * count))
    if unicodedata.unidata_version == "14.0.0":
        todo += list(every_printable())
    sure = len(todo)
    todo += optional
    text = "".join(line + "\n" for line, _ in todo)
    got = subprocess.run([echo], input=text.encode(), stdout=subprocess.PIPE, check=True)
    answers = got.stdout.decode(errors="replace").split("\nend\n")[:-1]
    assert len(answers) == len(todo), (len(answers), len(todo))
    bad = refused = 0
    for n, ((line, dt), answer) in enumerate(zip(todo, answers)):
        if n >= sure and answer.startswith("error\t"):
            refused += 1
            continue
        want = wanted(dt)
        if answer.split("\n") != want:
            bad += 1
            if bad <= 5:
                print("# asked  %.600r" % line)
                for a in set(answer.split("\n")) - set(want) - {""}:
                    print("# got    %.600s" % a)
                for a in set(want) - set(answer.split("\n")):
                    print("# wanted %.600s" % a)
    print("# %d types, %d odd ones refused, %d differ" % (len(todo), refused, bad))
    sys.exit(bad != 0)


if __name__ == "__main__":
    main()
