/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "format/npy.h"
#include "format/npy_text.h"

/* A header around a dict: version, length, padding as NumPy does it. */
static size_t wrap(uint8_t *out, uint8_t major, const char *dict)
{
	size_t prefix = major == 1 ? 10 : 12, len = strlen(dict);
	size_t total = (prefix + len + 1 + 63) / 64 * 64;

	memcpy(out, "\x93NUMPY", 6);
	out[6] = major;
	out[7] = 0;
	for (size_t i = 8; i < prefix; i++)
		out[i] = (uint8_t)((total - prefix) >> 8 * (i - 8));
	memset(out + prefix, ' ', total - prefix);
	memcpy(out + prefix, dict, len);
	out[total - 1] = '\n';
	return total;
}

static int parse(struct tti_npy *npy, uint8_t major, const char *dict,
		 struct tt_error *err)
{
	static uint8_t bytes[8192];
	size_t n = wrap(bytes, major, dict);

	return tti_npy_parse(npy, bytes, n, "x.npy", err);
}

static const struct written {
	const char *descr;
	uint32_t rank;
	uint64_t shape[2];
	bool wide;
	const char *bytes; /* as NumPy writes them, without the spaces at the end */
	size_t length;
} written[] = {
	{ "'<f8'",
	  2,
	  { 7, 3 },
	  true,
	  "\223NUMPY\001\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (         "
	  "       "
	  "    7, 3), }",
	  128 },
	{ "[('ts', '<i8'), ('px', '<f8')]",
	  1,
	  { 7 },
	  true,
	  "\223NUMPY\001\0\266\0{'descr': [('ts', '<i8'), ('px', '<f8')], "
	  "'fortran_order': False,"
	  " 'shape': (                    7,), }",
	  192 },
	{ "'<i8'",
	  1,
	  { 3 },
	  false,
	  "\223NUMPY\001\0v\0{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }",
	  128 },
	{ "'<i8'",
	  0,
	  { 0 },
	  false,
	  "\223NUMPY\001\0v\0{'descr': '<i8', 'fortran_order': False, 'shape': (), }",
	  128 },
	{ "'<i8'",
	  1,
	  { 0 },
	  false,
	  "\223NUMPY\001\0v\0{'descr': '<i8', 'fortran_order': False, 'shape': (0,), }",
	  128 },
	{ "'|S5'",
	  1,
	  { 12345 },
	  true,
	  "\223NUMPY\001\0v\0{'descr': '|S5', 'fortran_order': False, 'shape': (         "
	  "       "
	  "12345,), }",
	  128 },
	/* NumPy's room for growth depends on the digits, and with it the length */
	{ "[('ffffffffffff', '<i8')]",
	  1,
	  { 1 },
	  true,
	  "\223NUMPY\001\0\266\0{'descr': [('ffffffffffff', '<i8')], 'fortran_order': "
	  "False, "
	  "'shape': (                    1,), }",
	  192 },
	{ "[('ffffffffffff', '<i8')]",
	  1,
	  { 1000000000000000 },
	  true,
	  "\223NUMPY\001\0v\0{'descr': [('ffffffffffff', '<i8')], 'fortran_order': "
	  "False, "
	  "'shape': (     1000000000000000,), }",
	  128 },
	{ "[('bid', '<f8', (3,)), ('ask', '<f8', (2, 2))]",
	  1,
	  { 4 },
	  true,
	  "\223NUMPY\001\0\266\0{'descr': [('bid', '<f8', (3,)), ('ask', '<f8', (2, "
	  "2))], "
	  "'fortran_order': False, 'shape': (                    4,), }",
	  192 },
	{ "[('\303\251', '<i8')]",
	  1,
	  { 4 },
	  true,
	  "\223NUMPY\001\0v\0{'descr': [('\351', '<i8')], 'fortran_order': False, "
	  "'shape': ("
	  "                    4,), }",
	  128 },
	{ "[('\344\270\255', '<i8')]",
	  1,
	  { 4 },
	  true,
	  "\223NUMPY\003\0t\0\0\0{'descr': [('\344\270\255', '<i8')], 'fortran_order': "
	  "False, "
	  "'shape': (                    4,), }",
	  128 },
};

