#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# status and top: words, JSON, metrics, and what they make of rings that do badly.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
need_python json
cd "$work" || exit 99
feeder=
reader=
cleanup_fn() {
	exec 9>&-
	[ -z "$feeder$reader" ] || kill -9 $feeder $reader 2>/dev/null
}
look() { "$python" "$top_srcdir/tests/cli/status.py" "$@" 2>&1; }
json() { # json EXPRESSION... of r
	"$ticktail" status r --json --sample 0 >r.json 2>words
	look json r.json "$@"
}
metric() { # metric NAME of r
	"$ticktail" status r --prometheus >r.prom && look metrics r.prom >r.samples &&
		sed -n "s/^ticktail_$1{[^}]*} //p" r.samples
}
line() { "$ticktail" status r --sample 0 | sed -n "s/^$1  *//p"; }

"$ticktail" create r --rolling --dtype ts:i8,px:f8 --capacity 64 --keep 2 --exact
is "a new ring has stopped" "$(line state)" "STOPPED: no writer"
is "and no row" "$(json 'd["kind"]' 'd["state"]' 'd["rows"]' 'd["last_write"]' 'd["writer_pid"]')" \
	'"npy8" "stopped" 0 null 0'

# a feed that stays
mkfifo feed
"$ticktail" append r feed --columns ts,px >appended &
feeder=$!
exec 9>feed
seq 1 300 | sed 's/$/,1.5/' >&9
has_rows() { [ "$(json 'd["rows_total"]')" = "$1" ]; }
wait_for 20 has_rows 300 || not_ok "rows come" "$(cat r.json)"
is "state" "$(line state)" running
is "writer" "$(json 'd["writer_alive"]' 'd["writer_pid"]' 'd["foreign"]')" "true $feeder false"
is "rows and files" "$(json 'd["rows"]' 'd["rows_total"]' 'd["row_bytes"]' 'd["keep"]' 'd["files"]' \
	'd["newest"]["rows"]' 'd["newest"]["capacity"]')" \
	'300 300 16 2 {"queued": 2, "left": 3, "merged": 0} 44 64'
is "times are RFC 3339" "$(json 're.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", d["last_write"]) is not None' \
	'0 <= d["last_write_age_s"] < 60' 'd["time"] >= d["last_write"]')" "true true true"
is "space" "$(json 'd["space"]["disk_bytes"] > d["space"]["disk_free"] > 0' 'd["space"]["bytes"] >= 300 * 16' \
	'd["space"]["days_left"]')" "true true null"
"$ticktail" status r --json --sample 0.05 >r.json
is "a rate needs two looks" "$(look json r.json 'd["rows_per_s"]'):$(json 'd["rows_per_s"]')" "0:null"
is "metrics are well formed" "$(metric rows_total) $(metric writer_alive) $(metric newest_file_rows)" "300 1 44"
is "files by state" "$(grep -c '^ticktail_files{ring=r,state=' r.samples)" 3
is "a label is escaped" "$(ln -s r 'q"\
r'; "$ticktail" status 'q"\
r' --prometheus | grep '^ticktail_rows{')" 'ticktail_rows{ring="q\"\\\nr"} 300'
if command -v promtool >/dev/null; then
	success "promtool finds nothing" sh -c 'promtool check metrics <r.prom'
fi
exits 0 "--max-age passes a running feed" "$ticktail" status r --max-age 3600
exits 2 "json or prometheus" "$ticktail" status r --json --prometheus

# readers that want to be seen
"$ticktail" tail r -f --from-start --register=desk >tail.out 2>tail.words &
reader=$!
desk_reads() { [ "$(json 'd["readers"][0]["lag_rows"]')" = 0 ]; }
wait_for 20 desk_reads || not_ok "a reader is seen" "$(cat r.json tail.words)"
is "reader" "$(json '[[x["name"], x["pid"], x["alive"], x["lost"], x["lag_s"], x["position"]["row"]] for x in d["readers"]]')" \
	"[[\"desk\", $reader, true, 0, 0, 44]]"
