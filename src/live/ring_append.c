/* SPDX-License-Identifier: Apache-2.0 */
/* Appending to a ring, the path of every row: given, or filled in place.  Owns what an append
 * looks at before its rows and after them, and when it need not look at all.  Invariant: rows
 * are published in the order in which they were given, each once; what a failed roll kept out
 * was not published. */
#include "live/ring_writer.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/num.h"

#define STAMP_EVERY 64 /* publishes, without a helper: no clock call a row */
#define TIMED_TICKS 16 /* of so many ticks of the coarse clock, one times its append */

/* ---- The path of an append that has something to look at ---- */

uint32_t tti_writer_attend(struct tt_ring_writer *writer)
{
	uint32_t flags =
		atomic_load_explicit(&writer->duty.attention, memory_order_acquire);

	if (flags & TTI_ATTEND_CLAIMED)
		tti_turn_wait(&writer->duty);
	if (flags & TTI_ATTEND_STAMP)
		writer->duty.ticks++;
	if (flags & ~(TTI_ATTEND_CLAIMED | TTI_ATTEND_ALWAYS))
		tti_attended(&writer->duty,
			     TTI_ATTEND_ASLEEP | TTI_ATTEND_STAMP | TTI_ATTEND_ROLL);
	return flags;
}

/* What comes before rows: a seal request, a roll by time, room for count rows. */
static int make_room(struct tt_ring_writer *writer, uint64_t count, struct tt_error *err)
{
	uint64_t room;

	if (TTI_UNLIKELY(tti_writer_is_asked(writer)))
		tti_writer_serve(writer, false);
	if (TTI_UNLIKELY(tti_writer_is_roll_due(writer))) {
		int rc = tti_writer_roll(writer, err);

		if (rc < 0)
			return rc;
	}
	room = tti_live_room(tti_writer_live(writer));
	if (TTI_LIKELY(room >= count))
		return TT_OK;
	if (room == 0 ||
	    (tti_writer_is_whole(writer) && tti_writer_live(writer)->end > 0 &&
	     count <= writer->ring.settings.capacity))
		return tti_writer_roll(writer, err);
	return TT_OK;
}

/* The day of a file is that of its first row; known before the row can be seen. */
static void note_first_row(struct tt_ring_writer *writer)
{
	int64_t now = writer->clock_ns();

	tti_field_store(&tti_writer_file(writer)->entry->first_row_ns, now);
	atomic_store_explicit(&writer->roll_due_ns, tti_writer_roll_due(writer, now),
			      memory_order_relaxed);
	TTI_FAILPOINT("ring.append.first_row");
}

/* Nobody else does it.  The first rows of a file are told at once: they may end a time in which
 * none could be made. */
static int help_oneself(struct tt_ring_writer *writer, uint64_t count, bool looks,
			struct tt_error *err)
{
	int64_t since;

	if (looks || count >= STAMP_EVERY || tti_writer_live(writer)->end == count ||
	    tti_writer_is_alone(writer)) {
		tti_live_stamp(tti_writer_live(writer));
		tti_writer_count_rows(writer, tti_clock_coarse_ns());
	}
	if (writer->sync_ms <= 0)
		return TT_OK;
	since = writer->coarse_ns() - writer->last_sync_ns;
	/* negative: the clock was set back */
	if (since < 0 || since >= writer->sync_ms * 1000000)
		return tti_writer_sync(writer, err);
	return TT_OK;
}

static int after_publish(struct tt_ring_writer *writer, uint64_t count, uint32_t flags,
			 struct tt_error *err)
{
	struct tti_wfile *file = tti_writer_file(writer);
	bool helped = tti_crew_has(&writer->duty),
	     looks = writer->publishes++ % STAMP_EVERY == 0;
	int rc = TT_OK;

