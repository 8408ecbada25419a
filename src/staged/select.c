/* SPDX-License-Identifier: Apache-2.0 */
/* Brings an index to one form an axis.  A list of positions that climbs evenly becomes a
 * slice, so that everything after this has the cheaper case. */
#include "staged/select.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"

/* One index item on its way to an axis. */
struct place {
	uint32_t axis;
	uint64_t size;
	struct tt_error *err;
};

static int out_of_bounds(const struct place *place, int64_t i)
{
	return tti_fail(place->err, TT_E_RANGE,
			"index %" PRId64 " is out of bounds for axis %" PRIu32
			" with size %" PRIu64,
			i, place->axis, place->size);
}

/* A position counted from the end when negative; false: there is none such. */
static bool resolve(int64_t i, uint64_t size, uint64_t *out)
{
	uint64_t back = i < 0 ? 0 - (uint64_t)i : 0;

	if (i >= 0 ? (uint64_t)i >= size : back > size)
		return false;
	*out = i >= 0 ? (uint64_t)i : size - back;
	return true;
}

/* A slice's end as Python reads it: from the end when negative, cut to [0, size]. */
static uint64_t clamp(int64_t i, uint64_t size)
{
	uint64_t at;

	if (i < 0)
		return resolve(i, size, &at) ? at : 0;
	return tti_min_u64((uint64_t)i, size);
}

static void set_slice(struct tti_axis_sel *sel, uint64_t start, uint64_t count,
		      uint64_t step)
{
	*sel = (struct tti_axis_sel){ .kind = TTI_AXIS_SLICE,
				      .start = start,
				      .step = count > 1 ? step : 1,
				      .count = count };
	sel->stop = count > 0 ? start + (count - 1) * step + 1 : start;
}

static int take_point(struct tti_axis_sel *sel, const struct tt_index *index,
		      const struct place *place)
{
	uint64_t at;

	if (!resolve(index->start, place->size, &at))
		return out_of_bounds(place, index->start);
	*sel = (struct tti_axis_sel){
		.kind = TTI_AXIS_POINT, .start = at, .stop = at + 1, .step = 1, .count = 1
	};
	return TT_OK;
}

static int take_slice(struct tti_axis_sel *sel, const struct tt_index *index,
		      const struct place *place)
{
	uint64_t start = index->has_start ? clamp(index->start, place->size) : 0;
	uint64_t stop = index->has_stop ? clamp(index->stop, place->size) : place->size;
	uint64_t step = (uint64_t)index->step;

	if (index->step == 0)
		return tti_fail(place->err, TT_E_RANGE, "slice step cannot be zero");
	if (index->step < 0)
		return tti_fail(place->err, TT_E_UNSUPPORTED,
				"slice step must be positive, not %" PRId64
				" (axis %" PRIu32 ")",
				index->step, place->axis);
	set_slice(sel, start, start < stop ? (stop - start - 1) / step + 1 : 0, step);
	return TT_OK;
}

/* Take over list; a climbing progression becomes a slice. */
static void set_list(struct tti_axis_sel *sel, uint64_t *list, uint64_t count)
{
	uint64_t step = count > 1 ? list[1] - list[0] : 1;
	bool even = count > 0 && (count == 1 || list[1] > list[0]);

	for (uint64_t i = 2; even && i < count; i++)
		even = list[i] > list[i - 1] && list[i] - list[i - 1] == step;
	if (even || count == 0) {
		set_slice(sel, count > 0 ? list[0] : 0, count, step);
		free(list);
		return;
	}
	*sel = (struct tti_axis_sel){ .kind = TTI_AXIS_LIST,
				      .count = count,
				      .list = list };
}

static int new_list(uint64_t count, uint64_t **out, const struct place *place)
{
	uint64_t bytes;

	if (tti_mul_overflow(count > 0 ? count : 1, sizeof(**out), &bytes) ||
	    !(*out = malloc(bytes)))
		return tti_fail(place->err, -ENOMEM,
				"an index of %" PRIu64 " positions: out of memory",
				count);
	return TT_OK;
}

static int missing(const struct place *place, const char *what)
{
	return tti_fail(place->err, TT_E_MISUSE,
			"the list of the index of axis %" PRIu32 " has no %s: it is NULL",
			place->axis, what);
}

static int take_ints(struct tti_axis_sel *sel, const struct tt_index *index,
		     const struct place *place)
{
	uint64_t *list;
	int rc;

	if (index->count > 0 && !index->ints)
		return missing(place, "positions");
	rc = new_list(index->count, &list, place);
	for (uint64_t i = 0; rc == TT_OK && i < index->count; i++)
		if (!resolve(index->ints[i], place->size, &list[i])) {
			free(list);
			return out_of_bounds(place, index->ints[i]);
		}
	if (rc == TT_OK)
		set_list(sel, list, index->count);
	return rc;
}

