#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A full disk: each command says what it needs and what is free, leaves nothing half made, and
# goes on when there is room.  On a small tmpfs and a small ext4, which only root can mount.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
cd "$work" || exit 99

cleanup_fn() {
	cd /
	for m in "$work"/m.*; do
		umount "$m" 2>/dev/null || umount -l "$m" 2>/dev/null
	done
}

rows() { # FIRST COUNT
	awk -v f="$1" -v n="$2" 'BEGIN { print "ts,px"; for (i = 0; i < n; i++) print f + i "," i / 4 }'
}

mount_it() { # KIND
	mkdir -p "$work/m.$1"
	case $1 in
	tmpfs) mount -t tmpfs -o size=1M,mode=755 none "$work/m.tmpfs" ;;
	ext4)
		command -v mkfs.ext4 >/dev/null && truncate -s 4M "$work/image" &&
			mkfs.ext4 -q -m 0 -O ^has_journal "$work/image" &&
			mount -o loop "$work/image" "$work/m.ext4"
		;;
	esac >"$work/mount.out" 2>&1
}

fill_up() { # take every block that is free
	i=0
	while dd if=/dev/zero of="filler.$i" bs=64k count=64 2>/dev/null; do
		i=$((i + 1))
		[ $i -lt 200 ] || break
	done
	dd if=/dev/zero of=filler.last bs=512 2>/dev/null
	dd if=/dev/zero of=filler.last2 bs=512 2>/dev/null
}

names_bytes() { # FILE: needed and free bytes, and where
	grep -qE "no space left.*$mount.*needs [0-9]+ bytes, [0-9]+ (are|is) free" "$1"
}

free_bytes() {
	echo $(($(stat -f -c '%a * %S' .)))
}

no_leftovers() {
	find . -name '*.new*' -o -name '.next' -o -name '.merge' -o -name '*.tmp' | sort
}

