#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A file system that has bytes left, but no inode for another file: each command says so, leaves
# nothing half made, and goes on when a file was removed.  On a small tmpfs, which only root can
# mount.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python json
feed=$top_builddir/tests/cli/patient_feed
[ -x "$feed" ] || missing "patient_feed"
cd "$work" || exit 99
pid=
cleanup_fn() {
	[ -z "$pid" ] || kill -9 $pid 2>/dev/null
	cd /
	umount "$work/m" 2>/dev/null || umount -l "$work/m" 2>/dev/null
}
[ "$(id -u)" = 0 ] || missing "root, for mounting"
mkdir m
mount -t tmpfs -o size=16M,nr_inodes=24,mode=755 none m >mount.out 2>&1 ||
	missing "a tmpfs: $(cat mount.out)"

take_all() {
	i=0
	while true >"m/filler.$i"; do i=$((i + 1)); done 2>/dev/null
}
free_all() { rm -f m/filler.*; }
json() {
	"$ticktail" status m/r --json --sample 0 >r.json 2>words
	"$python" "$top_srcdir/tests/cli/status.py" json r.json "$@" 2>&1
}
said() { [ "$(grep -c "$1" fed)" -ge "$2" ]; }
left() { find m -mindepth 1 ! -name 'filler.*' | sort | tr '\n' ' '; }
# refused NAME PATH COMMAND...
refused() {
	name=$1 path=$2
	shift 2
	before=$(left)
	exits 1 "$name is refused" "$@"
	grep -qE "$path.*no inode left on the file system at .*/m: it has 24 files" .out &&
		ok "$name: with the cause and the place" ||
		not_ok "$name: with the cause and the place" "$(cat .out)"
	is "$name: nothing is left of it" "$(left)" "$before"
}

# ---- a feed, with the helper and without ----

rows=500
for how in helped alone; do
	rm -rf m/*
	"$ticktail" create m/r --rolling --dtype i8 --capacity 16 --keep 2 --exact --sync none -q
	[ -p try ] || mkfifo try
	"$feed" m/r $rows $how <try >fed 2>feed.words &
	pid=$!
	exec 9>try
	wait_for 20 said stands 1 && ok "$how: the feed stands" || not_ok "$how: the feed stands" "$(cat fed)"
	at=$(sed -n 's/^stands \([0-9]*\) .*/\1/p' fed)
	is "$how: for want of an inode" "$(grep -cE '^stands [0-9]+ DISK_FULL m/r/.*no inode left on' fed)" 1
	is "$how: status says so" "$(json 'd["state"]' 'd["last_error"]["tag"]' 'd["rows"]' \
		'"no inode left" in d["last_error"]["text"]')" "\"failing\" \"DISK_FULL\" $at true"
	success "$how: the ring is whole" "$ticktail" verify m/r
	echo >&9
	wait_for 20 said stands 2 && ok "$how: another try stands too" || not_ok "$how: another try" "$(cat fed)"
	while ! said "^done" 1 && kill -0 $pid 2>/dev/null; do
		"$ticktail" read m/r | sed 1d >>all.$how
		"$ticktail" prune m/r >pruned 2>&1 || { not_ok "$how: prune" "$(cat pruned)"; break; }
		was=$(wc -l <fed)
		echo >&9
		more() { [ "$(wc -l <fed)" -gt "$was" ]; }
		wait_for 20 more || break
	done
	wait $pid
	is "$how: the feed ends well" "$? $(tail -n 1 fed)" "0 done"
	pid=
	exec 9>&-
	"$ticktail" read m/r | sed 1d >>all.$how
	seq 0 $((rows - 1)) >wanted
	sort -nu "all.$how" >got
	same "$how: every row was there" got wanted
	success "$how: and the ring is whole" "$ticktail" verify m/r
done

# ---- commands ----

rm -rf m/*
"$ticktail" create m/r --rolling --dtype i8 --capacity 16 --keep 2 --exact --sync none -q
seq 0 99 | "$ticktail" append m/r --columns value -q
"$ticktail" create m/f.npy --dtype i8 --capacity 16 -q
seq 0 15 | "$ticktail" append m/f.npy --columns value -q
take_all
refused "create" m/g.npy "$ticktail" create m/g.npy --dtype i8 --capacity 16
refused "create --rolling" m/s "$ticktail" create m/s --rolling --dtype i8 --capacity 16 --keep 2
refused "resize" m/f.npy "$ticktail" resize m/f.npy --capacity 64
refused "append --grow" m/f.npy sh -c "echo 16 | '$ticktail' append m/f.npy --columns value --grow"
refused "backup of a file" m/c.npy "$ticktail" backup m/f.npy m/c.npy
refused "backup of a ring" m/c "$ticktail" backup m/r m/c
refused "merge" m/r "$ticktail" merge m/r
refused "seal" m/r "$ticktail" seal m/r
success "what is there is read" "$ticktail" read m/r --tail 3
success "and whole" "$ticktail" verify m/r
success "the file too" "$ticktail" verify m/f.npy
success "prune makes nothing" "$ticktail" prune m/r
success "and so makes room" "$ticktail" seal m/r
free_all
success "a file" "$ticktail" create m/g.npy --dtype i8 --capacity 16
success "resize" "$ticktail" resize m/f.npy --capacity 64
success "backup" "$ticktail" backup m/r m/c
finish
