/* SPDX-License-Identifier: Apache-2.0 */
/* Writing: plans, what is copied first, broadcasting, repeated places, conversion. */
#include "staged/help.h"

#include <stdlib.h>
#include <string.h>

START_TEST(partial_and_whole_chunks)
{
	struct tt_staged *a = base("i8", "8", "4", "0", "0..7");

	plan_is(a, TT_PLAN_SET, "2:8",
		"SetItemPlan<value_shape=(6,), value_view=[:], append 2 empty slabs, "
		"3 slice transfers among 3 slab pairs, drop 0 slabs>\n"
		"  slabs.append(empty((4,)))  # slabs[2]\n"
		"  slabs.append(empty((4,)))  # slabs[3]\n"
		"  # 1 transfers from slabs[1] to slabs[2]\n"
		"  slabs[2][0:4] = slabs[1][0:4]\n"
		"  # 1 transfers from value to slabs[3]\n"
		"  slabs[3][0:4] = value[2:6]\n"
		"  # 1 transfers from value to slabs[2]\n"
		"  slabs[2][2:4] = value[0:2]\n"
		"slab_indices:\n"
		"[2 3]\n"
		"slab_offsets:\n"
		"[0 0]");
	put(a, "2:8", "", "0");
	tables(a, "2 3 / 0 0");
	ck_assert_uint_eq(info_of(a).slabs, 4);
	put(a, "0", "", "1");
	ck_assert_uint_eq(info_of(a).slabs, 4);
	gives(a, "...", "8: 1 1 0 0 0 0 0 0");
}
END_TEST

START_TEST(a_plan_reads_only_what_stays)
{
	struct tt_staged *a = base("i8", "2,2", "2,1", "0", "1 2 3 4");

	plan_is(a, TT_PLAN_SET, ":,0",
		"SetItemPlan<value_shape=(2,), value_view=[:, None], append 1 empty "
		"slabs, "
		"1 slice transfers among 1 slab pairs, drop 0 slabs>\n"
		"  slabs.append(empty((2, 1)))  # slabs[3]\n"
		"  # 1 transfers from value to slabs[3]\n"
		"  slabs[3][0:2, 0:1] = value[0:2, 0:1]\n"
		"slab_indices:\n[[3 2]]\nslab_offsets:\n[[0 0]]");
	plan_is(a, TT_PLAN_SET, "0,0",
		"SetItemPlan<value_shape=(), value_view=[None, None], append 1 empty "
		"slabs, "
		"2 slice transfers among 2 slab pairs, drop 0 slabs>\n"
		"  slabs.append(empty((2, 1)))  # slabs[3]\n"
		"  # 1 transfers from slabs[1] to slabs[3]\n"
		"  slabs[3][0:2, 0:1] = slabs[1][0:2, 0:1]\n"
		"  # 1 transfers from value to slabs[3]\n"
		"  slabs[3][0:1, 0:1] = value[0:1, 0:1]\n"
		"slab_indices:\n[[3 2]]\nslab_offsets:\n[[0 0]]");
	tables(a, "1 2 / 0 0");
}
END_TEST

START_TEST(base_memory_is_never_written)
{
	struct tt_nd nd = nd_of("i4", "5,6", "0..29");
	const uint64_t chunk[] = { 2, 4 };
	struct tt_staged *a;
	int32_t before[30];

	memcpy(before, nd.data, sizeof(before));
	ck_assert_int_eq(tt_staged_from_array(&a,
					      &(struct tt_staged_over){
						      sizeof(struct tt_staged_over), &nd,
						      chunk, NULL, TT_FROM_BASES, true },
					      NULL),
			 TT_OK);
	keep(a);
	put(a, "1:4,2:", "", "-1");
	put(a, "...", "", "-2");
	put(a, "[4,1,1],3", "3", "7 8 9");
	resize(a, "7,9");
	put(a, "...", "", "-3");
	load(a);
	resize(a, "1,1");
	commit(a);
	ck_assert_mem_eq(nd.data, before, sizeof(before));
}
END_TEST

