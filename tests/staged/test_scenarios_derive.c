/* SPDX-License-Identifier: Apache-2.0 */
/* load, changes, and the arrays made from arrays. */
#include "staged/help.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

START_TEST(load_empties_the_bases_once)
{
	struct tt_staged *a = base("i8", "2,2", "2,1", "42", "0..3");
	struct tt_staged *b = base("i8", "2", "2", "0", "0 1");

	plan_is(a, TT_PLAN_LOAD, NULL,
		"LoadPlan<append 1 empty slabs, 2 slice transfers among 2 slab pairs, "
		"drop 0 slabs>\n"
		"  slabs.append(empty((4, 1)))  # slabs[3]\n"
		"  # 1 transfers from slabs[1] to slabs[3]\n"
		"  slabs[3][0:2, 0:1] = slabs[1][0:2, 0:1]\n"
		"  # 1 transfers from slabs[2] to slabs[3]\n"
		"  slabs[3][2:4, 0:1] = slabs[2][0:2, 0:1]\n"
		"slab_indices:\n[[3 3]]\nslab_offsets:\n[[0 2]]");
	resize(a, "3,2");
	load(a);
	tables(a, "3 3 0 0 / 0 2 0 0");
	slabs(a, "2,1; 2,1; 2,1; 4,1");
	load(a);
	slabs(a, "2,1; 2,1; 2,1; 4,1");
	gives(a, "...", "3,2: 0 1 2 3 42 42");
	put(b, "...", "", "2");
	slabs(b, "2; 2; 2");
	load(b);
	slabs(b, "2; 2; 2");
}
END_TEST

static char told[4096];

static int tell(void *ctx, const struct tt_staged_change *change)
{
	size_t n = strlen(told);
	int *left = ctx;

	n += (size_t)snprintf(told + n, sizeof(told) - n,
			      "[%" PRIu64 "+%" PRIu64 ",%" PRIu64 "+%" PRIu64 "] %" PRIu64
			      "[%" PRIu64 ",%" PRIu64 "]",
			      change->start[0], change->count[0], change->start[1],
			      change->count[1], change->slab, change->from[0],
			      change->from[1]);
	if (change->data)
		n += (size_t)snprintf(told + n, sizeof(told) - n, "=%" PRId64,
				      *(int64_t *)change->data->data);
	snprintf(told + n, sizeof(told) - n, " ");
	return (*left)-- > 0 ? 0 : 77;
}

START_TEST(changes_are_told_row_by_row)
{
	struct tt_staged *a = base("i8", "3,5", "2,2", "0", "0..14");
	int left = 100;

	resize(a, "3,7");
	put(a, "0,0", "", "8");
	told[0] = '\0';
	ck_assert_int_eq(tt_staged_changes(a, tell, &left, NULL), TT_OK);
	ck_assert_str_eq(told, "[0+2,0+2] 5[0,0]=8 [0+2,2+2] 2[0,0] [0+2,4+2] 4[0,0]=4 "
			       "[2+1,0+2] 1[2,0] [2+1,2+2] 2[2,0] [2+1,4+2] 4[2,0]=14 ");
	left = 1;
	told[0] = '\0';
	ck_assert_int_eq(tt_staged_changes(a, tell, &left, NULL), 77);
	plan_is(base("i8", "3,3", "2,2", "0", "0..8"), TT_PLAN_CHANGES, NULL,
		"ChangesPlan<4 chunks>\n"
		"  base[0:2, 0:2] = slabs[1][0:2, 0:2]\n"
		"  base[0:2, 2:3] = slabs[2][0:2, 0:1]\n"
		"  base[2:3, 0:2] = slabs[1][2:3, 0:2]\n"
		"  base[2:3, 2:3] = slabs[2][2:3, 0:1]");
}
END_TEST

START_TEST(no_elements_but_a_base)
{
	struct tt_nd nd = nd_of("i8", "4", "0..3");
	struct tt_staged *a = tabled("0", "2", &nd, "", "");
	int left = 0;

	told[0] = '\0';
	ck_assert_int_eq(tt_staged_changes(a, tell, &left, NULL), TT_OK);
	ck_assert_str_eq(told, "");
	load(a);
	ck_assert_uint_eq(info_of(a).slabs, 2);
	gives(a, "...", "0:");
	ck_assert_int_eq(tt_staged_hash(a, 0, NULL), TT_OK);
	ck_assert_int_eq(try_get(a, "0"), TT_E_RANGE);
	commit(a);
	ck_assert_uint_eq(info_of(a).slabs, 2);
}
END_TEST

