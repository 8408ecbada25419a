/* SPDX-License-Identifier: Apache-2.0 */
/* Random sequences of operations against a plain array in C order.
 *
 * A world is a staged array and what it must read as.  Base slabs lie in memory or are read by
 * calls, of which one may fail; after a failure values, tables and slabs must be as before.
 * TT_SEED replays a run, TT_LONG=1 takes 100 times as many sequences. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "staged/help.h"
#include "staged/model.h"

enum { WORLDS = 3, SEQUENCES = 3000, LONG = 100 };

static struct world worlds[WORLDS];
static uint64_t seed, sequence;

/* ---- Slabs by calls ---- */

static int left; /* calls until one fails; negative: none does */

struct store {
	struct tt_nd nd;
};

static bool fails(void)
{
	return left >= 0 && left-- == 0;
}

static int move(const struct tt_nd *outer, const uint64_t *start, const uint64_t *count,
		const uint64_t *stride, const struct tt_nd *inner, bool out)
{
	uint64_t at[TT_MAX_RANK] = { 0 };

	if (fails())
		return -EIO;
	do {
		unsigned char *a = outer->data, *b = inner->data;

		for (uint32_t i = 0; i < outer->rank; i++) {
			uint64_t place = start[i] + at[i] * (stride ? stride[i] : 1);

			ck_assert_uint_lt(place, outer->shape[i]);
			a += (int64_t)place * outer->strides[i];
			b += (int64_t)at[i] * inner->strides[i];
		}
		memcpy(out ? b : a, out ? a : b, outer->element.bytes);
	} while (model_step(outer->rank, count, at));
	return TT_OK;
}

static int read_store(void *ctx, const uint64_t *start, const uint64_t *count,
		      const uint64_t *stride, const struct tt_nd *to,
		      struct tt_error *err)
{
	(void)err;
	return move(&((struct store *)ctx)->nd, start, count, stride, to, true);
}

static int write_store(void *ctx, const uint64_t *start, const uint64_t *count,
		       const struct tt_nd *from, struct tt_error *err)
{
	(void)err;
	return move(&((struct store *)ctx)->nd, start, count, NULL, from, false);
}

static void free_store(void *ctx)
{
	free(((struct store *)ctx)->nd.data);
	free(ctx);
}

static void store_of(struct tt_base_slab *out, const struct tt_nd *like)
{
	struct store *store = calloc(1, sizeof(*store));
	uint64_t bytes = like->element.bytes;

	for (uint32_t i = 0; i < like->rank; i++)
		bytes *= like->shape[i];
	ck_assert_int_eq(tt_nd_c_order(&store->nd, like->element, like->rank, like->shape,
				       calloc(1, bytes)),
			 TT_OK);
	*out = (struct tt_base_slab){ .element = like->element,
				      .rank = like->rank,
				      .read = read_store,
				      .write = write_store,
				      .release = free_store,
				      .ctx = store };
	memcpy(out->shape, like->shape, sizeof(out->shape));
}

static int allocate(void *ctx, const struct tt_nd *like, struct tt_base_slab *out,
		    struct tt_error *err)
{
	if (fails())
		return -EIO;
	if (*(bool *)ctx)
		return tt_staged_alloc_memory(NULL, like, out, err);
	store_of(out, like);
	return TT_OK;
}

/* ---- Making worlds ---- */

/* A base slab of some chunks, and tables that name its chunks at random. */
static void make_tabled(struct world *w)
{
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	struct tt_nd like = { .element = w->element, .rank = w->rank };
	uint64_t grid = 1, rows = 1 + model_pick(6), *slabs, *offsets;
	struct tt_base_slab base;
	struct tt_nd *slab;

	memcpy(like.shape, w->chunk, sizeof(like.shape));
	like.shape[0] *= rows;
	store_of(&base, &like);
	slab = &((struct store *)base.ctx)->nd;
	model_fill_random(w->element, slab->data, model_size(w->rank, slab->shape));
	for (uint32_t i = 0; i < w->rank; i++)
		grid *= (w->shape[i] + w->chunk[i] - 1) / w->chunk[i];
	slabs = calloc(grid + 1, sizeof(*slabs));
	offsets = calloc(grid + 1, sizeof(*offsets));
	for (uint64_t i = 0; i < grid; i++) {
		slabs[i] = model_pick(4) > 0;
		offsets[i] = slabs[i] * model_pick(rows) * w->chunk[0];
	}
	opts.element = w->element;
	opts.fill = w->fill;
	opts.rank = w->rank;
	opts.shape = w->shape;
	opts.chunk = w->chunk;
	opts.bases = &base;
	opts.base_count = 1;
	opts.slab_indices = slabs;
	opts.slab_offsets = offsets;
	ck_assert_int_eq(tt_staged_create(&w->array, &opts, NULL), TT_OK);
	model_from_tables(w, slab, slabs, offsets);
	free(slabs);
	free(offsets);
}

