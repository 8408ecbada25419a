#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every command times what can be wrong with a path or with the process: the exit status, one
# line for the fault, in it the path and, where somebody can do something, what.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99
mounted=
cleanup_fn() { [ -z "$mounted" ] || umount "$work/full" 2>/dev/null || umount -l "$work/full"; }

printf 'ts,px\n1,2\n' >rows.csv
awk 'BEGIN { print "ts,px"; for (i = 0; i < 350; i++) print i "," i / 4 }' >many.csv
stores() {
	rm -rf r f.npy p.npy a.h5
	"$ticktail" create r --rolling --dtype ts:i8,px:f8 --capacity 100 --keep 2 --exact -q \
		--sync none && "$ticktail" append r many.csv -q
	"$ticktail" create f.npy --dtype ts:i8,px:f8 --capacity 1000 -q &&
		"$ticktail" append f.npy many.csv -q
	"$ticktail" read f.npy --format npy -o p.npy
	"$ticktail" archive r -o a.h5 -q --dataset d
}
stores || not_ok "the stores"

# Every command with @ for the path in question: what is read, changed, or made.
reads='append r @
read @
info @
update f.npy 0 @
backup @ copy
verify @
status @
archive @ -o new.h5
versions @
prune r --dry-run --archived-in @
merge r --archived-in @
create q.npy --dtype @@ --capacity 10'
changes='append @ rows.csv
update @ 0 rows.csv
resize @ --capacity 5000
adopt @
clear @
recover @'
of_rings='seal @ --timeout 1
merge @
prune @
top @'
makes='create @ --dtype i8 --capacity 10
create @ --rolling --dtype i8 --capacity 10 --keep 2
read f.npy -o @
read r --format npy -o @
archive r -o @
backup f.npy @
backup r @
backup a.h5 @
tail r -q --resume @'

# each NAME STATUS PATH PATTERN LIST: every command of the list refuses, in one line that has
# the path and the pattern
each() {
	bad=
	for path in $3; do
		while read -r command; do
			line=$(printf '%s' "$command" | sed "s|@@|@%|; s|@|$path|; s|%|$path|")
			case $command in *@@*) line=$(printf '%s' "$command" | sed "s|@@|@$path|") ;; esac
			s=0
			# shellcheck disable=SC2086
			timeout 20 $as "$ticktail" $line >out 2>words </dev/null || s=$?
			rm -rf copy new.h5 q.npy
			[ "$s" = "$2" ] && [ "$(wc -l <words)" = 1 ] &&
				grep -qE "^ticktail: [a-z]+: ([^ ]*/)?${path##*/}.*($4)" words ||
				bad="$bad
$line: exit $s: $(head -n 3 words)"
		done <<-END
			$5
		END
	done
	is "$1" "$bad" ""
}
as=

# ---- what is not there ----
each "a missing path: what is read" 1 none 'No such file|there is no such archive' "$reads"
each "a missing path: what is changed" 1 none 'No such file' "$changes"
each "a missing path: rings" 1 none 'No such file' "$of_rings"
each "a missing directory: what is read" 1 nodir/x 'No such file|there is no directory nodir' "$reads"
each "a missing directory: what is made" 1 nodir/x 'there is no directory nodir: make it first' "$makes"
is "nothing was made of it" "$(ls -d nodir 2>&1 | grep -c 'No such')" 1

# ---- what is something else ----
mkdir dir && mkfifo fifo && : >empty && echo hello >text && ln -s loop loop
each "a directory: what is read" 1 dir 'directory' "$reads"
each "a directory: what is changed" 1 dir 'directory, but no ring|not a ring' "$changes"
each "a directory: rings" 1 dir 'not a ring' "$of_rings"
each "a directory: what is made" 1 dir \
	'--if-same|--set changes|name a file in it|is a directory|name another, or remove it' "$makes"
