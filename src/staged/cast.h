/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between numbers, as C casts do it: wrap, truncate, never an error.  What C
 * leaves undefined (a float that its integer cannot hold) gives what the x86-64
 * instructions give, on every machine. */
#ifndef TTI_CAST_H
#define TTI_CAST_H

#include "ticktail/staged.h"

/* Whether elements of one can be made from those of the other: equal ones, or both
 * numbers. */
bool tti_can_cast(struct tt_element from, struct tt_element to);

/* Every element of from into the same place of to; shapes are equal, memory apart, and
 * tti_can_cast() holds. */
void tti_cast(const struct tt_nd *to, const struct tt_nd *from);

/* Equal as numbers: 0.0 and -0.0 are, NaN is equal to nothing; other kinds byte by
 * byte. */
bool tti_element_same(struct tt_element element, const void *a, const void *b);

#endif
