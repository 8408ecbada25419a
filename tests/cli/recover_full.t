#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Recovery on a full disk and in a file system that may not be written: a named error, nothing
# half done, and it goes on when there is room.  On a small tmpfs, which only root can mount.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
cd "$work" || exit 99
cleanup_fn() {
	cd /
	umount "$work/m" 2>/dev/null || umount -l "$work/m" 2>/dev/null
}
[ "$(id -u)" = 0 ] || missing "root, for mounting"
mkdir m
mount -t tmpfs -o size=400k,mode=755 none m >mount.out 2>&1 || missing "a tmpfs: $(cat mount.out)"
cd m || exit 99
said() { grep -qE "$1" "$work/.out" && ok "$2" || not_ok "$2" "$(cat "$work/.out")"; }
state() { find . ! -name filler ! -name .writer ! -name .ticktail -type f -exec sha256sum {} + | sort; }

"$ticktail" create f.npy --dtype i4 --capacity 20000 -q
seq 1 20000 | "$ticktail" append f.npy --columns value -q
head -c 60000 f.npy >../part && cat ../part >f.npy
"$ticktail" create r --rolling --dtype i4 --capacity 4000 --keep 3 --exact --sync none -q
seq 1 14000 | "$ticktail" append r --columns value -q
second=$(ls r | grep 'npy$' | sed -n 2p)
head -c 9000 "r/$second" >../part && cat ../part >"r/$second"
dd if=/dev/zero of=filler bs=512 2>/dev/null
state >../before

exits 1 "full: recover of a file" "$ticktail" recover f.npy
said "f.npy: no space left.*needs [0-9]+ bytes, [0-9]+ (is|are) free" "... names the bytes"
exits 1 "full: recover of a ring" "$ticktail" recover r
said "$second: no space left.*needs [0-9]+ bytes, [0-9]+ (is|are) free" "... names file and bytes"
state >../after
same "... nothing is half done" ../before ../after
mount -o remount,ro "$work/m"
exits 1 "read-only: recover of a file" "$ticktail" recover f.npy
said "f.npy: Read-only file system" "... is named"
exits 1 "read-only: recover of a ring" "$ticktail" recover r
said "r/.writer: Read-only file system" "... is named"
exits 3 "read-only: a dry run of a file" "$ticktail" recover f.npy --dry-run
exits 3 "read-only: a dry run of a ring" "$ticktail" recover r --dry-run
state >../after
same "... nothing was changed" ../before ../after
mount -o remount,rw "$work/m"
rm filler
exits 0 "with room: recover of a file" "$ticktail" recover f.npy
exits 0 "with room: recover of a ring" "$ticktail" recover r
exits 0 "... verify of the file" "$ticktail" verify f.npy
exits 0 "... verify of the ring" "$ticktail" verify r
exits 0 "... rows go on" sh -c "seq 1 3 | '$ticktail' append r --columns value"
cd "$work" || exit 99
finish