kill -STOP $reader
seq 301 400 | sed 's/$/,1.5/' >&9
wait_for 20 has_rows 400
is "a stopped reader's lag is exact" "$(json 'd["readers"][0]["lag_rows"]' 'd["readers"][0]["lag_s"] > 0')" "100 true"
is "in metrics" "$(metric reader_lag_rows) $(metric reader_alive)" "100 1"
is "in words" "$(line '  desk' | sed 's/, .*//')" "pid $reader  100 rows behind"
kill -KILL $reader
wait $reader 2>/dev/null
reader=
is "a dead one is told" "$(json 'd["readers"][0]["alive"]'):$(metric reader_alive)" "false:0"
"$ticktail" tail r -n 1 --register=desk >/dev/null
is "its name coming back takes its place, and leaves it" "$(json 'd["readers"]')" "[]"
exits 0 "a name that cannot be shown is said" "$ticktail" tail r -n 1 "--register=$(printf 'a\033b')"
grep -q 'not seen by status' .out && ok "and it reads on" || not_ok "and it reads on" "$(cat .out)"
exits 0 "without a name" "$ticktail" tail r -n 1 --register

# the feed is killed: loud in each form; not while it has the next file named
only_named() { [ "$(ls r/*.npy | wc -l)" = 7 ]; }
wait_for 20 only_named || not_ok "the name of the next file is taken back"
kill -9 $feeder
wait $feeder 2>/dev/null
feeder=
exec 9>&-
case $(line state) in
"STOPPED: no writer, no row for "*) ok "a killed feed is said in words" ;;
*) not_ok "a killed feed is said in words" "$(line state)" ;;
esac
is "in JSON" "$(json 'd["state"]' 'd["writer_alive"]' 'd["rows_per_s"]')" '"stopped" false 0'
is "and in metrics" "$(metric writer_alive)" 0
exits 1 "--max-age fails it" "$ticktail" status r --max-age 3600
is "saying why" "$(grep ^ticktail: .out)" "ticktail: status: r: no process writes it"

