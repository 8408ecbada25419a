/* SPDX-License-Identifier: Apache-2.0 */
/* Recovering rings of which files are damaged, sealed or newest, merged or being merged. */
#include "recover_ring_help.h"

static const struct ring_kind {
	const char *name;
	void (*damage)(const char *path);
	uint64_t lost; /* of the full file 3 */
} ring_kinds[] = {
	{ "empty", damage_empty, CAPACITY },
	{ "cut in the header", damage_cut_header, CAPACITY },
	{ "cut in the rows", damage_cut_rows, CAPACITY - 10 },
	{ "cut at the tail", damage_cut_at_tail, 0 },
	{ "cut in the tail", damage_cut_in_tail, 0 },
	{ "tail zeroed", damage_zero_tail, 0 },
	{ "magic of the tail", damage_magic, 0 },
	{ "end out of range", damage_end, 0 },
	{ "start past the end", damage_start, 0 },
	{ "prefix zeroed", damage_prefix, 0 },
	{ "descr", damage_descr, 0 },
	{ "header zeroed", damage_header, 0 },
	{ "extent too small", damage_extent, 0 },
	{ "extent too large", damage_extent_up, 0 },
	{ "garbage behind", damage_garbage, 0 },
	{ "all zeroed", damage_all, 0 },
};
#define RING_KINDS (sizeof(ring_kinds) / sizeof(ring_kinds[0]))

/* A sealed file: all is known of it. */
START_TEST(each_kind_of_damage_of_a_sealed_file)
{
	const struct ring_kind *kind = &ring_kinds[_i];
	static bool seen[RING_ROWS];
	bool zeroed = kind->damage == damage_all;

	for (size_t at = 0; at <= 3; at += 3) {
		uint64_t lost;

		make_ring();
		kind->damage(file_path(at));
		recover_ring(kind->name);
		lost = read_ring(seen);
		ck_assert_msg(lost == kind->lost, "%s: lost %" PRIu64, kind->name, lost);
		for (size_t i = 0; i < RING_ROWS; i++) {
			size_t row = i - at * CAPACITY;
			bool there = row >= CAPACITY ||
				     (!zeroed && row < CAPACITY - kind->lost);

			ck_assert_msg(seen[i] == there, "%s: row %zu", kind->name, i);
		}
		ring_goes_on();
		ring_is_clean();
		tt_ring_info_free(&before);
		ck_assert_int_eq(system("rm -rf r"), 0);
	}
}
END_TEST

START_TEST(each_kind_of_damage_of_the_newest_file)
{
	const struct ring_kind *kind = &ring_kinds[_i];
	static bool seen[RING_ROWS];

	make_ring();
	kind->damage(file_path(FILES - 1));
	recover_ring(kind->name);
	read_ring(seen);
	for (size_t i = 0; i < RING_ROWS; i++) {
		size_t row = i - (FILES - 1) * CAPACITY;
		bool gone = row < CAPACITY &&
			    (kind->damage == damage_all || row >= CAPACITY - kind->lost);

		ck_assert_msg(seen[i] == !gone, "%s: row %zu", kind->name, i);
	}
	ring_goes_on();
	ring_is_clean();
	tt_ring_info_free(&before);
}
END_TEST

START_TEST(damaged_merged_file)
{
	static bool seen[RING_ROWS];
	uint64_t merged = 0, lost;
	char path[128];

	make_ring();
	OK(tt_ring_merge("r", 2, NULL, NULL, &merged, &err));
	ck_assert_uint_eq(merged, 2);
	snprintf(path, sizeof(path), "%s_", file_path(0));
	cut_to(path, DATA_OFF + 100 * ROW_BYTES);
	recover_ring("merged");
	lost = read_ring(seen);
	ck_assert_uint_eq(lost, 2 * CAPACITY - 100);
	for (size_t i = 0; i < RING_ROWS; i++)
		ck_assert_int_eq(seen[i], i < 100 || i >= 2 * CAPACITY);
	ring_goes_on();
	tt_ring_info_free(&before);
}
END_TEST

