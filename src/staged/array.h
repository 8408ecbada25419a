/* SPDX-License-Identifier: Apache-2.0 */
/* The array itself: entries 0 (full), 1..bases, then staged; a grid of chunks.
 *
 * Invariants: every grid entry names a slab that is there, at an offset that is a
 * multiple of chunk[0] and whose chunk, cut at the array's edge, lies inside it; no two
 * entries share a staged chunk; an entry's digests are NULL when its slab is. */
#ifndef TTI_ARRAY_H
#define TTI_ARRAY_H

#include <string.h>

#include "staged/mapper.h"
#include "staged/slab.h"
#include "staged/vec.h"

struct tt_staged {
	struct tt_element element;
	uint32_t rank;
	bool resized, read_only;
	uint64_t shape[TT_MAX_RANK], chunk[TT_MAX_RANK], grid_shape[TT_MAX_RANK];
	struct tti_grid *grid;
	struct tti_vec entries; /* struct tti_entry */
	uint64_t bases;
	/* changed counts what changed chunks; hashed is what it was when the staged
	 * digests were made, plus 1 */
	uint64_t changed, hashed;
};

static inline struct tti_entry *tti_entry_at(const struct tt_staged *array, uint64_t slab)
{
	return (struct tti_entry *)array->entries.items + slab;
}

/* Of the array's element, one chunk large. */
static inline struct tt_nd tti_chunk_like(const struct tt_staged *array)
{
	struct tt_nd like = { .element = array->element, .rank = array->rank };

	memcpy(like.shape, array->chunk, sizeof(like.shape));
	return like;
}

static inline bool tti_is_staged(const struct tt_staged *array, uint64_t slab)
{
	return slab > array->bases;
}

/* The fill value: the one element of the full slab. */
static inline const void *tti_fill_of(const struct tt_staged *array)
{
	return tti_entry_at(array, 0)->slab->nd.data;
}

/* An array with its full slab and a grid of full chunks. */
struct tti_array_form {
	struct tt_element element;
	uint32_t rank;
	const uint64_t *shape, *chunk;
	const void *fill;
};
/* ceil(shape / chunk) an axis and their product; -EOVERFLOW. */
int tti_grid_shape(const struct tti_array_form *form, uint64_t *grid_shape,
		   uint64_t *chunks, struct tt_error *err);
int tti_array_new(struct tt_staged **out, const struct tti_array_form *form,
		  struct tt_error *err);
/* Put slab at the end of the list, taking it over. */
int tti_array_push(struct tt_staged *array, struct tti_slab **slab, struct tt_error *err);
#define tti_auto_staged TTI_CLEANUP(tti_array_unref) struct tt_staged
void tti_array_unref(struct tt_staged **array);

/* ---- A chunk's size, cut at the edges of the shape ---- */

/* In place of a chunk's number: the whole chunk of the full slab. */
#define TTI_FULL_CHUNK UINT64_MAX

struct tti_geometry {
	uint32_t rank;
	const uint64_t *shape, *chunk, *grid_shape;
};
static inline struct tti_geometry tti_geometry_of(const struct tt_staged *array)
{
	return (struct tti_geometry){ array->rank, array->shape, array->chunk,
				      array->grid_shape };
}
static inline void tti_chunk_size(const struct tti_geometry *geometry, uint64_t chunk,
				  uint64_t *extent)
{
	bool full = chunk == TTI_FULL_CHUNK;

	for (uint32_t axis = geometry->rank; axis-- > 0;) {
		uint64_t grid = geometry->grid_shape[axis];

		extent[axis] =
			full ? geometry->chunk[axis]
			     : tti_chunk_extent(geometry->shape[axis],
						geometry->chunk[axis], chunk % grid);
		chunk = full ? chunk : chunk / grid;
	}
}

/* ---- Before touching what may be shared ---- */

/* The grid is this array's alone. -ENOMEM. */
int tti_own_grid(struct tt_staged *array, struct tt_error *err);
/* Put a copy in its place: this array's own, of its element, of whole chunks, with room for
 * what of them lies in shape.  Only what is in use is certain to be copied. */
int tti_slab_replace(struct tt_staged *array, uint64_t slab, const uint64_t *shape,
		     struct tt_error *err);
/* A view of a caller's memory that ends inside a chunk, or what was converted from one. */
bool tti_is_trimmed(const struct tt_staged *array, const struct tti_entry *entry);
/* The slab has the array's element. */
int tti_slab_converted(struct tt_staged *array, uint64_t slab, struct tt_error *err);
/* And is this array's alone and may be written. */
int tti_slab_writable(struct tt_staged *array, uint64_t slab, struct tt_error *err);

#endif
