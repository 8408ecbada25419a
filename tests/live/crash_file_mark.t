#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kill -9 at every failpoint of the marks of single files and of the cut by them.
names=$(sed -n -e 's/.*TTI_FAILPOINT("\(file\.mark\.[^"]*\)").*/\1/p' \
	-e 's/.*TTI_FAILPOINT("\(ring\.reboot\.save[^"]*\)").*/\1/p' "$top_srcdir"/src/live/*.c | sort -u)
# shellcheck disable=SC2086
CK_TAP_LOG_FILE_NAME=- exec "$top_builddir/tests/live/crash_file_mark" $names