START_TEST(values_are_broadcast)
{
	struct tt_staged *a = full("i8", "2,2", "2,2", "42");

	put(a, "()", "", "1");
	gives(a, "()", "2,2: 1 1 1 1");
	put(a, "()", "1,1", "6");
	gives(a, "()", "2,2: 6 6 6 6");
	a = full("i8", "2,2", "2,2", "42");
	put(a, "0", "2", "2 3");
	gives(a, "()", "2,2: 2 3 42 42");
	put(a, "...", "2,1", "4 5");
	gives(a, "()", "2,2: 4 4 5 5");
}
END_TEST

START_TEST(values_that_do_not_fit)
{
	struct tt_staged *a = full("i8", "5", "3", "0");
	struct tt_staged *b = full("i8", "4,5", "3,3", "0");

	ck_assert_int_eq(try_put(a, "...", "1,1,5", "0..4"), TT_E_MISMATCH);
	ck_assert_int_eq(try_put(a, "...", "1,5", "0..4"), TT_E_MISMATCH);
	ck_assert_int_eq(try_put(b, ":2", "3,5", "0..14"), TT_E_MISMATCH);
	ck_assert_int_eq(try_put(b, "0,0", "1", "1"), TT_E_MISMATCH);
	ck_assert_int_eq(try_put(b, "...", "4", "0..3"), TT_E_MISMATCH);
	ck_assert(!info_of(a).has_changes && !info_of(b).has_changes);
}
END_TEST

START_TEST(of_a_place_named_twice_the_last_value_stays)
{
	struct tt_staged *a = full("i8", "5", "3", "0");
	struct tt_staged *b = full("i8", "4,5", "2,2", "0");

	put(a, "[0,0,1]", "3", "1 2 3");
	gives(a, "...", "5: 2 3 0 0 0");
	put(b, ":,[1,1,0]", "4,3", "0..11");
	gives(b, "...", "4,5: 2 1 0 0 0 5 4 0 0 0 8 7 0 0 0 11 10 0 0 0");
}
END_TEST

START_TEST(unordered_lists)
{
	struct tt_staged *a = full("i8", "5", "2", "0");

	put(a, "[3,1,4,0]", "4", "1 2 3 4");
	gives(a, "...", "5: 4 2 0 1 3");
	gives(a, "[3,1,4,0]", "4: 1 2 3 4");
	gives(a, "[-1,-5,-1]", "3: 3 4 3");
}
END_TEST

START_TEST(whole_chunks_that_are_apart)
{
	struct tt_staged *a = base("i8", "8", "2", "0", "0..7");

	put(a, "[0,1,2,4,5,6,7]", "7", "10 11 12 14 15 16 17");
	gives(a, "...", "8: 10 11 12 3 14 15 16 17");
	tables(a, "3 2 3 3 / 0 0 2 4");
}
END_TEST

START_TEST(numbers_are_converted_as_c_does)
{
	struct tt_staged *a = full("i1", "2", "2", "0");
	struct tt_staged *b = full("i4", "3", "2", "0");
	struct tt_nd real = nd_of("f8", "3", "1.9 -1.9 2.5");
	struct tt_nd text = nd_of("f8", "", "0");

	put(a, "0", "", "300");
	gives(a, "...", "2: 44 0");
	ck_assert_int_eq(tt_staged_set(b, NULL, 0, &real, NULL), TT_OK);
	gives(b, "...", "3: 1 -1 2");
	text.element = (struct tt_element){ 'S', false, 8 };
	ck_assert_int_eq(tt_staged_set(b, NULL, 0, &text, NULL), TT_E_DTYPE);
}
END_TEST

START_TEST(a_result_may_be_written_over_its_source)
{
	struct tt_staged *a = base("i8", "8", "3", "0", "0..7");
	struct tt_index from = TT_INDEX_RANGE(0, 4), to = TT_INDEX_RANGE(1, 5);
	struct tt_nd out = { .rank = 0 };

	ck_assert_int_eq(tt_staged_get(a, &from, 1, &out, NULL), TT_OK);
	ck_assert_int_eq(tt_staged_set(a, &to, 1, &out, NULL), TT_OK);
	free(out.data);
	gives(a, "...", "8: 0 0 1 2 3 5 6 7");
}
END_TEST

