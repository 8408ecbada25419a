/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller or his callbacks may get wrong: each is an error with words, and the array is as
 * it was. */
#include "staged/help.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tt_error err;

/* rc is code, and the words have part in them. */
static void refused(int rc, int code, const char *part)
{
	ck_assert_int_eq(rc, code);
	ck_assert_int_eq(err.code, code);
	ck_assert_msg(strstr(err.text, part) != NULL, "\"%s\" not in \"%s\"", part,
		      err.text);
}

static struct tt_staged_opts opts_of(uint32_t rank, const uint64_t *shape,
				     const uint64_t *chunk)
{
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;

	opts.element = (struct tt_element){ 'i', false, 8 };
	opts.rank = rank;
	opts.shape = shape;
	opts.chunk = chunk;
	return opts;
}

static int create(const struct tt_staged_opts *opts)
{
	struct tt_staged *array;
	int rc = tt_staged_create(&array, opts, &err);

	ck_assert((rc == TT_OK) == (array != NULL));
	if (array)
		keep(array);
	return rc;
}

/* ---- Shapes ---- */

START_TEST(ranks)
{
	uint64_t many[TT_MAX_RANK + 1], all[TT_MAX_RANK];
	struct tt_staged_opts opts = opts_of(0, many, many);
	struct tt_staged *array;

	for (size_t i = 0; i <= TT_MAX_RANK; i++)
		many[i] = 1;
	refused(create(&opts), TT_E_RANGE, "rank 0");
	opts.rank = TT_MAX_RANK + 1;
	refused(create(&opts), TT_E_RANGE, "rank 33");
	opts.rank = TT_MAX_RANK;
	ck_assert_int_eq(tt_staged_create(&array, &opts, NULL), TT_OK);
	keep(array);
	put(array, "...", "", "5");
	for (size_t i = 0; i < TT_MAX_RANK; i++)
		all[i] = i % 16 == 0 ? 3 : 1;
	ck_assert_int_eq(tt_staged_resize(array, all, NULL), TT_OK);
	put(array, "2,...", "", "7");
	commit(array);
	gives(array,
	      "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,:,...,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
	      "3: 5 0 0");
	gives(array,
	      "2,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,:,...,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
	      "3: 7 7 7");
}
END_TEST

START_TEST(shapes_too_large)
{
	const uint64_t huge[] = { UINT64_MAX, UINT64_MAX }, one[] = { 1, 1 };
	const uint64_t wide[] = { (uint64_t)1 << 40, (uint64_t)1 << 40 };
	const uint64_t none[] = { UINT64_MAX, 0 }, zero[] = { 1, 0 };
	struct tt_staged_opts opts = opts_of(2, huge, one);
	struct tt_staged *a = base("i8", "4,5", "2,2", "0", "0..19");

	refused(create(&opts), -EOVERFLOW, "more than can be addressed");
	opts.chunk = wide;
	opts.shape = one;
	refused(create(&opts), -EOVERFLOW, "more than can be addressed");
	opts.chunk = zero;
	refused(create(&opts), TT_E_RANGE, "axis 1 is 0");
	/* without elements any size goes */
	opts.chunk = one;
	opts.shape = none;
	ck_assert_int_eq(create(&opts), TT_OK);
	refused(tt_staged_resize(a, huge, &err), -EOVERFLOW, "more than can be");
	refused(tt_staged_resize(a, wide, &err), -EOVERFLOW, "more than can be");
	tables(a, "1 2 3 1 2 3 / 0 0 0 2 2 2");
	gives(a, "3,3:", "2: 18 19");
}
END_TEST