static void make_over(struct world *w, enum tt_staged_from how)
{
	uint64_t bytes = model_size(w->rank, w->shape) * w->element.bytes;
	struct tt_nd nd;

	model_fill_random(w->element, w->plain, model_size(w->rank, w->shape));
	w->borrowed = keep_memory(malloc(bytes + 1));
	memcpy(w->borrowed, w->plain, bytes);
	ck_assert_int_eq(tt_nd_c_order(&nd, w->element, w->rank, w->shape, w->borrowed),
			 TT_OK);
	ck_assert_int_eq(
		tt_staged_from_array(
			&w->array,
			&(struct tt_staged_over){ sizeof(struct tt_staged_over), &nd,
						  w->chunk, w->fill, how, model_pick(2) },
			NULL),
		TT_OK);
}

static void make(struct world *w)
{
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;

	model_new(w);
	switch (model_pick(4)) {
	case 0: make_tabled(w); return;
	case 1: make_over(w, TT_FROM_BASES); return;
	case 2: make_over(w, TT_FROM_STAGED); return;
	}
	opts.element = w->element;
	opts.fill = w->fill;
	opts.rank = w->rank;
	opts.shape = w->shape;
	opts.chunk = w->chunk;
	ck_assert_int_eq(tt_staged_create(&w->array, &opts, NULL), TT_OK);
	model_all_fill(w);
}

/* ---- Comparing ---- */

static const char *now = "nothing";

static void compare(struct world *w)
{
	struct tt_staged_info info = info_of(w->array);
	uint64_t bytes = model_size(w->rank, w->shape) * w->element.bytes;
	struct tt_nd out = { .rank = 0 };

	ck_assert(info.rank == w->rank && tt_element_equal(info.element, w->element));
	ck_assert_mem_eq(info.shape, w->shape, w->rank * sizeof(*w->shape));
	ck_assert_mem_eq(info.fill, w->fill, w->element.bytes);
	ck_assert_int_eq(tt_staged_get(w->array, NULL, 0, &out, NULL), TT_OK);
	ck_assert_msg(memcmp(out.data, w->plain, bytes) == 0,
		      "other values after %s; TT_SEED=%" PRIu64 ", sequence %" PRIu64,
		      now, seed, sequence);
	free(out.data);
}

struct tables {
	uint64_t chunks, slabs, bases, *indices, *offsets;
	bool has_changes;
};

static struct tables tables_of(const struct world *w)
{
	struct tt_staged_info info = info_of(w->array);
	struct tables t = { info.chunks,
			    info.slabs,
			    info.bases,
			    malloc(info.chunks * 8 + 1),
			    malloc(info.chunks * 8 + 1),
			    info.has_changes };

	memcpy(t.indices, info.slab_indices, info.chunks * 8);
	memcpy(t.offsets, info.slab_offsets, info.chunks * 8);
	return t;
}

static void unchanged(const struct world *w, struct tables *t)
{
	struct tt_staged_info info = info_of(w->array);

	ck_assert_msg(
		info.chunks == t->chunks && info.slabs == t->slabs &&
			info.bases == t->bases && info.has_changes == t->has_changes &&
			memcmp(info.slab_indices, t->indices, t->chunks * 8) == 0 &&
			memcmp(info.slab_offsets, t->offsets, t->chunks * 8) == 0,
		"other tables after a failed %s; TT_SEED=%" PRIu64 ", sequence %" PRIu64,
		now, seed, sequence);
}

/* ---- Operations: each returns what the call did; on success the model follows ---- */

static int op_get(struct world *w)
{
	struct picked picked;
	struct tt_nd out = { .rank = 0 };
	int rc;

	model_pick_index(w, &picked);
	rc = tt_staged_get(w->array, picked.index, picked.count, &out, NULL);
	if (rc == TT_OK)
		model_check_get(w, &picked, &out);
	free(out.data);
	model_drop(&picked);
	return rc;
}

static int op_set(struct world *w)
{
	struct picked picked;
	struct tt_nd value;
	int rc;

	model_pick_index(w, &picked);
	model_pick_value(w, &picked, &value);
	rc = tt_staged_set(w->array, picked.index, picked.count, &value, NULL);
	if (rc == TT_OK)
		model_set(w, &picked, &value);
	free(value.data);
	model_drop(&picked);
	return rc;
}

static int op_resize(struct world *w)
{
	uint64_t shape[TT_MAX_RANK];
	int rc;

	model_pick_shape(w, shape);
	rc = tt_staged_resize(w->array, shape, NULL);
	if (rc == TT_OK)
		model_resize(w, shape);
	return rc;
}