START_TEST(merge_without_its_entries)
{
	static bool seen[RING_ROWS];
	uint64_t merged;

	make_ring();
	ck_assert_int_eq(system("cp -a r keep"), 0);
	OK(tt_ring_merge("r", 2, NULL, NULL, &merged, &err));
	/* as if it had died before it removed what it joined, and the entries were lost */
	ck_assert_int_eq(system("cp -an keep/*.npy r/"), 0);
	lose_settings();
	recover_ring("merge");
	ck_assert_uint_eq(read_ring(seen), 0);
	for (size_t i = 0; i < RING_ROWS; i++)
		ck_assert_msg(seen[i], "row %zu", i);
	tt_ring_info_free(&before);
	before = ring_info("r");
	ck_assert_uint_eq(before.rows, RING_ROWS);
	tt_ring_info_free(&before);
}
END_TEST

START_TEST(merge_whose_file_is_damaged_is_taken_back)
{
	static bool seen[RING_ROWS];
	char path[128];
	uint64_t merged;

	make_ring();
	ck_assert_int_eq(system("cp -a r keep"), 0);
	OK(tt_ring_merge("r", 2, NULL, NULL, &merged, &err));
	ck_assert_int_eq(system("cp -an keep/*.npy r/"), 0);
	snprintf(path, sizeof(path), "%s_", file_path(0));
	cut_to(path, 300);
	recover_ring("merge");
	ck_assert_uint_eq(read_ring(seen), 0);
	for (size_t i = 0; i < RING_ROWS; i++)
		ck_assert_msg(seen[i], "row %zu", i);
	ring_goes_on();
	tt_ring_info_free(&before);
}
END_TEST

START_TEST(ring_that_is_written_is_refused)
{
	struct tt_ring_writer *writer;

	make_ring();
	writer = open_writer("r");
	ck_assert_int_eq(tt_ring_recover("r", NULL, &report, &err), TT_E_BUSY);
	ck_assert_int_eq(tt_file_recover(file_path(1), NULL, &report, &err),
			 TT_E_UNSUPPORTED);
	tt_ring_writer_close(writer);
	tt_ring_info_free(&before);
}
END_TEST

static off_t entry_off(uint64_t name)
{
	int fd = open("r/.ticktail", O_RDONLY | O_CLOEXEC);
	off_t at = TTI_ENTRIES_OFF;
	uint64_t found = 0;

	while (pread(fd, &found, 8, at) == 8 && found != name)
		at += 128;
	close(fd);
	ck_assert_uint_eq(found, name);
	return at;
}

/* An entry that says so, wherever in the file, keeps readers from what stands behind it: the
 * feed goes on in another file, and no row of it is passed over. */
START_TEST(newest_file_that_is_said_to_be_cut)
{
	static const uint64_t cuts[] = { 0, 10, CAPACITY, UINT64_C(1) << 60 };
	uint64_t newest;
	off_t entry;

	make_ring();
	newest = before.files[FILES - 1].name;
	entry = entry_off(newest);
	poke("r/.ticktail", entry + (off_t)offsetof(struct tti_entry, cut_at), &cuts[_i],
	     8);
	ring_goes_on();
	ring_is_clean();
	tt_ring_info_free(&before);
}
END_TEST

START_TEST(stored_positions_stay_true)
{
	struct tt_ring_reader *reader;
	struct tt_view view;
	struct tt_pos pos;

	make_ring();
	damage_cut_rows(file_path(3));
	recover_ring("positions");
	reader = open_reader("r");
	pos = (struct tt_pos){ before.files[3].name, 7 };
	OK(tt_ring_seek(reader, pos, &err));
	ck_assert_int_eq(tt_ring_read(reader, 1, 0, &view, NULL, &err), 1);
	ck_assert_int_eq(((const struct row *)view.rows)->number, 3 * CAPACITY + 8);
	tt_ring_reader_close(reader);
	tt_ring_info_free(&before);
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_loop_test(tcase, each_kind_of_damage_of_a_sealed_file, 0,
			    (int)RING_KINDS);
	tcase_add_loop_test(tcase, each_kind_of_damage_of_the_newest_file, 0,
			    (int)RING_KINDS);
	tcase_add_test(tcase, damaged_merged_file);
	tcase_add_test(tcase, merge_without_its_entries);
	tcase_add_test(tcase, merge_whose_file_is_damaged_is_taken_back);
	tcase_add_test(tcase, ring_that_is_written_is_refused);
	tcase_add_loop_test(tcase, newest_file_that_is_said_to_be_cut, 0, 4);
	tcase_add_test(tcase, stored_positions_stay_true);
}

int main(void)
{
	return ring_suite_with("recover rings", add);
}
