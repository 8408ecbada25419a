#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Includes point left only (base < format < live < staged < archive < tools); tools know public headers
# only; what libticktail is made of includes nothing but libc; the archive room reaches the
# live room through its public headers.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"

cat >"$work/deps.awk" <<'AWK'
function rank(room) {
	return room == "base" ? 1 : room == "format" ? 2 : room == "live" ? 3 : \
	       room == "staged" ? 4 : room == "archive" ? 5 : room == "tools" ? 6 : 0
}
function public_rank(header) {
	return header ~ /^(error|dtype|npy|time)\.h$/ ? 1 : \
	       header == "archive.h" ? 5 : header == "staged.h" ? 4 : 3
}
function bad(why) { print FILENAME ":" FNR ": " $0 ": " why }
FNR == 1 {
	path = substr(FILENAME, length(top) + 2)
	split(path, part, "/")
	room = part[1] == "src" ? part[2] : part[1]
}
/^[ \t]*#[ \t]*include/ {
	target = $0
	sub(/^[ \t]*#[ \t]*include[ \t]*[<"]/, "", target)
	sub(/[>"].*/, "", target)
	quoted = ($0 ~ /"/)
	split(target, to, "/")
	if (target ~ /^(hdf5|H5|liburing|zlib|lzf|liblzf)/ && room != "archive")
		bad("belongs to the archive room")
	if (target ~ /^openssl/ && room != "staged")
		bad("belongs to the staged room")
	if (target ~ /^(json-c|csv\.h)/ && room != "tools")
		bad("belongs to the tools")
	if (room == "include") {
		if (quoted)
			bad("a public header includes public headers by <>")
		next
	}
	if (to[1] == "ticktail") {
		if (public_rank(to[2]) > rank(room))
			bad("points right")
		if (room == "staged" && public_rank(to[2]) == 3)
			bad("staged arrays know no files")
		next
	}
	if (!quoted || target == "config.h")
		next
	if (room == "tools") {
		if (rank(to[1]) && to[1] != "tools")
			bad("tools include <ticktail/...> only")
	} else if (!rank(to[1])) {
		bad("name the room: \"room/file.h\"")
	} else if (rank(to[1]) > rank(room)) {
		bad("points right")
	} else if (room == "archive" && to[1] == "live") {
		bad("the archive uses <ticktail/file.h> and <ticktail/ring.h>")
	} else if (room == "staged" && to[1] == "live") {
		bad("staged arrays know no files")
	}
}
AWK
found=$(find "$top_srcdir/src" "$top_srcdir/tools" "$top_srcdir/include" -name '*.[ch]' \
	-exec awk -v top="$top_srcdir" -f "$work/deps.awk" {} +)
is "includes point left only" "$found" ""
finish
