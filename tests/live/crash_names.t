#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every failpoint of single files in the sources is in the list that the crash test walks
# through, and the other way round.  file.make.created belongs to rings, which make files
# under a temporary name.
: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
echo 1..1
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
cat "$top_srcdir"/src/live/*.[ch] | sed -n 's/.*TTI_FAILPOINT("\(file\.[^"]*\)").*/\1/p' |
	grep -v '^file\.make\.created$' | LC_ALL=C sort -u >"$dir/found"
LC_ALL=C sort -u "$top_srcdir/tests/live/crash_file.names" >"$dir/listed"
if diff "$dir/listed" "$dir/found" >"$dir/diff"; then
	echo "ok 1 - every failpoint of a file is in the crash test"
else
	echo "not ok 1 - every failpoint of a file is in the crash test"
	sed 's/^/# /' "$dir/diff"
	exit 1
fi