static size_t text_length(const struct written *w)
{
	size_t prefix = w->bytes[6] == 1 ? 10 : 12;

	return prefix + strlen(w->bytes + prefix);
}

START_TEST(header_is_written_as_numpy_writes_it)
{
	const struct written *w = &written[_i];
	tti_auto_free uint8_t *bytes = NULL;
	struct tt_dtype *dtype;
	struct tti_npy npy;
	void *out = NULL;
	size_t len, text = text_length(w);

	ck_assert_int_eq(tt_dtype_parse(&dtype, w->descr, strlen(w->descr), false, NULL),
			 0);
	ck_assert_int_eq(
		tti_npy_format(&out, &len, dtype, w->rank, w->shape, w->wide, NULL), 0);
	bytes = out;
	ck_assert_uint_eq(len, w->length);
	ck_assert_mem_eq(bytes, w->bytes, text);
	for (size_t i = text; i < len - 1; i++)
		ck_assert_int_eq(bytes[i], ' ');
	ck_assert_int_eq(bytes[len - 1], '\n');

	ck_assert_int_eq(tti_npy_parse(&npy, bytes, len, "x", NULL), 0);
	ck_assert(tt_dtype_equal(npy.dtype, dtype));
	ck_assert_uint_eq(npy.rank, w->rank);
	ck_assert_uint_eq(npy.data_off, len);
	for (uint32_t i = 0; i < w->rank; i++)
		ck_assert_uint_eq(npy.shape[i], w->shape[i]);
	if (w->wide)
		ck_assert_uint_eq(npy.extent_width, TTI_NPY_EXTENT_WIDTH);
	tti_npy_fini(&npy);
	tt_dtype_unref(dtype);
}
END_TEST

/* A struct of count fields named f0.. with long names, so that the header gets long. */
static struct tt_dtype *long_dtype(size_t count, const char *suffix)
{
	char *text, field[64];
	struct tt_dtype *dtype = NULL;

	text = calloc(count + 1, sizeof(field));
	strcat(text, "[");
	for (size_t i = 0, at = 1; i < count; i++) {
		int n = snprintf(field, sizeof(field), "('field_%zu%s', '<i8'), ", i,
				 suffix);

		memcpy(text + at, field, (size_t)n + 1);
		at += (size_t)n;
	}
	strcpy(text + strlen(text) - 2, "]");
	ck_assert_int_eq(tt_dtype_parse(&dtype, text, strlen(text), false, NULL), 0);
	free(text);
	return dtype;
}

START_TEST(long_header_becomes_version_2_or_3)
{
	static const struct {
		size_t fields;
		const char *suffix;
		uint8_t major;
	} cases[] = {
		{ 100, "", 1 },
		{ 4000, "", 2 },
		{ 4000, "\303\251", 2 },
		{ 100, "\344\270\255", 3 },
		{ 4000, "\344\270\255", 3 },
	};
	struct tt_dtype *dtype = long_dtype(cases[_i].fields, cases[_i].suffix);
	const uint64_t shape = 5;
	struct tti_npy npy;
	void *bytes = NULL;
	size_t len;

	ck_assert_int_eq(tti_npy_format(&bytes, &len, dtype, 1, &shape, true, NULL), 0);
	ck_assert_int_eq(((uint8_t *)bytes)[6], cases[_i].major);
	ck_assert_uint_eq(len % 64, 0);
	ck_assert_int_eq(tti_npy_parse(&npy, bytes, len, "x", NULL), 0);
	ck_assert(tt_dtype_equal(npy.dtype, dtype));
	ck_assert_int_eq(tti_npy_needs_max_header_size(len), cases[_i].fields > 100);
	tti_npy_fini(&npy);
	free(bytes);
	tt_dtype_unref(dtype);
}
END_TEST

