#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The next file of a live ring has its name before any row is in it: what each command, npyt and
# NumPy make of that beside the feed, and after the feed was killed then.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99
pid=
tail_pid=
cleanup_fn() { [ -z "$pid$tail_pid" ] || kill -9 $pid $tail_pid 2>/dev/null; }
count() { "$ticktail" read "$1" 2>/dev/null | tail -n +2 | wc -l | tr -d ' '; }
files() { find r -name '*.npy' | wc -l | tr -d ' '; }
listed() { "$ticktail" info r --json | tr -d ' \n' | grep -o '"name":"' | wc -l | tr -d ' '; }
last_is() { [ "$("$ticktail" read r | tail -n 1)" = "$1" ]; }
is_ahead() { last_is $rows && [ "$(files)" -gt "$(listed)" ]; }
# refuses WHAT WORDS COMMAND...: exit 1, and the file named ahead is as it was
refuses() {
	what=$1 words=$2
	shift 2
	cp "$ahead" was
	exits 1 "$what is refused" "$ticktail" "$@"
	grep -qE "$words" .out && ok "$what: in words" || not_ok "$what: in words" "$(cat .out)"
	cmp -s "$ahead" was || not_ok "$what: the named file is as it was" "$(ls -la r)"
}
# What changes a single file keeps off those of a ring; all but update whoever writes.
single_file_commands() { # STAGE WORDS_OF_UPDATE
	for file in "$ahead" "$sealed"; do
		which=$([ "$file" = "$ahead" ] && echo "the named file" || echo "a sealed file")
		refuses "$1: append to $which" "belongs to the ring .*r;" append "$file" one --columns value
		refuses "$1: resize of $which" "belongs to the ring .*r;" resize "$file" --capacity 1000
		refuses "$1: trim of $which" "belongs to the ring .*r;" resize "$file" --trim
		refuses "$1: clear of $which" "belongs to the ring .*r;" clear "$file"
		refuses "$1: adopt of $which" "belongs to the ring .*r;" adopt "$file"
	done
	refuses "$1: update of the named file" "$2" update "$ahead" 0 one --columns value
	for command in "clear r" "adopt r" "resize r --trim" "update r 0 one"; do
		refuses "$1: $command" "r: is a ring, [a-z]* serves single files" $command
	done
}
# Feeds from row $1 to row $rows and stops the feed with a file more than those that hold them.
# A name that no roll uses goes back after a second, which may pass before the feed stands: then
# the rows of another file come.
stop_ahead() {
	tt_tries=0 tt_from=$1
	while :; do
		seq "$tt_from" $rows >&3
		wait_for 2 is_ahead
		kill -STOP $pid
		is_ahead && return
		kill -CONT $pid
		tt_tries=$((tt_tries + 1))
		[ $tt_tries -lt 20 ] || return 1
		tt_from=$((rows + 1)) rows=$((rows + capacity))
	done
}

"$ticktail" create r --rolling --dtype i4 --capacity 100 --keep 2 || not_ok "create"
capacity=$("$ticktail" info r --json | tr -d ' \n' | sed 's/.*"capacity":\([0-9]*\).*/\1/')
rows=$((5 * capacity - 2))
mkfifo feed
"$ticktail" append r feed --columns value --sync 100 >said 2>&1 &
pid=$!
exec 3>feed
echo 7 >one
"$ticktail" tail r -f --from-start >followed 2>follow.words &
tail_pid=$!
has_followed() { [ "$(tail -n 1 followed)" = $rows ]; }
stop_ahead 1 && ok "the feed stands with a file named ahead" || not_ok "no name ahead" "$(ls -la r; cat said)"

