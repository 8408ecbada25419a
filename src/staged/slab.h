/* SPDX-License-Identifier: Apache-2.0 */
/* Slabs, and the list of them that an array holds.
 *
 * Invariant: a staged slab is written only by an array that alone holds it (refs 1) and
 *            only if it is writable; everything else copies it first.  So copies of an
 *            array need no lock. */
#ifndef TTI_SLAB_H
#define TTI_SLAB_H

#include <stdatomic.h>

#include "staged/transfer.h"

enum tti_slab_kind { TTI_SLAB_FULL, TTI_SLAB_BASE, TTI_SLAB_STAGED };

struct tti_slab {
	_Atomic(uint32_t) refs;
	enum tti_slab_kind kind;
	bool writable, borrowed; /* memory is the caller's */
	/* data NULL: a base slab that is not in memory */
	struct tt_nd nd;
	struct tti_packing packing;
	void *owned; /* memory to free */
	struct tt_base_slab base;
};

/* What a new slab is to be: chunks of size chunk, of each of which no more than the first box
 * places along each axis will ever be touched. */
struct tti_slab_form {
	struct tt_element element;
	uint32_t rank;
	uint64_t rows; /* a multiple of chunk[0] */
	const uint64_t *chunk;
	uint64_t box[TT_MAX_RANK];
	bool zeroed; /* else all of the boxes will be written */
};
/* Memory of its own, for the boxes only. -ENOMEM, -EOVERFLOW. */
int tti_slab_new(struct tti_slab **out, const struct tti_slab_form *form,
		 struct tt_error *err);
/* What there is memory for of each chunk, along axis. */
uint64_t tti_slab_box(const struct tti_slab *slab, uint32_t axis, uint64_t chunk);
/* The first extent[] places of the chunk at row offset.  Of *out only the axes that the slab has
 * are written. */
void tti_slab_chunk(const struct tti_slab *slab, uint64_t offset, const uint64_t *extent,
		    struct tt_nd *out);
/* A slab of which the first rows rows count. */
static inline struct tti_side tti_slab_side(const struct tti_slab *slab, uint64_t rows)
{
	return (struct tti_side){ &slab->nd, rows, slab->packing };
}
/* fill (NULL: zeros) repeated through strides of 0, of the element and shape of like. */
int tti_slab_full(struct tti_slab **out, const struct tt_nd *like, const void *fill,
		  struct tt_error *err);
/* Over memory that is the caller's. */
int tti_slab_borrow(struct tti_slab **out, const struct tt_nd *nd, bool writable,
		    struct tt_error *err);
/* A base slab; base->ctx is ours only on success. */
int tti_slab_base(struct tti_slab **out, const struct tt_base_slab *base,
		  struct tt_error *err);

struct tti_slab *tti_slab_ref(struct tti_slab *slab);
void tti_slab_unref(struct tti_slab **slab); /* accepts NULL inside */
#define tti_auto_slab TTI_CLEANUP(tti_slab_unref) struct tti_slab
/* true: no other array holds it, and all that others did with it is over. */
bool tti_slab_is_alone(const struct tti_slab *slab);

/* Digests of a slab's chunks; immutable once two arrays hold them. */
struct tti_digests {
	_Atomic(uint32_t) refs;
	uint64_t count;
	unsigned char bytes[][32];
};
struct tti_digests *tti_digests_new(uint64_t count); /* zeroed; NULL: no memory */
struct tti_digests *tti_digests_ref(struct tti_digests *digests);
void tti_digests_unref(struct tti_digests **digests);

/* An entry of an array's list.  slab NULL: a hole.  rows: how many of the slab's first
 * rows count; fewer than it has when its last chunk was moved elsewhere. */
struct tti_entry {
	struct tti_slab *slab;
	uint64_t rows;
	struct tti_digests *digests; /* NULL: none known */
};

/* Which chunk is where.  Shared between copies until one writes. */
struct tti_grid {
	_Atomic(uint32_t) refs;
	uint64_t chunks;
	uint64_t *slab, *offset; /* both within this allocation's life */
};
/* All in the full slab; NULL: no memory. */
struct tti_grid *tti_grid_new(uint64_t chunks);
struct tti_grid *tti_grid_ref(struct tti_grid *grid);
void tti_grid_unref(struct tti_grid **grid);
bool tti_grid_is_alone(const struct tti_grid *grid);
struct tti_grid *tti_grid_copy(const struct tti_grid *grid);

#endif