START_TEST(a_copy_shares_until_one_side_writes)
{
	struct tt_staged *x = full("i8", "4", "2", "0"), *y;

	put(x, "0", "", "1");
	y = copy_of(x);
	ck_assert_ptr_eq(info_of(x).slab_indices, info_of(y).slab_indices);
	put(y, "1", "", "5");
	put(x, "0", "", "9");
	gives(x, "...", "4: 9 0 0 0");
	gives(y, "...", "4: 1 5 0 0");
	put(y, "3", "", "7");
	ck_assert_ptr_ne(info_of(x).slab_indices, info_of(y).slab_indices);
	tables(x, "1 0 / 0 0");
	tables(y, "1 2 / 0 0");
	resize(x, "1");
	gives(y, "...", "4: 1 5 0 7");
}
END_TEST

static struct tt_staged *astype(struct tt_staged *a, const char *element)
{
	struct tt_staged *out;

	ck_assert_int_eq(tt_staged_astype(&out, a, element_of(element), NULL, NULL),
			 TT_OK);
	return keep(out);
}

START_TEST(another_element)
{
	struct tt_staged *a = base("f4", "2,3", "2,1", "1.5", "0 1 2.5 3 4 -5.9"), *b;

	resize(a, "2,4");
	put(a, "0,0", "", "9.9");
	tables(a, "4 2 3 0 / 0 0 0 0");
	b = astype(a, "i2");
	tables(b, "4 5 5 0 / 0 0 2 0");
	slabs(b, "2,1; None; None; None; 2,1; 4,1");
	ck_assert_uint_eq(info_of(b).element.bytes, 2);
	gives(b, "...", "2,4: 9 1 2 1 3 4 -5 1");
	gives(a, "...", "2,4: 9.9 1 2.5 1.5 3 4 -5.9 1.5");
	put(b, "0", "", "300");
	gives(b, "...", "2,4: 300 300 300 300 3 4 -5 1");
	ck_assert_ptr_eq(info_of(astype(a, "f4")).slab_indices, info_of(a).slab_indices);
	commit(b);
	gives(b, "...", "2,4: 300 300 300 300 3 4 -5 1");
}
END_TEST

static int swap(struct tt_staged *a, const char *element, const struct tt_nd *nd,
		uint64_t count, struct tt_staged **out)
{
	struct tt_base_slab slab = { .element = nd->element,
				     .rank = nd->rank,
				     .memory = nd->data };

	memcpy(slab.shape, nd->shape, sizeof(slab.shape));
	memcpy(slab.strides, nd->strides, sizeof(slab.strides));
	return tt_staged_astype(out, a, element_of(element),
				&(struct tt_new_bases){ &slab, count }, NULL);
}

START_TEST(bases_are_swapped)
{
	struct tt_nd old = nd_of("f4", "4", "0..3"), wide = nd_of("i2", "4", "5..8");
	struct tt_nd wrong_shape = nd_of("i2", "5", "0..4"), none = wide;
	struct tt_staged *a = tabled("3", "2", &old, "1 1", "0 2"), *b;
	uint64_t count;

	put(a, "2", "", "1.5");
	ck_assert_int_eq(swap(a, "i2", &wide, 0, &b), TT_E_MISMATCH);
	ck_assert_int_eq(swap(a, "i2", &old, 1, &b), TT_E_DTYPE);
	ck_assert_int_eq(swap(a, "i2", &wrong_shape, 1, &b), TT_E_MISMATCH);
	none.data = NULL;
	ck_assert_int_eq(swap(a, "i2", &none, 1, &b), TT_E_MISUSE);
	ck_assert_ptr_null(b);
	ck_assert_int_eq(swap(a, "i2", &wide, 1, &b), TT_OK);
	keep(b);
	tables(b, "1 2 / 0 0");
	gives(b, "...", "3: 5 6 1");
	ck_assert_ptr_null(tt_staged_digests(b, 1, &count));
	gives(a, "...", "3: 0 1 1.5");
}
END_TEST

static struct tt_staged *refill(struct tt_staged *a, const char *element,
				const char *fill)
{
	struct tt_staged *out;

	ck_assert_int_eq(tt_staged_refill(&out, a, nd_of(element, "", fill).data, NULL),
			 TT_OK);
	return keep(out);
}

