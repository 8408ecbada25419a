/* SPDX-License-Identifier: Apache-2.0 */
/* get, set, resize, append, load, changes: make the plan, have it done. */
#include "ticktail/staged.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "staged/cast.h"
#include "staged/nd.h"
#include "staged/plan.h"

#define auto_plan TTI_CLEANUP(tti_staged_plan_fini) struct tt_staged_plan
#define auto_selection TTI_CLEANUP(tti_selection_fini) struct tti_selection

static int refuse_read_only(const struct tt_staged *array, struct tt_error *err)
{
	return array->read_only
		       ? tti_fail(err, TT_E_MISUSE,
				  "the array is read-only; write to a copy of it")
		       : TT_OK;
}

/* What lies outside, with an axis of length 1 for each integer of the index. */
static struct tt_nd with_points(const struct tt_nd *nd, const struct tt_staged_plan *plan)
{
	struct tt_nd view = { .element = nd->element,
			      .rank = plan->rank,
			      .data = nd->data };

	for (uint32_t i = 0, at = 0; i < plan->rank; i++) {
		view.shape[i] = plan->point[i] ? 1 : nd->shape[at];
		view.strides[i] = plan->point[i] ? 0 : nd->strides[at];
		at += !plan->point[i];
	}
	return view;
}

static int choose(struct tti_selection *sel, const struct tt_staged *array,
		  const struct tt_index *index, uint32_t count, struct tt_error *err)
{
	return tti_selection_init(
		sel, &(struct tti_asked){ array->rank, array->shape, index, count }, err);
}

int tt_staged_shape_of(const struct tt_staged *array, const struct tt_index *index,
		       uint32_t index_count, struct tt_nd *out, struct tt_error *err)
{
	auto_selection sel = { .rank = 0 };
	int rc = choose(&sel, array, index, index_count, err);

	if (rc < 0)
		return rc;
	rc = tt_nd_c_order(out, array->element, sel.out_rank, sel.out_shape, NULL);
	return rc < 0 ? tti_fail(err, rc,
				 "a selection of more bytes than can be addressed")
		      : rc;
}

/* ---- get ---- */

/* Bring out to the shape of the result: allocate, or check what the caller gave. */
static int prepare_out(const struct tt_staged *array, const struct tti_selection *sel,
		       struct tt_nd *out, void **owned, struct tt_error *err)
{
	char have[TTI_SHAPE_TEXT], want[TTI_SHAPE_TEXT];
	uint64_t bytes;
	int rc;

	if (out->data) {
		if (tt_element_equal(out->element, array->element) &&
		    out->rank == sel->out_rank &&
		    tti_shape_equal(out->rank, out->shape, sel->out_shape))
			return TT_OK;
		return tti_fail(
			err, TT_E_MISMATCH,
			"output of shape %s for a selection of shape %s, or of another "
			"element",
			tti_shape_text(out->rank, out->shape, have),
			tti_shape_text(sel->out_rank, sel->out_shape, want));
	}
	rc = tti_shape_bytes(sel->out_rank, sel->out_shape, array->element.bytes, &bytes,
			     err);
	if (rc < 0)
		return rc;
	*owned = malloc(bytes > 0 ? bytes : 1);
	if (!*owned)
		return tti_fail(err, -ENOMEM,
				"a result of %" PRIu64 " bytes: out of memory", bytes);
	return tt_nd_c_order(out, array->element, sel->out_rank, sel->out_shape, *owned);
}

int tt_staged_get(struct tt_staged *array, const struct tt_index *index,
		  uint32_t index_count, struct tt_nd *out, struct tt_error *err)
{
	auto_selection sel = { .rank = 0 };
	auto_plan plan = { .rank = 0 };
	tti_auto_free void *owned = NULL;
	struct tt_nd result = *out, view;
	int rc = choose(&sel, array, index, index_count, err);

	if (rc == TT_OK)
		rc = prepare_out(array, &sel, &result, &owned, err);
	if (rc == TT_OK)
		rc = tti_staged_plan_get(&plan, array, &sel, err);
	if (rc < 0)
		return rc;
	view = with_points(&result, &plan);
	rc = tti_staged_plan_apply(&plan, array, &view, err);
	if (rc < 0)
		return rc;
	*out = result;
	owned = NULL;
	return TT_OK;
}

/* ---- set ---- */

/* The bytes that an array in memory spans. */
static void extent_of(const struct tt_nd *nd, uintptr_t *first, uintptr_t *end)
{
	*first = (uintptr_t)nd->data;
	*end = *first + nd->element.bytes;
	for (uint32_t i = 0; i < nd->rank; i++) {
		int64_t reach = nd->strides[i] * (int64_t)(nd->shape[i] - 1);

		*(reach < 0 ? first : end) += (uintptr_t)reach;
	}
}

