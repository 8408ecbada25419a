/* SPDX-License-Identifier: Apache-2.0 */
/* One file of a ring as its writer has it: open, mapped, with its entry.  An object of its own,
 * so that the next one can be made by another thread and the finished one left to it.
 *
 * Invariant: it is freed with the writer's work mutex held, after tti_crew_pass(), or when
 * neither thread looks after the writer. */
#ifndef TTI_RING_WFILE_H
#define TTI_RING_WFILE_H

#include "live/ring.h"

struct tti_wfile {
	struct tti_live live; /* first: appends touch its first lines only */
	uint64_t name;	      /* 0: not named yet, it is TTI_RING_NEXT_NAME */
	uint64_t entry_idx;
	struct tti_map entry_map; /* the page of the entry: no growth moves it */
	struct tti_entry *entry;
	uint64_t before;	    /* rows of this writer in files before, modulo 2^64 */
	uint64_t follows;	    /* the file before; 0: it was not this writer's */
	_Atomic(uint64_t) slow_end; /* end again, for tails that cannot be mapped */
	struct tti_wfile *older;    /* in the list of finished files */
	/* work mutex */
	uint64_t populated; /* bytes of the file, from its beginning */
	uint64_t synced;    /* rows known to be on disk */
	bool lost;	    /* an fdatasync failed: what it covered may be gone */
};

/* The finished or open file's rows, by another thread than the writer's (acquire). */
static inline uint64_t tti_wfile_end(const struct tti_wfile *file)
{
	return file->live.watched_tail
		       ? tti_end_load(file->live.watched_tail)
		       : atomic_load_explicit(&file->slow_end, memory_order_acquire);
}

/* The number of the next file's first row in the whole ring; the owner's, of the file that it
 * appends to. */
static inline uint64_t tti_wfile_next_base(const struct tti_wfile *file)
{
	uint64_t base = tti_field_load(&file->entry->base);

	return base == TTI_ROWS_UNKNOWN ? base : base + file->live.end;
}

/* An empty one; NULL without memory. */
struct tti_wfile *tti_wfile_new(void);
void tti_wfile_free(struct tti_wfile *file); /* accepts NULL; the entry stays */
/* Map the page of entry idx. */
int tti_wfile_take_entry(struct tti_wfile *file, const struct tti_ring *ring,
			 uint64_t idx, struct tt_error *err);
/* The name in the directory; 0 is TTI_RING_NEXT_NAME. */
void tti_wfile_format_name(char out[TTI_RING_NAME_BYTES], uint64_t name);
/* It has that name now, 0 for TTI_RING_NEXT_NAME: in words too; no allocation. */
void tti_wfile_set_name(struct tti_wfile *file, const struct tti_ring *ring,
			uint64_t name);

struct tti_wfile_make {
	const struct tti_npy *rows;
	uint64_t capacity;
	bool sync;
};
/* TTI_RING_NEXT_NAME made, synced, opened, mapped, with an entry claimed.  ring: the view whose
 * entries may grow. */
int tti_wfile_prepare(struct tti_wfile **out, struct tti_ring *ring,
		      const struct tti_wfile_make *make, struct tt_error *err);
/* Take back what tti_wfile_prepare() made, whatever its name is by now. */
void tti_wfile_discard(struct tti_wfile *file, const struct tti_ring *ring);

#endif
