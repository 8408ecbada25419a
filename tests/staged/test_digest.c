/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "staged/digest.h"
#include "base/num.h"

static struct tti_hasher *hasher;

static void setup(void)
{
	ck_assert_int_eq(tti_hasher_new(&hasher, NULL), TT_OK);
}

static void teardown(void)
{
	tti_hasher_free(&hasher);
}

static void check_text(const struct tti_digest *digest, const char *expected)
{
	char text[TTI_DIGEST_TEXT];

	tti_digest_print(digest, text);
	ck_assert_str_eq(text, expected);
}

/* Of a chunk that lies in one piece. */
static int digest_chunk(const void *bytes, size_t n, unsigned rank, const uint64_t *shape,
			struct tti_digest *out)
{
	int rc = tti_hasher_begin(hasher);

	if (rc == TT_OK)
		rc = tti_hasher_update(hasher, bytes, n);
	return rc < 0 ? rc : tti_hasher_end(hasher, rank, shape, out);
}

static void check_chunk(const void *bytes, size_t n, unsigned rank, const uint64_t *shape,
			const char *expected)
{
	struct tti_digest digest;

	ck_assert_int_eq(digest_chunk(bytes, n, rank, shape, &digest), TT_OK);
	check_text(&digest, expected);
}

static const uint64_t one[] = { 1 }, two[] = { 2 };

