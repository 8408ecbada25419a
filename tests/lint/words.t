#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Calls that this tree does without.  Everywhere: the ones that overrun, parse loosely or race.
# Notices that are dropped when there are many, pages that stall.
# In the libraries also: ending or talking for the process, implicit memory orders, HDF5 calls
# that change the process.  strcpy only of a literal, which the compiler can check.  A signal fence
# may be seq_cst: it is no instruction, and no weaker one keeps a store before a load.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"

# code without comments and strings, as FILE:LINE:TEXT
cat >"$work/strip.awk" <<'AWK'
FNR == 1 { comment = 0 }
{
	out = ""
	n = length($0)
	quote = ""
	for (i = 1; i <= n; i++) {
		c = substr($0, i, 1)
		two = substr($0, i, 2)
		if (comment) {
			if (two == "*/") { comment = 0; i++ }
		} else if (quote != "") {
			if (c == "\\") i++
			else if (c == quote) quote = ""
		} else if (two == "/*") { comment = 1; i++ }
		else if (two == "//") break
		else if (c == "\"" || c == "'") { quote = c; out = out c }
		else out = out c
	}
	if (out ~ /[^ \t]/) print FILENAME ":" FNR ":" out
}
AWK

# banned NAME REGEX DIR...
banned() {
	name=$1
	regex=$2
	shift 2
	found=$(cd "$top_srcdir" && find "$@" -name '*.[ch]' ! -path '*/failpoint.c' \
		-exec awk -f "$work/strip.awk" {} + | grep -E "$regex" |
		grep -vE 'strcpy\([^,]*, "|atomic_signal_fence\(memory_order_seq_cst\)')
	is "$name" "$found" ""
}

w='(^|[^a-zA-Z0-9_])'
banned "no call that overruns" \
	"$w(v?sprintf|strcpy|strcat|stpcpy|gets|strncpy|strncat|alloca) *\(" \
	src tools include bench examples
banned "no loose number parser" \
	"$w(ato[ifl]|atoll|v?f?scanf|sscanf) *\(" src tools include bench examples
banned "no hidden state or race" \
	"$w(strtok|tmpnam|tempnam|mktemp|asctime|ctime|gmtime|localtime|readdir_r|rand|srand) *\(" \
	src tools include
banned "the libraries neither end nor talk for the process" \
	"$w(exit|_exit|abort|printf|puts|putchar|perror|signal|sigaction|syslog|setlocale|system) *\(|$w(stdout|stderr)[^a-zA-Z0-9_]" \
	src
banned "every atomic states its order" \
	"${w}atomic_(load|store|exchange|fetch_[a-z]+|compare_exchange_[a-z]+) *\(|memory_order_seq_cst" src
banned "a futex tells, not a queue that overflows; no huge pages are asked for" \
	"${w}(inotify_|fanotify_|MADV_(HUGEPAGE|COLLAPSE)|MAP_HUGE)" src tools
banned "no volatile but in asm" "(^|[^m_])(^|[ (*])volatile[^_]" src/base src/format src/archive tools
banned "HDF5 is left as the process had it" "$w(H5close|H5dont_atexit|H5Eset_auto1?) *\(" src tools
banned "goto only to undo" "${w}goto +([^u]|u[^n])" src tools
finish