static const struct accepted {
	uint8_t major;
	const char *dict;
	uint32_t rank;
	uint64_t shape[2];
	bool fortran_order;
	size_t itemsize;
} accepted[] = {
	{ 1,
	  "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }",
	  1,
	  { 3 },
	  0,
	  8 },
	{ 2, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,)}", 1, { 3 }, 0, 8 },
	{ 3, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,)}", 1, { 3 }, 0, 8 },
	{ 1,
	  "{\"shape\":(3,4),\"fortran_order\":True,\"descr\":\"<f4\"}",
	  2,
	  { 3, 4 },
	  1,
	  4 },
	{ 1,
	  "  {  'shape' : ( 3 , 4 , ) ,\n\t'descr' : '>u2',\n 'fortran_order' : False } ",
	  2,
	  { 3, 4 },
	  0,
	  2 },
	{ 1,
	  "{'descr': '<i8', 'fortran_order': False, 'shape': (3L, 2L)}",
	  2,
	  { 3, 2 },
	  0,
	  8 },
	{ 1,
	  "{'descr': '<i8', 'fortran_order': False, 'shape': (3 L,)}",
	  1,
	  { 3 },
	  0,
	  8 },
	{ 1,
	  "{u'descr': u'<i8', u'fortran_order': False, u'shape': (3,)}",
	  1,
	  { 3 },
	  0,
	  8 },
	{ 1, "{'descr': '<i8', 'fortran_order': False, 'shape': ()}", 0, { 0 }, 0, 8 },
	{ 1,
	  "{'descr': '<i8', 'fortran_order': False, 'shape': (0x10, 1_0,)}",
	  2,
	  { 16, 10 },
	  0,
	  8 },
	{ 1,
	  "{'descr': '<i8', 'fortran_order': False, 'shape': (+1, 00)}",
	  0,
	  { 0 },
	  0,
	  0 },
	{ 1,
	  "{'descr': '<i8', 'fortran_order': False, 'shape': (True,)}",
	  1,
	  { 1 },
	  0,
	  8 },
	{ 1,
	  "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), 'shape': (4,)}",
	  1,
	  { 4 },
	  0,
	  8 },
	{ 1,
	  "{'descr': '<i8', 'fortran_order': False, 'shape': (3,) # rows\n}",
	  1,
	  { 3 },
	  0,
	  8 },
	{ 1,
	  "{'''descr''': '<i8', 'fortran_' 'order': False, 'shape': (3,)}",
	  1,
	  { 3 },
	  0,
	  8 },
	{ 1,
	  "{'descr': [('a', '<i8'), ('b', '<f4', (2,))], 'fortran_order': False, "
	  "'shape': "
	  "(3,), }",
	  1,
	  { 3 },
	  0,
	  16 },
	{ 1,
	  "{'descr': '<i8', 'fortran_order': False, 'shape': (0,), }",
	  1,
	  { 0 },
	  0,
	  8 },
};

START_TEST(dict_that_numpy_accepts_is_accepted)
{
	const struct accepted *a = &accepted[_i];
	struct tti_npy npy;
	struct tt_error err = { .text = "" };
	int rc = parse(&npy, a->major, a->dict, &err);

	if (a->itemsize == 0) { /* accepted by NumPy, but its rows have no bytes */
		ck_assert_int_eq(rc, TT_E_FORMAT);
		ck_assert_ptr_nonnull(strstr(err.text, "no bytes"));
		return;
	}
	ck_assert_msg(rc == 0, "%s: %s", a->dict, err.text);
	ck_assert_uint_eq(npy.rank, a->rank);
	for (uint32_t i = 0; i < a->rank; i++)
		ck_assert_uint_eq(npy.shape[i], a->shape[i]);
	ck_assert_int_eq(npy.fortran_order, a->fortran_order);
	ck_assert_uint_eq(tt_dtype_size(npy.dtype), a->itemsize);
	tti_npy_fini(&npy);
}
END_TEST

