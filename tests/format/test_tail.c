/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "format/tail.h"

/* A file as the judge sees it. */
struct file {
	uint64_t data_off, row_bytes, capacity, bytes;
	uint8_t last[40];
	size_t n;
};

static struct file file_with(const struct tti_tail *tail, uint64_t row_bytes,
			     uint64_t capacity)
{
	struct file f = { 128, row_bytes, capacity, 0, { 0 }, 40 };
	uint8_t words[TTI_TAIL_MAX_BYTES];
	size_t n = tti_tail_format(words, tail);

	f.bytes = f.data_off + row_bytes * capacity + n;
	memcpy(f.last + 40 - n, words, n);
	return f;
}

static int judge(const struct file *f, enum tti_tail_kind *kind, struct tti_tail *tail,
		 uint64_t *capacity, struct tt_error *err)
{
	const struct tti_file_end end = { f->data_off, f->row_bytes,	    f->capacity,
					  f->bytes,    f->last + 40 - f->n, f->n,
					  "x.npy" };

	return tti_tail_judge(kind, tail, capacity, &end, err);
}

static struct tti_tail some_tail(uint32_t words)
{
	return (struct tti_tail){ .words = words,
				  .start = 1,
				  .end = 3,
				  .update_timestamp = words == 5 ? 77 : 0,
				  .offset = 128 };
}

START_TEST(tail_of_four_or_five_words_is_read)
{
	struct tti_tail in = some_tail((uint32_t)_i), out;
	struct file f = file_with(&in, 17, 5);
	enum tti_tail_kind kind;
	uint64_t capacity;

	ck_assert_int_eq(judge(&f, &kind, &out, &capacity, NULL), 0);
	ck_assert_int_eq(kind, TTI_TAIL_OK);
	ck_assert_uint_eq(capacity, 5);
	ck_assert_uint_eq(out.words, in.words);
	ck_assert_uint_eq(out.start, 1);
	ck_assert_uint_eq(out.end, 3);
	ck_assert_uint_eq(out.update_timestamp, in.update_timestamp);
	ck_assert_uint_eq(out.offset, 128);
	ck_assert(!out.superseded);
	in.superseded = true;
	f = file_with(&in, 17, 5);
	ck_assert_int_eq(judge(&f, &kind, &out, &capacity, NULL), 0);
	ck_assert(out.superseded);
}
END_TEST

START_TEST(tail_bytes_are_the_words_in_order)
{
	const struct tti_tail tail = some_tail(5);
	const uint64_t words[] = { 1, 3, 77, 128, UINT64_C(20250510080000) };
	uint8_t out[TTI_TAIL_MAX_BYTES];

	ck_assert_uint_eq(tti_tail_format(out, &tail), 40);
	ck_assert_mem_eq(out, words, 40);
}
END_TEST

START_TEST(file_without_surplus_is_plain)
{
	struct file f = { 128, 8, 5, 128 + 40, { 0 }, 40 };
	enum tti_tail_kind kind;
	struct tti_tail tail;
	uint64_t capacity;

	ck_assert_int_eq(judge(&f, &kind, &tail, &capacity, NULL), 0);
	ck_assert_int_eq(kind, TTI_TAIL_NONE);
	ck_assert_uint_eq(capacity, 5);
}
END_TEST

START_TEST(other_sizes_are_damage)
{
	struct tti_tail in = some_tail(5), tail;
	struct file good = file_with(&in, 17, 5);
	enum tti_tail_kind kind;
	uint64_t capacity;

	for (uint64_t bytes = 0; bytes < good.bytes + 100; bytes++) {
		struct file f = good;
		struct tt_error err;

		f.bytes = bytes;
		f.n = bytes < 40 ? bytes : 40;
		if (bytes == good.bytes || bytes == 128 + 17 * 5 ||
		    (bytes > good.bytes && (bytes - 168) % 17 == 0))
			continue; /* right, plain, or adopting */
		ck_assert_int_eq(judge(&f, &kind, &tail, &capacity, &err), TT_E_DAMAGED);
		ck_assert_ptr_nonnull(strstr(err.text, "x.npy: "));
	}
}
END_TEST

START_TEST(broken_words_are_damage)
{
	static const struct {
		struct tti_tail tail;
		const char *why;
	} cases[] = {
		{ { 5, 4, 3, 0, 128, false }, "start 4, end 3" },
		{ { 5, 0, 6, 0, 128, false }, "end 6 in a capacity of 5" },
		{ { 4, 0, 6, 0, 128, false }, "end 6 in a capacity of 5" },
		{ { 5, 0, UINT64_MAX, 0, 128, false }, "capacity of 5" },
		{ { 5, 0, 3, 0, 64, false }, "byte 64" },
		{ { 4, 0, 3, 0, 192, false }, "byte 192" },
	};
	struct file f = file_with(&cases[_i].tail, 17, 5);
	enum tti_tail_kind kind;
	struct tti_tail tail;
	uint64_t capacity;
	struct tt_error err;

	ck_assert_int_eq(judge(&f, &kind, &tail, &capacity, &err), TT_E_DAMAGED);
	ck_assert_ptr_nonnull(strstr(err.text, cases[_i].why));
}
END_TEST

