/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/filters.h"
#include "archive/h5.h"

static char dir_name[64];
static struct tti_codec *codec;

static void setup(void)
{
	strcpy(dir_name, "/tmp/tt-filters-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir_name));
	ck_assert_int_eq(chdir(dir_name), 0);
	ck_assert_int_eq(tti_codec_new(&codec, NULL), TT_OK);
}

static void teardown(void)
{
	char command[128];

	tti_codec_free(&codec);
	snprintf(command, sizeof(command), "rm -rf %s", dir_name);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(system(command), 0);
}

#define ROWS 3000
#define WIDTH 12
#define BYTES (ROWS * WIDTH)

/* kind 0: ticks, 1: noise that no filter shrinks, 2: zeros */
static void fill(unsigned char *bytes, int kind)
{
	uint32_t state = 12345;

	for (size_t i = 0; i < BYTES; i++) {
		state = state * 1664525u + 1013904223u;
		bytes[i] =
			kind == 1 ? (unsigned char)(state >> 24)
			: kind == 2
				? 0
				: (unsigned char)(i % WIDTH < 4 ? i / WIDTH >> 8 * (i % 4)
								: i % WIDTH);
	}
}

static const struct tti_filter_choice choices[] = {
	{ .filter = TT_FILTER_NONE },
	{ .filter = TT_FILTER_LZF },
	{ .filter = TT_FILTER_LZF, .shuffle = true },
	{ .filter = TT_FILTER_GZIP, .gzip_level = 1 },
	{ .filter = TT_FILTER_GZIP, .gzip_level = 9, .shuffle = true },
	{ .filter = TT_FILTER_GZIP, .gzip_level = 0 },
	{ .filter = TT_FILTER_NONE, .shuffle = true },
};
#define CHOICES (sizeof(choices) / sizeof(choices[0]))

/* with_sum: a mandatory fletcher32 at the end, as h5py writes it */
static void choose(struct tti_pipeline *out, size_t i, bool with_sum)
{
	struct tt_error err = { 0 };

	if (tti_pipeline_choose(out, &choices[i], WIDTH, BYTES, &err) < 0)
		abort(); /* also called outside a test */
	if (with_sum)
		out->filters[out->count++] =
			(struct tti_filter){ .id = H5Z_FILTER_FLETCHER32 };
}

static hid_t make_dataset(hid_t file, const struct tti_pipeline *pipeline)
{
	hsize_t dims[] = { ROWS };
	tti_auto_hid type = H5Tcreate(H5T_OPAQUE, WIDTH);
	tti_auto_hid space = H5Screate_simple(1, dims, NULL);
	tti_auto_hid dcpl = H5Pcreate(H5P_DATASET_CREATE);
	hid_t dataset;

	H5Pset_chunk(dcpl, 1, dims);
	if (tti_pipeline_put(pipeline, dcpl, NULL) < 0)
		abort();
	dataset = H5Dcreate2(file, "d", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
	if (dataset < 0)
		abort();
	return dataset;
}

static void check_ours_read_by_libhdf5(const struct tti_pipeline *pipeline,
				       const unsigned char *chunk)
{
	hsize_t zero[] = { 0 };
	unsigned char back[BYTES];
	struct tti_encoded encoded;
	hid_t file = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	tti_auto_hid type = H5Tcreate(H5T_OPAQUE, WIDTH);
	hid_t dataset = make_dataset(file, pipeline);

	ck_assert_int_eq(tti_pipeline_encode(pipeline, codec, chunk, &encoded, NULL),
			 TT_OK);
	ck_assert_int_ge(H5Dwrite_chunk(dataset, H5P_DEFAULT, encoded.mask, zero,
					encoded.n, encoded.bytes),
			 0);
	H5Dclose(dataset);
	dataset = H5Dopen2(file, "d", H5P_DEFAULT);
	ck_assert_int_ge(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, back), 0);
	ck_assert_mem_eq(back, chunk, BYTES);
	H5Dclose(dataset);
	H5Fclose(file);
}

static int read_stored(hid_t dataset, uint32_t *mask, void *bytes, size_t room)
{
	hsize_t zero[] = { 0 };
#if H5_VERSION_GE(2, 0, 0)
	return H5Dread_chunk2(dataset, H5P_DEFAULT, zero, mask, bytes, &room);
#else
	(void)room;
	return H5Dread_chunk(dataset, H5P_DEFAULT, zero, mask, bytes);
#endif
}

static void check_libhdf5_read_by_us(const struct tti_pipeline *pipeline,
				     const unsigned char *chunk)
{
	unsigned char stored[2 * BYTES], back[BYTES];
	struct tti_encoded encoded = { .bytes = stored };
	struct tti_pipeline found;
	hsize_t n;
	hsize_t zero[] = { 0 };
	hid_t file = H5Fcreate("b.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	tti_auto_hid type = H5Tcreate(H5T_OPAQUE, WIDTH);
	hid_t dataset = make_dataset(file, pipeline);
	tti_auto_hid dcpl = -1;

	ck_assert_int_ge(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, chunk),
			 0);
	H5Fflush(file, H5F_SCOPE_GLOBAL);
	ck_assert_int_ge(H5Dget_chunk_storage_size(dataset, zero, &n), 0);
	ck_assert_uint_le(n, sizeof(stored));
	encoded.n = n;
	ck_assert_int_ge(read_stored(dataset, &encoded.mask, stored, sizeof(stored)), 0);
	dcpl = H5Dget_create_plist(dataset);
	ck_assert_int_eq(tti_pipeline_get(&found, dcpl, WIDTH, BYTES, NULL), TT_OK);
	ck_assert_uint_eq(found.count, pipeline->count);
	for (unsigned i = 0; i < found.count; i++)
		ck_assert_int_eq(found.filters[i].id, pipeline->filters[i].id);
	ck_assert_int_eq(tti_pipeline_decode(&found, codec, &encoded, back, NULL), TT_OK);
	ck_assert_mem_eq(back, chunk, BYTES);
	H5Dclose(dataset);
	H5Fclose(file);
}

START_TEST(libhdf5_and_we_understand_each_other)
{
	static unsigned char chunk[BYTES];
	struct tti_pipeline pipeline;

	for (int kind = 0; kind < 3; kind++) {
		fill(chunk, kind);
		choose(&pipeline, (size_t)_i, kind != 2);
		check_ours_read_by_libhdf5(&pipeline, chunk);
		check_libhdf5_read_by_us(&pipeline, chunk);
		choose(&pipeline, (size_t)_i, false);
		check_ours_read_by_libhdf5(&pipeline, chunk);
		check_libhdf5_read_by_us(&pipeline, chunk);
	}
}
END_TEST

START_TEST(noise_is_stored_shuffled_with_a_mask)
{
	static unsigned char chunk[BYTES];
	struct tti_pipeline pipeline;
	struct tti_encoded encoded;

	fill(chunk, 1);
	choose(&pipeline, 2, false);
	ck_assert_int_eq(tti_pipeline_encode(&pipeline, codec, chunk, &encoded, NULL),
			 TT_OK);
	ck_assert_uint_eq(encoded.mask, 2);
	ck_assert_uint_eq(encoded.n, BYTES);
	choose(&pipeline, 0, false);
	ck_assert_int_eq(tti_pipeline_encode(&pipeline, codec, chunk, &encoded, NULL),
			 TT_OK);
	ck_assert_ptr_eq(encoded.bytes, chunk);
}
END_TEST

START_TEST(lzf_carries_exactly_its_three_values)
{
	unsigned flags, values[8];
	size_t count = 8;
	struct tti_pipeline pipeline;
	hid_t file = H5Fcreate("c.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t dataset;
	tti_auto_hid dcpl = -1;

	choose(&pipeline, 1, false);
	ck_assert_uint_eq(pipeline.filters[0].values[0], 4);
	ck_assert_uint_eq(pipeline.filters[0].values[1], 0x0105);
	ck_assert_uint_eq(pipeline.filters[0].values[2], BYTES);
	pipeline.filters[0].value_count = 0; /* then our set_local fills them in */
	dataset = make_dataset(file, &pipeline);
	dcpl = H5Dget_create_plist(dataset);
	ck_assert_int_eq(H5Pget_filter2(dcpl, 0, &flags, &count, values, 0, NULL, NULL),
			 32000);
	ck_assert_uint_eq(count, 3);
	ck_assert_uint_eq(flags, H5Z_FLAG_OPTIONAL);
	ck_assert(values[0] == 4 && values[1] == 0x0105 && values[2] == BYTES);
	H5Dclose(dataset);
	H5Fclose(file);
}
END_TEST

/* What encode gives lives in the codec until its next call. */
static void encode_copy(const struct tti_pipeline *pipeline, const unsigned char *chunk,
			struct tti_encoded *out, unsigned char *room)
{
	ck_assert_int_eq(tti_pipeline_encode(pipeline, codec, chunk, out, NULL), TT_OK);
	ck_assert_uint_le(out->n, BYTES + 64);
	memcpy(room, out->bytes, out->n);
	out->bytes = room;
}

START_TEST(damaged_streams_are_reported_never_returned)
{
	static unsigned char chunk[BYTES], good[BYTES + 64], broken[BYTES + 64],
		back[BYTES + 16];
	struct tti_pipeline pipeline;
	struct tti_encoded encoded, bad;
	struct tt_error err;
	int rc;

	fill(chunk, 0);
	choose(&pipeline, (size_t)_i, true);
	encode_copy(&pipeline, chunk, &encoded, good);
	memset(back, 0x5a, sizeof(back));
	for (size_t cut = 0; cut <= encoded.n; cut += 1 + encoded.n / 50) {
		bad = encoded;
		memcpy(broken, encoded.bytes, encoded.n);
		broken[cut < encoded.n ? cut : 0] ^= 0x41;
		bad.bytes = broken;
		rc = tti_pipeline_decode(&pipeline, codec, &bad, back, &err);
		ck_assert_msg(rc == TT_E_DAMAGED, "bit at %zu", cut);
		bad.n = cut < encoded.n ? cut : encoded.n - 1;
		memcpy(broken, encoded.bytes, encoded.n);
		rc = tti_pipeline_decode(&pipeline, codec, &bad, back, &err);
		ck_assert_msg(rc == TT_E_DAMAGED, "cut at %zu", cut);
		ck_assert_msg(strstr(err.text, "filter 3"), "%s", err.text);
		choose(&pipeline, (size_t)_i,
		       false); /* nothing may write past the chunk */
		tti_pipeline_decode(&pipeline, codec, &bad, back, NULL);
		ck_assert_int_eq(back[BYTES], 0x5a);
		choose(&pipeline, (size_t)_i, true);
	}
}
END_TEST

START_TEST(a_longer_result_than_the_chunk_is_damage)
{
	static unsigned char chunk[BYTES], good[BYTES + 64], back[BYTES + WIDTH];
	struct tti_pipeline pipeline, smaller;
	struct tti_encoded encoded;

	fill(chunk, 0);
	choose(&pipeline, (size_t)_i, false);
	encode_copy(&pipeline, chunk, &encoded, good);
	smaller = pipeline;
	smaller.chunk_bytes -= WIDTH;
	ck_assert_int_eq(tti_pipeline_decode(&smaller, codec, &encoded, back, NULL),
			 TT_E_DAMAGED);
	smaller.chunk_bytes = BYTES + WIDTH;
	ck_assert_int_eq(tti_pipeline_decode(&smaller, codec, &encoded, back, NULL),
			 TT_E_DAMAGED);
}
END_TEST

START_TEST(an_unknown_filter_is_named)
{
	unsigned char chunk[BYTES] = { 0 }, back[BYTES];
	struct tti_pipeline pipeline;
	struct tti_encoded encoded = { .bytes = chunk, .n = BYTES };
	struct tt_error err;

	choose(&pipeline, 0, false);
	pipeline.filters[pipeline.count++] = (struct tti_filter){ .id = 32001 };
	ck_assert_int_eq(tti_pipeline_supported(&pipeline, 0, &err), TT_E_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "filter 32001"));
	ck_assert_int_eq(tti_pipeline_encode(&pipeline, codec, chunk, &encoded, &err),
			 TT_E_UNSUPPORTED);
	ck_assert_int_eq(tti_pipeline_decode(&pipeline, codec, &encoded, back, &err),
			 TT_E_UNSUPPORTED);
	encoded = (struct tti_encoded){ .bytes = chunk, .n = BYTES, .mask = 1 };
	ck_assert_int_eq(tti_pipeline_decode(&pipeline, codec, &encoded, back, &err),
			 TT_OK);
}
END_TEST

START_TEST(impossible_wishes_are_refused)
{
	struct tti_filter_choice gzip = { .filter = TT_FILTER_GZIP, .gzip_level = 10 };
	struct tti_filter_choice none = { .filter = TT_FILTER_NONE };
	struct tti_pipeline pipeline;
	struct tt_error err;

	ck_assert_int_eq(tti_pipeline_choose(&pipeline, &gzip, 8, 64, &err), TT_E_RANGE);
	ck_assert_ptr_nonnull(strstr(err.text, "10"));
	ck_assert_int_eq(tti_pipeline_choose(&pipeline, &none, 8, (size_t)1 << 32, &err),
			 TT_E_RANGE);
	ck_assert_int_eq(tti_pipeline_choose(&pipeline, &none, 8, 0, &err), TT_E_RANGE);
}
END_TEST

static herr_t printer(hid_t stack, void *data)
{
	(void)stack;
	(void)data;
	return 0;
}

START_TEST(the_error_printer_is_given_back)
{
	H5E_auto2_t found;
	void *data;
	int mark;
	struct tt_error err;
	hid_t bad = 12345;

	H5Eset_auto2(H5E_DEFAULT, printer, &mark);
	ck_assert_int_eq(tti_lzf_register(NULL), TT_OK);
	tti_h5_close(&bad);
	ck_assert_int_eq(bad, -1);
	H5Eget_auto2(H5E_DEFAULT, &found, &data);
	ck_assert(found == printer && data == &mark);
	{
		TTI_H5_QUIET;
		ck_assert_int_lt(H5Fopen("nowhere.h5", H5F_ACC_RDONLY, H5P_DEFAULT), 0);
		ck_assert_int_eq(tti_h5_fail(&err, -ENOENT, "nowhere.h5", "open"),
				 -ENOENT);
	}
	ck_assert_ptr_nonnull(strstr(err.text, "nowhere.h5: open: "));
	ck_assert_ptr_null(strchr(err.text, '\n'));
	H5Eget_auto2(H5E_DEFAULT, &found, &data);
	ck_assert(found == printer && data == &mark);
}
END_TEST

/* For the interoperability script: write DIR/ours.h5, or check DIR/theirs.h5. */
static int write_for_others(void)
{
	static unsigned char chunk[BYTES];
	hsize_t zero[] = { 0 };
	hid_t file = H5Fcreate("ours.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	struct tti_encoded encoded;
	struct tti_pipeline pipeline;
	char name[32];

	if (tti_codec_new(&codec, NULL) < 0)
		return 1;
	for (int kind = 0; kind < 3; kind++) {
		fill(chunk, kind);
		for (size_t i = 0; i < 2 * CHOICES; i++) {
			hid_t dataset;

			choose(&pipeline, i / 2, i & 1);
			dataset = make_dataset(file, &pipeline);
			if (tti_pipeline_encode(&pipeline, codec, chunk, &encoded, NULL) <
				    0 ||
			    H5Dwrite_chunk(dataset, H5P_DEFAULT, encoded.mask, zero,
					   encoded.n, encoded.bytes) < 0)
				return 1;
			H5Dclose(dataset);
			snprintf(name, sizeof(name), "d%d_%zu", kind, i);
			if (H5Lmove(file, "d", file, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
				return 1;
		}
	}
	tti_codec_free(&codec);
	return H5Fclose(file) < 0;
}

static int check_one_of_others(hid_t file, const char *name,
			       const unsigned char *expected)
{
	static unsigned char stored[2 * BYTES], back[BYTES];
	hsize_t zero[] = { 0 }, n;
	tti_auto_hid dataset = H5Dopen2(file, name, H5P_DEFAULT);
	tti_auto_hid dcpl = H5Dget_create_plist(dataset);
	struct tti_encoded encoded = { .bytes = stored };
	struct tti_pipeline pipeline;
	struct tt_error err;

	if (tti_pipeline_get(&pipeline, dcpl, WIDTH, BYTES, &err) < 0 ||
	    H5Dget_chunk_storage_size(dataset, zero, &n) < 0 || n > sizeof(stored) ||
	    read_stored(dataset, &encoded.mask, stored, sizeof(stored)) < 0)
		return 1;
	encoded.n = n;
	if (tti_pipeline_decode(&pipeline, codec, &encoded, back, &err) < 0) {
		fprintf(stderr, "%s: %s\n", name, err.text);
		return 1;
	}
	return memcmp(back, expected, BYTES) != 0;
}

static int check_others(void)
{
	static unsigned char chunk[BYTES];
	hid_t file;
	int bad = tti_lzf_register(NULL) < 0 || tti_codec_new(&codec, NULL) < 0;
	char name[32];

	file = H5Fopen("theirs.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
	for (int kind = 0; kind < 3 && !bad; kind++) {
		fill(chunk, kind);
		for (int i = 0; i < 8; i++) {
			snprintf(name, sizeof(name), "d%d_%d", kind, i);
			bad |= check_one_of_others(file, name, chunk);
		}
	}
	tti_codec_free(&codec);
	return H5Fclose(file) < 0 || bad;
}

int main(int argc, char **argv)
{
	Suite *suite;
	TCase *tc;
	SRunner *runner;
	int failed;

	if (argc == 3 && chdir(argv[2]) == 0)
		return strcmp(argv[1], "write") == 0 ? write_for_others()
						     : check_others();
	suite = suite_create("filters");
	tc = tcase_create("filters");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, libhdf5_and_we_understand_each_other, 0, CHOICES);
	tcase_add_test(tc, noise_is_stored_shuffled_with_a_mask);
	tcase_add_test(tc, lzf_carries_exactly_its_three_values);
	tcase_add_loop_test(tc, damaged_streams_are_reported_never_returned, 0, CHOICES);
	tcase_add_loop_test(tc, a_longer_result_than_the_chunk_is_damage, 0, CHOICES);
	tcase_add_test(tc, an_unknown_filter_is_named);
	tcase_add_test(tc, impossible_wishes_are_refused);
	tcase_add_test(tc, the_error_printer_is_given_back);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
