/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of readers that want to be seen: storing (ring_register.c) and looking
 * (ring_status_readers.c).  Nothing else touches them in a mapping.
 *
 * A slot belongs to the reader that holds the lock on its byte, so a dead reader's is free
 * whatever it says.  Ordering (docs/CONCURRENCY.md): pid is stored last (release) after 0
 * before the fields; when the file changes it is 0 while the row is stored, so that file and
 * row, loaded between two equal files (acquire), belong together. */
#ifndef TTI_RING_REGISTER_H
#define TTI_RING_REGISTER_H

#include "base/compiler.h"
#include "live/ring_reader.h"

struct tti_slot_seen {
	uint32_t pid; /* 0: free */
	int64_t seen_ns, all_read_ns;
	struct tt_pos pos;
	uint64_t lost;
	char name[65]; /* any bytes but NUL */
};
void tti_slot_load_all(const struct tti_reader_slot *slot, struct tti_slot_seen *out);

static inline struct tti_reader_slot *tti_ring_slot(const struct tti_map *settings,
						    unsigned i)
{
	return (struct tti_reader_slot *)(void *)((char *)settings->addr +
						  TTI_READERS_OFF) +
	       i;
}

/* ---- the reader's side; all do nothing without a slot ---- */

struct tti_registered;

void tti_registered_pos(struct tti_registered *registered, struct tt_pos pos,
			bool all_read);
void tti_registered_lost(struct tti_registered *registered, uint64_t rows);

/* After rows were given: a few stores. */
static inline void tti_reader_note(struct tt_ring_reader *reader)
{
	if (TTI_UNLIKELY(reader->registered))
		tti_registered_pos(reader->registered, reader->pos, false);
}

/* After nothing new was found. */
static inline void tti_reader_note_all_read(struct tt_ring_reader *reader)
{
	if (TTI_UNLIKELY(reader->registered))
		tti_registered_pos(reader->registered, reader->pos, true);
}

static inline void tti_reader_note_lost(struct tt_ring_reader *reader, uint64_t rows)
{
	if (TTI_UNLIKELY(reader->registered))
		tti_registered_lost(reader->registered, rows);
}

#endif
