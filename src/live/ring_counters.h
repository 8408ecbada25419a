/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a ring: filling them and reading them.  Nothing else touches them in a
 * mapping.
 *
 * Nothing depends on a counter, so all but the last error are relaxed: a value may be late,
 * never torn.  Each group has the storing threads that its heading names; "one" means one
 * thread at a time (the owner of the writer, whoever that is), "any" means that additions of
 * several threads and processes add up.  All accept NULL, a ring without a settings file, and
 * then do nothing.
 *
 * Ordering (docs/CONCURRENCY.md), each paired with tti_counters_read():
 *  - tti_count_error() claims error_ns, releases each field and then the new time; the reader
 *    acquires them between two looks at that time, and reads again when it moved.
 *  - tti_count_synced() releases the end, then the file; the reader acquires the file, then
 *    the end, and reads again when the file moved, so an end is never one of a file after. */
#ifndef TTI_RING_COUNTERS_H
#define TTI_RING_COUNTERS_H

#include <stdatomic.h>
#include "live/ring.h"

/* NULL: nothing to fill.  Of the mapping of now: ask again after tti_ring_refresh(). */
static inline struct tti_counters *tti_ring_counters(const struct tti_ring *ring)
{
	return ring->set.addr && ring->writable
		       ? (void *)((char *)ring->set.addr + TTI_COUNTERS_OFF)
		       : NULL;
}

static inline void tti_counter_add(_Atomic(uint64_t) *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* For counters with one storing thread: no locked instruction. */
static inline void tti_counter_bump(_Atomic(uint64_t) *counter, uint64_t n)
{
	atomic_store_explicit(counter,
			      atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* ---- rows; one ---- */

/* rows, bytes and calls of append since it was called last. */
static inline void tti_count_appended(struct tti_counters *counters, uint64_t rows,
				      uint64_t bytes, uint64_t appends)
{
	if (!counters)
		return;
	tti_counter_bump(&counters->rows, rows);
	tti_counter_bump(&counters->bytes, bytes);
	tti_counter_bump(&counters->appends, appends);
}

static inline void tti_count_last_write(struct tti_counters *counters, int64_t wall_ns)
{
	if (counters)
		atomic_store_explicit(&counters->last_write_ns, wall_ns,
				      memory_order_relaxed);
}

static inline void tti_count_roll(struct tti_counters *counters)
{
	if (counters)
		tti_counter_bump(&counters->rolls, 1);
}

/* ---- the helper's; any ---- */

static inline void tti_count_wakes(struct tti_counters *counters, uint64_t n)
{
	if (counters)
		tti_counter_add(&counters->wakes, n);
}

static inline void tti_count_prepared(struct tti_counters *counters)
{
	if (counters)
		tti_counter_add(&counters->prepared, 1);
}

/* A sync that worked, ended at wall_ns. */
static inline void tti_count_sync(struct tti_counters *counters, int64_t wall_ns)
{
	if (!counters)
		return;
	tti_counter_add(&counters->syncs, 1);
	atomic_store_explicit(&counters->last_sync_ns, wall_ns, memory_order_relaxed);
}

static inline void tti_count_sync_failed(struct tti_counters *counters)
{
	if (counters)
		tti_counter_add(&counters->sync_failures, 1);
}

/* Rows of file below end are on disk, and so are all files before it.  One. */
static inline void tti_count_synced(struct tti_counters *counters, uint64_t file,
				    uint64_t end)
{
	if (!counters)
		return;
	atomic_store_explicit(&counters->synced_end, end, memory_order_release);
	atomic_store_explicit(&counters->synced_file, file, memory_order_release);
}

/* ---- rare things; any ---- */

/* All rows since the ring was made. */
static inline uint64_t tti_counted_rows(const struct tti_counters *counters)
{
	return counters ? atomic_load_explicit(&counters->rows, memory_order_relaxed) : 0;
}

/* The wall clock was found by_ns behind the newest name. */
static inline void tti_count_clock_step(struct tti_counters *counters, int64_t by_ns)
{
	if (!counters)
		return;
	atomic_store_explicit(&counters->clock_step_ns, by_ns, memory_order_relaxed);
	tti_counter_add(&counters->clock_steps, 1);
}

static inline void tti_count_repair(struct tti_counters *counters)
{
	if (counters)
		tti_counter_add(&counters->repairs, 1);
}

/* ---- histograms; any ---- */

enum tti_hist {
	TTI_HIST_APPEND,
	TTI_HIST_ROLL,
	TTI_HIST_SYNC,
	TTI_HIST_WAKE,
};
#define TTI_HISTS 4
#define TTI_HIST_BUCKETS 64

/* Bucket i counts what took [2^i, 2^(i+1)) ns; 0 ns and less count as 1. */
static inline unsigned tti_hist_bucket(int64_t ns)
{
	return ns > 1 ? 63 - (unsigned)__builtin_clzll((uint64_t)ns) : 0;
}

void tti_count_took(struct tti_counters *counters, enum tti_hist hist, int64_t ns);

/* ---- the last error; any ---- */

/* A writer opened: when, and an error that a dead process left half stored is forgotten. */
void tti_count_open(struct tti_counters *counters, int64_t wall_ns);
/* rows: what counters->rows will be when all so far are counted, since clocks cannot tell which
 * rows came after it.  code as calls return it; tag NULL: tt_error_tag(code).  Of two threads
 * that store at once one is only counted. */
void tti_count_error(struct tti_counters *counters, uint64_t rows, int code,
		     const char *tag, const char *text);
/* The same with the text of err (NULL: words for the code), without the ring's path before
 * it. */
void tti_ring_count_error(const struct tti_ring *ring, uint64_t rows, int code,
			  const struct tt_error *err);
/* That error, which was counted, keeps the next row out too: rows came since, and none more. */
void tti_count_error_stands(struct tti_counters *counters, uint64_t rows);

/* ---- reading ---- */

struct tti_counters_seen {
	uint64_t rows, bytes, appends, rolls;
	int64_t last_write_ns, opened_ns;
	uint64_t wakes, syncs, sync_failures;
	int64_t last_sync_ns;
	uint64_t synced_file, synced_end; /* of one instant */
	uint64_t prepared, clock_steps, repairs, errors;
	int64_t clock_step_ns;
	uint64_t error_rows;
	int64_t error_ns, error_code;	    /* 0, 0 while one is being stored */
	char error_tag[25], error_text[81]; /* as found: any bytes but NUL */
	uint64_t hist[TTI_HISTS][TTI_HIST_BUCKETS];
};

/* From any mapping of the settings file. */
void tti_counters_read(const struct tti_ring *ring, struct tti_counters_seen *out);

#endif