/* A chunk of which the array has a little, and then nothing but wishes for all of it. */
START_TEST(nothing_of_a_wide_chunk_needs_no_memory)
{
	const uint64_t shape[] = { 4, 5 }, chunk[] = { 2, (uint64_t)1 << 50 };
	const uint64_t none[] = { 0, (uint64_t)1 << 50 };
	struct tt_staged_opts opts = opts_of(2, shape, chunk);
	struct tt_staged *a;

	ck_assert_int_eq(tt_staged_create(&a, &opts, &err), TT_OK);
	keep(a);
	put(a, "1", "", "9");
	ck_assert_int_eq(tt_staged_resize(a, none, &err), TT_OK);
	ck_assert_int_eq(tt_staged_resize(a, shape, &err), TT_OK);
	gives(a, "1", "5: 0 0 0 0 0");
}
END_TEST

START_TEST(rows_too_many)
{
	const uint64_t shape[] = { UINT64_MAX - 1, 0 }, one[] = { 1, 1 };
	struct tt_staged_opts opts = opts_of(2, shape, one);
	const uint64_t few[] = { 5, 0 };
	struct tt_staged *a;
	struct tt_nd rows;
	int64_t number = 0;

	ck_assert_int_eq(tt_staged_create(&a, &opts, &err), TT_OK);
	keep(a);
	ck_assert_int_eq(tt_nd_c_order(&rows, opts.element, 2, few, &number), TT_OK);
	refused(tt_staged_append(a, &rows, &err), -EOVERFLOW, "more rows");
	ck_assert_uint_eq(info_of(a).shape[0], UINT64_MAX - 1);
}
END_TEST

/* ---- What is missing ---- */

START_TEST(options_that_lack_something)
{
	const uint64_t shape[] = { 4 }, chunk[] = { 2 }, numbers[] = { 0, 0 };
	struct tt_staged_opts opts = opts_of(1, shape, chunk);
	struct tt_staged_over over = TT_STAGED_OVER_INIT;
	struct tt_nd nd = nd_of("i8", "4", "0..3");
	struct tt_staged *a;

	opts.struct_size = 0;
	refused(create(&opts), TT_E_MISUSE, "TT_STAGED_OPTS_INIT");
	opts = opts_of(1, NULL, chunk);
	refused(create(&opts), TT_E_MISUSE, "set shape and chunk");
	opts = opts_of(1, shape, chunk);
	opts.slab_indices = numbers;
	refused(create(&opts), TT_E_MISUSE, "go together");
	opts = opts_of(1, shape, chunk);
	opts.base_count = 1;
	refused(create(&opts), TT_E_MISUSE, "bases");
	opts = opts_of(1, shape, chunk);
	opts.element.bytes = 0;
	refused(create(&opts), TT_E_DTYPE, "0 bytes");
	opts.element = (struct tt_element){ 'i', false, 3 };
	refused(create(&opts), TT_E_DTYPE, "3 bytes");

	over.chunk = chunk;
	refused(tt_staged_from_array(&a, &over, &err), TT_E_MISUSE, "set from and chunk");
	nd.data = NULL;
	over.from = &nd;
	refused(tt_staged_from_array(&a, &over, &err), TT_E_MISUSE, "data");
	ck_assert_ptr_null(a);
}
END_TEST

