/* SPDX-License-Identifier: Apache-2.0 */
/* The index language, and the mappers' numbers. */
#include "staged/help.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "staged/mapper.h"

START_TEST(one_axis_is_read_in_every_way)
{
	struct tt_staged *a = full("i8", "5", "3", "7");

	put(a, "4", "", "1");
	gives(a, "()", "5: 7 7 7 7 1");
	gives(a, "...", "5: 7 7 7 7 1");
	gives(a, "0", "7");
	gives(a, "::3", "2: 7 7");
	gives(a, "[4,0,0,2]", "4: 1 7 7 7");
	gives(a, "[True, False, True, True, False]", "3: 7 7 7");
	gives(a, "3:1", "0:");
	gives(a, "-2:", "2: 7 1");
}
END_TEST

START_TEST(what_numpy_or_we_refuse)
{
	static const struct {
		const char *index;
		int rc;
	} cases[] = {
		{ "5", TT_E_RANGE },
		{ "-6", TT_E_RANGE },
		{ "[5]", TT_E_RANGE },
		{ "[-6]", TT_E_RANGE },
		{ "(0,0)", TT_E_RANGE },
		{ "None", TT_E_UNSUPPORTED },
		{ "[[0,1]]", TT_E_UNSUPPORTED },
		{ "::-1", TT_E_UNSUPPORTED },
		{ "True", TT_E_UNSUPPORTED },
		{ "[True,False,True,False]", TT_E_RANGE },
		{ "[True,False,True,False,True,False]", TT_E_RANGE },
		{ "...,...", TT_E_RANGE },
	};
	struct tt_staged *a = full("i8", "5", "3", "0");

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int rc = try_get(a, cases[i].index);

		ck_assert_msg(rc == cases[i].rc, "[%s]: %d, expected %d", cases[i].index,
			      rc, cases[i].rc);
		rc = try_put(a, cases[i].index, "", "1");
		ck_assert_msg(rc == cases[i].rc, "[%s] = 1: %d", cases[i].index, rc);
	}
	ck_assert_int_lt(try_get(a, "::0"), 0);
	ck_assert_int_lt(try_get(a, "1.0"), 0);
	ck_assert_int_lt(try_get(a, "\"x\""), 0);
	ck_assert(!info_of(a).has_changes);
}
END_TEST

START_TEST(an_empty_list_selects_nothing)
{
	struct tt_staged *a = full("i8", "5,4", "3,3", "0");

	gives(a, "[]", "0,4:");
	gives(a, ":, []", "5,0:");
	gives(a, "1, []", "0:");
}
END_TEST

START_TEST(an_ellipsis_takes_no_more_than_is_left)
{
	ck_assert_int_eq(try_get(full("i8", "5", "3", "0"), "(0,...,0)"), TT_E_RANGE);
	ck_assert_int_eq(try_get(full("i8", "5,5", "3,3", "0"), "(0,0,...,0)"),
			 TT_E_RANGE);
	gives(full("i8", "5,5", "3,3", "0"), "(0,...,0)", "0");
}
END_TEST

START_TEST(three_axes)
{
	struct tt_staged *a = full("i8", "3,7,5", "2,3,4", "0");

	put(a, "...", "3,7,5", "0..104");
	slabs(a, "2,3,4; 24,3,4");
	tables(a, "1 1 1 1 1 1 1 1 1 1 1 1 / 0 2 4 6 8 10 12 14 16 18 20 22");
	gives(a, "1,[6,0,3],::3", "3,2: 65 68 35 38 50 53");
	gives(a, "0,...,-1", "7: 4 9 14 19 24 29 34");
	ck_assert_uint_eq(plan_info(a, TT_PLAN_GET, "...,-1").rows, 6);
	gives(a, "2,6", "5: 100 101 102 103 104");
}
END_TEST

START_TEST(a_list_beside_integers_only)
{
	struct tt_staged *a = full("i8", "3,7,5", "2,3,4", "0");

	put(a, "...", "3,7,5", "0..104");
	ck_assert_int_eq(try_get(a, "[0,1],:,2"), TT_E_UNSUPPORTED);
	ck_assert_int_eq(try_get(a, "0,:,[0,1]"), TT_E_UNSUPPORTED);
	ck_assert_int_eq(try_get(a, "[0,1],...,2"), TT_E_UNSUPPORTED);
	gives(a, "1,[0,4],:1", "2,1: 35 55");
	gives(a, ":,[0,1],2", "3,2: 2 7 37 42 72 77");
	gives(a, ":,4,[0,4]", "3,2: 20 24 55 59 90 94");
}
END_TEST