check_on() { # KIND
	kind=$1
	if ! mount_it "$kind"; then
		skip "$kind: everything" "it cannot be mounted: $(tail -n 1 "$work/mount.out")"
		return
	fi
	mount=m.$kind
	cd "$work/m.$kind" || exit 99
	rm -rf lost+found

	# ---- making ----
	exits 1 "$kind: a file that does not fit is refused" \
		"$ticktail" create f.npy --dtype f8 --capacity 1M
	names_bytes "$work/.out" && ok "$kind: create names the bytes" ||
		not_ok "$kind: create names the bytes" "$(cat "$work/.out")"
	is "$kind: what is free was not taken for the try" \
		"$(sed 's/.*bytes, \([0-9]*\) .*/\1/' "$work/.out" | head -n 1)" "$(free_bytes)"
	exits 1 "$kind: a ring that does not fit is refused" \
		"$ticktail" create r --rolling --dtype f8 --capacity 1M --keep 2
	names_bytes "$work/.out" && ok "$kind: create --rolling names the bytes" ||
		not_ok "$kind: create --rolling names the bytes" "$(cat "$work/.out")"
	is "$kind: nothing is left of them" "$(ls -A)" ""

	# ---- a feed ----
	"$ticktail" create r --rolling --dtype ts:i8,px:f8 --capacity 4000 --keep 2 --sync none -q
	rows 0 1000000 >"$work/rows.csv"
	exits 1 "$kind: a feed ends at the full disk" "$ticktail" append r "$work/rows.csv"
	cp "$work/.out" "$work/fed"
	names_bytes "$work/fed" && ok "$kind: append names the bytes" ||
		not_ok "$kind: append names the bytes" "$(cat "$work/fed")"
	is "$kind: nothing half made is left" "$(no_leftovers)" ""
	n=$("$ticktail" read r --format csv | tail -n 1 | cut -d, -f1)
	n=$((n + 1))
	success "$kind: the ring is whole" "$ticktail" verify r
	fill_up

	# ---- how it is counted ----
	for sync in none 20 each; do
		errors() { "$ticktail" status r --json | "$PYTHON" -c 'import json, sys
print(json.load(sys.stdin)["counters"]["errors"])'; }
		before=$(errors)
		bad=
		for i in 1 2 3 4; do
			! "$ticktail" append r "$work/rows.csv" --sync $sync >"$work/.out" 2>&1 &&
				[ "$(errors)" = $((before + i)) ] || bad="$bad $i: $(errors) after $before;"
		done
		is "$kind: --sync $sync: a refused append is one error" "$bad" ""
	done

	# ---- what needs no room ----
	success "$kind: read" "$ticktail" read r --tail 5
	success "$kind: info" "$ticktail" info r
	success "$kind: settings are stored in place" \
		"$ticktail" create r --rolling --set --max-bytes 900k
	success "$kind: the limit is taken away" "$ticktail" create r --rolling --set --max-bytes 0

	# ---- what does, and is refused ----
	exits 1 "$kind: seal" "$ticktail" seal r --timeout 2
	names_bytes "$work/.out" && ok "$kind: seal names the bytes" ||
		not_ok "$kind: seal names the bytes" "$(cat "$work/.out")"
	exits 1 "$kind: merge" "$ticktail" merge r
	names_bytes "$work/.out" && ok "$kind: merge names the bytes" ||
		not_ok "$kind: merge names the bytes" "$(cat "$work/.out")"
	exits 1 "$kind: backup" "$ticktail" backup r copy
	is "$kind: nothing half made is left of these" "$(no_leftovers)" ""
	is "$kind: no copy" "$(ls -d copy 2>/dev/null)" ""
	success "$kind: the ring is still whole" "$ticktail" verify r

	# ---- the way out ----
	before=$("$ticktail" read r --format csv | wc -l)
	success "$kind: prune --dry-run" "$ticktail" prune r --dry-run
	rm -f r/.writer
	success "$kind: prune, without even a lock file" "$ticktail" prune r --keep-bytes 300k
	is "$kind: it made room" "$(($("$ticktail" read r --format csv | wc -l) < before))" 1
	rows $n 2000 | "$ticktail" append r >"$work/.out" 2>&1
	is "$kind: the feed goes on" "$("$ticktail" read r --format csv | tail -n 1 | cut -d, -f1)" \
		$((n + 1999))
	success "$kind: and the ring is whole" "$ticktail" verify r

	# ---- single files ----
	rm -rf r filler.*
	"$ticktail" create f.npy --dtype ts:i8,px:f8 --capacity 4000 --exact -q
	rows 0 4000 | "$ticktail" append f.npy -q
	"$ticktail" read f.npy --format raw >"$work/before.raw"
	fill_up
	exits 1 "$kind: resize" "$ticktail" resize f.npy --capacity 40000
	names_bytes "$work/.out" && ok "$kind: resize names the bytes" ||
		not_ok "$kind: resize names the bytes" "$(cat "$work/.out")"
	rows 4000 3000 >"$work/more.csv"
	before=$(sha256sum <f.npy)
	exits 1 "$kind: append --grow" "$ticktail" append f.npy "$work/more.csv" --grow
	names_bytes "$work/.out" && ok "$kind: append --grow names the bytes" ||
		not_ok "$kind: append --grow names the bytes" "$(cat "$work/.out")"
	is "$kind: append --grow leaves the file as it was, its stamp too" "$(sha256sum <f.npy)" "$before"
	exits 1 "$kind: backup of a file" "$ticktail" backup f.npy g.npy
	"$ticktail" read f.npy --format raw >"$work/after.raw"
	same "$kind: the rows are what they were" "$work/before.raw" "$work/after.raw"
	success "$kind: and the file is whole" "$ticktail" verify f.npy
	is "$kind: nothing else was made" "$(ls -A | grep -v '^filler')" "f.npy"
	rm -f filler.*
	success "$kind: append --grow when there is room" \
		"$ticktail" append f.npy "$work/more.csv" --grow
	rm -f f.npy

	# ---- a file with holes ----
	"$ticktail" create f.npy --dtype f8 --capacity 20000 -q
	cp --sparse=always f.npy "$work/sparse.npy"
	rm f.npy
	cp --sparse=always "$work/sparse.npy" f.npy
	fill_up
	if [ "$(($(stat -c '%b * %B' f.npy)))" -lt 160000 ]; then
		truncate -s -65536 filler.0
		free=$(free_bytes)
		exits 1 "$kind: appending to more holes than there is room for" \
			sh -c "printf 'value\n1\n' | '$ticktail' append f.npy"
		is "$kind: the room is still there" "$(free_bytes)" "$free"
		fill_up
		echo 1 >"$work/one"
		exits 1 "$kind: appending to holes that cannot be filled" \
			sh -c "printf 'value\n1\n' | '$ticktail' append f.npy"
		names_bytes "$work/.out" && ok "$kind: it names the bytes" ||
			not_ok "$kind: it names the bytes" "$(cat "$work/.out")"
	else
		skip "$kind: appending to holes" "this file system makes none"
	fi

	# ---- adopting ----
	rm -f f.npy filler.*
	"$ticktail" create f.npy --dtype f8 --capacity 20000 -q
	seq 1 20000 | sed '1i value' | "$ticktail" append f.npy -q
	"$ticktail" read f.npy --format npy -o p.npy
	rm f.npy
	cp p.npy "$work/p.npy"
	fill_up
	exits 1 "$kind: adopt" "$ticktail" adopt p.npy --capacity 90000
	names_bytes "$work/.out" && ok "$kind: adopt names the bytes" ||
		not_ok "$kind: adopt names the bytes" "$(cat "$work/.out")"
	same "$kind: the array is what it was" "$work/p.npy" p.npy
	is "$kind: nothing else is left" "$(ls -A | grep -v '^filler')" "p.npy"
	cd "$work" || exit 99
	umount "$work/m.$kind"
}

[ "$(id -u)" = 0 ] || missing "root, for mounting"
check_on tmpfs
check_on ext4
finish
