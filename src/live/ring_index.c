/* SPDX-License-Identifier: Apache-2.0 */
/* Finding entries by name without looking at all of them: a hash table of their numbers, for
 * readers that go through thousands of files.  Invariant: the table is a memory of where names
 * were seen; a number counts only when the entry bears the name now, and a name that is not
 * found is searched for in all entries, so that the table can be old but never wrong. */
#include "live/ring.h"

#include <errno.h>
#include <stdlib.h>

struct tti_entry_index {
	uint32_t *at;	/* number + 1; 0: free */
	uint64_t slots; /* a power of two, or 0 */
	uint64_t used;
	uint64_t last; /* number found last: the next file's is often the next */
};

int tti_ring_index_entries(struct tti_ring *ring)
{
	ring->index = calloc(1, sizeof(*ring->index));
	return ring->index ? TT_OK : -ENOMEM;
}

void tti_ring_index_free(struct tti_ring *ring)
{
	if (ring->index)
		free(ring->index->at);
	free(ring->index);
	ring->index = NULL;
}

static uint64_t place_of(const struct tti_entry_index *index, uint64_t name)
{
	return (name * UINT64_C(0x9E3779B97F4A7C15)) >> 20 & (index->slots - 1);
}

static void insert(struct tti_entry_index *index, uint64_t name, uint64_t number)
{
	uint64_t place = place_of(index, name);

	while (index->at[place] != 0)
		place = (place + 1) & (index->slots - 1);
	index->at[place] = (uint32_t)number + 1;
	index->used++;
}

static bool is_at(const struct tti_ring *ring, uint64_t number, uint64_t name)
{
	return number < tti_ring_entry_count(ring) &&
	       tti_entry_name(tti_ring_entry(ring, number)) == name;
}

/* All entries as they are now.  Without memory the table stays away: slower, not wrong. */
static void build(const struct tti_ring *ring)
{
	struct tti_entry_index *index = ring->index;
	uint64_t count = tti_ring_entry_count(ring), slots = 256;

	while (slots < count * 4)
		slots *= 2;
	free(index->at);
	index->at = calloc(slots, sizeof(*index->at));
	index->slots = index->at ? slots : 0;
	index->used = 0;
	for (uint64_t i = 0; index->at && i < count; i++) {
		uint64_t name = tti_entry_name(tti_ring_entry(ring, i));

		if (name != 0)
			insert(index, name, i);
	}
}

static uint64_t look_up(const struct tti_ring *ring, uint64_t name)
{
	const struct tti_entry_index *index = ring->index;
	uint64_t place = index->slots ? place_of(index, name) : 0;

	while (index->slots && index->at[place] != 0) {
		if (is_at(ring, index->at[place] - 1, name))
			return index->at[place] - 1;
		place = (place + 1) & (index->slots - 1);
	}
	return TTI_NO_ENTRY;
}

uint64_t tti_ring_index_find(const struct tti_ring *ring, uint64_t name)
{
	struct tti_entry_index *index = ring->index;
	uint64_t found = look_up(ring, name);

	if (found == TTI_NO_ENTRY && is_at(ring, index->last + 1, name)) {
		found = index->last + 1;
		if (index->slots && index->used < index->slots / 2)
			insert(index, name, found);
	}
	if (found == TTI_NO_ENTRY) {
		found = tti_ring_search_entry(ring, name);
		if (found != TTI_NO_ENTRY)
			build(ring);
	}
	if (found != TTI_NO_ENTRY)
		index->last = found;
	return found;
}
