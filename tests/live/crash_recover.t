#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kill -9 at every failpoint of recovery, then recover again.
names=$(cat "$top_srcdir"/src/live/*.c | sed -n 's/.*TTI_FAILPOINT("\(recover\.[^"]*\)").*/\1/p' |
	sort -u)
# shellcheck disable=SC2086
exec "$top_builddir/tests/live/crash_recover" $names
