/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays made from arrays: copy, astype, refill, rechunk. All share slabs until one side
 * writes. */
#include "ticktail/staged.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "staged/cast.h"
#include "staged/nd.h"
#include "staged/plan.h"

int tt_staged_copy(struct tt_staged **out, struct tt_staged *array, struct tt_error *err)
{
	tti_auto_staged *copy = calloc(1, sizeof(*copy));
	struct tti_entry *entries;

	*out = NULL;
	if (!copy)
		return tti_fail(err, -ENOMEM, "a copy: out of memory");
	*copy = *array;
	copy->read_only = false;
	copy->entries = (struct tti_vec){ .items = NULL };
	copy->grid = tti_grid_ref(array->grid);
	entries = tti_vec_add(&copy->entries, array->entries.count, sizeof(*entries));
	if (!entries)
		return tti_fail(err, -ENOMEM, "a copy: out of memory");
	memcpy(entries, array->entries.items, array->entries.count * sizeof(*entries));
	for (size_t i = 0; i < copy->entries.count; i++) {
		if (entries[i].slab)
			tti_slab_ref(entries[i].slab);
		tti_digests_ref(entries[i].digests);
	}
	*out = tti_steal_ptr(&copy);
	return TT_OK;
}

static void replace_entry(struct tt_staged *array, uint64_t i, struct tti_slab *slab)
{
	struct tti_entry *entry = tti_entry_at(array, i);

	tti_slab_unref(&entry->slab);
	tti_digests_unref(&entry->digests);
	*entry = (struct tti_entry){ slab, slab ? slab->nd.shape[0] : 0, NULL };
}

/* The full slab anew; fill in the array's element. */
static int replace_full(struct tt_staged *array, const void *fill, struct tt_error *err)
{
	struct tt_nd like = tti_chunk_like(array);
	struct tti_slab *full;
	int rc = tti_slab_full(&full, &like, fill, err);

	if (rc == TT_OK)
		replace_entry(array, 0, full);
	return rc;
}

/* ---- astype ---- */

static int check_swap(const struct tt_staged *array, struct tt_element element,
		      const struct tt_base_slab *bases, uint64_t i, struct tt_error *err)
{
	const struct tti_slab *old = tti_entry_at(array, i + 1)->slab;
	const struct tt_base_slab *base = &bases[i];

	if (!old)
		return TT_OK;
	if (!base->memory && !base->read)
		return tti_fail(err, TT_E_MISUSE,
				"base slab %" PRIu64 ": none is given for it", i + 1);
	if (!tt_element_equal(base->element, element))
		return tti_fail(err, TT_E_DTYPE,
				"base slab %" PRIu64 ": its element is not the new one",
				i + 1);
	if (base->rank != array->rank ||
	    !tti_shape_equal(array->rank, base->shape, old->nd.shape))
		return tti_fail(err, TT_E_MISMATCH,
				"base slab %" PRIu64
				": its shape is not that of the old one",
				i + 1);
	return TT_OK;
}

/* The new base slabs in the place of the old; their ctx are ours when all are in. */
static int swap_bases(struct tt_staged *array, const struct tt_base_slab *bases,
		      struct tt_error *err)
{
	int rc = TT_OK;

	for (uint64_t i = 0; rc == TT_OK && i < array->bases; i++) {
		struct tti_slab *slab = NULL;

		if (!tti_entry_at(array, i + 1)->slab)
			continue;
		rc = tti_slab_base(&slab, &bases[i], err);
		if (rc < 0)
			return rc;
		slab->base.release = NULL;
		replace_entry(array, i + 1, slab);
	}
	for (uint64_t i = 0; i < array->bases; i++)
		if (tti_entry_at(array, i + 1)->slab)
			tti_entry_at(array, i + 1)->slab->base.release = bases[i].release;
	return TT_OK;
}

static int convert(struct tt_staged *array, struct tt_element element,
		   struct tt_error *err)
{
	unsigned char fill[256], *bytes = fill;
	struct tt_nd from = { .element = array->element }, to = { .element = element };
	int rc;

