/* SPDX-License-Identifier: Apache-2.0 */
/* A position in a single file whose last rows were cut after a power loss.  The file went on at
 * the cut, so rows at the position are others now; PATH.cut has those that were cut, and the
 * digest in the position is that of the rows before the cut and of some of these.
 * Invariant: of several places that fit the first one is taken, so that no row is skipped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ticktail/file.h>

#include "tail.h"

#define CUTS_MAX 1000 /* PATH.cut, PATH.cut-2, ... */

/* Rows [row - count, row) as they would have been with a cut at `cut`, compared. */
static bool fits(const struct cli_cut_search *search, struct tt_file *file, uint64_t cut,
		 unsigned char *window)
{
	const struct cli_position *stored = search->stored;
	uint64_t first = stored->row - stored->seen_rows,
		 kept = cut > first ? cut - first : 0,
		 from = cut > first ? 0 : first - cut;
	size_t bytes = (size_t)(stored->seen_rows * search->row_bytes);

	if (kept > search->live_rows)
		return false;
	memcpy(window, search->live, (size_t)(kept * search->row_bytes));
	return tt_file_copy(file, from, stored->seen_rows - kept,
			    window + kept * search->row_bytes, NULL) == TT_OK &&
	       cli_recent_digest(window, bytes) == stored->digest;
}

/* The first row that was cut, by what one file with cut rows holds; *cut_out stays when none
 * fits. */
static void look_into(const struct cli_cut_search *search, const char *path,
		      uint64_t *cut_out)
{
	const struct cli_position *stored = search->stored;
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	unsigned char *window =
		malloc((size_t)(stored->seen_rows * search->row_bytes) + 1);
	struct tt_file_info info;
	struct tt_file *file;

	opts.by_pread = opts.plain = true;
	if (window && tt_file_open(&file, path, &opts, NULL) == TT_OK) {
		if (tt_file_info(file, &info, NULL) == TT_OK &&
		    info.row_bytes == search->row_bytes) {
			uint64_t rows = info.end - info.start;
			uint64_t cut = stored->row > rows ? stored->row - rows : 0;

			while (cut < stored->row && cut < *cut_out &&
			       !fits(search, file, cut, window))
				cut++;
			if (cut < stored->row && cut < *cut_out)
				*cut_out = cut;
		}
		tt_file_close(file);
	}
	free(window);
}

bool cli_find_cut(const struct cli_cut_search *search, uint64_t *cut_out, bool *any_out)
{
	char *real = realpath(search->path, NULL), *name;
	size_t room = real ? strlen(real) + 32 : 0;
	struct stat st;

	*cut_out = UINT64_MAX;
	*any_out = false;
	name = real ? malloc(room) : NULL;
	for (unsigned i = 1; name && i < CUTS_MAX; i++) {
		if (i == 1)
			snprintf(name, room, "%s.cut", real);
		else
			snprintf(name, room, "%s.cut-%u", real, i);
		if (stat(name, &st) < 0)
			break;
		*any_out = true;
		if (search->stored->seen_rows > 0)
			look_into(search, name, cut_out);
	}
	free(name);
	free(real);
	return *cut_out != UINT64_MAX;
}
