/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing, at most half full.  Invariant: from the home place
 * of a digest to its entry there is no free place; nothing is ever removed. */
#include "staged/dedup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 64

void tti_dedup_fini(struct tti_dedup *table)
{
	free(table->entries);
	*table = (struct tti_dedup){ 0 };
}

/* Bits of a digest are as good as a hash; a table made to collide on them only gets
 * slow. */
static size_t home(const struct tti_digest *digest, size_t room)
{
	uint64_t word;

	memcpy(&word, digest->b, sizeof(word));
	return (size_t)word & (room - 1);
}

/* The entry of digest, or the free place where it belongs. */
static struct tti_dedup_entry *probe(const struct tti_dedup *table,
				     const struct tti_digest *digest)
{
	size_t i = home(digest, table->room);

	while (table->entries[i].slot_plus_1 != 0 &&
	       memcmp(&table->entries[i].digest, digest, sizeof(*digest)) != 0)
		i = (i + 1) & (table->room - 1);
	return &table->entries[i];
}

bool tti_dedup_find(const struct tti_dedup *table, const struct tti_digest *digest,
		    uint64_t *slot_out)
{
	const struct tti_dedup_entry *entry;

	if (table->count == 0)
		return false;
	entry = probe(table, digest);
	if (entry->slot_plus_1 == 0)
		return false;
	*slot_out = entry->slot_plus_1 - 1;
	return true;
}

static int grow(struct tti_dedup *table, size_t room)
{
	struct tti_dedup bigger = { .room = room, .count = table->count };

	bigger.entries = calloc(room, sizeof(*bigger.entries));
	if (!bigger.entries)
		return -ENOMEM;
	for (size_t i = 0; i < table->room; i++)
		if (table->entries[i].slot_plus_1 != 0)
			*probe(&bigger, &table->entries[i].digest) = table->entries[i];
	free(table->entries);
	*table = bigger;
	return TT_OK;
}

int tti_dedup_reserve(struct tti_dedup *table, size_t count)
{
	size_t room = table->room ? table->room : FIRST_ROOM;

	while (room / 2 < count) {
		if (room > SIZE_MAX / 2)
			return -ENOMEM;
		room *= 2;
	}
	return room > table->room ? grow(table, room) : TT_OK;
}

int tti_dedup_put(struct tti_dedup *table, const struct tti_digest *digest, uint64_t slot,
		  uint64_t *first_out)
{
	struct tti_dedup_entry *entry;
	int rc = tti_dedup_reserve(table, table->count + 1);

	if (rc < 0)
		return rc;
	entry = probe(table, digest);
	if (entry->slot_plus_1 == 0) {
		entry->digest = *digest;
		entry->slot_plus_1 = slot + 1;
		table->count++;
	}
	if (first_out)
		*first_out = entry->slot_plus_1 - 1;
	return TT_OK;
}
