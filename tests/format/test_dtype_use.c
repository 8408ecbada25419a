/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a type that was read: equality, leaves, selections, padding, references. */
#include "format/literal.h"
#include "format_help.h"

START_TEST(equality_looks_at_the_bytes)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} cases[] = {
		{ "'<f8'", "'=f8'", true },
		{ "'<i1'", "'>i1'", true },
		{ "'<f8'", "'>f8'", false },
		{ "'<f8'", "'<i8'", false },
		{ "'<i8'", "'<M8[ns]'", false },
		{ "'<M8[us]'", "'<M8[ns]'", false },
		{ "'<M8[us]'", "'<M8[25us]'", false },
		{ "'<M8'", "'<M8[ns]'", false },
		{ "'S4'", "'V4'", false },
		{ "'<U2'", "'>U2'", false },
		{ "a:i4", "i4", false },
		{ "a:i4", "b:i4", false },
		{ "a:i4", "[(('title', 'a'), '<i4')]", true },
		{ "a:i4,b:i4", "b:i4,a:i4", false },
		{ "a:i4,:V4", "a:i4", false },
		{ "a:i1,:V1,b:i1", "a:i1,b:i1,:V1", false },
		{ "a:i4[2,3]", "a:i4[3,2]", false },
		{ "a:i4[6]", "a:i4[2,3]", false },
		{ "a:i4[1]", "a:i4", false },
		{ "a:i4[2,3]", "[('a', ('i4', (3,)), (2,))]", true },
		{ "a:{x:i4}", "a:{y:i4}", false },
		{ "a:{x:i4}[2]", "a:{x:i4}[2]", true },
	};

	for (size_t i = 0; i < TTI_LEN(cases); i++) {
		tti_auto_dtype *a = parsed(cases[i].a, false),
			       *b = parsed(cases[i].b, false);

		ck_assert_msg(tt_dtype_equal(a, b) == cases[i].equal, "%s and %s",
			      cases[i].a, cases[i].b);
		ck_assert(tt_dtype_equal(b, a) == cases[i].equal && tt_dtype_equal(a, a));
	}
}
END_TEST

static void check_leaf(const struct tt_dtype *dtype, size_t i, const char *name,
		       size_t offset, uint64_t count)
{
	const struct tt_leaf *leaf = tt_dtype_leaf(dtype, i);

	ck_assert_str_eq(leaf->name, name);
	ck_assert_uint_eq(leaf->offset, offset);
	ck_assert_uint_eq(leaf->count, count);
}

START_TEST(leaves_are_the_plain_elements_in_order)
{
	tti_auto_dtype *dtype = parsed(
		"a:i1,n:{x:i4,d:f8[2,2]},c:{p:i2,q:{r:U2}[2]}[2],:V4,z:M8[5s]", false);

	ck_assert_uint_eq(tt_dtype_leaf_count(dtype), 10);
	check_leaf(dtype, 0, "a", 0, 1);
	check_leaf(dtype, 1, "n.x", 1, 1);
	check_leaf(dtype, 2, "n.d", 5, 4);
	check_leaf(dtype, 3, "c[0].p", 37, 1);
	check_leaf(dtype, 4, "c[0].q[0].r", 39, 1);
	check_leaf(dtype, 5, "c[0].q[1].r", 47, 1);
	check_leaf(dtype, 6, "c[1].p", 55, 1);
	check_leaf(dtype, 8, "c[1].q[1].r", 65, 1);
	check_leaf(dtype, 9, "z", 77, 1);
	ck_assert_uint_eq(tt_dtype_leaf(dtype, 2)->rank, 2);
	ck_assert_uint_eq(tt_dtype_leaf(dtype, 2)->shape[1], 2);
	ck_assert_uint_eq(tt_dtype_leaf(dtype, 2)->size, 8);
	ck_assert_int_eq(tt_dtype_leaf(dtype, 9)->unit, TT_UNIT_s);
	ck_assert_uint_eq(tt_dtype_leaf(dtype, 9)->unit_step, 5);
	ck_assert_ptr_null(tt_dtype_leaf(dtype, 10));
	ck_assert_ptr_null(tt_dtype_field(dtype, 4));
}
END_TEST

