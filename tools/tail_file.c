/* SPDX-License-Identifier: Apache-2.0 */
/* tail of a single file, live or plain.
 *
 * The place is the row from 0 of the file.  A file that was grown by a copy says so in its
 * magic word: the new one is gone on with at the same row.  Whatever else stands at the path
 * later is another file and read from its start.
 *
 * Other programs cut, lengthen and overwrite a file where it is.  So the mapping is looked into
 * under a guard, rows are copied out by pread before they are written, the file's size is
 * looked at with every look that found rows, and the rows before the place tell whether it is
 * still the same. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <ticktail/file.h>

#include "guard.h"
#include "progress.h"
#include "tail.h"

#define IN_DOUBT (-2) /* the file was changed where it is, or is none any more */
#define GRACE_NS INT64_C(1000000000)
#define STAMP_OURS(stamp) (((stamp)&0xFFFF) == 0)

struct tailed {
	struct cli_tail *tail;
	struct tt_file *file;
	struct tt_file_info info; /* as looked at last */
	struct stat st;		  /* of the path when it was opened */
	uint64_t row;		  /* next one, from 0 of the file */
	uint64_t stamp;	     /* update_timestamp when the rows were known to be right */
	unsigned char *rows; /* copied out of the file; owned */
	uint64_t room;
	struct tt_error err;
};

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool path_moved(const struct tailed *t)
{
	struct stat st;

	return stat(t->tail->path, &st) == 0 && !same_file(&st, &t->st);
}

/* The file itself got another size. */
static bool was_resized(const struct tailed *t)
{
	struct stat st;

	return stat(t->tail->path, &st) == 0 && same_file(&st, &t->st) &&
	       st.st_size != t->st.st_size;
}

/* ---- Calls that look into the mapping ---- */

static int get_info(void *arg)
{
	struct tailed *t = arg;

	return tt_file_info(t->file, &t->info, &t->err);
}

struct copy {
	struct tailed *t;
	uint64_t row, count;
	void *out;
};

static int get_rows(void *arg)
{
	struct copy *copy = arg;
	struct tailed *t = copy->t;

	return tt_file_copy(t->file, copy->row - t->info.start, copy->count, copy->out,
			    &t->err);
}

struct waiting {
	struct tailed *t;
	int64_t slice_ns;
};

static int get_more(void *arg)
{
	struct waiting *waiting = arg;
	struct tailed *t = waiting->t;

	return tt_file_wait(t->file, t->row - t->info.start, t->tail->wait,
			    waiting->slice_ns);
}

/* An exit status, or IN_DOUBT: what a program changes in place looks damaged for a while. */
static int judge(struct tailed *t, int rc)
{
	if (rc >= 0)
		return 0;
	if (rc == CLI_CUT || rc == TT_E_DAMAGED || rc == TT_E_RANGE)
		return IN_DOUBT;
	return cli_fail_error(t->tail->ctx, &t->err);
}

static int look(struct tailed *t)
{
	return judge(t, cli_guarded(get_info, t));
}

static int copy_rows(struct tailed *t, uint64_t row, uint64_t count, void *out)
{
	struct copy copy = { t, row, count, out };

	return judge(t, cli_guarded(get_rows, &copy));
}

/* ---- Knowing it again ---- */

/* The rows before the place are those that were read: 1, others: 0, or as copy_rows(). */
static int is_known(struct tailed *t)
{
	const struct cli_recent *recent = &t->tail->recent;
	uint64_t bytes = recent->count * recent->row_bytes;
	unsigned char *now;
	int rc;

	if (recent->count == 0 || recent->row_bytes != t->info.row_bytes ||
	    t->row < recent->count || t->row - recent->count < t->info.start)
		return 1;
	if (t->row > t->info.end)
		return 0;
	now = malloc((size_t)bytes);
	if (!now)
		return cli_fail_memory(t->tail->ctx);
	rc = copy_rows(t, t->row - recent->count, recent->count, now);
	if (rc == 0)
		rc = memcmp(now, recent->bytes, (size_t)bytes) == 0 ? 1 : 0;
	else if (rc > 0)
		rc = IN_DOUBT;
	free(now);
	return rc;
}

/* Where the tail begins there are rows before it that it did not read. */
static int remember(struct tailed *t)
{
	struct cli_recent *recent = &t->tail->recent;
	uint64_t count = t->row - t->info.start;

	if (count > recent->room)
		count = recent->room;
	recent->count = 0;
	if (count == 0 || t->row > t->info.end)
		return 0;
	if (copy_rows(t, t->row - count, count, recent->bytes) == 0)
		recent->count = count;
	return 0;
}