START_TEST(two_lists_are_refused)
{
	struct tt_staged *a = full("i8", "2,2", "2,2", "0");

	ck_assert_int_eq(try_get(a, "[0,1],[0,1]"), TT_E_UNSUPPORTED);
	ck_assert_int_eq(try_get(a, "[0],[1]"), TT_E_UNSUPPORTED);
	ck_assert_int_eq(try_get(a, "[True,False],[True,False]"), TT_E_UNSUPPORTED);
	ck_assert_int_eq(try_get(a, "[True,False],[0,1]"), TT_E_UNSUPPORTED);
}
END_TEST

/* ---- Mappers ---- */

static char said[4096];

static void say_mapper(const struct tti_mapper *m)
{
	size_t n = 0;

	for (uint64_t i = 0; i < m->count; i++) {
		uint64_t id = tti_mapper_chunk(m, i), spans;
		struct tti_span one;
		const struct tti_span *span = tti_mapper_spans(m, i, id, &one, &spans);

		n += (size_t)snprintf(said + n, sizeof(said) - n, "%s%" PRIu64 "%s",
				      i ? " | " : "", id,
				      tti_mapper_is_whole(m, i) ? "w" : "");
		for (uint64_t k = 0; k < spans; k++)
			n += (size_t)snprintf(said + n, sizeof(said) - n,
					      " [%" PRIu64 ",%" PRIu64 ",%" PRIu64
					      ",%" PRIu64 ",%" PRIu64 "]",
					      span[k].chunk_start, span[k].value_start,
					      span[k].count, span[k].chunk_stride,
					      span[k].value_stride);
		ck_assert_uint_lt(n, sizeof(said));
	}
}

/* chunk number, w when whole, then its spans */
static void maps(const char *index, uint64_t size, uint64_t chunk, const char *expected)
{
	struct tti_selection sel = { .rank = 0 };
	struct tti_mapper mapper = { .size = 0 };
	struct tt_index_list *list;
	struct tt_error err;

	ck_assert_int_eq(tt_index_parse(&list, index, &err), TT_OK);
	ck_assert_int_eq(tti_selection_init(&sel,
					    &(struct tti_asked){ 1, &size, list->items,
								 list->count },
					    &err),
			 TT_OK);
	ck_assert_int_eq(tti_mapper_init(&mapper, &sel.axis[0], size, chunk, &err),
			 TT_OK);
	say_mapper(&mapper);
	ck_assert_msg(strcmp(said, expected) == 0,
		      "%s of %" PRIu64 " in %" PRIu64 ": \"%s\", expected \"%s\"", index,
		      size, chunk, said, expected);
	tti_mapper_fini(&mapper);
	tti_selection_fini(&sel);
	tt_index_free(list);
}

START_TEST(mappers_of_slices)
{
	maps("3:17:2", 20, 5,
	     "0 [3,0,1,2,1] | 1 [0,1,3,2,1] | 2 [1,4,2,2,1] | 3 [0,6,1,2,1]");
	maps("0:20:7", 20, 5, "0 [0,0,1,7,1] | 1 [2,1,1,7,1] | 2 [4,2,1,7,1]");
	maps("5:15", 17, 5, "1w [0,0,5,1,1] | 2w [0,5,5,1,1]");
	maps("::3", 10, 2,
	     "0 [0,0,1,3,1] | 1 [1,1,1,3,1] | 3 [0,2,1,3,1] | 4 [1,3,1,3,1]");
	maps("::4", 10, 2, "0 [0,0,1,4,1] | 2 [0,1,1,4,1] | 4 [0,2,1,4,1]");
	maps("2:7", 10, 4, "0 [2,0,2,1,1] | 1 [0,2,3,1,1]");
	maps("0:10", 10, 4, "0w [0,0,4,1,1] | 1w [0,4,4,1,1] | 2w [0,8,2,1,1]");
	maps("-1:", 10, 4, "2 [1,0,1,1,1]");
}
END_TEST

START_TEST(mappers_of_lists)
{
	maps("[3,15,1]", 20, 10, "0 [3,0,1,1,1] [1,2,1,1,1] | 1 [5,1,1,1,1]");
	maps("[0,1,2,5,7,9,11,12]", 20, 10, "0 [0,0,3,1,1] [5,3,3,2,1] | 1 [1,6,2,1,1]");
	maps("[2,2,3]", 6, 3, "0 [2,0,1,1,1] [2,1,1,1,1] | 1 [0,2,1,1,1]");
	maps("[5,4,3]", 6, 3, "1w [2,0,1,1,1] [1,1,1,1,1] [0,2,1,1,1]");
	maps("[True,False,True,True,False,False]", 6, 2,
	     "0 [0,0,1,1,1] | 1w [0,1,2,1,1]");
	/* as slices */
	maps("[1,3,5]", 6, 3, "0 [1,0,1,2,1] | 1 [0,1,2,2,1]");
	maps("[False,True,False,True]", 4, 4, "0 [1,0,2,2,1]");
	maps("[4]", 6, 3, "1 [1,0,1,1,1]");
}
END_TEST

