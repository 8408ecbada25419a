/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and boxes of memory: counting with a check for overflow, broadcasting. */
#ifndef TTI_ND_H
#define TTI_ND_H

#include "ticktail/staged.h"

/* "(3, 5)", "(4,)", "()": a shape as Python prints it, for messages. */
#define TTI_SHAPE_TEXT (TT_MAX_RANK * 22 + 4)
const char *tti_shape_text(uint32_t rank, const uint64_t *shape,
			   char text[TTI_SHAPE_TEXT]);

/* The product of shape and element_bytes into *out; -EOVERFLOW when it is more than can
 * be addressed. A 0 anywhere gives 0. */
int tti_shape_bytes(uint32_t rank, const uint64_t *shape, uint64_t element_bytes,
		    uint64_t *out, struct tt_error *err);
bool tti_shape_equal(uint32_t rank, const uint64_t *a, const uint64_t *b);
bool tti_shape_empty(uint32_t rank, const uint64_t *shape);

/* Step *at through box[] in C order; false after the last place, *at is then all 0 again.
 * Rank 0 has one place. */
static inline bool tti_step(uint32_t rank, const uint64_t *box, uint64_t *at)
{
	for (uint32_t axis = rank; axis-- > 0;) {
		if (++at[axis] < box[axis])
			return true;
		at[axis] = 0;
	}
	return false;
}

/* from as if it had shape: axes of length 1 and missing leading ones repeat.
 * TT_E_MISMATCH when it does not fit or has more axes than rank. */
int tti_nd_broadcast(const struct tt_nd *from, uint32_t rank, const uint64_t *shape,
		     struct tt_nd *out, struct tt_error *err);

#endif
