/* SPDX-License-Identifier: Apache-2.0 */
/* The .npy header, written: byte for byte as NumPy does, and its first extent changed in place. */
#include "base/compiler.h"
#include "format/npy.h"
#include "format_help.h"

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
	ck_assert_int_eq(tti_npy_format(&out, &len,
					&(struct tti_npy_form){ dtype, w->rank, w->shape,
								w->wide },
					NULL),
			 0);
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

	ck_assert_int_eq(tti_npy_format(&bytes, &len,
					&(struct tti_npy_form){ dtype, 1, &shape, true },
					NULL),
			 0);
	ck_assert_int_eq(((uint8_t *)bytes)[6], cases[_i].major);
	ck_assert_uint_eq(len % 64, 0);
	ck_assert_int_eq(tti_npy_parse(&npy, bytes, len, "x", NULL), 0);
	ck_assert(tt_dtype_equal(npy.dtype, dtype));
	tti_npy_fini(&npy);
	free(bytes);
	tt_dtype_unref(dtype);
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
	ck_assert_int_eq(tti_npy_format(&bytes, &len,
					&(struct tti_npy_form){ dtype, 2, shape, true },
					NULL),
			 0);
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

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, header_is_written_as_numpy_writes_it, 0,
			    (int)TTI_LEN(written));
	tcase_add_loop_test(tc, long_header_becomes_version_2_or_3, 0, 5);
	tcase_add_test(tc, extent_is_written_into_its_columns);
	tcase_add_test(tc, extent_takes_the_room_behind_the_dict);
	tcase_add_test(tc, extent_without_room_is_refused);
}

int main(void)
{
	return format_suite("npy written", add);
}
