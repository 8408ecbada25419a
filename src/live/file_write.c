/* SPDX-License-Identifier: Apache-2.0 */
/* Appending to and updating a single live file.  Invariant: readers are woken after the word
 * they sleep on has changed. */
#include "live/file.h"
#include "live/ring_mark.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/num.h"
#include "live/futex.h"

#define STAMP_EVERY 64 /* publishes, or rows, without a helper: no clock call a row */

/* The first append lets the threads in. */
static void begin(struct tt_file *file)
{
	if (!file->begun)
		tti_file_join(file);
	file->begun = true;
}

/* Opens the quick path, but for a tail that takes a system call.  With nobody else to do it the
 * stamp is brought up to the clock where the path ends. */
static void set_limit(struct tt_file *file)
{
	struct tti_live *live = &file->live;

	live->limit = live->tail ? live->capacity : live->end;
	if (!tti_file_is_alone(file))
		return;
	tti_live_stamp(live);
	live->limit = tti_min_u64(live->limit, live->end + STAMP_EVERY);
}

/* ---- After a publish ---- */

static int sync_in_time(struct tt_file *file)
{
	int64_t now;

	if (file->sync_ms == TT_SYNC_EACH)
		return tt_file_sync(file, NULL);
	if (file->sync_ms < 0 || tti_crew_has(&file->duty))
		return TT_OK;
	now = tti_clock_monotonic_ns();
	if (now - file->synced_ns < file->sync_ms * 1000000)
		return TT_OK;
	return tt_file_sync(file, NULL);
}

__attribute__((noinline, cold)) static int after_publish(struct tt_file *file)
{
	struct tti_duty *duty = &file->duty;
	uint32_t flags = tti_attention(duty);
	bool helped = tti_crew_has(duty);

	if (TTI_LIKELY(flags == TTI_ATTEND_STAMP)) {
		tti_live_stamp_at(&file->live, tti_duty_ticked(duty));
		return TT_OK;
	}
	tti_attended(duty, TTI_ATTEND_ASLEEP | TTI_ATTEND_STAMP | TTI_ATTEND_ROLL);
	if (flags & TTI_ATTEND_ASLEEP)
		tti_pulse_wake();
	if ((flags & (TTI_ATTEND_ASLEEP | TTI_ATTEND_STAMP)) ||
	    (!helped && file->publishes++ % STAMP_EVERY == 0))
		tti_live_stamp(&file->live);
	if (file->wake_us != TT_WAKE_NEVER &&
	    (!helped || file->wake_us == TT_WAKE_EACH) && file->live.tail)
		tti_futex_wake(tti_end_futex(file->live.tail));
	return sync_in_time(file);
}

static inline int published(struct tt_file *file)
{
	if (TTI_LIKELY(tti_attention(&file->duty) == 0))
		return TT_OK;
	return after_publish(file);
}

/* ---- Appending ---- */

__attribute__((noinline, cold)) static int append_slowly(struct tt_file *file,
							 const void *rows, uint64_t count)
{
	int rc;

	if (!file->appendable)
		return TT_E_MISUSE;
	if (count == 0)
		return TT_OK;
	if (count > tti_live_room(&file->live))
		return TT_E_FULL; /* and the file is as it was, its stamp too */
	begin(file);
	rc = tti_live_append(&file->live, rows, count);
	set_limit(file);
	return rc == TT_OK ? published(file) : rc;
}

/* What is not one row of a common size, with room for it. */
__attribute__((noinline)) static int append_other(struct tt_file *file, const void *rows,
						  uint64_t count)
{
	struct tti_live *live = &file->live;

	if (TTI_UNLIKELY(count - 1 >= live->limit - live->end)) /* 0 as well */
		return append_slowly(file, rows, count);
	TTI_FAILPOINT("file.append.before_rows");
	tti_live_copy_many(live, live->at, rows, count);
	TTI_FAILPOINT("file.append.before_publish");
	tti_live_advance(live, count);
	TTI_FAILPOINT("file.append.after_publish");
	return published(file);
}

TTI_ROW_PATH int tt_file_append(struct tt_file *file, const void *rows, uint64_t count)
{
	struct tti_live *live = &file->live;
	const struct tti_live_next next = tti_live_next(live);

	if (TTI_UNLIKELY(count != 1 || next.end >= live->limit))
		return append_other(file, rows, count);
	TTI_FAILPOINT("file.append.before_rows");
	if (!tti_live_put_one(live, &next, rows))
		return append_other(file, rows, count);
	TTI_FAILPOINT("file.append.before_publish");
	tti_live_advance_by(live, &next, 1);
	TTI_FAILPOINT("file.append.after_publish");
	return published(file);
}

__attribute__((noinline, cold)) static void *reserve_slowly(struct tt_file *file,
							    uint64_t count)
{
	if (!file->appendable || count > tti_live_room(&file->live))
		return NULL;
	begin(file);
	return file->live.at;
}

TTI_ROW_PATH void *tt_file_reserve(struct tt_file *file, uint64_t count)
{
	const struct tti_live *live = &file->live;

	if (TTI_UNLIKELY(count > live->limit - live->end))
		return reserve_slowly(file, count);
	return live->at;
}

