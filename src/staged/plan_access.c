/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of get, set and load.
 *
 * A set brings chunks that it covers in part into a new staged slab first, whole; those
 * that it covers wholly get a new place without being read; the rest are written where
 * they are. */
#include "staged/plan.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

/* What get, set and load share: mappers, and the chunks they select. */
static int find_hits(struct tt_staged_plan *plan, const struct tt_staged *array,
		     const struct tti_selection *sel, struct tt_error *err)
{
	struct tti_where where = { array->rank, array->grid_shape, array->grid->slab,
				   array->grid->offset };
	int rc;

	plan->mappers = calloc(array->rank, sizeof(*plan->mappers));
	if (!plan->mappers)
		return tti_fail(err, -ENOMEM, "a plan: out of memory");
	rc = tti_mappers_init(plan->mappers, sel, array->shape, array->chunk, err);
	return rc < 0 ? rc : tti_query(&plan->hits, plan->mappers, &where, err);
}

static struct tti_hit *hits_of(const struct tt_staged_plan *plan)
{
	return plan->hits.items;
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

/* Groups of hits first to end, sorted, one for each slab, between it and the outside. */
static int add_groups(struct tt_staged_plan *plan, enum tti_source source, uint64_t first,
		      uint64_t end, struct tt_error *err)
{
	const struct tti_hit *hits = hits_of(plan);
	int rc = TT_OK;

	while (rc == TT_OK && first < end) {
		uint64_t slab = hits[first].slab;
		uint64_t next = tti_hits_group_end(hits, first, end);
		bool out = source == TTI_ROWS_OUT;

		rc = tti_staged_plan_hits(
			plan,
			&(struct tti_group){ .from = out ? slab : TT_PLAN_OUTSIDE,
					     .to = out ? TT_PLAN_OUTSIDE : slab,
					     .source = source,
					     .first = first,
					     .count = next - first },
			err);
		first = next;
	}
	return rc;
}

/* ---- get ---- */

static int get_rows(struct tt_staged_plan *plan, const struct tt_staged *array,
		    struct tt_error *err)
{
	uint64_t count = plan->hits.count;
	int rc = tti_hits_sort(hits_of(plan), count, err);

	(void)array;
	return rc < 0 ? rc : add_groups(plan, TTI_ROWS_OUT, 0, count, err);
}

/* ---- Moving chunks to a new staged slab ---- */

static bool is_partial(const struct tt_staged_plan *plan, const struct tti_hit *hit)
{
	uint64_t place[TT_MAX_RANK];

	tti_hit_place(hit, plan->mappers, plan->rank, place);
	for (uint32_t axis = 0; axis < plan->rank; axis++)
		if (!tti_mapper_is_whole(&plan->mappers[axis], place[axis]))
			return true;
	return false;
}

/* Copy count hits from number first on, sorted, to a new slab, whole. */
static int move_chunks(struct tt_staged_plan *plan, uint64_t first, uint64_t count,
		       struct tt_error *err)
{
	const struct tti_hit *hits = hits_of(plan) + first;
	uint64_t to = 0, next;
	int rc = count > 0 ? tti_staged_plan_append(plan, count, &to, err) : TT_OK;

	for (uint64_t i = 0; rc == TT_OK && i < count; i = next) {
		next = tti_hits_group_end(hits, i, count);
		rc = tti_staged_plan_hits(
			plan,
			&(struct tti_group){ .from = hits[i].slab,
					     .to = to,
					     .source = TTI_ROWS_MOVE,
					     .first = first + i,
					     .count = next - i,
					     .to_offset = i * plan->chunk[0] },
			err);
	}
	for (uint64_t i = 0; rc == TT_OK && i < count; i++)
		rc = tti_staged_plan_update(plan, hits[i].chunk, to, i * plan->chunk[0],
					    err);
	return rc;
}

/* ---- set ---- */

/* Bring hits that have to be moved first (covered in part, not staged yet) to the front,
 * each part keeping its order. */
static uint64_t partition(struct tt_staged_plan *plan, const struct tt_staged *array,
			  struct tti_hit *scratch)
{
	struct tti_hit *hits = hits_of(plan);
	uint64_t front = 0, back = 0;

