/* SPDX-License-Identifier: Apache-2.0 */
/* tail of a ring, across its files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <ticktail/status.h>

#include "guard.h"
#include "progress.h"
#include "tail.h"

#define HELD_UP_NS INT64_C(100000000)
#define HELD_UP_MOST 30u
#define LOOK_NS INT64_C(1000000000) /* whether the directory is still the same */

struct tailed {
	struct cli_tail *tail;
	struct tt_ring_reader *reader;
	struct stat st; /* of the directory when it was opened */
	int64_t looked_ns;
	unsigned char *rows; /* copied out of a view; owned */
	unsigned held_up;    /* naps before a damaged file */
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

static void say_lost(struct tailed *t)
{
	bool more = tt_ring_reader_lost_more(t->reader);

	cli_tail_cut(t->tail, tt_ring_reader_cut(t->reader));
	cli_tail_lost(t->tail, tt_ring_reader_lost(t->reader), more);
}

/* The file of the stored place is there: a ring whose settings were made again got another id,
 * its files kept their names. */
static bool has_file(const struct tailed *t, uint64_t name)
{
	struct tt_ring_info info;
	bool found = false;

	if (tt_ring_info(t->tail->path, &info, NULL) < 0)
		return false;
	for (size_t i = 0; i < info.file_count; i++)
		found |= info.files[i].name == name;
	tt_ring_info_free(&info);
	return found;
}

static int resume_at(struct tailed *t, struct tt_error *err)
{
	const struct cli_position *stored = &t->tail->stored;
	struct tt_pos pos = { stored->file, stored->row };
	uint64_t number = stored->number;
	uint8_t id[16];
	int rc;

	if (stored->has_id && tt_ring_reader_id(t->reader, id) &&
	    memcmp(id, stored->id, sizeof(id)) != 0) {
		if (!has_file(t, pos.file)) {
			cli_fail(t->tail->ctx,
				 "%s: is not the ring that the position in %s was stored "
				 "for; reading it from its start",
				 t->tail->path, t->tail->resume);
			return tt_ring_seek_first(t->reader, err);
		}
		number = TT_NUMBER_UNKNOWN;
	}
	rc = tt_ring_seek_number(t->reader, pos, number, err);
	if (rc == TT_OK)
		say_lost(t);
	return rc;
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
		rc = resume_at(t, &err);
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
	struct cli_position position = { .in_ring = true,
					 .file = pos.file,
					 .row = pos.row,
					 .number = tt_ring_tell_number(t->reader) };

	position.has_id = tt_ring_reader_id(t->reader, position.id);
	return position;
}

/* ---- Calls that look into the mapping ---- */

/* npyt may begin to write beside us and cut files; what the reader gives is right, but the last
 * look at a file that was the newest may come too late. */
struct reading {
	struct tailed *t;
	uint64_t most;
	unsigned char *rows;
	uint64_t count;
	struct tt_error err;
};

static int get_rows(void *arg)
{
	struct reading *reading = arg;
	struct tt_view view;
	int rc = tt_ring_read(reading->t->reader, reading->most, 0, &view, NULL,
			      &reading->err);

	reading->count = view.count;
	if (rc == 1)
		memcpy(reading->rows, view.rows,
		       (size_t)(view.count *
				tt_ring_reader_row_bytes(reading->t->reader)));
	return rc;
}

struct waiting {
	struct tailed *t;
	int64_t slice_ns;
	struct tt_error err;
};

static int get_more(void *arg)
{
	struct waiting *waiting = arg;

	return tt_ring_wait(waiting->t->reader, waiting->t->tail->wait, waiting->slice_ns,
			    &waiting->err);
}

/* A reader that was left in the middle of a look is not to be used any more. */
static int start_over(struct tailed *t)
{
	const struct cli_position at = t->tail->position;
	struct tt_error err;
	int status;

	tt_ring_reader_close(t->reader);
	t->reader = NULL;
	status = open_ring(t);
	if (status == 0 &&
	    tt_ring_seek_number(t->reader, (struct tt_pos){ at.file, at.row }, at.number,
				&err) < 0)
		status = cli_fail_error(t->tail->ctx, &err);
	return status;
}

static void say_passed(struct tailed *t)
{
	const char *words = tt_ring_reader_passed(t->reader);

	if (*words)
		cli_fail(t->tail->ctx, "%s", words);
}

/* All rows there are now. */
static int drain(struct tailed *t, enum cli_next *next)
{
	struct reading reading = {
		.t = t,
		.most = CLI_OUT_ROOM / tt_ring_reader_row_bytes(t->reader) + 1,
		.rows = t->rows,
	};
	int status = 0;

	*next = CLI_GO_ON;
	while (status == 0 && *next == CLI_GO_ON) {
		int rc = cli_guarded(get_rows, &reading);

		if (rc == CLI_CUT) {
			status = start_over(t);
			continue;
		}
		say_lost(t);
		say_passed(t);
		if (rc < 0)
			return cli_fail_error(t->tail->ctx, &reading.err);
		if (rc == 0)
			return 0;
		status = cli_tail_rows(t->tail, t->rows, reading.count, place(t));
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

static int say_replaced(const struct tailed *t)
{
	cli_fail(t->tail->ctx, "%s: was replaced; reading it from its start",
		 t->tail->path);
	return CLI_TAIL_AGAIN;
}

/* A damaged file may be one that npyt is writing; the reader waits until it is none before it
 * goes on to the rows behind it. */
static bool is_held_up(struct tailed *t)
{
	struct tt_ring_info info;
	struct tt_error err;
	uint64_t at = tt_ring_tell(t->reader).file;
	bool damaged = false, more = false;

	if (t->tail->follow || t->held_up == HELD_UP_MOST ||
	    tt_ring_info(t->tail->path, &info, &err) < 0)
		return false;
	for (size_t i = 0; i < info.file_count; i++) {
		const struct tt_ring_file *file = &info.files[i];

		damaged = damaged || (file->name >= at && file->damaged);
		more = more || (damaged && file->start < file->end);
	}
	tt_ring_info_free(&info);
	t->held_up++;
	return more;
}

static int follow(struct tailed *t)
{
	for (;;) {
		struct waiting waiting = { .t = t };
		enum cli_next next;
		int status = drain(t, &next), rc;

		if (status || next != CLI_GO_ON)
			return status;
		if (is_held_up(t))
			waiting.slice_ns = HELD_UP_NS;
		else if (cli_tail_drained(t->tail, &waiting.slice_ns, &status) !=
			 CLI_GO_ON)
			return status;
		rc = cli_guarded(get_more, &waiting);
		if (rc == CLI_CUT) {
			status = start_over(t);
			if (status)
				return status;
			continue;
		}
		if (rc == TT_E_SUPERSEDED || (rc == 0 && was_replaced(t)))
			return say_replaced(t);
		if (rc < 0 && rc != -EINTR)
			return cli_fail_error(t->tail->ctx, &waiting.err);
	}
}

int cli_tail_ring(struct cli_tail *tail, bool again)
{
	struct tailed t = { .tail = tail };
	int status = open_ring(&t);

	if (status == 0)
		status = first_row(&t, again);
	if (status == 0) {
		uint64_t bytes = tt_ring_reader_row_bytes(t.reader);

		t.rows = malloc((size_t)((CLI_OUT_ROOM / bytes + 1) * bytes));
		if (!t.rows)
			status = cli_fail_memory(tail->ctx);
	}
	if (status == 0) {
		cli_tail_start(tail, place(&t));
		status = follow(&t);
	}
	if (t.reader)
		tt_ring_reader_close(t.reader);
	free(t.rows);
	return status;
}
