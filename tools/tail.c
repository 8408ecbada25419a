/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways of tail share.  Invariant: a position is saved only after the rows before it
 * were written out, so that a row may come twice after a crash and is never missing. */
#include "tail.h"

#include <stdlib.h>
#include <time.h>

#include "progress.h"
#include "signals.h"

#define SECOND_NS INT64_C(1000000000)
#define SLICE_NS INT64_C(100000000) /* signals are looked at so often */

static int flush(struct cli_tail *tail)
{
	int status = cli_out_flush(&tail->out);

	/* rows as npy wait for their number */
	if (status == 0 && (tail->format != CLI_NPY || tail->ended))
		tail->written = tail->position;
	return status;
}

static int save(struct cli_tail *tail)
{
	int status = flush(tail);

	if (status || !tail->moved || !tail->resume)
		return status;
	if (tail->format == CLI_NPY && !tail->ended)
		return 0;
	status = cli_position_save(tail->ctx, tail->resume, &tail->position);
	tail->moved = status != 0;
	tail->saved_ns = cli_now_ns();
	return status;
}

int cli_tail_type(struct cli_tail *tail, const struct tt_dtype *dtype, uint32_t rank,
		  const uint64_t *shape)
{
	struct cli_rowtype type;
	struct tt_error err;
	bool same;

	if (cli_rowtype_init(&type, dtype, rank, shape, &err) < 0)
		return cli_fail_error(tail->ctx, &err);
	if (tail->writer_open) {
		same = tt_dtype_equal(type.row, tail->type.row);
		if (!same)
			cli_fail(tail->ctx, "%s: is of dtype %s now, it was %s",
				 tail->path, tt_dtype_descr(type.row),
				 tt_dtype_descr(tail->type.row));
		cli_rowtype_fini(&type);
		return same ? 0 : CLI_EXIT_FAILED;
	}
	tail->type = type;
	if (tail->fields &&
	    cli_pick_init(&tail->pick, &tail->type, tail->fields, &err) < 0)
		return cli_fail(tail->ctx, "%s: %s", tail->path, err.text);
	tail->picked_rows = 65536 / tail->type.bytes + 1;
	if (tail->fields) {
		tail->picked = malloc((size_t)tail->picked_rows * tail->pick.type.bytes);
		if (!tail->picked)
			return cli_fail_memory(tail->ctx);
	}
	tail->writer_open = true;
	return cli_writer_open(&tail->writer, &tail->out,
			       tail->fields ? &tail->pick.type : &tail->type,
			       tail->format, CLI_ROWS_UNKNOWN);
}

void cli_tail_start(struct cli_tail *tail, struct cli_position position)
{
	tail->position = tail->written = position;
	tail->moved = true;
}

int cli_tail_rows(struct cli_tail *tail, const void *rows, uint64_t count,
		  struct cli_position position)
{
	const char *at = rows;
	int status = 0;

	while (count > 0 && status == 0) {
		uint64_t n = count;

		if (tail->fields) {
			if (n > tail->picked_rows)
				n = tail->picked_rows;
			cli_pick_rows(&tail->pick, at, tail->type.bytes, (size_t)n,
				      tail->picked);
			status = cli_writer_put(&tail->writer, tail->picked, n);
		} else {
			status = cli_writer_put(&tail->writer, at, n);
		}
		at += n * tail->type.bytes;
		count -= n;
	}
	tail->position = position;
	tail->moved = true;
	tail->row_ns = cli_now_ns();
	return status;
}

void cli_tail_cut(struct cli_tail *tail, uint64_t count)
{
	if (count > 0)
		cli_fail(tail->ctx, "%s: %llu rows were cut after the power loss",
			 tail->path, (unsigned long long)count);
}

void cli_tail_lost(struct cli_tail *tail, uint64_t count, bool more)
{
	/* said with -q too: it is not what was asked for */
	if (count > 0 || more)
		cli_fail(tail->ctx,
			 "%s: lost %s%llu rows: their files were gone before they were "
			 "read",
			 tail->path, more ? "at least " : "", (unsigned long long)count);
}

bool cli_tail_waits(const struct cli_tail *tail)
{
	return tail->follow || tail->timeout_ns >= 0;
}

int cli_tail_end(struct cli_tail *tail)
{
	int status = tail->writer_open ? cli_writer_end(&tail->writer) : 0;

	tail->ended = true;
	return status ? status : save(tail);
}

int cli_tail_stop(struct cli_tail *tail)
{
	return tail->resume ? cli_position_save(tail->ctx, tail->resume, &tail->written)
			    : 0;
}

static enum cli_next ends(struct cli_tail *tail, int *status)
{
	if (!cli_signals_seen())
		return CLI_GO_ON;
	*status = save(tail);
	return CLI_END;
}

enum cli_next cli_tail_busy(struct cli_tail *tail, int *status)
{
	if (tail->row_ns - tail->saved_ns >= SECOND_NS) {
		*status = save(tail);
		tail->saved_ns = tail->row_ns;
		if (*status)
			return CLI_END;
	}
	return ends(tail, status);
}

enum cli_next cli_tail_idle(struct cli_tail *tail, int64_t *slice_ns, int *status)
{
	int64_t now_ns = cli_now_ns(),
		left_ns = tail->timeout_ns - (now_ns - tail->row_ns);

	*slice_ns = SLICE_NS;
	*status = now_ns - tail->saved_ns >= SECOND_NS ? save(tail) : flush(tail);
	if (*status)
		return CLI_END;
	if (tail->timeout_ns >= 0 && left_ns <= 0) {
		*status = save(tail);
		return CLI_END;
	}
	if (tail->timeout_ns >= 0 && left_ns < SLICE_NS)
		*slice_ns = left_ns;
	return ends(tail, status);
}

enum cli_next cli_tail_drained(struct cli_tail *tail, int64_t *slice_ns, int *status)
{
	if (!tail->follow)
		tail->timeout_ns = 0;
	return cli_tail_idle(tail, slice_ns, status);
}

void cli_tail_nap(int64_t ns)
{
	struct timespec pause = { ns / SECOND_NS, ns % SECOND_NS };

	nanosleep(&pause, NULL);
}
