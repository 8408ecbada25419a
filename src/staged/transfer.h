/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the rows of a plan.  A row is 5 x rank numbers: start in the source, start in the
 * destination, count, stride in the source, stride in the destination. */
#ifndef TTI_TRANSFER_H
#define TTI_TRANSFER_H

#include "ticktail/staged.h"

struct tti_row {
	const uint64_t *from, *to, *count, *from_stride, *to_stride;
};

static inline struct tti_row tti_row_at(const uint64_t *rows, uint32_t rank, uint64_t i)
{
	const uint64_t *row = rows + i * 5 * rank;

	return (struct tti_row){ row, row + rank, row + 2 * (size_t)rank,
				 row + 3 * (size_t)rank, row + 4 * (size_t)rank };
}

/* Between two boxes of memory of one element size and one rank; where a row overshoots
 * one of them it is cut to what fits in both.  They may not overlap. */
void tti_transfer(const struct tt_nd *to, const struct tt_nd *from, const uint64_t *rows,
		  uint64_t count);
/* From a base slab that is not in memory. */
int tti_transfer_read(const struct tt_nd *to, const struct tt_base_slab *from,
		      const uint64_t *rows, uint64_t count, struct tt_error *err);
/* Into one; strides of 1. */
int tti_transfer_write(const struct tt_base_slab *to, const struct tt_nd *from,
		       const uint64_t *rows, uint64_t count, struct tt_error *err);

#endif
