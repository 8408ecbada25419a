/* SPDX-License-Identifier: Apache-2.0 */
/* What an index selects: the index language, brought to one form an axis.
 *
 * Invariant of a slice that selects something: start < stop <= size, step >= 1 and
 * stop - 1 is selected; the mappers' arithmetic rests on it. */
#ifndef TTI_SELECT_H
#define TTI_SELECT_H

#include "ticktail/staged.h"

enum tti_axis_kind { TTI_AXIS_POINT, TTI_AXIS_SLICE, TTI_AXIS_LIST };

struct tti_axis_sel {
	enum tti_axis_kind kind;
	uint64_t start, stop, step; /* a point is start */
	uint64_t count;		    /* of selected positions */
	uint64_t *list; /* of a list: positions in the order asked for; owned */
};

struct tti_selection {
	uint32_t rank, out_rank;
	bool empty; /* selects nothing; axes and lists are then not to be used */
	uint64_t out_shape[TT_MAX_RANK];
	struct tti_axis_sel axis[TT_MAX_RANK];
};

/* Errors: TT_E_RANGE (out of bounds, too many, a flag a position that does not fit),
 * TT_E_UNSUPPORTED (negative step, two lists, a list apart from an integer),
 * TT_E_MISMATCH, -ENOMEM. */
struct tti_asked {
	uint32_t rank; /* of what is selected from */
	const uint64_t *shape;
	const struct tt_index *index;
	uint32_t count;
};
int tti_selection_init(struct tti_selection *sel, const struct tti_asked *asked,
		       struct tt_error *err);
/* Everything. */
void tti_selection_all(struct tti_selection *sel, uint32_t rank, const uint64_t *shape);
void tti_selection_fini(struct tti_selection *sel); /* accepts a zeroed one */

#endif
