/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of get, set and load.
 *
 * A set brings chunks that it covers in part into a new staged slab first, whole; those
 * that it covers wholly get a new place without being read; the rest are written where
 * they are. */
#include "staged/plan.h"

#include <errno.h>

#include "base/error.h"

/* What get, set and load share: a query over mappers. */
struct access {
	struct tti_mapper mappers[TT_MAX_RANK];
	struct tti_query query;
};

static int access_init(struct access *access, const struct tt_staged *array,
		       const struct tti_selection *sel, struct tt_error *err)
{
	struct tti_where where = { array->rank, array->grid_shape, array->grid->slab,
				   array->grid->offset };
	int rc = tti_mappers_init(access->mappers, sel, array->shape, array->chunk, err);

	if (rc < 0)
		return rc;
	rc = tti_query_init(&access->query, access->mappers, &where, err);
	if (rc < 0)
		tti_mappers_fini(access->mappers, array->rank);
	return rc;
}

static void access_fini(struct access *access)
{
	tti_mappers_fini(access->mappers, access->query.rank);
	tti_query_fini(&access->query);
}

static const uint64_t *place_of(const struct access *access, const struct tti_hit *hit)
{
	return access->query.places + hit->at;
}

static void describe_outside(struct tt_staged_plan *plan, const struct tti_selection *sel)
{
	plan->out_rank = sel->out_rank;
	plan->empty = sel->empty;
	for (uint32_t i = 0; i < sel->out_rank; i++)
		plan->out_shape[i] = sel->out_shape[i];
	for (uint32_t i = 0; i < sel->rank; i++)
		plan->point[i] = sel->axis[i].kind == TTI_AXIS_POINT;
}

/* ---- get ---- */

static int get_rows(struct tt_staged_plan *plan, const struct tt_staged *array,
		    struct access *access, struct tt_error *err)
{
	struct tti_query *query = &access->query;
	int rc = tti_hits_sort(query->hits, query->count, err);

	(void)array;
	if (rc == TT_OK)
		rc = tti_staged_plan_expect(plan, query->count, err);
	for (uint64_t i = 0; rc == TT_OK && i < query->count; i++) {
		const struct tti_hit *hit = &query->hits[i];

		if (i == 0 || hit->slab != hit[-1].slab)
			rc = tti_staged_plan_group(plan, hit->slab, TT_PLAN_OUTSIDE, err);
		if (rc == TT_OK)
			rc = tti_staged_plan_value_rows(plan, access->mappers,
							place_of(access, hit),
							hit->offset, false, err);
	}
	return rc;
}

/* ---- Moving chunks to a new staged slab ---- */

static bool is_partial(const struct access *access, const struct tti_hit *hit)
{
	for (uint32_t axis = 0; axis < access->query.rank; axis++)
		if (!tti_mapper_is_whole(&access->mappers[axis],
					 place_of(access, hit)[axis]))
			return true;
	return false;
}

/* Copy count sorted hits, whole chunks, to a new slab; the hits then say where they
 * are. */
static int move_chunks(struct tt_staged_plan *plan, const struct access *access,
		       struct tti_hit *hits, uint64_t count, struct tt_error *err)
{
	uint64_t to = 0, group = 0;
	int rc = count > 0 ? tti_staged_plan_append(plan, count, &to, err) : TT_OK;

	for (uint64_t i = 0; rc == TT_OK && i < count; i++) {
		struct tti_hit *hit = &hits[i];
		uint64_t offset = i * plan->chunk[0];

		if (i == 0 || hit->slab != group)
			rc = tti_staged_plan_group(plan, hit->slab, to, err);
		group = hit->slab;
		if (rc == TT_OK)
			rc = tti_staged_plan_chunk_row(plan, access->mappers,
						       place_of(access, hit), hit->offset,
						       offset, err);
		if (rc == TT_OK)
			rc = tti_staged_plan_update(plan, hit->chunk, to, offset, err);
		hit->slab = to;
		hit->offset = offset;
	}
	return rc;
}

/* ---- set ---- */

/* Bring hits that have to be moved first (covered in part, not staged yet) to the front,
 * each part keeping its order. */
static uint64_t partition(struct tti_hit *hits, uint64_t count, struct tti_hit *scratch,
			  const struct tt_staged *array, const struct access *access)
{
	uint64_t front = 0, back = 0;

	for (uint64_t i = 0; i < count; i++) {
		if (!tti_is_staged(array, hits[i].slab) && is_partial(access, &hits[i]))
			hits[front++] = hits[i];
		else
			scratch[back++] = hits[i];
	}
	for (uint64_t i = 0; i < back; i++)
		hits[front + i] = scratch[i];
	return front;
}

/* The chunks covered wholly that are not staged, sorted first of all: a slab of their
 * own. */
