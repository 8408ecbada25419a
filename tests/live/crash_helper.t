#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kill -9 at every failpoint of a writer with its two threads, then reopen.
names=$(sed -n 's/.*TTI_FAILPOINT("\(ring\.[^"]*\)").*/\1/p' "$top_srcdir"/src/live/ring_wfile.c \
	"$top_srcdir"/src/live/ring_upkeep.c "$top_srcdir"/src/live/ring_roll.c |
	grep -v '^ring\.open' | cat - "$top_srcdir/tests/live/crash_helper.names" | sort -u)
# shellcheck disable=SC2086
exec "$top_builddir/tests/live/crash_helper" $names
