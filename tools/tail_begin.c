/* SPDX-License-Identifier: Apache-2.0 */
/* Where the tail of a single file begins.  A stored place is gone on from only if the rows before
 * it are those that were read then; rows that were cut after a power loss are told apart from
 * others. */
#include <fcntl.h>
#include <stdlib.h>

#include "tail_file.h"

/* Where the tail begins there are rows before it that it did not read. */
static int remember(struct cli_tailed *t)
{
	struct cli_recent *recent = &t->tail->recent;
	uint64_t count = t->row - t->info.start;

	if (count > recent->room)
		count = recent->room;
	recent->count = 0;
	if (count == 0 || t->row > t->info.end)
		return 0;
	if (cli_tailed_copy(t, t->row - count, count, recent->bytes) == 0)
		recent->count = count;
	return 0;
}

int64_t cli_tailed_born_ns(const struct stat *st, const char *path)
{
	struct statx stx;

	if (statx(AT_FDCWD, path, 0, STATX_BTIME | STATX_INO, &stx) < 0 ||
	    !(stx.stx_mask & STATX_BTIME) || stx.stx_ino != st->st_ino)
		return 0;
	return (int64_t)stx.stx_btime.tv_sec * 1000000000 + stx.stx_btime.tv_nsec;
}

int cli_tailed_from_start(struct cli_tailed *t, const char *what)
{
	const char *path = t->tail->path;

	if (t->row > t->info.end)
		cli_fail(t->tail->ctx,
			 "%s: %sits end went back from row %llu to %llu; reading it from "
			 "its start",
			 path, what, (unsigned long long)t->row,
			 (unsigned long long)t->info.end);
	else
		cli_fail(t->tail->ctx, "%s: %sreading it from its start", path, what);
	t->row = t->info.start;
	t->tail->recent.count = 0;
	return 0;
}

/* Rows before the stored place are not those that were read: were they cut?  1 yes, at *cut,
 * 0 not known, or -1: rows of some file here were, no place fits. */
static int look_for_cut(struct cli_tailed *t, uint64_t *cut)
{
	const struct cli_position *stored = &t->tail->stored;
	uint64_t first = stored->row - stored->seen_rows;
	struct cli_cut_search search = { .path = t->tail->path,
					 .stored = stored,
					 .row_bytes = t->info.row_bytes };
	unsigned char *live;
	bool any, found;

	if (stored->inode == 0 || stored->seen_rows > stored->row ||
	    stored->seen_rows > CLI_RECENT_ROWS || first < t->info.start)
		return 0;
	live = malloc((size_t)(stored->seen_rows * t->info.row_bytes) + 1);
	if (!live)
		return 0;
	search.live = live;
	if (t->info.end > first)
		search.live_rows = stored->row < t->info.end ? stored->seen_rows
							     : t->info.end - first;
	if (search.live_rows > 0 &&
	    cli_tailed_copy(t, first, search.live_rows, live) != 0)
		search.live_rows = 0;
	found = cli_find_cut(&search, cut, &any) && *cut <= t->info.end;
	free(live);
	return found ? 1 : any ? -1 : 0;
}

static int refuse_past_end(struct cli_tailed *t)
{
	const struct cli_tail *tail = t->tail;
	uint64_t cut;
	int was_cut = look_for_cut(t, &cut);

	if (was_cut > 0)
		return cli_fail(
			tail->ctx,
			"%s: position %llu lies past the end of %s, which has rows "
			"up to %llu: those from row %llu on were cut after a power "
			"loss and are in %s.cut; remove %s to begin anew",
			tail->resume, (unsigned long long)tail->stored.row, tail->path,
			(unsigned long long)t->info.end, (unsigned long long)cut,
			tail->path, tail->resume);
	return cli_fail(tail->ctx,
			"%s: position %llu lies past the end of %s, which has rows up to "
			"%llu%s",
			tail->resume, (unsigned long long)tail->stored.row, tail->path,
			(unsigned long long)t->info.end,
			was_cut < 0 ? ": rows were cut after a power loss" : "");
}

/* A stored place in this file, or in one that was here then. */
static int resume_at(struct cli_tailed *t)
{
	struct cli_tail *tail = t->tail;
	const struct cli_position *stored = &tail->stored;
	bool same = stored->inode == t->st.st_ino &&
		    stored->born_ns == cli_tailed_born_ns(&t->st, tail->path);
	uint64_t cut;
	int was_cut;

	if (stored->row > t->info.end)
		return refuse_past_end(t);
	t->row = stored->row;
	remember(t);
	if (stored->inode == 0 || tail->recent.count != stored->seen_rows ||
	    cli_recent_digest(tail->recent.bytes,
			      tail->recent.count * tail->recent.row_bytes) ==
		    stored->digest)
		return 0;
	was_cut = look_for_cut(t, &cut);
	if (was_cut > 0) {
		cli_tail_cut(tail, stored->row - cut);
		t->row = cut;
		return remember(t);
	}
	/* rows of the same file may have been updated; another one may be this one grown */
	if (same && STAMP_OURS(t->stamp) && was_cut == 0)
		return 0;
	return cli_tailed_from_start(
		t, same ? "rows before the stored position were changed, or cut "
			  "after a power loss; "
			: "is not the file that the position was stored for; ");
}

int cli_tailed_first_row(struct cli_tailed *t)
{
	struct cli_tail *tail = t->tail;
	uint64_t rows = t->info.end - t->info.start;

	if (tail->has_stored) {
		tail->has_stored = false;
		if (tail->stored.in_ring)
			return cli_fail(tail->ctx,
					"%s: holds a position in a ring, %s is a "
					"single file",
					tail->resume, tail->path);
		return resume_at(t);
	}
	t->row = t->info.start;
	if (!tail->from_start && rows > tail->lines)
		t->row = t->info.end - tail->lines;
	return remember(t);
}
