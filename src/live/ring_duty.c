/* SPDX-License-Identifier: Apache-2.0 */
/* What the two threads do for a ring's writer: the pulse's look and the helper's visit.
 * Invariant: the pulse reads words and atomics only; the helper changes what is the owner's
 * only while it has claimed the writer. */
#include "live/ring_writer.h"

#include <errno.h>
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/num.h"
#include "live/populate.h"

#define MS INT64_C(1000000)
#define LOOK_NS (250 * MS)   /* at seal requests and hours, when no row comes */
#define RETRY_NS (100 * MS)  /* after a next file could not be made */
#define CLAIM_NS (10 * MS)   /* between two claims of one writer */
#define DEFAULT_LOOK_US 1000 /* without a wake period */
#define SMALL_BYTES (UINT64_C(4) << 20) /* the next file is made with the first row */

static struct tt_ring_writer *writer_of(const struct tti_duty *duty)
{
	return (struct tt_ring_writer *)(uintptr_t)duty; /* its first member */
}

#define LOAD(field) atomic_load_explicit(&(field), memory_order_relaxed)

/* ---- The pulse ---- */

static void wake_readers(struct tt_ring_writer *writer)
{
	struct tti_counters *counters = tti_writer_counters(writer);
	int64_t before = tti_clock_monotonic_ns();

	tti_writer_wake(writer, false);
	tti_count_took(counters, TTI_HIST_WAKE, tti_clock_monotonic_ns() - before);
}

void tti_writer_count_rows(struct tt_ring_writer *writer, int64_t wall_ns)
{
	const struct tti_wfile *file = tti_writer_file_seen(writer);
	uint64_t rows = file->before + tti_wfile_end(file),
		 appends = rows - LOAD(writer->batched);
	struct tti_counters *counters = tti_writer_counters(writer);

	if (rows == writer->seen_rows)
		return;
	/* of a batch under way the rows may come after what says that they are one append */
	if ((int64_t)(appends - writer->seen_appends) < 0)
		appends = writer->seen_appends;
	tti_count_appended(counters, rows - writer->seen_rows,
			   (rows - writer->seen_rows) * writer->row_bytes,
			   appends - writer->seen_appends);
	tti_count_last_write(counters, wall_ns);
	writer->seen_rows = rows;
	writer->seen_appends = appends;
}

static bool has_to_roll(const struct tt_ring_writer *writer, uint64_t end)
{
	bool asked =
		tti_request_peek(tti_ring_words(&writer->ring)) != LOAD(writer->served) ||
		LOAD(writer->seal_failed);
	int64_t due = LOAD(writer->roll_due_ns);

	return asked || (due != INT64_MAX && end > 0 && writer->coarse_ns() >= due);
}

static bool wants_next(const struct tt_ring_writer *writer, const struct tti_live *live,
		       uint64_t end)
{
	return end > 0 && writer->sync_ms != TT_SYNC_EACH && tti_next_is_free(writer) &&
	       (live->file_bytes <= SMALL_BYTES || end >= live->capacity / 2);
}

static bool is_sync_due(const struct tt_ring_writer *writer, const struct tti_wfile *file,
			uint64_t end, int64_t now_ns)
{
	return writer->sync_ms > 0 && end > 0 &&
	       now_ns - LOAD(writer->synced_ns) >= writer->sync_ms * MS &&
	       (LOAD(writer->synced_name) != file->name ||
		LOAD(writer->synced_end) != end);
}

/* Something for the helper? */
static bool needs_help(const struct tt_ring_writer *writer, const struct tti_wfile *file,
		       uint64_t end, int64_t now_ns)
{
	const struct tti_live *live = &file->live;
	bool may_try = now_ns >= LOAD(writer->retry_ns);

	return LOAD(writer->finished) || tti_limit_is_due(writer, now_ns) ||
	       is_sync_due(writer, file, end, now_ns) ||
	       (may_try && wants_next(writer, live, end)) ||
	       tti_populate_is_short(live, end, LOAD(writer->populated));
}