	TTI_FAILPOINT("ring.append.published");
	atomic_store_explicit(&file->slow_end, file->live.end, memory_order_release);
	if (flags & (TTI_ATTEND_STAMP | TTI_ATTEND_ASLEEP))
		tti_live_stamp(&file->live);
	if (!helped || writer->wake_us == TT_WAKE_EACH)
		tti_writer_wake(writer, false);
	if (!helped)
		rc = help_oneself(writer, count, looks, err);
	if (rc == TT_OK && writer->sync_ms == TT_SYNC_EACH)
		rc = tti_writer_sync(writer, err);
	tti_writer_set_limit(writer);
	return rc;
}

/* Up to the end of the newest file; *count becomes what was published. */
static int append_some(struct tt_ring_writer *writer, const void *rows, uint64_t *count,
		       uint32_t flags, struct tt_error *err)
{
	uint64_t wanted = *count;
	struct tti_live *live;
	int rc = make_room(writer, wanted, err);

	*count = 0;
	if (rc < 0)
		return rc;
	live = tti_writer_live(writer);
	wanted = tti_min_u64(tti_live_room(live), wanted);
	if (TTI_UNLIKELY(live->end == 0))
		note_first_row(writer);
	TTI_FAILPOINT("ring.append.before");
	rc = tti_live_append(live, rows, wanted);
	if (rc < 0)
		return tti_fail_sys(err, rc, writer->ring.path, "append");
	*count = wanted;
	return after_publish(writer, wanted, flags, err);
}

/* No clock is read a row: where every append comes here, some are timed, and one tick of the
 * clock in TIMED_TICKS is let come here for that.  One that syncs takes so long that all are. */
static bool is_timed(const struct tt_ring_writer *writer, uint32_t flags)
{
	return !(flags & TTI_ATTEND_ALWAYS) || writer->sync_ms == TT_SYNC_EACH ||
	       (flags & (TTI_ATTEND_STAMP | TTI_ATTEND_ASLEEP)) ||
	       writer->publishes % STAMP_EVERY == 0;
}

__attribute__((noinline, cold)) static int append_slowly(struct tt_ring_writer *writer,
							 const void *rows, uint64_t count,
							 uint64_t *done_out,
							 struct tt_error *err)
{
	uint32_t flags = tti_writer_attend(writer);
	bool timed = is_timed(writer, flags);
	int64_t before = timed ? tti_clock_monotonic_ns() : 0;
	const unsigned char *at = rows;
	uint64_t done = 0;
	int rc = TT_OK;

	tti_writer_batched(writer, count - (count > 0));
	while (done < count && rc == TT_OK) {
		uint64_t some = count - done;

		rc = append_some(writer, at, &some, flags, err);
		done += some;
		at += some * writer->row_bytes;
	}
	if (done < count) /* modulo 2^64 */
		tti_writer_batched(writer, done - (done > 0) - (count - 1));
	if (timed)
		tti_count_took(tti_writer_counters(writer), TTI_HIST_APPEND,
			       tti_clock_monotonic_ns() - before);
	tti_turn_close(&writer->duty);
	if (flags & TTI_ATTEND_ASLEEP)
		tti_pulse_wake();
	if (done_out)
		*done_out = done;
	return rc;
}

/* Rows are in place, and the clock went on: nothing else of the slow path is needed for that. */
static void stamp(struct tt_ring_writer *writer, struct tti_live *live)
{
	tti_live_stamp_at(live, tti_duty_ticked(&writer->duty));
}

/* Whether an append has more to attend to than a stamp. */
static inline bool has_more(const struct tt_ring_writer *writer, uint32_t flags)
{
	return flags != 0 &&
	       (flags != TTI_ATTEND_STAMP || writer->duty.ticks % TIMED_TICKS == 0);
}

/* What is not one row of a common size, with room for it and nothing to attend to. */
__attribute__((noinline)) static int append_other(struct tt_ring_writer *writer,
						  const void *rows, uint64_t count,
						  uint64_t *done_out,
						  struct tt_error *err)
{
	uint32_t flags =
		tti_attention(&writer->duty); /* a claim that ended may have rolled */
	struct tti_live *live = tti_writer_live(writer);

