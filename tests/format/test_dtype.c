/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of types: read, printed as NumPy prints them, refused with a reason. */
#include "format/text.h"
#include "format_help.h"

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

static void add(TCase *tc)
{
	tcase_add_test(tc, plain_types_print_as_numpy_does);
	tcase_add_test(tc, structs_print_as_numpy_does);
	tcase_add_test(tc, names_are_quoted_as_repr_does);
	tcase_add_test(tc, short_form_is_packed_and_little_endian);
	tcase_add_test(tc, align_gives_the_layout_of_c);
	tcase_add_test(tc, alignment_is_deduced_from_the_text);
	tcase_add_test(tc, headers_hold_nothing_but_a_descr);
	tcase_add_test(tc, dictionary_form_is_read);
	tcase_add_test(tc, what_is_refused_says_why);
	tcase_add_test(tc, nesting_is_limited);
	tcase_add_test(tc, many_names_are_no_quadratic_work);
}

int main(void)
{
	return format_suite("dtype", add);
}
