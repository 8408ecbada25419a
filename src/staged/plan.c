/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that every plan is put together from. */
#include "staged/plan.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "staged/nd.h"

static int no_memory(struct tt_error *err)
{
	return tti_fail(err, -ENOMEM, "a plan: out of memory");
}

void tti_staged_plan_init(struct tt_staged_plan *plan, enum tt_staged_op op,
			  const struct tt_staged *array)
{
	*plan = (struct tt_staged_plan){ .op = op,
					 .rank = array->rank,
					 .first_appended = array->entries.count };
	memcpy(plan->chunk, array->chunk, sizeof(plan->chunk));
	memcpy(plan->shape, array->shape, sizeof(plan->shape));
	memcpy(plan->grid_shape, array->grid_shape, sizeof(plan->grid_shape));
}

void tti_staged_plan_fini(struct tt_staged_plan *plan)
{
	struct tti_drop *drops = plan->dropped.items;

	for (size_t i = 0; i < plan->dropped.count; i++) {
		tti_slab_unref(&drops[i].entry.slab);
		tti_digests_unref(&drops[i].entry.digests);
	}
	tti_vec_fini(&plan->appended);
	tti_vec_fini(&plan->groups);
	tti_vec_fini(&plan->rows);
	tti_vec_fini(&plan->hits);
	if (plan->mappers)
		tti_mappers_fini(plan->mappers, plan->rank);
	free(plan->mappers);
	tti_vec_fini(&plan->truncations);
	tti_vec_fini(&plan->dropped);
	tti_vec_fini(&plan->updates);
	tti_vec_fini(&plan->pieces);
	tti_grid_unref(&plan->grid);
	tti_grid_unref(&plan->before);
	tti_digests_unref(&plan->digests);
}

int tti_staged_plan_append(struct tt_staged_plan *plan, uint64_t chunks,
			   uint64_t *slab_out, struct tt_error *err)
{
	uint64_t *rows = tti_vec_add(&plan->appended, 1, sizeof(*rows));

	if (!rows)
		return no_memory(err);
	if (tti_mul_overflow(chunks, plan->chunk[0], rows))
		return tti_fail(err, -EOVERFLOW,
				"a slab of more rows than can be counted");
	*slab_out = plan->first_appended + plan->appended.count - 1;
	return TT_OK;
}

int tti_staged_plan_group(struct tt_staged_plan *plan, uint64_t from, uint64_t to,
			  struct tt_error *err)
{
	struct tti_group *group = tti_vec_add(&plan->groups, 1, sizeof(*group));

	if (!group)
		return no_memory(err);
	*group = (struct tti_group){ .from = from,
				     .to = to,
				     .source = TTI_ROWS_STORED,
				     .first = plan->rows.count };
	return TT_OK;
}

int tti_staged_plan_row(struct tt_staged_plan *plan, struct tti_row_mut *out,
			struct tt_error *err)
{
	uint32_t rank = plan->rank;
	struct tti_group *last =
		(struct tti_group *)plan->groups.items + plan->groups.count - 1;
	uint64_t *row = tti_vec_add(&plan->rows, 1, 5 * rank * sizeof(*row));

	if (!row)
		return no_memory(err);
	last->count++;
	last->rows++;
	plan->row_count++;
	*out = (struct tti_row_mut){ row, row + rank, row + 2 * (size_t)rank,
				     row + 3 * (size_t)rank, row + 4 * (size_t)rank };
	return TT_OK;
}

int tti_staged_plan_update(struct tt_staged_plan *plan, uint64_t chunk, uint64_t slab,
			   uint64_t offset, struct tt_error *err)
{
	struct tti_update *update = tti_vec_add(&plan->updates, 1, sizeof(*update));

	if (!update)
		return no_memory(err);
	*update = (struct tti_update){ chunk, slab, offset };
	return TT_OK;
}
