#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Archives that versioned_hdf5 wrote, each version and dataset against the array that is kept
# beside it as ARCHIVE.VERSION.DATASET.npy ("/" written "_"); each must verify without damage.
# TT_SHARED names the directory that holds golden/archive.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
golden=${TT_SHARED:-/nonexistent}/golden/archive
tool=$top_builddir/tests/archive/archive_tool
[ -d "$golden" ] || { echo '1..0 # SKIP TT_SHARED names no directory with golden/archive'; exit 0; }
: "${TT_SEED:=$(date +%s)}"
export TT_SEED
note "TT_SEED=$TT_SEED"

arrays=0
for archive in "$golden"/*.h5; do
	base=$(basename "$archive" .h5)
	success "$base: the versions are listed" "$tool" versions "$archive"
	cp "$work/.out" "$work/versions"
	: > "$work/list"
	while IFS='	' read -r version prev committed current timestamp names; do
		for name in $(printf '%s' "$names" | tr '\t' ' '); do
			file=$golden/$base.$version.$(printf '%s' "$name" | tr / _).npy
			[ -f "$file" ] || continue	# too long to be kept
			printf '%s\t%s\t%s\n' "$version" "$name" "$file" >> "$work/list"
			arrays=$((arrays + 1))
		done
	done < "$work/versions"
	success "$base: every version and dataset equals its array" \
		sh -c '"$1" list "$2" < "$3"' sh "$tool" "$archive" "$work/list"
	exits 0 "$base: verify finds nothing" "$tool" verify "$archive"
	is "$base: and says nothing" "$(cat "$work/.out")" ""
done
is "as many arrays were compared as there are" "$arrays" "$(ls "$golden"/*.npy | wc -l)"
finish
