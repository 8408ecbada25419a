/* SPDX-License-Identifier: Apache-2.0 */
/* tail of a single file, live or plain.
 *
 * The place is the row from 0 of the file.  A file that was grown by a copy says so in its
 * magic word: the new one is gone on with at the same row.  Whatever else stands at the path
 * later is another file and read from its start. */
#include <errno.h>
#include <string.h>
#include <ticktail/file.h>

#include "tail.h"

struct tailed {
	struct cli_tail *tail;
	struct tt_file *file;
	struct tt_file_info info; /* as looked at last */
	struct stat st;		  /* of the path when it was opened */
	uint64_t row;		  /* next one, from 0 of the file */
};

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Open the path together with the inode that it named; an exit status, or CLI_TAIL_AGAIN when
 * it is gone or no file any more. */
static int open_file(struct tailed *t)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	const struct cli_tail *tail = t->tail;
	enum tt_path_kind kind;
	struct tt_error err;
	struct stat after;

	opts.plain = true;
	for (;;) {
		if (stat(tail->path, &t->st) < 0 ||
		    tt_path_kind(tail->path, &kind, &err) < 0 ||
		    (kind != TT_PATH_NPYT && kind != TT_PATH_NPY))
			return CLI_TAIL_AGAIN;
		opts.by_pread = kind == TT_PATH_NPY;
		if (tt_file_open(&t->file, tail->path, &opts, &err) < 0)
			return err.code == -ENOENT ? CLI_TAIL_AGAIN
						   : cli_fail_error(tail->ctx, &err);
		if (stat(tail->path, &after) == 0 && same_file(&t->st, &after))
			break;
		tt_file_close(t->file);
		t->file = NULL;
	}
	if (tt_file_info(t->file, &t->info, &err) < 0)
		return cli_fail_error(tail->ctx, &err);
	return cli_tail_type(t->tail, t->info.dtype, t->info.row_rank, t->info.row_shape);
}

static int look(struct tailed *t)
{
	struct tt_error err;

	return tt_file_info(t->file, &t->info, &err) < 0
		       ? cli_fail_error(t->tail->ctx, &err)
		       : 0;
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
		if (tail->stored.row > t->info.end)
			return cli_fail(
				tail->ctx,
				"%s: position %llu lies past the end of %s, which has "
				"rows up to %llu",
				tail->resume, (unsigned long long)tail->stored.row,
				tail->path, (unsigned long long)t->info.end);
		t->row = tail->stored.row;
		return 0;
	}
	t->row = t->info.start;
	if (!tail->from_start && rows > tail->lines)
		t->row = t->info.end - tail->lines;
	return 0;
}

static int write_new(struct tailed *t)
{
	uint64_t most = CLI_OUT_ROOM / t->info.row_bytes + 1;
	uint64_t count = t->info.end - t->row;
	struct cli_position position = { 0 };
	struct tt_view view = { 0 };
	int rc;

	if (count > most)
		count = most;
	rc = tt_file_view(t->file, t->row - t->info.start, count, &view);
	if (rc < 0)
		return cli_fail_code(t->tail->ctx, t->tail->path, rc);
	t->row += view.count;
	position.row = t->row;
	return cli_tail_rows(t->tail, view.rows, view.count, position);
}

/* Plain files in either order of memory are copied. */
static int copy_new(struct tailed *t)
{
	char rows[CLI_OUT_ROOM];
	uint64_t most = sizeof(rows) / t->info.row_bytes, count = t->info.end - t->row;
	struct cli_position position = { 0 };
	struct tt_error err;

	if (most == 0)
		return write_new(t);
	if (count > most)
		count = most;
	if (tt_file_copy(t->file, t->row - t->info.start, count, rows, &err) < 0)
		return cli_fail_error(t->tail->ctx, &err);
	t->row += count;
	position.row = t->row;
	return cli_tail_rows(t->tail, rows, count, position);
}