static const struct refused {
	const char *dict, *why;
} refused[] = {
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (-1,)}", "negative extent" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': 3}", "no tuple" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (3)}", "no tuple" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': [3]}", "no tuple" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (3.0,)}", "no integer" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (3l,)}", "no integer" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (007,)}", "leading zeros" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (1__0,)}", "no integer" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (3 4,)}",
	  "without a comma" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (,)}", "no integer" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
	  "64 bits" },
	{ "{'descr': '<i8', 'fortran_order': 0, 'shape': (3,)}", "no bool" },
	{ "{'descr': '<i8', 'fortran_order': false, 'shape': (3,)}", "no bool" },
	{ "{'fortran_order': False, 'shape': (3,)}", "not all of" },
	{ "{'descr': '<i8', 'shape': (3,)}", "not all of" },
	{ "{'descr': '<i8', 'fortran_order': False}", "not all of" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), 'x': 1}",
	  "unknown key" },
	{ "{b'descr': '<i8', 'fortran_order': False, 'shape': (3,)}", "no string" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (3,)}x", "after the dict" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (3,),,}", "no string" },
	{ "{'descr': '<i8', 'fortran_order': False 'shape': (3,)}", "missing comma" },
	{ "{'descr' '<i8', 'fortran_order': False, 'shape': (3,)}", "unknown key" },
	{ "{'descr': '<i8, 'fortran_order': False, 'shape': (3,)}", "bad .npy header" },
	{ "{'descr': , 'fortran_order': False, 'shape': (3,)}", "empty descr" },
	{ "[]", "no dict" },
	{ "", "no dict" },
	{ "{", "no string" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (9223372036854775807, 8)}",
	  "overflow" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 9223372036854775807)}",
	  "overflow" },
	{ "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 0)}", "no bytes" },
};

START_TEST(dict_that_numpy_refuses_is_refused)
{
	struct tti_npy npy;
	struct tt_error err = { .text = "" };

	ck_assert_int_eq(parse(&npy, 1, refused[_i].dict, &err),
			 strcmp(refused[_i].why, "no bytes") ? TT_E_DAMAGED
							     : TT_E_FORMAT);
	ck_assert_msg(strstr(err.text, refused[_i].why), "%s: %s", refused[_i].dict,
		      err.text);
	ck_assert_ptr_nonnull(strstr(err.text, "x.npy"));
}
END_TEST

START_TEST(bad_dtype_names_path_and_reason)
{
	struct tti_npy npy;
	struct tt_error err;

	ck_assert_int_eq(parse(&npy, 1,
			       "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
			       &err),
			 TT_E_DTYPE);
	ck_assert_ptr_nonnull(strstr(err.text, "x.npy: "));
}
END_TEST

START_TEST(long_suffix_is_not_for_version_3)
{
	struct tti_npy npy;

	ck_assert_int_eq(parse(&npy, 3,
			       "{'descr': '<i8', 'fortran_order': False, 'shape': (3L,)}",
			       NULL),
			 TT_E_DAMAGED);
}
END_TEST

START_TEST(version_3_must_be_utf8)
{
	static const char *const bad[] = { "\xE9", "\xC0\x80", "\xED\xA0\x80",
					   "\xF4\x90\x80\x80", "\xE4\xB8" };
	char dict[128];
	struct tti_npy npy;

	for (size_t i = 0; i < TTI_LEN(bad); i++) {
		snprintf(dict, sizeof(dict),
			 "{'descr': [('%s', '<i8')], 'fortran_order': False, 'shape': "
			 "(3,)}",
			 bad[i]);
		ck_assert_int_eq(parse(&npy, 3, dict, NULL), TT_E_DAMAGED);
	}
}
END_TEST

