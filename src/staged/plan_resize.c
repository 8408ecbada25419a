/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a resize.
 *
 * A chunk at the edge that gets smaller or larger may not share its rows with the longer
 * or shorter one that a base slab keeps, so it moves to a staged slab; a chunk that gets
 * larger gets the fill value where there was nothing.  A staged slab whose last chunk is
 * cut (a view of the caller's array) gives that chunk away before it grows along axis 0.
 *
 * Order: shrink every axis, then grow one axis after the other. */
#include "staged/plan.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "staged/nd.h"

struct resize {
	struct tt_staged_plan *plan;
	const struct tt_staged *array;
	struct tti_grid *grid;	   /* the plan's */
	uint64_t low[TT_MAX_RANK]; /* the smaller of old and new */
	uint64_t now[TT_MAX_RANK]; /* axes that have grown are new, others low */
	struct tti_vec hits;	   /* struct tti_hit of a layer */
	struct tti_vec places;	   /* rank uint64_t each */
	struct tt_error *err;
};

enum take { TAKE_BASE, TAKE_CUT, TAKE_USED };

static bool takes(const struct resize *r, enum take take, uint64_t slab, uint64_t offset)
{
	switch (take) {
	case TAKE_BASE: return slab > 0 && !tti_is_staged(r->array, slab);
	case TAKE_CUT: /* the last chunk, not whole, of a slab that was staged before */
		return tti_is_staged(r->array, slab) && slab < r->plan->first_appended &&
		       tti_entry_at(r->array, slab)->rows - offset < r->plan->chunk[0];
	case TAKE_USED: return slab > 0;
	}
	return false;
}

static int add_hit(struct resize *r, uint64_t chunk, const uint64_t *place)
{
	struct tti_hit *hit = tti_vec_add(&r->hits, 1, sizeof(*hit));
	uint64_t *at = tti_vec_add(&r->places, 1, r->plan->rank * sizeof(*at));

	if (!hit || !at)
		return tti_fail(r->err, -ENOMEM, "a plan: out of memory");
	*hit = (struct tti_hit){ r->grid->slab[chunk], r->grid->offset[chunk], chunk,
				 (r->places.count - 1) * r->plan->rank };
	memcpy(at, place, r->plan->rank * sizeof(*at));
	return TT_OK;
}

/* The chunks of layer along axis that take wants, sorted. */
static int find_layer(struct resize *r, uint32_t axis, uint64_t layer, enum take take)
{
	uint32_t rank = r->plan->rank;
	const uint64_t *grid = r->plan->grid_shape;
	uint64_t box[TT_MAX_RANK], at[TT_MAX_RANK] = { 0 }, place[TT_MAX_RANK];
	int rc = TT_OK;

	r->hits.count = r->places.count = 0;
	memcpy(box, grid, rank * sizeof(*box));
	box[axis] = 1;
	do {
		uint64_t chunk = 0;

		for (uint32_t i = 0; i < rank; i++) {
			place[i] = i == axis ? layer : at[i];
			chunk = chunk * grid[i] + place[i];
		}
		if (takes(r, take, r->grid->slab[chunk], r->grid->offset[chunk]))
			rc = add_hit(r, chunk, place);
	} while (rc == TT_OK && tti_step(rank, box, at));
	return rc < 0 ? rc : tti_hits_sort(r->hits.items, r->hits.count, r->err);
}

/* A row of the chunk at place: along axis count from start, along the others what shape
 * has. */
struct cut {
	uint32_t axis;
	uint64_t start, count;
	const uint64_t *shape;
};

static int cut_row(struct resize *r, const struct cut *cut, const uint64_t *place,
		   uint64_t from_offset, uint64_t to_offset)
{
	struct tti_row_mut row;
	int rc = tti_staged_plan_row(r->plan, &row, r->err);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < r->plan->rank; i++) {
		uint64_t start = i == cut->axis ? cut->start : 0;

		row.from[i] = start + (i == 0 ? from_offset : 0);
		row.to[i] = start + (i == 0 ? to_offset : 0);
		row.count[i] = i == cut->axis
				       ? cut->count
				       : tti_chunk_extent(cut->shape[i],
							  r->plan->chunk[i], place[i]);
		row.from_stride[i] = row.to_stride[i] = 1;
	}
	return TT_OK;
}

