/* SPDX-License-Identifier: Apache-2.0 */
/* One axis of a selection against the chunks along that axis: which chunks it touches,
 * which of them wholly, and what is copied from or to each.
 *
 * The chunks a mapper touches are numbered 0, 1, ... in ascending order; that number is
 * called the chunk's rank in the mapper ("i" below).  A mapper's memory goes with what it
 * selects, never with what there is. */
#ifndef TTI_MAPPER_H
#define TTI_MAPPER_H

#include "staged/select.h"

/* A one-dimensional transfer: count positions from start in steps of stride, in the chunk
 * and in the value (or output) of the whole selection. */
struct tti_span {
	uint64_t chunk_start, value_start, count, chunk_stride, value_stride;
};

struct tti_mapper {
	uint64_t size, chunk; /* of the axis */
	enum tti_axis_kind kind;
	uint64_t start, stop, step; /* of a point or slice */
	uint64_t first;		    /* chunk of start */
	uint64_t count;		    /* chunks touched, at least 1 */
	/* of a list, else NULL: */
	uint64_t *ids;	      /* [count] chunks */
	uint64_t *first_span; /* [count + 1] into spans */
	bool *whole;	      /* [count] */
	/* of a list; of a slice [count], or NULL where they are worked out each time */
	struct tti_span *spans;
};

/* sel must select something.  -ENOMEM. */
int tti_mapper_init(struct tti_mapper *mapper, const struct tti_axis_sel *sel,
		    uint64_t size, uint64_t chunk, struct tt_error *err);
void tti_mapper_fini(struct tti_mapper *mapper); /* accepts a zeroed one */

/* A mapper an axis. */
int tti_mappers_init(struct tti_mapper mappers[TT_MAX_RANK],
		     const struct tti_selection *sel, const uint64_t *shape,
		     const uint64_t *chunk, struct tt_error *err);
void tti_mappers_fini(struct tti_mapper *mappers, uint32_t rank);

/* Which chunk of the axis the i-th is. */
static inline uint64_t tti_mapper_chunk(const struct tti_mapper *m, uint64_t i)
{
	if (m->kind == TTI_AXIS_LIST)
		return m->ids[i];
	if (m->step <= m->chunk)
		return m->first + i;
	return (m->start + i * m->step) / m->chunk;
}

/* Positions of a chunk that lie on the axis. */
static inline uint64_t tti_chunk_extent(uint64_t size, uint64_t chunk, uint64_t id)
{
	uint64_t left = size - id * chunk;

	return left < chunk ? left : chunk;
}

/* The span of the i-th chunk of a point or slice. */
struct tti_span tti_mapper_slice_span(const struct tti_mapper *mapper, uint64_t id);

/* The spans of the i-th chunk, whose number is id; *one is for those that need no
 * memory. */
static inline const struct tti_span *tti_mapper_spans(const struct tti_mapper *m,
						      uint64_t i, uint64_t id,
						      struct tti_span *one,
						      uint64_t *count)
{
	if (m->kind == TTI_AXIS_LIST) {
		*count = m->first_span[i + 1] - m->first_span[i];
		return m->spans + m->first_span[i];
	}
	*count = 1;
	if (m->spans)
		return m->spans + i;
	*one = tti_mapper_slice_span(m, id);
	return one;
}

/* true when every position of the i-th chunk is selected. */
bool tti_mapper_is_whole(const struct tti_mapper *mapper, uint64_t i);

#endif
