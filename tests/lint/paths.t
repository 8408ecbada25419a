#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tree holds nothing of the machine it was written on and no unfinished marks; every C file
# and script names its licence.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"

cd "$top_srcdir" || exit 99
find src tools include man docs examples bench tests m4 bootstrap configure.ac Makefile.am \
	README.md HACKING.md NEWS .ci -type f \
	! -name paths.t ! -name '*.npy' ! -name '*.h5' ! -name 'lt*.m4' ! -name libtool.m4 \
	! -path '*/corpus/*' ! -name '*.pyc' 2>/dev/null | sort >"$work/files"

found=$(xargs grep -nE '(^|[^a-z.])(/home/[a-z]|/root/)' <"$work/files")
is "no machine paths" "$found" ""
found=$(grep -vE '^(docs|tests)/' "$work/files" | xargs grep -nwE 'TODO|FIXME|XXX|HACK')
is "no unfinished marks" "$found" ""
found=$(grep -E '\.([ch]|py|sh|t)$' "$work/files" | xargs grep -L 'SPDX-License-Identifier: Apache-2.0')
is "every source names its licence" "$found" ""
found=$(grep -E '\.[ch]$' "$work/files" | grep -E '^(src|tools)/' |
	while read -r f; do
		sed -n '2p' "$f" | grep -q '^/\*' && continue
		sed -n '2p' "${f%.c}.h" 2>/dev/null | grep -q '^/\*' || echo "$f"
	done)
is "every source, or its header, opens with what it owns" "$found" ""
found=$(xargs grep -nE '[ 	]+$' <"$work/files" | grep -vE '^(man/|tests/[a-z]*/[a-z_]*\.t:)' |
	head -n 20)
is "no trailing blanks" "$found" ""
# a page that names a test promises that it is there
found=$(grep -ohE '`(tests|bench|src|docs)/[A-Za-z0-9_./-]+`' docs/*.md README.md HACKING.md | tr -d '\`' |
	sort -u | while read -r f; do
		[ -e "$f" ] || [ -e "$f.c" ] || [ -e "$f.t" ] || echo "$f"
	done)
is "what the pages name is there" "$found" ""
finish
