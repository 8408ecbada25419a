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

int tti_slab_new(struct tti_slab **out, const struct tt_nd *like, bool zeroed,
		 struct tt_error *err)
{
	tti_auto_slab *slab = NULL;
	uint64_t bytes;
	int rc = tti_shape_bytes(like->rank, like->shape, like->element.bytes, &bytes,
				 err);

	if (rc == TT_OK)
		rc = slab_alloc(&slab, TTI_SLAB_STAGED, err);
	if (rc == TT_OK)
		rc = tt_nd_c_order(&slab->nd, like->element, like->rank, like->shape,
				   NULL);
	if (rc == TT_OK)
		rc = slab_memory(slab, bytes, zeroed, err);
	if (rc == TT_OK)
		*out = tti_steal_ptr(&slab);
	return rc;
}

int tti_slab_full(struct tti_slab **out, struct tt_element element, uint32_t rank,
		  const uint64_t *shape, const void *fill, struct tt_error *err)
{
	tti_auto_slab *slab = NULL;
	int rc = slab_alloc(&slab, TTI_SLAB_FULL, err);

	if (rc == TT_OK)
		rc = slab_memory(slab, element.bytes, false, err);
	if (rc < 0)
		return rc;
	slab->nd.element = element;
	slab->nd.rank = rank;
	memcpy(slab->nd.shape, shape, rank * sizeof(*shape));
	if (fill)
		memcpy(slab->owned, fill, element.bytes);
	else
		memset(slab->owned, 0, element.bytes);
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
