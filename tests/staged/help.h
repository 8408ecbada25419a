/* SPDX-License-Identifier: Apache-2.0 */
/* Staged arrays written as text, for tests that compare numbers with numbers.
 *
 * ELEMENT is "i8", "f4", ">i4", "V3"; SHAPE "3,5" ("" for a scalar); NUMBERS are separated by
 * spaces, "0..5" counts and "7*3" repeats.  Everything made here is destroyed by help_end(), the
 * teardown of each test. */
#ifndef TESTS_STAGED_HELP_H
#define TESTS_STAGED_HELP_H

#include <check.h>

#include "ticktail/staged.h"

void help_end(void);
struct tt_staged *keep(struct tt_staged *array);
void *keep_memory(void *memory);

struct tt_element element_of(const char *text);
uint32_t shape_of(const char *text, uint64_t shape[TT_MAX_RANK]);
/* numbers as an array of element; its memory is kept */
struct tt_nd nd_of(const char *element, const char *shape, const char *numbers);

struct tt_staged *full(const char *element, const char *shape, const char *chunk,
		       const char *fill);
/* over memory of its own */
struct tt_staged *base(const char *element, const char *shape, const char *chunk,
		       const char *fill, const char *numbers);
/* over one base slab of whole chunks, indices and offsets as numbers */
struct tt_staged *tabled(const char *shape, const char *chunk, const struct tt_nd *slab,
			 const char *indices, const char *offsets);
struct tt_staged *copy_of(struct tt_staged *array);

int try_put(struct tt_staged *array, const char *index, const char *shape,
	    const char *numbers);
void put(struct tt_staged *array, const char *index, const char *shape,
	 const char *numbers);
int try_get(struct tt_staged *array, const char *index);
int try_resize(struct tt_staged *array, const char *shape);
void resize(struct tt_staged *array, const char *shape);
void load(struct tt_staged *array);
void commit(struct tt_staged *array);

/* "2,3: 1 2 3 4 5 6" ("7" for a scalar) is what the index gives */
void gives(struct tt_staged *array, const char *index, const char *expected);
/* "2 3 / 0 4": slab_indices and slab_offsets */
void tables(struct tt_staged *array, const char *expected);
/* "4; 8,2; None": the shapes of all slabs */
void slabs(struct tt_staged *array, const char *expected);
/* the bytes of a slab: what a get of all would give if the slab were the array */
void plan_is(struct tt_staged *array, enum tt_staged_op op, const char *argument,
	     const char *expected);
struct tt_plan_info plan_info(struct tt_staged *array, enum tt_staged_op op,
			      const char *argument);
/* the 32 bytes of a chunk's digest, which is known */
const uint8_t *digest_at(struct tt_staged *array, uint64_t slab, uint64_t row);
struct tt_staged_info info_of(const struct tt_staged *array);

/* Runs the tests of one suite; check's own macros name them. */
int help_run(const char *name, void (*add)(TCase *tc));

#endif
