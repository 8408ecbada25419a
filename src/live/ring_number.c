/* SPDX-License-Identifier: Apache-2.0 */
/* The number of a file's first row in its ring, found again after npyt wrote, which numbers
 * nothing.  Invariant: a number is exact or unknown: it is counted on from a file that has one
 * over files of which the manifest shows that none is missing, or begins with a ring that
 * never had numbers. */
#include "base/num.h"
#include "live/ring_writer.h"

static bool add_rows(const struct tti_ring *ring, uint64_t name, bool merged,
		     uint64_t *sum)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	int rc = tti_ring_open_file(ring, name, merged, &live, NULL);
	bool fits = rc == TT_OK && !tti_add_overflow(*sum, tti_live_end(&live), sum);

	tti_live_close(&live);
	return fits;
}

/* Back through the queue, where names are neighbours, to a file with a number. */
static uint64_t count_on(struct tti_ring *ring, uint64_t name)
{
	tti_auto_names queue = { 0 };
	uint64_t sum = 0;
	size_t i;

	if (!ring->lock.addr || tti_ring_queue(ring, &queue, NULL) < 0)
		return TTI_ROWS_UNKNOWN;
	for (i = queue.count; i > 0 && queue.at[i - 1] >= name; i--)
		;
	for (; i > 0; i--) {
		uint64_t idx = tti_ring_find_entry(ring, queue.at[i - 1]), base;

		if (!add_rows(ring, queue.at[i - 1], false, &sum))
			return TTI_ROWS_UNKNOWN;
		base = idx == TTI_NO_ENTRY
			       ? TTI_ROWS_UNKNOWN
			       : tti_field_load(&tti_ring_entry(ring, idx)->base);
		if (base != TTI_ROWS_UNKNOWN)
			return tti_add_overflow(base, sum, &sum) ? TTI_ROWS_UNKNOWN : sum;
	}
	return TTI_ROWS_UNKNOWN;
}

/* Nobody knows of a number: the rows that are there are the first. */
static uint64_t count_all(struct tti_ring *ring, uint64_t name)
{
	tti_auto_items items = { 0 };
	uint64_t sum = 0;

	if (tti_ring_visible(ring, &items, NULL) < 0)
		return TTI_ROWS_UNKNOWN;
	for (size_t i = 0; i < items.count && items.at[i].name < name; i++)
		if (!add_rows(ring, items.at[i].name, items.at[i].merged, &sum))
			return TTI_ROWS_UNKNOWN;
	return sum;
}

uint64_t tti_ring_number_file(struct tti_ring *ring, uint64_t name, enum tti_numbers from)
{
	if (from == TTI_NUMBERS_LOST || tti_ring_find_entry(ring, name) != TTI_NO_ENTRY)
		return TTI_ROWS_UNKNOWN; /* an entry keeps what it says */
	return from == TTI_NUMBERS_QUEUE ? count_on(ring, name) : count_all(ring, name);
}
