/* SPDX-License-Identifier: Apache-2.0 */
/* The .npy header, read: what NumPy accepts is accepted, what it refuses is refused. */
#include "base/compiler.h"
#include "format/npy.h"
#include "format_help.h"

static int parse(struct tti_npy *npy, uint8_t major, const char *dict,
		 struct tt_error *err)
{
	static uint8_t bytes[8192];
	size_t n = wrap(bytes, major, dict);

	return tti_npy_parse(npy, bytes, n, "x.npy", err);
}

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

static void add(TCase *tc)
{
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
	tcase_add_test(tc, every_bit_flip_is_an_error_or_a_sound_layout);
}

int main(void)
{
	return format_suite("npy", add);
}
