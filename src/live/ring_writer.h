/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of a ring, shared by opening (ring_open.c), rolling (ring_roll.c) and appending
 * (ring_writer.c).
 *
 * Invariant: live is the file that the manifest's newest slot names, entry_idx its entry, and
 * the writer lock is held from open to close. */
#ifndef TTI_RING_WRITER_H
#define TTI_RING_WRITER_H

#include "live/ring.h"
#include "live/ring_mark.h"

struct tt_ring_writer {
	struct tti_ring ring;
	struct tti_ring_lock lock;
	struct tti_fork_guard set_guard; /* of ring.set_fd, which holds the second lock */
	struct tti_live live;
	uint64_t name;
	uint64_t entry_idx;
	uint64_t reserved;  /* rows that a reserve promised */
	uint64_t served;    /* the seal request that was looked at last */
	bool seal_failed;   /* it was not answered: idle tries again */
	uint32_t publishes; /* paces the stamps */
	bool clean, wake_never;
	bool needs_time; /* a timed sync or roll: the clock is read once a batch */
	bool dirty;	 /* rows since the last sync */
	bool over_limit; /* max_bytes could not be met, and that was told */
	int64_t sync_ms, last_sync_ns;
	int64_t roll_due_ns;	    /* INT64_MAX: not by time, or no row yet */
	int64_t (*clock_ns)(void);  /* names and days of files */
	int64_t (*coarse_ns)(void); /* timed sync and roll */
	struct tti_ring_marker marker;
	struct tti_repair repair;
	struct tti_ring_like like; /* what a row is; owned, while the ring is opened */
};

static inline struct tti_entry *tti_writer_entry(const struct tt_ring_writer *writer)
{
	return tti_ring_entry(&writer->ring, writer->entry_idx);
}

static inline bool tti_writer_is_whole(const struct tt_ring_writer *writer)
{
	return writer->ring.settings.flags & TTI_SETTINGS_BATCHES_WHOLE;
}

/* Make an empty file of the ring's rows under name, complete before it can be seen. */
int tti_writer_make_file(struct tt_ring_writer *writer, const struct tti_npy *rows,
			 uint64_t capacity, uint64_t name, struct tt_error *err);

/* Open the file just made or found as the newest; TT_OK leaves live, name, entry set. */
int tti_writer_adopt(struct tt_ring_writer *writer, uint64_t name, uint64_t base,
		     struct tt_error *err);

/* Start a new file, whatever the newest holds. */
int tti_writer_roll(struct tt_ring_writer *writer, struct tt_error *err);
int tti_writer_sync(struct tt_ring_writer *writer, struct tt_error *err);
/* Tell readers and requesters that something happened. */
void tti_writer_wake(struct tt_ring_writer *writer, bool always);
/* Delete what max_bytes does not leave room for, the next file included. */
void tti_writer_keep_under_limit(struct tt_ring_writer *writer);
/* When a file whose first row came at first_ns is to be rolled. */
int64_t tti_writer_roll_due(const struct tt_ring_writer *writer, int64_t first_ns);

#endif
