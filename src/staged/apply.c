/* SPDX-License-Identifier: Apache-2.0 */
/* Carries a plan out.  All memory is taken first and all base slabs are read before
 * anything that exists is written, so that a failure leaves the array as it was. */
#include "staged/plan.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "staged/nd.h"
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

/* Rows are made by the sheet: as many as stay in the nearest cache. */
enum { SHEET_WORDS = 2560 };

struct run {
	const struct tt_staged_plan *plan;
	struct tt_staged *array;
	const struct tt_nd *outside;
	struct tti_convoy *convoy;
};

static int run_group(const struct run *run, const struct tti_group *group,
		     struct tt_error *err)
{
	struct tti_side from = side(run->array, group->from, run->outside);
	struct tti_side to = side(run->array, group->to, run->outside);
	struct tt_plan_cursor cursor = { 0, 0 };
	uint64_t sheet[SHEET_WORDS], room = SHEET_WORDS / (5 * run->plan->rank);
	struct tti_rows rows = { .rows = sheet };
	int rc = TT_OK;

	while (rc == TT_OK && (rows.count = tti_staged_plan_rows(
				       run->plan, group, &cursor, sheet, room)) > 0) {
		if (from.nd->data)
			tti_transfer(run->convoy, &to, &from, rows);
		else
			rc = tti_transfer_read(
				&to, &tti_entry_at(run->array, group->from)->slab->base,
				rows, err);
	}
	return rc;
}

/* ---- In the order of the outside ---- */

/* More than the nearest cache and address translation hold: then neighbours outside should be
 * moved one after the other. */
enum { FAR_BYTES = 1 << 16 };
/* More than is likely to be read again before it has left the caches anyway. */
enum { STREAM_BYTES = 4 << 20 };

static uint64_t outside_bytes(const struct tt_nd *outside)
{
	uint64_t bytes;

	return outside && tti_shape_bytes(outside->rank, outside->shape,
					  outside->element.bytes, &bytes, NULL) == TT_OK
		       ? bytes
		       : 0;
}

/* About as much as is written. */
static uint64_t moved_bytes(const struct tt_staged_plan *plan,
			    const struct tt_nd *outside, struct tt_element element)
{
	uint64_t bytes;

	if (outside)
		return outside_bytes(outside);
	return tti_shape_bytes(plan->rank, plan->chunk, element.bytes, &bytes, NULL) <
				       0 ||
			       tti_mul_overflow(bytes, plan->hits.count, &bytes)
		       ? UINT64_MAX
		       : bytes;
}

static bool has_outside(const struct tti_group *group)
{
	return group->source == TTI_ROWS_OUT || group->source == TTI_ROWS_IN;
}

/* Whether all rows to or from the outside can be moved in any order of chunks, and the order
 * they have is another than that of their places. */
static bool is_scattered(const struct run *run)
{
	const struct tti_group *groups = run->plan->groups.items;
	const struct tti_hit *hits = run->plan->hits.items;
	uint64_t next = 0;
	bool scattered = false;

	for (size_t i = 0; i < run->plan->groups.count; i++) {
		uint64_t slab =
			groups[i].source == TTI_ROWS_OUT ? groups[i].from : groups[i].to;

		if (!has_outside(&groups[i]))
			continue;
		if (!tti_entry_at(run->array, slab)->slab->nd.data)
			return false;
		for (uint64_t k = 0; k < groups[i].count; k++)
			scattered |= hits[groups[i].first + k].at != next++;
	}
	return scattered;
}

/* What goes to or from the outside by its places, a run of one slab at a time; sorted has room
 * for all hits. */
static int run_by_place(const struct run *run, struct tti_hit *sorted,
			struct tt_error *err)
{
	struct tt_staged_plan by_place = *run->plan;
	const struct tti_group *groups = run->plan->groups.items;
	const struct tti_hit *hits = run->plan->hits.items;
	struct run mine = { &by_place, run->array, run->outside, run->convoy };
	bool out = run->plan->op == TT_PLAN_GET;
	uint64_t count = 0, next;
	int rc = TT_OK;

	for (size_t i = 0; i < run->plan->groups.count; i++)
		for (uint64_t k = 0; has_outside(&groups[i]) && k < groups[i].count;
		     k++) {
			sorted[hits[groups[i].first + k].at] = hits[groups[i].first + k];
			count++;
		}
	by_place.hits.items = sorted;
	for (uint64_t i = 0; rc == TT_OK && i < count; i = next) {
		uint64_t slab = sorted[i].slab;

		next = tti_hits_group_end(sorted, i, count);
		rc = run_group(
			&mine,
			&(struct tti_group){ .from = out ? slab : TT_PLAN_OUTSIDE,
					     .to = out ? TT_PLAN_OUTSIDE : slab,
					     .source = out ? TTI_ROWS_OUT : TTI_ROWS_IN,
					     .first = i,
					     .count = next - i },
			err);
	}
	return rc;
}

/* An axis with a list may name a place twice. */
static bool has_list(const struct tt_staged_plan *plan)
{
	for (uint32_t i = 0; plan->mappers && i < plan->rank; i++)
		if (plan->mappers[i].kind == TTI_AXIS_LIST)
			return true;
	return false;
}

/* What moves between slabs may be written again by a set, and so may a place that a list has
 * twice: in order.  A set is read as it lies, a line of all chunks side by side at a time.  A get
 * is written that way only where slabs continue each other: chunks of a slab are read much faster
 * in one piece than all of them by turns. */
static struct tti_manner manner_of(const struct run *run, bool outside)
{
	const struct tt_staged_plan *plan = run->plan;
	struct tti_manner manner = { TTI_SINGLY, false };

	manner.stream =
		(outside || plan->op == TT_PLAN_LOAD) &&
		moved_bytes(plan, run->outside, run->array->element) >= STREAM_BYTES;
	if (outside && plan->op == TT_PLAN_GET)
		manner.order = TTI_JOINED;
	else if (outside && !has_list(plan))
		manner.order = TTI_ABREAST;
	return manner;
}

/* The groups of one kind, in the order of the plan. */
static int run_kind(const struct run *run, bool outside, struct tt_error *err)
{
	const struct tti_group *groups = run->plan->groups.items;
	int rc = TT_OK;

	for (size_t i = 0; rc == TT_OK && i < run->plan->groups.count; i++)
		if (has_outside(&groups[i]) == outside)
			rc = run_group(run, &groups[i], err);
	return rc;
}

/* What moves between slabs comes first in a plan. */
static int run_groups(const struct run *run, struct tt_error *err)
{
	tti_auto_free struct tti_hit *sorted = NULL;
	int rc;

	tti_convoy_begin(run->convoy, manner_of(run, false));
	rc = run_kind(run, false, err);
	tti_convoy_end(run->convoy);
	if (rc < 0 || !run->outside)
		return rc;
	/* without memory for it, in the order of the plan */
	if (outside_bytes(run->outside) >= FAR_BYTES && is_scattered(run))
		sorted = malloc(run->plan->hits.count * sizeof(*sorted));
	tti_convoy_begin(run->convoy, manner_of(run, true));
	rc = sorted ? run_by_place(run, sorted, err) : run_kind(run, true, err);
	tti_convoy_end(run->convoy);
	return rc;
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
	struct tti_convoy convoy;
	struct run run = { plan, array, outside, &convoy };
	int rc = ready(plan, array, err);

	if (rc == TT_OK)
		rc = run_groups(&run, err);
	if (rc < 0) {
		drop_from(array, plan->first_appended);
		return rc;
	}
	settle(plan, array);
	return TT_OK;
}