is "and it is empty" "$(ls -A dir)" ""
each "a FIFO: what is read" 1 fifo 'is a FIFO' "$(echo "$reads" | grep -vE '^append|^update')"
each "a FIFO: what is changed" 1 fifo 'is a FIFO' "$changes"
each "a FIFO: rings" 1 fifo 'not a directory, so no ring' "$of_rings"
each "a FIFO: what is made" 1 fifo \
	'--if-same|--set changes|is a FIFO|name another, or remove it|neither a regular file' \
	"$(echo "$makes" | grep -v '^read')"
is "and it is one still" "$(test -p fifo && echo yes)" yes
each "an empty file" 1 empty 'is empty, not even a header' \
	"$(echo "$reads
$changes" | grep -vE '^(append|update) [rf]|^versions|archived-in|^recover')"
each "an empty file: no archive" 1 empty 'not an HDF5 file, so no archive' 'versions @
archive r -o @
prune r --dry-run --archived-in @'
each "text" 1 text 'neither an .npy file, nor a ring|is unknown; there are ts,px' \
	"$(echo "$reads
$changes" | grep -vE '^versions|archived-in|^recover')"
each "a link to itself" 1 loop 'Too many levels' "$reads
$changes
$of_rings"

# ---- the wrong one of ours ----
each "a ring, not a file" 1 r 'is a ring, [a-z]+ serves single files; ' \
	"$(echo "$changes" | grep -vE '^append|^recover')"
each "an archive, not a file" 1 a.h5 "an archive.*'ticktail [a-z]+" \
	"$(echo "$changes" | grep -vE '^recover')"
each "files, not a ring" 1 'f.npy p.npy' 'is a single file, [a-z]+ serves rings, which .ticktail' "$of_rings"
each "an archive, not a ring" 1 a.h5 'is an archive, [a-z]+ serves rings; ' "$of_rings"
each "stores taken for text" 1 'f.npy p.npy' 'an .npy file: --format npy reads it' 'append r @
update f.npy 0 @
append r @ --format jsonl'
each "an archive taken for text" 1 a.h5 "an archive, no text: 'ticktail read ARCHIVE" 'append r @
update f.npy 0 @'
each "what is there is not replaced" 1 'r f.npy a.h5' 'is there already; a copy replaces nothing: name another' \
	'backup f.npy @
backup r @
backup a.h5 @'

# ---- what may not be read or written ----
other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && chmod 755 . &&
	other test -x "$ticktail" && other test -x .; then
	cp f.npy secret.npy && chmod 0 secret.npy
	mkdir ro && chmod 555 ro
	as='setpriv --reuid 65534 --regid 65534 --clear-groups'
	each "an unreadable file" 1 secret.npy 'Permission denied' "$(echo "$reads" | grep -vE '^append|^update')
$(echo "$changes" | grep -v '^recover')"
	chmod -R a+rX r f.npy a.h5
	each "a read-only directory" 1 ro/x 'Permission denied' "$(echo "$makes" | grep -v '^archive')"
	is "nothing was made there" "$(ls -A ro)" ""
	as=
else
	skip "unreadable files" "root and another user"
fi

# ---- a full disk ----
mkdir full
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=512k,mode=755 none full 2>/dev/null; then
	mounted=yes
	dd if=/dev/zero of=full/fill bs=4k 2>/dev/null
	each "a full disk" 1 full/x 'no space left on the file system at [^ ]*full: needs [0-9]+ bytes, 0 are free: make room there \(in rings by .ticktail prune DIR' \
		"$makes
gen --rows 100000 -o @"
	is "nothing is left on it" "$(ls -A full)" fill
	umount full && mounted=
	mount -t tmpfs -o size=512k,mode=755 none full && mounted=yes
	"$ticktail" gen --rows 100000 >ticks.csv 2>/dev/null
	s=0
	"$ticktail" gen --rows 100000 >full/x 2>words || s=$?
	is "stdout on a disk that fills up" \
		"$s $(grep -cE '^ticktail: gen: stdout: after [1-9][0-9]* bytes: no space left on the file system at .*full: needs [1-9][0-9]* bytes, [0-9]+ are free' words) $(wc -l <words)" "1 1 1"
	umount full && mounted=
