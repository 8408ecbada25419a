/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that are larger than what is moved in the plan's order and through the caches: chunks
 * then go by their places, and long runs past the caches.  Against a plain array. */
#include <stdlib.h>
#include <string.h>

#include "staged/help.h"

enum { ROWS = 701, COLUMNS = 903, LISTED = 640 };

struct large {
	size_t bytes; /* of an element */
	uint64_t chunk[2];
	unsigned char *plain, *memory;
	struct tt_nd nd;
	struct tt_staged *array;
};

static unsigned char *numbered(size_t bytes, unsigned seed)
{
	size_t n = (size_t)ROWS * COLUMNS * bytes;
	unsigned char *memory = keep_memory(malloc(n));

	ck_assert_ptr_nonnull(memory);
	for (size_t i = 0; i < n; i++)
		memory[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
	return memory;
}

static int read_memory(void *ctx, const uint64_t *start, const uint64_t *count,
		       const uint64_t *stride, const struct tt_nd *to,
		       struct tt_error *err)
{
	const struct large *l = ctx;

	(void)err;
	for (uint64_t i = 0; i < count[0]; i++)
		for (uint64_t j = 0; j < count[1]; j++)
			memcpy((char *)to->data + (int64_t)i * to->strides[0] +
				       (int64_t)j * to->strides[1],
			       l->memory + ((start[0] + i * stride[0]) * COLUMNS +
					    start[1] + j * stride[1]) *
						   l->bytes,
			       l->bytes);
	return TT_OK;
}

/* Chunks as wide as the array over a base slab that has to be read. */
static void make_read(struct large *l)
{
	struct tt_base_slab base = { .element = l->nd.element,
				     .rank = 2,
				     .shape = { ROWS, COLUMNS },
				     .read = read_memory,
				     .ctx = l };
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	uint64_t chunks, *slabs, *offsets;

	l->chunk[1] = COLUMNS;
	chunks = (ROWS + l->chunk[0] - 1) / l->chunk[0];
	slabs = keep_memory(calloc(chunks, sizeof(*slabs)));
	offsets = keep_memory(calloc(chunks, sizeof(*offsets)));
	for (uint64_t i = 0; i < chunks; i++) {
		slabs[i] = 1;
		offsets[i] = i * l->chunk[0];
	}
	opts.rank = 2;
	opts.shape = l->nd.shape;
	opts.chunk = l->chunk;
	opts.bases = &base;
	opts.base_count = 1;
	opts.slab_indices = slabs;
	opts.slab_offsets = offsets;
	ck_assert_int_eq(tt_staged_create(&l->array, &opts, NULL), TT_OK);
}

/* form: 0 over base slabs in memory, 1 staged from nothing, 2 over one to be read. */
static void make(struct large *l, int form)
{
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	const uint64_t shape[2] = { ROWS, COLUMNS };
	struct tt_element element = { TT_VOID, false, (uint32_t)l->bytes };

	l->plain = numbered(l->bytes, 1);
	l->memory = numbered(l->bytes, 1);
	tt_nd_c_order(&l->nd, element, 2, shape, l->memory);
	if (form == 2) {
		make_read(l);
	} else if (form == 0) {
		ck_assert_int_eq(tt_staged_from_array(
					 &l->array,
					 &(struct tt_staged_over){
						 sizeof(struct tt_staged_over), &l->nd,
						 l->chunk, NULL, TT_FROM_BASES, false },
					 NULL),
				 TT_OK);
	} else {
		opts.element = element;
		opts.rank = 2;
		opts.shape = shape;
		opts.chunk = l->chunk;
		ck_assert_int_eq(tt_staged_create(&l->array, &opts, NULL), TT_OK);
		ck_assert_int_eq(tt_staged_set(l->array, NULL, 0, &l->nd, NULL), TT_OK);
	}
	keep(l->array);
}

/* A selection: rows by a list, columns from first by step. */
struct pick {
	int64_t rows[LISTED];
	uint64_t row_count, first, step, column_count;
	struct tt_index index[2];
};

static void pick_some(struct pick *p, bool all_rows, uint64_t first, uint64_t step)
{
	p->row_count = all_rows ? ROWS : LISTED;
	/* each fifth is there twice, and they are not in order */
	for (uint64_t i = 0; i < LISTED; i++)
		p->rows[i] = (int64_t)((i - i % 5 / 4) * 367 % ROWS);
	p->first = first;
	p->step = step;
	p->column_count = (COLUMNS - first - 1) / step + 1;
	p->index[0] = (struct tt_index){ .kind = TT_INDEX_INTS,
					 .ints = p->rows,
					 .count = LISTED };
	if (all_rows)
		p->index[0] = TT_INDEX_ALL;
	p->index[1] = TT_INDEX_ALL;
	p->index[1].has_start = true;
	p->index[1].start = (int64_t)first;
	p->index[1].step = (int64_t)step;
}

static unsigned char *place(const struct large *l, const struct pick *p, uint64_t i,
			    uint64_t j)
{
	uint64_t row = p->row_count == ROWS ? i : (uint64_t)p->rows[i];

	return l->plain + (row * COLUMNS + p->first + j * p->step) * l->bytes;
}

static void check_get(struct large *l, const struct pick *p)
{
	struct tt_nd out = { .rank = 0 };
	const unsigned char *at;

	ck_assert_int_eq(tt_staged_get(l->array, p->index, 2, &out, NULL), TT_OK);
	ck_assert_uint_eq(out.shape[0], p->row_count);
	ck_assert_uint_eq(out.shape[1], p->column_count);
	at = out.data;
	for (uint64_t i = 0; i < p->row_count; i++)
		for (uint64_t j = 0; j < p->column_count; j++, at += l->bytes)
			if (memcmp(at, place(l, p, i, j), l->bytes) != 0)
				ck_abort_msg("row %ju, column %ju", (uintmax_t)i,
					     (uintmax_t)j);
	free(out.data);
}

static void do_set(struct large *l, const struct pick *p, unsigned seed)
{
	const unsigned char *at = numbered(l->bytes, seed);
	struct tt_nd value;
	const uint64_t shape[2] = { p->row_count, p->column_count };

	tt_nd_c_order(&value, l->nd.element, 2, shape, (void *)at);
	for (uint64_t i = 0; i < p->row_count; i++)
		for (uint64_t j = 0; j < p->column_count; j++, at += l->bytes)
			memcpy(place(l, p, i, j), at, l->bytes);
	ck_assert_int_eq(tt_staged_set(l->array, p->index, 2, &value, NULL), TT_OK);
}

static void run(struct large *l)
{
	struct pick all, some, steps;

	pick_some(&all, true, 0, 1);
	pick_some(&some, false, 3, 1);
	pick_some(&steps, true, 1, 2);
	check_get(l, &all);
	check_get(l, &some);
	check_get(l, &steps);
	do_set(l, &some, 5);
	check_get(l, &all);
	do_set(l, &all, 7);
	check_get(l, &some);
	do_set(l, &steps, 9);
	commit(l->array);
	check_get(l, &all);
	do_set(l, &some, 11);
	load(l->array);
	check_get(l, &steps);
	check_get(l, &all);
	for (size_t i = 0; i < (size_t)ROWS * COLUMNS * l->bytes; i++)
		if (l->memory[i] != (unsigned char)((i * 2654435761u + 1) >> 13))
			ck_abort_msg("a base slab was written");
}

START_TEST(large_arrays)
{
	static const uint64_t chunks[][2] = { { 50, 60 }, { 7, 13 }, { 350, 903 } };

	for (size_t i = 0; i < 3; i++) {
		struct large l = { .bytes = i == 1 ? 8 : 24,
				   .chunk = { chunks[i][0], chunks[i][1] } };

		make(&l, _i);
		run(&l);
	}
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, large_arrays, 0, 3);
}

int main(void)
{
	return help_run("large staged arrays", add);
}
