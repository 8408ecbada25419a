/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: what an operation moves, in numbers only.  Planning reads an array and changes
 * nothing; tti_staged_plan_apply() does what the plan says.
 *
 * Invariant: rows of a group are executed in order, groups one after the other; a row
 *            that writes to an existing staged slab comes after every row that reads a
 *            base slab. */
#ifndef TTI_PLAN_H
#define TTI_PLAN_H

#include "staged/array.h"
#include "staged/query.h"

/* Where a group's rows come from.  Only those that follow no rule are stored; the others are
 * made when they are wanted, from the hits and the mappers. */
enum tti_source {
	TTI_ROWS_STORED,
	TTI_ROWS_OUT, /* what the mappers select of each hit, to the outside */
	TTI_ROWS_IN,  /* and from there */
	/* each hit whole, to rows to_offset, to_offset + chunk[0], ... */
	TTI_ROWS_MOVE,
};
struct tti_group {
	uint64_t from, to; /* slabs, or TT_PLAN_OUTSIDE */
	enum tti_source source;
	uint64_t first, count; /* of plan->rows, or of plan->hits */
	uint64_t rows;
	uint64_t to_offset;
};
struct tti_update {
	uint64_t chunk, slab, offset;
};
/* The slab keeps only its first rows; once done, rows is what it had. */
struct tti_truncation {
	uint64_t slab, rows;
};
/* The slab becomes a hole; once done, entry is what was there. */
struct tti_drop {
	uint64_t slab;
	struct tti_entry entry;
};
/* A chunk of changes, hash or commit. */
struct tti_piece {
	uint64_t slab, offset;
	/* in the grid; TTI_FULL_CHUNK: that of the full slab */
	uint64_t chunk;
};

struct tt_staged_plan {
	enum tt_staged_op op;
	uint32_t rank;
	uint64_t chunk[TT_MAX_RANK];
	/* get and set: what lies outside */
	uint32_t out_rank;
	bool empty, point[TT_MAX_RANK]; /* axes that the outside does not have */
	uint64_t out_shape[TT_MAX_RANK];
	/* what is done, in this order */
	uint64_t first_appended;    /* number of the first new slab */
	struct tti_vec appended;    /* uint64_t: rows of each */
	struct tti_vec groups;	    /* struct tti_group */
	struct tti_vec rows;	    /* 5 x rank uint64_t each */
	struct tti_mapper *mappers; /* [rank], of get, set and load; else NULL */
	struct tti_vec hits;	    /* struct tti_hit */
	uint64_t row_count;	    /* of all groups */
	struct tti_vec truncations; /* struct tti_truncation */
	struct tti_vec dropped;	    /* struct tti_drop */
	struct tti_vec updates;	    /* struct tti_update, to the grid as it is */
	/* a whole new one (resize) or NULL; once done, the old */
	struct tti_grid *grid;
	uint64_t shape[TT_MAX_RANK], grid_shape[TT_MAX_RANK]; /* afterwards */
	struct tti_vec pieces; /* struct tti_piece: changes, hash */
	/* commit */
	struct tti_digests *digests; /* of the new base slab */
	/* for the text, when made by tt_staged_plan(): the grid that updates go to */
	struct tti_grid *before;
};

void tti_staged_plan_fini(struct tt_staged_plan *plan);

/* Begin one: shape and grid as the array's. */
void tti_staged_plan_init(struct tt_staged_plan *plan, enum tt_staged_op op,
			  const struct tt_staged *array);

/* A new slab of chunks chunks; its number. -ENOMEM. */
int tti_staged_plan_append(struct tt_staged_plan *plan, uint64_t chunks,
			   uint64_t *slab_out, struct tt_error *err);
/* Begin a group; rows added from here on belong to it. */
int tti_staged_plan_group(struct tt_staged_plan *plan, uint64_t from, uint64_t to,
			  struct tt_error *err);
/* A row of the last group, zeroed, strides 1. */
struct tti_row_mut {
	uint64_t *from, *to, *count, *from_stride, *to_stride;
};
int tti_staged_plan_row(struct tt_staged_plan *plan, struct tti_row_mut *out,
			struct tt_error *err);
/* A group of rows that are not stored; group->rows is counted here. */
int tti_staged_plan_hits(struct tt_staged_plan *plan, const struct tti_group *group,
			 struct tt_error *err);
/* The next rows of a group, at most room, from *cursor on (zeroed: the first); 0: no more. */
uint64_t tti_staged_plan_rows(const struct tt_staged_plan *plan,
			      const struct tti_group *group,
			      struct tt_plan_cursor *cursor, uint64_t *rows,
			      uint64_t room);
int tti_staged_plan_update(struct tt_staged_plan *plan, uint64_t chunk, uint64_t slab,
			   uint64_t offset, struct tt_error *err);

int tti_staged_plan_get(struct tt_staged_plan *plan, const struct tt_staged *array,
			const struct tti_selection *sel, struct tt_error *err);
int tti_staged_plan_set(struct tt_staged_plan *plan, const struct tt_staged *array,
			const struct tti_selection *sel, struct tt_error *err);
int tti_staged_plan_resize(struct tt_staged_plan *plan, const struct tt_staged *array,
			   const uint64_t *shape, struct tt_error *err);
int tti_staged_plan_load(struct tt_staged_plan *plan, const struct tt_staged *array,
			 struct tt_error *err);
int tti_staged_plan_changes(struct tt_staged_plan *plan, const struct tt_staged *array,
			    struct tt_error *err);
int tti_staged_plan_hash(struct tt_staged_plan *plan, const struct tt_staged *array,
			 struct tt_error *err);
/* Pieces of the staged chunks in use, by slab and offset. */
int tti_staged_plan_staged(struct tt_staged_plan *plan, const struct tt_staged *array,
			   struct tt_error *err);
int tti_staged_plan_commit(struct tt_staged_plan *plan, const struct tt_staged *array,
			   struct tt_error *err);

/* Do it: outside is the output or the value, with an axis of length 1 where point is set.
 * On failure the array is as it was. */
int tti_staged_plan_apply(struct tt_staged_plan *plan, struct tt_staged *array,
			  const struct tt_nd *outside, struct tt_error *err);
/* Take a resize back that was applied and after which nothing else was: cannot fail. */
void tti_staged_plan_undo(struct tt_staged_plan *plan, struct tt_staged *array);

#endif