START_TEST(a_row_without_fields_is_one_leaf)
{
	tti_auto_dtype *plain = parsed(">u2", false), *sub = NULL, *twice = NULL,
		       *one = NULL;
	static const uint64_t shape[] = { 3, 4 };

	check_leaf(plain, 0, "value", 0, 1);
	ck_assert_int_eq(tt_dtype_subarray(&sub, plain, 2, shape, NULL), TT_OK);
	check_leaf(sub, 0, "value", 0, 12);
	ck_assert_uint_eq(tt_dtype_size(sub), 24);
	ck_assert_uint_eq(tt_dtype_rank(sub), 2);
	ck_assert_ptr_eq(tt_dtype_base(sub), plain);
	ck_assert_ptr_eq(tt_dtype_base(plain), plain);
	ck_assert_int_eq(tt_dtype_kind(sub), TT_UINT);
	ck_assert_int_eq(tt_dtype_order(sub), '>');
	ck_assert_int_eq(tt_dtype_subarray(&twice, sub, 1, shape, NULL), TT_OK);
	ck_assert_uint_eq(tt_dtype_leaf(twice, 0)->rank, 3);
	ck_assert_uint_eq(tt_dtype_leaf(twice, 0)->shape[2], 4);
	ck_assert_int_eq(tt_dtype_subarray(&one, plain, 0, NULL, NULL), TT_OK);
	ck_assert_ptr_eq(one, plain);
}
END_TEST

START_TEST(sub_arrays_are_bounded)
{
	tti_auto_dtype *plain = parsed("f8", false), *sub = NULL, *more = NULL;
	uint64_t shape[TT_MAX_RANK + 1];
	struct tt_error err;

	for (size_t i = 0; i < TTI_LEN(shape); i++)
		shape[i] = 1;
	ck_assert_int_eq(tt_dtype_subarray(&sub, plain, TT_MAX_RANK + 1, shape, &err),
			 TT_E_DTYPE);
	ck_assert_int_eq(tt_dtype_subarray(&sub, plain, TT_MAX_RANK, shape, &err), TT_OK);
	ck_assert_int_eq(tt_dtype_subarray(&more, sub, 1, shape, &err), TT_E_DTYPE);
	shape[1] = UINT64_C(1) << 60;
	ck_assert_int_eq(tt_dtype_subarray(&more, plain, 2, shape, &err), TT_E_DTYPE);
	shape[1] = 0;
	ck_assert_int_eq(tt_dtype_subarray(&more, plain, 2, shape, &err), TT_E_DTYPE);
	ck_assert_ptr_null(more);
}
END_TEST

static void check_select(const char *text, const char *const *names, size_t n,
			 const char *descr)
{
	tti_auto_dtype *dtype = parsed(text, false), *some = NULL;
	struct tt_error err = { 0 };
	int rc = tt_dtype_select(&some, dtype, names, n, &err);

	if (!descr) {
		ck_assert_int_eq(rc, TT_E_RANGE);
		ck_assert_ptr_nonnull(strstr(err.text, names[n - 1]));
		return;
	}
	ck_assert_msg(rc == TT_OK, "%s", err.text);
	ck_assert_str_eq(tt_dtype_descr(some), descr);
	ck_assert(!tt_dtype_has_padding(some));
}

