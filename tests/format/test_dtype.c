/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/dtype.h"
#include "format/literal.h"

static struct tt_dtype *parsed(const char *text, bool align)
{
	struct tt_dtype *dtype;
	struct tt_error err = { 0 };
	int rc = tt_dtype_parse(&dtype, text, strlen(text), align, &err);

	ck_assert_msg(rc == TT_OK, "%s: %s", text, err.text);
	return dtype;
}

/* What text prints as; also: printing and parsing once more changes nothing. */
static void check_descr(const char *text, bool align, const char *descr, size_t size)
{
	tti_auto_dtype *dtype = parsed(text, align);
	tti_auto_dtype *again = parsed(tt_dtype_descr(dtype), false);

	ck_assert_str_eq(tt_dtype_descr(dtype), descr);
	ck_assert_uint_eq(tt_dtype_size(dtype), size);
	ck_assert_str_eq(tt_dtype_descr(again), descr);
	ck_assert(tt_dtype_equal(dtype, again));
	ck_assert(tt_dtype_is_aligned(dtype) == tt_dtype_is_aligned(again));
}

/* The error text must hold each of the words. */
static void check_refused(const char *text, const char *words)
{
	struct tt_dtype *dtype = (struct tt_dtype *)&dtype;
	struct tt_error err = { 0 };

	ck_assert_msg(tt_dtype_parse(&dtype, text, strlen(text), false, &err) ==
			      TT_E_DTYPE,
		      "not refused: %s", text);
	ck_assert_ptr_null(dtype);
	ck_assert_int_eq(err.code, TT_E_DTYPE);
	ck_assert_msg(strstr(err.text, words) != NULL, "%s: '%s' lacks '%s'", text,
		      err.text, words);
	ck_assert_int_eq(tt_dtype_parse(&dtype, text, strlen(text), false, NULL),
			 TT_E_DTYPE);
}

static const struct {
	const char *code, *descr;
	size_t size;
} plain_types[] = {
	{ "'<f8'", "'<f8'", 8 },
	{ "'''<f8''' # eight", "'<f8'", 8 },
	{ "<f8", "'<f8'", 8 },
	{ "f8", "'<f8'", 8 },
	{ "=f8", "'<f8'", 8 },
	{ "|f8", "'<f8'", 8 },
	{ ">f8", "'>f8'", 8 },
	{ " 'i4' ", "'<i4'", 4 },
	{ "u\"\\x3ci4\"", "'<i4'", 4 },
	{ "b'<' 'i4'", "'<i4'", 4 },
	{ "'>b1'", "'|b1'", 1 },
	{ "?", "'|b1'", 1 },
	{ "<i1", "'|i1'", 1 },
	{ ">u1", "'|u1'", 1 },
	{ "b", "'|i1'", 1 },
	{ "f2", "'<f2'", 2 },
	{ ">f16", "'>f16'", 16 },
	{ "c8", "'<c8'", 8 },
	{ "c16", "'<c16'", 16 },
	{ "c32", "'<c32'", 32 },
	{ "S12", "'|S12'", 12 },
	{ ">S12", "'|S12'", 12 },
	{ "V7", "'|V7'", 7 },
	{ "<U8", "'<U8'", 32 },
	{ ">U8", "'>U8'", 32 },
	{ "M8", "'<M8'", 8 },
	{ "M8[generic]", "'<M8'", 8 },
	{ "M8[ns]", "'<M8[ns]'", 8 },
	{ "M8[1ns]", "'<M8[ns]'", 8 },
	{ ">M8[25us]", "'>M8[25us]'", 8 },
	{ "m8[D]", "'<m8[D]'", 8 },
	{ "m8[\xce\xbcs]", "'<m8[us]'", 8 },
	{ "datetime64[ms]", "'<M8[ms]'", 8 },
	{ "timedelta64[m]", "'<m8[m]'", 8 },
	{ "bool", "'|b1'", 1 },
	{ "int8", "'|i1'", 1 },
	{ "uint64", "'<u8'", 8 },
	{ "float16", "'<f2'", 2 },
	{ "float64", "'<f8'", 8 },
	{ "S2147483647", "'|S2147483647'", 2147483647 },
};

START_TEST(plain_types_print_as_numpy_does)
{
	for (size_t i = 0; i < TTI_LEN(plain_types); i++)
		check_descr(plain_types[i].code, false, plain_types[i].descr,
			    plain_types[i].size);
}
END_TEST