	for (uint64_t i = 0; i < plan->hits.count; i++) {
		if (!tti_is_staged(array, hits[i].slab) && is_partial(plan, &hits[i]))
			hits[front++] = hits[i];
		else
			scratch[back++] = hits[i];
	}
	for (uint64_t i = 0; i < back; i++)
		hits[front + i] = scratch[i];
	return front;
}

/* Have the first count hits moved: what is moved is kept behind all, the hits themselves then
 * say where they will be. */
static int move_partial(struct tt_staged_plan *plan, uint64_t count, struct tt_error *err)
{
	uint64_t behind = plan->hits.count, to = plan->first_appended;
	struct tti_hit *hits;
	int rc;

	if (count == 0)
		return TT_OK;
	rc = tti_hits_sort(hits_of(plan), count, err);
	if (rc < 0)
		return rc;
	if (!tti_vec_add(&plan->hits, count, sizeof(*hits)))
		return tti_fail(err, -ENOMEM, "a plan: out of memory");
	hits = hits_of(plan);
	memcpy(hits + behind, hits, count * sizeof(*hits));
	rc = move_chunks(plan, behind, count, err);
	for (uint64_t i = 0; i < count; i++) {
		hits[i].slab = to;
		hits[i].offset = i * plan->chunk[0];
	}
	return rc;
}

/* The first count hits, covered wholly and not staged yet, get a place in a slab of their
 * own. */
static int place_whole(struct tt_staged_plan *plan, uint64_t count, struct tt_error *err)
{
	struct tti_hit *hits = hits_of(plan);
	uint64_t to = 0;
	int rc = count > 0 ? tti_staged_plan_append(plan, count, &to, err) : TT_OK;

	for (uint64_t i = 0; rc == TT_OK && i < count; i++) {
		hits[i].slab = to;
		hits[i].offset = i * plan->chunk[0];
		rc = tti_staged_plan_update(plan, hits[i].chunk, to, hits[i].offset, err);
	}
	return rc;
}

static int set_rows(struct tt_staged_plan *plan, const struct tt_staged *array,
		    struct tt_error *err)
{
	uint64_t count = plan->hits.count, whole = 0;
	struct tti_hit *scratch = malloc(count * sizeof(*scratch));
	int rc;

	if (!scratch)
		return tti_fail(err, -ENOMEM, "a plan: out of memory");
	rc = move_partial(plan, partition(plan, array, scratch), err);
	free(scratch);
	if (rc == TT_OK)
		rc = tti_hits_sort(hits_of(plan), count, err);
	if (rc < 0)
		return rc;
	while (whole < count && !tti_is_staged(array, hits_of(plan)[whole].slab))
		whole++;
	rc = place_whole(plan, whole, err);
	if (rc == TT_OK)
		rc = add_groups(plan, TTI_ROWS_IN, 0, whole, err);
	return rc < 0 ? rc : add_groups(plan, TTI_ROWS_IN, whole, count, err);
}

/* ---- Both ---- */

typedef int rows_fn(struct tt_staged_plan *plan, const struct tt_staged *array,
		    struct tt_error *err);

/* The rows of what sel selects; none when that is nothing. */
static int plan_rows(struct tt_staged_plan *plan, const struct tt_staged *array,
		     const struct tti_selection *sel, rows_fn *rows, struct tt_error *err)
{
	int rc;

	describe_outside(plan, sel);
	if (sel->empty)
		return TT_OK;
	rc = find_hits(plan, array, sel, err);
	return rc < 0 ? rc : rows(plan, array, err);
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
	struct tti_hit *hits;
	uint64_t count = 0;
	int rc;

	tti_staged_plan_init(plan, TT_PLAN_LOAD, array);
	tti_selection_all(&all, array->rank, array->shape);
	if (all.empty || array->bases == 0)
		return TT_OK;
	rc = find_hits(plan, array, &all, err);
	if (rc < 0)
		return rc;
	hits = hits_of(plan);
	for (uint64_t i = 0; i < plan->hits.count; i++)
		if (hits[i].slab > 0 && !tti_is_staged(array, hits[i].slab))
			hits[count++] = hits[i];
	plan->hits.count = count;
	rc = tti_hits_sort(hits, count, err);
	return rc < 0 ? rc : move_chunks(plan, 0, count, err);
}