START_TEST(arguments_that_are_missing)
{
	struct tt_staged *a = base("i8", "4", "2", "0", "0..3"), *b;
	struct tt_index ints = { .kind = TT_INDEX_INTS, .count = 3 };
	struct tt_index bools = { .kind = TT_INDEX_BOOLS, .count = 4 };
	struct tt_index unknown = { .kind = 77 };
	struct tt_nd value = nd_of("i8", "4", "5..8"), out = { .rank = 0 };
	struct tt_new_bases bases = { NULL, 1 };

	put(a, "0", "", "9");
	refused(tt_staged_get(a, &ints, 1, &out, &err), TT_E_MISUSE, "positions");
	refused(tt_staged_get(a, &bools, 1, &out, &err), TT_E_MISUSE, "flags");
	refused(tt_staged_get(a, &unknown, 1, &out, &err), TT_E_UNSUPPORTED, "kind 77");
	refused(tt_staged_get(a, NULL, 1, &out, &err), TT_E_MISUSE, "index");
	value.data = NULL;
	refused(tt_staged_set(a, NULL, 0, &value, &err), TT_E_MISUSE, "no data");
	refused(tt_staged_append(a, &value, &err), TT_E_MISUSE, "no data");
	value.rank = TT_MAX_RANK + 8;
	refused(tt_staged_set(a, NULL, 0, &value, &err), TT_E_RANGE, "rank 40");
	refused(tt_staged_append(a, &value, &err), TT_E_MISMATCH, "rank 40");
	out = nd_of("i8", "4", "5..8");
	out.rank = TT_MAX_RANK + 8;
	refused(tt_staged_get(a, NULL, 0, &out, &err), TT_E_MISMATCH, "rank 40");
	out = (struct tt_nd){ .rank = 0 };
	value = nd_of("i8", "4", "5..8");
	value.element = (struct tt_element){ 'f', false, 5 };
	refused(tt_staged_set(a, NULL, 0, &value, &err), TT_E_DTYPE, "5 bytes");
	refused(tt_staged_commit(a, NULL, NULL, 0, &err), TT_E_MISUSE, "allocator");
	refused(tt_staged_refill(&b, a, NULL, &err), TT_E_MISUSE, "fill value");
	refused(tt_staged_rechunk(&b, a, NULL, &err), TT_E_MISUSE, "chunk");
	refused(tt_staged_resize(a, NULL, &err), TT_E_MISUSE, "shape");
	b = a;
	refused(tt_staged_astype(&b, a, (struct tt_element){ 'f', false, 8 }, &bases,
				 &err),
		TT_E_MISUSE, "base slabs");
	ck_assert_ptr_null(b);
	ck_assert_ptr_null(out.data);
	tables(a, "2 1 / 0 2");
	gives(a, "...", "4: 9 1 2 3");
}
END_TEST

/* ---- Callbacks ---- */

struct slab {
	int64_t numbers[8];
	int calls, fail_at, code, released;
};

static int read_slab(void *ctx, const uint64_t *start, const uint64_t *count,
		     const uint64_t *stride, const struct tt_nd *to, struct tt_error *e)
{
	struct slab *slab = ctx;

	(void)e;
	if (++slab->calls == slab->fail_at)
		return slab->code;
	for (uint64_t i = 0; i < count[0]; i++)
		memcpy((char *)to->data + (int64_t)i * to->strides[0],
		       &slab->numbers[start[0] + i * stride[0]], 8);
	return TT_OK;
}

static int write_slab(void *ctx, const uint64_t *start, const uint64_t *count,
		      const struct tt_nd *from, struct tt_error *e)
{
	struct slab *slab = ctx;

	(void)e;
	if (++slab->calls == slab->fail_at)
		return slab->code;
	for (uint64_t i = 0; i < count[0]; i++)
		memcpy(&slab->numbers[start[0] + i],
		       (const char *)from->data + (int64_t)i * from->strides[0], 8);
	return TT_OK;
}

static void release_slab(void *ctx)
{
	((struct slab *)ctx)->released++;
}

/* 0..7 in chunks of 2, which have to be read. */
static struct tt_staged *over_slab(struct slab *slab)
{
	static const uint64_t shape[] = { 8 }, chunk[] = { 2 }, ones[] = { 1, 1, 1, 1 };
	static const uint64_t offsets[] = { 0, 2, 4, 6 };
	struct tt_base_slab b = { .element = { 'i', false, 8 },
				  .rank = 1,
				  .shape = { 8 },
				  .read = read_slab,
				  .release = release_slab,
				  .ctx = slab };
	struct tt_staged_opts opts = opts_of(1, shape, chunk);
	struct tt_staged *array;