static int64_t born_ns(const struct stat *st, const char *path)
{
	struct statx stx;

	if (statx(AT_FDCWD, path, 0, STATX_BTIME | STATX_INO, &stx) < 0 ||
	    !(stx.stx_mask & STATX_BTIME) || stx.stx_ino != st->st_ino)
		return 0;
	return (int64_t)stx.stx_btime.tv_sec * 1000000000 + stx.stx_btime.tv_nsec;
}

static struct cli_position place(const struct tailed *t)
{
	const struct cli_recent *recent = &t->tail->recent;
	struct cli_position position = { .row = t->row };

	if (!t->tail->resume || recent->count == 0)
		return position;
	position.inode = t->st.st_ino;
	position.born_ns = t->tail->stored.born_ns;
	position.seen_rows = recent->count;
	position.digest =
		cli_recent_digest(recent->bytes, recent->count * recent->row_bytes);
	return position;
}

/* ---- Opening ---- */

/* 0, CLI_TAIL_AGAIN when the path is gone or no file any more, < 0 with t->err. */
static int try_open(struct tailed *t)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	const struct cli_tail *tail = t->tail;
	enum tt_path_kind kind;
	struct stat after;
	int rc;

	opts.plain = true;
	for (;;) {
		if (stat(tail->path, &t->st) < 0 ||
		    tt_path_kind(tail->path, &kind, &t->err) < 0 ||
		    (kind != TT_PATH_NPYT && kind != TT_PATH_NPY))
			return CLI_TAIL_AGAIN;
		opts.by_pread = kind == TT_PATH_NPY;
		rc = tt_file_open(&t->file, tail->path, &opts, &t->err);
		if (rc < 0)
			return rc == -ENOENT ? CLI_TAIL_AGAIN : rc;
		if (stat(tail->path, &after) == 0 && same_file(&t->st, &after) &&
		    t->st.st_size == after.st_size)
			break;
		tt_file_close(t->file);
		t->file = NULL;
	}
	rc = cli_guarded(get_info, t);
	if (rc == CLI_CUT)
		rc = TT_E_DAMAGED;
	if (rc < 0) {
		tt_file_close(t->file);
		t->file = NULL;
	}
	return rc;
}

/* What was opened is taken: an exit status. */
static int take(struct tailed *t)
{
	struct cli_tail *tail = t->tail;
	uint64_t room = CLI_OUT_ROOM / t->info.row_bytes + 1;

	t->stamp = t->info.update_timestamp;
	if (tail->resume)
		tail->stored.born_ns = born_ns(&t->st, tail->path);
	if (!t->rows) {
		t->room = room;
		t->rows = malloc((size_t)(room * t->info.row_bytes));
		if (!t->rows || cli_recent_init(&tail->recent, t->info.row_bytes) < 0)
			return cli_fail_memory(tail->ctx);
	}
	return cli_tail_type(tail, t->info.dtype, t->info.row_rank, t->info.row_shape);
}

static int open_file(struct tailed *t)
{
	int rc = try_open(t);

	if (rc == CLI_TAIL_AGAIN)
		return rc;
	return rc < 0 ? cli_fail_error(t->tail->ctx, &t->err) : take(t);
}

/* ---- Where to begin ---- */

static int from_start(struct tailed *t, const char *what)
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
static int look_for_cut(struct tailed *t, uint64_t *cut)
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
	if (search.live_rows > 0 && copy_rows(t, first, search.live_rows, live) != 0)
		search.live_rows = 0;
	found = cli_find_cut(&search, cut, &any) && *cut <= t->info.end;
	free(live);
	return found ? 1 : any ? -1 : 0;
}

static int refuse_past_end(struct tailed *t)
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
static int resume_at(struct tailed *t)
{
	struct cli_tail *tail = t->tail;
	const struct cli_position *stored = &tail->stored;
	bool same = stored->inode == t->st.st_ino &&
		    stored->born_ns == born_ns(&t->st, tail->path);
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
	return from_start(t,
			  same ? "rows before the stored position were changed, or cut "
				 "after a power loss; "
			       : "is not the file that the position was stored for; ");
}

static int first_row(struct tailed *t)
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

/* ---- Another file, or the same changed ---- */

