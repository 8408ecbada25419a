#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manual pages are clean mdoc, for mandoc and for groff, and each function has its link.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
command -v mandoc >/dev/null || command -v groff >/dev/null || missing "mandoc or groff"

for page in "$top_srcdir"/man/*.[1-8]; do
	name=$(basename "$page")
	if command -v mandoc >/dev/null; then
		# whether other pages are installed says nothing about this one
		words=$(mandoc -T lint "$page" 2>&1 |
			grep -vE 'referenced manual not found|outdated mandoc.db')
		is "$name is clean for mandoc" "$words" ""
	fi
	if command -v groff >/dev/null; then
		words=$(groff -ww -mdoc -Tutf8 "$page" 2>&1 >/dev/null)
		is "$name is clean for groff" "$words" ""
	fi
done

make -s -C "$top_builddir" DESTDIR="$work/root" mandir=/man install-man link-man >"$work/out" 2>&1
is "pages are installed" "$?" 0
lost=
for function in $(sed -n 's/^\.Nm \(tt_[a-z0-9_]*\) ,*$/\1/p' "$top_srcdir"/man/*.3); do
	grep -q "^\.Nm $function" "$work/root/man/man3/$function.3" || lost="$lost $function"
done
is "each function has a page of its name" "$lost" ""
make -s -C "$top_builddir" DESTDIR="$work/root" mandir=/man unlink-man uninstall-man >>"$work/out" 2>&1
is "nothing is left when they are uninstalled" "$(find "$work/root" ! -type d)" ""
finish
