#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every public struct is declared in a page of section 3 with the members of its header, in
# their order, and each member has its words there: a comment, or its name in the text.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
command -v "$PYTHON" >/dev/null || missing "python3"
"$PYTHON" - "$top_srcdir" >"$work/out" <<'END'
import glob, re, sys

top = sys.argv[1]
whole = re.compile(r"^struct (tt_\w+) \{\n(.*?)^\};", re.S | re.M)


def members(body):
    """[(declaration, whether a comment stands before or behind it)]"""
    found, before = [], False
    for part in re.finditer(r"/\*.*?\*/|[^;/]+;", body, re.S):
        text = part.group(0)
        if not text.startswith("/*"):
            found.append([re.sub(r"\s+", " ", text).strip(), before])
            before = False
        elif body[body.rfind("\n", 0, part.start()) + 1 : part.start()].strip() and found:
            found[-1][1] = True
        else:
            before = True
    return found


pages = {}
for path in glob.glob(top + "/man/*.3"):
    with open(path) as page:
        text = page.read().replace("\\e", "\\")
    for name, body in whole.findall(text):
        pages.setdefault(name, []).append((path.split("/")[-1], body, text))
for path in sorted(glob.glob(top + "/include/ticktail/*.h")):
    with open(path) as header:
        structs = whole.findall(header.read())
    for name, body in structs:
        if len(pages.get(name, [])) != 1:
            print(f"struct {name}: declared in {len(pages.get(name, []))} pages, not in one")
            continue
        page, there, text = pages[name][0]
        mine, theirs = members(body), members(there)
        if [m[0] for m in mine] != [m[0] for m in theirs]:
            gone = [m[0] for m in mine if m[0] not in [t[0] for t in theirs]]
            more = [t[0] for t in theirs if t[0] not in [m[0] for m in mine]]
            print(f"{page}: struct {name}: missing {gone}, not in the header {more}")
        for declaration, has_words in theirs:
            names = re.findall(r"\(\*(\w+)\)|(\w+)(?:\[\w+\])*(?=[,;])", declaration.split(")(")[0] + ";")
            for word in ("".join(n) for n in names):
                if not has_words and not re.search(rf"^\.(Va|Fa|It Va|It Fa) (.* )?{word}\b", text, re.M):
                    print(f"{page}: struct {name}: no words on {word}")
END
is "the structs of the headers are in the pages, each member explained" "$(cat "$work/out")" ""
finish