START_TEST(structs_print_as_numpy_does)
{
	check_descr("[('ts', '<i8'), ('px', '<f8')]", false,
		    "[('ts', '<i8'), ('px', '<f8')]", 16);
	check_descr("[['a','i4'],[\"b\",'u1',],]", false, "[('a', '<i4'), ('b', '|u1')]",
		    5);
	check_descr("[('a','i4',(2,3L)),('b','i4',[2]),('c','i4',2),('d','i4',())]",
		    false,
		    "[('a', '<i4', (2, 3)), ('b', '<i4', (2,)), ('c', '<i4', (2,)), "
		    "('d', '<i4')]",
		    44);
	check_descr("[('a',('<f8',(3,)),(2,))]", false, "[('a', ('<f8', (3,)), (2,))]",
		    48);
	check_descr("[(('t','a'),'<f8'),((None,'b'),'<f8'),(('','c'),'i1')]", false,
		    "[(('t', 'a'), '<f8'), ('b', '<f8'), (('', 'c'), '|i1')]", 17);
	check_descr("[('a','i1'),('','|V3'),('b','i4'),('','V8')]", false,
		    "[('a', '|i1'), ('', '|V3'), ('b', '<i4'), ('', '|V8')]", 16);
	check_descr("[('','V2'),('','V3'),('a',[('x','i1'),('','V1')])]", false,
		    "[('', '|V5'), ('a', [('x', '|i1'), ('', '|V1')])]", 7);
	/* what NumPy takes for padding and what it does not */
	check_descr("[('','<f8',(3,)),('a','i1')]", false, "[('', '|V24'), ('a', '|i1')]",
		    25);
	check_descr("[('','<i4')]", false, "[('', '<i4')]", 4);
	check_descr("[('pad','V4'),('a','i1')]", false, "[('pad', '|V4'), ('a', '|i1')]",
		    5);
}
END_TEST

START_TEST(names_are_quoted_as_repr_does)
{
	check_descr(
		"[('it\\'s','i1'),('say \"x\"','i1'),('\\'\"','i1'),('\\\\','i1')]",
		false,
		"[(\"it's\", '|i1'), ('say \"x\"', '|i1'), ('\\'\"', '|i1'), ('\\\\', "
		"'|i1')]",
		4);
	check_descr("[('\\t\\n\\r\\x01\\x7f','i1')]", false,
		    "[('\\t\\n\\r\\x01\\x7f', '|i1')]", 1);
	check_descr("[('\\xe9\\u0416\\U0001f600','i1')]", false,
		    "[('\xc3\xa9\xd0\x96\xf0\x9f\x98\x80', '|i1')]", 1);
	check_descr("[('\xc2\xa0\xc2\xad\\u200b\\U000e0001','i1')]", false,
		    "[('\\xa0\\xad\\u200b\\U000e0001', '|i1')]", 1);
	check_descr("[(r'a\\n','i1'),('\\q\\101','i1')]", false,
		    "[('a\\\\n', '|i1'), ('\\\\qA', '|i1')]", 2);
}
END_TEST

START_TEST(short_form_is_packed_and_little_endian)
{
	check_descr(
		"ts:i8,sym:S8,px:f8,bid:f8[10]", false,
		"[('ts', '<i8'), ('sym', '|S8'), ('px', '<f8'), ('bid', '<f8', (10,))]",
		104);
	check_descr(" a : i1 , b:>f8[2,3], c:f8[2][3], t:M8[ns], u:M8[25us][4],v:m8[2]",
		    false,
		    "[('a', '|i1'), ('b', '>f8', (2, 3)), ('c', '<f8', (2, 3)), "
		    "('t', '<M8[ns]'), ('u', '<M8[25us]', (4,)), ('v', '<m8', (2,))]",
		    153);
	check_descr("a:{x:i4,y:{z:U3}[2]},:V3", false,
		    "[('a', [('x', '<i4'), ('y', [('z', '<U3')], (2,))]), ('', '|V3')]",
		    31);
	check_descr("u:i4,b:float32,r:bool", false,
		    "[('u', '<i4'), ('b', '<f4'), ('r', '|b1')]", 9);
}
END_TEST