/* Another file, or the same grown: open what the path names now.  The old one is kept open
 * until then, so that its inode number is not given to another file.  CLI_TAIL_AGAIN as
 * above. */
static int reopen(struct tailed *t, bool grown)
{
	struct tt_file *old = t->file;
	struct stat old_st = t->st;
	int status, known = 1;

	t->file = NULL;
	status = open_file(t);
	if (status == CLI_TAIL_AGAIN) {
		t->tail->left = old;
		t->tail->left_st = old_st;
		return status;
	}
	tt_file_close(old);
	if (status != 0)
		return status;
	/* a grower that died before its rename left the same file: go on in it */
	if (!same_file(&old_st, &t->st))
		known = grown ? is_known(t) : 0;
	if (known == IN_DOUBT)
		return known;
	return known ? 0 : from_start(t, "was replaced by another file; ");
}

/* It was changed in place and can be read again. */
static int go_on_in(struct tailed *t, const struct stat *old)
{
	int known = same_file(old, &t->st) ? is_known(t) : 0;

	if (known == IN_DOUBT)
		return known;
	if (known) {
		cli_note(t->tail->ctx,
			 "%s: was changed in place by another program; going on at row "
			 "%llu",
			 t->tail->path, (unsigned long long)t->row);
		return 0;
	}
	return from_start(t, same_file(old, &t->st)
				     ? "was overwritten by another program; "
				     : "was replaced by another file; ");
}

/* Cut to nothing: whatever is made of it will be another file. */
static int leave_cut(struct tailed *t)
{
	cli_fail(t->tail->ctx, "%s: was cut to nothing; waiting for what comes there",
		 t->tail->path);
	t->tail->left_cut = true;
	return CLI_TAIL_AGAIN;
}

/* Until it can be read again, or has not changed for a while and is damaged.  0 go on,
 * CLI_TAIL_AGAIN, or *ended with the exit status. */
static int settle(struct tailed *t, bool *ended)
{
	struct stat old = t->st, seen = { 0 };
	int64_t since_ns = cli_now_ns(), slice_ns;
	int status;

	*ended = false;
	for (;;) {
		int rc;

		tt_file_close(t->file);
		t->file = NULL;
		rc = try_open(t);
		if (rc == TT_OK) {
			status = take(t);
			status = status ? status : go_on_in(t, &old);
			*ended = status > 0;
			if (status != IN_DOUBT)
				return status;
		}
		if (rc == CLI_TAIL_AGAIN && stat(t->tail->path, &t->st) < 0)
			return rc;
		if (t->st.st_size == 0)
			return leave_cut(t);
		if (t->st.st_size != seen.st_size || !same_file(&seen, &t->st))
			since_ns = cli_now_ns();
		seen = t->st;
		*ended = true;
		if (rc == CLI_TAIL_AGAIN && cli_now_ns() - since_ns > GRACE_NS)
			rc = tt_file_open(&t->file, t->tail->path, NULL, &t->err);
		if (rc < 0 && cli_now_ns() - since_ns > GRACE_NS)
			return cli_fail_error(t->tail->ctx, &t->err);
		if (cli_tail_idle(t->tail, &slice_ns, &status) != CLI_GO_ON)
			return status;
		*ended = false;
		cli_tail_nap(slice_ns < 5000000 ? slice_ns : 5000000);
	}
}

/* After a time without a file at the path. */
static int come_back(struct tailed *t)
{
	struct cli_tail *tail = t->tail;
	bool same = tail->left && same_file(&tail->left_st, &t->st) && !tail->left_cut;
	int known;

	t->row = tail->position.row;
	known = same ? is_known(t) : 0;
	tt_file_close(tail->left);
	tail->left = NULL;
	tail->left_cut = false;
	if (known == IN_DOUBT)
		return known;
	return known ? 0 : from_start(t, "was replaced by another file; ");
}

/* ---- Rows ---- */

static int write_new(struct tailed *t)
{
	uint64_t count = t->info.end - t->row;
	int status;

	if (count > t->room)
		count = t->room;
	status = copy_rows(t, t->row, count, t->rows);
	if (status)
		return status;
	t->row += count;
	cli_recent_add(&t->tail->recent, t->rows, count);
	return cli_tail_rows(t->tail, t->rows, count, place(t));
}

/* Another program emptied the file and filled it again, or changed rows: its stamps show that
 * it was there.  0, IN_DOUBT or an exit status. */
