#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a user reads when the system refuses: a used-up quota, no descriptor left for the process
# or for the host, no mapping left.  Each names the path, what the limit is, and what to do.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99

new() {
	rm -rf r f.npy p.npy copy n.npy s
	"$ticktail" create r --rolling --dtype f8 --capacity 100 --keep 2 --exact -q --sync none
	seq 1 350 | "$ticktail" append r --columns value -q
	"$ticktail" create f.npy --dtype f8 --capacity 100 -q
	seq 1 50 | "$ticktail" append f.npy --columns value -q
	"$ticktail" read f.npy --format npy -o p.npy
	seq 1 200 >rows
	find r f.npy p.npy -type f ! -name .ticktail ! -name .writer -exec sha256sum {} + | sort >before
}
# refused NAME PATTERN COMMAND...: exit 1, one line of words with the pattern, after the path
refused() {
	name=$1
	pattern=$2
	shift 2
	exits 1 "$name" "$@"
	grep -v '^appended [0-9]* rows$' .out >words
	if [ "$(grep -cE "^ticktail: [a-z]+: .*($path).*$pattern" words)" = 1 ]; then
		ok "$name: path, value, what to do"
	else
		not_ok "$name: path, value, what to do" "$(cat .out)"
	fi
}
unchanged() {
	find r f.npy p.npy -type f ! -name .ticktail ! -name .writer -exec sha256sum {} + | sort >after
	same "$1: nothing was changed" before after
	is "$1: nothing was put aside or left" "$(find . -name '*bad*' -o -name '.next' -o -name '.merge' -o -name copy -o -name n.npy -o -name s)" ""
	success "$1: the ring is whole" "$ticktail" verify r
}

# ---- EMFILE: the real limit ----
new
path=r
for n in 6 7 8 9; do
	(ulimit -n $n && exec "$ticktail" read r --tail 1) >out 2>&1 && continue
	grep -q 'loading shared libraries' out && continue
	grep -cE "^ticktail: read: r.*Too many open files \(this process may have $n files open: raise that \(ulimit -n\)\)$" out >seen
	is "EMFILE at $n: path, value, what to do" "$(cat seen)" 1
done

if ! [ -e "$preload" ]; then
	skip "what the system refuses" "nothing can be preloaded"
	finish
fi
with() { # with SETTING COMMAND...
	setting=$1
	shift
	preloaded "$setting" "$ticktail" "$@"
}

# ---- EDQUOT: no block may be reserved ----
quota='needs [0-9]+ bytes: Disk quota exceeded \(the quota of the file.s owner is used up: remove files or raise it\)'
q=TT_FAKE_ERROR=fallocate:122
path=n.npy refused "EDQUOT: create" "$quota" with $q create n.npy --dtype f8 --capacity 100
path=s refused "EDQUOT: create --rolling" "$quota" with $q create s --rolling --dtype f8 --capacity 100 --keep 2
path=r/ refused "EDQUOT: append to a ring" "$quota" with $q append r rows --columns value
path=r/ refused "EDQUOT: seal" "$quota" with $q seal r --timeout 2
path=r refused "EDQUOT: merge" "$quota" with $q merge r
path=copy refused "EDQUOT: backup" "$quota" with $q backup r copy
path=f.npy refused "EDQUOT: resize" "$quota" with $q resize f.npy --capacity 1000
path=f.npy refused "EDQUOT: append --grow" "$quota" with $q append f.npy rows --columns value --grow
path=p.npy refused "EDQUOT: adopt" "$quota" with $q adopt p.npy --capacity 1000
unchanged EDQUOT

# ---- ENFILE: the host has no descriptor left ----
host='Too many open files in system \(this host has as many files open as fs.file-max allows: raise that with sysctl\)'
h=TT_FAKE_ERROR=openat:23
path=r refused "ENFILE: append" "$host" with $h append r rows --columns value
path=r refused "ENFILE: read" "$host" with $h read r
path=r refused "ENFILE: verify" "$host" with $h verify r
path=r refused "ENFILE: merge" "$host" with $h merge r
path=r refused "ENFILE: recover" "$host" with $h recover r
path=r refused "ENFILE: prune" "$host" with $h prune r
path=s refused "ENFILE: create" "$host" with $h create s --rolling --dtype f8 --capacity 100 --keep 2
unchanged ENFILE

# ---- ENOMEM: vm.max_map_count, in earnest ----
most=$(cat /proc/sys/vm/max_map_count 2>/dev/null || echo 0)
if [ "$most" = 0 ] || [ "$most" -gt 300000 ]; then
	skip "max_map_count" "it is $most: too many to be taken"
	finish
fi
if has_sanitizer; then
	skip "max_map_count" "a sanitizer needs mappings of its own"
	finish
fi
maps="this process has [0-9]+ mappings, as many as vm.max_map_count allows: raise that with sysctl, or open fewer files"
tried=
bad=
for n in 3 4 8; do
	for command in "append r rows --columns value" "read r"; do
		echo 1 >one
		# shellcheck disable=SC2086
		with TT_FEW_MAPS=$n $command >out 2>&1 && continue
		status=$?
		case $(cat out) in
		*max_map_count*)
			tried=$((tried + 1))
			grep -qE "^ticktail: [a-z]+: (r|f\.npy).*$maps" out || bad="$bad; $n: $command: $(grep -v '^[0-9v]' out)" ;;
		*Cannot\ allocate*) bad="$bad; $n: $command: $(tail -n 1 out)" ;;
		*) [ $status = 1 ] || [ $status = 127 ] || bad="$bad; $n: $command: exit $status: $(tail -n 1 out)"
			;;
		esac
	done
done
is "max_map_count: path, value, what to do" "${bad:-}" ""
is "max_map_count: the limit was met" "$((${tried:-0} > 0))" 1
is "max_map_count: nothing was put aside" "$(find . -name '*bad*')" ""
success "max_map_count: the ring is whole" "$ticktail" verify r
success "max_map_count: and the file" "$ticktail" verify f.npy
finish