/* Move the hits to a new staged slab. */
static int move_hits(struct resize *r, const struct cut *cut)
{
	const struct tti_hit *hits = r->hits.items;
	uint64_t to = 0;
	int rc = r->hits.count > 0
			 ? tti_staged_plan_append(r->plan, r->hits.count, &to, r->err)
			 : TT_OK;

	for (size_t i = 0; rc == TT_OK && i < r->hits.count; i++) {
		const uint64_t *place = (uint64_t *)r->places.items + hits[i].at;
		uint64_t offset = i * r->plan->chunk[0];

		if (i == 0 || hits[i].slab != hits[i - 1].slab)
			rc = tti_staged_plan_group(r->plan, hits[i].slab, to, r->err);
		if (rc == TT_OK)
			rc = cut_row(r, cut, place, hits[i].offset, offset);
		r->grid->slab[hits[i].chunk] = to;
		r->grid->offset[hits[i].chunk] = offset;
	}
	return rc;
}

/* The fill value for the hits, from the full slab. */
static int fill_hits(struct resize *r, const struct cut *cut)
{
	const struct tti_hit *hits = r->hits.items;
	int rc = TT_OK;

	for (size_t i = 0; rc == TT_OK && i < r->hits.count; i++) {
		const uint64_t *place = (uint64_t *)r->places.items + hits[i].at;

		if (i == 0 || hits[i].slab != hits[i - 1].slab)
			rc = tti_staged_plan_group(r->plan, 0, hits[i].slab, r->err);
		if (rc == TT_OK)
			rc = cut_row(r, cut, place, 0, hits[i].offset);
	}
	return rc;
}

/* The hits leave their slabs, of which they are the last chunks. */
static int truncate_hits(struct resize *r)
{
	const struct tti_hit *hits = r->hits.items;

	for (size_t i = 0; i < r->hits.count; i++) {
		struct tti_truncation *cut =
			tti_vec_add(&r->plan->truncations, 1, sizeof(*cut));

		if (!cut)
			return tti_fail(r->err, -ENOMEM, "a plan: out of memory");
		*cut = (struct tti_truncation){ hits[i].slab, hits[i].offset };
	}
	return TT_OK;
}

static int shrink_axis(struct resize *r, uint32_t axis)
{
	uint64_t chunk = r->plan->chunk[axis], low = r->low[axis];
	struct cut cut = { axis, 0, low % chunk, r->plan->shape };
	int rc;

	if (low == r->array->shape[axis] || low % chunk == 0)
		return TT_OK;
	rc = find_layer(r, axis, low / chunk, TAKE_BASE);
	return rc < 0 ? rc : move_hits(r, &cut);
}

static int grow_axis(struct resize *r, uint32_t axis)
{
	uint64_t chunk = r->plan->chunk[axis], old = r->low[axis];
	uint64_t layer = old / chunk, part = old % chunk;
	struct cut kept = { axis, 0, part, r->now };
	struct cut fresh = { axis, part, 0, r->now };
	int rc = TT_OK;

	if (r->plan->shape[axis] == old || part == 0)
		return TT_OK;
	fresh.count = tti_chunk_extent(r->plan->shape[axis], chunk, layer) - part;
	rc = find_layer(r, axis, layer, TAKE_BASE);
	if (rc == TT_OK)
		rc = move_hits(r, &kept);
	if (rc == TT_OK && axis == 0)
		rc = find_layer(r, axis, layer, TAKE_CUT);
	if (rc == TT_OK && axis == 0)
		rc = truncate_hits(r);
	if (rc == TT_OK && axis == 0)
		rc = move_hits(r, &kept);
	if (rc == TT_OK)
		rc = find_layer(r, axis, layer, TAKE_USED);
	return rc < 0 ? rc : fill_hits(r, &fresh);
}

/* The grid of the new shape: what both have, else full chunks. */
static int new_grid(struct resize *r, uint64_t chunks)
{
	const struct tt_staged *array = r->array;
	uint32_t rank = array->rank;
	uint64_t box[TT_MAX_RANK], at[TT_MAX_RANK] = { 0 };

	r->grid = r->plan->grid = tti_grid_new(chunks);
	if (!r->grid)
		return tti_fail(r->err, -ENOMEM,
				"the places of the new shape's chunks: "
				"out of memory");
	for (uint32_t i = 0; i < rank; i++)
		box[i] = tti_min_u64(array->grid_shape[i], r->plan->grid_shape[i]);
	if (tti_shape_empty(rank, box))
		return TT_OK;
	do {
		uint64_t from = 0, to = 0, n = box[rank - 1];

		for (uint32_t i = 0; i < rank; i++) {
			uint64_t place = i + 1 < rank ? at[i] : 0;

			from = from * array->grid_shape[i] + place;
			to = to * r->plan->grid_shape[i] + place;
		}
		memcpy(r->grid->slab + to, array->grid->slab + from, n * sizeof(n));
		memcpy(r->grid->offset + to, array->grid->offset + from, n * sizeof(n));
	} while (tti_step(rank - 1, box, at));
	return TT_OK;
}