	for (int i = 0; i < 8; i++)
		slab->numbers[i] = i;
	opts.bases = &b;
	opts.base_count = 1;
	opts.slab_indices = ones;
	opts.slab_offsets = offsets;
	ck_assert_int_eq(tt_staged_create(&array, &opts, NULL), TT_OK);
	return array;
}

/* The call that reads fails at each of its reads; a code above 0 is no success either. */
static void fail_each(int (*call)(struct tt_staged *array))
{
	static const int codes[] = { -EIO, TT_E_FORMAT, 1 };

	for (size_t k = 0; k < 3; k++)
		for (int n = 1; n < 10; n++) {
			struct slab slab = { .fail_at = 0, .code = codes[k] };
			struct tt_staged *a = over_slab(&slab);
			struct tt_nd three = nd_of("i8", "", "3");
			struct tt_index at = TT_INDEX_AT(1);
			bool failed;
			int rc;

			ck_assert_int_eq(tt_staged_set(a, &at, 1, &three, NULL), TT_OK);
			slab.calls = 0;
			slab.fail_at = n;
			rc = call(a);
			failed = slab.calls >= n;
			slab.fail_at = 0;
			ck_assert_int_eq(rc, !failed	    ? TT_OK
					     : codes[k] < 0 ? codes[k]
							    : TT_E_MISUSE);
			if (failed)
				tables(a, "2 1 1 1 / 0 2 4 6");
			gives(a, "0:2", "2: 0 3");
			if (failed)
				gives(a, "...", "8: 0 3 2 3 4 5 6 7");
			tt_staged_destroy(a);
			ck_assert_int_eq(slab.released, 1);
			if (!failed)
				break;
		}
}

static int call_get(struct tt_staged *array)
{
	struct tt_nd out = { .rank = 0 };
	int rc = tt_staged_get(array, NULL, 0, &out, &err);

	free(out.data);
	return rc;
}

static int call_set(struct tt_staged *array)
{
	struct tt_nd value = nd_of("i8", "", "6");
	struct tt_index index = TT_INDEX_RANGE(3, 7);

	return tt_staged_set(array, &index, 1, &value, &err);
}

static int call_load(struct tt_staged *array)
{
	return tt_staged_load(array, &err);
}

static int call_resize(struct tt_staged *array)
{
	return tt_staged_resize(array, &(uint64_t){ 5 }, &err);
}

static int call_astype(struct tt_staged *array)
{
	struct tt_staged *made;
	int rc = tt_staged_astype(&made, array, (struct tt_element){ 'f', false, 4 },
				  NULL, &err);

	tt_staged_destroy(made);
	return rc;
}

static int call_rechunk(struct tt_staged *array)
{
	struct tt_staged *made;
	int rc = tt_staged_rechunk(&made, array, &(uint64_t){ 3 }, &err);

	tt_staged_destroy(made);
	return rc;
}

START_TEST(reads_that_fail)
{
	fail_each(call_get);
	fail_each(call_set);
	fail_each(call_load);
	fail_each(call_resize);
	fail_each(call_astype);
	fail_each(call_rechunk);
}
END_TEST

/* How an allocator goes wrong. */
enum fault {
	GOOD,
	NO_MEMORY,
	A_POSITIVE_CODE,
	NOTHING_TO_WRITE,
	NOTHING_TO_READ,
	ANOTHER_SHAPE,
	ANOTHER_RANK,
	ANOTHER_ELEMENT,
	STRIDES_OF_ZERO,
	ODD_ADDRESS,
};

struct allocator {
	enum fault fault;
	struct slab slab;
	char memory[128];
};

static int alloc_badly(void *ctx, const struct tt_nd *like, struct tt_base_slab *out,
		       struct tt_error *e)
{
	struct allocator *a = ctx;