ahead=$(find r -name '*.npy' | sort | tail -n 1)
full=$(((rows + 2) / capacity))
is "info lists what was published" "$(listed)" $full
is "read" "$(count r)" $rows
is "tail" "$("$ticktail" tail r -n 3 | tail -n +2 | tr '\n' ' ')" "$((rows - 2)) $((rows - 1)) $rows "
exits 0 "status" "$ticktail" status r
exits 0 "verify" "$ticktail" verify r
exits 0 "archive" "$ticktail" archive r -o a.h5
is "the archive has the sealed rows" "$("$ticktail" read a.h5 r | tail -n +2 | wc -l | tr -d ' ')" $(((full - 1) * capacity))
exits 0 "backup" "$ticktail" backup r copy
is "the copy has the rows" "$(count copy)" $rows
exits 0 "the copy is whole" "$ticktail" verify copy
exits 1 "recover is refused beside the feed" "$ticktail" recover r
sealed=$(find r -name '*.npy' | sort | sed -n '$!p' | tail -n 2 | head -n 1)
single_file_commands "beside the feed" "is being written by another process"
exits 1 "seal of a feed that stands" "$ticktail" seal r --timeout 1
grep -q "$pid" .out && ok "and names it" || not_ok "and names it" "$(cat .out)"
wait_for 20 has_followed && ok "tail -f has all rows" || not_ok "tail -f" "$(tail -n 1 followed)"
exits 0 "merge" "$ticktail" merge r
exits 0 "prune" "$ticktail" prune r --archived-in a.h5
[ -e "$ahead" ] && ok "the named file stays" || not_ok "the named file stays" "$(ls r)"
exits 0 "verify after them" "$ticktail" verify r
if find_python numpy npyt; then
	success "numpy loads the empty file" "$python" -c "
import glob, numpy
assert len(numpy.load('$ahead', mmap_mode='r')) == $capacity
[numpy.load(path) for path in glob.glob('r/*.npy')]"
	success "npyt reads the queue, and not the empty file" "$python" -c "
import numpy
from loguru import logger
from npyt import NPY8
logger.remove()
reader = NPY8('r', $capacity, 2).load()
got = numpy.concatenate([numpy.array(reader.read($capacity)) for _ in range($full)])
assert got[-1] == $rows, got[-5:]"
	exits 0 "verify after npyt" "$ticktail" verify r
else
	ok "# SKIP numpy and npyt: not here"
fi

kill -CONT $pid
seq $((rows + 1)) $((rows + 5)) >&3
wait_for 20 last_is $((rows + 5)) && ok "the feed goes on" || not_ok "the feed goes on" "$(cat said)"
exits 0 "verify beside it" "$ticktail" verify r
rows=$((rows + 5))
wait_for 20 has_followed && ok "tail -f goes on" || not_ok "tail -f goes on" "$(tail -n 1 followed)"

# the same, and a seal is asked for: the feed answers when it goes on
from=$((rows + 1)) rows=$((rows + capacity))
stop_ahead $from && ok "a seal with a name ahead" || not_ok "a seal with a name ahead" "$(ls r)"
before=$(listed)
"$ticktail" seal r --timeout 60 >sealing 2>&1 &
seal_pid=$!
kill -CONT $pid
wait $seal_pid
is "the feed seals" "$?" 0
is "into one file more" "$(listed)" $((before + 1))
last_is $rows && ok "with all rows" || not_ok "with all rows" "$("$ticktail" read r --tail 2)"
exits 0 "verify after the seal" "$ticktail" verify r
wait_for 20 has_followed
seq 1 $rows >wanted
sed 1d followed >got
same "tail -f had every row once" got wanted
is "and lost none" "$(cat follow.words)" ""
kill $tail_pid
wait $tail_pid
is "and ends well" $? 0
tail_pid=

# the same, and the feed is killed
from=$((rows + 1)) rows=$((rows + capacity))
stop_ahead $from && ok "killed with a name ahead" || not_ok "killed with a name ahead" "$(ls r)"
kill -9 $pid
exec 3>&-
wait $pid 2>/dev/null
pid=
exits 0 "verify after the kill" "$ticktail" verify r
is "all rows are there" "$("$ticktail" read r | tail -n 1)" $rows
ahead=$(find r -name '*.npy' | sort | tail -n 1)
single_file_commands "after the kill" "is not published yet: only the newest"
exits 0 "tail -f after the kill" "$ticktail" tail r -f --from-start --timeout 1
is "has all rows" "$(tail -n 1 .out) $(grep -c '^[0-9]' .out)" "$rows $(count r)"
cp -a r k
exits 0 "seal after the kill" "$ticktail" seal k
is "has all rows, too" "$(count k)" "$(count r)"
exits 0 "and leaves a whole ring" "$ticktail" verify k
[ -e "k/${ahead#r/}" ] && not_ok "without the empty file" "$(ls k)" || ok "without the empty file"
exits 0 "recover finds nothing" "$ticktail" recover r
is "and removed the empty file" "$(files)" "$(listed)"
seq 1 3 >in
exits 0 "the next feed" "$ticktail" append r in --columns value
exits 0 "and all is whole" "$ticktail" verify r
finish