START_TEST(names_decode_as_latin1_or_utf8)
{
	struct tti_npy npy;

	ck_assert_int_eq(parse(&npy, 1,
			       "{'descr': [('\xE9', '<i8')], 'fortran_order': False, "
			       "'shape': (3,)}",
			       NULL),
			 0);
	ck_assert_str_eq(tt_dtype_field(npy.dtype, 0)->name, "\xC3\xA9");
	tti_npy_fini(&npy);
	ck_assert_int_eq(parse(&npy, 3,
			       "{'descr': [('\xC3\xA9', '<i8')], 'fortran_order': False, "
			       "'shape': (3,)}",
			       NULL),
			 0);
	ck_assert_str_eq(tt_dtype_field(npy.dtype, 0)->name, "\xC3\xA9");
	tti_npy_fini(&npy);
}
END_TEST

START_TEST(prefix_tells_the_length)
{
	uint64_t length = 0;

	ck_assert_int_eq(
		tti_npy_header_length("\x93NUMPY\1\0\x76\0{'", 12, &length, "x", NULL),
		0);
	ck_assert_uint_eq(length, 128);
	ck_assert_int_eq(
		tti_npy_header_length("\x93NUMPY\2\0\x74\0\0\0", 12, &length, "x", NULL),
		0);
	ck_assert_uint_eq(length, 128);
	ck_assert_int_eq(tti_npy_header_length("\x93NUMPY\3\0\xff\xff\xff\xff", 12,
					       &length, "x", NULL),
			 TT_E_FORMAT);
	ck_assert_int_eq(
		tti_npy_header_length("\x93NUMPY\4\0\x74\0\0\0", 12, &length, "x", NULL),
		TT_E_FORMAT);
	ck_assert_int_eq(
		tti_npy_header_length("\x93NUMPY\2\1\x74\0\0\0", 12, &length, "x", NULL),
		TT_E_FORMAT);
	ck_assert_int_eq(
		tti_npy_header_length("\x93NUMPX\1\0\x74\0\0\0", 12, &length, "x", NULL),
		TT_E_FORMAT);
	ck_assert_int_eq(tti_npy_header_length("\x93NUM", 4, &length, "x", NULL),
			 TT_E_FORMAT);
	ck_assert_int_eq(tti_npy_header_length("\x93NUMPY\1\0", 8, &length, "x", NULL),
			 TT_E_DAMAGED);
}
END_TEST

START_TEST(every_cut_header_is_an_error)
{
	uint8_t bytes[256];
	size_t n = wrap(bytes, 1,
			"{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }");
	struct tti_npy npy;

	for (size_t i = 0; i < n; i++) {
		uint8_t *cut =
			malloc(i + 1); /* so that a sanitizer sees a byte too many */

		memcpy(cut, bytes, i);
		ck_assert_int_lt(tti_npy_parse(&npy, cut, i, "x", NULL), 0);
		free(cut);
	}
}
END_TEST

START_TEST(extent_is_written_into_its_columns)
{
	const uint64_t shape[] = { 7, 3 };
	struct tt_dtype *dtype;
	struct tti_npy npy;
	void *bytes = NULL;
	size_t len;

	ck_assert_int_eq(tt_dtype_parse(&dtype, "'<f8'", 5, false, NULL), 0);
	ck_assert_int_eq(tti_npy_format(&bytes, &len, dtype, 2, shape, true, NULL), 0);
	ck_assert_int_eq(tti_npy_put_extent(bytes, len, 123456789, NULL), 0);
	ck_assert_int_eq(tti_npy_parse(&npy, bytes, len, "x", NULL), 0);
	ck_assert_uint_eq(npy.shape[0], 123456789);
	ck_assert_uint_eq(npy.shape[1], 3);
	ck_assert_uint_eq(npy.extent_width, TTI_NPY_EXTENT_WIDTH);
	tti_npy_fini(&npy);
	free(bytes);
	tt_dtype_unref(dtype);
}
END_TEST