	if (a->fault == NO_MEMORY || a->fault == A_POSITIVE_CODE) {
		if (e)
			snprintf(e->text, sizeof(e->text), "no room");
		return a->fault == NO_MEMORY ? -ENOSPC : 7;
	}
	*out = (struct tt_base_slab){
		.element = like->element,
		.rank = like->rank + (a->fault == ANOTHER_RANK),
		.read = a->fault == NOTHING_TO_READ ? NULL : read_slab,
		.write = a->fault == NOTHING_TO_WRITE ? NULL : write_slab,
		.release = release_slab,
		.ctx = &a->slab
	};
	out->shape[0] = like->shape[0] + 2 * (a->fault == ANOTHER_SHAPE);
	out->element.swapped = a->fault == ANOTHER_ELEMENT;
	out->strides[0] = a->fault == STRIDES_OF_ZERO ? 0 : 8;
	if (a->fault == STRIDES_OF_ZERO || a->fault == ODD_ADDRESS)
		out->memory = a->memory + 1;
	return TT_OK;
}

static struct tt_staged *changed(void)
{
	struct tt_staged *a = full("i8", "7", "2", "0");

	put(a, "...", "7", "1..7");
	return a;
}

START_TEST(allocators_that_go_wrong)
{
	static const struct {
		enum fault fault;
		int code;
		bool released;
	} faults[] = {
		{ GOOD, TT_OK, false },
		{ NO_MEMORY, -ENOSPC, false },
		{ A_POSITIVE_CODE, TT_E_MISUSE, false },
		{ NOTHING_TO_WRITE, TT_E_MISMATCH, true },
		{ NOTHING_TO_READ, TT_E_MISMATCH, true },
		{ ANOTHER_SHAPE, TT_E_MISMATCH, true },
		{ ANOTHER_RANK, TT_E_MISMATCH, true },
		{ ANOTHER_ELEMENT, TT_E_MISMATCH, true },
		{ STRIDES_OF_ZERO, TT_E_MISMATCH, true },
		{ ODD_ADDRESS, TT_OK, false },
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		static struct allocator allocator;
		struct tt_staged *a = changed();
		int rc;

		allocator = (struct allocator){ .fault = faults[i].fault };
		rc = tt_staged_commit(a, alloc_badly, &allocator, 0, &err);
		ck_assert_msg(rc == faults[i].code, "fault %d: %d", (int)faults[i].fault,
			      rc);
		ck_assert_int_eq(allocator.slab.released, faults[i].released);
		gives(a, "...", "7: 1 2 3 4 5 6 7");
		ck_assert(info_of(a).has_changes == (rc < 0));
		commit(a);
		gives(a, "...", "7: 1 2 3 4 5 6 7");
		help_end();
		if (!faults[i].released && rc == TT_OK)
			ck_assert_int_eq(allocator.slab.released, 1);
	}
}
END_TEST

START_TEST(writes_that_fail)
{
	for (int n = 1; n <= 5; n++)
		for (int code = -EIO; code <= 1; code += 1 + EIO) {
			struct allocator allocator = { .slab = { .fail_at = n,
								 .code = code } };
			struct tt_staged *a = changed();
			int rc = tt_staged_commit(a, alloc_badly, &allocator, 0, &err);

			ck_assert_int_eq(rc, n == 5	? TT_OK
					     : code < 0 ? code
							: TT_E_MISUSE);
			allocator.slab.fail_at = 0;
			ck_assert_int_eq(allocator.slab.released, n < 5);
			gives(a, "...", "7: 1 2 3 4 5 6 7");
			commit(a);
			tables(a, "1 1 1 1 / 0 2 4 6");
			help_end();
		}
}
END_TEST

static int stop(void *ctx, const struct tt_staged_change *change)
{
	(void)change;
	return --*(int *)ctx > 0 ? 0 : 42;
}

START_TEST(changes_end_when_they_are_told)
{
	struct tt_staged *a = changed();
	int left = 3;

	ck_assert_int_eq(tt_staged_changes(a, stop, &left, &err), 42);
	ck_assert_int_eq(left, 0);
}
END_TEST