static int check_stamp(struct tailed *t)
{
	int known;

	if (t->info.tail_words == 0 ||
	    (t->info.tail_words == 5 && (t->info.update_timestamp == t->stamp ||
					 STAMP_OURS(t->info.update_timestamp))))
		return 0;
	known = is_known(t);
	if (known == IN_DOUBT)
		return known;
	t->stamp = t->info.update_timestamp;
	return known ? 0 : from_start(t, "was overwritten by another program; ");
}

/* What was looked at can be believed: 0, IN_DOUBT or an exit status. */
static int check_look(struct tailed *t)
{
	if (was_resized(t) || (t->row > t->info.end && path_moved(t)))
		return IN_DOUBT;
	if (t->row > t->info.end)
		return from_start(t, "");
	if (t->row < t->info.start) {
		cli_tail_lost(t->tail, t->info.start - t->row, false);
		t->row = t->info.start;
		t->tail->recent.count = 0;
	}
	return t->row < t->info.end ? check_stamp(t) : 0;
}

/* All rows there are now; an exit status or IN_DOUBT, *next when to end before. */
static int drain(struct tailed *t, enum cli_next *next)
{
	int status = check_look(t);

	*next = CLI_GO_ON;
	while (t->row < t->info.end && status == 0 && *next == CLI_GO_ON) {
		status = write_new(t);
		if (status == 0)
			*next = cli_tail_busy(t->tail, &status);
	}
	return status;
}

/* ---- Waiting ---- */

/* A plain file changes only by being replaced or adopted, which moves its end. */
static bool plain_changed(const struct tailed *t)
{
	return path_moved(t) || was_resized(t);
}

static int refuse_misaligned(const struct tailed *t)
{
	return cli_fail(t->tail->ctx,
			"%s: its tail crosses a cache line and cannot be followed; "
			"'ticktail resize %s --capacity %llu' mends that",
			t->tail->path, t->tail->path,
			(unsigned long long)t->info.capacity);
}

/* Wait for a slice; an exit status, CLI_TAIL_AGAIN or IN_DOUBT. */
static int wait_for_rows(struct tailed *t, int64_t slice_ns)
{
	struct waiting waiting = { t, slice_ns };
	int rc;

	if (t->info.tail_words == 0) {
		cli_tail_nap(slice_ns);
		if (!plain_changed(t))
			return 0;
		return path_moved(t) ? reopen(t, false) : IN_DOUBT;
	}
	rc = cli_guarded(get_more, &waiting);
	if (rc == 0 && path_moved(t)) {
		/* a grown file was marked before it was replaced */
		waiting.slice_ns = 0;
		rc = cli_guarded(get_more, &waiting);
		if (rc == 0)
			return reopen(t, false);
	}
	if (rc == TT_E_SUPERSEDED) {
		if (!path_moved(t))
			cli_tail_nap(1000000);
		return reopen(t, true);
	}
	/* the wait may be the first to see that the path names another file */
	if (rc == TT_E_CHANGED)
		return reopen(t, false);
	if (rc == TT_E_UNSUPPORTED)
		return refuse_misaligned(t);
	if (rc == CLI_CUT)
		return IN_DOUBT;
	if (rc < 0 && rc != TT_E_DAMAGED && rc != -EINTR)
		return cli_fail_code(t->tail->ctx, t->tail->path, rc);
	return was_resized(t) ? IN_DOUBT : 0;
}

static int follow(struct tailed *t)
{
	for (;;) {
		enum cli_next next = CLI_GO_ON;
		int64_t slice_ns;
		int status = look(t);

		if (status == 0)
			status = drain(t, &next);
		if (status == 0 && next == CLI_GO_ON) {
			if (cli_tail_drained(t->tail, &slice_ns, &status) != CLI_GO_ON)
				return status;
			status = wait_for_rows(t, slice_ns);
		}
		if (status == IN_DOUBT) {
			bool ended;

			status = settle(t, &ended);
			if (ended)
				return status;
		}
		if (status != 0 || next != CLI_GO_ON)
			return status;
	}
}

int cli_tail_file(struct cli_tail *tail, bool again)
{
	struct tailed t = { .tail = tail };
	int status = open_file(&t);

	if (status == 0)
		status = again ? come_back(&t) : first_row(&t);
	if (status == 0) {
		cli_tail_start(tail, place(&t));
		status = follow(&t);
	} else if (status == IN_DOUBT) {
		status = CLI_TAIL_AGAIN;
	}
	tt_file_close(t.file);
	free(t.rows);
	return status;
}
