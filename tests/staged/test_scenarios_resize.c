/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing: edge chunks leave their base slabs, what grows gets the fill value, slabs that
 * nothing uses go. */
#include "staged/help.h"

#include <errno.h>
#include <string.h>

START_TEST(an_edge_chunk_leaves_its_base)
{
	struct tt_staged *shorter = base("i8", "6", "3", "0", "0..5");
	struct tt_staged *same = base("i8", "5", "3", "0", "0..4");

	resize(shorter, "4");
	tables(shorter, "1 2 / 0 0");
	gives(shorter, "...", "4: 0 1 2 3");
	resize(same, "4");
	tables(same, "1 2 / 0 0");
	gives(same, "...", "4: 0 1 2 3");
}
END_TEST

START_TEST(nothing_comes_back_within_a_chunk)
{
	struct tt_staged *a = full("i8", "4", "4", "0");

	put(a, "...", "4", "1 2 3 4");
	resize(a, "2");
	resize(a, "4");
	gives(a, "...", "4: 1 2 0 0");
	ck_assert_uint_eq(info_of(a).staged, 1);
}
END_TEST

START_TEST(growth_within_and_beyond_a_chunk)
{
	struct tt_staged *a = full("i8", "5", "4", "-1");

	put(a, "...", "5", "0..4");
	resize(a, "3");
	resize(a, "6");
	gives(a, "...", "6: 0 1 2 -1 -1 -1");
	tables(a, "1 0 / 0 0");
	slabs(a, "4; 8");
}
END_TEST

START_TEST(smaller_on_one_axis_and_larger_on_the_other)
{
	struct tt_staged *a = base("i8", "4,5", "2,2", "-1", "0..19");

	plan_is(a, TT_PLAN_RESIZE, "3,6",
		"ResizePlan<append 2 empty slabs, 6 slice transfers among 6 slab pairs, "
		"drop 0 slabs>\n"
		"  slabs.append(empty((6, 2)))  # slabs[4]\n"
		"  slabs.append(empty((2, 2)))  # slabs[5]\n"
		"  # 1 transfers from slabs[1] to slabs[4]\n"
		"  slabs[4][0:1, 0:2] = slabs[1][2:3, 0:2]\n"
		"  # 1 transfers from slabs[2] to slabs[4]\n"
		"  slabs[4][2:3, 0:2] = slabs[2][2:3, 0:2]\n"
		"  # 1 transfers from slabs[3] to slabs[4]\n"
		"  slabs[4][4:5, 0:2] = slabs[3][2:3, 0:2]\n"
		"  # 1 transfers from slabs[3] to slabs[5]\n"
		"  slabs[5][0:2, 0:1] = slabs[3][0:2, 0:1]\n"
		"  # 1 transfers from slabs[0] to slabs[4]\n"
		"  slabs[4][4:5, 1:2] = slabs[0][0:1, 1:2]\n"
		"  # 1 transfers from slabs[0] to slabs[5]\n"
		"  slabs[5][0:2, 1:2] = slabs[0][0:2, 1:2]\n"
		"slab_indices:\n"
		"[[1 2 5]\n"
		" [4 4 4]]\n"
		"slab_offsets:\n"
		"[[0 0 0]\n"
		" [0 2 4]]");
	resize(a, "3,6");
	tables(a, "1 2 5 4 4 4 / 0 0 0 0 2 4");
	slabs(a, "2,2; 4,2; 4,2; 4,1; 6,2; 2,2");
	gives(a, "...", "3,6: 0 1 2 3 4 -1 5 6 7 8 9 -1 10 11 12 13 14 -1");
	commit(a);
	tables(a, "1 2 4 4 4 4 / 0 0 6 0 2 4");
	slabs(a, "2,2; 4,2; 4,2; 4,1; 8,2");
	gives(a, "...", "3,6: 0 1 2 3 4 -1 5 6 7 8 9 -1 10 11 12 13 14 -1");
}
END_TEST

