#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A full disk when the rows that a power loss left unproven are to be cut: a message with the
# bytes, nothing half done, and all of it when there is room.  On a small tmpfs, which only root
# can mount.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
[ -r /proc/sys/kernel/random/boot_id ] || missing "a boot id, without which there are no marks"
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/power.sh"
cleanup_fn() {
	[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null
	cd /
	umount "$work/m" 2>/dev/null || umount -l "$work/m" 2>/dev/null
}
[ "$(id -u)" = 0 ] || missing "root, for mounting"
mkdir m
mount -t tmpfs -o size=1M,mode=755 none m >mount.out 2>&1 || missing "a tmpfs: $(cat mount.out)"

full() { dd if=/dev/zero of=m/filler bs=512 2>/dev/null; }
room() { # room KIB: so much is free, at most
	full
	truncate -s $(($(wc -c <m/filler) - $1 * 1024)) m/filler
}
said() { grep -qE "$1" .out && ok "$2" || not_ok "$2" "$(cat .out)"; }
bytes='no space left on the file system at .*/m: needs [0-9]+ bytes, [0-9]+ (is|are) free'
# what files hold, but for words that say who tried last
rows_of() { "$ticktail" read "$@" 2>/dev/null | tail -n +2; }
names() { (cd m && find . -type f ! -name filler ! -name .writer | sort); }
put() { seq "$2" "$3" | "$ticktail" append "$1" --columns value; }
make_ring() { # 5000 of 15000 rows are proven; 10000 are not, in two files
	rm -rf m/*
	"$ticktail" create m/r --rolling --dtype i4 --capacity 10000 --keep 4 --exact --sync 86400000 -q
	put m/r 0 4999 >/dev/null
	lose_power m/r 5000 14999
	rm -f m/r/.next # its room would do for the copies
	first=$(cd m/r && ls | sed -n 's/^\([0-9]*\)\.npy$/\1/p' | sort -n | sed -n 1p)
	"$age" m/r "$first" 5000
}
unproven() { rows_of "$1" >part && cat part; }
all_cut() { # all_cut NAME: each unproven row is kept once
	for f in m/r/*.cut; do rows_of "$f"; done | sort -n >back
	seq 5000 14999 >all
	same "$1" back all
	is "$1, once" "$(find m -name '*.cut-*' -o -name '.cut.tmp')" ""
}

for how in append recover; do
	case $how in
	append) try() { put m/r 20000 20002; } ;;
	recover) try() { "$ticktail" recover m/r; } ;;
	esac
	make_ring
	is "$how: what is proven is shown" "$(count m/r)" 5000
	exits 0 "$how: and the ring is whole, as it waits for its writer" "$ticktail" verify m/r
	full
	names >before
	exits 1 "$how: refused on the full disk" try
	said "$bytes" "$how: names the bytes"
	names >after
	same "$how: nothing half made is left" before after
	is "$how: what is proven is still shown" "$(count m/r)" 5000
	exits 0 "$how: and the ring is whole" "$ticktail" verify m/r
	exits 1 "$how: again" try
	# what is cut fits, the next file does not
	room 60
	exits 1 "$how: refused without room for all" try
	said "$bytes" "$how: names the bytes again"
	is "$how: no half copy is left" "$(find m -name '.cut.tmp' -o -name '.next')" ""
	is "$how: what is proven is shown all along" "$(count m/r)" 5000
	rm m/filler
	exits 0 "$how: done when there is room" try
	cat .out >words
	all_cut "$how: what was cut is kept"
	[ $how = append ] || put m/r 20000 20002 >.out 2>&1
	rows_of m/r >back
	{ seq 0 4999; seq 20000 20002; } >all
	same "$how: rows go on behind what is proven" back all
	exits 0 "$how: the ring is whole then" "$ticktail" verify m/r
	exits 0 "$how: nothing is left to recover" "$ticktail" recover m/r
	said "nothing to recover, 5003 rows" "$how: and it says so"
done

# ---- a ring whose copies have no room, but whose next file does ----
make_ring
"$ticktail" create m/r --rolling --set --capacity 100 -q
room 8
exits 0 "the feed starts when what is cut cannot be copied" put m/r 20000 20002
said "5000 rows of $first.npy .* were cut, and stay behind its end \\(.*$bytes" "and says so, with the bytes"
rows_of m/r >back
{ seq 0 4999; seq 20000 20002; } >all
same "rows go on behind what is proven" back all
rm m/filler

# ---- a single file ----
make_file() {
	rm -rf m/*
	"$ticktail" create m/f.npy --dtype i4 --capacity 20000
	seq 0 4999 | "$ticktail" append m/f.npy --columns value --sync 86400000 >/dev/null
	lose_power m/f.npy 5000 14999
	full
}
make_file
cp m/f.npy m/f.npy.mark .
exits 1 "recover of a file is refused" "$ticktail" recover m/f.npy
said "f.npy: $bytes" "it names the bytes"
same "the file is what it was" m/f.npy f.npy
same "and its mark" m/f.npy.mark f.npy.mark
is "nothing else is left" "$(names | tr '\n' ' ')" "./f.npy ./f.npy.mark "
is "what is proven is shown" "$(count m/f.npy)" 5000
rm m/filler
exits 0 "done when there is room" "$ticktail" recover m/f.npy
rows_of m/f.npy.cut >back
seq 5000 14999 >all
same "what was cut is kept" back all
is "once" "$(find m -name '*.cut-*' -o -name '.*.tmp')" ""
exits 0 "the file is whole then" "$ticktail" verify m/f.npy
make_file
for feed in "put m/f.npy 20000 20002" "$ticktail update m/f.npy 0 one.csv"; do
	cp m/f.npy m/f.npy.mark .
	printf 'value\n7\n' >one.csv
	# shellcheck disable=SC2086
	exits 1 "a writer that cannot keep what it cuts is refused: ${feed%% *}" $feed
	said "f.npy: 10000 rows that were not synced .* cannot be kept: .*$bytes.*remove f.npy.mark" "it says how many, what is missing and the ways out"
	same "the file is what it was" m/f.npy f.npy
	same "and its mark" m/f.npy.mark f.npy.mark
	is "and nothing else is there" "$(names | tr '\n' ' ')" "./f.npy ./f.npy.mark "
	is "what is proven is shown" "$(count m/f.npy)" 5000
done
rm m/filler
exits 0 "the feed starts when there is room" put m/f.npy 20000 20002
rows_of m/f.npy.cut >back
same "what was cut is kept" back all
rows_of m/f.npy >back
{ seq 0 4999; seq 20000 20002; } >all
same "its rows go on behind what is proven" back all
exits 0 "the file is whole" "$ticktail" verify m/f.npy
make_file
rm m/f.npy.mark
exits 0 "without its mark the rows are taken as they are, on the full disk" put m/f.npy 20000 20002
rows_of m/f.npy >back
{ seq 0 14999; seq 20000 20002; } >all
same "all of them" back all
finish
