#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A run killed at any point, then run again: every row once, by our reader and by h5py.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
tool=$top_builddir/tests/archive/commit_tool
fail=$top_builddir/tests/archive/commit_fail
[ -x "$tool" ] && [ -x "$fail" ] || missing "tests/archive/commit_fail"
cd "$work" || exit 99

# ring: rows 0.. in files of 200; base.h5: its first rows; want: all rows
"$tool" feed ring 1100 200 3 0 || exit 99
"$tool" archive -o base.h5 -d rows -v one -c 64 ring >/dev/null || exit 99
"$tool" feed ring 1300 200 3 1100 || exit 99
cp base.h5 whole.h5
"$tool" archive -o whole.h5 -d rows -v two -S ring >/dev/null || exit 99
"$tool" rows whole.h5 rows > want

# points COMMAND...: the failpoints that a run passes, with how often
points() {
	rm -f log
	TT_FAILPOINT_LOG=$work/log "$@" >/dev/null 2>&1
	sort log | uniq -c | while read -r times name; do
		printf '%s:1\n' "$name"
		[ "$times" = 1 ] || printf '%s:%d\n' "$name" "$times"
	done
}

# after_kill NAME: the run is repeated, and the archive is right
after_kill() {
	if ! "$tool" archive -o a.h5 -d rows -S ring >again 2>&1; then
		not_ok "$1" "the next run: $(cat again)"
	elif "$tool" rows a.h5 rows >got 2>&1 && cmp -s got want; then
		ok "$1"
	else
		not_ok "$1" "rows differ"
	fi
}

cp base.h5 a.h5
for point in $(points "$fail" archive -o a.h5 -d rows -S ring); do
	rm -f a.h5*
	cp base.h5 a.h5
	TT_FAILPOINT=$point "$fail" archive -o a.h5 -d rows -S ring >/dev/null 2>&1
	is "killed at $point of an extending run" $? 137
	after_kill "every row once after $point"
done
rm -f a.h5*
for point in $(points "$fail" archive -o a.h5 -d rows -S ring); do
	rm -f a.h5* .a.h5*
	TT_FAILPOINT=$point "$fail" archive -o a.h5 -d rows -S ring >/dev/null 2>&1
	is "killed at $point of a first run" $? 137
	after_kill "every row once after $point of a first run"
done

# killed at random while the ring grows
seed=${TT_SEED:-$(date +%s)}
note "TT_SEED=$seed"
rm -f a.h5* .a.h5*
rm -rf ring
awk -v seed="$seed" 'BEGIN { srand(seed); for (i = 0; i < 50; i++)
	printf "%d 0.%03d\n", 50 + rand() * 400, rand() * 60 }' > plan
at=0
while read -r rows wait; do
	"$tool" feed ring "$rows" 100 4 "$at" || exit 99
	at=$((at + rows))
	"$tool" archive -o a.h5 -d rows -c 64 -S ring >/dev/null 2>&1 &
	sleep "$wait"
	kill -9 $! 2>/dev/null
	wait $! 2>/dev/null
done < plan
"$tool" archive -o b.h5 -d rows -c 64 -S ring >/dev/null || exit 99
"$tool" rows b.h5 rows > want
is "the ring has all rows" "$(wc -c < want)" "$((at * 20))"
success "the run after fifty kills" "$tool" archive -o a.h5 -d rows -S ring
"$tool" rows a.h5 rows > got
same "every row once after fifty kills" got want
success "and nothing is archived twice" sh -c \
	"'$tool' archive -o a.h5 -d rows -S ring | grep -q 'rows=0 '"
leftovers=$(ls -A | grep 'h5-journal\|h5.*tmp')
is "no journal and no temporary file is left" "$leftovers" ""

if find_python h5py; then
	cat > peer.py <<'END'
import h5py
with h5py.File('a.h5', 'r') as f:
    versions = f['_version_data/versions']
    current = versions.attrs['current_version']
    assert all(v.attrs['committed'] for k, v in versions.items() if k != '__first_version__')
    rows = versions[current]['rows'][()]
    assert rows.tobytes() == open('want', 'rb').read()
END
	success "h5py reads the same rows" "$python" peer.py
else
	skip "h5py reads the same rows" "no h5py"
fi
finish
