#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kill -9 at every failpoint that the ring code has, then reopen.
names=$(sed -n 's/.*TTI_FAILPOINT("\(ring\.[^"]*\)").*/\1/p' "$top_srcdir"/src/live/ring*.c | sort -u)
# shellcheck disable=SC2086
exec "$top_builddir/tests/live/crash_ring" $names
