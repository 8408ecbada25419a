/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of a ring, shared by opening (ring_open.c, ring_settle.c), appending
 * (ring_append.c), what else its owner asks (ring_writer.c), rolling (ring_roll.c), what goes to
 * disk (ring_upkeep.c) and what the two threads do for it (ring_duty.c).
 *
 * Who touches what:
 *   the owner   the thread that appends, in a turn; or the helper, while it has claimed the
 *               writer.  One at a time (helper.h).
 *   upkeep      whoever holds duty.work_mutex: the helper when it visits, the owner when it
 *               syncs, or makes a file itself.
 *   pulse       under the registry's mutex.
 *
 * Invariant: file is what the manifest's newest slot names, and the writer lock is held from
 * open to close. */
#ifndef TTI_RING_WRITER_H
#define TTI_RING_WRITER_H

#include "live/helper.h"
#include "live/ring.h"
#include "live/ring_counters.h"
#include "live/ring_mark.h"
#include "live/ring_wfile.h"

/* The next file: upkeep makes it while there is none, as TTI_RING_NEXT_NAME, and hands it over;
 * takes it again to give it its name ahead of the roll, or to take that back; the owner takes
 * it for a roll and says when the next may be made. */
enum tti_next {
	TTI_NEXT_NONE = 0,
	TTI_NEXT_READY, /* as TTI_RING_NEXT_NAME */
	TTI_NEXT_NAMED, /* under its name, not published */
	TTI_NEXT_TAKEN
};

struct tt_ring_writer {
	struct tti_duty duty;
	_Atomic(struct tti_wfile *) file; /* stored by the owner */

	/* the owner's; clean, wake_us, sync_ms and the clocks never change */
	struct tti_ring ring; /* its settings file is not mapped anew after open */
	struct tti_ring_lock lock;
	struct tti_fork_guard set_guard; /* of ring.set_fd, which holds the second lock */
	struct tt_dtype *dtype;
	uint64_t row_bytes;
	_Atomic(uint64_t) served;     /* the seal request that was looked at last */
	_Atomic(bool) seal_failed;    /* it was not answered: idle tries again */
	_Atomic(int64_t) roll_due_ns; /* INT64_MAX: not by time, or no row yet */
	_Atomic(uint64_t) batched;    /* rows of appends of several, less one each */
	uint32_t publishes;	      /* slow ones: pace what reads a clock */
	bool clean, no_helper, force_network_fs;
	bool queue_whole;	  /* at open: the manifest needed no mending */
	uint64_t counted_at_open; /* rows in the counters then */
	/* whose is next: when the last file was named; a step is what lies before */
	int64_t clock_seen_ns;
	int64_t wake_us, sync_ms;
	struct tti_crew_opts crew_opts;
	int64_t last_sync_ns;	    /* without helper */
	int64_t (*clock_ns)(void);  /* names and days of files */
	int64_t (*coarse_ns)(void); /* timed sync and roll */
	bool judged;		    /* the mark was looked at (ring_settle.c) */
	bool rebooted;		    /* it was of another boot: what follows it was cut */
	bool recovers;		    /* only to be recovered: no row will be appended */
	bool cut_unproven;	    /* also what no mark speaks of */
	bool doubtful;		    /* rows are unproven after a reboot, and stay so */
	uint64_t reboot_base;	    /* rows of the ring up to the cut */
	uint64_t rows_cut, rows_unproven; /* after a reboot */
	struct tti_repair repair;
	struct tti_ring_like like; /* what a row is; owned, while the ring is opened */
	bool like_rules;	   /* whatever files tell */

	/* between owner and upkeep */
	_Atomic(uint32_t) next_state; /* enum tti_next */
	struct tti_wfile *next; /* READY, NAMED: upkeep's gift; TAKEN: who took it */
	_Atomic(struct tti_wfile *) finished; /* newest first, linked by older */
	/* upkeep tells the pulse */
	_Atomic(uint64_t) synced_name, synced_end, populated;
	_Atomic(int64_t) synced_ns, retry_ns, claim_ns; /* monotonic */
	_Atomic(bool) unmade_told; /* the helper counted that it can make no next file */
	/* when to look at max_bytes again; 0: after the next roll will do */
	_Atomic(int64_t) limit_ns;
	/* of the name ahead: when it was given, when to try again after a failure (monotonic),
	 * and the rows there were when it was taken back */
	_Atomic(int64_t) named_ns, name_retry_ns;
	_Atomic(uint64_t) unnamed_rows;
	/* upkeep tells the owner: the length of the manifest when it looked last */
	_Atomic(uint64_t) manifest_bytes;