static int set_whole(struct tt_staged_plan *plan, const struct access *access,
		     uint64_t count, struct tt_error *err)
{
	uint64_t to = 0;
	int rc = count > 0 ? tti_staged_plan_append(plan, count, &to, err) : TT_OK;

	if (rc == TT_OK && count > 0)
		rc = tti_staged_plan_group(plan, TT_PLAN_OUTSIDE, to, err);
	for (uint64_t i = 0; rc == TT_OK && i < count; i++) {
		const struct tti_hit *hit = &access->query.hits[i];
		uint64_t offset = i * plan->chunk[0];

		rc = tti_staged_plan_value_rows(plan, access->mappers,
						place_of(access, hit), offset, true, err);
		if (rc == TT_OK)
			rc = tti_staged_plan_update(plan, hit->chunk, to, offset, err);
	}
	return rc;
}

static int set_in_place(struct tt_staged_plan *plan, const struct access *access,
			uint64_t first, struct tt_error *err)
{
	const struct tti_query *query = &access->query;
	int rc = TT_OK;

	for (uint64_t i = first; rc == TT_OK && i < query->count; i++) {
		const struct tti_hit *hit = &query->hits[i];

		if (i == first || hit->slab != hit[-1].slab)
			rc = tti_staged_plan_group(plan, TT_PLAN_OUTSIDE, hit->slab, err);
		if (rc == TT_OK)
			rc = tti_staged_plan_value_rows(plan, access->mappers,
							place_of(access, hit),
							hit->offset, true, err);
	}
	return rc;
}

static int set_rows(struct tt_staged_plan *plan, const struct tt_staged *array,
		    struct access *access, struct tt_error *err)
{
	struct tti_query *query = &access->query;
	struct tti_hit *scratch = malloc(query->count * sizeof(*scratch));
	uint64_t partial, whole = 0;
	int rc;

	if (!scratch)
		return tti_fail(err, -ENOMEM, "a plan: out of memory");
	partial = partition(query->hits, query->count, scratch, array, access);
	free(scratch);
	rc = tti_hits_sort(query->hits, partial, err);
	if (rc == TT_OK)
		rc = move_chunks(plan, access, query->hits, partial, err);
	if (rc == TT_OK)
		rc = tti_hits_sort(query->hits, query->count, err);
	if (rc < 0)
		return rc;
	while (whole < query->count && !tti_is_staged(array, query->hits[whole].slab))
		whole++;
	rc = set_whole(plan, access, whole, err);
	return rc < 0 ? rc : set_in_place(plan, access, whole, err);
}

/* ---- Both ---- */

typedef int rows_fn(struct tt_staged_plan *plan, const struct tt_staged *array,
		    struct access *access, struct tt_error *err);

/* The rows of what sel selects; none when that is nothing. */
static int plan_rows(struct tt_staged_plan *plan, const struct tt_staged *array,
		     const struct tti_selection *sel, rows_fn *rows, struct tt_error *err)
{
	struct access access;
	int rc;

	describe_outside(plan, sel);
	if (sel->empty)
		return TT_OK;
	rc = access_init(&access, array, sel, err);
	if (rc < 0)
		return rc;
	rc = rows(plan, array, &access, err);
	access_fini(&access);
	return rc;
}

int tti_staged_plan_get(struct tt_staged_plan *plan, const struct tt_staged *array,
			const struct tti_selection *sel, struct tt_error *err)
{
	tti_staged_plan_init(plan, TT_PLAN_GET, array);
	return plan_rows(plan, array, sel, get_rows, err);
}

int tti_staged_plan_set(struct tt_staged_plan *plan, const struct tt_staged *array,
			const struct tti_selection *sel, struct tt_error *err)
{
	tti_staged_plan_init(plan, TT_PLAN_SET, array);
	return plan_rows(plan, array, sel, set_rows, err);
}

/* ---- load ---- */

int tti_staged_plan_load(struct tt_staged_plan *plan, const struct tt_staged *array,
			 struct tt_error *err)
{
	struct tti_selection all;
	struct access access;
	uint64_t count = 0;
	int rc;

	tti_staged_plan_init(plan, TT_PLAN_LOAD, array);
	tti_selection_all(&all, array->rank, array->shape);
	if (all.empty || array->bases == 0)
		return TT_OK;
	rc = access_init(&access, array, &all, err);
	if (rc < 0)
		return rc;
	for (uint64_t i = 0; i < access.query.count; i++) {
		struct tti_hit hit = access.query.hits[i];

		if (hit.slab > 0 && !tti_is_staged(array, hit.slab))
			access.query.hits[count++] = hit;
	}
	rc = tti_hits_sort(access.query.hits, count, err);
	if (rc == TT_OK)
		rc = move_chunks(plan, &access, access.query.hits, count, err);
	access_fini(&access);
	return rc;
}
