# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154
# Sourced by the tests of what a power loss leaves.  Goes to $work.
age=$top_builddir/tests/live/age_mark
[ -x "$age" ] || missing "age_mark"
cd "$work" || exit 99
pid=
cleanup_fn() { [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; }
count() { "$ticktail" read "$1" 2>/dev/null | tail -n +2 | wc -l | tr -d " "; }
rows_are() { [ "$(count "$1")" = "$2" ]; }
# lose_power PATH FROM TO [COMMAND]: rows are appended, visible, and not synced; then the machine is off
lose_power() {
	rm -f feed
	mkfifo feed
	"$ticktail" append "$1" feed --columns value --sync 86400000 >/dev/null 2>&1 &
	pid=$!
	exec 3>feed
	seq "$2" "$3" >&3
	wait_for 20 rows_are "$1" $(($3 + 1)) || not_ok "$1: rows come"
	${4:-:}
	kill -9 $pid
	exec 3>&-
	wait $pid 2>/dev/null
	pid=
	"$age" "$1" >/dev/null || not_ok "$1: marks made old"
}
