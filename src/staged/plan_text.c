/* SPDX-License-Identifier: Apache-2.0 */
/* Plans to look at: made without being carried out, and in words. */
#include "ticktail/staged.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "format/text.h"
#include "staged/nd.h"
#include "staged/plan.h"
#include "staged/print.h"
#include "staged/transfer.h"

/* ---- Making and asking ---- */

static int make(struct tt_staged_plan *plan, const struct tt_staged *array,
		const struct tt_plan_what *what, const struct tti_selection *sel,
		struct tt_error *err)
{
	switch (what->op) {
	case TT_PLAN_GET: return tti_staged_plan_get(plan, array, sel, err);
	case TT_PLAN_SET: return tti_staged_plan_set(plan, array, sel, err);
	case TT_PLAN_RESIZE: return tti_staged_plan_resize(plan, array, what->shape, err);
	case TT_PLAN_LOAD: return tti_staged_plan_load(plan, array, err);
	case TT_PLAN_CHANGES: return tti_staged_plan_changes(plan, array, err);
	case TT_PLAN_HASH: return tti_staged_plan_hash(plan, array, err);
	case TT_PLAN_COMMIT: return tti_staged_plan_commit(plan, array, err);
	}
	return tti_fail(err, TT_E_MISUSE, "operation %d is not known", (int)what->op);
}

int tt_staged_plan(struct tt_staged_plan **out, const struct tt_staged *array,
		   const struct tt_plan_what *what, struct tt_error *err)
{
	struct tti_asked asked = { array->rank, array->shape, what->index,
				   what->index_count };
	struct tti_selection sel = { .rank = 0 };
	struct tt_staged_plan *plan = calloc(1, sizeof(*plan));
	int rc = TT_OK;

	*out = NULL;
	if (!plan)
		return tti_fail(err, -ENOMEM, "a plan: out of memory");
	if (what->op == TT_PLAN_GET || what->op == TT_PLAN_SET)
		rc = tti_selection_init(&sel, &asked, err);
	else if (what->op == TT_PLAN_RESIZE && !what->shape)
		rc = tti_fail(err, TT_E_MISUSE, "a plan of a resize needs the new shape");
	if (rc == TT_OK)
		rc = make(plan, array, what, &sel, err);
	tti_selection_fini(&sel);
	if (rc < 0) {
		tt_staged_plan_free(plan);
		return rc;
	}
	plan->before = tti_grid_ref(array->grid);
	*out = plan;
	return TT_OK;
}

void tt_staged_plan_free(struct tt_staged_plan *plan)
{
	if (plan)
		tti_staged_plan_fini(plan);
	free(plan);
}

void tt_staged_plan_info(const struct tt_staged_plan *plan, struct tt_plan_info *out)
{
	*out = (struct tt_plan_info){
		.op = plan->op,
		.rank = plan->rank,
		.appended = plan->appended.count,
		.dropped = plan->dropped.count,
		.rows = plan->row_count,
		.transfers = plan->groups.count,
	};
	out->mutates = plan->op != TT_PLAN_GET &&
		       (out->rows > 0 || out->dropped > 0 || plan->updates.count > 0);
}

void tt_staged_plan_transfer(const struct tt_staged_plan *plan, uint64_t i,
			     struct tt_plan_transfer *out)
{
	const struct tti_group *group = (const struct tti_group *)plan->groups.items + i;

	*out = (struct tt_plan_transfer){ 0, 0, 0 };
	if (i < plan->groups.count)
		*out = (struct tt_plan_transfer){ group->from, group->to, group->rows };
}

uint64_t tt_staged_plan_rows(const struct tt_staged_plan *plan, uint64_t transfer,
			     struct tt_plan_cursor *cursor, uint64_t *rows, uint64_t room)
{
	const struct tti_group *groups = plan->groups.items;

	return transfer < plan->groups.count
		       ? tti_staged_plan_rows(plan, &groups[transfer], cursor, rows, room)
		       : 0;
}

/* ---- Words ---- */

static uint64_t grid_slab(const void *ctx, uint64_t i)
{
	return ((const struct tti_grid *)ctx)->slab[i];
}

static uint64_t grid_offset(const void *ctx, uint64_t i)
{
	return ((const struct tti_grid *)ctx)->offset[i];
}

/* The grid as it will be. */
static struct tti_grid *grid_after(const struct tt_staged_plan *plan)
{
	const struct tti_update *updates = plan->updates.items;
	struct tti_grid *grid;

	if (plan->grid)
		return tti_grid_ref(plan->grid);
	if (plan->updates.count == 0)
		return tti_grid_ref(plan->before);
	grid = tti_grid_copy(plan->before);
	for (size_t i = 0; grid && i < plan->updates.count; i++) {
		grid->slab[updates[i].chunk] = updates[i].slab;
		grid->offset[updates[i].chunk] = updates[i].offset;
	}
	return grid;
}

