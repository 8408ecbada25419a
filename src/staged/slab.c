/* SPDX-License-Identifier: Apache-2.0 */
/* Counted things that copies of an array share: slabs, digests, grids.  The count is
 * dropped with release and the last one out takes acquire, so what one thread wrote is
 * there when another frees it or finds itself alone. */
#include "staged/slab.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/num.h"
#include "staged/nd.h"

/* Relaxed: who takes one more holds one, so the thing cannot go meanwhile. */
static void ref_take(_Atomic(uint32_t) *refs)
{
	atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

/* true: that was the last.  The release pairs with the acquire of the last drop and of
 * ref_is_one(): what was read or written through this hold comes before what they
 * allow. */
static bool ref_drop(_Atomic(uint32_t) *refs)
{
	return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

static bool ref_is_one(const _Atomic(uint32_t) *refs)
{
	return atomic_load_explicit(refs, memory_order_acquire) == 1;
}

/* ---- Slabs ---- */

static int slab_alloc(struct tti_slab **out, enum tti_slab_kind kind,
		      struct tt_error *err)
{
	struct tti_slab *slab = calloc(1, sizeof(*slab));

	if (!slab)
		return tti_fail(err, -ENOMEM, "a slab: out of memory");
	atomic_init(&slab->refs, 1);
	slab->kind = kind;
	*out = slab;
	return TT_OK;
}

static int slab_memory(struct tti_slab *slab, uint64_t bytes, bool zeroed,
		       struct tt_error *err)
{
	bytes = bytes > 0 ? bytes : 1;
	slab->owned = zeroed ? calloc(1, bytes) : malloc(bytes);
	if (!slab->owned)
		return tti_fail(err, -ENOMEM,
				"a slab of %" PRIu64 " bytes: out of memory", bytes);
	slab->nd.data = slab->owned;
	slab->writable = true;
	return TT_OK;
}

/* Boxes one after the other; whole chunks are their own boxes, and lie as in any array. */
static void pack(struct tti_slab *slab, const struct tti_slab_form *form)
{
	bool whole = tti_shape_equal(form->rank, form->box, form->chunk);
	uint64_t kept = slab->nd.shape[0];

	slab->nd.shape[0] = form->rows;
	if (!whole)
		slab->packing =
			(struct tti_packing){ form->chunk[0], kept,
					      (int64_t)kept * slab->nd.strides[0] };
}

int tti_slab_new(struct tti_slab **out, const struct tti_slab_form *form,
		 struct tt_error *err)
{
	tti_auto_slab *slab = NULL;
	uint64_t bytes, all;
	int rc = tti_shape_bytes(form->rank, form->box, form->element.bytes, &bytes, err);

	if (rc < 0)
		return rc;
	if (tti_mul_overflow(bytes, form->rows / form->chunk[0], &all) ||
	    all > PTRDIFF_MAX)
		return tti_fail(err, -EOVERFLOW,
				"a slab of %" PRIu64
				" rows: more bytes than can be addressed",
				form->rows);
	rc = slab_alloc(&slab, TTI_SLAB_STAGED, err);
	if (rc == TT_OK)
		rc = tt_nd_c_order(&slab->nd, form->element, form->rank, form->box, NULL);
	if (rc == TT_OK)
		rc = slab_memory(slab, all, form->zeroed, err);
	if (rc < 0)
		return rc;
	pack(slab, form);
	*out = tti_steal_ptr(&slab);
	return TT_OK;
}

uint64_t tti_slab_box(const struct tti_slab *slab, uint32_t axis, uint64_t chunk)
{
	uint64_t have = axis == 0 && slab->packing.rows > 0 ? slab->packing.kept
							    : slab->nd.shape[axis];

	return tti_min_u64(have, chunk);
}

void tti_slab_chunk(const struct tti_slab *slab, uint64_t offset, const uint64_t *extent,
		    struct tt_nd *out)
{
	const struct tti_packing *packing = &slab->packing;
	const struct tt_nd *nd = &slab->nd;
	int64_t at = packing->rows > 0 ? (int64_t)(offset / packing->rows) * packing->step
				       : (int64_t)offset * nd->strides[0];

	out->element = nd->element;
	out->rank = nd->rank;
	out->data = (unsigned char *)nd->data + at;
	/* a small chunk is hashed in less time than it takes to copy 32 axes */
	for (uint32_t i = 0; i < nd->rank; i++) {
		out->shape[i] = extent[i];
		out->strides[i] = nd->strides[i];
	}
}

int tti_slab_full(struct tti_slab **out, const struct tt_nd *like, const void *fill,
		  struct tt_error *err)
{
	tti_auto_slab *slab = NULL;
	int rc = slab_alloc(&slab, TTI_SLAB_FULL, err);

	if (rc == TT_OK)
		rc = slab_memory(slab, like->element.bytes, false, err);
	if (rc < 0)
		return rc;
	slab->nd.element = like->element;
	slab->nd.rank = like->rank;
	memcpy(slab->nd.shape, like->shape, like->rank * sizeof(*like->shape));
	if (fill)
		memcpy(slab->owned, fill, like->element.bytes);
	else
		memset(slab->owned, 0, like->element.bytes);
	slab->writable = false;
	*out = tti_steal_ptr(&slab);
	return TT_OK;
}

int tti_slab_borrow(struct tti_slab **out, const struct tt_nd *nd, bool writable,
		    struct tt_error *err)
{
	int rc = slab_alloc(out, TTI_SLAB_STAGED, err);

	if (rc < 0)
		return rc;
	(*out)->nd = *nd;
	(*out)->writable = writable;
	(*out)->borrowed = true;
	return TT_OK;
}

int tti_slab_base(struct tti_slab **out, const struct tt_base_slab *base,
		  struct tt_error *err)
{
	int rc = slab_alloc(out, TTI_SLAB_BASE, err);

	if (rc < 0)
		return rc;
	(*out)->base = *base;
	(*out)->nd.element = base->element;
	(*out)->nd.rank = base->rank;
	(*out)->nd.data = base->memory;
	memcpy((*out)->nd.shape, base->shape, sizeof(base->shape));
	memcpy((*out)->nd.strides, base->strides, sizeof(base->strides));
	return TT_OK;
}

struct tti_slab *tti_slab_ref(struct tti_slab *slab)
{
	ref_take(&slab->refs);
	return slab;
}

void tti_slab_unref(struct tti_slab **slab)
{
	struct tti_slab *it = *slab;

	*slab = NULL;
	if (!it || !ref_drop(&it->refs))
		return;
	if (it->kind == TTI_SLAB_BASE && it->base.release)
		it->base.release(it->base.ctx);
	free(it->owned);
	free(it);
}

bool tti_slab_is_alone(const struct tti_slab *slab)
{
	return ref_is_one(&slab->refs);
}

/* ---- Digests ---- */

struct tti_digests *tti_digests_new(uint64_t count)
{
	struct tti_digests *digests;
	uint64_t bytes;

	if (tti_mul_overflow(count, 32, &bytes) ||
	    tti_add_overflow(bytes, sizeof(*digests), &bytes) ||
	    !(digests = calloc(1, bytes)))
		return NULL;
	atomic_init(&digests->refs, 1);
	digests->count = count;
	return digests;
}

struct tti_digests *tti_digests_ref(struct tti_digests *digests)
{
	if (digests)
		ref_take(&digests->refs);
	return digests;
}

void tti_digests_unref(struct tti_digests **digests)
{
	if (*digests && ref_drop(&(*digests)->refs))
		free(*digests);
	*digests = NULL;
}

/* ---- Grids ---- */

struct tti_grid *tti_grid_new(uint64_t chunks)
{
	struct tti_grid *grid = calloc(1, sizeof(*grid));
	uint64_t words;

	if (!grid)
		return NULL;
	atomic_init(&grid->refs, 1);
	grid->chunks = chunks;
	/* calloc: a large array whose chunks are all full costs no page until they are
	 * not */
	if (tti_mul_overflow(chunks > 0 ? chunks : 1, 2, &words) ||
	    !(grid->slab = calloc(words, sizeof(*grid->slab)))) {
		free(grid);
		return NULL;
	}
	grid->offset = grid->slab + chunks;
	return grid;
}

struct tti_grid *tti_grid_ref(struct tti_grid *grid)
{
	ref_take(&grid->refs);
	return grid;
}

void tti_grid_unref(struct tti_grid **grid)
{
	if (*grid && ref_drop(&(*grid)->refs)) {
		free((*grid)->slab);
		free(*grid);
	}
	*grid = NULL;
}

bool tti_grid_is_alone(const struct tti_grid *grid)
{
	return ref_is_one(&grid->refs);
}

struct tti_grid *tti_grid_copy(const struct tti_grid *grid)
{
	struct tti_grid *copy = tti_grid_new(grid->chunks);

	if (copy)
		memcpy(copy->slab, grid->slab, 2 * grid->chunks * sizeof(*copy->slab));
	return copy;
}