	if (TTI_UNLIKELY(has_more(writer, flags) ||
			 count - 1 >= live->limit - live->end)) /* 0 as well */
		return append_slowly(writer, rows, count, done_out, err);
	TTI_FAILPOINT("ring.append.quick");
	tti_writer_batched(writer, count - 1);
	tti_live_copy_many(live, live->at, rows, count);
	TTI_FAILPOINT("ring.append.put");
	tti_live_advance(live, count);
	if (flags)
		stamp(writer, live);
	tti_turn_close(&writer->duty);
	if (done_out)
		*done_out = count;
	return TT_OK;
}

TTI_ROW_PATH int tt_ring_append(struct tt_ring_writer *writer, const void *rows,
				uint64_t count, uint64_t *done_out, struct tt_error *err)
{
	uint32_t flags = tti_turn_open(&writer->duty, TTI_TURN_WORKING);
	struct tti_live_next next;
	struct tti_live *live;

	/* nothing of the file before: who claims may be rolling it away */
	if (TTI_UNLIKELY(flags != 0 || count != 1))
		return append_other(writer, rows, count, done_out, err);
	live = tti_writer_live(writer);
	next = tti_live_next(live);
	if (TTI_UNLIKELY(next.end >= live->limit))
		return append_other(writer, rows, count, done_out, err);
	TTI_FAILPOINT("ring.append.quick");
	if (!tti_live_put_one(live, &next, rows))
		return append_other(writer, rows, count, done_out, err);
	TTI_FAILPOINT("ring.append.put");
	tti_live_advance_by(live, &next, 1);
	tti_turn_close(&writer->duty);
	if (TTI_UNLIKELY(done_out != NULL)) /* of one row the status tells as much */
		*done_out = 1;
	return TT_OK;
}

/* ---- Rows filled in place ---- */

/* A roll on the way is no waiting for a publish. */
__attribute__((noinline, cold)) static void *reserve_slowly(struct tt_ring_writer *writer,
							    uint64_t count,
							    uint64_t *got_out,
							    struct tt_error *err)
{
	struct tti_duty *duty = &writer->duty;
	uint32_t flags;
	int rc;

	*got_out = 0;
	tti_turn_open(duty, TTI_TURN_WORKING);
	flags = tti_writer_attend(writer);
	if (flags & TTI_ATTEND_ASLEEP)
		tti_pulse_wake();
	tti_attend(duty, flags & TTI_ATTEND_STAMP); /* the publish changes the file */
	rc = count > 0 ? make_room(writer, count, err)
		       : tti_fail(err, TT_E_RANGE, "%s: nothing to reserve",
				  writer->ring.path);
	if (rc < 0) {
		tti_turn_close(duty);
		return NULL;
	}
	*got_out = tti_min_u64(tti_live_room(tti_writer_live(writer)), count);
	tti_turn_open(duty, *got_out | TTI_TURN_SLOWLY);
	return tti_writer_live(writer)->at;
}

/* The turn lasts until the publish. */
TTI_ROW_PATH void *tt_ring_reserve(struct tt_ring_writer *writer, uint64_t count,
				   uint64_t *got_out, struct tt_error *err)
{
	uint32_t flags;
	struct tti_live *live;

	/* 0 rows would be no turn, and outside of one nothing may be touched */
	if (TTI_UNLIKELY(count == 0))
		return reserve_slowly(writer, count, got_out, err);
	flags = tti_turn_open(&writer->duty, count);
	live = tti_writer_live(writer);
	if (TTI_UNLIKELY((flags & ~TTI_ATTEND_STAMP) != 0 ||
			 count - 1 >= live->limit - live->end))
		return reserve_slowly(writer, count, got_out, err);
	*got_out = count;
	return live->at;
}

/* Behind the store of end: who waits for these rows? */
__attribute__((noinline, cold)) static int published_slowly(struct tt_ring_writer *writer,
							    uint64_t count)
{
	uint32_t flags = tti_writer_attend(writer);
	int rc = after_publish(writer, count, flags, NULL);

	tti_turn_close(&writer->duty);
	if (flags & TTI_ATTEND_ASLEEP)
		tti_pulse_wake();
	return rc;
}

