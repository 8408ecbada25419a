/* SPDX-License-Identifier: Apache-2.0 */
/* Appending to a ring.  Owns when a file is left for the next: when it is full, when a batch
 * is to stay whole, at a time of day, on request.  Invariant: rows are published in the order
 * in which they were given, each once; what a failed roll kept out was not published. */
#include "live/ring_writer.h"

#include <stdlib.h>
#include "base/failpoint.h"
#include "base/num.h"

void tt_ring_writer_close(struct tt_ring_writer *writer)
{
	if (!writer)
		return;
	if (writer->live.fd >= 0 && writer->dirty && writer->sync_ms != TT_SYNC_NONE)
		tti_writer_sync(writer, NULL); /* best effort: sync tells those who ask */
	if (writer->set_guard.fd) {
		tti_pid_store(tti_ring_words(&writer->ring), 0);
		tti_writer_wake(writer, true); /* sleepers look who writes now */
		tti_fork_guard_remove(&writer->set_guard);
	}
	tti_live_close(&writer->live);
	tti_ring_close(&writer->ring);
	tti_ring_unlock(&writer->lock);
	free(writer);
}

const char *tt_ring_writer_repaired(const struct tt_ring_writer *writer)
{
	return writer->repair.text;
}

const struct tt_dtype *tt_ring_writer_dtype(const struct tt_ring_writer *writer)
{
	return writer->live.npy.dtype;
}

uint64_t tt_ring_writer_row_bytes(const struct tt_ring_writer *writer)
{
	return writer->live.row_bytes;
}

struct tt_pos tt_ring_writer_pos(const struct tt_ring_writer *writer)
{
	return (struct tt_pos){ writer->name, writer->live.end };
}

/* A request that could not be served is not tried again at every append, only when idle: a
 * full disk must not make a feed with room left crawl. */
static void serve_request(struct tt_ring_writer *writer)
{
	struct tti_words *words = tti_ring_words(&writer->ring);
	uint64_t request = tti_request_peek(words);
	int rc = writer->live.end > 0 ? tti_writer_roll(writer, NULL) : TT_OK;

	writer->served = request;
	writer->seal_failed = rc < 0;
	if (rc < 0)
		return;
	TTI_FAILPOINT("ring.seal.before_answer");
	tti_answer_store(tti_ring_words(&writer->ring), request);
	tti_writer_wake(writer, true);
}

static bool is_roll_due(const struct tt_ring_writer *writer)
{
	return writer->roll_due_ns != INT64_MAX && writer->live.end > 0 &&
	       writer->coarse_ns() >= writer->roll_due_ns;
}

/* What comes before rows: a seal request, a roll by time, room for count rows. */
static int make_room(struct tt_ring_writer *writer, uint64_t count, struct tt_error *err)
{
	uint64_t room;

	if (TTI_UNLIKELY(tti_request_peek(tti_ring_words(&writer->ring)) !=
			 writer->served))
		serve_request(writer);
	if (TTI_UNLIKELY(writer->needs_time && is_roll_due(writer))) {
		int rc = tti_writer_roll(writer, err);

		if (rc < 0)
			return rc;
	}
	room = tti_live_room(&writer->live);
	if (TTI_LIKELY(room >= count))
		return TT_OK;
	if (room == 0 || (tti_writer_is_whole(writer) && writer->live.end > 0 &&
			  count <= writer->ring.settings.capacity))
		return tti_writer_roll(writer, err);
	return TT_OK;
}

/* The day of a file is that of its first row; known before the row can be seen. */
static void note_first_row(struct tt_ring_writer *writer)
{
	int64_t now = writer->clock_ns();

	tti_field_store(&tti_writer_entry(writer)->first_row_ns, now);
	writer->roll_due_ns = tti_writer_roll_due(writer, now);
	TTI_FAILPOINT("ring.append.first_row");
}

#define STAMP_EVERY 64 /* publishes: no clock call a row */