	struct tti_ring upkeep;	       /* upkeep's own view; the descriptors are ring's */
	struct tti_ring_marker marker; /* upkeep's */
	uint64_t
		finished_name; /* upkeep: the newest file that was finished; 0 none yet */
	bool over_limit;       /* upkeep: max_bytes could not be met, and that was told */
	bool unmarked;	       /* rows of a file were lost: no mark any more */
	struct tt_error kept;  /* upkeep: an error of the helper that nobody was told */

	/* pulse */
	uint64_t seen_name, seen_end, seen_rows, seen_appends;
	int64_t seen_ns; /* when it moved last */
	uint64_t paced_rows,
		pace_before; /* rows at the window's begin, and in the last one */
	int64_t paced_ns;
	/* the pulse tells the helper: rows that came in a window, now or just before */
	_Atomic(uint64_t) pace;
};

/* The owner's, who stored it. */
static inline struct tti_wfile *tti_writer_file(const struct tt_ring_writer *writer)
{
	return atomic_load_explicit(&writer->file, memory_order_relaxed);
}

/* Upkeep and pulse; pairs with the release store of a roll. */
static inline struct tti_wfile *tti_writer_file_seen(const struct tt_ring_writer *writer)
{
	return atomic_load_explicit(&writer->file, memory_order_acquire);
}

/* What the counters will say of rows once all so far are counted. */
static inline uint64_t tti_writer_rows(const struct tt_ring_writer *writer)
{
	const struct tti_wfile *file = tti_writer_file_seen(writer);

	return writer->counted_at_open + file->before + tti_wfile_end(file);
}

static inline bool tti_writer_is_whole(const struct tt_ring_writer *writer)
{
	return writer->ring.settings.flags & TTI_SETTINGS_BATCHES_WHOLE;
}

/* Nobody helps, and nothing is to be done in time but to count: appends need not look at each
 * row. */
static inline bool tti_writer_is_alone(const struct tt_ring_writer *writer)
{
	return writer->no_helper && writer->wake_us == TT_WAKE_NEVER &&
	       writer->sync_ms == TT_SYNC_NONE && writer->ring.settings.roll_at_s < 0;
}

static inline struct tti_counters *tti_writer_counters(
	const struct tt_ring_writer *writer)
{
	return tti_ring_counters(&writer->ring);
}

static inline struct tti_live *tti_writer_live(const struct tt_ring_writer *writer)
{
	return &tti_writer_file(writer)->live;
}

/* Rows that a reserve waits to publish. */
static inline uint64_t tti_writer_promised(const struct tt_ring_writer *writer)
{
	return tti_turn_promised(&writer->duty);
}

/* A seal request that was not looked at yet. */
static inline bool tti_writer_is_asked(const struct tt_ring_writer *writer)
{
	return tti_request_peek(tti_ring_words(&writer->ring)) !=
	       atomic_load_explicit(&writer->served, memory_order_relaxed);
}

static inline bool tti_writer_is_roll_due(const struct tt_ring_writer *writer)
{
	int64_t due = atomic_load_explicit(&writer->roll_due_ns, memory_order_relaxed);

	return due != INT64_MAX && tti_writer_live(writer)->end > 0 &&
	       writer->coarse_ns() >= due;
}

/* The owner, before it publishes: rows of an append that has (or will have) another row that
 * counts for it.  So an append of one row, the quickest, has nothing to count. */
static inline void tti_writer_batched(struct tt_ring_writer *writer, uint64_t rows)
{
	tti_counter_bump(&writer->batched, rows);
}

/* Upkeep: may it be made?  Pairs with tti_next_free(). */
static inline bool tti_next_is_free(const struct tt_ring_writer *writer)
{
	return atomic_load_explicit(&writer->next_state, memory_order_acquire) ==
	       TTI_NEXT_NONE;
}