else
	skip "a full disk" "it cannot be mounted"
fi

# ---- stdout ----
for where in full closed; do
	bad=
	for line in "read f.npy" "read r --format npy" "tail r" "info r" "status r --json" "verify r" \
		"versions a.h5" "gen --rows 10" "append r rows.csv" "prune r --dry-run" "seal r" \
		"update f.npy 0 rows.csv" "merge r" "recover r" "--help" "--version"; do
		s=0
		case $where in
		full)
			[ -c /dev/full ] || continue
			# shellcheck disable=SC2086
			"$ticktail" $line >/dev/full 2>words || s=$?
			want='No space left on device$'
			;;
		closed)
			# shellcheck disable=SC2086
			"$ticktail" $line >&- 2>words || s=$?
			want='is closed$'
			;;
		esac
		[ "$s" = 1 ] && [ "$(wc -l <words)" = 1 ] && grep -qE "^ticktail: .*stdout: $want" words ||
			bad="$bad
$line: exit $s: $(cat words)"
	done
	is "stdout is $where: told once, exit 1" "$bad" ""
done

# ---- little of the process ----
live='append r many.csv|append f.npy rows.csv|read r|read f.npy|tail r|info r|update f.npy 0 rows.csv
resize f.npy --capacity 5000|adopt p.npy|seal r|merge r|prune r --dry-run|clear f.npy|backup r copy
backup f.npy copy|recover r|recover f.npy|verify r|status r|create q.npy --dtype i8 --capacity 10
create q.r --rolling --dtype i8 --capacity 10 --keep 2|read f.npy -o out.csv|tail r --resume pos'
archives='verify a.h5|status a.h5|archive r -o new.h5|archive r -o a.h5|versions a.h5|read a.h5 d'
# scarce OPTION VALUES PATTERN COMMANDS: done, or refused in one line that names the limit
scarce() {
	bad=
	met=0
	for n in $2; do
		stores
		old=$IFS
		IFS='|
'
		for line in $4; do
			IFS=$old
			s=0
			# shellcheck disable=SC2086
			(ulimit "$1" "$n" && exec "$ticktail" $line) >out 2>words </dev/null || s=$?
			rm -rf copy new.h5 q.npy q.r pos out.csv
			# so little that the loader, or a library's own start, does not get through
			[ $s != 0 ] && [ $s -lt 124 ] || continue
			met=$((met + 1))
			[ $s = 1 ] && [ "$(wc -l <words)" = 1 ] &&
				grep -qE "^ticktail: [a-z]+: [^:]+: .*($3)" words ||
				bad="$bad
$1 $n: $line: exit $s: $(head -n 3 words)"
		done
		IFS=$old
	done
	is "ulimit $1 $2: done, or refused in one line that names it" "$bad" ""
	[ -z "$5" ] || is "ulimit $1 $2: it was met" "$((met > 0))" 1
}
scarce -n "4 5 6 8" '\(ulimit -n\)' "$live|$archives" met
if has_sanitizer; then
	skip "ulimit -v" "a sanitizer needs more"
else
	# how much the program itself takes depends on the libraries of the machine
	most=
	for n in $(seq 8000 1000 80000); do
		(ulimit -v "$n" && exec "$ticktail" --version) >/dev/null 2>&1 && most=$n && break
	done
	note "the program starts with ulimit -v $most"
	scarce -v "$((most + 500)) $((most + 1000)) $((most + 2000)) $((most + 5000)) $((most + 9000))" \
		'ulimit -v' "$live" met
	# libhdf5 itself ends badly with less
	scarce -v "$((most + 8000)) $((most + 12000)) $((most + 30000))" 'ulimit -v' "$archives" ''
fi
finish
