/* SPDX-License-Identifier: Apache-2.0 */
/* The field of a row that tells its time, when nobody names one: the first M8, else an 8-byte
 * integer named ts, time or *_ns. */
#ifndef TTI_TIMEFIELD_H
#define TTI_TIMEFIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ticktail/dtype.h"
#include "ticktail/time.h"

/* NULL: there is none. */
const struct tt_leaf *tti_time_leaf(const struct tt_dtype *dtype);

/* Values as they are stored; both TT_NAT: none seen yet. */
struct tti_time_range {
	int64_t min, max;
};
#define TTI_TIME_RANGE_EMPTY \
	{ \
		.min = TT_NAT, .max = TT_NAT \
	}

/* Widen range by the field in count elements of dtype at elements; NaT does not count. */
void tti_time_range_scan(struct tti_time_range *range, const struct tt_leaf *leaf,
			 const void *elements, uint64_t count, size_t element_bytes);
void tti_time_range_join(struct tti_time_range *range,
			 const struct tti_time_range *other);

/* The field's value in one element as ns since 1970; false for NaT and units without a fixed
 * length or range (years, months, attoseconds that do not fit). */
bool tti_time_leaf_ns(const struct tt_leaf *leaf, const void *element, int64_t *out);

#endif
