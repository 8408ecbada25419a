/* SPDX-License-Identifier: Apache-2.0 */
/* Names, texts, the chunk rule, the time field and the table of digests. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "staged/dedup.h"
#include "archive/names.h"
#include "archive/timefield.h"

static void expands(const char *template, const char *name, int64_t ns, const char *want)
{
	struct tt_error err = { .text = "" };
	char *got = NULL;

	ck_assert_msg(tti_template_expand(&got, template, name, ns, &err) == TT_OK, "%s",
		      err.text);
	ck_assert_str_eq(got, want);
	free(got);
}

START_TEST(templates_are_filled_in)
{
	int64_t day = INT64_C(1795986219304126309);

	expands("{name}/%Y-%m-%d", "ring", day, "ring/2026-11-29");
	expands("{name}", "a%Yb", day, "a%Yb");
	expands("x/{name}/%H{name}%%", "n", day, "x/n/21n%");
	expands("{name}/%Y-%m-%d", "r", -1, "r/1969-12-31");
	expands("plain name", "r", 0, "plain name");
	ck_assert(tti_template_has_time("a/%Y") &&
		  !tti_template_has_time("100%% {name}"));
	ck_assert(!tti_template_has_time("odd%") && tti_template_has_time("%%%d"));
}
END_TEST

START_TEST(names_that_the_layout_cannot_hold_are_refused)
{
	static const char *const bad[] = {
		"",	      "/a",	    "a/",	  "a//b",	  "versions",
		"versions/a", "a/raw_data", "hash_table", "a/_tmp_x/b",	  "__tmp__",
		".",	      "a/../b",	    "\xff",	  "\xed\xa0\x80", "\xc0\x80"
	};
	static const char *const good[] = { "a", "a/versions", "with space/\xc3\xa9",
					    "raw_data2", "_tmp" };
	struct tt_error err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_msg(tti_check_dataset_name(bad[i], &err) == TT_E_RANGE, "'%s'",
			      bad[i]);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		ck_assert_msg(tti_check_dataset_name(good[i], &err) == TT_OK, "'%s'",
			      good[i]);
	ck_assert_int_eq(tti_check_version_name("", &err), TT_E_RANGE);
	ck_assert_int_eq(tti_check_version_name("a/b", &err), TT_E_RANGE);
	ck_assert_int_eq(tti_check_version_name("x__first_version__", &err), TT_E_RANGE);
	ck_assert_int_eq(tti_check_version_name(".", &err), TT_E_RANGE);
	ck_assert_int_eq(tti_check_version_name("night 1", &err), TT_OK);
}
END_TEST

START_TEST(a_source_is_named_by_its_last_component)
{
	char *name = tti_source_name("/data/es.npy");

	ck_assert_str_eq(name, "es");
	free(name);
	name = tti_source_name("/data/es.npy.npy");
	ck_assert_str_eq(name, "es.npy");
	free(name);
	name = tti_source_name("/data/ring");
	ck_assert_str_eq(name, "ring");
	free(name);
	name = tti_source_name("/data/.npy");
	ck_assert_str_eq(name, ".npy");
	free(name);
}
END_TEST

START_TEST(timestamps_have_six_digits_and_an_offset)
{
	char text[TTI_TIMESTAMP_TEXT];

	tti_timestamp_text(text, INT64_C(1795984884399055000));
	ck_assert_str_eq(text, "2026-11-29 20:41:24.399055+0000");
	tti_version_text(text, INT64_C(1795984884000000999));
	ck_assert_str_eq(text, "2026-11-29T20:41:24.000000Z");
	tti_timestamp_text(text, -1);
	ck_assert_str_eq(text, "1969-12-31 23:59:59.999999+0000");
	tti_timestamp_text(text, INT64_MIN);
	ck_assert_uint_eq(strlen(text), 31);
}
END_TEST

START_TEST(default_chunks_hold_at_most_a_mebibyte)
{
	ck_assert_uint_eq(tti_default_chunk_rows(1, UINT64_MAX), 1 << 20);
	ck_assert_uint_eq(tti_default_chunk_rows(25, 1000000), 40960);
	ck_assert_uint_eq(tti_default_chunk_rows(256, 5000), 4096);
	ck_assert_uint_eq(tti_default_chunk_rows(257, 5000), 4080);
	ck_assert_uint_eq(tti_default_chunk_rows((1 << 20) + 1, 9), 1);
	ck_assert_uint_eq(tti_default_chunk_rows(25, 1), 64);
	ck_assert_uint_eq(tti_default_chunk_rows(25, 64), 64);
	ck_assert_uint_eq(tti_default_chunk_rows(25, 65), 128);
	ck_assert_uint_eq(tti_default_chunk_rows(25, 40959), 40960);
	ck_assert_uint_eq(tti_default_chunk_rows(100000, 3), 10);
	ck_assert_uint_eq(tti_default_chunk_rows(8, UINT64_C(131072) - 1), 131072);
}
END_TEST

static struct tti_digest digest_of(uint64_t home, uint64_t rest)
{
	struct tti_digest d = { { 0 } };

	memcpy(d.b, &home, 8);
	memcpy(d.b + 24, &rest, 8);
	return d;
}

START_TEST(digests_that_begin_alike_are_told_apart)
{
	struct tti_dedup table = { 0 };
	uint64_t slot, first;

	for (uint64_t i = 0; i < 1000; i++) {
		struct tti_digest d = digest_of(7, i);

		ck_assert(!tti_dedup_find(&table, &d, &slot));
		ck_assert_int_eq(tti_dedup_put(&table, &d, i, NULL), TT_OK);
		/* the first stays */
		ck_assert_int_eq(tti_dedup_put(&table, &d, 99999, &first), TT_OK);
		ck_assert_uint_eq(first, i);
		if (i == 500)
			ck_assert_int_eq(tti_dedup_reserve(&table, 5000), TT_OK);
	}
	ck_assert_int_eq(tti_dedup_reserve(&table, SIZE_MAX), -ENOMEM);
	for (uint64_t i = 0; i < 1000; i++) {
		struct tti_digest d = digest_of(7, i);

		ck_assert(tti_dedup_find(&table, &d, &slot) && slot == i);
	}
	tti_dedup_fini(&table);
}
END_TEST