/* Upkeep: hand it over.  Pairs with tti_next_take(). */
static inline void tti_next_give(struct tt_ring_writer *writer, struct tti_wfile *next)
{
	writer->next = next;
	atomic_store_explicit(&writer->next_state,
			      next->name == 0 ? TTI_NEXT_READY : TTI_NEXT_NAMED,
			      memory_order_release);
}

/* The owner, for a roll; upkeep, for its name.  NULL: there is none, or the other has it. */
static inline struct tti_wfile *tti_next_take(struct tt_ring_writer *writer)
{
	uint32_t state = atomic_load_explicit(&writer->next_state, memory_order_relaxed);

	while (state == TTI_NEXT_READY || state == TTI_NEXT_NAMED)
		if (atomic_compare_exchange_weak_explicit(
			    &writer->next_state, &state, TTI_NEXT_TAKEN,
			    memory_order_acquire, memory_order_relaxed))
			return writer->next;
	return NULL;
}

static inline void tti_next_free(struct tt_ring_writer *writer)
{
	atomic_store_explicit(&writer->next_state, TTI_NEXT_NONE, memory_order_release);
}

/* ---- appending (ring_append.c); the owner, in its turn ---- */

/* Returns the flags that were raised; the writer is ours.  Who sees TTI_ATTEND_ASLEEP wakes the
 * pulse when the rows are published. */
uint32_t tti_writer_attend(struct tt_ring_writer *writer);

/* ---- rolling (ring_roll.c); the owner ---- */

/* What recovery knows more than other writers. */
struct tti_writer_hints {
	const struct tti_ring_like
		*like;	   /* a row, should no file of the ring tell; or NULL */
	bool like_rules;   /* whatever its files tell */
	bool cut_unproven; /* also without a mark cut what nothing proves after a reboot */
};
/* hints may be NULL.  Another writer is TT_E_BUSY at once; tt_ring_writer_open() waits so long for
 * one that is leaving. */
#define TTI_LEAVING_NS INT64_C(250000000)
int tti_ring_writer_open_with(struct tt_ring_writer **out, const char *dir,
			      const struct tt_ring_writer_opts *opts,
			      const struct tti_writer_hints *hints, struct tt_error *err);

/* Make an empty file of the ring's rows under name, complete before it can be seen. */
int tti_writer_make_file(struct tt_ring_writer *writer, const struct tti_npy *rows,
			 uint64_t capacity, uint64_t name, struct tt_error *err);

/* Where the number of a file without an entry can come from. */
enum tti_numbers {
	TTI_NUMBERS_NONE,  /* the ring never had any: they begin here */
	TTI_NUMBERS_QUEUE, /* a file of the queue that has one */
	TTI_NUMBERS_LOST   /* nowhere: files may be missing */
};
/* The number of the first row of a file in the ring, or unknown (ring_number.c). */
uint64_t tti_ring_number_file(struct tti_ring *ring, uint64_t name,
			      enum tti_numbers from);
/* Open the file just made or found as the newest; TT_OK leaves file set. */
int tti_writer_adopt(struct tt_ring_writer *writer, uint64_t name, uint64_t base,
		     struct tt_error *err);

/* Start a new file, whatever the newest holds. */
int tti_writer_roll(struct tt_ring_writer *writer, struct tt_error *err);
/* Finish what a dead writer left half done; TT_OK: the newest file is open (ring_settle.c). */
int tti_writer_settle(struct tt_ring_writer *writer, struct tt_error *err);
/* After a power loss (ring_reboot.c, ring_reboot_next.c), in this order around the repair of the
 * manifest: cut what no mark covers; go on in a new file; lower the ends of what was cut. */
int tti_writer_reboot_cut(struct tt_ring_writer *writer, struct tt_error *err);
int tti_writer_reboot_go_on(struct tt_ring_writer *writer, struct tt_error *err);
int tti_writer_lower_ends(struct tt_ring_writer *writer, struct tt_error *err);
/* Of the newest file, when it is ours: a start that is not 0, and an end that its mark gives the
 * lie, made right (ring_mend_tail.c). */
int tti_writer_mend_tail(struct tt_ring_writer *writer, uint64_t name,
			 struct tt_error *err);