/* ---- Plans ---- */

START_TEST(plans_asked_for_what_they_do_not_have)
{
	struct tt_staged *a = changed();
	struct tt_plan_what what = { .op = TT_PLAN_GET };
	struct tt_plan_transfer transfer;
	struct tt_plan_cursor cursor = { 0, 0 };
	struct tt_staged_plan *plan;
	uint64_t rows[40];

	ck_assert_int_eq(tt_staged_plan(&plan, a, &what, &err), TT_OK);
	ck_assert_uint_eq(tt_staged_plan_rows(plan, 0, &cursor, rows, 0), 0);
	ck_assert_uint_eq(tt_staged_plan_rows(plan, 0, &cursor, rows, 3), 3);
	ck_assert_uint_eq(tt_staged_plan_rows(plan, 0, &cursor, rows, 8), 1);
	ck_assert_uint_eq(tt_staged_plan_rows(plan, 0, &cursor, rows, 8), 0);
	cursor.at = UINT64_MAX;
	ck_assert_uint_eq(tt_staged_plan_rows(plan, 0, &cursor, rows, 8), 0);
	cursor.at = 0;
	ck_assert_uint_eq(tt_staged_plan_rows(plan, 1, &cursor, rows, 8), 0);
	tt_staged_plan_transfer(plan, UINT64_MAX, &transfer);
	ck_assert_uint_eq(transfer.rows, 0);
	tt_staged_plan_free(plan);
	what.op = 99;
	refused(tt_staged_plan(&plan, a, &what, &err), TT_E_MISUSE, "operation 99");
	what.op = TT_PLAN_RESIZE;
	refused(tt_staged_plan(&plan, a, &what, &err), TT_E_MISUSE, "new shape");
	what.op = TT_PLAN_COMMIT;
	refused(tt_staged_plan(&plan, a, &what, &err), TT_E_MISUSE, "tt_staged_hash");
	ck_assert_ptr_null(plan);
}
END_TEST

/* A plan is looked at when its array has changed, and when it is gone. */
START_TEST(a_plan_outlives_its_array)
{
	struct tt_staged *a = full("i8", "4", "2", "0");
	struct tt_index index = TT_INDEX_RANGE(1, 3);
	struct tt_plan_what what = { .op = TT_PLAN_SET,
				     .index = &index,
				     .index_count = 1 };
	char *before, *after, *last;
	struct tt_staged_plan *plan;

	ck_assert_int_eq(tt_staged_plan(&plan, a, &what, NULL), TT_OK);
	ck_assert_int_eq(tt_staged_plan_text(plan, false, &before, NULL), TT_OK);
	put(a, "...", "4", "1 2 3 4");
	resize(a, "1");
	ck_assert_int_eq(tt_staged_plan_text(plan, false, &after, NULL), TT_OK);
	help_end();
	ck_assert_int_eq(tt_staged_plan_text(plan, false, &last, NULL), TT_OK);
	ck_assert_str_eq(before, after);
	ck_assert_str_eq(before, last);
	tt_staged_plan_free(plan);
	free(before);
	free(after);
	free(last);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, ranks);
	tcase_add_test(tc, shapes_too_large);
	tcase_add_test(tc, nothing_of_a_wide_chunk_needs_no_memory);
	tcase_add_test(tc, rows_too_many);
	tcase_add_test(tc, options_that_lack_something);
	tcase_add_test(tc, arguments_that_are_missing);
	tcase_add_test(tc, reads_that_fail);
	tcase_add_test(tc, allocators_that_go_wrong);
	tcase_add_test(tc, writes_that_fail);
	tcase_add_test(tc, changes_end_when_they_are_told);
	tcase_add_test(tc, plans_asked_for_what_they_do_not_have);
	tcase_add_test(tc, a_plan_outlives_its_array);
}

int main(void)
{
	return help_run("staged refusals", add);
}
