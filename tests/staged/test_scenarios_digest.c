/* SPDX-License-Identifier: Apache-2.0 */
/* What the digest of a chunk is made of. */
#include "staged/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void hash(struct tt_staged *a)
{
	ck_assert_int_eq(tt_staged_hash(a, 0, NULL), TT_OK);
}

static void digest_is(struct tt_staged *a, const char *expected)
{
	const uint8_t *digest;
	char text[65];

	hash(a);
	digest = digest_at(a, 1, 0);
	for (int i = 0; i < 32; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	ck_assert_str_eq(text, expected);
}

/* One chunk of element, set to numbers. */
static struct tt_staged *chunk_of(const char *element, const char *shape,
				  const char *numbers)
{
	struct tt_staged *a = full(element, shape, shape, "77");

	put(a, "...", shape, numbers);
	return a;
}

static struct tt_staged *bytes_of(struct tt_element element, uint64_t count,
				  const void *bytes)
{
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	struct tt_staged *a;
	struct tt_nd nd;
	void *copy = keep_memory(malloc(element.bytes * count));

	memcpy(copy, bytes, element.bytes * count);
	ck_assert_int_eq(tt_nd_c_order(&nd, element, 1, &count, copy), TT_OK);
	opts.element = element;
	opts.rank = 1;
	opts.shape = opts.chunk = &count;
	ck_assert_int_eq(tt_staged_create(&a, &opts, NULL), TT_OK);
	keep(a);
	ck_assert_int_eq(tt_staged_set(a, NULL, 0, &nd, NULL), TT_OK);
	return a;
}

START_TEST(digests_of_the_format)
{
	static const unsigned char packed[] = { 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0x40 };

	digest_is(chunk_of("i8", "2", "1 2"),
		  "fafa33833197c2d66d014bcfa8f394c678c981b2a2cba30e43154ac591ed81e1");
	digest_is(chunk_of("i8", "10", "0..9"),
		  "5f4955f5f937157e6e02bd962e2d15ec4e9d9b1faef20a55cfa0579d27118424");
	digest_is(chunk_of("i4", "2,3", "0..5"),
		  "e30b3a9c180017602a1920cfb6bec9ca889796ff64fcd43f9908dc1e8a9d6abd");
	digest_is(chunk_of("f8", "1,1", "1.5"),
		  "862b94a4783502a90ef2a936c083bc63b6a75b69e76355c94503f1f07f008f27");
	digest_is(chunk_of(">i4", "1", "1"),
		  "e26d6502d6771ce9e546ebaf811c51eaad55ab6c03487d4016b31d12fd1c140b");
	digest_is(chunk_of("b1", "2", "1 0"),
		  "6d0dc2963e706784d0d4860b9aeafe54addb9c9b04d130e035afc5856ba2c10b");
	digest_is(chunk_of("i2", "2,2", "0 0 0 0"),
		  "fecee1a257567883e872b9ec0e3d70cd2e47106a82137acbf44155d2e54b08ff");
	digest_is(bytes_of((struct tt_element){ 'S', false, 4 }, 2, "a\0\0\0bcd"),
		  "ecc5c424aaad2a0788075d8ba80ad1656c12ca96bf499cf7048a2974793fd192");
	digest_is(bytes_of((struct tt_element){ TT_VOID, false, 12 }, 1, packed),
		  "49d59037884fa10d19f8e124c4889e3cef00c0ec2ec3fdc126a467c77b7dc9dc");
}
END_TEST

START_TEST(the_shape_is_part_of_a_digest)
{
	static const char *const shapes[] = { "6", "1,6", "6,1", "2,3", "3,2", "1,2,3" };
	struct tt_staged *a[6];

	for (int i = 0; i < 6; i++) {
		a[i] = chunk_of("i8", shapes[i], "1..6");
		hash(a[i]);
		for (int k = 0; k < i; k++)
			ck_assert_mem_ne(digest_at(a[i], 1, 0), digest_at(a[k], 1, 0),
					 32);
	}
}
END_TEST

START_TEST(where_a_chunk_lies_is_not)
{
	struct tt_staged *a = full("i8", "7", "3", "0");
	struct tt_staged *edge = chunk_of("i8", "1", "9");

	put(a, "...", "7", "1 2 3 1 2 3 9");
	hash(a);
	ck_assert_mem_eq(digest_at(a, 1, 0), digest_at(a, 1, 1), 32);
	hash(edge);
	/* what lies beyond the edge is not read */
	ck_assert_mem_eq(digest_at(a, 1, 2), digest_at(edge, 1, 0), 32);
	resize(a, "8");
	resize(a, "7");
	hash(a);
	ck_assert_mem_eq(digest_at(a, 1, 2), digest_at(edge, 1, 0), 32);
}
END_TEST

START_TEST(threads_give_the_digests_of_one)
{
	struct tt_staged *a = full("i8", "300,700", "17,13", "0"), *b;
	uint64_t shape[] = { 300, 700 }, n, m;
	int64_t *numbers = keep_memory(malloc(300 * 700 * sizeof(*numbers)));
	struct tt_nd nd;

	for (int64_t i = 0; i < 300 * 700; i++)
		numbers[i] = i * i;
	ck_assert_int_eq(tt_nd_c_order(&nd, element_of("i8"), 2, shape, numbers), TT_OK);
	ck_assert_int_eq(tt_staged_set(a, NULL, 0, &nd, NULL), TT_OK);
	b = copy_of(a);
	ck_assert_int_eq(tt_staged_hash(a, 1, NULL), TT_OK);
	ck_assert_int_eq(tt_staged_hash(b, 7, NULL), TT_OK);
	ck_assert_mem_eq(tt_staged_digests(a, 1, &n), tt_staged_digests(b, 1, &m),
			 32 * 18 * 54);
	ck_assert(n == m && n == 18 * 54);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, digests_of_the_format);
	tcase_add_test(tc, the_shape_is_part_of_a_digest);
	tcase_add_test(tc, where_a_chunk_lies_is_not);
	tcase_add_test(tc, threads_give_the_digests_of_one);
}

int main(void)
{
	return help_run("staged digests", add);
}