START_TEST(another_fill_value)
{
	struct tt_staged *a = base("i8", "1,2", "1,2", "42", "1 42"), *b;

	resize(a, "2,3");
	a = base("i8", "2,3", "2,1", "42", "1 42 2 42 42 42");
	b = refill(a, "i8", "99");
	gives(b, "...", "2,3: 1 99 2 99 99 99");
	gives(a, "...", "2,3: 1 42 2 42 42 42");
	ck_assert_int_eq(*(const int64_t *)info_of(b).fill, 99);
	a = full("i8", "2,3", "2,1", "42");
	put(a, "0,0", "", "1");
	put(a, "0,2", "", "2");
	b = refill(a, "i8", "99");
	gives(b, "...", "2,3: 1 99 2 99 99 99");
	tables(b, "1 0 2 / 0 0 0");
	resize(b, "3,3");
	gives(b, "2", "3: 99 99 99");
}
END_TEST

START_TEST(nan_is_no_fill_value_to_replace)
{
	struct tt_staged *a = full("f8", "6", "2", "nan"), *b;

	put(a, "0:3", "3", "1 nan 3");
	gives(a, "...", "6: 1 nan 3 nan nan nan");
	b = refill(a, "f8", "7");
	gives(b, "...", "6: 1 nan 3 nan 7 7");
	/* but all bytes equal is a full chunk */
	put(a, "2:4", "", "nan");
	commit(a);
	tables(a, "1 0 0 / 0 0 0");
	resize(a, "7");
	gives(a, "5:", "2: nan nan");
}
END_TEST

START_TEST(other_chunks)
{
	static const uint64_t chunk[] = { 1, 3 };
	struct tt_staged *a = full("i8", "3,6", "3,1", "5"), *b;

	put(a, ":,1", "3", "1 2 3");
	ck_assert_int_eq(tt_staged_rechunk(&b, a, chunk, NULL), TT_OK);
	keep(b);
	tables(b, "1 0 1 0 1 0 / 0 0 1 0 2 0");
	gives(b, "...", "3,6: 5 1 5 5 5 5 5 2 5 5 5 5 5 3 5 5 5 5");
	gives(a, ":,1", "3: 1 2 3");
}
END_TEST

static struct tt_staged *over(struct tt_nd *nd, bool writable)
{
	static const uint64_t chunk[] = { 2, 2 };
	struct tt_staged *a;

	ck_assert_int_eq(
		tt_staged_from_array(
			&a,
			&(struct tt_staged_over){ sizeof(struct tt_staged_over), nd,
						  chunk, NULL, TT_FROM_STAGED, writable },
			NULL),
		TT_OK);
	return keep(a);
}

START_TEST(an_array_as_staged_slabs_is_written_itself)
{
	struct tt_nd nd = nd_of("i8", "3,5", "0..14");
	struct tt_staged *a = over(&nd, true);

	slabs(a, "2,2; 3,2; 3,2; 3,1");
	tables(a, "1 2 3 1 2 3 / 0 0 0 2 2 2");
	ck_assert_uint_eq(info_of(a).bases, 0);
	put(a, "...", "", "-1");
	for (int i = 0; i < 15; i++)
		ck_assert_int_eq(((int64_t *)nd.data)[i], -1);
	slabs(a, "2,2; 3,2; 3,2; 3,1");
}
END_TEST

START_TEST(unless_it_may_not_be)
{
	struct tt_nd nd = nd_of("i8", "3,5", "0..14");
	struct tt_staged *a = over(&nd, false);

	put(a, "...", "", "-1");
	gives(a, "2,4", "-1");
	for (int i = 0; i < 15; i++)
		ck_assert_int_eq(((int64_t *)nd.data)[i], i);
}
END_TEST

START_TEST(an_array_as_bases)
{
	struct tt_staged *a = base("i8", "3,5", "2,2", "0", "0..14");

	slabs(a, "2,2; 3,2; 3,2; 3,1");
	tables(a, "1 2 3 1 2 3 / 0 0 0 2 2 2");
	ck_assert(!info_of(a).has_changes);
	slabs(base("i8", "0,5", "2,2", "0", ""), "2,2");
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, load_empties_the_bases_once);
	tcase_add_test(tc, changes_are_told_row_by_row);
	tcase_add_test(tc, no_elements_but_a_base);
	tcase_add_test(tc, a_copy_shares_until_one_side_writes);
	tcase_add_test(tc, another_element);
	tcase_add_test(tc, bases_are_swapped);
	tcase_add_test(tc, another_fill_value);
	tcase_add_test(tc, nan_is_no_fill_value_to_replace);
	tcase_add_test(tc, other_chunks);
	tcase_add_test(tc, an_array_as_staged_slabs_is_written_itself);
	tcase_add_test(tc, unless_it_may_not_be);
	tcase_add_test(tc, an_array_as_bases);
}

int main(void)
{
	return help_run("staged derive", add);
}