START_TEST(align_gives_the_layout_of_c)
{
	struct inner {
		char x;
		double y;
	};
	struct outer {
		char a;
		int b;
		struct inner c[2];
		char d;
	};
	tti_auto_dtype *dtype = parsed("a:i1,b:i4,c:{x:i1,y:f8}[2],d:S1", true);

	ck_assert_uint_eq(tt_dtype_size(dtype), sizeof(struct outer));
	ck_assert_uint_eq(tt_dtype_field(dtype, 1)->offset, offsetof(struct outer, b));
	ck_assert_uint_eq(tt_dtype_field(dtype, 2)->offset, offsetof(struct outer, c));
	ck_assert_uint_eq(tt_dtype_field(dtype, 3)->offset, offsetof(struct outer, d));
	ck_assert(tt_dtype_is_aligned(dtype) && tt_dtype_has_padding(dtype));
	check_descr(
		"a:i1,b:i4,c:S3", true,
		"[('a', '|i1'), ('', '|V3'), ('b', '<i4'), ('c', '|S3'), ('', '|V1')]",
		12);
}
END_TEST

START_TEST(alignment_is_deduced_from_the_text)
{
	static const struct {
		const char *text;
		bool is_aligned, has_padding;
	} cases[] = {
		{ "[('a','i1'),('','V3'),('b','i4')]", true, true },
		{ "[('a','i1'),('','V2'),('b','i4')]", false, true },
		{ "[('a','i4'),('b','i1')]", false, false },
		{ "[('a','i4'),('b','i1'),('','V3')]", true, true },
		{ "[('a','i4'),('b','i1'),('','V7')]", false, true },
		{ "[('a','i8'),('b','f8')]", true, false },
		{ "[('a','i1'),('s',[('x','i4'),('y','i1')])]", false, false },
		{ "[('a','c16'),('b','S3'),('','V5')]", true, true },
	};

	for (size_t i = 0; i < TTI_LEN(cases); i++) {
		tti_auto_dtype *dtype = parsed(cases[i].text, false);

		ck_assert_msg(tt_dtype_is_aligned(dtype) == cases[i].is_aligned, "%s",
			      cases[i].text);
		ck_assert_msg(tt_dtype_has_padding(dtype) == cases[i].has_padding, "%s",
			      cases[i].text);
	}
}
END_TEST

START_TEST(headers_hold_nothing_but_a_descr)
{
	static const char *const bad[] = { "f8", "a:i4",
					   "{'names':['a'],'formats':['i4']}", "" };
	static const char good[] = "[('''a''', # c\n 'i4'),]";
	struct tt_dtype *dtype;

	for (size_t i = 0; i < TTI_LEN(bad); i++)
		ck_assert_int_eq(
			tti_dtype_parse_descr(&dtype, bad[i], strlen(bad[i]), NULL),
			TT_E_DTYPE);
	ck_assert_int_eq(tti_dtype_parse_descr(&dtype, good, strlen(good), NULL), TT_OK);
	ck_assert_str_eq(tt_dtype_descr(dtype), "[('a', '<i4')]");
	tt_dtype_unref(dtype);
}
END_TEST

START_TEST(dictionary_form_is_read)
{
	check_descr("{'names': ['a', 'b'], 'formats': ['<i4', '<f8'], 'offsets': [0, 8], "
		    "'itemsize': 24}",
		    false, "[('a', '<i4'), ('', '|V4'), ('b', '<f8'), ('', '|V8')]", 24);
	check_descr("{'formats':('i1',('f4',(2,))),'aligned':True,'titles':[None,'t'],"
		    "'names':('a','b'),}",
		    false, "[('a', '|i1'), ('', '|V3'), (('t', 'b'), '<f4', (2,))]", 12);
	check_refused("{'names': ['a', 'b'], 'formats': ['i4', 'i4'], 'offsets': [4, 0]}",
		      "out-of-order");
	check_refused("{'names': ['a'], 'formats': ['i4'], 'itemsize': 3}",
		      "overlapping");
	check_refused("{'names': ['a'], 'formats': ['i4', 'i4']}", "differ in length");
	check_refused("{'names': ['a']}", "both needed");
	check_refused("{'names': ['a'], 'names': ['a']}", "there before");
	check_refused("{'a': ('i4', 0)}", "unknown key 'a'");
	check_refused("{}", "both needed");
}
END_TEST