/* All rows there are now; an exit status, *next when to end before. */
static int drain(struct tailed *t, enum cli_next *next)
{
	int status = 0;

	*next = CLI_GO_ON;
	if (t->row > t->info.end) {
		cli_fail(t->tail->ctx,
			 "%s: its end went back from row %llu to %llu; reading it "
			 "from its start",
			 t->tail->path, (unsigned long long)t->row,
			 (unsigned long long)t->info.end);
		t->row = t->info.start;
	}
	if (t->row < t->info.start) {
		cli_tail_lost(t->tail, t->info.start - t->row);
		t->row = t->info.start;
	}
	while (t->row < t->info.end && status == 0 && *next == CLI_GO_ON) {
		status = t->info.tail_words > 0 ? write_new(t) : copy_new(t);
		if (status == 0)
			*next = cli_tail_busy(t->tail, &status);
	}
	return status;
}

static void say_replaced(const struct cli_tail *tail)
{
	cli_fail(tail->ctx, "%s: was replaced by another file; reading it from its start",
		 tail->path);
}

/* Another file, or the same grown: open what the path names now.  The old one is kept open
 * until then, so that its inode number is not given to another file.  CLI_TAIL_AGAIN as
 * above. */
static int reopen(struct tailed *t, bool grown)
{
	struct tt_file *old = t->file;
	struct stat old_st = t->st;
	int status;

	t->file = NULL;
	status = open_file(t);
	if (status == CLI_TAIL_AGAIN) {
		t->tail->left = old;
		t->tail->left_st = old_st;
		return status;
	}
	tt_file_close(old);
	/* a grower that died before its rename left the same file: go on in it */
	if (status == 0 && !grown && !same_file(&old_st, &t->st)) {
		say_replaced(t->tail);
		t->row = t->info.start;
	}
	return status;
}

/* After a time without a file at the path. */
static void come_back(struct tailed *t)
{
	struct cli_tail *tail = t->tail;

	if (tail->left && same_file(&tail->left_st, &t->st)) {
		t->row = tail->position.row;
	} else {
		say_replaced(tail);
		t->row = t->info.start;
	}
	tt_file_close(tail->left);
	tail->left = NULL;
}

/* A plain file changes only by being replaced or adopted, which moves its end. */
static bool plain_changed(const struct tailed *t)
{
	struct stat st;

	return stat(t->tail->path, &st) == 0 &&
	       (!same_file(&st, &t->st) || st.st_size != t->st.st_size);
}

static bool path_moved(const struct tailed *t)
{
	struct stat st;

	return stat(t->tail->path, &st) == 0 && !same_file(&st, &t->st);
}

/* Wait for a slice; an exit status or CLI_TAIL_AGAIN. */
static int wait_for_rows(struct tailed *t, int64_t slice_ns)
{
	uint64_t seen = t->row - t->info.start;
	int rc;

	if (t->info.tail_words == 0) {
		cli_tail_nap(slice_ns);
		return plain_changed(t) ? reopen(t, false) : 0;
	}
	rc = tt_file_wait(t->file, seen, t->tail->wait, slice_ns);
	if (rc == 0 && path_moved(t)) {
		/* a grown file was marked before it was replaced */
		rc = tt_file_wait(t->file, seen, t->tail->wait, 0);
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
		return cli_fail(
			t->tail->ctx,
			"%s: its tail crosses a cache line and cannot be followed; "
			"'ticktail resize %s --capacity %llu' mends that",
			t->tail->path, t->tail->path,
			(unsigned long long)t->info.capacity);
	if (rc < 0 && rc != TT_E_DAMAGED && rc != -EINTR)
		return cli_fail_code(t->tail->ctx, t->tail->path, rc);
	return 0;
}

static int follow(struct tailed *t)
{
	for (;;) {
		enum cli_next next;
		int64_t slice_ns;
		int status = drain(t, &next);

		if (status || next != CLI_GO_ON)
			return status;
		if (cli_tail_drained(t->tail, &slice_ns, &status) != CLI_GO_ON)
			return status;
		status = wait_for_rows(t, slice_ns);
		if (status == 0)
			status = look(t);
		if (status)
			return status;
	}
}

int cli_tail_file(struct cli_tail *tail, bool again)
{
	struct tailed t = { .tail = tail };
	int status = open_file(&t);

	if (status == 0 && again)
		come_back(&t);
	else if (status == 0)
		status = first_row(&t);
	if (status == 0) {
		cli_tail_start(tail, (struct cli_position){ .row = t.row });
		status = follow(&t);
	}
	tt_file_close(t.file);
	return status;
}
