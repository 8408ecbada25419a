#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manual pages are clean mdoc, for mandoc and for groff.
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
finish
