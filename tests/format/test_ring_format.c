/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a ring's manifest and settings file. */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "format/manifest.h"
#include "format/settings.h"

START_TEST(manifest_size_gives_slots_or_is_refused)
{
	struct tt_error err;
	uint64_t slots = 0;

	ck_assert_int_eq(tti_manifest_slots(24, &slots, ".lock", &err), TT_OK);
	ck_assert_uint_eq(slots, 3);
	ck_assert_int_eq(tti_manifest_slots(0, &slots, ".lock", &err), TT_E_DAMAGED);
	ck_assert_int_eq(tti_manifest_slots(25, &slots, ".lock", &err), TT_E_DAMAGED);
	ck_assert_str_eq(err.text, ".lock: 25 bytes are no list of 8-byte names");
	ck_assert_int_eq(
		tti_manifest_slots(8ull * TTI_MANIFEST_MAX_SLOTS, &slots, "m", &err),
		TT_OK);
	ck_assert_int_eq(
		tti_manifest_slots(8ull * TTI_MANIFEST_MAX_SLOTS + 8, &slots, "m", &err),
		TT_E_DAMAGED);
}
END_TEST

START_TEST(queue_drops_zeros_and_equal_neighbours)
{
	uint64_t free_last[] = { 3, 5, 0, 0 }, half_shifted[] = { 5, 5, 7, 9 };
	uint64_t lead_zero[] = { 0, 3, 0, 4 }, none[] = { 0, 0 },
		 full[] = { 1, 2, UINT64_MAX };
	uint64_t down[] = { 5, 4 }, down_over_zero[] = { 5, 0, 4 };
	struct tt_error err;

	ck_assert_int_eq(tti_manifest_queue(free_last, 4, "m", &err), 2);
	ck_assert_uint_eq(free_last[1], 5);
	ck_assert_int_eq(tti_manifest_queue(half_shifted, 4, "m", &err), 3);
	ck_assert_uint_eq(half_shifted[2], 9);
	ck_assert_int_eq(tti_manifest_queue(lead_zero, 4, "m", &err), 2);
	ck_assert_int_eq(tti_manifest_queue(none, 2, "m", &err), 0);
	ck_assert_int_eq(tti_manifest_queue(full, 3, "m", &err), 3);
	ck_assert_int_eq(tti_manifest_queue(down, 2, "m", &err), TT_E_DAMAGED);
	ck_assert_str_eq(err.text, "m: slot 1 holds 4 after 5: names must ascend");
	ck_assert_int_eq(tti_manifest_queue(down_over_zero, 3, "m", &err), TT_E_DAMAGED);
}
END_TEST

START_TEST(file_names_have_one_spelling)
{
	static const char *const others[] = { "",	   ".npy",
					      "0.npy",	   "01.npy",
					      "1.npyx",	   "1.npy_x",
					      "x1.npy",	   "1x.npy",
					      "+1.npy",	   " 1.npy",
					      "1",	   ".1.npy",
					      "1.npy.tmp", "18446744073709551616.npy" };
	char text[TTI_RING_NAME_BYTES];
	uint64_t name = 0;

	ck_assert_int_eq(tti_ring_parse_name("17.npy", &name), TTI_RING_FILE);
	ck_assert_uint_eq(name, 17);
	ck_assert_int_eq(tti_ring_parse_name("18446744073709551615.npy_", &name),
			 TTI_RING_MERGED);
	ck_assert_uint_eq(name, UINT64_MAX);
	tti_ring_format_name(text, name, true);
	ck_assert_str_eq(text, "18446744073709551615.npy_");
	tti_ring_format_name(text, 17, false);
	ck_assert_str_eq(text, "17.npy");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_msg(tti_ring_parse_name(others[i], &name) == TTI_RING_OTHER,
			      "%s", others[i]);
}
END_TEST

static uint8_t file[TTI_SETTINGS_MIN_BYTES];

static struct tti_settings some_settings(void)
{
	struct tti_settings settings = { .capacity = 50000,
					 .keep = 4,
					 .sync_ms = 1000,
					 .roll_at_s = -1,
					 .tail_words = 5 };