START_TEST(through_no_rows_nothing_is_left)
{
	struct tt_staged *a = base("i8", "2,6", "2,3", "0", "1..12");

	resize(a, "0,5");
	tables(a, "/");
	resize(a, "0,8");
	resize(a, "2,8");
	tables(a, "0 0 0 / 0 0 0");
	gives(a, "...", "2,8: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
	slabs(a, "2,3; 2,3; 2,3");
}
END_TEST

START_TEST(an_unused_staged_slab_goes)
{
	struct tt_staged *a = base("i8", "1,7", "1,2", "42", "1..7");

	put(a, "0,-1", "", "8");
	tables(a, "1 2 3 5 / 0 0 0 0");
	resize(a, "1,10");
	tables(a, "1 2 3 5 0 / 0 0 0 0 0");
	gives(a, "0", "10: 1 2 3 4 5 6 8 42 42 42");
	resize(a, "1,4");
	slabs(a, "1,2; 1,2; 1,2; 1,2; 1,1; None");
	tables(a, "1 2 / 0 0");
	resize(a, "0,0");
	slabs(a, "1,2; 1,2; 1,2; 1,2; 1,1; None");
	ck_assert_uint_eq(info_of(a).bases, 4);
}
END_TEST

START_TEST(a_hole_keeps_the_numbers)
{
	struct tt_staged *a = full("i8", "6", "2", "0");

	put(a, "0", "", "5");
	put(a, "2", "", "6");
	put(a, "4", "", "7");
	tables(a, "1 2 3 / 0 0 0");
	resize(a, "3");
	tables(a, "1 2 / 0 0");
	slabs(a, "2; 2; 2; None");
	ck_assert_uint_eq(info_of(a).staged, 3);
	gives(a, "...", "3: 5 0 6");
}
END_TEST

START_TEST(shapes_that_cannot_be)
{
	struct tt_staged *a = full("i8", "6", "2", "0");

	resize(a, "6");
	ck_assert(!info_of(a).resized && !info_of(a).has_changes);
	ck_assert_int_eq(try_resize(a, "18446744073709551615"), -EOVERFLOW);
	ck_assert_int_eq(try_resize(a, "4611686018427387904"), -EOVERFLOW);
	ck_assert(!info_of(a).resized);
	resize(a, "7");
	ck_assert(info_of(a).resized && info_of(a).has_changes);
	resize(a, "6");
	ck_assert(info_of(a).resized);
}
END_TEST

START_TEST(full_chunks_grow_for_nothing)
{
	struct tt_staged *a = full("i8", "5,5", "2,2", "3");
	struct tt_plan_info info = plan_info(a, TT_PLAN_RESIZE, "6,9");

	ck_assert_uint_eq(info.transfers, 0);
	ck_assert_uint_eq(info.appended, 0);
	resize(a, "6,9");
	ck_assert_uint_eq(info_of(a).slabs, 1);
	gives(a, "5,8", "3");
}
END_TEST

START_TEST(an_axis_of_whole_chunks_grows_for_nothing)
{
	struct tt_staged *a = base("i8", "4,4", "2,2", "7", "0..15");

	ck_assert_uint_eq(plan_info(a, TT_PLAN_RESIZE, "9,4").transfers, 0);
	resize(a, "9,4");
	tables(a, "1 2 1 2 0 0 0 0 0 0 / 0 0 2 2 0 0 0 0 0 0");
	gives(a, "3:5", "2,4: 12 13 14 15 7 7 7 7");
}
END_TEST

START_TEST(rows_are_appended)
{
	struct tt_staged *a = base("i8", "3,2", "2,2", "0", "0..5");
	struct tt_nd rows = nd_of("i4", "2,2", "10..13");
	struct tt_nd narrow = nd_of("i8", "2,1", "1 2");
	struct tt_nd none = nd_of("i8", "0,2", "");
	struct tt_error why = { TT_OK, "" };

	ck_assert_int_eq(tt_staged_append(a, &rows, NULL), TT_OK);
	gives(a, "...", "5,2: 0 1 2 3 4 5 10 11 12 13");
	ck_assert_int_eq(tt_staged_append(a, &narrow, &why), TT_E_MISMATCH);
	ck_assert_ptr_nonnull(strstr(why.text, "shape (2, 1)"));
	ck_assert_ptr_nonnull(strstr(why.text, "shape (5, 2)"));
	ck_assert_int_eq(tt_staged_append(a, &none, NULL), TT_OK);
	gives(a, "...", "5,2: 0 1 2 3 4 5 10 11 12 13");
	commit(a);
	gives(a, "...", "5,2: 0 1 2 3 4 5 10 11 12 13");
	/* a refused value takes the growth back */
	rows.element = (struct tt_element){ TT_VOID, false, 4 };
	ck_assert_int_eq(tt_staged_append(a, &rows, NULL), TT_E_DTYPE);
	gives(a, "...", "5,2: 0 1 2 3 4 5 10 11 12 13");
	ck_assert(!info_of(a).has_changes);
}
END_TEST

/* Views of the caller's array are cut at its edges; growth mends them. */
START_TEST(trimmed_views_grow)
{
	struct tt_nd nd = nd_of("i8", "3,5", "0..14");
	const uint64_t chunk[] = { 2, 2 };
	struct tt_staged *a;

	ck_assert_int_eq(tt_staged_from_array(&a,
					      &(struct tt_staged_over){
						      sizeof(struct tt_staged_over), &nd,
						      chunk, NULL, TT_FROM_STAGED, true },
					      NULL),
			 TT_OK);
	keep(a);
	tables(a, "1 2 3 1 2 3 / 0 0 0 2 2 2");
	resize(a, "4,6");
	tables(a, "1 2 3 4 4 3 / 0 0 0 0 2 2");
	slabs(a, "2,2; 2,2; 2,2; 4,2; 4,2");
	gives(a, "...", "4,6: 0 1 2 3 4 0 5 6 7 8 9 0 10 11 12 13 14 0 0 0 0 0 0 0");
	put(a, "...", "", "-1");
	ck_assert_int_eq(((int64_t *)nd.data)[0], -1);
	ck_assert_int_eq(((int64_t *)nd.data)[14], 14);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, an_edge_chunk_leaves_its_base);
	tcase_add_test(tc, nothing_comes_back_within_a_chunk);
	tcase_add_test(tc, growth_within_and_beyond_a_chunk);
	tcase_add_test(tc, smaller_on_one_axis_and_larger_on_the_other);
	tcase_add_test(tc, through_no_rows_nothing_is_left);
	tcase_add_test(tc, an_unused_staged_slab_goes);
	tcase_add_test(tc, a_hole_keeps_the_numbers);
	tcase_add_test(tc, shapes_that_cannot_be);
	tcase_add_test(tc, full_chunks_grow_for_nothing);
	tcase_add_test(tc, an_axis_of_whole_chunks_grows_for_nothing);
	tcase_add_test(tc, rows_are_appended);
	tcase_add_test(tc, trimmed_views_grow);
}

int main(void)
{
	return help_run("staged resize", add);
}