/* writer->like: what a row of the ring is. */
int tti_writer_know_rows(struct tt_ring_writer *writer, struct tt_error *err);
/* When a file whose first row came at first_ns is to be rolled. */
int64_t tti_writer_roll_due(const struct tt_ring_writer *writer, int64_t first_ns);
/* The same by who holds the work mutex already. */
int tti_writer_roll_held(struct tt_ring_writer *writer, struct tt_error *err);
/* Roll for a seal request and answer it; held: with the work mutex. */
/* The next file could not be made: counted, unless it was already.  Returns the code of err. */
int tti_writer_unmade(struct tt_ring_writer *writer, struct tt_error *err);
void tti_writer_made(struct tt_ring_writer *writer);
void tti_writer_serve(struct tt_ring_writer *writer, bool held);
/* Tell readers and requesters that something happened. */
void tti_writer_wake(struct tt_ring_writer *writer, bool always);
/* Up to where appends need no look at anything but room. */
void tti_writer_set_limit(struct tt_ring_writer *writer);

/* ---- the next file's name (ring_name.c) ---- */

/* Its name, for a roll by the owner, who took it: the one that it has ahead, or a new one, by a
 * rename.  1: it had it, no system call was made. */
int tti_name_now(struct tt_ring_writer *writer, struct tti_wfile *next,
		 struct tt_error *err);
/* Somebody entered the name ahead into the manifest: readers may have the file open, and it
 * stays as it is, empty.  The owner, who took it; consumes next.  false: nobody did. */
bool tti_name_was_published(struct tt_ring_writer *writer, struct tti_wfile *next);
/* Pulse: is the name to be given or taken back now?  Keeps the pace. */
bool tti_name_is_due(struct tt_ring_writer *writer, const struct tti_wfile *file,
		     uint64_t end, int64_t now_ns);
/* Helper, with the work mutex: give it or take it back when that is due. */
void tti_name_ahead(struct tt_ring_writer *writer, int64_t now_ns);

/* ---- to disk (ring_upkeep.c) ---- */

static inline void tti_upkeep_lock(struct tt_ring_writer *writer)
{
	pthread_mutex_lock(&writer->duty.work_mutex);
}

static inline void tti_upkeep_unlock(struct tt_ring_writer *writer)
{
	pthread_mutex_unlock(&writer->duty.work_mutex);
}

/* All with the work mutex held. */

/* fdatasync of one file, and its mark. */
int tti_upkeep_sync(struct tt_ring_writer *writer, struct tti_wfile *file,
		    struct tt_error *err);
/* Finished files: to disk with all that names them, then closed. */
int tti_upkeep_finish(struct tt_ring_writer *writer, struct tt_error *err);
/* The next file, for a roll to take. */
int tti_upkeep_prepare(struct tt_ring_writer *writer, struct tti_wfile **out,
		       struct tt_error *err);
/* Delete what max_bytes does not leave room for, the next file included. */
void tti_upkeep_limit(struct tt_ring_writer *writer);
/* The last look met a merge, and a while has passed. */
static inline bool tti_limit_is_due(const struct tt_ring_writer *writer, int64_t now_ns)
{
	int64_t due = atomic_load_explicit(&writer->limit_ns, memory_order_relaxed);

	return due != 0 && now_ns >= due;
}
/* Keep an error for the next call that can tell it, and count it. */
void tti_upkeep_keep(struct tt_ring_writer *writer, const struct tt_error *err);
/* A failure that a call of the owner returns is counted for those who watch, once, where it
 * arose; err may be NULL.  rc. */
int tti_upkeep_count(struct tt_ring_writer *writer, int rc, const struct tt_error *err);
/* The kept error, once. */
int tti_upkeep_tell(struct tt_ring_writer *writer, struct tt_error *err);

/* Without the mutex: everything so far to disk. */
int tti_writer_sync(struct tt_ring_writer *writer, struct tt_error *err);

/* ---- the two threads (ring_duty.c) ---- */

int tti_writer_init_duty(struct tt_ring_writer *writer);
void tti_writer_join(struct tt_ring_writer *writer);
/* Rows since the last look into the counters. */
void tti_writer_count_rows(struct tt_ring_writer *writer, int64_t wall_ns);

#endif
