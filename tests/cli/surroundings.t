#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Limits and network file systems: refused with words, and nothing is taken for damage.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
cd "$work" || exit 99

rows() { # FIRST COUNT
	awk -v f="$1" -v n="$2" 'BEGIN { print "ts,px"; for (i = 0; i < n; i++) print f + i "," i / 4 }'
}
new_ring() {
	rm -rf "$1"
	"$ticktail" create "$1" --rolling --dtype ts:i8,px:f8 --capacity 100 --keep 3 --exact \
		-q && rows 0 1000 | "$ticktail" append "$1" -q
}
says() { # NAME PATTERN: of the last command
	if grep -qE -e "$2" "$work/.out"; then ok "$1"; else not_ok "$1" "$(cat "$work/.out")"; fi
}
new_ring r

# ---- limits: nothing is renamed, removed or made for want of a descriptor or memory ----

# the shell needs some itself; below that the program cannot start
bad=
for n in 4 5 6 7 8 9 10 11 12; do
	for command in "append r one.csv" "read r --tail 1" "info r" "seal r" "merge r" \
		"prune r --older-than 1w" "verify r"; do
		printf 'ts,px\n' >one.csv
		# shellcheck disable=SC2086
		(ulimit -n $n && exec timeout 20 "$ticktail" $command) >out 2>&1
		status=$?
		# so few that the loader itself cannot open the libraries of timeout, or ours
		if [ $status = 127 ] && grep -q 'loading shared libraries' out; then continue; fi
		case $status in
		0 | 1) ;;
		*) bad="$bad; -n $n: $command: exit $status: $(head -n 1 out)" ;;
		esac
		if [ $status = 1 ] && grep -q 'Too many open files' out && ! grep -q 'ulimit -n' out; then
			bad="$bad; -n $n: $command: $(head -n 1 out)"
		fi
	done
done
is "few descriptors: done, or refused naming the limit" "$bad" ""
is "nothing was put aside" "$(ls -A r | grep -c bad)" 0
success "the ring is whole" "$ticktail" verify r
is "all rows are there" "$("$ticktail" read r --format csv | wc -l)" 1001

if has_sanitizer; then
	skip "little address space" "a sanitizer needs more"
else
	"$ticktail" create big --rolling --dtype f8 --capacity 30M --keep 2 -q --sync none
	(ulimit -v 200000 && exec "$ticktail" append big one.csv) >"$work/.out" 2>&1
	is "little address space is refused" $? 1
	says "it names the limit" 'mmap.*ulimit -v'
	is "nothing was put aside for it" "$(ls -A big | grep -c bad)" 0
	rm -rf big
fi

# ---- sizes of files ----

exits 1 "ulimit -f is no signal" sh -c "ulimit -f 8; exec '$ticktail' create f.npy --dtype f8 --capacity 100k"
says "it is named" 'ulimit -f'
exits 1 "at a roll too" sh -c "ulimit -f 1; exec '$ticktail' seal r"
says "it is named there" 'ulimit -f'
success "the ring is whole after it" "$ticktail" verify r

# ---- a directory that may not be written ----

if [ "$(id -u)" = 0 ]; then
	if command -v setpriv >/dev/null; then
		as() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
	fi
else
	as() { "$@"; }
fi
if command -v as >/dev/null 2>&1; then
	chmod 755 "$work"
	chmod -R a+rX r
	chmod a-w r r/* r/.[a-z]*
	as test -r r/.lock && as test -x "$ticktail" || skip=1
	if [ -n "${skip:-}" ]; then
		skip "a directory that may not be written" "another user cannot get there"
	else
		exits 1 "append is refused" as "$ticktail" append r one.csv
		says "with the reason" 'Permission denied'
		exits 1 "prune is refused" as "$ticktail" prune r
		success "prune --dry-run is not" as "$ticktail" prune r --dry-run
		success "reading is not" as "$ticktail" read r --tail 2
	fi
	chmod -R u+w r
else
	skip "a directory that may not be written" "setpriv is not here"
fi

# ---- network file systems ----

if ! [ -e "$preload" ]; then
	skip "network file systems" "nothing can be preloaded"
	finish
fi
on() { # MAGIC COMMAND...
	magic=$1
	shift
	preloaded TT_FAKE_FS="$magic" "$ticktail" "$@"
}
rows 1000 1 >one.csv
"$ticktail" create f.npy --dtype ts:i8,px:f8 --capacity 100 -q
rows 0 3 | "$ticktail" append f.npy -q
for kind in 0x6969:NFS 0xff534d42:CIFS 0xfe534d42:SMB2 0x00c36400:Ceph 0x0bd00bd0:Lustre \
	0x01021997:9P 0x65735546:FUSE; do
	exits 1 "${kind#*:}: a ring is not written" on "${kind%:*}" append r one.csv
	says "${kind#*:} is named, and the way out" "network file system \\(${kind#*:}\\).*--force-network-fs"
done
exits 1 "nor a file" on 0x6969 append f.npy one.csv
exits 1 "nor changed" on 0x6969 update f.npy 0 one.csv
exits 1 "nor a ring made" on 0x6969 create s --rolling --dtype f8 --capacity 10 --keep 2
is "nothing was made" "$(ls -d s 2>/dev/null)" ""
success "forced: append to a ring" on 0x6969 append r one.csv --force-network-fs
success "forced: append to a file" on 0x6969 append f.npy one.csv --force-network-fs
success "forced: update" on 0x6969 update f.npy 0 one.csv --force-network-fs
success "forced: create" on 0x6969 create s --rolling --dtype f8 --capacity 10 --keep 2 \
	--force-network-fs
exits 1 "nor is one sealed" on 0x6969 seal r
success "forced: seal" on 0x6969 seal r --force-network-fs
success "reading needs no force" on 0x6969 read r --tail 1
success "what is done once is not refused: resize" on 0x6969 resize f.npy --capacity 300
success "nor a trim" on 0x6969 resize f.npy --trim
head -c 1000 f.npy >cut.npy
success "nor recover of a file" on 0x6969 recover cut.npy
success "nor clear" on 0x6969 clear f.npy
rm r/.lock
success "nor recover of a ring" on 0x6969 recover r
success "which mends it" "$ticktail" verify r
exits 1 "nor an archive made" on 0x6969 archive r -o r.h5
says "NFS is named, and the way out" "r\.h5: lies on a network file system.*--force-network-fs"
is "nothing was made of it" "$(ls -A | grep h5)" ""
success "forced: archive" on 0x6969 archive r -o r.h5 --force-network-fs
"$ticktail" append r one.csv -q
exits 1 "nor written" on 0x6969 archive r -o r.h5 --seal
success "reading it needs no force" on 0x6969 read r.h5 r/ --tail 1
success "nor does verifying" on 0x6969 verify r.h5
success "a local file system is none" on 0xef53 append r one.csv
finish
