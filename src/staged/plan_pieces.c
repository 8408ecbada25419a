/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that name chunks and move nothing: changes and hash. */
#include "staged/plan.h"

#include <errno.h>

#include "base/error.h"
#include "staged/nd.h"

static int add_piece(struct tt_staged_plan *plan, const struct tti_piece *piece,
		     struct tt_error *err)
{
	struct tti_piece *added = tti_vec_add(&plan->pieces, 1, sizeof(*added));

	if (!added)
		return tti_fail(err, -ENOMEM, "a plan: out of memory");
	*added = *piece;
	return TT_OK;
}

/* One piece for each chunk in a slab from number first on, row-major. */
static int add_chunks(struct tt_staged_plan *plan, const struct tt_staged *array,
		      uint64_t first, struct tt_error *err)
{
	int rc = TT_OK;

	for (uint64_t i = 0; rc == TT_OK && i < array->grid->chunks; i++) {
		struct tti_piece piece = { array->grid->slab[i], array->grid->offset[i],
					   i };

		if (piece.slab >= first)
			rc = add_piece(plan, &piece, err);
	}
	return rc;
}

int tti_staged_plan_changes(struct tt_staged_plan *plan, const struct tt_staged *array,
			    struct tt_error *err)
{
	tti_staged_plan_init(plan, TT_PLAN_CHANGES, array);
	return add_chunks(plan, array, 1, err);
}

/* ---- hash ---- */

static int by_place(const void *a, const void *b)
{
	const struct tti_piece *x = a, *y = b;

	if (x->slab != y->slab)
		return x->slab < y->slab ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The full chunk, whole, when its digest is not known. */
static int add_full(struct tt_staged_plan *plan, const struct tt_staged *array,
		    struct tt_error *err)
{
	const struct tti_piece piece = { .chunk = TTI_FULL_CHUNK };

	return tti_entry_at(array, 0)->digests ? TT_OK : add_piece(plan, &piece, err);
}

static void sort_pieces(struct tt_staged_plan *plan)
{
	struct tti_piece *pieces = plan->pieces.items;
	size_t i = 1;

	while (i < plan->pieces.count && by_place(&pieces[i - 1], &pieces[i]) <= 0)
		i++;
	if (i < plan->pieces.count)
		qsort(pieces, plan->pieces.count, sizeof(*pieces), by_place);
}

int tti_staged_plan_staged(struct tt_staged_plan *plan, const struct tt_staged *array,
			   struct tt_error *err)
{
	int rc;

	tti_staged_plan_init(plan, TT_PLAN_CHANGES, array);
	rc = add_chunks(plan, array, array->bases + 1, err);
	if (rc == TT_OK)
		sort_pieces(plan);
	return rc;
}

int tti_staged_plan_hash(struct tt_staged_plan *plan, const struct tt_staged *array,
			 struct tt_error *err)
{
	int rc;

	tti_staged_plan_init(plan, TT_PLAN_HASH, array);
	if (array->grid->chunks == 0)
		return TT_OK;
	rc = add_full(plan, array, err);
	if (rc == TT_OK && array->hashed != array->changed + 1)
		rc = add_chunks(plan, array, array->bases + 1, err);
	sort_pieces(plan);
	return rc;
}
