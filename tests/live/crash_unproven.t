#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kill -9 at every failpoint of cutting what no mark proves, then recover again.
names=$(sed -n -e 's/.*TTI_FAILPOINT("\(ring\.reboot\.[^"]*\)").*/\1/p' \
	-e 's/.*TTI_FAILPOINT("\(file\.mark\.saved\)").*/\1/p' \
	-e 's/.*TTI_FAILPOINT("\(file\.mark\.lowered\)").*/\1/p' \
	"$top_srcdir"/src/live/*.c | sort -u)
# shellcheck disable=SC2086
CK_TAP_LOG_FILE_NAME=- exec "$top_builddir/tests/live/crash_unproven" $names