START_TEST(flags_of_ten)
{
	struct tti_selection sel = { .rank = 0 };
	struct tti_mapper m = { .size = 0 };
	const bool flags[] = { 1, 0, 1, 1, 0, 0, 1, 1, 1, 1 };
	const struct tt_index index = { .kind = TT_INDEX_BOOLS,
					.bools = flags,
					.count = 10 };
	static const uint64_t chunks[] = { 0, 1, 3, 4 }, size = 10;

	ck_assert_int_eq(tti_selection_init(
				 &sel, &(struct tti_asked){ 1, &size, &index, 1 }, NULL),
			 TT_OK);
	ck_assert_int_eq(tti_mapper_init(&m, &sel.axis[0], 10, 2, NULL), TT_OK);
	ck_assert_uint_eq(m.count, 4);
	for (uint64_t i = 0; i < 4; i++) {
		ck_assert_uint_eq(tti_mapper_chunk(&m, i), chunks[i]);
		ck_assert_int_eq(tti_mapper_is_whole(&m, i), i >= 1);
	}
	tti_mapper_fini(&m);
	tti_selection_fini(&sel);
}
END_TEST

START_TEST(whole_chunks_of_one_point)
{
	maps("10", 11, 5, "2w [0,0,1,1,1]");
	maps("9", 11, 5, "1 [4,0,1,1,1]");
	maps("::5", 11, 5, "0 [0,0,1,5,1] | 1 [0,1,1,5,1] | 2w [0,2,1,5,1]");
	maps("[10,0,10]", 11, 5, "0 [0,1,1,1,1] | 2w [0,0,1,1,1] [0,2,1,1,1]");
	maps("2", 5, 1, "2w [0,0,1,1,1]");
	maps("1:5:2", 5, 1, "1w [0,0,1,2,1] | 3w [0,1,1,2,1]");
	maps("[3,0]", 5, 1, "0w [0,1,1,1,1] | 3w [0,0,1,1,1]");
	/* a chunk larger than the axis */
	maps(":", 5, 9, "0w [0,0,5,1,1]");
	maps("1:", 5, 9, "0 [1,0,4,1,1]");
	maps("0", 1, 9, "0w [0,0,1,1,1]");
}
END_TEST

/* ---- Limits ---- */

START_TEST(thirty_two_axes_and_no_more)
{
	static const char ones[] = "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
				   "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1";
	struct tt_staged *a = full("i8", ones, ones, "3"), *refused;
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	uint64_t many[40];
	struct tt_error err;

	put(a, "...", "", "5");
	gives(a, "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0", "5");
	gives(a, "...,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
	      "1: 5");
	commit(a);
	gives(a, "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0", "5");
	for (int i = 0; i < 40; i++)
		many[i] = 1;
	opts.element = element_of("i8");
	opts.shape = opts.chunk = many;
	opts.rank = 33;
	ck_assert_int_eq(tt_staged_create(&refused, &opts, &err), TT_E_RANGE);
	ck_assert_ptr_null(refused);
	opts.rank = 0;
	ck_assert_int_eq(tt_staged_create(&refused, &opts, &err), TT_E_RANGE);
}
END_TEST

/* One point of five million chunks touches one: a million such accesses of five million chunks
 * each would not end before the deadline. */
static void far_end(const char *shape, const char *chunk, const char *index,
		    const int64_t *last)
{
	struct tt_staged *a = full("i8", shape, chunk, "0");
	struct tt_index at[2] = { TT_INDEX_AT(last[0]), TT_INDEX_AT(last[1]) };
	int64_t number = 0;
	struct tt_nd nd = { .element = element_of("i8"), .data = &number };

	ck_assert_uint_eq(info_of(a).chunks, 5000000);
	for (number = 1; number <= 20000; number++)
		ck_assert_int_eq(tt_staged_set(a, at, 2, &nd, NULL), TT_OK);
	number = 0;
	for (int i = 0; i < 20000; i++)
		ck_assert_int_eq(tt_staged_get(a, at, 2, &nd, NULL), TT_OK);
	ck_assert_int_eq(number, 20000);
	ck_assert_uint_eq(plan_info(a, TT_PLAN_GET, index).rows, 1);
	ck_assert_uint_eq(info_of(a).staged, 1);
}

START_TEST(five_million_chunks_cost_no_more_than_five)
{
	far_end("2500,2000", "1,1", "-1,-1", (int64_t[]){ 2499, 1999 });
	far_end("1,5000000", "1,1", "-1,-1", (int64_t[]){ 0, 4999999 });
}
END_TEST

/* In order, 100,000 positions; out of order no more than sorting them: with a scan of all for
 * each of 100,000 chunks this would not end before the deadline. */
