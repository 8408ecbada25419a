#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prune: what goes, what stays, what it says, and that it works on a full disk.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
cd "$work" || exit 99

rows() { # FIRST COUNT: lines of CSV
	awk -v f="$1" -v n="$2" 'BEGIN { print "ts,px"; for (i = 0; i < n; i++) print f + i "," i / 4 }'
}

new_ring() { # DIR [OPTIONS]
	dir=$1
	shift
	"$ticktail" create "$dir" --rolling --dtype ts:i8,px:f8 --capacity 100 --keep 2 --exact \
		-q "$@" && rows 0 1000 | "$ticktail" append "$dir" -q
}

npy() { find "$1" -name '*.npy' | wc -l; }

# ---- what it says ----

new_ring r || not_ok "a ring"
find r -name '*.npy' | sort | head -8 >all
"$ticktail" prune r --dry-run >out 2>err || not_ok "--dry-run"
is "--dry-run names every file outside the queue, oldest first" \
	"$(sed -n 's/^would delete \([0-9]*.npy\): 100 rows, [0-9]* bytes$/r\/\1/p' out)" "$(cat all)"
is "--dry-run sums up" "$(sed -n '$s/, [0-9]* bytes//p' out)" "would delete 8 files: 800 rows"
is "--dry-run deletes nothing" "$(npy r)" 10

bytes=$(sed -n '1s/.*, \([0-9]*\) bytes$/\1/p' out)
"$ticktail" prune r --keep-bytes $((5 * bytes)) >out 2>err || not_ok "--keep-bytes"
is "--keep-bytes leaves what fits" "$(npy r)" 5
is "it names what it deleted" "$(grep -c '^deleted [0-9]*.npy: 100 rows' out)" 5
is "and says nothing else" "$(cat err)" ""
"$ticktail" prune r --keep-bytes 1k -q >out 2>&1
is "-q says nothing, not even that the queue is larger" "$(cat out)" ""
is "the queue stays" "$(npy r)" 2
"$ticktail" prune r --keep-bytes 1k >out 2>err || not_ok "nothing to delete is no failure"
is "a limit that the queue exceeds is told" "$(grep -c 'bytes are left' err)" 1
is "nothing was deleted" "$(cat out)" "deleted 0 files: 0 rows, 0 bytes"
"$ticktail" read r --format csv >out || not_ok "the ring is read"
is "the rows of the queue are there" "$(sed -n '2p;$p' out | cut -d, -f1 | tr '\n' ' ')" "800 999 "
success "the ring is whole" "$ticktail" verify r

# ---- age ----

new_ring a
"$ticktail" prune a --older-than 1_000s >out 2>err || not_ok "--older-than"
is "young files stay" "$(npy a)" 10
"$ticktail" prune a --older-than 0s >out 2>err || not_ok "--older-than 0s"
is "old ones go" "$(npy a)" 2
for age in 7 d 1.5h -1d 7d2h '' 7D 99999999999999999999d 9999999999w; do
	exits 2 "'$age' is no age" "$ticktail" prune a --older-than="$age"
done
for age in 7d 36h 90m 2w; do
	exits 0 "$age is an age" "$ticktail" prune a --older-than "$age"
done

# ---- archived ----

new_ring k
"$ticktail" archive k -o k.h5 -q || not_ok "an archive"
rows 1000 500 | "$ticktail" append k -q
"$ticktail" prune k --archived-in k.h5 >out 2>err || not_ok "--archived-in"
is "archived files went" "$(grep -c '^deleted .*npy' out)" 9
is "the others stayed" "$(npy k)" 6
is "and are told" "$(grep -c '4 files kept: not all of their rows are in k.h5' err)" 1
"$ticktail" read k --format csv | sed -n 2p >out
is "the rest is there" "$(cut -d, -f1 out)" 900
"$ticktail" archive k -o k.h5 -q && "$ticktail" merge k -q
is "merged" "$(find k -name '*.npy_' | wc -l)" 1
"$ticktail" prune k --archived-in k.h5 >out 2>err || not_ok "a merged file"
is "a merged file goes when all its parts are archived" \
	"$(grep -c '^deleted [0-9]*.npy_: 400 rows' out)" 1
rows 1500 800 | "$ticktail" append k -q && "$ticktail" merge k --batch 2 -q
"$ticktail" prune k --archived-in k.h5 >out 2>err
is "and stays when not" "$(grep -c '^deleted .*npy_' out)" 0
exits 1 "an archive that is not there" "$ticktail" prune k --archived-in none.h5
exits 1 "a file that is no archive" "$ticktail" prune k --archived-in k/.lock

# ---- files that refuse ----

# refusing NAME COMMAND...: the files outside the queue of o that bad names stay and are told
# in one line each; all others go; the sum says both
refusing() {
	name=$1
	shift
	exits 1 "$name: exit 1" "$@"
	left=$(find o -name '*.npy' ! -type d | sort | sed 's|.*/||' | tr '\n' ' ')
	is "$name: the others went" "$left" "$(sort -u bad queue | tr '\n' ' ')"
	n=$(wc -l <bad)
	for file in $(cat bad); do
		grep -qE "^ticktail: prune: o/$file: .*(denied|not permitted)" .out || n="$file is not told"
	done
	is "$name: each is told" "$n" "$(wc -l <bad)"
	is "$name: the sum" "$(grep -c "^ticktail: prune: o: $((8 - n)) files deleted, $n files could not be$" .out)" 1
	is "$name: nothing else is said on stderr" "$(grep -c '^ticktail' .out)" $((n + 1))
	is "$name: stdout has what went" "$(grep -c '^deleted [0-9]*.npy' .out)" $((8 - n))
}
new_other() { # a ring of another user's
	rm -rf o
	new_ring o && chown -R 65534 o && chmod 755 . o
	find o -name '*.npy' | sort | sed 's|.*/||' >names
	tail -n 2 names >queue
}
other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && other test -x "$ticktail" &&
	chmod 755 . && other test -x .; then
	for which in 1p 4p 8p '1p;5p;8p' 1,8p; do
		new_other
		sed -n "$which" names >bad
		for file in $(cat bad); do chown 0 "o/$file" && chmod 0 "o/$file"; done
		refusing "unreadable files ($which)" other "$ticktail" prune o
		new_other
		sed -n "$which" names >bad
		chown 0 o && chmod 1777 o
		for file in $(cat bad); do chown 0 "o/$file" && chmod a+r "o/$file"; done
		refusing "files that may not be removed ($which)" other "$ticktail" prune o
	done
	new_other
	chown 0 o
	exits 1 "a directory that refuses" other "$ticktail" prune o
	is "is told once" "$(grep -c '^ticktail: prune: o/.*Permission denied' .out)" 1
	is "and not for each file" "$(wc -l <.out)" 1
	is "nothing went" "$(npy o)" 10
else
	skip "files that refuse" "root and another user"
fi

# ---- what is no ring ----

"$ticktail" create f.npy --dtype f8 --capacity 10 -q
exits 1 "a single file is refused" "$ticktail" prune f.npy
exits 1 "nothing there" "$ticktail" prune nothing
exits 2 "no argument" "$ticktail" prune
finish
