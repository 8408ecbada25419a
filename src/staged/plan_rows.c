/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a group, made when they are wanted: a row is 5 x rank numbers, a chunk that is
 * selected only its place and its number, and most plans are run once and looked at never. */
#include "staged/plan.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "staged/nd.h"
#include "staged/transfer.h"

static const struct tti_hit *hits_of(const struct tt_staged_plan *plan,
				     const struct tti_group *group)
{
	return (const struct tti_hit *)plan->hits.items + group->first;
}

/* ---- Counting ---- */

/* The axis with a list of positions, of which a chunk may have several spans; or rank. */
static uint32_t list_axis(const struct tt_staged_plan *plan)
{
	uint32_t axis = 0;

	while (axis < plan->rank && plan->mappers[axis].kind != TTI_AXIS_LIST)
		axis++;
	return axis;
}

static uint64_t count_rows(const struct tt_staged_plan *plan,
			   const struct tti_group *group)
{
	uint32_t axis = list_axis(plan);
	const struct tti_hit *hits = hits_of(plan, group);
	uint64_t place[TT_MAX_RANK], rows = 0;

	if (axis == plan->rank || group->source == TTI_ROWS_MOVE)
		return group->count;
	for (uint64_t i = 0; i < group->count; i++) {
		const uint64_t *first = plan->mappers[axis].first_span;

		tti_hit_place(&hits[i], plan->mappers, plan->rank, place);
		rows += first[place[axis] + 1] - first[place[axis]];
	}
	return rows;
}

int tti_staged_plan_hits(struct tt_staged_plan *plan, const struct tti_group *group,
			 struct tt_error *err)
{
	struct tti_group *added = tti_vec_add(&plan->groups, 1, sizeof(*added));

	if (!added)
		return tti_fail(err, -ENOMEM, "a plan: out of memory");
	*added = *group;
	added->rows = count_rows(plan, group);
	plan->row_count += added->rows;
	return TT_OK;
}

/* ---- Making ---- */

static void move_row(const struct tt_staged_plan *plan, const uint64_t *place,
		     uint64_t from_offset, uint64_t to_offset, uint64_t *row)
{
	uint32_t rank = plan->rank;

	for (uint32_t axis = 0; axis < rank; axis++) {
		const struct tti_mapper *m = &plan->mappers[axis];

		row[axis] = axis == 0 ? from_offset : 0;
		row[rank + axis] = axis == 0 ? to_offset : 0;
		row[2 * rank + axis] = tti_chunk_extent(m->size, m->chunk,
							tti_mapper_chunk(m, place[axis]));
		row[3 * rank + axis] = row[4 * rank + axis] = 1;
	}
}

/* slab and value: where in a row the start on that side stands. */
static void value_row(const struct tti_span *const *spans, uint32_t rank, uint64_t offset,
		      bool into_slab, uint64_t *row)
{
	uint32_t slab = into_slab ? rank : 0, value = rank - slab;

	for (uint32_t axis = 0; axis < rank; axis++) {
		const struct tti_span *span = spans[axis];

		row[slab + axis] = span->chunk_start;
		row[value + axis] = span->value_start;
		row[2 * rank + axis] = span->count;
		row[3 * rank + slab + axis] = span->chunk_stride;
		row[3 * rank + value + axis] = span->value_stride;
	}
	row[slab] += offset;
}

/* Room for rows, of which some are there. */
struct sheet {
	uint64_t *rows, room, n;
	size_t words; /* of a row */
};

/* The rows of one hit from cursor->part on; at most one axis has a list. */
static void value_rows(const struct tt_staged_plan *plan, const struct tti_group *group,
		       const uint64_t *place, struct tt_plan_cursor *cursor,
		       struct sheet *sheet)
{
	const struct tti_hit *hit = hits_of(plan, group) + cursor->at;
	struct tti_span slices[TT_MAX_RANK];
	const struct tti_span *spans[TT_MAX_RANK];
	uint32_t rank = plan->rank, many_axis = 0;
	uint64_t many = 1;

	for (uint32_t axis = 0; axis < rank; axis++) {
		const struct tti_mapper *m = &plan->mappers[axis];
		uint64_t count;

		spans[axis] =
			tti_mapper_spans(m, place[axis], tti_mapper_chunk(m, place[axis]),
					 &slices[axis], &count);
		if (count > 1) {
			many = count;
			many_axis = axis;
		}
	}
	spans[many_axis] += cursor->part;
	for (; cursor->part < many && sheet->n < sheet->room; cursor->part++) {
		value_row(spans, rank, hit->offset, group->source == TTI_ROWS_IN,
			  sheet->rows + sheet->words * sheet->n++);
		spans[many_axis]++;
	}
	if (cursor->part == many) {
		cursor->part = 0;
		cursor->at++;
	}
}

static uint64_t stored_rows(const struct tt_staged_plan *plan,
			    const struct tti_group *group, struct tt_plan_cursor *cursor,
			    struct sheet sheet)
{
	uint64_t n = tti_min_u64(sheet.room,
				 group->count - tti_min_u64(group->count, cursor->at));

	if (n > 0)
		memcpy(sheet.rows,
		       (const uint64_t *)plan->rows.items +
			       (group->first + cursor->at) * sheet.words,
		       n * sheet.words * sizeof(*sheet.rows));
	cursor->at += n;
	return n;
}

uint64_t tti_staged_plan_rows(const struct tt_staged_plan *plan,
			      const struct tti_group *group,
			      struct tt_plan_cursor *cursor, uint64_t *rows,
			      uint64_t room)
{
	struct sheet sheet = { rows, room, 0, 5 * (size_t)plan->rank };
	uint64_t place[TT_MAX_RANK], counts[TT_MAX_RANK], next = UINT64_MAX;

	if (group->source == TTI_ROWS_STORED)
		return stored_rows(plan, group, cursor, sheet);
	for (uint32_t axis = 0; axis < plan->rank; axis++)
		counts[axis] = plan->mappers[axis].count;
	while (sheet.n < room && cursor->at < group->count) {
		const struct tti_hit *hit = hits_of(plan, group) + cursor->at;

		/* one after the other is the common case, and dividing is slow */
		if (hit->at == next)
			tti_step(plan->rank, counts, place);
		else
			tti_hit_place(hit, plan->mappers, plan->rank, place);
		next = hit->at + 1;
		if (group->source == TTI_ROWS_MOVE)
			move_row(plan, place, hit->offset,
				 group->to_offset + cursor->at++ * plan->chunk[0],
				 rows + sheet.words * sheet.n++);
		else
			value_rows(plan, group, place, cursor, &sheet);
	}
	return sheet.n;
}
