#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kill -9 at every failpoint that the ring code has, then reopen.  Those that only a writer
# with its two threads passes are crash_helper.t's, those of the recovery after a power loss
# crash_reboot.t's.
names=$(sed -n 's/.*TTI_FAILPOINT("\(ring\.[^"]*\)").*/\1/p' "$top_srcdir"/src/live/ring*.c |
	sort -u | grep -v '^ring\.reboot\.' | grep -vxFf "$top_srcdir/tests/live/crash_helper.names")
# shellcheck disable=SC2086
exec "$top_builddir/tests/live/crash_ring" $names
