/* SPDX-License-Identifier: Apache-2.0 */
/* A plain array in C order that is read, written and resized element by element: what a staged
 * array must read as.  All choices come from one generator, set by model_start(). */
#ifndef TESTS_STAGED_MODEL_H
#define TESTS_STAGED_MODEL_H

#include "ticktail/staged.h"

struct world {
	struct tt_staged *array;
	struct tt_element element;
	uint32_t rank;
	uint64_t shape[TT_MAX_RANK], chunk[TT_MAX_RANK];
	unsigned char fill[32];
	unsigned char *plain;
	void *borrowed;
};

/* An index, and which places it selects on each axis. */
struct picked {
	struct tt_index index[TT_MAX_RANK + 1];
	uint32_t count;
	uint64_t *places[TT_MAX_RANK], selected[TT_MAX_RANK];
	bool point[TT_MAX_RANK];
	int64_t *ints;
	bool *bools;
};

void model_start(uint64_t seed, uint64_t sequence);
uint64_t model_pick(uint64_t below);
uint64_t model_size(uint32_t rank, const uint64_t *shape);
bool model_step(uint32_t rank, const uint64_t *box, uint64_t *at);
void model_fill_random(struct tt_element element, void *out, uint64_t count);

void model_new(struct world *w); /* shape, chunk, element, fill; plain is not set */
void model_all_fill(struct world *w);
void model_from_tables(struct world *w, const struct tt_nd *slab, const uint64_t *slabs,
		       const uint64_t *offsets);
void model_copy(struct world *to, const struct world *from); /* but for the array */
void model_free(struct world *w);

void model_pick_index(const struct world *w, struct picked *out);
void model_drop(struct picked *picked);
void model_pick_value(const struct world *w, const struct picked *picked,
		      struct tt_nd *out);
void model_value_of(const struct world *w, uint32_t rank, const uint64_t *shape,
		    struct tt_nd *out);
void model_pick_shape(const struct world *w, uint64_t *shape);
void model_pick_chunk(struct world *w);
void model_pick_element(struct world *w); /* converts plain and fill too */
void model_pick_fill(struct world *w);	  /* puts it in the place of the old one */

void model_check_get(const struct world *w, const struct picked *picked,
		     const struct tt_nd *out);
void model_set(struct world *w, const struct picked *picked, const struct tt_nd *value);
/* Put a change into a plain array like w's; what lies in a base slab is taken from w. */
void model_replay(const struct world *w, const struct tt_staged_change *change,
		  unsigned char *into);
void model_resize(struct world *w, const uint64_t *shape);

#endif
