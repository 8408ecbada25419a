#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every failpoint in the sources is walked through by a crash test: of single files those in a
# list, and the other way round; of rings those that crash_ring.t and its kin find in ring*.c.  file.make.created belongs to rings, which make files
# under a temporary name; those of file.mark are crash_file_mark.t's, and those of recover.* are
# crash_recover.t's, which look for them themselves.  Every file that has some is compiled with them.
: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
echo 1..3
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
cat "$top_srcdir"/src/live/*.[ch] | sed -n 's/.*TTI_FAILPOINT("\(file\.[^"]*\)").*/\1/p' |
	grep -v -e '^file\.make\.created$' -e '^file\.mark\.' | LC_ALL=C sort -u >"$dir/found"
LC_ALL=C sort -u "$top_srcdir/tests/live/crash_file.names" >"$dir/listed"
bad=0
if diff "$dir/listed" "$dir/found" >"$dir/diff"; then
	echo "ok 1 - every failpoint of a file is in the crash test"
else
	echo "not ok 1 - every failpoint of a file is in the crash test"
	sed 's/^/# /' "$dir/diff"
	bad=1
fi
grep -n 'TTI_FAILPOINT(' "$top_srcdir"/src/live/*.[ch] |
	sed "s|^.*/src/live/||" |
	grep -v -e '^\(ring[^:]*\|cut_rows\)\.c:[0-9]*:.*TTI_FAILPOINT("ring\.' \
		-e '^[^:]*:[0-9]*:.*TTI_FAILPOINT("file\.' \
		-e '^[^:]*:[0-9]*:.*TTI_FAILPOINT("recover\.' >"$dir/other"
if [ -s "$dir/other" ]; then
	echo "not ok 2 - no failpoint is where no crash test looks"
	sed 's/^/# /' "$dir/other"
	bad=1
else
	echo "ok 2 - no failpoint is where no crash test looks"
fi
(cd "$top_srcdir" && grep -l 'TTI_FAILPOINT(' src/*/*.c) | LC_ALL=C sort >"$dir/have"
sed -n '/^libttfail_.*_SOURCES/,/[^\\]$/p' "$top_srcdir"/src/*/local.mk |
	grep -o 'src/[a-z_/]*\.c' | grep -vxF src/archive/step.c | LC_ALL=C sort >"$dir/compiled"
if [ -s "$dir/have" ] && diff "$dir/compiled" "$dir/have" >"$dir/diff"; then
	echo "ok 3 - every file with failpoints is compiled with them"
else
	echo "not ok 3 - every file with failpoints is compiled with them"
	sed 's/^/# /' "$dir/diff"
	bad=1
fi
exit $bad