	memset(settings.ring_id, 7, sizeof(settings.ring_id));
	return settings;
}

static struct tti_settings *copy_at(unsigned which)
{
	return (void *)(file + TTI_SETTINGS_OFF + which * TTI_SETTINGS_STRIDE);
}

static void make_file(void)
{
	struct tti_settings settings = some_settings();

	tti_settings_format(file, &settings);
}

START_TEST(new_file_is_valid_and_gives_back_its_settings)
{
	struct tti_settings back;
	struct tt_error err;
	unsigned which = 9;

	ck_assert_int_eq(tti_settings_check(file, sizeof(file), "s", &err), TT_OK);
	ck_assert_int_eq(tti_settings_check(file, sizeof(file) + 7, "s", &err), TT_OK);
	ck_assert_int_eq(tti_settings_pick(file, &back, &which, "s", &err), TT_OK);
	ck_assert_uint_eq(which, 0);
	ck_assert_uint_eq(back.sequence, 3);
	ck_assert_uint_eq(tti_settings_bad_copies(file), 0);
	ck_assert_uint_eq(back.capacity, 50000);
	ck_assert_uint_eq(tti_settings_entries(sizeof(file)), TTI_ENTRIES_FIRST);
	ck_assert_uint_eq(tti_settings_entries(sizeof(file) + 127), TTI_ENTRIES_FIRST);
	ck_assert_uint_eq(tti_settings_entries(12), 0);
	/* byte for byte what docs/FORMAT.md says; never to change */
	ck_assert_mem_eq(
		file, "TKTTAIL1\1\0\0\0\0\0\0\0\0\2\0\0\0\4\0\0\0\x10\0\0\0\4\0\0", 32);
}
END_TEST