/* The value lies in the very memory that is written. */
START_TEST(a_value_inside_the_array_is_read_first)
{
	struct tt_nd nd = nd_of("i8", "8", "0..7"), value = nd;
	const uint64_t chunk[] = { 3 };
	struct tt_index to = TT_INDEX_RANGE(1, 5);
	struct tt_staged *a;

	ck_assert_int_eq(tt_staged_from_array(&a,
					      &(struct tt_staged_over){
						      sizeof(struct tt_staged_over), &nd,
						      chunk, NULL, TT_FROM_STAGED, true },
					      NULL),
			 TT_OK);
	keep(a);
	value.shape[0] = 4;
	ck_assert_int_eq(tt_staged_set(a, &to, 1, &value, NULL), TT_OK);
	gives(a, "...", "8: 0 0 1 2 3 5 6 7");
}
END_TEST

START_TEST(nothing_selected_changes_nothing)
{
	struct tt_staged *a = full("i8", "5", "3", "0");

	put(a, "0:0", "", "1");
	put(a, "[]", "0", "");
	put(a, "4:2", "1", "8");
	ck_assert(!info_of(a).has_changes);
	tables(a, "0 0 / 0 0");
}
END_TEST

/* NumPy checks it, so a mistake is told whatever is selected. */
START_TEST(a_value_must_fit_also_when_nothing_is_selected)
{
	struct tt_staged *a = full("i8", "5", "3", "0");
	struct tt_staged *b = full("i8", "0,5", "3,3", "0");

	ck_assert_int_eq(try_put(a, "0:0", "3", "1 2 3"), TT_E_MISMATCH);
	ck_assert_int_eq(try_put(a, "[]", "2", "1 2"), TT_E_MISMATCH);
	ck_assert_int_eq(try_put(b, "...", "3", "1 2 3"), TT_E_MISMATCH);
	put(b, "...", "5", "0..4");
}
END_TEST

START_TEST(what_is_staged_is_not_staged_again)
{
	struct tt_staged *a = base("i8", "9", "3", "0", "0..8");

	put(a, "::2", "", "-1");
	ck_assert_uint_eq(info_of(a).staged, 1);
	tables(a, "2 2 2 / 0 3 6");
	put(a, "::3", "", "-2");
	ck_assert_uint_eq(info_of(a).staged, 1);
	gives(a, "...", "9: -2 1 -1 -2 -1 5 -2 7 -1");
}
END_TEST

START_TEST(a_read_only_array_refuses)
{
	struct tt_staged *a = base("i8", "5", "3", "0", "0..4"), *b;
	struct tt_nd one = nd_of("i8", "1", "9");
	struct tt_staged *plain = full("i8", "5", "3", "0");

	tt_staged_set_read_only(a);
	ck_assert(!info_of(a).writable);
	ck_assert_int_eq(try_put(a, "0", "", "1"), TT_E_MISUSE);
	ck_assert_int_eq(try_resize(a, "6"), TT_E_MISUSE);
	ck_assert_int_eq(tt_staged_append(a, &one, NULL), TT_E_MISUSE);
	ck_assert_int_eq(tt_staged_load(a, NULL), TT_E_MISUSE);
	ck_assert_int_eq(tt_staged_commit(a, tt_staged_alloc_memory, NULL, 0, NULL),
			 TT_E_MISUSE);
	tables(a, "1 1 / 0 3");
	gives(a, "...", "5: 0 1 2 3 4");
	b = copy_of(a);
	ck_assert(info_of(b).writable);
	put(b, "0", "", "1");
	gives(a, "0", "0");
	tt_staged_set_read_only(plain);
	ck_assert_int_eq(tt_staged_load(plain, NULL), TT_OK);
}
END_TEST

