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
#include "tail_file.h"

#define IN_DOUBT (-2) /* the file was changed where it is, or is none any more */
#define GRACE_NS INT64_C(1000000000)

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool path_moved(const struct cli_tailed *t)
{
	struct stat st;

	return stat(t->tail->path, &st) == 0 && !same_file(&st, &t->st);
}

/* The file itself got another size. */
static bool was_resized(const struct cli_tailed *t)
{
	struct stat st;

	return stat(t->tail->path, &st) == 0 && same_file(&st, &t->st) &&
	       st.st_size != t->st.st_size;
}

/* ---- Calls that look into the mapping ---- */

static int get_info(void *arg)
{
	struct cli_tailed *t = arg;

	return tt_file_info(t->file, &t->info, &t->err);
}

struct copy {
	struct cli_tailed *t;
	uint64_t row, count;
	void *out;
};

static int get_rows(void *arg)
{
	struct copy *copy = arg;
	struct cli_tailed *t = copy->t;

	return tt_file_copy(t->file, copy->row - t->info.start, copy->count, copy->out,
			    &t->err);
}

struct waiting {
	struct cli_tailed *t;
	int64_t slice_ns;
};

static int get_more(void *arg)
{
	struct waiting *waiting = arg;
	struct cli_tailed *t = waiting->t;

	return tt_file_wait(t->file, t->row - t->info.start, t->tail->wait,
			    waiting->slice_ns);
}

/* An exit status, or IN_DOUBT: what a program changes in place looks damaged for a while. */
static int judge(struct cli_tailed *t, int rc)
{
	if (rc >= 0)
		return 0;
	if (rc == CLI_CUT || rc == TT_E_DAMAGED || rc == TT_E_RANGE)
		return IN_DOUBT;
	return cli_fail_error(t->tail->ctx, &t->err);
}

static int look(struct cli_tailed *t)
{
	return judge(t, cli_guarded(get_info, t));
}

int cli_tailed_copy(struct cli_tailed *t, uint64_t row, uint64_t count, void *out)
{
	struct copy copy = { t, row, count, out };

	return judge(t, cli_guarded(get_rows, &copy));
}

/* ---- Knowing it again ---- */

/* The rows before the place are those that were read: 1, others: 0, or as cli_tailed_copy(). */
static int is_known(struct cli_tailed *t)
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
	rc = cli_tailed_copy(t, t->row - recent->count, recent->count, now);
	if (rc == 0)
		rc = memcmp(now, recent->bytes, (size_t)bytes) == 0 ? 1 : 0;
	else if (rc > 0)
		rc = IN_DOUBT;
	free(now);
	return rc;
}

static struct cli_position place(const struct cli_tailed *t)
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
static int try_open(struct cli_tailed *t)
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
static int take(struct cli_tailed *t)
{
	struct cli_tail *tail = t->tail;
	uint64_t room = CLI_OUT_ROOM / t->info.row_bytes + 1;

	t->stamp = t->info.update_timestamp;
	if (tail->resume)
		tail->stored.born_ns = cli_tailed_born_ns(&t->st, tail->path);
	if (!t->rows) {
		t->room = room;
		t->rows = malloc((size_t)(room * t->info.row_bytes));
		if (!t->rows || cli_recent_init(&tail->recent, t->info.row_bytes) < 0)
			return cli_fail_memory(tail->ctx);
	}
	return cli_tail_type(tail, t->info.dtype, t->info.row_rank, t->info.row_shape);
}

static int open_file(struct cli_tailed *t)
{
	int rc = try_open(t);

	if (rc == CLI_TAIL_AGAIN)
		return rc;
	return rc < 0 ? cli_fail_error(t->tail->ctx, &t->err) : take(t);
}

/* ---- Another file, or the same changed ---- */

/* Another file, or the same grown: open what the path names now.  The old one is kept open
 * until then, so that its inode number is not given to another file.  CLI_TAIL_AGAIN as
 * above. */
static int reopen(struct cli_tailed *t, bool grown)
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
	return known ? 0 : cli_tailed_from_start(t, "was replaced by another file; ");
}

/* It was changed in place and can be read again. */
static int go_on_in(struct cli_tailed *t, const struct stat *old)
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
	return cli_tailed_from_start(t, same_file(old, &t->st)
						? "was overwritten by another program; "
						: "was replaced by another file; ");
}

/* Cut to nothing: whatever is made of it will be another file. */
static int leave_cut(struct cli_tailed *t)
{
	cli_fail(t->tail->ctx, "%s: was cut to nothing; waiting for what comes there",
		 t->tail->path);
	t->tail->left_cut = true;
	return CLI_TAIL_AGAIN;
}

/* Until it can be read again, or has not changed for a while and is damaged.  0 go on,
 * CLI_TAIL_AGAIN, or *ended with the exit status. */
static int settle(struct cli_tailed *t, bool *ended)
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
static int come_back(struct cli_tailed *t)
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
	return known ? 0 : cli_tailed_from_start(t, "was replaced by another file; ");
}

/* ---- Rows ---- */

static int write_new(struct cli_tailed *t)
{
	uint64_t count = t->info.end - t->row;
	int status;

	if (count > t->room)
		count = t->room;
	status = cli_tailed_copy(t, t->row, count, t->rows);
	if (status)
		return status;
	t->row += count;
	cli_recent_add(&t->tail->recent, t->rows, count);
	return cli_tail_rows(t->tail, t->rows, count, place(t));
}

/* Another program emptied the file and filled it again, or changed rows: its stamps show that
 * it was there.  0, IN_DOUBT or an exit status. */
static int check_stamp(struct cli_tailed *t)
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
	return known ? 0
		     : cli_tailed_from_start(t, "was overwritten by another program; ");
}

/* What was looked at can be believed: 0, IN_DOUBT or an exit status. */
static int check_look(struct cli_tailed *t)
{
	if (was_resized(t) || (t->row > t->info.end && path_moved(t)))
		return IN_DOUBT;
	if (t->row > t->info.end)
		return cli_tailed_from_start(t, "");
	if (t->row < t->info.start) {
		cli_tail_lost(t->tail, t->info.start - t->row, false);
		t->row = t->info.start;
		t->tail->recent.count = 0;
	}
	return t->row < t->info.end ? check_stamp(t) : 0;
}

/* All rows there are now; an exit status or IN_DOUBT, *next when to end before. */
static int drain(struct cli_tailed *t, enum cli_next *next)
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
static bool plain_changed(const struct cli_tailed *t)
{
	return path_moved(t) || was_resized(t);
}

static int refuse_misaligned(const struct cli_tailed *t)
{
	return cli_fail(t->tail->ctx,
			"%s: its tail crosses a cache line and cannot be followed; "
			"'ticktail resize %s --capacity %llu' mends that",
			t->tail->path, t->tail->path,
			(unsigned long long)t->info.capacity);
}

/* Wait for a slice; an exit status, CLI_TAIL_AGAIN or IN_DOUBT. */
static int wait_for_rows(struct cli_tailed *t, int64_t slice_ns)
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

static int follow(struct cli_tailed *t)
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
	struct cli_tailed t = { .tail = tail };
	int status = open_file(&t);

	if (status == 0)
		status = again ? come_back(&t) : cli_tailed_first_row(&t);
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
