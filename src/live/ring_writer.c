/* SPDX-License-Identifier: Apache-2.0 */
/* What the owner of a ring's writer asks besides appending: where it is, a roll, a sync, what
 * is due, the end.  Owns how a request to seal is answered.  Invariant: what looks at the
 * newest file takes a turn, so that the helper never rolls meanwhile; the place of a reserve
 * stays until it is published, or given up by a roll. */
#include "live/ring_writer.h"

#include <stdlib.h>
#include "base/clock.h"
#include "base/failpoint.h"

/* ---- Turns ---- */

/* A look at, or a change of, the writer that is no append.  What a reserve promised holds. */
static void enter(struct tt_ring_writer *writer)
{
	uint64_t turn = tti_turn_is_reserved(&writer->duty) ? tti_turn(&writer->duty)
							    : TTI_TURN_WORKING;

	if (tti_turn_open(&writer->duty, turn) & TTI_ATTEND_CLAIMED)
		tti_turn_wait(&writer->duty);
}

static void leave(struct tt_ring_writer *writer)
{
	if (!tti_turn_is_reserved(&writer->duty))
		tti_turn_close(&writer->duty);
}

/* ---- What the caller may ask ---- */

const char *tt_ring_writer_repaired(const struct tt_ring_writer *writer)
{
	return writer->repair.text;
}

const struct tt_dtype *tt_ring_writer_dtype(const struct tt_ring_writer *writer)
{
	return writer->dtype;
}

uint64_t tt_ring_writer_row_bytes(const struct tt_ring_writer *writer)
{
	return writer->row_bytes;
}

struct tt_pos tt_ring_writer_pos(const struct tt_ring_writer *asked)
{
	/* the helper may be rolling: a look takes a turn too */
	struct tt_ring_writer *writer = (struct tt_ring_writer *)(uintptr_t)asked;
	const struct tti_wfile *file;
	struct tt_pos pos;

	enter(writer);
	file = tti_writer_file(writer);
	pos = (struct tt_pos){ file->name, file->live.end };
	leave(writer);
	return pos;
}

/* ---- Seal requests ---- */

static bool has_failed(const struct tt_ring_writer *writer)
{
	return atomic_load_explicit(&writer->seal_failed, memory_order_relaxed);
}

/* A request that could not be served is not tried again at every append, only when idle: a
 * full disk must not make a feed with room left crawl. */
void tti_writer_serve(struct tt_ring_writer *writer, bool held)
{
	struct tti_words *words = tti_ring_words(&writer->ring);
	uint64_t request = tti_request_peek(words);
	struct tt_error err; /* what a failed roll says is counted by it */
	int rc = TT_OK;

	if (tti_writer_live(writer)->end > 0)
		rc = held ? tti_writer_roll_held(writer, &err)
			  : tti_writer_roll(writer, &err);
	atomic_store_explicit(&writer->served, request, memory_order_relaxed);
	atomic_store_explicit(&writer->seal_failed, rc < 0, memory_order_relaxed);
	if (rc < 0)
		return;
	TTI_FAILPOINT("ring.seal.before_answer");
	if (tti_answer_load(words) == request)
		return;
	tti_answer_store(words, request);
	tti_writer_wake(writer, true);
}

/* ---- What is asked for now ---- */

int tt_ring_roll(struct tt_ring_writer *writer, struct tt_error *err)
{
	int rc = TT_OK;

	if (tti_turn_is_reserved(&writer->duty))
		tti_turn_close(&writer->duty);
	enter(writer);
	if (tti_writer_live(writer)->end > 0)
		rc = tti_writer_roll(writer, err);
	tti_turn_close(&writer->duty);
	if (rc < 0)
		return rc;
	tti_upkeep_lock(writer);
	rc = tti_upkeep_tell(writer, err);
	tti_upkeep_unlock(writer);
	return rc;
}

int tt_ring_sync(struct tt_ring_writer *writer, struct tt_error *err)
{
	return tti_writer_sync(writer, err);
}

/* What a writer without helper does in time. */
static int idle_alone(struct tt_ring_writer *writer, struct tt_error *err)
{
	int64_t since = writer->coarse_ns() - writer->last_sync_ns;
	const struct tti_wfile *file = tti_writer_file(writer);

	if (file->before + file->live.end != writer->seen_rows) {
		tti_live_stamp(tti_writer_live(writer));
		tti_writer_count_rows(writer, tti_clock_coarse_ns());
	}
	if (tti_limit_is_due(writer, tti_clock_monotonic_ns())) {
		tti_upkeep_lock(writer);
		tti_upkeep_limit(writer);
		tti_upkeep_unlock(writer);
	}
	if (writer->sync_ms > 0 && file->synced != file->live.end &&
	    (since < 0 || since >= writer->sync_ms * 1000000))
		return tti_writer_sync(writer, err);
	return TT_OK;
}

