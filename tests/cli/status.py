# SPDX-License-Identifier: Apache-2.0
"""Looks into what status prints: `json FILE EXPRESSION` evaluates it with d, the document;
`metrics FILE` checks the text format of Prometheus line by line and prints name{labels} value."""
import json
import math
import re
import sys

NAME = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"'
SAMPLE = re.compile(r'(%s)\{(%s(?:,%s)*)\} (\S+)$' % (NAME, LABEL, LABEL))


def metrics(text):
    assert text.endswith('\n')
    types, helps, seen, closed, last, samples = {}, {}, set(), set(), None, []
    for line in text.split('\n')[:-1]:
        if line.startswith('# '):
            word, name, rest = line[2:].split(' ', 2)
            assert re.fullmatch(NAME, name), line
            if word == 'HELP':
                assert name not in helps, 'twice: ' + line
                helps[name] = rest
            else:
                assert word == 'TYPE' and name in helps and name not in types, line
                assert rest in ('counter', 'gauge', 'untyped'), line
                assert rest != 'counter' or name.endswith('_total'), line
                types[name] = rest
            continue
        match = SAMPLE.match(line)
        assert match, 'no sample: ' + line
        name, value = match.group(1), float(match.groups()[-1])
        assert name in types, 'before its TYPE: ' + line
        if name != last:
            assert name not in closed, 'not in one group: ' + line
            closed.add(name)
            last = name
        labels = tuple(re.findall(LABEL, match.group(2)))
        assert len({key for key, _ in labels}) == len(labels), line
        assert (name, labels) not in seen, 'the same sample twice: ' + line
        seen.add((name, labels))
        assert math.isfinite(value), line
        assert types[name] != 'counter' or value >= 0, line
        samples.append((name, dict(labels), match.groups()[-1]))
    check_buckets(samples)
    return samples


def check_buckets(samples):
    names = {name for name, _, _ in samples if name.endswith('_bucket')}
    for name in names:
        rows = [(labels['le'], float(value)) for n, labels, value in samples if n == name]
        bounds = [float(le) for le, _ in rows]
        counts = [count for _, count in rows]
        assert bounds == sorted(bounds) and bounds[-1] == math.inf, name
        assert counts == sorted(counts), name


def main(how, path, *args):
    with open(path, encoding='utf-8', newline='') as file:
        text = file.read()
    if how == 'json':
        names = {'d': json.loads(text), 're': re}
        print(*[json.dumps(eval(arg, names)) for arg in args])
    else:
        for name, labels, value in metrics(text):
            print(name + '{' + ','.join('%s=%s' % pair for pair in labels.items()) + '}', value)


main(*sys.argv[1:])