	if (element.bytes > sizeof(fill) && !(bytes = malloc(element.bytes)))
		return tti_fail(err, -ENOMEM, "a fill value: out of memory");
	from.data = tti_entry_at(array, 0)->slab->nd.data;
	to.data = bytes;
	tti_cast(&to, &from);
	array->element = element;
	rc = replace_full(array, bytes, err);
	if (bytes != fill)
		free(bytes);
	return rc;
}

static int astype(struct tt_staged *copy, struct tt_element element,
		  const struct tt_base_slab *bases, struct tt_error *err)
{
	int rc = bases ? TT_OK : tt_staged_load(copy, err);

	if (rc == TT_OK)
		rc = convert(copy, element, err);
	for (size_t i = copy->bases + 1; i < copy->entries.count; i++)
		tti_digests_unref(&tti_entry_at(copy, i)->digests);
	copy->changed++;
	for (uint64_t i = 0; rc == TT_OK && !bases && i < copy->bases; i++)
		replace_entry(copy, i + 1, NULL);
	/* last: from success on the bases' ctx are ours */
	return rc == TT_OK && bases ? swap_bases(copy, bases, err) : rc;
}

int tt_staged_astype(struct tt_staged **out, struct tt_staged *array,
		     struct tt_element element, const struct tt_new_bases *bases,
		     struct tt_error *err)
{
	const struct tt_base_slab *slabs = bases ? bases->bases : NULL;
	tti_auto_staged *copy = NULL;
	int rc = tt_element_check(element, err);

	*out = NULL;
	if (rc == TT_OK && !tti_can_cast(array->element, element))
		rc = tti_fail(err, TT_E_DTYPE, "%c%" PRIu32 " cannot become %c%" PRIu32,
			      array->element.kind, array->element.bytes, element.kind,
			      element.bytes);
	if (rc == TT_OK && bases && bases->count > 0 && !slabs)
		rc = tti_fail(err, TT_E_MISUSE,
			      "%" PRIu64 " new base slabs, but bases is not set",
			      bases->count);
	if (rc == TT_OK && bases && bases->count != array->bases)
		rc = tti_fail(err, TT_E_MISMATCH,
			      "%" PRIu64 " base slabs for an array of %" PRIu64,
			      bases->count, array->bases);
	for (uint64_t i = 0; rc == TT_OK && bases && i < bases->count; i++)
		rc = check_swap(array, element, slabs, i, err);
	if (rc == TT_OK)
		rc = tt_staged_copy(&copy, array, err);
	if (rc == TT_OK && (slabs || !tt_element_equal(array->element, element)))
		rc = astype(copy, element, slabs, err);
	if (rc == TT_OK)
		*out = tti_steal_ptr(&copy);
	return rc;
}

/* ---- refill ---- */

struct refill {
	struct tt_staged *array;
	const void *old, *fill;
	struct tt_error *err;
};

/* Put fill for old; fill NULL: only say whether there is any. */
static bool refill_box(const struct refill *refill, const struct tt_nd *nd,
		       const void *fill)
{
	bool found = false;

	struct tt_element element = nd->element;
	uint64_t at[TT_MAX_RANK] = { 0 };

	do {
		char *place = nd->data;

		for (uint32_t i = 0; i < nd->rank; i++)
			place += (int64_t)at[i] * nd->strides[i];
		if (!tti_element_same(element, place, refill->old))
			continue;
		found = true;
		if (fill)
			memcpy(place, fill, element.bytes);
	} while (tti_step(nd->rank, nd->shape, at));
	return found;
}

static int refill_change(void *ctx, const struct tt_staged_change *change)
{
	struct refill *refill = ctx;
	struct tt_nd nd;
	int rc;

	/* what has none of it stays shared */
	if (!refill_box(refill, change->data, NULL))
		return TT_OK;
	rc = tti_slab_writable(refill->array, change->slab, refill->err);
	if (rc < 0)
		return rc;
	tti_slab_chunk(tti_entry_at(refill->array, change->slab)->slab, change->from[0],
		       change->count, &nd);
	refill_box(refill, &nd, refill->fill);
	return TT_OK;
}