static void put_outside(struct tti_text *text, const struct tt_staged_plan *plan,
			const char *name)
{
	char shape[TTI_SHAPE_TEXT];

	tti_text_putf(text, "%s_shape=%s, %s_view=[", name,
		      tti_shape_text(plan->out_rank, plan->out_shape, shape), name);
	for (uint32_t i = 0; !plan->empty && i < plan->rank; i++)
		tti_text_putf(text, "%s%s", i ? ", " : "", plan->point[i] ? "None" : ":");
	tti_text_putf(text, "%s], ", plan->empty ? "()" : "");
}

static uint64_t hashed_slabs(const struct tt_staged_plan *plan)
{
	const struct tti_piece *pieces = plan->pieces.items;
	uint64_t slabs = 0;

	for (size_t i = 0; i < plan->pieces.count; i++)
		slabs += i == 0 || pieces[i].slab != pieces[i - 1].slab;
	return slabs;
}

static void put_moves(struct tti_text *text, const struct tt_staged_plan *plan)
{
	if (plan->op != TT_PLAN_GET)
		tti_text_putf(text, "append %zu empty slabs, ", plan->appended.count);
	tti_text_putf(text, "%" PRIu64 " slice transfers among %zu slab pairs",
		      plan->row_count, plan->groups.count);
	if (plan->op != TT_PLAN_GET)
		tti_text_putf(text, ", drop %zu slabs", plan->dropped.count);
}

static void put_head(struct tti_text *text, const struct tt_staged_plan *plan)
{
	static const char *const names[] = {
		[TT_PLAN_GET] = "GetItem",     [TT_PLAN_SET] = "SetItem",
		[TT_PLAN_RESIZE] = "Resize",   [TT_PLAN_LOAD] = "Load",
		[TT_PLAN_CHANGES] = "Changes", [TT_PLAN_HASH] = "Hash",
		[TT_PLAN_COMMIT] = "Commit",
	};

	tti_text_putf(text, "%sPlan<", names[plan->op]);
	if (plan->op == TT_PLAN_GET)
		put_outside(text, plan, "output");
	if (plan->op == TT_PLAN_SET)
		put_outside(text, plan, "value");
	if (plan->op == TT_PLAN_CHANGES)
		tti_text_putf(text, "%zu chunks", plan->pieces.count);
	else if (plan->op == TT_PLAN_HASH)
		tti_text_putf(text, "%zu chunks over %" PRIu64 " slabs",
			      plan->pieces.count, hashed_slabs(plan));
	else
		put_moves(text, plan);
	tti_text_put_str(text, ">");
}

static void put_place(struct tti_text *text, const struct tt_staged_plan *plan,
		      uint64_t slab)
{
	if (slab != TT_PLAN_OUTSIDE)
		tti_text_putf(text, "slabs[%" PRIu64 "]", slab);
	else
		tti_text_put_str(text, plan->op == TT_PLAN_GET ? "out" : "value");
}

static void put_box(struct tti_text *text, uint32_t rank, const uint64_t *start,
		    const uint64_t *count, const uint64_t *stride)
{
	for (uint32_t i = 0; i < rank; i++) {
		uint64_t step = stride ? stride[i] : 1;

		tti_text_putf(text, "%s%" PRIu64 ":%" PRIu64, i ? ", " : "[", start[i],
			      start[i] + (count[i] - 1) * step + 1);
		if (step != 1)
			tti_text_putf(text, ":%" PRIu64, step);
	}
	tti_text_put_str(text, "]");
}

static void put_group(struct tti_text *text, const struct tt_staged_plan *plan,
		      const struct tti_group *group)
{
	struct tt_plan_cursor cursor = { 0, 0 };
	uint64_t words[5 * TT_MAX_RANK];

	tti_text_putf(text, "\n  # %" PRIu64 " transfers from ", group->rows);
	put_place(text, plan, group->from);
	tti_text_put_str(text, " to ");
	put_place(text, plan, group->to);
	while (tti_staged_plan_rows(plan, group, &cursor, words, 1) > 0) {
		struct tti_row row = tti_row_at(words, plan->rank, 0);

		tti_text_put_str(text, "\n  ");
		put_place(text, plan, group->to);
		put_box(text, plan->rank, row.to, row.count, row.to_stride);
		tti_text_put_str(text, " = ");
		put_place(text, plan, group->from);
		put_box(text, plan->rank, row.from, row.count, row.from_stride);
	}
}

static void put_appends(struct tti_text *text, const struct tt_staged_plan *plan,
			const struct tti_grid *grid)
{
	char words[TTI_SHAPE_TEXT];
	uint64_t shape[TT_MAX_RANK], highest = 0;

	for (uint64_t i = 0; plan->appended.count > 0 && i < grid->chunks; i++)
		highest = tti_max_u64(highest, grid->slab[i]);
	memcpy(shape, plan->chunk, sizeof(shape));
	for (size_t i = 0; i < plan->appended.count; i++) {
		shape[0] = ((const uint64_t *)plan->appended.items)[i];
		/* the number the Python class prints: counted from the highest in use */
		tti_text_putf(text, "\n  slabs.append(empty(%s))  # slabs[%" PRIu64 "]",
			      tti_shape_text(plan->rank, shape, words),
			      highest + 1 - plan->appended.count + i);
	}
}

