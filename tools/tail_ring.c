/* SPDX-License-Identifier: Apache-2.0 */
/* tail of a ring, across its files. */
#include <errno.h>
#include <ticktail/status.h>

#include "progress.h"
#include "tail.h"

#define LOOK_NS INT64_C(1000000000) /* whether the directory is still the same */

struct tailed {
	struct cli_tail *tail;
	struct tt_ring_reader *reader;
	struct stat st; /* of the directory when it was opened */
	int64_t looked_ns;
};

static int open_ring(struct tailed *t)
{
	struct tt_ring_reader_opts opts = TT_RING_READER_OPTS_INIT;
	struct cli_tail *tail = t->tail;
	struct tt_error err;

	opts.queued_only = tail->queued;
	if (stat(tail->path, &t->st) < 0)
		return CLI_TAIL_AGAIN;
	if (tt_ring_reader_open(&t->reader, tail->path, &opts, &err) < 0)
		/* a ring without a file is one being made */
		return err.code == -ENOENT && cli_tail_waits(tail)
			       ? CLI_TAIL_AGAIN
			       : cli_fail_error(tail->ctx, &err);
	t->looked_ns = cli_now_ns();
	if (tail->name &&
	    tt_ring_reader_register(t->reader, *tail->name ? tail->name : NULL, &err) < 0)
		cli_note(tail->ctx, "not seen by status: %s", err.text);
	return cli_tail_type(tail, tt_ring_reader_dtype(t->reader),
			     tt_ring_reader_row_rank(t->reader),
			     tt_ring_reader_row_shape(t->reader));
}

static int first_row(struct tailed *t, bool again)
{
	struct cli_tail *tail = t->tail;
	struct tt_error err;
	int rc;

	if (tail->has_stored) {
		tail->has_stored = false;
		if (!tail->stored.in_ring)
			return cli_fail(tail->ctx,
					"%s: holds a position in a single file, %s is "
					"a ring",
					tail->resume, tail->path);
		rc = tt_ring_seek(t->reader,
				  (struct tt_pos){ tail->stored.file, tail->stored.row },
				  &err);
		if (rc == TT_OK)
			cli_tail_lost(tail, tt_ring_reader_lost(t->reader));
	} else if (again || tail->from_start) {
		rc = tt_ring_seek_first(t->reader, &err);
	} else {
		rc = tt_ring_seek_tail(t->reader, tail->lines, &err);
	}
	return rc < 0 ? cli_fail_error(tail->ctx, &err) : 0;
}

static struct cli_position place(const struct tailed *t)
{
	struct tt_pos pos = tt_ring_tell(t->reader);

	return (struct cli_position){ true, pos.file, pos.row };
}

/* All rows there are now. */
static int drain(struct tailed *t, enum cli_next *next)
{
	uint64_t most = CLI_OUT_ROOM / tt_ring_reader_row_bytes(t->reader) + 1;
	struct tt_view view;
	struct tt_error err;
	int status = 0;

	*next = CLI_GO_ON;
	while (status == 0 && *next == CLI_GO_ON) {
		int rc = tt_ring_read(t->reader, most, 0, &view, NULL, &err);

		cli_tail_lost(t->tail, tt_ring_reader_lost(t->reader));
		if (rc < 0)
			return cli_fail_error(t->tail->ctx, &err);
		if (rc == 0)
			return 0;
		status = cli_tail_rows(t->tail, view.rows, view.count, place(t));
		if (status == 0)
			*next = cli_tail_busy(t->tail, &status);
	}
	return status;
}

/* Once a second: another directory at the path is another ring. */
static bool was_replaced(struct tailed *t)
{
	int64_t now_ns = cli_now_ns();
	struct stat st;

	if (now_ns - t->looked_ns < LOOK_NS)
		return false;
	t->looked_ns = now_ns;
	return stat(t->tail->path, &st) == 0 &&
	       (st.st_ino != t->st.st_ino || st.st_dev != t->st.st_dev);
}

static int follow(struct tailed *t)
{
	struct tt_error err;

	for (;;) {
		enum cli_next next;
		int64_t slice_ns;
		int status = drain(t, &next), rc;

		if (status || next != CLI_GO_ON)
			return status;
		if (cli_tail_drained(t->tail, &slice_ns, &status) != CLI_GO_ON)
			return status;
		rc = tt_ring_wait(t->reader, t->tail->wait, slice_ns, &err);
		if (rc < 0 && rc != -EINTR)
			return cli_fail_error(t->tail->ctx, &err);
		if (rc == 0 && was_replaced(t)) {
			cli_fail(t->tail->ctx,
				 "%s: was replaced; reading it from its start",
				 t->tail->path);
			return CLI_TAIL_AGAIN;
		}
	}
}

int cli_tail_ring(struct cli_tail *tail, bool again)
{
	struct tailed t = { .tail = tail };
	int status = open_ring(&t);

	if (status == 0)
		status = first_row(&t, again);
	if (status == 0) {
		cli_tail_start(tail, place(&t));
		status = follow(&t);
	}
	if (t.reader)
		tt_ring_reader_close(t.reader);
	return status;
}