START_TEST(selected_fields_make_a_packed_struct)
{
	static const char text[] = "a:i1,:V7,n:{x:i4,d:f8[2]},c:{p:i2,q:u1}[2]";
	const char *const order[] = { "c[1].p", "a", "n.d" };
	const char *const whole[] = { "n", "c", "c[0]" };
	const char *const bad[] = { "a", "n.y" }, *const out[] = { "c[2].p" };
	const char *const part[] = { "n.d[0]" }, *const value[] = { "value" };
	const char *const dots[] = { "p.q", "p.r" }, *const empty[] = { "" };
	const char *const twice[] = { "a", "a" };
	tti_auto_dtype *dtype = parsed(text, false), *some = NULL;

	check_select(text, order, 3,
		     "[('c[1].p', '<i2'), ('a', '|i1'), ('n.d', '<f8', (2,))]");
	check_select(text, whole, 3,
		     "[('n', [('x', '<i4'), ('d', '<f8', (2,))]), "
		     "('c', [('p', '<i2'), ('q', '|u1')], (2,)), "
		     "('c[0]', [('p', '<i2'), ('q', '|u1')])]");
	check_select(text, bad, 2, NULL);
	check_select(text, out, 1, NULL);
	check_select(text, part, 1, NULL);
	check_select(text, empty, 1, NULL);
	check_select(">f4", value, 1, "[('value', '>f4')]");
	check_select("[('p',[('r','i1')]),('p.q','i2')]", dots, 2,
		     "[('p.q', '<i2'), ('p.r', '|i1')]");
	ck_assert_int_eq(tt_dtype_select(&some, dtype, twice, 2, NULL), TT_E_DTYPE);
	ck_assert_int_eq(tt_dtype_select(&some, dtype, twice, 0, NULL), TT_E_RANGE);
	ck_assert_ptr_null(some);
}
END_TEST

START_TEST(clearing_touches_padding_only)
{
	tti_auto_dtype *dtype = parsed("a:i1,:V3,n:{x:i2,:V1}[2],b:i4,:V2", false);
	static const char mask[] = "x...xx.xx.xxxx.."; /* x: some leaf's */
	unsigned char rows[3 * 16 + 1];
	size_t size = tt_dtype_size(dtype);

	ck_assert_uint_eq(size, 16);
	memset(rows, 0xaa, sizeof(rows));
	tt_dtype_clear_padding(dtype, rows, 3);
	for (size_t i = 0; i < 3 * size; i++)
		ck_assert_uint_eq(rows[i], mask[i % size] == 'x' ? 0xaa : 0);
	ck_assert_uint_eq(rows[3 * size], 0xaa);
	tt_dtype_clear_padding(dtype, NULL, 0);
}
END_TEST

START_TEST(references_are_counted)
{
	struct tt_dtype *dtype = parsed("a:{x:i4}[2]", false);
	struct tt_dtype *inner = tt_dtype_ref(tt_dtype_field(dtype, 0)->dtype);

	ck_assert_ptr_eq(tt_dtype_ref(dtype), dtype);
	tt_dtype_unref(dtype);
	ck_assert_str_eq(tt_dtype_descr(dtype), "[('a', [('x', '<i4')], (2,))]");
	tt_dtype_unref(dtype);
	check_leaf(inner, 0, "[0].x", 0, 1);
	tt_dtype_unref(inner);
	tt_dtype_unref(NULL);
}
END_TEST

START_TEST(literals_are_read_token_by_token)
{
	static const char text[] = " True , \"a\" 'b' : 12L ( Truex";
	struct tti_literal lit = {
		text, strlen(text), 0, false, "test", TT_E_FORMAT, NULL
	};
	tti_auto_text out = { 0 };
	uint64_t n = 0;

	ck_assert(tti_literal_word(&lit, "True") && tti_literal_take(&lit, ','));
	ck_assert_int_eq(tti_literal_string(&lit, &out), TT_OK);
	ck_assert_str_eq(out.bytes, "ab");
	ck_assert_int_eq(tti_literal_expect(&lit, ':'), TT_OK);
	ck_assert(tti_literal_u64(&lit, &n) == TT_OK && n == 12);
	ck_assert(tti_literal_take(&lit, '(') && !tti_literal_word(&lit, "True"));
	ck_assert_int_eq(tti_literal_expect(&lit, ')'), TT_E_FORMAT);
	ck_assert(!tti_literal_at_end(&lit));
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, equality_looks_at_the_bytes);
	tcase_add_test(tc, leaves_are_the_plain_elements_in_order);
	tcase_add_test(tc, a_row_without_fields_is_one_leaf);
	tcase_add_test(tc, sub_arrays_are_bounded);
	tcase_add_test(tc, selected_fields_make_a_packed_struct);
	tcase_add_test(tc, clearing_touches_padding_only);
	tcase_add_test(tc, references_are_counted);
	tcase_add_test(tc, literals_are_read_token_by_token);
}

int main(void)
{
	return format_suite("dtype use", add);
}