START_TEST(extent_takes_the_room_behind_the_dict)
{
	uint8_t bytes[256];
	size_t n = wrap(bytes, 1,
			"{'descr': '<i8', 'fortran_order': False, 'shape': (3, 5), }");
	struct tti_npy npy;

	ck_assert_int_eq(tti_npy_put_extent(bytes, n, 4096, NULL), 0);
	ck_assert_int_eq(tti_npy_parse(&npy, bytes, n, "x", NULL), 0);
	ck_assert_uint_eq(npy.shape[0], 4096);
	ck_assert_uint_eq(npy.shape[1], 5);
	ck_assert_uint_eq(npy.extent_width, TTI_NPY_EXTENT_WIDTH);
	ck_assert_int_eq(bytes[n - 1], '\n');
	tti_npy_fini(&npy);
}
END_TEST

START_TEST(extent_without_room_is_refused)
{
	/* exactly full: no space before the line feed */
	char dict[128] = "{'descr': '<i8', 'fortran_order': False,'shape':";
	uint8_t bytes[256];
	size_t n;
	struct tt_error err;
	struct tti_npy npy;

	while (strlen(dict) < 128 - 10 - 1 - 6)
		strcat(dict, " ");
	strcat(dict, "(9,),}");
	n = wrap(bytes, 1, dict);
	ck_assert_uint_eq(n, 128);
	ck_assert_int_eq(tti_npy_put_extent(bytes, n, 10, &err), TT_E_RANGE);
	ck_assert_ptr_nonnull(strstr(err.text, "1 columns"));
	ck_assert_int_eq(tti_npy_put_extent(bytes, n, 8, NULL), 0);
	ck_assert_int_eq(tti_npy_parse(&npy, bytes, n, "x", NULL), 0);
	ck_assert_uint_eq(npy.shape[0], 8);
	tti_npy_fini(&npy);
}
END_TEST

START_TEST(every_bit_flip_is_an_error_or_a_sound_layout)
{
	uint8_t good[256], bytes[256];
	size_t n = wrap(good, 1,
			"{'descr': [('a', '<i8'), ('b', '<f4', (2,))], 'fortran_order': "
			"False, 'shape': (                    3, 5), }");

	for (size_t bit = 0; bit < n * 8; bit++) {
		struct tti_npy npy;

		memcpy(bytes, good, n);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (tti_npy_parse(&npy, bytes, n, "x", NULL) < 0)
			continue;
		ck_assert_uint_gt(npy.row_bytes, 0);
		ck_assert_uint_le(npy.extent_off + npy.extent_width, n);
		tti_npy_fini(&npy);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("npy");
	TCase *tc = tcase_create("header");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, header_is_written_as_numpy_writes_it, 0,
			    (int)TTI_LEN(written));
	tcase_add_loop_test(tc, long_header_becomes_version_2_or_3, 0, 5);
	tcase_add_loop_test(tc, dict_that_numpy_accepts_is_accepted, 0,
			    (int)TTI_LEN(accepted));
	tcase_add_loop_test(tc, dict_that_numpy_refuses_is_refused, 0,
			    (int)TTI_LEN(refused));
	tcase_add_test(tc, bad_dtype_names_path_and_reason);
	tcase_add_test(tc, long_suffix_is_not_for_version_3);
	tcase_add_test(tc, version_3_must_be_utf8);
	tcase_add_test(tc, names_decode_as_latin1_or_utf8);
	tcase_add_test(tc, prefix_tells_the_length);
	tcase_add_test(tc, every_cut_header_is_an_error);
	tcase_add_test(tc, extent_is_written_into_its_columns);
	tcase_add_test(tc, extent_takes_the_room_behind_the_dict);
	tcase_add_test(tc, extent_without_room_is_refused);
	tcase_add_test(tc, every_bit_flip_is_an_error_or_a_sound_layout);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
