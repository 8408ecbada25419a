/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of a ring that are more than one word: histograms, the last error, a look at all
 * of them.
 *
 * Invariant: only who swapped error_ns to TTI_STORING writes tag, text and code. */
#include "live/ring_counters.h"

#include <inttypes.h>
#include <string.h>
#include "base/clock.h"
#include "live/shared_text.h"

#define TTI_STORING INT64_MIN /* in error_ns */

typedef _Atomic(uint64_t) word;

static word *hist_of(struct tti_counters *counters, enum tti_hist hist)
{
	switch (hist) {
	case TTI_HIST_APPEND: return counters->append_ns;
	case TTI_HIST_ROLL: return counters->roll_ns;
	case TTI_HIST_SYNC: return counters->sync_ns;
	case TTI_HIST_WAKE: break;
	}
	return counters->wake_ns;
}

void tti_count_took(struct tti_counters *counters, enum tti_hist hist, int64_t ns)
{
	if (counters)
		tti_counter_add(&hist_of(counters, hist)[tti_hist_bucket(ns)], 1);
}

void tti_count_open(struct tti_counters *counters, int64_t wall_ns)
{
	int64_t storing = TTI_STORING;

	if (!counters)
		return;
	atomic_compare_exchange_strong_explicit(&counters->error_ns, &storing, 0,
						memory_order_relaxed,
						memory_order_relaxed);
	atomic_store_explicit(&counters->opened_ns, wall_ns, memory_order_relaxed);
}

void tti_count_error(struct tti_counters *counters, uint64_t rows, int code,
		     const char *tag, const char *text)
{
	int64_t was;

	if (!counters)
		return;
	was = atomic_load_explicit(&counters->error_ns, memory_order_relaxed);
	if (was != TTI_STORING && atomic_compare_exchange_strong_explicit(
					  &counters->error_ns, &was, TTI_STORING,
					  memory_order_acquire, memory_order_relaxed)) {
		atomic_store_explicit(&counters->error_rows, rows, memory_order_release);
		atomic_store_explicit(&counters->error_code, code, memory_order_release);
		tti_shared_text_store(counters->error_tag, sizeof(counters->error_tag),
				      tag ? tag : tt_error_tag(code));
		tti_shared_text_store(counters->error_text, sizeof(counters->error_text),
				      text);
		atomic_store_explicit(&counters->error_ns, tti_clock_realtime_ns(),
				      memory_order_release);
	}
	atomic_fetch_add_explicit(&counters->errors, 1, memory_order_release);
}

void tti_count_error_stands(struct tti_counters *counters, uint64_t rows)
{
	if (counters)
		atomic_store_explicit(&counters->error_rows, rows, memory_order_release);
}

void tti_ring_count_error(const struct tti_ring *ring, uint64_t rows, int code,
			  const struct tt_error *err)
{
	const char *text = err ? err->text : tt_strerror(code);
	size_t len = ring->path ? strlen(ring->path) : 0;

	/* 80 bytes are few, and who reads them knows the ring */
	if (len > 0 && strncmp(text, ring->path, len) == 0) {
		if (text[len] == '/')
			text += len + 1;
		else if (text[len] == ':' && text[len + 1] == ' ')
			text += len + 2;
	}
	tti_count_error(tti_ring_counters(ring), rows, code, NULL, text);
}

/* ---- reading ---- */

#define GET(field) atomic_load_explicit(&from->field, memory_order_relaxed)
#define TRIES 100

/* Fields of one error; without a quiet moment, or when one died storing: none. */
static void read_error(const struct tti_counters *from, struct tti_counters_seen *out)
{
	for (unsigned tries = 0; tries < TRIES; tries++) {
		int64_t ns = atomic_load_explicit(&from->error_ns, memory_order_acquire);

		out->errors = atomic_load_explicit(&from->errors, memory_order_acquire);
		out->error_rows =
			atomic_load_explicit(&from->error_rows, memory_order_acquire);
		out->error_code =
			atomic_load_explicit(&from->error_code, memory_order_acquire);
		tti_shared_text_load(out->error_tag, sizeof(from->error_tag),
				     from->error_tag);
		tti_shared_text_load(out->error_text, sizeof(from->error_text),
				     from->error_text);
		out->error_ns = ns;
		if (ns != TTI_STORING && GET(error_ns) == ns)
			return;
	}
	out->error_ns = out->error_code = 0;
	out->error_tag[0] = out->error_text[0] = '\0';
}

static void read_synced(const struct tti_counters *from, struct tti_counters_seen *out)
{
	for (unsigned tries = 0; tries < TRIES; tries++) {
		uint64_t file =
			atomic_load_explicit(&from->synced_file, memory_order_acquire);

		out->synced_file = file;
		out->synced_end =
			atomic_load_explicit(&from->synced_end, memory_order_acquire);
		if (GET(synced_file) == file)
			return;
	}
	out->synced_file = out->synced_end = 0;
}

static void read_hists(struct tti_counters *from, struct tti_counters_seen *out)
{
	for (unsigned hist = 0; hist < TTI_HISTS; hist++)
		for (unsigned i = 0; i < TTI_HIST_BUCKETS; i++)
			out->hist[hist][i] = atomic_load_explicit(&hist_of(from, hist)[i],
								  memory_order_relaxed);
}

void tti_counters_read(const struct tti_ring *ring, struct tti_counters_seen *out)
{
	struct tti_counters *from;

	*out = (struct tti_counters_seen){ 0 };
	if (!ring->set.addr)
		return;
	from = (void *)((char *)ring->set.addr + TTI_COUNTERS_OFF);
	out->rows = GET(rows);
	out->bytes = GET(bytes);
	out->appends = GET(appends);
	out->rolls = GET(rolls);
	out->last_write_ns = GET(last_write_ns);
	out->opened_ns = GET(opened_ns);
	out->wakes = GET(wakes);
	out->syncs = GET(syncs);
	out->sync_failures = GET(sync_failures);
	out->last_sync_ns = GET(last_sync_ns);
	out->prepared = GET(prepared);
	out->clock_steps = GET(clock_steps);
	out->clock_step_ns = GET(clock_step_ns);
	out->repairs = GET(repairs);
	read_synced(from, out);
	read_error(from, out);
	read_hists(from, out);
}
