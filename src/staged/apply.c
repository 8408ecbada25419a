/* SPDX-License-Identifier: Apache-2.0 */
/* Carries a plan out.  All memory is taken first and all base slabs are read before
 * anything that exists is written, so that a failure leaves the array as it was. */
#include "staged/plan.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "staged/transfer.h"

/* A chunk at an edge does not fill its place.  What it leaves is never told to anybody, but
 * astype converts it with the rest, so it must be something. */
static bool has_edges(const struct tt_staged_plan *plan, const struct tt_staged *array)
{
	for (uint32_t i = 0; i < plan->rank; i++)
		if (array->shape[i] % plan->chunk[i] != 0)
			return true;
	return plan->op == TT_PLAN_RESIZE;
}

static int push_new(const struct tt_staged_plan *plan, struct tt_staged *array,
		    uint64_t rows, struct tt_error *err)
{
	struct tti_slab_form form = { .element = array->element,
				      .rank = plan->rank,
				      .rows = rows,
				      .chunk = plan->chunk,
				      .zeroed = has_edges(plan, array) };
	tti_auto_slab *slab = NULL;
	int rc;

	/* what a chunk can have of the array before and after */
	for (uint32_t i = 0; i < plan->rank; i++)
		form.box[i] = tti_min_u64(plan->chunk[i],
					  tti_max_u64(array->shape[i], plan->shape[i]));
	rc = tti_slab_new(&slab, &form, err);
	return rc < 0 ? rc : tti_array_push(array, &slab, err);
}

/* Slabs that are written are this array's own, slabs that are read have its element. */
static int ready(const struct tt_staged_plan *plan, struct tt_staged *array,
		 struct tt_error *err)
{
	const struct tti_group *groups = plan->groups.items;
	int rc = TT_OK;

	for (size_t i = 0; rc == TT_OK && i < plan->groups.count; i++) {
		uint64_t from = groups[i].from, to = groups[i].to;

		if (from != TT_PLAN_OUTSIDE && tti_is_staged(array, from))
			rc = tti_slab_converted(array, from, err);
		if (rc == TT_OK && to != TT_PLAN_OUTSIDE && to < plan->first_appended)
			rc = tti_slab_writable(array, to, err);
	}
	if (rc == TT_OK && plan->updates.count > 0)
		rc = tti_own_grid(array, err);
	for (size_t i = 0; rc == TT_OK && i < plan->appended.count; i++)
		rc = push_new(plan, array, ((uint64_t *)plan->appended.items)[i], err);
	return rc;
}

static void drop_from(struct tt_staged *array, uint64_t first)
{
	while (array->entries.count > first) {
		struct tti_entry *last = tti_entry_at(array, array->entries.count - 1);

		tti_slab_unref(&last->slab);
		tti_digests_unref(&last->digests);
		array->entries.count--;
	}
}

/* The memory of one side of a group, cut to the rows that count; data NULL: a base slab
 * that has to be read. */
static struct tti_side side(struct tt_staged *array, uint64_t slab,
			    const struct tt_nd *outside)
{
	const struct tti_entry *entry;

	if (slab == TT_PLAN_OUTSIDE)
		return tti_side_of(outside);
	entry = tti_entry_at(array, slab);
	return tti_slab_side(entry->slab, entry->rows);
}

static int run_group(const struct tt_staged_plan *plan, const struct tti_group *group,
		     struct tt_staged *array, const struct tt_nd *outside,
		     struct tt_error *err)
{
	struct tti_side from = side(array, group->from, outside);
	struct tti_side to = side(array, group->to, outside);
	struct tti_rows rows = { (const uint64_t *)plan->rows.items +
					 group->first * 5 * plan->rank,
				 group->count };

	if (!from.nd->data)
		return tti_transfer_read(
			&to, &tti_entry_at(array, group->from)->slab->base, rows, err);
	tti_transfer(&to, &from, rows);
	return TT_OK;
}

static void swap_words(uint64_t *a, uint64_t *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t word = a[i];

		a[i] = b[i];
		b[i] = word;
	}
}

/* Exchange what the array has for what the plan says; twice is as never. */
static void exchange(struct tt_staged_plan *plan, struct tt_staged *array)
{
	struct tti_truncation *cuts = plan->truncations.items;
	struct tti_drop *drops = plan->dropped.items;

	if (plan->grid) {
		struct tti_grid *grid = array->grid;

		array->grid = plan->grid;
		plan->grid = grid;
	}
	for (size_t i = 0; i < plan->truncations.count; i++)
		swap_words(&tti_entry_at(array, cuts[i].slab)->rows, &cuts[i].rows, 1);
	for (size_t i = 0; i < plan->dropped.count; i++) {
		struct tti_entry entry = *tti_entry_at(array, drops[i].slab);

		*tti_entry_at(array, drops[i].slab) = drops[i].entry;
		drops[i].entry = entry;
	}
	swap_words(array->shape, plan->shape, array->rank);
	swap_words(array->grid_shape, plan->grid_shape, array->rank);
}

/* Nothing here can fail. */
static void settle(struct tt_staged_plan *plan, struct tt_staged *array)
{
	const struct tti_update *updates = plan->updates.items;

	for (size_t i = 0; i < plan->updates.count; i++) {
		array->grid->slab[updates[i].chunk] = updates[i].slab;
		array->grid->offset[updates[i].chunk] = updates[i].offset;
	}
	exchange(plan, array);
	if (plan->op != TT_PLAN_GET)
		array->changed++;
}

void tti_staged_plan_undo(struct tt_staged_plan *plan, struct tt_staged *array)
{
	exchange(plan, array);
	drop_from(array, plan->first_appended);
}

int tti_staged_plan_apply(struct tt_staged_plan *plan, struct tt_staged *array,
			  const struct tt_nd *outside, struct tt_error *err)
{
	const struct tti_group *groups = plan->groups.items;
	int rc = ready(plan, array, err);

	for (size_t i = 0; rc == TT_OK && i < plan->groups.count; i++)
		rc = run_group(plan, &groups[i], array, outside, err);
	if (rc < 0) {
		drop_from(array, plan->first_appended);
		return rc;
	}
	settle(plan, array);
	return TT_OK;
}