START_TEST(an_unordered_list_is_not_quadratic)
{
	enum { MANY = 100000 };
	struct tt_staged *a = full("i8", "200000", "1", "0");
	int64_t *at = keep_memory(malloc(MANY * sizeof(*at)));
	struct tt_index index = { .kind = TT_INDEX_INTS, .ints = at, .count = MANY };
	struct tt_nd nd = { .rank = 0 };
	uint64_t shape = MANY;

	for (int64_t i = 0; i < MANY; i++)
		at[i] = (i * 77777 + 5) % (2 * MANY);
	ck_assert_int_eq(tt_nd_c_order(&nd, element_of("i8"), 1, &shape, at), TT_OK);
	ck_assert_int_eq(tt_staged_set(a, &index, 1, &nd, NULL), TT_OK);
	ck_assert_uint_eq(info_of(a).staged, 1);
	nd.data = NULL;
	ck_assert_int_eq(tt_staged_get(a, &index, 1, &nd, NULL), TT_OK);
	keep_memory(nd.data);
	ck_assert(memcmp(nd.data, at, MANY * sizeof(*at)) == 0);
}
END_TEST

/* However many at a time, a transfer's rows are the same, and as many as it says. */
START_TEST(rows_of_a_plan_by_the_sheet)
{
	struct tt_staged *a = base("i4", "9,8", "4,3", "0", "0..71");
	const int64_t list[] = { 7, 1, 0, 8, 2, 1, 5 };
	struct tt_index index = { .kind = TT_INDEX_INTS, .ints = list, .count = 7 };
	struct tt_staged_plan *plan;
	struct tt_plan_info info;
	uint64_t one[10], all[64 * 10], seen = 0;

	ck_assert_int_eq(
		tt_staged_plan(&plan, a,
			       &(struct tt_plan_what){ TT_PLAN_SET, &index, 1, NULL },
			       NULL),
		TT_OK);
	tt_staged_plan_info(plan, &info);
	for (uint64_t i = 0; i < info.transfers; i++) {
		struct tt_plan_cursor whole = { 0, 0 }, single = { 0, 0 };
		struct tt_plan_transfer transfer;
		uint64_t n = 0;

		tt_staged_plan_transfer(plan, i, &transfer);
		ck_assert_uint_eq(tt_staged_plan_rows(plan, i, &whole, all, 64),
				  transfer.rows);
		ck_assert_uint_eq(tt_staged_plan_rows(plan, i, &whole, all, 0), 0);
		while (tt_staged_plan_rows(plan, i, &single, one, 1) == 1)
			ck_assert_mem_eq(one, all + 10 * n++, sizeof(one));
		ck_assert_uint_eq(n, transfer.rows);
		seen += n;
	}
	ck_assert_uint_eq(seen, info.rows);
	tt_staged_plan_free(plan);
}
END_TEST

START_TEST(shape_of_an_index_fits_the_output)
{
	struct tt_staged *a = base("i4", "9,8", "4,3", "0", "0..71");
	struct tt_index_list *list;
	struct tt_nd out;

	ck_assert_int_eq(tt_index_parse(&list, "::2, [7, 0, 1]", NULL), TT_OK);
	ck_assert_int_eq(tt_staged_shape_of(a, list->items, list->count, &out, NULL),
			 TT_OK);
	ck_assert_uint_eq(out.rank, 2);
	ck_assert_uint_eq(out.shape[0], 5);
	ck_assert_uint_eq(out.shape[1], 3);
	ck_assert_ptr_null(out.data);
	out.data = keep_memory(malloc(60));
	ck_assert_int_eq(tt_staged_get(a, list->items, list->count, &out, NULL), TT_OK);
	ck_assert_int_eq(((int32_t *)out.data)[3], 23);
	tt_index_free(list);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, shape_of_an_index_fits_the_output);
	tcase_add_test(tc, rows_of_a_plan_by_the_sheet);
	tcase_add_test(tc, one_axis_is_read_in_every_way);
	tcase_add_test(tc, what_numpy_or_we_refuse);
	tcase_add_test(tc, an_empty_list_selects_nothing);
	tcase_add_test(tc, an_ellipsis_takes_no_more_than_is_left);
	tcase_add_test(tc, three_axes);
	tcase_add_test(tc, a_list_beside_integers_only);
	tcase_add_test(tc, two_lists_are_refused);
	tcase_add_test(tc, mappers_of_slices);
	tcase_add_test(tc, mappers_of_lists);
	tcase_add_test(tc, flags_of_ten);
	tcase_add_test(tc, whole_chunks_of_one_point);
	tcase_add_test(tc, thirty_two_axes_and_no_more);
	tcase_add_test(tc, five_million_chunks_cost_no_more_than_five);
	tcase_add_test(tc, an_unordered_list_is_not_quadratic);
}

int main(void)
{
	return help_run("staged index", add);
}
