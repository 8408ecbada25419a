#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The main job, step by step, on generated ticks or on your own CSV file.
#
#	demo.sh TICKTAIL [FILE.csv]
#
# Two nights: rows are fed into a ring while another process tails it, then archived; both
# versions are read back and compared with what was fed.  Then a live file is archived twice as
# it grows.  TT_DEMO_ROWS sets the number of generated rows, TT_DEMO_KEEP=1 keeps the files.
set -u
export LC_ALL=C

[ $# -ge 1 ] && [ -x "$1" ] || { echo "usage: demo.sh TICKTAIL [FILE.csv]" >&2; exit 2; }
ticktail=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
csv=${2:-}
dir=$(mktemp -d "${TMPDIR:-/tmp}/ticktail-demo.XXXXXX") || exit 1
tail_pid=
keep=${TT_DEMO_KEEP:-}
trap 'over $?' EXIT
trap 'exit 130' INT TERM HUP PIPE

over() {
	[ -z "$tail_pid" ] || kill "$tail_pid" 2>/dev/null
	[ -d "$dir" ] || return
	if [ -n "$keep" ] || { [ "$1" != 0 ] && [ "$1" != 130 ]; }; then
		echo "The files of this demo are in $dir"
	else
		rm -rf "$dir"
	fi
}

number=0
step() {
	number=$((number + 1))
	printf '\n%d. %s\n' "$number" "$*"
}
tell() { printf '   %s\n' "$*"; }
# run ARGUMENTS...: show the command, run it
run() {
	printf '   $ ticktail'
	printf ' %s' "$@"
	printf '\n'
	"$ticktail" "$@" >"$dir/out" 2>"$dir/err" || die "exit $?: $(cat "$dir/err")"
	sed 's/^/     /' "$dir/out" "$dir/err"
}
# what cannot be fed leaves nothing behind
refuse() {
	printf 'demo: %s\n' "$*" >&2
	rm -rf "$dir"
	exit 1
}
die() {
	printf '\nThe demo failed: %s\n' "$*" >&2
	exit 1
}
lines() { wc -l <"$1" | tr -d ' '; }
equal() { cmp "$1" "$2" || die "$3"; }
json() { sed -n "s/.*\"$1\": *\"\{0,1\}\([^,\"}]*\).*/\1/p" "$2" | sed -n 1p; }

# ---- what is fed: $dir/night1.csv and night2.csv without a header line, $columns, $descr ----

generated() {
	descr=ts:i8,sym:i4,qty:i4,px:f8,flags:u1
	columns=ts,sym,qty,px,flags
	rows=${TT_DEMO_ROWS:-120000}
	"$ticktail" gen --rows "$rows" --seed 1 | sed 1d >"$dir/night1.csv" || die "gen"
	"$ticktail" gen --rows $((rows / 2)) --seed 2 | sed 1d >"$dir/night2.csv" || die "gen"
}

# Names and types from the header line and all rows: a column is a whole number, a number, a time
# or text of the greatest width.  Without a header line the columns are c1, c2, ...
inferred() {
	tr -d '\r' <"$csv" | awk -v dir="$dir" '
	function unquote(s) {
		if (s ~ /^".*"$/) {
			s = substr(s, 2, length(s) - 2)
			gsub(/""/, "\"", s)
		}
		return s
	}
	# fields of line into f[]; a quoted field may hold commas and line ends
	function cut(line,    n, field, rest, at) {
		if (line !~ /"/)
			return split(line, f, ",")
		n = 0
		rest = line ","
		while (rest != "") {
			if (match(rest, /^"([^"]|"")*",/) || match(rest, /^[^,]*,/)) {
				f[++n] = unquote(substr(rest, 1, RLENGTH - 1))
				rest = substr(rest, RLENGTH + 1)
			} else
				return -1
		}
		return n
	}
	function quotes(s) { return gsub(/"/, "", s) }
	function is_int(s) {
		if (s !~ /^-?(0|[1-9][0-9]*)$/ || s == "-0") return 0
		sub(/^-/, "", s)	# nanoseconds since 1970 have 19 digits
		return length(s) < 19 || (length(s) == 19 && (s "") <= "9223372036854775807")
	}
	# leading zeros and very long numbers are names, not values
	function is_num(s) {
		return s ~ /^[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$/ &&
			(length(s) < 19 || s ~ /[.eE]/) && s + 0 < 1.7e308 && s + 0 > -1.7e308
	}
	function is_no_value(s) { return tolower(s) ~ /^(nan|[-+]?inf)$/ }
	# the digits of the second, or -1 for what is no UTC time
	function time_digits(s,    month, day, last) {
		if (s !~ /^[12][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]+)?Z?$/)
			return -1
		if (s < "1700" || s > "2262" || substr(s, 12, 2) > 23) return -1
		month = substr(s, 6, 2) + 0
		day = substr(s, 9, 2) + 0
		last = month == 2 ? 28 : month ~ /^(4|6|9|11)$/ ? 30 : 31
		if (month == 2 && substr(s, 1, 4) % 4 == 0 && substr(s, 1, 4) !~ /00$/) last = 29
		if (month < 1 || month > 12 || day < 1 || day > last) return -1
		sub(/Z$/, "", s)
		return length(s) > 29 ? -1 : length(s) > 20 ? length(s) - 20 : 0
	}
	function look(i, s,    digits) {
		if (!not_int[i] && !is_int(s)) not_int[i] = 1
		if (is_num(s))
			some_num[i] = 1
		else if (!is_no_value(s) && !not_num[i]) {
			not_num[i] = 1
			why_text[i] = "row " records " has \"" substr(s, 1, 40) "\""
		}
		if (!not_time[i]) {
			digits = time_digits(s)
			if (digits < 0) not_time[i] = 1
			else if (digits > most_digits[i]) most_digits[i] = digits
		}
		if (length(s) > widest[i]) widest[i] = length(s)
	}
	function type_of(i) {
		if (!not_int[i]) return "i8"
		if (!not_num[i] && some_num[i]) return "f8"
		if (!not_time[i])
			return "M8[" (most_digits[i] > 6 ? "ns" : most_digits[i] > 3 ? "us" : \
				most_digits[i] > 0 ? "ms" : "s") "]"
		return "S" (widest[i] > 0 ? widest[i] : 1)
	}
	function clean(s, i) {
		gsub(/[^A-Za-z0-9_]/, "_", s)
		if (s !~ /^[A-Za-z]/) s = "c" i (s == "" ? "" : "_" s)
		while (s in used) s = s "_"
		used[s] = 1
		return s
	}
	{
		whole = open ? whole "\n" $0 : $0
		open = quotes(whole) % 2
		if (open) next
		if (whole == "") { empty++; next }
		n = cut(whole)
		if (n < 0) { print "line " NR " cannot be cut into fields"; bad = 1; exit }
		if (!width) {
			sub(/^\357\273\277/, "", f[1])
			width = n
			first = whole
			sub(/^\357\273\277/, "", first)
			for (i = 1; i <= n; i++) title[i] = f[i]
			if (n == 1 && first ~ /[\t;|]/) {
				print "no commas, but " (first ~ /\t/ ? "tabs" : first ~ /;/ ? \
					"semicolons" : "bars") ": ticktail reads CSV, so convert it first" \
					(first ~ /\t/ ? ", as with: tr \"\\t\" , <FILE >FILE.csv" : "")
				bad = 1
				exit
			}
			next
		}
		if (n != width) {
			print "line " NR " has " n " fields, not " width
			bad = 1
			exit
		}
		records++
		for (i = 1; i <= n; i++) look(i, f[i])
		print whole > (dir "/rows.csv")
	}
	END {
		if (bad) exit 1
		if (open) { print "a quote is open at its end"; exit 1 }
		if (!records) { print width ? "a header line, but no rows" : "empty"; exit 1 }
		# a header line has words over numbers, or everything is text
		numbers = 0
		for (i = 1; i <= width; i++) {
			if (!not_num[i] || !not_time[i]) numbers++
			if (!not_num[i] && !is_num(title[i])) header = 1
			if (!not_time[i] && time_digits(title[i]) < 0) header = 1
		}
		if (!numbers) header = 1
		if (!header) {
			for (i = 1; i <= width; i++) look(i, title[i])
			records++
			print first > (dir "/first.csv")
		}
		for (i = 1; i <= width; i++) {
			name[i] = clean(header ? title[i] : "c" i, i)
			type = type_of(i)
			d = d (i > 1 ? "," : "") name[i] ":" type
			if (type ~ /^S/ && some_num[i])
				print name[i] " is kept as text, for " why_text[i] > (dir "/notes")
			c = c (i > 1 ? "," : "") name[i]
		}
		if (empty)
			print empty " empty lines are left out; ticktail append refuses them" > (dir "/notes")
		for (i = 1; i <= width; i++)
			if (why_text[i] ~ /has ""$/ && some_num[i]) {
				print "(ticktail append wants nan for a number that is missing)" > (dir "/notes")
				break
			}
		print d > (dir "/descr")
		print c > (dir "/columns")
		print records > (dir "/records")
	}' >"$dir/why" || refuse "$csv: $(cat "$dir/why")"
	[ ! -f "$dir/first.csv" ] || {
		cat "$dir/first.csv" "$dir/rows.csv" >"$dir/all.csv" && mv "$dir/all.csv" "$dir/rows.csv"
	}
	descr=$(cat "$dir/descr")
	columns=$(cat "$dir/columns")
	# night 1 is the first two thirds, cut between records
	awk -v first="$(($(cat "$dir/records") * 2 / 3))" -v dir="$dir" '
	{
		whole = open ? whole "\n" $0 : $0
		copy = whole
		open = gsub(/"/, "", copy) % 2
		if (!open) print whole > (dir (++n <= first ? "/night1.csv" : "/night2.csv"))
	}' "$dir/rows.csv"
	[ -s "$dir/night1.csv" ] || mv "$dir/night2.csv" "$dir/night1.csv"
	touch "$dir/night2.csv"
}

# rows CSV: its records; a quoted field may hold ends of lines
rows() {
	awk '{ open = (open + gsub(/"/, "")) % 2 } !open { n++ } END { print n + 0 }' "$1"
}

# same_csv FED STORED: every field equal as text, or, of a number, in value
same_csv() {
	if cmp -s "$1" "$2"; then return 0; fi
	awk -v other="$2" '
	function bare(s) { gsub(/"/, "", s); gsub(/\\\\/, "\\", s); return s }
	# one text for each value that has several
	function plain(s) {
		if (s ~ /^[0-9]+-[0-9]+-[0-9]+[T ][0-9]+:[0-9]+:/) {
			sub(/ /, "T", s)
			sub(/Z$/, "", s)
			if (s ~ /\./) sub(/\.?0+$/, "", s)
		} else if (tolower(s) ~ /^(nan|[-+]?inf)$/) {
			s = tolower(s)
			sub(/^\+/, "", s)
		}
		return s
	}
	function is_same(a, b) {
		if (a == b "") return 1
		if (a ~ /^[-+]?[.0-9]+([eE][-+]?[0-9]+)?$/) return a + 0 == b + 0
		return plain(a) == plain(b)
	}
	{
		if ((getline line < other) <= 0) { print "row " NR " is missing"; exit 1 }
		if ($0 == line) next
		n = split(bare($0), a, ",")
		if (split(bare(line), b, ",") != n) { print "row " NR ": " line; exit 1 }
		for (i = 1; i <= n; i++)
			if (!is_same(a[i], b[i])) {
				print "row " NR ": " a[i] " became " b[i]
				exit 1
			}
	}' "$1" >"$dir/why" || die "$(cat "$dir/why")"
}

# feed NIGHT: append the night while the tailing process sees it
feed() {
	printf '   $ ticktail append ticks --columns %s < night%s.csv\n' "$columns" "$1"
	"$ticktail" append "$ring" --columns "$columns" <"$dir/night$1.csv" >"$dir/out" \
		2>"$dir/err" || die "append: $(cat "$dir/err")"
	sed 's/^/     /' "$dir/out"
}

# tailed COUNT: wait until the tailing process has printed so many lines
tailed() {
	deadline=$(($(date +%s) + 60))
	until [ "$(lines "$dir/tailed.csv")" -ge "$1" ]; do
		kill -0 "$tail_pid" 2>/dev/null || die "tail ended: $(cat "$dir/tail.err")"
		[ "$(date +%s)" -lt "$deadline" ] ||
			die "after 60 s the reader has $(lines "$dir/tailed.csv") of $1 lines"
		sleep 0.1
	done
}

# chunks NAME: shows what the archive said of its chunks
chunks() {
	printf '     %s rows, %s chunks: %s new, %s reused, %s bytes in %.2f s\n' \
		"$(json rows "$dir/out")" "$(json chunks "$dir/out")" "$(json chunks_new "$dir/out")" \
		"$(json chunks_reused "$dir/out")" "$(json bytes "$dir/out")" "$(json seconds "$dir/out")"
}
archive() {
	printf '   $ ticktail archive'
	printf ' %s' "$@"
	printf '\n'
	"$ticktail" archive "$@" --json >"$dir/out" 2>"$dir/err" || die "archive: $(cat "$dir/err")"
}

# ----

if [ -n "$csv" ]; then
	echo "ticktail at work on $csv"
	inferred
else
	echo "ticktail at work on generated ticks (./bootstrap demo FILE.csv takes yours)"
	generated
fi
cd "$dir" || exit 1
ring=ticks
n1=$(rows night1.csv)
n2=$(rows night2.csv)
lines1=$(lines night1.csv)
lines2=$(lines night2.csv)
per_file=$((n1 / 5 + 1))
[ "$per_file" -ge 16 ] || per_file=16

step "A ring: a directory of .npy files, a new one every $per_file rows"
if [ -s notes ]; then
	while read -r note; do tell "$note"; done <notes
fi
run create $ring --rolling --dtype "$descr" --capacity $per_file --keep 4

step "Night one: one process appends $n1 rows while another tails them"
"$ticktail" tail $ring -f --from-start >tailed.csv 2>tail.err &
tail_pid=$!
tell "\$ ticktail tail ticks -f --from-start > tailed.csv &"
feed 1
tailed $((lines1 + 1))
sed 1d tailed.csv >tailed1.csv
same_csv night1.csv tailed1.csv
tell "the reader saw all $(rows tailed1.csv) rows, in order, equal to what was fed"
"$ticktail" info $ring --json >info.json || die "info"
tell "files of the ring now: $(find $ring -name '*.npy' | wc -l | tr -d ' ')"

step "The archive: sealed files become one version of an HDF5 file"
archive $ring -o ticks.h5 --seal --version night-1
[ "$(json rows out)" = "$n1" ] || die "$(json rows out) of $n1 rows were archived"
chunks

step "Night two: $n2 more rows, a second version"
if [ "$n2" -gt 0 ]; then
	feed 2
	tailed $((lines1 + lines2 + 1))
fi
kill -TERM "$tail_pid"
wait "$tail_pid" || die "tail: $(cat tail.err)"
tail_pid=
cat night1.csv night2.csv >both.csv
sed 1d tailed.csv >tailed2.csv
same_csv both.csv tailed2.csv
tell "the reader has $(rows tailed2.csv) rows"
archive $ring -o ticks.h5 --seal --version night-2
[ "$(json rows out)" = "$n2" ] || die "$(json rows out) of $n2 rows were archived"
chunks
archive $ring -o ticks.h5 --seal
[ "$(json rows out)" = 0 ] || die "archiving again added $(json rows out) rows"
tell "archiving once more adds nothing"
run versions ticks.h5

step "Back in time: both versions, read and compared with what was fed"
"$ticktail" read ticks.h5 $ring/ --version night-1 | sed 1d >version1.csv
same_csv night1.csv version1.csv
equal tailed1.csv version1.csv "night-1 differs from what was tailed"
tell "night-1 is night one: $(rows version1.csv) rows"
if [ "$n2" -gt 0 ]; then
	"$ticktail" read ticks.h5 $ring/ --version night-2 | sed 1d >version2.csv
	same_csv both.csv version2.csv
	equal tailed2.csv version2.csv "night-2 differs from what was tailed"
	tell "night-2 is both nights: $(rows version2.csv) rows"
fi
run verify ticks.h5

step "Deduplication: a live file archived twice as it grows"
chunk=$((n1 / 16))
[ "$chunk" -ge 16 ] || chunk=16
run create day.npy --dtype "$descr" --capacity $((n1 + n2 + 1))
run append day.npy night1.csv --columns "$columns"
archive day.npy -o day.h5 --chunk $chunk --version noon
chunks
run append day.npy night2.csv --columns "$columns"
if [ "$n2" -gt 0 ]; then
	archive day.npy -o day.h5 --chunk $chunk --version evening
	chunks
	full=$((n1 / chunk))
	[ "$(json chunks_reused out)" -ge $full ] ||
		die "$(json chunks_reused out) chunks were reused, not the $full full ones"
	tell "all $full full chunks of noon are shared by evening, not stored again"
	"$ticktail" read day.h5 day --version noon | sed 1d >noon.csv
	equal noon.csv version1.csv "noon differs from night one"
	tell "and noon still reads as it was: $(rows noon.csv) rows"
fi

step "Other people's tools open it"
python=
for try in python3 /usr/bin/python3; do
	if $try -c 'import h5py' 2>/dev/null; then
		python=$try
		break
	fi
done
if [ -n "$python" ]; then
	$python - ticks.h5 <<'PY' || die "h5py cannot read ticks.h5"
import sys
import h5py

with h5py.File(sys.argv[1], "r") as f:
    versions = f["_version_data/versions"]
    for name in versions:
        if name == "__first_version__":
            continue
        rows = []
        versions[name].visititems(lambda path, x: rows.append((path, x.shape[0]))
                                  if isinstance(x, h5py.Dataset) else None)
        print("     h5py %s: version %s holds %s" % (h5py.__version__, name,
              ", ".join("%s (%d rows)" % r for r in rows)))
PY
else
	tell "python3-h5py is not here: with it, h5py.File('ticks.h5') shows the same rows"
fi

printf '\nAll of it held.  Where to look next:\n'
cat <<'END'
   build/ticktail --help         the commands; man/ticktail.1 has them all
   README.md                     a reader in C, NumPy alone, what it is not
   examples/                     a feed handler, a tailing reader, read_ring.py
   docs/ARCHITECTURE.md          how it fits together, on one page
   TT_DEMO_KEEP=1 ./bootstrap demo   keeps the files of this demo
END