static int op_append(struct world *w)
{
	uint64_t old = w->shape[0], shape[TT_MAX_RANK];
	struct tt_nd rows;
	int rc;

	memcpy(shape, w->shape, sizeof(shape));
	shape[0] = model_pick(4);
	if (old + shape[0] > 30)
		return TT_OK;
	model_value_of(w, w->rank, shape, &rows);
	rc = tt_staged_append(w->array, &rows, NULL);
	if (rc == TT_OK) {
		uint64_t row = model_size(w->rank - 1, w->shape + 1) * w->element.bytes;

		shape[0] += old;
		model_resize(w, shape);
		memcpy(w->plain + old * row, rows.data, (shape[0] - old) * row);
	}
	free(rows.data);
	return rc;
}

struct replay {
	struct world *world;
	unsigned char *into;
};

static int replay(void *ctx, const struct tt_staged_change *change)
{
	struct replay *it = ctx;

	model_replay(it->world, change, it->into);
	return 0;
}

/* The fill value and the changes make the whole array. */
static int op_changes(struct world *w)
{
	uint64_t bytes = model_size(w->rank, w->shape) * w->element.bytes;
	struct world empty;
	struct replay it = { .world = w };
	int rc;

	model_copy(&empty, w);
	model_all_fill(&empty);
	it.into = empty.plain;
	rc = tt_staged_changes(w->array, replay, &it, NULL);
	if (rc == TT_OK)
		ck_assert_mem_eq(empty.plain, w->plain, bytes);
	model_free(&empty);
	return rc;
}

static int op_load(struct world *w)
{
	return tt_staged_load(w->array, NULL);
}

static int op_commit(struct world *w)
{
	bool memory = model_pick(2);
	int rc = tt_staged_commit(w->array, allocate, &memory, 1 + model_pick(2) % 2,
				  NULL);

	if (rc == TT_OK)
		ck_assert(!info_of(w->array).has_changes);
	return rc;
}

/* Go on with what was made; the one it was made from stays in another world. */
static int derive(struct world *w)
{
	struct world made = { .rank = 0 };
	struct world *other = &worlds[1 + model_pick(WORLDS - 1)];
	int rc;

	model_copy(&made, w);
	switch (model_pick(4)) {
	case 0: rc = tt_staged_copy(&made.array, w->array, NULL); break;
	case 1:
		model_pick_element(&made);
		rc = tt_staged_astype(&made.array, w->array, made.element, NULL, NULL);
		break;
	case 2:
		model_pick_fill(&made);
		rc = tt_staged_refill(&made.array, w->array, made.fill, NULL);
		break;
	default:
		model_pick_chunk(&made);
		rc = tt_staged_rechunk(&made.array, w->array, made.chunk, NULL);
	}
	if (rc < 0) {
		ck_assert_ptr_null(made.array);
		model_free(&made);
		return rc;
	}
	model_free(other);
	*other = *w;
	*w = made;
	return rc;
}

static const struct {
	const char *name;
	int (*run)(struct world *w);
} ops[] = { { "get", op_get },	     { "set", op_set },		{ "set", op_set },
	    { "resize", op_resize }, { "load", op_load },	{ "commit", op_commit },
	    { "append", op_append }, { "changes", op_changes }, { "derive", derive } };

static void one_step(void)
{
	size_t op = model_pick(sizeof(ops) / sizeof(ops[0]));
	struct tables before = tables_of(&worlds[0]);
	int rc;

	now = ops[op].name;
	left = model_pick(3) == 0 ? (int)model_pick(6) : -1;
	rc = ops[op].run(&worlds[0]);
	left = -1;
	ck_assert_msg(rc == TT_OK || rc == -EIO,
		      "%s: %d; TT_SEED=%" PRIu64 ", sequence %" PRIu64, now, rc, seed,
		      sequence);
	if (rc < 0)
		unchanged(&worlds[0], &before);
	free(before.indices);
	free(before.offsets);
	for (int i = 0; i < WORLDS; i++)
		if (worlds[i].array)
			compare(&worlds[i]);
}

START_TEST(sequences_against_a_plain_array)
{
	uint64_t count = getenv("TT_LONG") ? SEQUENCES * LONG : SEQUENCES;

	for (sequence = 0; sequence < count; sequence++) {
		uint64_t steps;

		model_start(seed, sequence);
		steps = 1 + model_pick(9);
		now = "nothing";
		left = -1;
		make(&worlds[0]);
		compare(&worlds[0]);
		while (steps-- > 0)
			one_step();
		for (int i = 0; i < WORLDS; i++)
			model_free(&worlds[i]);
		help_end();
	}
}
END_TEST

static void add(TCase *tc)
{
	tcase_set_timeout(tc, getenv("TT_LONG") ? 12000 : 600);
	tcase_add_test(tc, sequences_against_a_plain_array);
}

int main(void)
{
	const char *given = getenv("TT_SEED");

	seed = given ? strtoull(given, NULL, 10)
		     : (uint64_t)time(NULL) ^ (uint64_t)clock();
	printf("# TT_SEED=%" PRIu64 "\n", seed);
	fflush(stdout);
	return help_run("staged model", add);
}