static bool look(struct tti_duty *duty, const struct tti_look *look)
{
	struct tt_ring_writer *writer = writer_of(duty);
	const struct tti_wfile *file = tti_writer_file_seen(writer);
	uint64_t end = tti_wfile_end(file);
	bool moved = file->name != writer->seen_name || end != writer->seen_end;

	if (look->ticked)
		tti_duty_tick(duty, look->wall_ns);
	if (moved) {
		if (writer->wake_us > 0)
			wake_readers(writer);
		writer->seen_name = file->name;
		writer->seen_end = end;
		tti_writer_count_rows(writer, look->wall_ns);
	}
	if (has_to_roll(writer, end)) {
		tti_attend(duty, TTI_ATTEND_ROLL);
		if (!moved && look->now_ns >= tti_max_i64(LOAD(writer->retry_ns),
							  LOAD(writer->claim_ns)))
			tti_duty_kick(duty);
	}
	if (tti_name_is_due(writer, file, end, look->now_ns) ||
	    needs_help(writer, file, end, look->now_ns))
		tti_duty_kick(duty);
	return moved;
}

/* A reserve that waits for its publish is still: the publish looks after it has stored. */
static bool is_still(const struct tti_duty *duty)
{
	const struct tt_ring_writer *writer = writer_of(duty);
	const struct tti_wfile *file = tti_writer_file_seen(writer);

	return LOAD(duty->turn) != TTI_TURN_WORKING && file->name == writer->seen_name &&
	       tti_wfile_end(file) == writer->seen_end;
}

static int64_t patience_ns(const struct tti_duty *duty, const struct tti_look *look)
{
	const struct tt_ring_writer *writer = writer_of(duty);
	bool retries = LOAD(writer->retry_ns) != 0 || LOAD(writer->limit_ns) != 0;
	int64_t patience = retries ? RETRY_NS : LOOK_NS;

	(void)look;
	if (writer->sync_ms > 0 && LOAD(writer->synced_end) != writer->seen_end)
		return tti_min_i64(patience, tti_max_i64(writer->sync_ms * MS, MS));
	return patience;
}

/* ---- The helper ---- */

static void keep(struct tt_ring_writer *writer, int rc, const struct tt_error *err)
{
	if (rc < 0)
		tti_upkeep_keep(writer, err);
}

static void populate(struct tt_ring_writer *writer, struct tti_wfile *file)
{
	file->populated = tti_populate(&file->live, tti_wfile_end(file), file->populated);
	atomic_store_explicit(&writer->populated, file->populated, memory_order_relaxed);
}

/* No next file: who meets it first counts it, and the append that it keeps out or the helper
 * that wanted to be ahead of that append met the same.  Each append after it is refused anew,
 * and counts. */
static void count_unmade(struct tt_ring_writer *writer, bool helps,
			 const struct tt_error *err)
{
	bool is_known = helps ? LOAD(writer->retry_ns) != 0
			      : atomic_exchange_explicit(&writer->unmade_told, false,
							 memory_order_relaxed);

	if (!is_known)
		tti_ring_count_error(&writer->ring, tti_writer_rows(writer), err->code,
				     err);
	else if (!helps) /* the helper met it with room left, which is full now */
		tti_count_error_stands(tti_writer_counters(writer),
				       tti_writer_rows(writer));
	if (!is_known && helps)
		atomic_store_explicit(&writer->unmade_told, true, memory_order_relaxed);
	atomic_store_explicit(&writer->retry_ns, tti_clock_monotonic_ns() + RETRY_NS,
			      memory_order_relaxed);
}

int tti_writer_unmade(struct tt_ring_writer *writer, struct tt_error *err)
{
	count_unmade(writer, false, err);
	return err->code;
}

void tti_writer_made(struct tt_ring_writer *writer)
{
	atomic_store_explicit(&writer->retry_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&writer->unmade_told, false, memory_order_relaxed);
}