static const struct tt_leaf *time_of(struct tt_dtype **dtype, const char *text)
{
	ck_assert_int_eq(tt_dtype_parse(dtype, text, strlen(text), false, NULL), TT_OK);
	return tti_time_leaf(*dtype);
}

START_TEST(the_time_field_is_found)
{
	struct tt_dtype *dtype;
	const struct tt_leaf *leaf;

	leaf = time_of(&dtype, "ts:i8,when:M8[ms],px:f8");
	ck_assert_str_eq(leaf->name, "when");
	tt_dtype_unref(dtype);
	leaf = time_of(&dtype, "a:i8,recv_ns:u8,ts:i8");
	ck_assert_str_eq(leaf->name, "recv_ns");
	tt_dtype_unref(dtype);
	ck_assert_ptr_null(time_of(&dtype, "ts:i4,time:f8,x:i8"));
	tt_dtype_unref(dtype);
}
END_TEST

START_TEST(times_are_ranged_without_nat_and_in_their_byte_order)
{
	const int64_t rows[] = { TT_NAT, (int64_t)__builtin_bswap64(5),
				 (int64_t)__builtin_bswap64(-3) };
	struct tti_time_range range = TTI_TIME_RANGE_EMPTY, other = { 9, 11 };
	struct tt_dtype *dtype;
	const struct tt_leaf *leaf = time_of(&dtype, "'>M8[s]'");
	int64_t nat = (int64_t)__builtin_bswap64((uint64_t)TT_NAT), ns;

	tti_time_range_scan(&range, leaf, &nat, 1, 8);
	ck_assert(range.min == TT_NAT && range.max == TT_NAT);
	tti_time_range_scan(&range, leaf, rows + 1, 2, 8);
	ck_assert(range.min == -3 && range.max == 5);
	tti_time_range_join(&range, &other);
	ck_assert(range.min == -3 && range.max == 11);
	ck_assert(tti_time_leaf_ns(leaf, rows + 2, &ns) && ns == INT64_C(-3000000000));
	ck_assert(!tti_time_leaf_ns(leaf, &nat, &ns));
	tt_dtype_unref(dtype);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("archive rules");
	TCase *tc = tcase_create("rules");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, templates_are_filled_in);
	tcase_add_test(tc, names_that_the_layout_cannot_hold_are_refused);
	tcase_add_test(tc, a_source_is_named_by_its_last_component);
	tcase_add_test(tc, timestamps_have_six_digits_and_an_offset);
	tcase_add_test(tc, default_chunks_hold_at_most_a_mebibyte);
	tcase_add_test(tc, digests_that_begin_alike_are_told_apart);
	tcase_add_test(tc, the_time_field_is_found);
	tcase_add_test(tc, times_are_ranged_without_nat_and_in_their_byte_order);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