/* The first row of a file, too, and what is looked at each so many rows. */
__attribute__((noinline, cold)) static int publish_slowly(struct tt_ring_writer *writer,
							  uint64_t count)
{
	struct tti_live *live = tti_writer_live(writer);
	int rc;

	if (live->has_padding)
		tti_live_clear_padding(live, live->at, count);
	if (live->end == 0)
		note_first_row(writer);
	rc = tti_live_publish(live, live->end + count);
	if (rc == TT_OK)
		return published_slowly(writer, count);
	tti_turn_close(&writer->duty);
	return rc;
}

/* Behind a quick reserve, with something to attend to. */
__attribute__((noinline, cold)) static int published_other(struct tt_ring_writer *writer,
							   uint64_t count)
{
	if (tti_attention(&writer->duty) != TTI_ATTEND_STAMP)
		return published_slowly(writer, count);
	stamp(writer, tti_writer_live(writer));
	tti_turn_close(&writer->duty);
	return TT_OK;
}

/* While rows were reserved the pulse may have gone to sleep: attention is loaded behind the
 * store of end. */
static inline int published(struct tt_ring_writer *writer, uint64_t count)
{
	if (TTI_UNLIKELY(tti_attention(&writer->duty) != 0))
		return published_other(writer, count);
	tti_turn_close(&writer->duty);
	return TT_OK;
}

/* Not as many rows as were reserved, a slow reserve, or padding of several gaps. */
__attribute__((noinline)) static int publish_rare(struct tt_ring_writer *writer,
						  uint64_t count)
{
	struct tti_live *live = tti_writer_live(writer);

	if (count > tti_writer_promised(writer))
		return TT_E_MISUSE;
	if (count == 0) {
		tti_turn_close(&writer->duty);
		return TT_OK;
	}
	tti_writer_batched(writer, count - 1);
	if (tti_turn(&writer->duty) & TTI_TURN_SLOWLY)
		return publish_slowly(writer, count);
	if (live->has_padding)
		tti_live_clear_padding(live, live->at, count);
	TTI_FAILPOINT("ring.publish.quick");
	tti_live_advance(live, count);
	return published(writer, count);
}

/* What is not one row with one gap, behind a quick reserve.  A function of its own: a row path
 * that jumps about costs as much as one twice as long. */
TTI_ROW_PATH __attribute__((noinline)) static int publish_other(
	struct tt_ring_writer *writer, uint64_t count)
{
	struct tti_live_next next;
	struct tti_live *live;

	if (TTI_UNLIKELY(count == 0 || count != tti_turn(&writer->duty)))
		return publish_rare(writer, count);
	live = tti_writer_live(writer);
	next = tti_live_next(live);
	if (TTI_UNLIKELY(live->gap_class == TTI_GAP_ANY))
		return publish_rare(writer, count);
	if (live->gap_class == TTI_GAP_TO8)
		tti_live_clear_gaps(live, next.at, count);
	if (count > 1)
		tti_writer_batched(writer, count - 1);
	TTI_FAILPOINT("ring.publish.quick");
	tti_live_advance_by(live, &next, count);
	return published(writer, count);
}

/* A quick reserve was of one row at least, and below the limit. */
TTI_ROW_PATH int tt_ring_publish(struct tt_ring_writer *writer, uint64_t count)
{
	struct tti_live_next next;
	struct tti_live *live;

	if (TTI_UNLIKELY(count != 1 || tti_turn(&writer->duty) != 1))
		return publish_other(writer, count);
	live = tti_writer_live(writer);
	next = tti_live_next(live);
	if (TTI_UNLIKELY(live->gap_class == TTI_GAP_ANY))
		return publish_other(writer, count);
	if (TTI_LIKELY(live->gap_class == TTI_GAP_TO8))
		tti_live_clear_gap(live, next.at);
	TTI_FAILPOINT("ring.publish.quick");
	tti_live_advance_by(live, &next, 1);
	return published(writer, 1);
}