# lines of top
"$ticktail" top r --count 3 --interval 0.02 >top.out
is "top prints a line a look elsewhere" "$(grep -c ' stopped  rows 400  ' top.out)" 3
is "and no escapes" "$(tr -d '\n' <top.out | grep -c "$(printf '\033')")" 0
rm top.out # not what is in it from before
"$ticktail" top r --interval 0.02 >top.out 2>&1 &
reader=$!
wait_for 20 test -s top.out
kill -TERM $reader
s=0
wait $reader || s=$?
reader=
is "SIGTERM ends top with 0" $s 0
"$ticktail" top r --count 0 --interval 0.02 >top.out 2>&1 &
reader=$!
three_looks() { [ "$(wc -l <top.out)" -ge 3 ]; }
wait_for 20 three_looks && ok "--count 0 goes on" || not_ok "--count 0 goes on" "$(cat top.out)"
kill -TERM $reader
wait $reader
reader=
exits 1 "top of nothing" "$ticktail" top nothing --count 1
if command -v script >/dev/null; then
	script -qec "stty rows 5 cols 30; '$ticktail' top r --count 2 --interval 0.02" /dev/null \
		</dev/null >tty.out
	is "on a terminal the screen is given back" \
		"$(tail -c 14 tty.out | tr -d '\r\n' | sed "s/$(printf '\033')/E/g")" "E[?25hE[?1049l"
	is "and lines are cut to it" "$(tr '\r' '\n' <tty.out | sed "s/$(printf '\033')\[H/|/g; s/$(printf '\033')\[[?0-9]*[a-zA-Z]//g" | tr '|' '\n' |
		awk 'length > 30' | wc -l | tr -d ' ')" 0
else
	skip "top on a terminal" "no script(1)"
fi

# what cannot be known
cp -r r foreign
rm foreign/.ticktail
"$ticktail" status foreign --json --sample 0 >f.json
is "without a settings file" "$(look json f.json 'd["state"]' 'd["writer_alive"]' 'd["writer_pid"]' 'd["rows"]' \
	'd["rows_total"]' 'd["counters"]' 'd["readers"]' 'd["sync"]["unsynced_rows"]' 'd["last_error"]' 'd["foreign"]')" \
	'"unknown" null null 400 null null null null null true'
exits 0 "in words" "$ticktail" status foreign --sample 0
"$ticktail" status foreign --prometheus >f.prom
is "unknown figures have no sample" "$(look metrics f.prom | grep -cE 'total|writer_alive|bucket')" 0
exits 1 "how old nobody knows: --max-age" "$ticktail" status foreign --max-age 0

# damage
cp -r r damaged
dd if=/dev/zero of=damaged/.ticktail bs=4096 count=1 conv=notrunc 2>/dev/null
exits 3 "a damaged settings file is damage" "$ticktail" status damaged --sample 0
grep -q 'rows  *400 on disk' .out && grep -q 'settings file is damaged' .out &&
	ok "said beside what is known" || not_ok "said beside what is known" "$(cat .out)"
printf '\002\0\0\0\0\0\0\0\001\0\0\0\0\0\0\0' >damaged/.lock
exits 3 "a damaged manifest" "$ticktail" status damaged
exits 3 "its JSON is whole" "$ticktail" status damaged --json
"$ticktail" status damaged --json >d.json 2>/dev/null
is "and names both" "$(look json d.json '[x["path"] for x in d["damage"]]' 'd["rows"]' 'd["files"]["queued"]')" \
	'[".ticktail", ".lock"] 400 7'
"$ticktail" status damaged --prometheus >d.prom 2>/dev/null
is "so do metrics" "$(look metrics d.prom | grep -E '^ticktail_(damaged|rows\{)' | tr '\n' ' ')" \
	'ticktail_rows{ring=damaged} 400 ticktail_damaged_files{ring=damaged} 2 ticktail_damaged{ring=damaged,file=.ticktail} 1 ticktail_damaged{ring=damaged,file=.lock} 1 '
cp -r r damaged2
newest=$(cd damaged2 && ls *.npy | tail -n 1)
printf 'xxxxxxxx' | dd of="damaged2/$newest" conv=notrunc 2>/dev/null
for how in --json --prometheus; do
	exits 3 "a damaged newest file: $how" "$ticktail" status damaged2 --sample 0.01 $how
done
"$ticktail" status damaged2 --json >d.json 2>words
is "the rest is told" "$(look json d.json '[x["path"] for x in d["damage"]]' 'd["rows"]' 'd["rows_total"]' \
	'd["newest"]["rows"]' 'd["counters"]["rows"]' 'd["writer_alive"]')" "[\"$newest\"] 384 null null 400 false"
is "and said" "$(grep -c "^ticktail: status: damaged2/$newest: " words)" 1
"$ticktail" status damaged2 --prometheus >d.prom 2>/dev/null
is "metrics name it" "$(look metrics d.prom | grep -E '^ticktail_(damaged|rows)')" \
	"ticktail_rows{ring=damaged2} 384
ticktail_damaged_files{ring=damaged2} 1
ticktail_damaged{ring=damaged2,file=$newest} 1"
"$ticktail" top damaged2 --count 1 >top.out
is "top goes on" "$(grep -c '  DAMAGED 1' top.out)" 1
is "a sound ring has none" "$(json 'd["damage"]'):$(metric damaged_files)" "[]:0"
mkdir empty
exits 1 "no ring" "$ticktail" status empty
"$ticktail" create f.npy --dtype i4 --capacity 8
exits 1 "a single file" "$ticktail" status f.npy
grep -q "ticktail info" .out && ok "points to info" || not_ok "points to info" "$(cat .out)"

# an archive
"$ticktail" archive r -o a.h5 >/dev/null
"$ticktail" status a.h5 --json >a.json
is "archive" "$(look json a.json 'd["kind"]' 'd["versions"]' 'd["datasets"]' 'd["writer_alive"]' 'd["journal"]' \
	'0 <= d["current_age_s"] < 60' 'd["bytes"] > 0' 'd["current"] == d["current_time"][:26] + "Z"')" \
	'"archive" 1 1 false "none" true true true'
is "in words" "$("$ticktail" status a.h5 | sed -n 's/^versions  *//p')" 1
"$ticktail" status a.h5 --prometheus >a.prom
is "in metrics" "$(look metrics a.prom | grep -cE '^ticktail_archive_(versions|datasets)\{archive=a.h5\} 1$')" 2
exits 0 "--max-age of the current version" "$ticktail" status a.h5 --max-age 3600
exits 1 "that is older" "$ticktail" status a.h5 --max-age 0
sh -c 'exec 8<a.h5; flock 8; exec sleep 60' &
reader=$!
busy() { ! flock -n a.h5 true; }
wait_for 20 busy
"$ticktail" status a.h5 --json >a.json
is "while another holds it" "$(look json a.json 'd["versions"]' 'd["writer_alive"]')" "null true"
kill $reader
reader=
head -c 600 /dev/urandom >a.h5-journal
exits 3 "a damaged journal" "$ticktail" status a.h5

finish