static int take_bools(struct tti_axis_sel *sel, const struct tt_index *index,
		      const struct place *place)
{
	uint64_t *list, set = 0, at = 0;
	int rc;

	if (index->count != place->size)
		return tti_fail(
			place->err, TT_E_RANGE,
			"boolean index did not match indexed array along axis %" PRIu32
			"; size of axis is %" PRIu64
			" but size of corresponding boolean axis is %" PRIu64,
			place->axis, place->size, index->count);
	if (index->count > 0 && !index->bools)
		return missing(place, "flags");
	for (uint64_t i = 0; i < index->count; i++)
		set += index->bools[i];
	rc = new_list(set, &list, place);
	if (rc < 0)
		return rc;
	for (uint64_t i = 0; i < index->count; i++)
		if (index->bools[i])
			list[at++] = i;
	set_list(sel, list, set);
	return TT_OK;
}

static int take(struct tti_axis_sel *sel, const struct tt_index *index,
		const struct place *place)
{
	switch (index->kind) {
	case TT_INDEX_INT: return take_point(sel, index, place);
	case TT_INDEX_SLICE: return take_slice(sel, index, place);
	case TT_INDEX_INTS: return take_ints(sel, index, place);
	case TT_INDEX_BOOLS: return take_bools(sel, index, place);
	case TT_INDEX_ELLIPSIS: break;
	}
	return tti_fail(place->err, TT_E_UNSUPPORTED, "index kind %d is not known",
			(int)index->kind);
}

static bool is_list(const struct tt_index *index)
{
	return index->kind == TT_INDEX_INTS || index->kind == TT_INDEX_BOOLS;
}

/* One list at most, and every integer beside it: NumPy would otherwise move axes
 * about. */
static int check_form(uint32_t rank, const struct tt_index *index, uint32_t count,
		      struct tt_error *err)
{
	uint32_t dots = 0, lists = 0, runs = 0;
	bool in_run = false, ints = false;

	if (count > 0 && !index)
		return tti_fail(err, TT_E_MISUSE,
				"an index of %" PRIu32 " items that is NULL", count);
	for (uint32_t i = 0; i < count; i++) {
		bool advanced = is_list(&index[i]) || index[i].kind == TT_INDEX_INT;

		dots += index[i].kind == TT_INDEX_ELLIPSIS;
		lists += is_list(&index[i]);
		ints |= index[i].kind == TT_INDEX_INT;
		runs += advanced && !in_run;
		in_run = advanced;
	}
	if (dots > 1)
		return tti_fail(err, TT_E_RANGE,
				"an index can only have a single ellipsis ('...')");
	if (count - dots > rank)
		return tti_fail(err, TT_E_RANGE,
				"too many indices for array: array is %" PRIu32
				"-dimensional, but %" PRIu32 " were indexed",
				rank, count - dots);
	if (lists > 1)
		return tti_fail(
			err, TT_E_UNSUPPORTED,
			"more than one array index: select along one axis at a time");
	if (lists == 1 && ints && runs > 1)
		return tti_fail(
			err, TT_E_UNSUPPORTED,
			"an integer apart from the array index: put them side by side, "
			"or use a slice of one position");
	return TT_OK;
}

static void finish(struct tti_selection *sel)
{
	sel->out_rank = 0;
	sel->empty = false;
	for (uint32_t i = 0; i < sel->rank; i++) {
		sel->empty |= sel->axis[i].count == 0;
		if (sel->axis[i].kind != TTI_AXIS_POINT)
			sel->out_shape[sel->out_rank++] = sel->axis[i].count;
	}
}

void tti_selection_all(struct tti_selection *sel, uint32_t rank, const uint64_t *shape)
{
	*sel = (struct tti_selection){ .rank = rank };
	for (uint32_t i = 0; i < rank; i++)
		set_slice(&sel->axis[i], 0, shape[i], 1);
	finish(sel);
}

int tti_selection_init(struct tti_selection *sel, const struct tti_asked *asked,
		       struct tt_error *err)
{
	uint32_t rank = asked->rank, count = asked->count;
	const struct tt_index *index = asked->index;
	uint32_t axis = 0;
	int rc = check_form(rank, index, count, err);

	if (rc < 0)
		return rc;
	tti_selection_all(sel, rank, asked->shape);
	for (uint32_t i = 0; rc == TT_OK && i < count; i++) {
		if (index[i].kind == TT_INDEX_ELLIPSIS) {
			axis = rank - (count - 1 - i);
			continue;
		}
		rc = take(&sel->axis[axis], &index[i],
			  &(struct place){ axis, asked->shape[axis], err });
		axis++;
	}
	finish(sel);
	if (rc < 0)
		tti_selection_fini(sel);
	return rc;
}

void tti_selection_fini(struct tti_selection *sel)
{
	for (uint32_t i = 0; i < sel->rank; i++) {
		free(sel->axis[i].list);
		sel->axis[i].list = NULL;
	}
}