/* An attempt that failed is repeated after a while, and counted once as long as it fails. */
static void prepare(struct tt_ring_writer *writer)
{
	struct tti_wfile *next;
	struct tt_error err;

	tti_ring_refresh(&writer->upkeep);
	if (tti_upkeep_prepare(writer, &next, &err) < 0) {
		count_unmade(writer, true, &err);
		return;
	}
	next->populated = tti_populate(&next->live, 0, 0);
	TTI_FAILPOINT("ring.prepare.done");
	tti_writer_made(writer);
	tti_count_prepared(tti_writer_counters(writer));
	tti_next_give(writer, next);
}

/* A roll for those who asked, of a writer that stands still. */
static void roll_idle(struct tt_ring_writer *writer, const struct tti_look *look)
{
	struct tti_wfile *file = tti_writer_file_seen(writer);

	if (!has_to_roll(writer, tti_wfile_end(file)))
		return;
	if (tti_wfile_end(file) > 0 && writer->sync_ms != TT_SYNC_EACH &&
	    tti_next_is_free(writer))
		prepare(writer);
	atomic_store_explicit(&writer->claim_ns, look->now_ns + CLAIM_NS,
			      memory_order_relaxed);
	if (!tti_duty_claim(&writer->duty))
		return;
	TTI_FAILPOINT("ring.claim.begun");
	/* what was seen before the claim may have been done since */
	file = tti_writer_file(writer);
	if (has_to_roll(writer, file->live.end))
		tti_writer_serve(writer, true);
	TTI_FAILPOINT("ring.claim.done");
	tti_duty_unclaim(&writer->duty);
}

/* All files before it are finished: a mark of it says that they are on disk.  Not so of one that
 * came after the last look at what is finished. */
static bool is_first(const struct tt_ring_writer *writer, const struct tti_wfile *file)
{
	return file->follows == 0 || file->follows == writer->finished_name;
}

static void work(struct tti_duty *duty)
{
	struct tt_ring_writer *writer = writer_of(duty);
	struct tti_look look = { .now_ns = tti_clock_monotonic_ns() };
	struct tti_wfile *file;
	struct tt_error err;
	uint64_t end;

	populate(writer, tti_writer_file_seen(writer));
	keep(writer, tti_upkeep_finish(writer, &err), &err);
	roll_idle(writer, &look);
	keep(writer, tti_upkeep_finish(writer, &err), &err);
	if (tti_limit_is_due(writer, look.now_ns))
		tti_upkeep_limit(writer);
	TTI_FAILPOINT("ring.work.finished"); /* a roll may come here */
	file = tti_writer_file_seen(writer);
	end = tti_wfile_end(file);
	if (look.now_ns >= LOAD(writer->retry_ns) && wants_next(writer, &file->live, end))
		prepare(writer);
	tti_name_ahead(writer, tti_clock_monotonic_ns());
	if (is_sync_due(writer, file, end, look.now_ns) && is_first(writer, file)) {
		keep(writer, tti_upkeep_sync(writer, file, &err), &err);
		populate(writer, file);
	}
}

/* ---- Joining ---- */

static const struct tti_duty_ops duty_ops = { look, is_still, patience_ns, work };

int tti_writer_init_duty(struct tt_ring_writer *writer)
{
	return tti_duty_init(&writer->duty, &duty_ops);
}

void tti_writer_join(struct tt_ring_writer *writer)
{
	const struct tti_wfile *file = tti_writer_file(writer);
	struct tti_crew_opts opts = writer->crew_opts;

	writer->seen_name = file->name;
	writer->seen_end = tti_wfile_end(file);
	opts.period_ns =
		(writer->wake_us > 0 ? writer->wake_us : DEFAULT_LOOK_US) * INT64_C(1000);
	if (tti_writer_is_alone(writer))
		return;
	if (writer->no_helper || tti_crew_join(&writer->duty, &opts) < 0 ||
	    writer->wake_us == TT_WAKE_EACH || writer->sync_ms == TT_SYNC_EACH)
		tti_attend(&writer->duty, TTI_ATTEND_ALWAYS);
}
