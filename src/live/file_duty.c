/* SPDX-License-Identifier: Apache-2.0 */
/* What the two threads do for the writer of a single file: wake its readers, sync it, fault
 * pages in.  Invariant: neither changes a word of the file; the handle leaves them before it
 * goes on with another file or is closed. */
#include "live/file.h"

#include "base/clock.h"
#include "base/num.h"
#include "live/futex.h"
#include "live/populate.h"

#define MS INT64_C(1000000)
#define DEFAULT_LOOK_US 1000 /* without a wake period */

#define LOAD(field) atomic_load_explicit(&(field), memory_order_relaxed)

static struct tt_file *file_of(const struct tti_duty *duty)
{
	return (struct tt_file *)((uintptr_t)duty - offsetof(struct tt_file, duty));
}

/* ---- The pulse ---- */

static bool is_sync_due(const struct tt_file *file, uint64_t end, int64_t now_ns)
{
	return file->sync_ms > 0 && end != LOAD(file->synced_end) &&
	       now_ns - LOAD(file->synced_ns) >= file->sync_ms * MS;
}

static bool look(struct tti_duty *duty, const struct tti_look *look)
{
	struct tt_file *file = file_of(duty);
	uint64_t end = tti_end_load(file->live.watched_tail);
	bool moved = end != file->seen_end;

	if (look->ticked)
		tti_duty_tick(duty, look->wall_ns);
	if (moved && file->wake_us > 0)
		tti_futex_wake(tti_end_futex(file->live.watched_tail));
	file->seen_end = end;
	if (is_sync_due(file, end, look->now_ns) ||
	    tti_populate_is_short(&file->live, end, LOAD(file->seen_populated)))
		tti_duty_kick(duty);
	return moved;
}

static bool is_still(const struct tti_duty *duty)
{
	const struct tt_file *file = file_of(duty);

	return tti_end_load(file->live.watched_tail) == file->seen_end;
}

static int64_t patience_ns(const struct tti_duty *duty, const struct tti_look *look)
{
	const struct tt_file *file = file_of(duty);

	if (file->sync_ms <= 0 || file->seen_end == LOAD(file->synced_end))
		return INT64_MAX;
	return tti_max_i64(LOAD(file->synced_ns) + file->sync_ms * MS - look->now_ns, MS);
}

/* ---- The helper ---- */

static void populate(struct tt_file *file)
{
	file->populated =
		tti_populate(&file->live, tti_end_load(file->live.tail), file->populated);
	atomic_store_explicit(&file->seen_populated, file->populated,
			      memory_order_relaxed);
}

/* A sync that failed is told by the next one that somebody asks for. */
static void work(struct tti_duty *duty)
{
	struct tt_file *file = file_of(duty);

	populate(file);
	if (!is_sync_due(file, tti_end_load(file->live.tail), tti_clock_monotonic_ns()))
		return;
	tti_file_sync_held(file, NULL);
	populate(file);
}

/* ---- Joining and leaving ---- */

static const struct tti_duty_ops duty_ops = { look, is_still, patience_ns, work };

int tti_file_init_duty(struct tt_file *file)
{
	return tti_duty_init(&file->duty, &duty_ops);
}

void tti_file_join(struct tt_file *file)
{
	struct tti_crew_opts opts = file->crew_opts;

	if (tti_file_is_alone(file))
		return;
	file->seen_end = file->live.end;
	atomic_store_explicit(&file->synced_end, file->live.end, memory_order_relaxed);
	opts.period_ns =
		(file->wake_us > 0 ? file->wake_us : DEFAULT_LOOK_US) * INT64_C(1000);
	/* a misaligned tail has no word to look at */
	if (file->no_helper || !file->live.tail ||
	    tti_crew_join(&file->duty, &opts) < 0 || file->wake_us == TT_WAKE_EACH ||
	    file->sync_ms == TT_SYNC_EACH)
		tti_attend(&file->duty, TTI_ATTEND_ALWAYS);
}

void tti_file_leave(struct tt_file *file)
{
	tti_crew_leave(&file->duty);
	file->begun = false;
	file->live.limit = file->live.end;
}