/* Elements without meaning: structs with padding, strings, odd sizes. */
START_TEST(elements_are_bytes)
{
	struct pair {
		int8_t a;
		int32_t b[2];
	} fill, value, out;
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	const uint64_t shape[] = { 3, 2 }, chunk[] = { 2, 2 };
	struct tt_index at[] = { TT_INDEX_AT(2), TT_INDEX_AT(1) };
	struct tt_nd nd = { .data = &value };
	struct tt_staged *a;

	memset(&fill, 0xee, sizeof(fill));
	memset(&value, 0x11, sizeof(value));
	opts.element = (struct tt_element){ TT_VOID, false, sizeof(fill) };
	opts.fill = &fill;
	opts.rank = 2;
	opts.shape = shape;
	opts.chunk = chunk;
	ck_assert_int_eq(tt_staged_create(&a, &opts, NULL), TT_OK);
	keep(a);
	nd.element = opts.element;
	ck_assert_int_eq(tt_staged_set(a, at, 2, &nd, NULL), TT_OK);
	nd.data = &out;
	ck_assert_int_eq(tt_staged_get(a, at, 2, &nd, NULL), TT_OK);
	ck_assert_mem_eq(&out, &value, sizeof(out));
	at[1].start = 0;
	ck_assert_int_eq(tt_staged_get(a, at, 2, &nd, NULL), TT_OK);
	ck_assert_mem_eq(&out, &fill, sizeof(out));
	nd.element.bytes = 8;
	ck_assert_int_eq(tt_staged_set(a, at, 2, &nd, NULL), TT_E_DTYPE);
}
END_TEST

START_TEST(fixed_strings_with_a_fill_of_their_own)
{
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	const uint64_t shape[] = { 5 }, chunk[] = { 2 };
	struct tt_index at = TT_INDEX_AT(2);
	char text[] = { 'a', 0, 0 }, all[15];
	struct tt_nd nd = { .data = text };
	struct tt_staged *a;
	uint64_t count = 5;

	opts.element = (struct tt_element){ 'S', false, 3 };
	opts.fill = "zzz";
	opts.rank = 1;
	opts.shape = shape;
	opts.chunk = chunk;
	ck_assert_int_eq(tt_staged_create(&a, &opts, NULL), TT_OK);
	keep(a);
	nd.element = opts.element;
	ck_assert_int_eq(tt_staged_set(a, &at, 1, &nd, NULL), TT_OK);
	commit(a);
	ck_assert_int_eq(tt_nd_c_order(&nd, opts.element, 1, &count, all), TT_OK);
	ck_assert_int_eq(tt_staged_get(a, NULL, 0, &nd, NULL), TT_OK);
	ck_assert_mem_eq(all, "zzzzzza\0\0zzzzzz", 15);
	tables(a, "0 1 0 / 0 0 0");
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, partial_and_whole_chunks);
	tcase_add_test(tc, a_plan_reads_only_what_stays);
	tcase_add_test(tc, base_memory_is_never_written);
	tcase_add_test(tc, values_are_broadcast);
	tcase_add_test(tc, values_that_do_not_fit);
	tcase_add_test(tc, of_a_place_named_twice_the_last_value_stays);
	tcase_add_test(tc, unordered_lists);
	tcase_add_test(tc, whole_chunks_that_are_apart);
	tcase_add_test(tc, numbers_are_converted_as_c_does);
	tcase_add_test(tc, a_result_may_be_written_over_its_source);
	tcase_add_test(tc, a_value_inside_the_array_is_read_first);
	tcase_add_test(tc, nothing_selected_changes_nothing);
	tcase_add_test(tc, a_value_must_fit_also_when_nothing_is_selected);
	tcase_add_test(tc, what_is_staged_is_not_staged_again);
	tcase_add_test(tc, a_read_only_array_refuses);
	tcase_add_test(tc, elements_are_bytes);
	tcase_add_test(tc, fixed_strings_with_a_fill_of_their_own);
}

int main(void)
{
	return help_run("staged writes", add);
}