/* Memory of the caller's that the array writes to may be what he passes as the value. */
static bool overlaps(const struct tt_staged *array, const struct tt_nd *value)
{
	uintptr_t first, end, slab_first, slab_end;

	extent_of(value, &first, &end);
	for (size_t i = array->bases + 1; i < array->entries.count; i++) {
		const struct tti_slab *slab = tti_entry_at(array, i)->slab;

		if (!slab || !slab->borrowed)
			continue;
		extent_of(&slab->nd, &slab_first, &slab_end);
		if (first < slab_end && slab_first < end)
			return true;
	}
	return false;
}

static int check_value(const struct tt_nd *value, struct tt_error *err)
{
	if (value->rank > TT_MAX_RANK)
		return tti_fail(err, TT_E_RANGE,
				"a value of rank %" PRIu32 ": at most %d axes",
				value->rank, TT_MAX_RANK);
	if (!value->data && !tti_shape_empty(value->rank, value->shape))
		return tti_fail(err, TT_E_MISUSE,
				"a value with no data: set where its elements are");
	return tt_element_check(value->element, err);
}

/* value in the array's element and in memory of its own where that is needed. */
static int prepare_value(const struct tt_staged *array, const struct tt_nd *value,
			 struct tt_nd *out, void **owned, struct tt_error *err)
{
	uint64_t bytes;
	int rc = check_value(value, err);

	if (rc < 0)
		return rc;
	if (!tti_can_cast(value->element, array->element))
		return tti_fail(err, TT_E_DTYPE,
				"a value of %c%" PRIu32 " cannot become %c%" PRIu32,
				value->element.kind, value->element.bytes,
				array->element.kind, array->element.bytes);
	*out = *value;
	if (tti_shape_empty(value->rank, value->shape) ||
	    (tt_element_equal(value->element, array->element) && !overlaps(array, value)))
		return TT_OK;
	rc = tti_shape_bytes(value->rank, value->shape, array->element.bytes, &bytes,
			     err);
	if (rc < 0)
		return rc;
	*owned = malloc(bytes);
	if (!*owned)
		return tti_fail(err, -ENOMEM,
				"a value of %" PRIu64 " bytes: out of memory", bytes);
	rc = tt_nd_c_order(out, array->element, value->rank, value->shape, *owned);
	if (rc == TT_OK)
		tti_cast(out, value);
	return rc;
}

int tt_staged_set(struct tt_staged *array, const struct tt_index *index,
		  uint32_t index_count, const struct tt_nd *value, struct tt_error *err)
{
	auto_selection sel = { .rank = 0 };
	auto_plan plan = { .rank = 0 };
	tti_auto_free void *owned = NULL;
	struct tt_nd mine, spread, view;
	int rc = refuse_read_only(array, err);

	if (rc == TT_OK)
		rc = choose(&sel, array, index, index_count, err);
	if (rc == TT_OK)
		rc = prepare_value(array, value, &mine, &owned, err);
	/* also when nothing is selected: a value that cannot fit is a mistake */
	if (rc == TT_OK)
		rc = tti_nd_broadcast(&mine, sel.out_rank, sel.out_shape, &spread, err);
	if (rc < 0 || sel.empty)
		return rc;
	rc = tti_staged_plan_set(&plan, array, &sel, err);
	if (rc < 0)
		return rc;
	view = with_points(&spread, &plan);
	return tti_staged_plan_apply(&plan, array, &view, err);
}

/* ---- resize, append, load ---- */

/* A slab that has no memory for what its chunks gain along an axis that grows: there is nowhere
 * to write it, so it is copied to one that has first.  Along axis 0 a view of the caller's
 * memory is not: its last chunk will leave it. */
static bool too_narrow(const struct tt_staged *array, const struct tti_slab *slab,
		       const uint64_t *shape)
{
	for (uint32_t i = slab->packing.rows > 0 ? 0 : 1; i < array->rank; i++)
		if (shape[i] > array->shape[i] &&
		    tti_slab_box(slab, i, array->chunk[i]) <
			    (slab->packing.rows == 0
				     ? array->chunk[i]
				     : tti_min_u64(array->chunk[i], shape[i])))
			return true;
	return false;
}

static int widen_all(struct tt_staged *array, const uint64_t *shape, struct tt_error *err)
{
	int rc = TT_OK;

	if (tti_shape_empty(array->rank, shape))
		return TT_OK; /* no chunk stays */
	for (size_t i = array->bases + 1; rc == TT_OK && i < array->entries.count; i++) {
		struct tti_entry *entry = tti_entry_at(array, i);

		if (entry->slab && too_narrow(array, entry->slab, shape))
			rc = tti_slab_replace(array, i, shape, err);
	}
	return rc;
}