__attribute__((noinline, cold)) static int publish_slowly(struct tt_file *file,
							  uint64_t count)
{
	struct tti_live *live = &file->live;
	int rc;

	if (!file->appendable || count > tti_live_room(live))
		return TT_E_MISUSE;
	if (count == 0)
		return TT_OK;
	begin(file);
	if (live->has_padding)
		tti_live_clear_padding(live, live->at, count);
	TTI_FAILPOINT("file.publish.before");
	rc = tti_live_publish(live, live->end + count);
	set_limit(file);
	return rc == TT_OK ? published(file) : rc;
}

/* Rows of several gaps, or of a small one. */
__attribute__((noinline)) static int publish_padded(struct tt_file *file, uint64_t count)
{
	struct tti_live *live = &file->live;

	tti_live_clear_padding(live, live->at, count);
	TTI_FAILPOINT("file.publish.before");
	tti_live_advance(live, count);
	return published(file);
}

/* What is not one row with one gap, with room for it: a batch, as a rule.  A function of its own:
 * a row path that jumps about costs as much as one twice as long. */
TTI_ROW_PATH __attribute__((noinline)) static int publish_other(struct tt_file *file,
								uint64_t count)
{
	struct tti_live *live = &file->live;
	const struct tti_live_next next = tti_live_next(live);

	if (TTI_UNLIKELY(live->gap_class == TTI_GAP_ANY))
		return publish_padded(file, count);
	if (live->gap_class == TTI_GAP_TO8)
		tti_live_clear_gaps(live, next.at, count);
	TTI_FAILPOINT("file.publish.before");
	tti_live_advance_by(live, &next, count);
	return published(file);
}

TTI_ROW_PATH int tt_file_publish(struct tt_file *file, uint64_t count)
{
	struct tti_live *live = &file->live;
	const struct tti_live_next next = tti_live_next(live);

	if (TTI_UNLIKELY(count - 1 >= live->limit - next.end)) /* 0 as well */
		return publish_slowly(file, count);
	if (TTI_UNLIKELY(count != 1 || live->gap_class == TTI_GAP_ANY))
		return publish_other(file, count);
	if (TTI_LIKELY(live->gap_class == TTI_GAP_TO8))
		tti_live_clear_gap(live, next.at);
	TTI_FAILPOINT("file.publish.before");
	tti_live_advance_by(live, &next, 1);
	return published(file);
}

/* A mark must not vouch for rows as they were. */
static int before_change(struct tt_file *file, uint64_t row, struct tt_error *err)
{
	uint64_t name = 0;

	if (!file->place.in_ring)
		return tti_file_mark_changing(file, row, err);
	tti_ring_parse_name(file->place.name, &name);
	return tti_ring_mark_changing_in(file->place.dirfd, file->place.path, name, row,
					 err);
}

int tt_file_update(struct tt_file *file, uint64_t index, const void *rows, uint64_t count,
		   struct tt_error *err)
{
	struct tti_live *live = &file->live;
	uint64_t start, end;
	int rc;

	if (!live->writable)
		return tti_fail(err, TT_E_MISUSE, "%s: opened for reading only",
				live->path);
	rc = tti_live_bounds(live, &start, &end, err);
	if (rc < 0)
		return rc;
	if (index > end - start || count > end - start - index)
		return tti_fail(err, TT_E_RANGE,
				"%s: rows %" PRIu64 " to %" PRIu64
				" are not there to be updated; "
				"it has %" PRIu64 " rows",
				live->path, index, index + count, end - start);
	rc = before_change(file, start + index, err);
	if (rc < 0)
		return rc;
	rc = tti_live_update(live, start + index, rows, count, file->clean_rows);
	return rc < 0 ? tti_fail_sys(err, rc, live->path, "update") : TT_OK;
}

/* ---- To disk ---- */

/* With the work mutex.  A failure is for good: the kernel drops what it could not write, and
 * the next call would succeed. */
int tti_file_sync_held(struct tt_file *file, struct tt_error *err)
{
	uint64_t end = tti_live_end(&file->live); /* rows below it are in the pages now */

	atomic_store_explicit(&file->synced_ns, tti_clock_monotonic_ns(),
			      memory_order_relaxed);
	if (file->lost)
		return tti_fail(err, -EIO,
				"%s: an earlier fdatasync failed: rows may not be on "
				"disk",
				file->live.path);
	tti_file_mark_before(file);
	if (fdatasync(file->live.fd) < 0) {
		file->lost = true;
		return tti_fail_sys(err, -errno, file->live.path, "fdatasync");
	}
	file->populated = 0; /* its pages are write-protected again */
	atomic_store_explicit(&file->synced_end, end, memory_order_relaxed);
	return file->sync_ms == TT_SYNC_NONE ? TT_OK : tti_file_mark(file, end, err);
}

int tt_file_sync(struct tt_file *file, struct tt_error *err)
{
	int rc;

	if (!file->live.writable)
		return tti_fail(err, TT_E_MISUSE, "%s: opened for reading only",
				file->place.path);
	pthread_mutex_lock(&file->duty.work_mutex);
	rc = tti_file_sync_held(file, err);
	pthread_mutex_unlock(&file->duty.work_mutex);
	return rc;
}