static int after_publish(struct tt_ring_writer *writer, uint64_t count,
			 struct tt_error *err)
{
	TTI_FAILPOINT("ring.append.published");
	writer->dirty = true;
	if (writer->publishes++ % STAMP_EVERY == 0 || count >= STAMP_EVERY)
		tti_live_stamp(&writer->live);
	tti_writer_wake(writer, false);
	if (writer->sync_ms == TT_SYNC_EACH)
		return tti_writer_sync(writer, err);
	if (TTI_UNLIKELY(writer->needs_time && writer->sync_ms > 0)) {
		int64_t since = writer->coarse_ns() - writer->last_sync_ns;

		/* negative: the clock was set back */
		if (since < 0 || since >= writer->sync_ms * 1000000)
			return tti_writer_sync(writer, err);
	}
	return TT_OK;
}

int tt_ring_append(struct tt_ring_writer *writer, const void *rows, uint64_t count,
		   uint64_t *done_out, struct tt_error *err)
{
	const unsigned char *at = rows;
	uint64_t done = 0;
	int rc = TT_OK;

	while (done < count && rc == TT_OK) {
		uint64_t step;

		rc = make_room(writer, count - done, err);
		if (rc < 0)
			break;
		step = tti_min_u64(tti_live_room(&writer->live), count - done);
		if (TTI_UNLIKELY(writer->live.end == 0))
			note_first_row(writer);
		TTI_FAILPOINT("ring.append.before");
		rc = tti_live_append(&writer->live, at, step, writer->clean);
		if (rc < 0) {
			rc = tti_fail_sys(err, rc, writer->ring.path, "append");
			break;
		}
		done += step;
		at += step * writer->live.row_bytes;
		rc = after_publish(writer, step, err);
	}
	writer->reserved = 0;
	if (done_out)
		*done_out = done;
	return rc;
}

void *tt_ring_reserve(struct tt_ring_writer *writer, uint64_t count, uint64_t *got_out,
		      struct tt_error *err)
{
	writer->reserved = 0;
	*got_out = 0;
	if (count == 0) {
		tti_fail(err, TT_E_RANGE, "%s: nothing to reserve", writer->ring.path);
		return NULL;
	}
	if (make_room(writer, count, err) < 0)
		return NULL;
	writer->reserved = tti_min_u64(tti_live_room(&writer->live), count);
	*got_out = writer->reserved;
	return writer->live.rows + writer->live.end * writer->live.row_bytes;
}

int tt_ring_publish(struct tt_ring_writer *writer, uint64_t count)
{
	struct tti_live *live = &writer->live;
	int rc;

	if (count > writer->reserved)
		return TT_E_MISUSE;
	writer->reserved = 0;
	if (count == 0)
		return TT_OK;
	if (live->has_padding && !writer->clean)
		tt_dtype_clear_padding(
			live->npy.dtype, live->rows + live->end * live->row_bytes,
			count * (live->row_bytes / tt_dtype_size(live->npy.dtype)));
	if (live->end == 0)
		note_first_row(writer);
	rc = tti_live_publish(live, live->end + count);
	return rc < 0 ? rc : after_publish(writer, count, NULL);
}

int tt_ring_roll(struct tt_ring_writer *writer, struct tt_error *err)
{
	return writer->live.end == 0 ? TT_OK : tti_writer_roll(writer, err);
}

int tt_ring_sync(struct tt_ring_writer *writer, struct tt_error *err)
{
	return tti_writer_sync(writer, err);
}

int tt_ring_writer_idle(struct tt_ring_writer *writer, struct tt_error *err)
{
	int64_t since = writer->coarse_ns() - writer->last_sync_ns;

	if (writer->seal_failed ||
	    tti_request_peek(tti_ring_words(&writer->ring)) != writer->served)
		serve_request(writer);
	if (writer->publishes % STAMP_EVERY != 1) {
		tti_live_stamp(&writer->live);
		writer->publishes = 1;
	}
	if (is_roll_due(writer)) {
		int rc = tti_writer_roll(writer, err);

		if (rc < 0)
			return rc;
	}
	if (writer->dirty && writer->sync_ms > 0 &&
	    (since < 0 || since >= writer->sync_ms * 1000000))
		return tti_writer_sync(writer, err);
	return TT_OK;
}
