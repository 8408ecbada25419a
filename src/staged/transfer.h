/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the rows of a plan.  A row is 5 x rank numbers: start in the source, start in the
 * destination, count, stride in the source, stride in the destination. */
#ifndef TTI_TRANSFER_H
#define TTI_TRANSFER_H

#include "ticktail/staged.h"
#include "staged/box.h"

struct tti_row {
	const uint64_t *from, *to, *count, *from_stride, *to_stride;
};

static inline struct tti_row tti_row_at(const uint64_t *rows, uint32_t rank, uint64_t i)
{
	const uint64_t *row = rows + i * 5 * rank;

	return (struct tti_row){ row, row + rank, row + 2 * (size_t)rank,
				 row + 3 * (size_t)rank, row + 4 * (size_t)rank };
}

/* How a stack of chunks lies in memory: a chunk every step bytes, of which only the first
 * kept of its rows are there.  rows 0: its rows follow each other all through. */
struct tti_packing {
	uint64_t rows, kept; /* of a chunk */
	int64_t step;
};
/* One side of a transfer: memory, of which the first rows along axis 0 count. */
struct tti_side {
	const struct tt_nd *nd;
	uint64_t rows;
	struct tti_packing packing;
};
static inline struct tti_side tti_side_of(const struct tt_nd *nd)
{
	return (struct tti_side){ nd, nd->rank > 0 ? nd->shape[0] : 1, { 0, 0, 0 } };
}

struct tti_rows {
	const uint64_t *rows;
	uint64_t count;
};

/* Between memory of one element size and one rank; where a row overshoots a side, or a chunk
 * that is packed, it is cut to what fits in both.  They may not overlap.
 * All is there after tti_convoy_end(); sides may come and go before. */
void tti_transfer(struct tti_convoy *convoy, const struct tti_side *to,
		  const struct tti_side *from, struct tti_rows rows);
/* From a base slab that is not in memory. */
int tti_transfer_read(const struct tti_side *to, const struct tt_base_slab *from,
		      struct tti_rows rows, struct tt_error *err);
/* Into one; strides of 1. */
int tti_transfer_write(const struct tt_base_slab *to, const struct tti_side *from,
		       struct tti_rows rows, struct tt_error *err);

/* Around a call of a function of the caller's, which may leave err as it is and return anything:
 * the code to return in place of rc, with words. */
static inline void tti_before_call(struct tt_error *err)
{
	if (err)
		err->code = TT_OK;
}
int tti_after_call(int rc, const char *what, struct tt_error *err);

#endif
