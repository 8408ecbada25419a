/* SPDX-License-Identifier: Apache-2.0 */
/* Which slot holds the chunk of a digest.  Two digests are one only if all 32 bytes are;
 * the place in the table is merely where the search begins.  In memory only. */
#ifndef TTI_DEDUP_H
#define TTI_DEDUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "staged/digest.h"

struct tti_dedup_entry {
	struct tti_digest digest;
	uint64_t slot_plus_1; /* 0: free */
};

struct tti_dedup {
	struct tti_dedup_entry *entries; /* a power of two of them, or NULL */
	size_t room, count;
};

void tti_dedup_fini(struct tti_dedup *table); /* accepts a zeroed one */

/* The slot of digest: true when it is known. */
bool tti_dedup_find(const struct tti_dedup *table, const struct tti_digest *digest,
		    uint64_t *slot_out);

/* So that it holds count digests without growing.  -ENOMEM. */
int tti_dedup_reserve(struct tti_dedup *table, size_t count);

/* Remember that slot holds digest; the first slot of a digest stays, and is *first_out (or
 * NULL).  -ENOMEM. */
int tti_dedup_put(struct tti_dedup *table, const struct tti_digest *digest, uint64_t slot,
		  uint64_t *first_out);

#endif