int tt_ring_writer_idle(struct tt_ring_writer *writer, struct tt_error *err)
{
	int rc = TT_OK;

	if (tti_writer_promised(writer) > 0)
		return TT_OK; /* its place must stay */
	enter(writer);
	/* a pulse that sleeps is left alone: it would look for rows that do not come */
	if ((has_failed(writer) || tti_writer_is_asked(writer) ||
	     tti_writer_is_roll_due(writer)) &&
	    (tti_writer_attend(writer) & TTI_ATTEND_ASLEEP))
		tti_pulse_wake();
	if (has_failed(writer) || tti_writer_is_asked(writer))
		tti_writer_serve(writer, false);
	if (tti_writer_is_roll_due(writer))
		rc = tti_writer_roll(writer, err);
	if (rc == TT_OK && !tti_crew_has(&writer->duty))
		rc = idle_alone(writer, err);
	leave(writer);
	return rc;
}

/* ---- Close ---- */

/* Nobody else is left: what is not on disk goes there, what was made ahead goes away. */
static int settle(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct tti_wfile *file = tti_writer_file(writer), *next = tti_next_take(writer);
	bool syncs = writer->sync_ms != TT_SYNC_NONE;
	int rc, finished;

	tti_upkeep_lock(writer);
	finished = tti_upkeep_finish(writer, err);
	if (next && !tti_name_was_published(writer, next))
		tti_wfile_discard(next, &writer->ring);
	rc = syncs && file->synced != file->live.end
		     ? tti_upkeep_sync(writer, file, finished == TT_OK ? err : NULL)
		     : TT_OK;
	tti_upkeep_count(writer, finished < 0 ? finished : rc, err);
	if (finished == TT_OK && rc == TT_OK)
		rc = tti_upkeep_tell(writer, err);
	tti_upkeep_unlock(writer);
	if (!writer->recovers) /* the last store stays the last row's */
		tti_live_stamp(&file->live);
	tti_writer_count_rows(writer, tti_clock_coarse_ns());
	return finished < 0 ? finished : rc;
}

/* Once all is synced no later boot has anything to doubt.  Best effort: without it the next
 * boot doubts what is right.  A writer that never synced leaves it so. */
static void close_marks(struct tt_ring_writer *writer)
{
	struct tti_wfile *file = tti_writer_file(writer);
	int rc = TT_OK;

	if (writer->marker.file == 0 || writer->unmarked)
		return;
	tti_upkeep_lock(writer);
	if (file->synced != file->live.end || writer->marker.file != file->name)
		rc = tti_upkeep_sync(writer, file, NULL);
	TTI_FAILPOINT("ring.close.synced");
	if (rc == TT_OK)
		tti_ring_mark_closed(&writer->ring, &writer->marker, &file->live,
				     (struct tt_pos){ file->name, file->live.end }, NULL);
	tti_upkeep_unlock(writer);
}

/* What is on its way to disk, or was made ahead. */
static int finish(struct tt_ring_writer *writer)
{
	int rc = settle(writer, NULL);

	if (rc == TT_OK)
		close_marks(writer);
	return rc;
}

/* In a child that a fork made: the ring, and all that was made ahead for it, is the parent's
 * to go on with. */
static void forget(struct tt_ring_writer *writer)
{
	struct tti_wfile *older = /* no other thread came with the fork */
		atomic_load_explicit(&writer->finished, memory_order_relaxed);

	tti_wfile_free(tti_next_take(writer));
	while (older) {
		struct tti_wfile *file = older;

		older = file->older;
		tti_wfile_free(file);
	}
}

int tt_ring_writer_close(struct tt_ring_writer *writer)
{
	bool is_ours;
	int rc = TT_OK;

	if (!writer)
		return TT_OK;
	is_ours = !tti_ring_lock_is_inherited(&writer->lock);
	tti_crew_leave(&writer->duty);
	if (!is_ours)
		forget(writer);
	else if (tti_writer_file(writer) && writer->duty.ops)
		rc = finish(writer);
	if (is_ours && writer->set_guard.fd) {
		tti_pid_store(tti_ring_words(&writer->ring), 0);
		tti_writer_wake(writer, true); /* sleepers look who writes now */
	}
	tti_fork_guard_remove(&writer->set_guard);
	tti_wfile_free(tti_writer_file(writer));
	tt_dtype_unref(writer->dtype);
	tti_map_close(&writer->upkeep.lock);
	tti_map_close(&writer->upkeep.set);
	tti_ring_close(&writer->ring);
	tti_ring_unlock(&writer->lock);
	if (is_ours)
		tti_duty_fini(&writer->duty);
	free(writer);
	return rc;
}