static void put_drops(struct tti_text *text, const struct tt_staged_plan *plan)
{
	const struct tti_truncation *cuts = plan->truncations.items;
	const struct tti_drop *drops = plan->dropped.items;

	for (size_t i = 0; i < plan->truncations.count; i++)
		tti_text_putf(text,
			      "\n  slabs[%" PRIu64 "] = slabs[%" PRIu64 "][:%" PRIu64 "]",
			      cuts[i].slab, cuts[i].slab, cuts[i].rows);
	for (size_t i = 0; i < plan->dropped.count; i++)
		tti_text_putf(text, "\n  slabs[%" PRIu64 "] = None", drops[i].slab);
}

static int put_transfers(struct tti_text *text, const struct tt_staged_plan *plan)
{
	const struct tti_group *groups = plan->groups.items;
	struct tti_grid *grid = grid_after(plan);
	struct tti_numbers numbers = { plan->rank, plan->grid_shape, grid_slab, grid };

	if (!grid)
		return -ENOMEM;
	put_appends(text, plan, grid);
	for (size_t i = 0; i < plan->groups.count; i++)
		put_group(text, plan, &groups[i]);
	put_drops(text, plan);
	if (plan->op != TT_PLAN_GET) {
		tti_text_put_str(text, "\nslab_indices:\n");
		tti_print_numbers(text, &numbers);
		numbers.get = grid_offset;
		tti_text_put_str(text, "\nslab_offsets:\n");
		tti_print_numbers(text, &numbers);
	}
	tti_grid_unref(&grid);
	return TT_OK;
}

static void put_change(struct tti_text *text, const struct tt_staged_plan *plan,
		       const struct tti_piece *piece)
{
	struct tti_geometry geometry = { plan->rank, plan->shape, plan->chunk,
					 plan->grid_shape };
	uint64_t start[TT_MAX_RANK], from[TT_MAX_RANK] = { 0 }, count[TT_MAX_RANK];
	uint64_t chunk = piece->chunk;

	from[0] = piece->offset;
	tti_chunk_size(&geometry, chunk, count);
	for (uint32_t axis = plan->rank; axis-- > 0;) {
		start[axis] = chunk % plan->grid_shape[axis] * plan->chunk[axis];
		chunk /= plan->grid_shape[axis];
	}
	tti_text_put_str(text, "\n  base");
	put_box(text, plan->rank, start, count, NULL);
	tti_text_putf(text, " = slabs[%" PRIu64 "]", piece->slab);
	put_box(text, plan->rank, from, count, NULL);
}

/* The pieces of one slab, of which this is the first. */
static void put_hash(struct tti_text *text, const struct tt_staged_plan *plan,
		     const struct tti_piece *pieces, size_t count)
{
	struct tti_geometry geometry = { plan->rank, plan->shape, plan->chunk,
					 plan->grid_shape };
	uint64_t slab = pieces[0].slab, extent[TT_MAX_RANK];
	size_t n = 1;

	while (n < count && pieces[n].slab == slab)
		n++;
	tti_text_putf(text,
		      "\n  # hash %zu chunks of slabs[%" PRIu64 "]\n"
		      "  hash_tables[%" PRIu64 "] = np.empty((%zu, sizeof(sha256)))",
		      n, slab, slab, n);
	for (size_t i = 0; i < n; i++) {
		tti_chunk_size(&geometry, pieces[i].chunk, extent);
		tti_text_putf(text,
			      "\n  hash_tables[%" PRIu64 "][%" PRIu64
			      "] = hash(slabs[%" PRIu64 "][%" PRIu64 ":%" PRIu64,
			      slab, pieces[i].offset / plan->chunk[0], slab,
			      pieces[i].offset, pieces[i].offset + extent[0]);
		for (uint32_t axis = 1; axis < plan->rank; axis++)
			tti_text_putf(text, ", :%" PRIu64, extent[axis]);
		tti_text_put_str(text, "])");
	}
}

int tt_staged_plan_text(const struct tt_staged_plan *plan, bool head_only,
			char **text_out, struct tt_error *err)
{
	const struct tti_piece *pieces = plan->pieces.items;
	tti_auto_text text = { .bytes = NULL };
	int rc = TT_OK;

	put_head(&text, plan);
	for (size_t i = 0; !head_only && i < plan->pieces.count; i++) {
		if (plan->op == TT_PLAN_CHANGES)
			put_change(&text, plan, &pieces[i]);
		else if (i == 0 || pieces[i].slab != pieces[i - 1].slab)
			put_hash(&text, plan, &pieces[i], plan->pieces.count - i);
	}
	if (!head_only && plan->op != TT_PLAN_CHANGES && plan->op != TT_PLAN_HASH)
		rc = put_transfers(&text, plan);
	*text_out = rc < 0 ? NULL : tti_text_steal(&text);
	return *text_out ? TT_OK : tti_fail(err, -ENOMEM, "a plan's text: out of memory");
}
