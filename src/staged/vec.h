/* SPDX-License-Identifier: Apache-2.0 */
/* A growing array of items of one size.  A failed call leaves it as it was. */
#ifndef TTI_VEC_H
#define TTI_VEC_H

#include <stdlib.h>

#include "base/num.h"

struct tti_vec {
	void *items;
	size_t count, room; /* items */
};

/* Room for more items behind count, which does not change; the first of them, or NULL. */
static inline void *tti_vec_reserve(struct tti_vec *vec, size_t more, size_t item_bytes)
{
	uint64_t want, bytes;
	void *grown;

	if (tti_add_overflow(vec->count, more, &want))
		return NULL;
	if (want > vec->room) {
		want = tti_max_u64(want, (uint64_t)vec->room + vec->room / 2 + 8);
		if (tti_mul_overflow(want, item_bytes, &bytes) ||
		    !(grown = realloc(vec->items, bytes)))
			return NULL;
		vec->items = grown;
		vec->room = want;
	}
	return (char *)vec->items + vec->count * item_bytes;
}

/* The new items, uninitialised, or NULL. */
static inline void *tti_vec_add(struct tti_vec *vec, size_t items, size_t item_bytes)
{
	void *first = tti_vec_reserve(vec, items, item_bytes);

	if (first)
		vec->count += items;
	return first;
}

static inline void tti_vec_fini(struct tti_vec *vec)
{
	free(vec->items);
	*vec = (struct tti_vec){ .items = NULL };
}

#endif
