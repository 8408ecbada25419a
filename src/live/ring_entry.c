/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of a ring's settings file: what is known of each file beyond its bytes.  Invariant:
 * an entry whose name can be seen is filled; the file only grows. */
#include "live/ring.h"

#include <errno.h>
#include <unistd.h>
#include "base/failpoint.h"
#include "base/limits.h"

uint64_t tti_ring_search_entry(const struct tti_ring *ring, uint64_t name)
{
	uint64_t count = tti_ring_entry_count(ring);

	for (uint64_t i = 0; i < count; i++)
		if (tti_entry_name(tti_ring_entry(ring, i)) == name)
			return i;
	return TTI_NO_ENTRY;
}

uint64_t tti_ring_find_entry(const struct tti_ring *ring, uint64_t name)
{
	return ring->index ? tti_ring_index_find(ring, name)
			   : tti_ring_search_entry(ring, name);
}

bool tti_ring_is_foreign(const struct tti_ring *ring)
{
	uint64_t newest = tti_ring_newest(ring);

	/* without a manifest the settings file alone says whose it is */
	return !ring->set.addr ||
	       (newest != 0 && tti_ring_find_entry(ring, newest) == TTI_NO_ENTRY);
}

void tti_entry_fill(struct tti_entry *entry, uint64_t name, uint64_t base)
{
	tti_field_store(&entry->first_row_ns, INT64_MIN);
	tti_field_store(&entry->rows, TTI_ROWS_UNKNOWN);
	tti_field_store(&entry->time_min, INT64_MAX);
	tti_field_store(&entry->time_max, INT64_MIN);
	tti_field_store(&entry->cut_at, UINT64_MAX);
	tti_entry_merged_store(entry, 0);
	tti_field_store(&entry->merged_row, 0);
	tti_field_store(&entry->base, base);
	TTI_FAILPOINT("ring.entry.filled");
	tti_entry_name_store(entry, name);
}

static uint64_t claim_free(struct tti_ring *ring)
{
	uint64_t count = tti_ring_entry_count(ring);

	for (uint64_t i = 0; i < count; i++)
		if (tti_entry_claimed_by(tti_ring_entry(ring, i)) == 0 &&
		    tti_entry_claim(tti_ring_entry(ring, i), (uint64_t)getpid()))
			return i;
	return TTI_NO_ENTRY;
}

static bool is_gone(const struct tti_items *items, const struct tti_entry *entry)
{
	uint64_t name = tti_entry_name(entry), into = tti_entry_merged(entry);
	const struct tti_ring_item *merged = into ? tti_items_find(items, into) : NULL;

	return name != 0 && !tti_items_find(items, name) && !(merged && merged->merged);
}

/* The oldest entry whose file is gone, when many are. */
static uint64_t take_gone(struct tti_ring *ring)
{
	tti_auto_items items = { 0 };
	uint64_t count = tti_ring_entry_count(ring), oldest = TTI_NO_ENTRY, gone = 0,
		 name = 0;

	if (tti_ring_list(ring, &items, NULL) < 0)
		return TTI_NO_ENTRY;
	for (uint64_t i = 0; i < count; i++) {
		const struct tti_entry *entry = tti_ring_entry(ring, i);

		if (!is_gone(&items, entry))
			continue;
		gone++;
		if (oldest == TTI_NO_ENTRY || tti_entry_name(entry) < name) {
			oldest = i;
			name = tti_entry_name(entry);
		}
	}
	if (gone <= TTI_GONE_ENTRIES_KEPT ||
	    !tti_entry_take(tti_ring_entry(ring, oldest), name))
		return TTI_NO_ENTRY;
	return oldest;
}

static int grow_entries(struct tti_ring *ring, struct tt_error *err)
{
	uint64_t add = TTI_ENTRIES_FIRST * sizeof(struct tti_entry),
		 bytes = ring->set.bytes;
	char path[TTI_RING_PATH_BYTES];
	int rc;

	tti_ring_path(ring, TTI_SETTINGS_NAME, path, sizeof(path));
	if (tti_ring_entry_count(ring) >= TTI_ENTRIES_MAX - TTI_ENTRIES_FIRST)
		return tti_fail(
			err, TT_E_RANGE,
			"%s: holds %u files, no more are possible: merge or remove "
			"files that left the queue",
			path, TTI_ENTRIES_MAX);
	rc = tti_reserve_space(ring->set_fd, bytes, add, false);
	if (rc < 0)
		return tti_fail_space(err, rc, path, ring->set_fd, add);
	TTI_FAILPOINT("ring.entry.grown");
	tti_ring_refresh(ring);
	if (ring->set.bytes < bytes + add)
		return tti_fail_map(err, ring->set_rc < 0 ? ring->set_rc : -ENOMEM, path,
				    bytes + add);
	return TT_OK;
}

int tti_ring_claim_entry(struct tti_ring *ring, uint64_t *idx_out, struct tt_error *err)
{
	uint64_t idx = claim_free(ring);
	int rc = TT_OK;

	if (idx == TTI_NO_ENTRY)
		idx = take_gone(ring);
	while (idx == TTI_NO_ENTRY && rc == TT_OK) {
		rc = grow_entries(ring, err);
		if (rc == TT_OK)
			idx = claim_free(ring);
	}
	if (rc == TT_OK)
		*idx_out = idx;
	return rc;
}

int tti_ring_make_entry(struct tti_ring *ring, uint64_t name, uint64_t base,
			uint64_t *idx_out, struct tt_error *err)
{
	int rc = TT_OK;

	*idx_out = tti_ring_find_entry(ring, name);
	if (*idx_out != TTI_NO_ENTRY)
		return TT_OK;
	rc = tti_ring_claim_entry(ring, idx_out, err);
	if (rc == TT_OK)
		tti_entry_fill(tti_ring_entry(ring, *idx_out), name, base);
	return rc;
}
