#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/CONCURRENCY.md lists every function of the libraries that releases or acquires, and names
# nothing that is gone; what the pages call by a name of ours is in the tree.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
cd "$top_srcdir" || exit 99

# the function, or the macro, around each order that orders something
cat >"$work/pairs.awk" <<'AWK'
FNR == 1 { name = "" }
/^[a-zA-Z#].*\(/ && !/;$/ {
	name = $0
	sub(/^#[ \t]*define[ \t]+/, "", name)
	sub(/\(.*/, "", name)
	sub(/.*[ *]/, "", name)
}
/memory_order_(release|acquire|acq_rel|seq_cst)/ && name != "" { print name }
AWK
find src -name '*.[ch]' -exec awk -f "$work/pairs.awk" {} + | sort -u >"$work/order"
grep -oE '`[^`]+`' docs/CONCURRENCY.md | grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort -u >"$work/listed"
is "every function that releases or acquires is in docs/CONCURRENCY.md" \
	"$(comm -23 "$work/order" "$work/listed")" ""
[ "$(wc -l <"$work/order")" -gt 30 ] && ok "they were found" || not_ok "they were found"

# in code, in scripts and in what configures and builds, but not in prose
find src include tools tests bench examples m4 configure.ac Makefile.am bootstrap -type f ! -path '*/corpus/*' \
	-exec grep -ohIE '[A-Za-z_][A-Za-z0-9_]*' {} + | sort -u >"$work/words"
grep -oE '`[^`]+`' docs/CONCURRENCY.md | grep -oE '[a-z]+_[a-z0-9_]+' | sort -u >"$work/named"
is "what docs/CONCURRENCY.md names is there" "$(comm -23 "$work/named" "$work/words")" ""
# names of pages are no symbols: man 3 tt_ring
ls man | sed 's/\.[1-8]$//' | sort >"$work/pages"
grep -ohE '(tti?|TTI?)_[A-Za-z0-9_]*[A-Za-z0-9]' docs/*.md README.md HACKING.md SECURITY.md NEWS \
	bench/README.md man/*.[1-8] | sort -u | grep -vxE 'TT_(SYNC|WAKE|WAIT)' >"$work/named" # of TT_SYNC_*
tr '[:lower:]' '[:upper:]' <"$work/pages" | sort - "$work/pages" "$work/words" -u >"$work/known"
is "every symbol that the pages name is there" "$(comm -23 "$work/named" "$work/known")" ""
grep -ohE '^\.Xr [a-z_0-9]+ [0-9]' man/*.[1-8] | sort -u | while read -r _ page section; do
	case $page in
	tt_* | ticktail | npyt)
		[ -e "man/$page.$section" ] || grep -q "^\.Nm $page\>" man/*."$section" || echo "$page($section)"
		;;
	esac
done >"$work/gone"
is "every page of ours that a page refers to is there" "$(cat "$work/gone")" ""
finish