/* A view that has any of it becomes a slab of whole chunks, also if no chunk that is in use
 * has. */
static int refill_views(const struct refill *refill)
{
	struct tt_staged *array = refill->array;
	int rc = TT_OK;

	for (size_t i = array->bases + 1; rc == TT_OK && i < array->entries.count; i++) {
		const struct tti_entry *entry = tti_entry_at(array, i);
		struct tt_nd nd;

		if (!entry->slab || !tti_is_trimmed(array, entry))
			continue;
		rc = tti_slab_converted(array, i, refill->err);
		if (rc < 0)
			return rc;
		nd = entry->slab->nd;
		nd.shape[0] = entry->rows;
		if (refill_box(refill, &nd, NULL))
			rc = tti_slab_writable(array, i, refill->err);
	}
	return rc;
}

int tt_staged_refill(struct tt_staged **out, struct tt_staged *array, const void *fill,
		     struct tt_error *err)
{
	tti_auto_staged *copy = NULL;
	struct refill refill = { .old = tti_fill_of(array), .fill = fill, .err = err };
	int rc;

	*out = NULL;
	if (!fill)
		return tti_fail(err, TT_E_MISUSE, "a refill without the new fill value");
	rc = tt_staged_copy(&copy, array, err);
	if (rc < 0)
		return rc;
	if (tti_element_same(array->element, fill, refill.old)) {
		*out = tti_steal_ptr(&copy);
		return TT_OK;
	}
	refill.array = copy;
	rc = tt_staged_load(copy, err);
	if (rc == TT_OK)
		rc = refill_views(&refill);
	if (rc == TT_OK)
		rc = tt_staged_changes(copy, refill_change, &refill, err);
	if (rc == TT_OK)
		rc = replace_full(copy, fill, err);
	copy->changed++;
	if (rc == TT_OK)
		*out = tti_steal_ptr(&copy);
	return rc;
}

/* ---- rechunk ---- */

struct rechunk {
	struct tt_staged *to;
	uint32_t rank;
	struct tt_error *err;
};

static int rechunk_change(void *ctx, const struct tt_staged_change *change)
{
	struct rechunk *rechunk = ctx;
	struct tt_index index[TT_MAX_RANK];

	for (uint32_t i = 0; i < rechunk->rank; i++)
		index[i] = TT_INDEX_RANGE((int64_t)change->start[i],
					  (int64_t)(change->start[i] + change->count[i]));
	return tt_staged_set(rechunk->to, index, rechunk->rank, change->data,
			     rechunk->err);
}

int tt_staged_rechunk(struct tt_staged **out, struct tt_staged *array,
		      const uint64_t *chunk, struct tt_error *err)
{
	struct tti_array_form form = { array->element, array->rank, array->shape, chunk,
				       tti_fill_of(array) };
	struct rechunk rechunk = { .rank = array->rank, .err = err };
	tti_auto_staged *copy = NULL, *fresh = NULL;
	int rc;

	*out = NULL;
	if (!chunk)
		return tti_fail(err, TT_E_MISUSE,
				"a rechunk without the new chunk shape");
	rc = tt_staged_copy(&copy, array, err);
	if (rc < 0)
		return rc;
	if (tti_shape_equal(array->rank, chunk, array->chunk)) {
		*out = tti_steal_ptr(&copy);
		return TT_OK;
	}
	rc = tti_array_new(&fresh, &form, err);
	if (rc == TT_OK)
		rc = tt_staged_load(copy, err);
	rechunk.to = fresh;
	if (rc == TT_OK)
		rc = tt_staged_changes(copy, rechunk_change, &rechunk, err);
	if (rc == TT_OK)
		*out = tti_steal_ptr(&fresh);
	return rc;
}