static bool fell(const struct resize *r)
{
	bool less = false;

	for (uint32_t i = 0; i < r->plan->rank; i++)
		less |= r->plan->grid_shape[i] < r->array->grid_shape[i];
	return less && r->array->grid->chunks > 0;
}

static int drop(struct resize *r, uint64_t slab)
{
	struct tti_drop *dropped = tti_vec_add(&r->plan->dropped, 1, sizeof(*dropped));

	if (!dropped)
		return tti_fail(r->err, -ENOMEM, "a plan: out of memory");
	*dropped = (struct tti_drop){ .slab = slab };
	return TT_OK;
}

static bool emptied(const struct resize *r, uint64_t slab)
{
	const struct tti_truncation *cuts = r->plan->truncations.items;

	for (size_t i = 0; i < r->plan->truncations.count; i++)
		if (cuts[i].slab == slab)
			return cuts[i].rows == 0;
	return false;
}

/* Staged slabs that no chunk is in any more; when chunks went, holes are named once
 * more. */
static int drop_unused(struct resize *r)
{
	uint64_t slabs = r->plan->first_appended;
	tti_auto_free bool *used = NULL;
	int rc = TT_OK;

	if (slabs == r->array->bases + 1 || (!fell(r) && r->plan->truncations.count == 0))
		return TT_OK;
	used = calloc(slabs, sizeof(*used));
	if (!used)
		return tti_fail(r->err, -ENOMEM, "a plan: out of memory");
	for (uint64_t i = 0; i < r->grid->chunks; i++)
		if (r->grid->slab[i] < slabs)
			used[r->grid->slab[i]] = true;
	for (uint64_t i = r->array->bases + 1; rc == TT_OK && i < slabs; i++)
		if (!used[i] && (fell(r) || emptied(r, i)))
			rc = drop(r, i);
	return rc;
}

/* A slab that is dropped needs no truncation. */
static void forget_truncations(struct tt_staged_plan *plan)
{
	struct tti_truncation *cuts = plan->truncations.items;
	size_t kept = 0;

	for (size_t i = 0; i < plan->truncations.count; i++)
		if (cuts[i].rows > 0)
			cuts[kept++] = cuts[i];
	plan->truncations.count = kept;
}

static int resize_all(struct resize *r)
{
	const struct tt_staged *array = r->array;
	int rc = TT_OK;

	for (uint32_t i = 0; i < array->rank; i++)
		r->low[i] = r->now[i] = tti_min_u64(array->shape[i], r->plan->shape[i]);
	if (array->entries.count == 1 || r->grid->chunks == 0)
		return drop_unused(r);
	for (uint32_t i = 0; rc == TT_OK && i < array->rank; i++)
		rc = shrink_axis(r, i);
	for (uint32_t i = 0; rc == TT_OK && i < array->rank; i++) {
		rc = grow_axis(r, i);
		r->now[i] = r->plan->shape[i];
	}
	if (rc == TT_OK)
		rc = drop_unused(r);
	forget_truncations(r->plan);
	return rc;
}

int tti_staged_plan_resize(struct tt_staged_plan *plan, const struct tt_staged *array,
			   const uint64_t *shape, struct tt_error *err)
{
	struct resize r = { .plan = plan, .array = array, .err = err };
	struct tti_array_form form = { .rank = array->rank,
				       .shape = shape,
				       .chunk = array->chunk };
	uint64_t chunks, bytes;
	int rc;

	tti_staged_plan_init(plan, TT_PLAN_RESIZE, array);
	memcpy(plan->shape, shape, array->rank * sizeof(*shape));
	rc = tti_shape_bytes(array->rank, shape, array->element.bytes, &bytes, err);
	if (rc == TT_OK)
		rc = tti_grid_shape(&form, plan->grid_shape, &chunks, err);
	if (rc < 0 || tti_shape_equal(array->rank, shape, array->shape))
		return rc;
	rc = new_grid(&r, chunks);
	if (rc == TT_OK)
		rc = resize_all(&r);
	tti_vec_fini(&r.hits);
	tti_vec_fini(&r.places);
	return rc;
}
