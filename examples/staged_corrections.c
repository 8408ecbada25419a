/* SPDX-License-Identifier: Apache-2.0 */
/* Corrections and a backfill as versions of a stored day, of which only what changed is
 * stored.
 *
 *	staged_corrections
 *
 * The day is prices of 3 symbols over 8 minutes, in chunks of 4 x 3.  It is read through
 * a function, as an archive's chunks would be, that counts what it is asked for. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <ticktail/staged.h>

enum { MINUTES = 8, SYMBOLS = 3, CHUNK = 4 };

/* What is stored: rows of doubles, here in memory. */
struct store {
	double prices[MINUTES][SYMBOLS];
	uint64_t read; /* prices so far */
};

static const struct tt_element f8 = { .kind = TT_FLOAT, .bytes = sizeof(double) };

/* The box of count prices from start, in steps of stride, to where to's strides say. */
static int read_prices(void *ctx, const uint64_t *start, const uint64_t *count,
		       const uint64_t *stride, const struct tt_nd *to,
		       struct tt_error *err)
{
	struct store *store = ctx;

	(void)err;
	for (uint64_t i = 0; i < count[0]; i++)
		for (uint64_t j = 0; j < count[1]; j++) {
			char *place = (char *)to->data + (int64_t)i * to->strides[0] +
				      (int64_t)j * to->strides[1];

			*(double *)place = store->prices[start[0] + i * stride[0]]
							[start[1] + j * stride[1]];
		}
	store->read += count[0] * count[1];
	return TT_OK;
}

/* An array over the stored chunks: nothing is read yet. */
static int open_day(struct tt_staged **out, struct store *store, struct tt_error *err)
{
	const uint64_t shape[] = { MINUTES, SYMBOLS }, chunk[] = { CHUNK, SYMBOLS };
	const uint64_t slabs[] = { 1, 1 }, offsets[] = { 0, CHUNK };
	struct tt_base_slab base = { .element = f8,
				     .rank = 2,
				     .shape = { MINUTES, SYMBOLS },
				     .read = read_prices,
				     .ctx = store };
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;

	opts.rank = 2;
	opts.shape = shape;
	opts.chunk = chunk;
	opts.bases = &base;
	opts.base_count = 1;
	opts.slab_indices = slabs;
	opts.slab_offsets = offsets;
	return tt_staged_create(out, &opts, err);
}

static int print_plan(const struct tt_staged *day, enum tt_staged_op op,
		      const struct tt_index_list *where, struct tt_error *err)
{
	struct tt_staged_plan *plan;
	char *text = NULL;
	struct tt_plan_what what = { op, where ? where->items : NULL,
				     where ? where->count : 0, NULL };
	int rc = tt_staged_plan(&plan, day, &what, err);

	if (rc == TT_OK)
		rc = tt_staged_plan_text(plan, false, &text, err);
	if (rc == TT_OK)
		printf("%s\n\n", text);
	free(text);
	tt_staged_plan_free(plan);
	return rc;
}

/* One price, at an index as one writes it in Python. */
static int correct(struct tt_staged *day, const char *where, double price, bool print,
		   struct tt_error *err)
{
	struct tt_index_list *index;
	struct tt_nd value;
	int rc = tt_index_parse(&index, where, err);

	if (rc == TT_OK)
		rc = tt_nd_c_order(&value, f8, 0, NULL, &price);
	if (rc == TT_OK && print)
		rc = print_plan(day, TT_PLAN_SET, index, err);
	if (rc == TT_OK)
		rc = tt_staged_set(day, index->items, index->count, &value, err);
	tt_index_free(index);
	return rc;
}

/* Minutes that came late. */
static int backfill(struct tt_staged *day, struct tt_error *err)
{
	double late[2][SYMBOLS] = { { 18, 28, 38 }, { 19, 29, 39 } };
	const uint64_t shape[] = { 2, SYMBOLS };
	struct tt_nd rows;
	int rc = tt_nd_c_order(&rows, f8, 2, shape, late);

	return rc < 0 ? rc : tt_staged_append(day, &rows, err);
}

static int commit(struct tt_staged *day, const char *name, struct tt_error *err)
{
	struct tt_staged_info info;
	uint64_t before, shape[TT_MAX_RANK] = { 0 };
	int rc;

	tt_staged_info(day, &info);
	before = info.bases;
	rc = tt_staged_commit(day, tt_staged_alloc_memory, NULL, 0, err);
	if (rc < 0)
		return rc;
	tt_staged_info(day, &info);
	if (info.bases > before)
		tt_staged_slab_shape(day, info.bases, shape);
	printf("%s: %" PRIu64 " of %" PRIu64 " chunks stored\n", name, shape[0] / CHUNK,
	       info.chunks);
	return TT_OK;
}

/* The second symbol over the day. */
static int print_symbol(const char *name, struct tt_staged *day, struct tt_error *err)
{
	const struct tt_index index[] = { TT_INDEX_ALL, TT_INDEX_AT(1) };
	struct tt_nd column = { .data = NULL };
	int rc = tt_staged_get(day, index, 2, &column, err);

	if (rc < 0)
		return rc;
	printf("%s:", name);
	for (uint64_t i = 0; i < column.shape[0]; i++)
		printf(" %g", ((const double *)column.data)[i]);
	printf("\n");
	free(column.data);
	return TT_OK;
}

/* first is as stored; second has a correction and two minutes more; third is second with
 * one correction more. */
static int make_versions(struct tt_staged *first, struct tt_staged **second,
			 struct tt_staged **third, struct tt_error *err)
{
	int rc = tt_staged_copy(second, first, err);

	if (rc == TT_OK)
		rc = correct(*second, "5, 1", 25.5, true, err);
	if (rc == TT_OK)
		rc = backfill(*second, err);
	if (rc == TT_OK)
		rc = tt_staged_hash(*second, 0, err);
	if (rc == TT_OK)
		rc = print_plan(*second, TT_PLAN_COMMIT, NULL, err);
	if (rc == TT_OK)
		rc = commit(*second, "second", err);
	if (rc == TT_OK)
		rc = tt_staged_copy(third, *second, err);
	if (rc == TT_OK)
		rc = correct(*third, "[0, 2], 1", 20.5, false, err);
	/* what it is already: its chunk is known by its digest and not stored again */
	if (rc == TT_OK)
		rc = correct(*third, "-1, 1", 29, false, err);
	return rc < 0 ? rc : commit(*third, "third", err);
}

int main(void)
{
	struct tt_staged *first = NULL, *second = NULL, *third = NULL;
	struct store store = { .read = 0 };
	struct tt_error err = { 0 };
	int rc;

	for (int i = 0; i < MINUTES; i++)
		for (int j = 0; j < SYMBOLS; j++)
			store.prices[i][j] = 10 * (j + 1) + i;
	rc = open_day(&first, &store, &err);
	if (rc == TT_OK)
		rc = make_versions(first, &second, &third, &err);
	if (rc == TT_OK) {
		printf("prices read: %" PRIu64 "\n", store.read);
		rc = print_symbol("first", first, &err);
	}
	if (rc == TT_OK)
		rc = print_symbol("second", second, &err);
	if (rc == TT_OK)
		rc = print_symbol("third", third, &err);
	if (rc < 0)
		fprintf(stderr, "staged_corrections: %s\n",
			err.text[0] ? err.text : tt_strerror(rc));
	tt_staged_destroy(third);
	tt_staged_destroy(second);
	tt_staged_destroy(first);
	return rc < 0;
}
