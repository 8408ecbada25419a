#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The man page and --help know the same commands and options.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
man=$top_srcdir/man/ticktail.1

# commands of the page: its .Ss titles that are one word in small letters
sed -n 's/^\.Ss \([a-z][a-z-]*\)$/\1/p' "$man" | sort >"$work/man.commands"
"$ticktail" --help >"$work/help" || not_ok "--help exits 0"
sed -n 's/^  *\([a-z][a-z-]*\) .*/\1/p' "$work/help" | grep -vxE 'usage' | sort -u \
	>"$work/help.commands"
while read -r command; do
	grep -qw -e "$command" "$work/help.commands" || not_ok "$command of the man page exists"
done <"$work/man.commands"

while read -r command; do
	"$ticktail" "$command" --help >"$work/help" 2>&1 || {
		not_ok "$command --help exits 0"
		continue
	}
	"$ticktail" "$command" --long-options | grep -vxE 'help|quiet|progress' | sort -u \
		>"$work/options"
	grep -qx "$command" "$work/man.commands" || {
		not_ok "$command is in the man page"
		continue
	}
	awk -v c="$command" '/^\.S[sh] / { on = ($0 == ".Ss " c) } on' "$man" >"$work/section"
	absent=
	while read -r option; do
		grep -qE -e "Fl -$option( |\$)" "$work/section" || absent="$absent --$option"
	done <"$work/options"
	while read -r option; do
		grep -qE -e "--$option([ []|\$)" "$work/help" || absent="$absent --$option(help)"
	done <"$work/options"
	is "$command: every option is in the man page" "$absent" ""
	unknown=
	for option in $(grep -oE -e 'Fl -[a-z][a-z-]*' "$work/section" | sed 's/^Fl -//' | sort -u); do
		grep -qx -e "$option" "$work/options" || unknown="$unknown --$option"
	done
	is "$command: every option of the man page exists" "$unknown" ""
done <"$work/help.commands"

# what messages and pages tell to run
{
	find "$top_srcdir/src" "$top_srcdir/tools" -name '*.[ch]' -exec \
		grep -ohE '"[^"]*ticktail [a-z][a-z-]+' {} +
	grep -ohE '(`|^    )ticktail [a-z][a-z-]+' "$top_srcdir"/*.md "$top_srcdir"/docs/*.md \
		"$top_srcdir/bench/README.md"
	grep -ohE '(^|Ql )ticktail [a-z][a-z-]+' "$top_srcdir"/man/*.[1-8]
} | sed -n 's/^\(.*[^a-z]\)*ticktail \([a-z][a-z-]*\)$/\2/p' | sort -u >"$work/named"
is "every command that messages and pages name exists" \
	"$(comm -23 "$work/named" "$work/help.commands")" ""
[ "$(wc -l <"$work/named")" -ge 15 ] && ok "they were found" || not_ok "they were found"
finish
