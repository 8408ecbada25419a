# SPDX-License-Identifier: Apache-2.0
# Sourced by the test scripts: TAP lines, a private directory, peers.
#
# ok/not_ok/is/success/failure print one TAP line each; finish ends the script.  A missing
# prerequisite is skipped aloud; with TT_CI=1 it is a failure, since there all are installed.

: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${top_builddir:=$top_srcdir/build}"
export top_srcdir top_builddir
ticktail=$top_builddir/ticktail
: "${PYTHON:=python3}"
export LC_ALL=C

tt_count=0
tt_bad=0
work=$(mktemp -d "${TMPDIR:-/tmp}/ticktail-test.XXXXXX") || exit 99
cleanup_fn() { :; }	# a test may give its own
# A background job killed right after its fork still has these traps; only the script itself
# may clean up ($$ is the script's number in a job too).
is_script() { [ "$(exec sh -c 'echo $PPID')" = $$ ]; }
trap 'is_script && { cleanup_fn; chmod -R u+rwX "$work" 2>/dev/null; rm -rf "$work"; }' EXIT
trap 'exit 99' INT TERM HUP

note() { printf '%s\n' "$*" | sed 's/^/# /'; }

ok() {
	tt_count=$((tt_count + 1))
	printf 'ok %d - %s\n' "$tt_count" "$1"
}

# not_ok NAME [WORDS]
not_ok() {
	tt_count=$((tt_count + 1))
	tt_bad=$((tt_bad + 1))
	printf 'not ok %d - %s\n' "$tt_count" "$1"
	[ -z "${2:-}" ] || note "$2"
}

# skip NAME WHY: what cannot apply here
skip() {
	tt_count=$((tt_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tt_count" "$1" "$2"
}

# is NAME GOT WANTED
is() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "got:    $2
wanted: $3"
	fi
}

# same NAME FILE FILE
same() {
	if cmp "$2" "$3" >"$work/.cmp" 2>&1; then
		ok "$1"
	else
		not_ok "$1" "$(cat "$work/.cmp"; diff "$2" "$3" 2>/dev/null | head -n 8)"
	fi
}

# success NAME COMMAND...: its output is shown when it fails
success() {
	tt_name=$1
	shift
	if "$@" >"$work/.out" 2>&1; then
		ok "$tt_name"
	else
		not_ok "$tt_name" "exit $?: $*
$(tail -n 20 "$work/.out")"
	fi
}

# exits STATUS NAME COMMAND...: leaves its output in $work/.out
exits() {
	tt_want=$1
	tt_name=$2
	shift 2
	tt_got=0
	"$@" >"$work/.out" 2>&1 || tt_got=$?
	if [ "$tt_got" = "$tt_want" ]; then
		ok "$tt_name"
	else
		not_ok "$tt_name" "exit $tt_got, wanted $tt_want: $*
$(tail -n 20 "$work/.out")"
	fi
}

finish() {
	printf '1..%d\n' "$tt_count"
	[ "$tt_bad" = 0 ]
	exit
}

# missing WHAT: ends the script for want of a prerequisite
missing() {
	if [ -n "${TT_CI:-}" ]; then
		not_ok "$1 is here"
		finish
	fi
	[ "$tt_count" = 0 ] || finish
	printf '1..0 # SKIP %s is not here\n' "$1"
	exit 0
}

# has_sanitizer: the program was linked with the library of one
has_sanitizer() { readelf -d "$ticktail" 2>/dev/null | grep -qE 'lib[a-z]*san'; }

# preloaded SETTING... COMMAND...: with tests/lib/preload.c between the command and the system.
# The library of a sanitizer, which wants to come first, is told not to mind.
preload=$top_builddir/tests/lib/.libs/preload.so
preloaded() {
	env LD_PRELOAD="$preload" \
		ASAN_OPTIONS="verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" "$@"
}

# find_python MODULE...: sets $python to one that has them all: TT_PEERS (a virtual
# environment's), else the system's; false when there is none
find_python() {
	tt_imports=$(printf 'import %s; ' "$@")
	for python in ${TT_PEERS:+"$TT_PEERS"} "$PYTHON" /usr/bin/python3; do
		"$python" -c "$tt_imports" >/dev/null 2>&1 && return 0
	done
	return 1
}

need_python() {
	find_python "$@" || missing "python3 with $*"
}

# wait_for SECONDS COMMAND...: until COMMAND succeeds
wait_for() {
	tt_end=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$tt_end" ] || return 1
		sleep 0.05
	done
}