START_TEST(every_flip_of_the_magic_is_damage)
{
	struct tti_tail in = some_tail(5), tail;
	enum tti_tail_kind kind;
	uint64_t capacity;

	for (unsigned bit = 0; bit < 64; bit++) {
		struct file f = file_with(&in, 17, 5);

		f.last[32 + bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (bit == 0) { /* the superseded magic */
			ck_assert_int_eq(judge(&f, &kind, &tail, &capacity, NULL), 0);
			ck_assert(tail.superseded);
			continue;
		}
		ck_assert_int_eq(judge(&f, &kind, &tail, &capacity, NULL), TT_E_DAMAGED);
	}
}
END_TEST

START_TEST(interrupted_adopt_takes_the_capacity_from_the_size)
{
	const struct tti_tail in = { 5, 0, 4, 99, 128, false };
	struct file f = file_with(&in, 16, 8);
	enum tti_tail_kind kind;
	struct tti_tail tail;
	uint64_t capacity;

	f.capacity = 4; /* the extent was not rewritten */
	ck_assert_int_eq(judge(&f, &kind, &tail, &capacity, NULL), 0);
	ck_assert_int_eq(kind, TTI_TAIL_ADOPTING);
	ck_assert_uint_eq(capacity, 8);
	ck_assert_uint_eq(tail.end, 4);
	f.last[24]++; /* offset */
	ck_assert_int_eq(judge(&f, &kind, &tail, &capacity, NULL), TT_E_DAMAGED);
	f = file_with(&in, 16, 8);
	f.capacity = 4;
	f.bytes--; /* no multiple of the stride */
	ck_assert_int_eq(judge(&f, &kind, &tail, &capacity, NULL), TT_E_DAMAGED);
	f = file_with(&in, 16, 8);
	f.capacity = 9; /* above what the size holds */
	ck_assert_int_eq(judge(&f, &kind, &tail, &capacity, NULL), TT_E_DAMAGED);
	f = file_with(&(struct tti_tail){ 5, 0, 9, 99, 128, false }, 16, 8);
	f.capacity = 4;
	ck_assert_int_eq(judge(&f, &kind, &tail, &capacity, NULL), TT_E_DAMAGED);
}
END_TEST

START_TEST(huge_extent_is_damage_not_overflow)
{
	struct tti_tail in = some_tail(5), tail;
	struct file f = file_with(&in, 16, 8);
	enum tti_tail_kind kind;
	uint64_t capacity;

	f.capacity = UINT64_MAX;
	ck_assert_int_eq(judge(&f, &kind, &tail, &capacity, NULL), TT_E_DAMAGED);
	f.capacity = UINT64_MAX / 16;
	ck_assert_int_eq(judge(&f, &kind, &tail, &capacity, NULL), TT_E_DAMAGED);
}
END_TEST

START_TEST(capacity_is_aligned_to_a_cache_line)
{
	static const uint64_t strides[] = { 1,	2,  3,	7,  8,	12,  17,  24,
					    32, 40, 48, 64, 96, 100, 128, 4096 };

	for (size_t i = 0; i < TTI_LEN(strides); i++) {
		for (uint64_t rows = 1; rows < 300; rows++) {
			uint64_t got = 0, least = rows;

			while (least * strides[i] % 64)
				least++;
			ck_assert(tti_tail_align_capacity(rows, 128, strides[i], &got));
			ck_assert_uint_eq(got, least);
		}
	}
}
END_TEST

START_TEST(capacity_beyond_a_file_is_refused)
{
	uint64_t got;

	ck_assert(!tti_tail_align_capacity(UINT64_MAX, 128, 1, &got));
	ck_assert(!tti_tail_align_capacity(UINT64_MAX / 8, 128, 8, &got));
	ck_assert(!tti_tail_align_capacity(UINT64_C(1) << 60, 128, 8, &got));
	ck_assert(tti_tail_align_capacity(UINT64_C(1) << 59, 128, 8, &got));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tail");
	TCase *tc = tcase_create("tail");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, tail_of_four_or_five_words_is_read, 4, 6);
	tcase_add_test(tc, tail_bytes_are_the_words_in_order);
	tcase_add_test(tc, file_without_surplus_is_plain);
	tcase_add_test(tc, other_sizes_are_damage);
	tcase_add_loop_test(tc, broken_words_are_damage, 0, 6);
	tcase_add_test(tc, every_flip_of_the_magic_is_damage);
	tcase_add_test(tc, interrupted_adopt_takes_the_capacity_from_the_size);
	tcase_add_test(tc, huge_extent_is_damage_not_overflow);
	tcase_add_test(tc, capacity_is_aligned_to_a_cache_line);
	tcase_add_test(tc, capacity_beyond_a_file_is_refused);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