START_TEST(integers_in_every_shape)
{
	const int64_t pair[] = { 1, 2 };
	const int64_t ten[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	const int32_t table[] = { 0, 1, 2, 3, 4, 5 };
	const int16_t zeros[4] = { 0 };
	const uint64_t shape10[] = { 10 }, shape23[] = { 2, 3 }, shape22[] = { 2, 2 };

	check_chunk(pair, sizeof(pair), 1, two,
		    "fafa33833197c2d66d014bcfa8f394c678c981b2a2cba30e43154ac591ed81e1");
	check_chunk(ten, sizeof(ten), 1, shape10,
		    "5f4955f5f937157e6e02bd962e2d15ec4e9d9b1faef20a55cfa0579d27118424");
	check_chunk(table, sizeof(table), 2, shape23,
		    "e30b3a9c180017602a1920cfb6bec9ca889796ff64fcd43f9908dc1e8a9d6abd");
	check_chunk(zeros, sizeof(zeros), 2, shape22,
		    "fecee1a257567883e872b9ec0e3d70cd2e47106a82137acbf44155d2e54b08ff");
}
END_TEST

START_TEST(other_element_types)
{
	const double number = 1.5;
	const uint64_t shape11[] = { 1, 1 };
	const unsigned char big_endian[] = { 0, 0, 0, 1 };
	const unsigned char bools[] = { 1, 0 };
	const char fixed[] = { 'a', 0, 0, 0, 'b', 'c', 'd', 0 };
	const unsigned char packed[] = { 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0x40 };

	check_chunk(&number, sizeof(number), 2, shape11,
		    "862b94a4783502a90ef2a936c083bc63b6a75b69e76355c94503f1f07f008f27");
	check_chunk(big_endian, sizeof(big_endian), 1, one,
		    "e26d6502d6771ce9e546ebaf811c51eaad55ab6c03487d4016b31d12fd1c140b");
	check_chunk(bools, sizeof(bools), 1, two,
		    "6d0dc2963e706784d0d4860b9aeafe54addb9c9b04d130e035afc5856ba2c10b");
	check_chunk(fixed, sizeof(fixed), 1, two,
		    "ecc5c424aaad2a0788075d8ba80ad1656c12ca96bf499cf7048a2974793fd192");
	check_chunk(packed, sizeof(packed), 1, one,
		    "49d59037884fa10d19f8e124c4889e3cef00c0ec2ec3fdc126a467c77b7dc9dc");
}
END_TEST

START_TEST(strings_of_variable_length)
{
	static const char *const texts[] = { "a", "bb", NULL };
	const uint64_t three[] = { 3 };
	struct tti_digest digest;

	ck_assert_int_eq(tti_hasher_begin(hasher), TT_OK);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(tti_hasher_vlen_element(hasher, texts[i],
							 texts[i] ? strlen(texts[i]) : 9),
				 TT_OK);
	ck_assert_int_eq(tti_hasher_end(hasher, 1, three, &digest), TT_OK);
	check_text(&digest,
		   "5676b4066101a09637e25e31a059eebadb07d75b2bfe797e7e05461b9076e429");

	ck_assert_int_eq(tti_hasher_begin(hasher), TT_OK);
	ck_assert_int_eq(tti_hasher_vlen_element(hasher, "\xc3\xa9", 2), TT_OK);
	ck_assert_int_eq(tti_hasher_end(hasher, 1, one, &digest), TT_OK);
	check_text(&digest,
		   "75971d300419f21f6b01b84f704843e632fc8c6e609fea8ed15790bb86f4cb96");
}
END_TEST

START_TEST(rank_zero_is_plain_sha256)
{
	check_chunk("abc", 3, 0, NULL,
		    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check_chunk("", 0, 0, NULL,
		    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
END_TEST

START_TEST(pieces_give_the_digest_of_the_whole)
{
	char bytes[1000];
	const uint64_t shape[] = { 10, 100 };
	struct tti_digest whole, pieces;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 31);
	ck_assert_int_eq(digest_chunk(bytes, sizeof(bytes), 2, shape, &whole), TT_OK);
	for (size_t step = 1; step < sizeof(bytes); step += 97) {
		ck_assert_int_eq(tti_hasher_begin(hasher), TT_OK);
		for (size_t at = 0; at < sizeof(bytes); at += step)
			tti_hasher_update(hasher, bytes + at,
					  tti_min_u64(step, sizeof(bytes) - at));
		ck_assert_int_eq(tti_hasher_end(hasher, 2, shape, &pieces), TT_OK);
		ck_assert(tti_digest_equal(&whole, &pieces));
	}
}
END_TEST

/* The box cut out of a full chunk must hash like its rows copied together. */
static void check_box(const uint64_t *chunk, const uint64_t *extent)
{
	struct tti_chunk_box box = {
		.rank = 3, .chunk = chunk, .extent = extent, .element_bytes = 2
	};
	uint16_t full[4 * 5 * 6], cut[4 * 5 * 6];
	struct tti_digest expected, digest;
	size_t n = 0;

	for (size_t i = 0; i < 4 * 5 * 6; i++)
		full[i] = (uint16_t)(i * 257 + 3);
	for (uint64_t i = 0; i < extent[0]; i++)
		for (uint64_t j = 0; j < extent[1]; j++)
			for (uint64_t k = 0; k < extent[2]; k++)
				cut[n++] = full[(i * chunk[1] + j) * chunk[2] + k];
	ck_assert_int_eq(digest_chunk(cut, n * 2, 3, extent, &expected), TT_OK);
	ck_assert_int_eq(tti_digest_box(hasher, full, &box, &digest), TT_OK);
	ck_assert(tti_digest_equal(&expected, &digest));
}

START_TEST(edge_chunks_hash_trimmed_on_every_axis)
{
	const uint64_t chunk[] = { 4, 5, 6 };

	for (uint64_t i = 1; i <= 4; i++)
		for (uint64_t j = 1; j <= 5; j++)
			for (uint64_t k = 1; k <= 6; k++)
				check_box(chunk, (uint64_t[]){ i, j, k });
}
END_TEST

START_TEST(equal_bytes_of_another_shape_differ)
{
	const uint64_t flat[] = { 4 }, square[] = { 2, 2 };
	struct tti_digest a, b;

	digest_chunk("abcd", 4, 1, flat, &a);
	digest_chunk("abcd", 4, 2, square, &b);
	ck_assert(!tti_digest_equal(&a, &b) && !tti_digest_is_zero(&a));
	memset(&a, 0, sizeof(a));
	ck_assert(tti_digest_is_zero(&a));
}
END_TEST

START_TEST(the_largest_shape_fits_the_text)
{
	uint64_t shape[33];
	struct tti_digest digest;

	for (int i = 0; i < 33; i++)
		shape[i] = UINT64_MAX;
	ck_assert_int_eq(digest_chunk("", 0, 32, shape, &digest), TT_OK);
	ck_assert_int_lt(digest_chunk("", 0, 33, shape, &digest), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("digest");
	TCase *tc = tcase_create("digest");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, integers_in_every_shape);
	tcase_add_test(tc, other_element_types);
	tcase_add_test(tc, strings_of_variable_length);
	tcase_add_test(tc, rank_zero_is_plain_sha256);
	tcase_add_test(tc, pieces_give_the_digest_of_the_whole);
	tcase_add_test(tc, edge_chunks_hash_trimmed_on_every_axis);
	tcase_add_test(tc, equal_bytes_of_another_shape_differ);
	tcase_add_test(tc, the_largest_shape_fits_the_text);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