START_TEST(any_changed_header_bit_is_damage)
{
	struct tt_error err;

	for (unsigned bit = 0; bit < 128 * 8; bit++) {
		file[bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_int_eq(tti_settings_check(file, sizeof(file), "s", &err),
				 TT_E_DAMAGED);
		file[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	ck_assert_int_eq(tti_settings_check(file, sizeof(file) - 1, "s", &err),
			 TT_E_DAMAGED);
}
END_TEST

static void reseal_header(void)
{
	struct tti_settings_header *header = (void *)file;

	header->crc = 0;
	header->crc = tti_crc32c(0, file, 128);
}

START_TEST(newer_versions_are_refused_politely)
{
	struct tti_settings_header *header = (void *)file;
	struct tt_error err;

	header->incompat = 4;
	reseal_header();
	ck_assert_int_eq(tti_settings_check(file, sizeof(file), "s", &err),
			 TT_E_UNSUPPORTED);
	header->incompat = 0;
	header->version = 2;
	reseal_header();
	ck_assert_int_eq(tti_settings_check(file, sizeof(file), "s", &err),
			 TT_E_UNSUPPORTED);
	header->version = 1;
	header->words.off += 64;
	reseal_header();
	ck_assert_int_eq(tti_settings_check(file, sizeof(file), "s", &err), TT_E_DAMAGED);
}
END_TEST

START_TEST(newer_valid_copy_counts)
{
	struct tti_settings back, *second = copy_at(1);
	struct tt_error err;
	unsigned which;

	*second = some_settings();
	second->sequence = 4;
	second->keep = 8;
	tti_settings_seal(second);
	ck_assert_int_eq(tti_settings_pick(file, &back, &which, "s", &err), TT_OK);
	ck_assert_uint_eq(back.keep, 8);
	ck_assert_uint_eq(which, 1);
	second->keep = 9; /* torn */
	ck_assert_int_eq(tti_settings_pick(file, &back, &which, "s", &err), TT_OK);
	ck_assert_uint_eq(back.keep, 4);
	second->keep = 1; /* sealed, but no ring has it */
	tti_settings_seal(second);
	ck_assert_int_eq(tti_settings_pick(file, &back, NULL, "s", &err), TT_OK);
	ck_assert_uint_eq(back.keep, 4);
	copy_at(0)->crc ^= 1;
	ck_assert_int_eq(tti_settings_pick(file, &back, NULL, "s", &err), TT_E_DAMAGED);
}
END_TEST

/* Only beside sequence 1 was there never another copy. */
START_TEST(an_empty_copy_was_lost)
{
	for (unsigned which = 0; which < 2; which++) {
		make_file();
		memset(copy_at(which), 0, sizeof(struct tti_settings));
		ck_assert_uint_eq(tti_settings_bad_copies(file), 1);
		copy_at(1 - which)->sequence = 1;
		tti_settings_seal(copy_at(1 - which));
		ck_assert_uint_eq(tti_settings_bad_copies(file), 0);
		copy_at(1 - which)->crc ^= 1;
		ck_assert_uint_eq(tti_settings_bad_copies(file), 2);
	}
}
END_TEST

START_TEST(settings_out_of_range_are_named)
{
	struct tti_settings settings = some_settings();
	struct tt_error err;

	ck_assert_int_eq(tti_settings_judge(&settings, &err), TT_OK);
	settings.keep = 1;
	ck_assert_int_eq(tti_settings_judge(&settings, &err), TT_E_RANGE);
	ck_assert_str_eq(err.text, "keep 1: from 2 to 1048576 files");
	settings = some_settings(), settings.capacity = 0;
	ck_assert_int_eq(tti_settings_judge(&settings, &err), TT_E_RANGE);
	settings = some_settings(), settings.sync_ms = -2;
	ck_assert_int_eq(tti_settings_judge(&settings, &err), TT_E_RANGE);
	settings = some_settings(), settings.roll_at_s = 86400;
	ck_assert_int_eq(tti_settings_judge(&settings, &err), TT_E_RANGE);
	settings = some_settings(), settings.tail_words = 6;
	ck_assert_int_eq(tti_settings_judge(&settings, &err), TT_E_RANGE);
	settings = some_settings(), settings.flags = 4;
	ck_assert_int_eq(tti_settings_judge(&settings, &err), TT_E_RANGE);
}
END_TEST

START_TEST(newer_valid_mark_counts)
{
	struct tti_mark back,
		*first = (void *)(file + TTI_MARKS_OFF),
		*second = (void *)(file + TTI_MARKS_OFF + TTI_SETTINGS_STRIDE);

	ck_assert_int_eq(tti_mark_pick(file + TTI_MARKS_OFF, &back), 0);
	*first = (struct tti_mark){ .sequence = 3, .file = 5, .end = 10 };
	tti_mark_seal(first);
	*second = (struct tti_mark){ .sequence = 4, .file = 5, .from = 10, .end = 12 };
	tti_mark_seal(second);
	ck_assert_int_eq(tti_mark_pick(file + TTI_MARKS_OFF, &back), 1);
	ck_assert_uint_eq(back.end, 12);
	second->end++;
	ck_assert_int_eq(tti_mark_pick(file + TTI_MARKS_OFF, &back), 1);
	ck_assert_uint_eq(back.end, 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring format");
	TCase *manifest = tcase_create("manifest"), *settings = tcase_create("settings");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(manifest, manifest_size_gives_slots_or_is_refused);
	tcase_add_test(manifest, queue_drops_zeros_and_equal_neighbours);
	tcase_add_test(manifest, file_names_have_one_spelling);
	tcase_add_checked_fixture(settings, make_file, NULL);
	tcase_add_test(settings, new_file_is_valid_and_gives_back_its_settings);
	tcase_add_test(settings, any_changed_header_bit_is_damage);
	tcase_add_test(settings, newer_versions_are_refused_politely);
	tcase_add_test(settings, newer_valid_copy_counts);
	tcase_add_test(settings, an_empty_copy_was_lost);
	tcase_add_test(settings, settings_out_of_range_are_named);
	tcase_add_test(settings, newer_valid_mark_counts);
	suite_add_tcase(suite, manifest);
	suite_add_tcase(suite, settings);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
