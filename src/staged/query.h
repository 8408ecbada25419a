/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks that mappers select, with where each lies.  Costs what is selected, never
 * what there is. */
#ifndef TTI_QUERY_H
#define TTI_QUERY_H

#include "staged/mapper.h"
#include "staged/vec.h"

struct tti_hit {
	uint64_t slab, offset;
	uint64_t chunk; /* in the grid, C order */
	uint64_t at;	/* among the selected chunks, C order */
};

/* Where chunks lie: a grid of grid_shape in C order. */
struct tti_where {
	uint32_t rank;
	const uint64_t *grid_shape, *slab, *offset;
};

/* All selected chunks, row-major, into hits (struct tti_hit), which is empty. -ENOMEM. */
int tti_query(struct tti_vec *hits, const struct tti_mapper *mappers,
	      const struct tti_where *where, struct tt_error *err);

/* Its ranks in the mappers. */
static inline void tti_hit_place(const struct tti_hit *hit,
				 const struct tti_mapper *mappers, uint32_t rank,
				 uint64_t *place)
{
	uint64_t at = hit->at;

	for (uint32_t axis = rank; axis-- > 1;) {
		place[axis] = at % mappers[axis].count;
		at /= mappers[axis].count;
	}
	place[0] = at;
}

/* By slab, then offset; equal ones stay in the order they have. -ENOMEM. */
int tti_hits_sort(struct tti_hit *hits, uint64_t count, struct tt_error *err);

/* The end of the run of hits with the slab of hits[first]. */
static inline uint64_t tti_hits_group_end(const struct tti_hit *hits, uint64_t first,
					  uint64_t count)
{
	uint64_t end = first + 1;

	while (end < count && hits[end].slab == hits[first].slab)
		end++;
	return end;
}

#endif