static const struct {
	const char *text, *words;
} refusals[] = {
	{ "", "empty" },
	{ "   ", "empty" },
	{ "O", "objects are not supported" },
	{ "'|O'", "objects are not supported" },
	{ "[('a', 'O8')]", "objects are not supported" },
	{ "[('a', '|O', (2,))]", "objects are not supported" },
	{ "a:object", "objects are not supported" },
	{ "x8", "unknown type" },
	{ "i3", "no such size" },
	{ "f1", "no such size" },
	{ "c4", "no such size" },
	{ "b2", "no such size" },
	{ "i99999999999999999999", "unknown type" },
	{ "i-4", "unknown type" },
	{ "S", "a length is needed" },
	{ "S0", "a length of 0" },
	{ "'<U0'", "a length of 0" },
	{ "V0", "a length of 0" },
	{ "S2147483648", "too long" },
	{ "U536870912", "too long" },
	{ "U18446744073709551615", "too long" },
	{ "M8[xs]", "unknown unit" },
	{ "M8[]", "whole number" },
	{ "'M8[]'", "expected a unit" },
	{ "M8[ns", "expected a unit" },
	{ "M8[0s]", "1 to 2147483647" },
	{ "M8[2147483648s]", "1 to 2147483647" },
	{ "M8[2generic]", "needs a unit" },
	{ "M4[ns]", "unknown type" },
	{ "'M[ns]'", "unknown type" },
	{ "<", "expected a type" },
	{ "''", "expected a type" },
	{ "'<f8", "does not end" },
	{ "'<f8' x", "nothing more" },
	{ "[]", "without fields" },
	{ "[('', 'V4')]", "without fields" },
	{ "[('a', [])]", "without fields" },
	{ "[('a', '<f8')", "expected ']'" },
	{ "[('a', '<f8'", "expected ')'" },
	{ "[('a' '<f8')]", "expected ','" },
	{ "[('a',)]", "expected a type" },
	{ "['a']", "expected ('name', 'type')" },
	{ "[(1, 'i4')]", "expected a string" },
	{ "[('a', 4)]", "expected a type" },
	{ "[('a', 'i4', (0,))]", "extent 0" },
	{ "[('a', 'i4', (-1,))]", "negative" },
	{ "[('a', 'i4', (2.0,))]", "whole number" },
	{ "[('a', 'i4', (2 3))]", "expected ')'" },
	{ "[('a', 'i4', (99999999999999999999,))]", "too large" },
	{ "[('a', 'i4', (4294967296, 4294967296))]", "overflows" },
	{ "[('a', 'i4', (1000000, 1000000))]", "more than 2147483647 bytes" },
	{ "[('a', 'S2000000000'), ('b', 'S2000000000')]", "more than 2147483647 bytes" },
	{ "[('a', 'i4'), ('a', 'i4')]", "'a' occurs twice" },
	{ "[(('b', 'a'), 'i4'), ('b', 'i4')]", "'b' occurs twice" },
	{ "[(('a', 'a'), 'i4')]", "'a' occurs twice" },
	{ "[(('t', 'a'), 'i4'), (('t', 'b'), 'i4')]", "'t' occurs twice" },
	{ "[('a\\x00b', 'i4')]", "NUL" },
	{ "[('\\ud800', 'i4')]", "no character" },
	{ "[('\\U00110000', 'i4')]", "no character" },
	{ "[('\\xg0', 'i4')]", "hexadecimal" },
	{ "[('\\N{DASH}', 'i4')]", "not supported" },
	{ "[('\xff', 'i4')]", "not UTF-8" },
	{ "('<f8', (3,))", "shape of a row" },
	{ "f8[3]", "shape of a row" },
	{ "('<f8', {'meta': 1})", "metadata" },
	{ "[('a', [('x', 'i1')], (70000,))]", "more than 65536 single values" },
	{ "a:i8,", "expected name:type" },
	{ "a:i8,b", "expected name:type" },
	{ "a:,b:i4", "expected a type" },
	{ "a:i4 b:i4", "unknown type" },
	{ ":i4,b:i4", "without a name" },
	{ "a:i4[", "whole number" },
	{ "a:i4[]", "whole number" },
	{ "a:i4[2", "expected ']'" },
	{ "a:{x:i4", "expected ',' or '}'" },
	{ "a:{}", "expected name:type" },
	{ "i8,f8", "fields need names" },
};

