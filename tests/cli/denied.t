#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A ring or a file that this user may not write, or not the directory it is in, or nobody on a
# mount that is read-only: each command says path, reason and what to do, and leaves all as it
# was; a feed stands at its next file, status says so, and it goes on when it may again.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
need_python json
feed=$top_builddir/tests/cli/patient_feed
[ -x "$feed" ] || missing "patient_feed"
cd "$work" || exit 99
pid=
reader=
cleanup_fn() {
	[ -z "$pid$reader" ] || kill -9 $pid $reader 2>/dev/null
	cd /
	for m in "$work/o" "$work/other"; do
		umount "$m" 2>/dev/null || umount -l "$m" 2>/dev/null
	done
}

# The user that may not.  Root may everything, and becomes another.
who=
as() { $who "$@"; }
chmod 755 .
if [ "$(id -u)" = 0 ]; then
	command -v setpriv >/dev/null || missing "setpriv, for another user"
	who="setpriv --reuid 65534 --regid 65534 --clear-groups"
	own() { chown -R 65534 "$@"; }
	as test -x "$ticktail" && as test -x . && as "$ticktail" --version >/dev/null 2>&1 ||
		missing "another user who can run the program"
else
	own() { :; }
fi
mkdir tmp
chmod 777 tmp

json() { # of r
	as "$ticktail" status o/r --json --sample 0 >r.json 2>words
	"$python" "$top_srcdir/tests/cli/status.py" json r.json "$@" 2>&1
}
said() { [ "$(grep -c "$1" fed)" -ge "$2" ]; }
state_is() { [ "$(json 'd["state"]')" = "\"$1\"" ]; }
# what is there, and what is in it; readers' and writers' words in .ticktail apart
look() { (cd o && find . -type f ! -name .ticktail ! -name .writer -exec sha256sum {} + | sort; find . | sort); }
new_all() { # a ring of 100 rows, a file with a mark, a file without, an array
	chmod -R u+w o 2>/dev/null
	rm -rf o tmp/*
	mkdir o
	"$ticktail" create o/r --rolling --dtype i8 --capacity 16 --keep 2 --exact --sync none -q
	seq 0 99 | "$ticktail" append o/r --columns value -q
	for name in f marked; do
		"$ticktail" create o/$name.npy --dtype i8 --capacity 16 -q
		seq 0 9 | "$ticktail" append o/$name.npy --columns value -q
	done
	echo 10 | "$ticktail" append o/marked.npy --columns value --sync 100 -q
	"$ticktail" read o/f.npy --format npy -o o/p.npy
}
echo 100 >one
seq 100 199 >rows

# refused WORDS COMMAND...: exit 1, one line with the path, the reason and what to do
refused() {
	words=$1
	shift
	tt_status=0
	as "$ticktail" "$@" >out 2>&1 || tt_status=$?
	grep -v '^appended [0-9]* rows$' out >line
	if [ $tt_status = 1 ] && [ "$(wc -l <line)" = 1 ] && grep -qE "^ticktail: $1: .*$path.*: $words" line; then
		ok "$stage: $*"
	else
		not_ok "$stage: $*" "exit $tt_status
$(cat out)"
	fi
}
# what needs no permission to write
reads() {
	look >before
	for command in "read o/r" "tail o/r -n 2" "tail o/r -f --timeout 1" "info o/r" "verify o/r" \
		"status o/r --sample 0" "prune o/r --dry-run" "backup o/r tmp/c" "archive o/r -o tmp/a.h5" \
		"read o/f.npy" "info o/f.npy" "verify o/f.npy" "verify o/marked.npy" "backup o/f.npy tmp/f.npy"; do
		# shellcheck disable=SC2086
		success "$stage: $command" as "$ticktail" $command
	done
	is "$stage: the copy has all rows" "$("$ticktail" read tmp/c | tail -n 1)" \
		"$("$ticktail" read o/r | tail -n 1)"
	look >after
	same "$stage: reading changes nothing" before after
}
mode='Permission denied \(this user may not, by the mode of the file or a directory: change that, or run as its owner\)'
mount='Read-only file system \(mount it for writing\)'
# what does, and is refused whatever it is that may not be written
makes() { # WORDS
	look >before
	path=o/r
	refused "$1" seal o/r --timeout 1
	refused "$1" merge o/r
	refused "$1" prune o/r
	refused "$1" append o/r rows --columns value
	path=o/f.npy
	refused "$1" resize o/f.npy --capacity 64
	refused "$1" append o/f.npy rows --columns value --grow
	refused "$1" clear o/f.npy
}
makes_new() { # WORDS
	path=o/n.npy
	refused "$1" create o/n.npy --dtype i8 --capacity 4
	refused "$1" backup o/f.npy o/n.npy
	path=o/n
	refused "$1" create o/n --rolling --dtype i8 --capacity 4 --keep 2
	refused "$1" backup o/r o/n
}
# what changes in place
changes() { # WORDS
	path=o/r
	refused "$1" append o/r one --columns value
	refused "$1" create o/r --rolling --set --max-bytes 10M
	refused "$1" recover o/r
	refused "$1" archive o/r -o tmp/b.h5 --seal
	path=o/f.npy
	refused "$1" append o/f.npy one --columns value
	refused "$1" append o/f.npy one --columns value --sync 100
	refused "$1" update o/f.npy 0 one --columns value
	refused "$1" resize o/f.npy --trim
	refused "$1" recover o/f.npy
	path=o/p.npy
	refused "$1" adopt o/p.npy
}
nothing_changed() {
	look >after
	same "$stage: nothing was changed, made or left" before after
	is "$stage: no archive" "$(ls tmp/b.h5 2>/dev/null)" ""
}
may_again() { # all of it
	stage="$stage, and back"
	success "$stage: append" as "$ticktail" append o/r rows --columns value
	success "$stage: seal" as "$ticktail" seal o/r
	success "$stage: merge" as "$ticktail" merge o/r
	success "$stage: prune" as "$ticktail" prune o/r
	success "$stage: verify" as "$ticktail" verify o/r
	success "$stage: resize" as "$ticktail" resize o/f.npy --capacity 64
	success "$stage: append to a file" as "$ticktail" append o/marked.npy one --columns value --sync 100
	success "$stage: verify a file" as "$ticktail" verify o/marked.npy
	is "$stage: the last row is there" "$(as "$ticktail" read o/r | tail -n 1)" 199
}

# ---- the directories only: what is there may be written ----

new_all
own o
chmod 555 o o/r
stage=directories
reads
makes "$mode"
# the rows that found room are in
is "$stage: append filled the newest file" "$(as "$ticktail" read o/r | tail -n 1)" 111
is "$stage: append --grow, too" "$(as "$ticktail" info o/f.npy --json | tr -d ' \n' | grep -o '"end":[0-9]*')" '"end":16'
is "$stage: status says why" "$(json 'd["last_error"]["tag"]' '"Permission denied" in d["last_error"]["text"]')" '"PERMISSION" true'
is "$stage: nothing was made or left" "$(look | grep '^\.')" "$(grep '^\.' before)"
makes_new "$mode"
success "$stage: update" as "$ticktail" update o/f.npy 0 one --columns value
success "$stage: append with a sync, though no mark can be made" as "$ticktail" append o/marked.npy one --columns value --sync 20
success "$stage: recover" as "$ticktail" recover o/r
success "$stage: settings" as "$ticktail" create o/r --rolling --set --max-bytes 10M
chmod 755 o o/r
sed -i 1,12d rows
may_again
seq 100 199 >rows

# ---- a mark that may neither be changed nor removed ----

if [ "$(id -u)" = 0 ]; then
	new_all
	own o
	chown 0 o/marked.npy.mark
	chmod 555 o
	stage="a mark of another user"
	path=o/marked.npy
	look >before
	words="its .mark can neither be removed nor changed, and would be wrong after a write: $mode"
	refused "$words" append o/marked.npy one --columns value
	nothing_changed
	refused "$words" append o/marked.npy one --columns value --sync 100
	is "$stage: the rows are what they were" "$("$ticktail" read o/marked.npy | tail -n +2 | tr '\n' ' ')" \
		"0 1 2 3 4 5 6 7 8 9 10 "
fi

# ---- neither what is there ----

new_all
own o
chmod -R a-w o
stage=files
reads
makes "$mode"
makes_new "$mode"
changes "$mode"
nothing_changed
chmod -R u+w o
may_again

# ---- a feed whose directory may not be written ----

rows=160
for how in none/helped 10/helped each/helped none/alone; do
	sync=${how%/*}
	stage="feed $how"
	chmod -R u+w o
	rm -rf o
	mkdir o
	"$ticktail" create o/r --rolling --dtype i8 --capacity 64 --keep 20 --exact --sync "$sync" -q
	own o
	chmod 555 o/r
	[ -p try ] || mkfifo try
	$who "$feed" o/r $rows "${how#*/}" <try >fed 2>feed.words &
	pid=$!
	exec 9>try
	$who "$ticktail" tail o/r -f --from-start >followed 2>follow.words &
	reader=$!
	wait_for 20 said stands 1 && ok "$stage: stands" || not_ok "$stage: stands" "$(cat fed feed.words)"
	is "$stage: at the first row of the next file, and says why" \
		"$(grep -cE "^stands 64 PERMISSION o/r/[^ ]+: $mode" fed)" 1
	is "$stage: status says so" "$(json 'd["state"]' 'd["last_error"]["tag"]' 'd["last_error"]["code"]' \
		'd["writer_alive"]' 'd["rows"]' 'd["last_error"]["rows_since"]')" '"failing" "PERMISSION" -13 true 64 0'
	before=$(json 'd["counters"]["errors"]')
	echo >&9
	wait_for 20 said stands 2 && ok "$stage: another try stands, too" || not_ok "$stage: another try" "$(cat fed)"
	is "$stage: and is counted" "$(($(json 'd["counters"]["errors"]') > before))" 1
	exits 1 "$stage: a seal is not answered" as "$ticktail" seal o/r --timeout 1
	success "$stage: the ring is whole" as "$ticktail" verify o/r
	is "$stage: nothing is left in it" "$(find o -name '.next' -o -name '.*.new')" ""
	chmod 755 o/r
	echo >&9
	wait_for 20 said "goes on" 1 && ok "$stage: goes on" || not_ok "$stage: goes on" "$(cat fed)"
	is "$stage: with that row" "$(sed -n 's/^goes on //p' fed)" 64
	wait_for 20 state_is running && ok "$stage: and status says it" || not_ok "$stage: status" "$(json 'd["state"]')"
	echo >&9
	wait_for 20 said "^done" 1 && ok "$stage: to its end" || not_ok "$stage: to its end" "$(cat fed)"
	wait $pid
	is "$stage: ends well" $? 0
	pid=
	exec 9>&-
	all_followed() { [ "$(wc -l <followed)" = $((rows + 1)) ]; }
	wait_for 20 all_followed
	kill $reader
	wait $reader
	reader=
	seq 0 $((rows - 1)) >all
	sed 1d followed >got
	same "$stage: every row once, to the reader that was there" got all
	as "$ticktail" read o/r | sed 1d >got
	same "$stage: and to a later one" got all
	success "$stage: and all is whole" as "$ticktail" verify o/r
done

# ---- a mount that is read-only ----

stage="read-only mount"
new_all
if [ "$(id -u)" != 0 ]; then
	skip "$stage" "root, for mounting"
	finish
fi
who= # not even root
mkdir other
if ! { mount --bind o other && mount --bind o o && mount -o remount,bind,ro o; } >mount.out 2>&1; then
	skip "$stage" "it cannot be mounted: $(tail -n 1 mount.out)"
	finish
fi
reads
makes "$mount"
makes_new "$mount"
changes "$mount"
nothing_changed
# a reader there, and a feed that writes what it reads by another way
"$ticktail" tail o/r -f -n 1 >followed 2>follow.words &
reader=$!
sees() { [ "$(tail -n 1 followed)" = "$1" ]; }
wait_for 20 sees "$("$ticktail" read o/r | tail -n 1)" # what it has before it does not follow
"$ticktail" append other/r one --columns value -q
wait_for 20 sees 100 && ok "$stage: a reader sees what comes" || not_ok "$stage: a reader" "$(cat followed follow.words)"
kill $reader
wait $reader
reader=
mount -o remount,bind,rw o
sed -i 1d rows
may_again
finish
