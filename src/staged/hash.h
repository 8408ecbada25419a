/* SPDX-License-Identifier: Apache-2.0 */
/* The digests of a plan's pieces, on several threads. */
#ifndef TTI_HASH_H
#define TTI_HASH_H

#include "staged/plan.h"

/* One digest a piece into digests[i], 32 bytes each.  Every slab named is in memory and
 * has the array's element.  threads 0: one a core, fewer when there is little to do. */
int tti_hash_pieces(const struct tt_staged *array, const struct tt_staged_plan *plan,
		    unsigned threads, unsigned char (*digests)[32], struct tt_error *err);

#endif