START_TEST(what_is_refused_says_why)
{
	for (size_t i = 0; i < TTI_LEN(refusals); i++)
		check_refused(refusals[i].text, refusals[i].words);
	check_refused("[('px', '<f8'), ('py', '<x8')]", "character 24");
	/* at the field that is too much, not when all of them have been made */
	check_refused("[('a', [('x', 'i1')], (40000,)), ('b', [('x', 'i1')], (40000,)), "
		      "('c', [('x', 'i1')], (40000,))]",
		      "(near \"('b'");
	check_refused("{'names': ['a', 'b', 'c'], 'formats': [([('x', 'i1')], (40000,)), "
		      "([('x', 'i2')], (40000,)), ([('x', 'i4')], (40000,))]}",
		      "(near \"([('x', 'i2')]");
}
END_TEST

/* n opening texts around a core, then n closing ones. */
static char *wrapped(const char *open, size_t n, const char *core, const char *close)
{
	tti_auto_text text = { 0 };

	for (size_t i = 0; i < n; i++)
		tti_text_put_str(&text, open);
	tti_text_put_str(&text, core);
	for (size_t i = 0; i < n; i++)
		tti_text_put_str(&text, close);
	return tti_text_steal(&text);
}

START_TEST(nesting_is_limited)
{
	static const struct {
		const char *open, *core, *close;
	} ways[] = {
		{ "[('a',", "'i4'", ")]" },
		{ "(", "'i4'", ",(1,))" },
		{ "a:{", "a:i4", "}" },
		{ "{'formats':[", "'i4'", "],'names':['a']}" },
	};

	for (size_t i = 0; i < TTI_LEN(ways); i++) {
		tti_auto_free char *deep =
			wrapped(ways[i].open, 100000, ways[i].core, ways[i].close);
		tti_auto_free char *near =
			wrapped(ways[i].open, 33, ways[i].core, ways[i].close);

		check_refused(deep, "nested deeper than 32");
		check_refused(near, "nested deeper than 32");
	}
	for (size_t i = 0; i < TTI_LEN(ways); i++) {
		tti_auto_free char *legal = wrapped(ways[i].open, i == 2 ? 31 : 32,
						    ways[i].core, ways[i].close);
		struct tt_dtype *dtype;
		int rc = tt_dtype_parse(&dtype, legal, strlen(legal), false, NULL);

		ck_assert_int_eq(rc, i == 1 ? TT_E_DTYPE : TT_OK); /* 1: an array as a
								      whole */
		tt_dtype_unref(dtype);
	}
}
END_TEST

START_TEST(many_names_are_no_quadratic_work)
{
	tti_auto_text text = { 0 };
	tti_auto_dtype *dtype = NULL;

	for (int i = 0; i < 60000; i++)
		tti_text_putf(&text, "%sf%d:i4", i ? "," : "", i);
	dtype = parsed(text.bytes, false);
	ck_assert_uint_eq(tt_dtype_leaf_count(dtype), 60000);
	ck_assert_str_eq(tt_dtype_leaf(dtype, 59999)->name, "f59999");
	for (int i = 0; i < 6000; i++)
		tti_text_putf(&text, ",g%d:i4", i);
	check_refused(text.bytes, "more than 65536 fields");
}
END_TEST

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

int main(void)
{
	Suite *suite = suite_create("dtype");
	TCase *tcase = tcase_create("dtype");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 120); /* sanitizers on a busy machine */
	tcase_add_test(tcase, plain_types_print_as_numpy_does);
	tcase_add_test(tcase, structs_print_as_numpy_does);
	tcase_add_test(tcase, names_are_quoted_as_repr_does);
	tcase_add_test(tcase, short_form_is_packed_and_little_endian);
	tcase_add_test(tcase, align_gives_the_layout_of_c);
	tcase_add_test(tcase, alignment_is_deduced_from_the_text);
	tcase_add_test(tcase, headers_hold_nothing_but_a_descr);
	tcase_add_test(tcase, dictionary_form_is_read);
	tcase_add_test(tcase, what_is_refused_says_why);
	tcase_add_test(tcase, nesting_is_limited);
	tcase_add_test(tcase, many_names_are_no_quadratic_work);
	tcase_add_test(tcase, equality_looks_at_the_bytes);
	tcase_add_test(tcase, leaves_are_the_plain_elements_in_order);
	tcase_add_test(tcase, a_row_without_fields_is_one_leaf);
	tcase_add_test(tcase, sub_arrays_are_bounded);
	tcase_add_test(tcase, selected_fields_make_a_packed_struct);
	tcase_add_test(tcase, clearing_touches_padding_only);
	tcase_add_test(tcase, references_are_counted);
	tcase_add_test(tcase, literals_are_read_token_by_token);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