/* plan is kept by the caller, who may want to take it back. */
static int resize(struct tt_staged *array, const uint64_t *shape,
		  struct tt_staged_plan *plan, struct tt_error *err)
{
	int rc = refuse_read_only(array, err);

	if (rc == TT_OK && !shape)
		rc = tti_fail(err, TT_E_MISUSE, "a resize without the new shape");
	if (rc < 0 || tti_shape_equal(array->rank, shape, array->shape))
		return rc;
	rc = widen_all(array, shape, err);
	if (rc == TT_OK)
		rc = tti_staged_plan_resize(plan, array, shape, err);
	return rc < 0 ? rc : tti_staged_plan_apply(plan, array, NULL, err);
}

int tt_staged_resize(struct tt_staged *array, const uint64_t *shape, struct tt_error *err)
{
	auto_plan plan = { .rank = 0 };
	int rc = resize(array, shape, &plan, err);

	if (rc == TT_OK)
		array->resized |= plan.rank > 0;
	return rc;
}

static int check_rows(const struct tt_staged *array, const struct tt_nd *rows,
		      struct tt_error *err)
{
	char given[TTI_SHAPE_TEXT], own[TTI_SHAPE_TEXT];

	if (rows->rank != array->rank ||
	    !tti_shape_equal(array->rank - 1, rows->shape + 1, array->shape + 1))
		return tti_fail(err, TT_E_MISMATCH,
				"rows of shape %s do not fit behind those of an array of "
				"shape %s: only the first size may differ",
				tti_shape_text(rows->rank, rows->shape, given),
				tti_shape_text(array->rank, array->shape, own));
	if (array->shape[0] > INT64_MAX ||
	    rows->shape[0] > (uint64_t)INT64_MAX - array->shape[0])
		return tti_fail(err, -EOVERFLOW, "more rows than can be counted");
	return check_value(rows, err);
}

int tt_staged_append(struct tt_staged *array, const struct tt_nd *rows,
		     struct tt_error *err)
{
	auto_plan plan = { .rank = 0 };
	struct tt_index index;
	uint64_t shape[TT_MAX_RANK], old = array->shape[0];
	int rc = check_rows(array, rows, err);

	if (rc < 0)
		return rc;
	memcpy(shape, array->shape, sizeof(shape));
	shape[0] = old + rows->shape[0];
	rc = resize(array, shape, &plan, err);
	if (rc < 0 || plan.rank == 0)
		return rc;
	index = TT_INDEX_RANGE((int64_t)old, (int64_t)shape[0]);
	rc = tt_staged_set(array, &index, 1, rows, err);
	if (rc < 0)
		tti_staged_plan_undo(&plan, array);
	else
		array->resized = true;
	return rc;
}

int tt_staged_load(struct tt_staged *array, struct tt_error *err)
{
	auto_plan plan = { .rank = 0 };
	int rc = array->bases > 0 ? refuse_read_only(array, err) : TT_OK;

	if (rc == TT_OK)
		rc = tti_staged_plan_load(&plan, array, err);
	return rc < 0 ? rc : tti_staged_plan_apply(&plan, array, NULL, err);
}

/* ---- changes ---- */

static int report(struct tt_staged *array, const struct tti_piece *piece,
		  int (*fn)(void *ctx, const struct tt_staged_change *change), void *ctx)
{
	struct tti_geometry geometry = tti_geometry_of(array);
	uint64_t start[TT_MAX_RANK], count[TT_MAX_RANK], from[TT_MAX_RANK] = { 0 };
	uint64_t chunk = piece->chunk;
	struct tt_nd data = { .rank = 0 };
	struct tt_staged_change change = { start, count, piece->slab, from, NULL };

	from[0] = piece->offset;
	tti_chunk_size(&geometry, chunk, count);
	for (uint32_t axis = array->rank; axis-- > 0;) {
		start[axis] = chunk % array->grid_shape[axis] * array->chunk[axis];
		chunk /= array->grid_shape[axis];
	}
	if (tti_is_staged(array, piece->slab)) {
		tti_slab_chunk(tti_entry_at(array, piece->slab)->slab, piece->offset,
			       count, &data);
		change.data = &data;
	}
	return fn(ctx, &change);
}

int tt_staged_changes(struct tt_staged *array,
		      int (*fn)(void *ctx, const struct tt_staged_change *change),
		      void *ctx, struct tt_error *err)
{
	auto_plan plan = { .rank = 0 };
	int rc = tti_staged_plan_changes(&plan, array, err);
	const struct tti_piece *pieces = plan.pieces.items;

	for (size_t i = 0; rc == TT_OK && i < plan.pieces.count; i++)
		if (tti_is_staged(array, pieces[i].slab))
			rc = tti_slab_converted(array, pieces[i].slab, err);
	for (size_t i = 0; rc == TT_OK && i < plan.pieces.count; i++)
		rc = report(array, &pieces[i], fn, ctx);
	return rc;
}
