#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each benchmark, for a fraction of a second: its lines are JSON and have both sides; the table and
# the page of documentation can be made of them.  No figure is judged.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python json
bench=$top_builddir/bench
[ -x "$bench/scan" ] || missing "bench/scan"
BENCH_DIR=$work
export BENCH_DIR

cat >"$work/check.py" <<'PY'
# SPDX-License-Identifier: Apache-2.0
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
told = [line for line in lines if "skipped" not in line]
assert told, "no line"
for line in told:
    for key in ("bench", "case", "target", "unit", "against", "kernel", "version"):
        assert isinstance(line[key], str), (key, line)
    for key in ("ours", "other", "ratio"):
        value = line[key]
        assert isinstance(value, (int, float)) and value >= 0, (key, line)
    assert ("goal" in line) == ("ok" in line) == ("sense" in line), line
    if "ok" in line:
        least = line["sense"] == "at least"
        assert line["ok"] == (line["ratio"] >= line["goal"] if least
                              else line["ratio"] <= line["goal"]) or \
            abs(line["ratio"] / line["goal"] - 1) < 1e-4, line
    for key, value in line.items():
        if key.endswith("_ns") and isinstance(value, dict):
            order = [value[p] for p in ("p50", "p90", "p99", "p99.9", "p99.99", "max")]
            assert order == sorted(order) and value["count"] > 0, (key, line)
cases = {line["case"] + line["against"] for line in told}
assert len(cases) == len(told), "two lines of one case"
PY

# runs PROGRAM ARGUMENTS...
runs() {
	name=$1
	shift
	if "$bench/$name" "$@" >"$work/$name.jsonl" 2>"$work/words"; then
		success "$name says both sides of each case" "$python" "$work/check.py" \
			"$work/$name.jsonl"
		grep -h skipped "$work/words" | sed 's/^/# /'
	else
		not_ok "$name runs" "$(tail -n 5 "$work/words")"
	fi
}

runs append_latency --bytes 16384 --repetitions 1
runs append_peers --seconds 0.01 --rounds 1
runs append_rate --seconds 0.2 --rounds 1 --rate 20000 --rate2 1000
runs roll_stall --rolls 4 --rows 1200 --interval 1
runs reader_latency --seconds 0.05 --rounds 1 --readers 2
runs fanout --seconds 0.1 --rounds 1 --rate 10000 --readers 3
runs scan --rows 10000 --files 3 --repetitions 2 --rounds 2
runs staged --seconds 0.001 --rounds 1

exits 2 "an unknown option is a usage error" "$bench/scan" --nonsense 1
is "and leaves nothing behind" "$(find "$work" -name 'ticktail-bench.*')" ""

success "the table is made of them" sh "$top_srcdir/bench/table.sh" text "$work"/*.jsonl
is "with a line a case" "$(grep -c '^[GL][1-9] ' "$work/.out")" \
	"$(cat "$work"/*.jsonl | grep -vc '"skipped"')"
sh "$top_srcdir/bench/table.sh" markdown "$work"/*.jsonl >"$work/page.md"
is "and the page, with a section a program" "$(grep -c '^## [GL]' "$work/page.md")" 8
if command -v gnuplot >/dev/null; then
	mkdir "$work/plots"
	success "plots are drawn" sh "$top_srcdir/bench/table.sh" plots "$work/plots" "$work"/*.jsonl
	is "all of them" "$(find "$work/plots" -name '*.svg' -size +2k | wc -l)" 4
else
	skip "plots are drawn" "gnuplot is not on this machine"
fi
finish
