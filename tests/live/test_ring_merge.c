/* SPDX-License-Identifier: Apache-2.0 */
/* Merging: rows keep their positions, what may not be joined stays, others go on.  Removing. */
#include "upkeep_help.h"

START_TEST(merged_files_keep_rows_and_positions)
{
	struct tt_ring_reader *reader, *inside;
	struct tt_pos pos[40], now;
	struct tt_view view;
	uint64_t merged = 0;
	int64_t next = 0;

	create_ring("r", 4, 2);
	fill_ring("r", 0, 40); /* 10 files, 8 out of the queue */
	reader = open_reader("r");
	for (int i = 0; i < 40; i++)
		ck_assert_int_eq(tt_ring_read(reader, 1, 0, &view, &pos[i], &err), 1);
	inside = open_reader("r");
	OK(tt_ring_seek(inside, pos[6], &err)); /* has a file mapped that is joined now */
	OK(tt_ring_merge("r", 3, NULL, NULL, &merged, &err));
	ck_assert_uint_eq(merged, 6);
	ck_assert_uint_eq(count_files("r/*.npy_"), 2);
	ck_assert_uint_eq(count_files("r/*.npy"), 4);
	check_whole("r");
	for (int i = 0; i < 40; i++) {
		OK(tt_ring_seek(reader, pos[i], &err));
		ck_assert_int_eq(tt_ring_read(reader, 1, 0, &view, &now, &err), 1);
		ck_assert_int_eq(((const struct row *)view.rows)->number, i);
	}
	next = 6;
	take_rows(inside, &next);
	ck_assert_int_eq(next, 40);
	OK(tt_ring_seek_first(reader, &err));
	next = 0;
	take_rows(reader, &next);
	ck_assert_int_eq(next, 40);
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 0);
	ck_assert_uint_eq(tt_ring_reader_lost(inside), 0);
	OK(tt_ring_merge("r", 0, NULL, NULL, &merged, &err));
	ck_assert_uint_eq(merged, 2);
	OK(tt_ring_merge("r", 0, NULL, NULL, &merged, &err));
	ck_assert_uint_eq(merged, 0);
	ck_assert_int_eq(tt_ring_merge("r", 1, NULL, NULL, &merged, &err), TT_E_RANGE);
	tt_ring_reader_close(reader);
	tt_ring_reader_close(inside);
}
END_TEST

static bool refuse_third(void *ctx, const struct tt_ring_file *file)
{
	(void)file;
	return ++*(int *)ctx != 3;
}

START_TEST(files_not_allowed_stay_and_part_the_rest)
{
	struct tt_ring_reader *reader;
	uint64_t merged = 0;
	int64_t next = 0;
	int asked = 0;

	create_ring("r", 4, 2);
	fill_ring("r", 0, 32);
	OK(tt_ring_merge("r", 0, refuse_third, &asked, &merged, &err));
	ck_assert_uint_eq(count_files("r/*.npy_"), 2);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 32);
	tt_ring_reader_close(reader);
}
END_TEST

START_TEST(files_with_a_gap_between_are_not_joined)
{
	struct tt_ring_info info;
	struct tt_ring_reader *reader;
	uint64_t merged = 0, lost = 0, rows = 0;
	struct tt_view view;

	create_ring("r", 4, 2);
	fill_ring("r", 0, 32); /* 6 files out of the queue */
	info = ring_info("r");
	reader = open_reader("r");
	ck_assert_int_eq(tt_ring_read(reader, 3, 0, &view, NULL, &err), 1);
	OK(tt_ring_remove_file("r", info.files[2].name, &err));
	OK(tt_ring_merge("r", 0, NULL, NULL, &merged, &err));
	ck_assert_uint_eq(merged, 5);
	ck_assert_uint_eq(count_files("r/*.npy_"), 2);
	for (rows = 3; tt_ring_read(reader, 100, 0, &view, NULL, &err) == 1;) {
		lost += tt_ring_reader_lost(reader);
		ck_assert_int_eq(((const struct row *)view.rows)->number, rows + lost);
		rows += view.count;
	}
	ck_assert_uint_eq(lost, 4);
	ck_assert_uint_eq(rows, 28);
	check_whole("r");
	tt_ring_info_free(&info);
	tt_ring_reader_close(reader);
}
END_TEST

START_TEST(merge_runs_beside_the_feed_but_not_beside_another)
{
	struct tti_ring_lock lock;
	struct tt_ring_writer *writer;
	struct tti_ring ring;
	uint64_t merged;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 20);
	OK(tt_ring_merge("r", 0, NULL, NULL, &merged, &err));
	ck_assert_uint_eq(merged, 3);
	OK(tti_ring_open(&ring, "r", true, &err));
	OK(tti_ring_lock(&lock, &ring, TTI_LOCK_MAINTAINER, &err));
	ck_assert_int_eq(tt_ring_merge("r", 0, NULL, NULL, &merged, &err), TT_E_BUSY);
	tti_ring_unlock(&lock);
	tti_ring_close(&ring);
	put_rows(writer, 20, 20);
	tt_ring_writer_close(writer);
	check_whole("r");
}
END_TEST

START_TEST(only_files_outside_the_queue_are_removed)
{
	struct tt_ring_info info;
	struct tt_ring_reader *reader;
	int64_t next = 4;

	create_ring("r", 4, 2);
	fill_ring("r", 0, 16);
	info = ring_info("r");
	ck_assert_int_eq(tt_ring_remove_file("r", info.files[2].name, &err), TT_E_RANGE);
	ck_assert_int_eq(tt_ring_remove_file("r", 7, &err), -ENOENT);
	OK(tt_ring_remove_file("r", info.files[0].name, &err));
	reader = open_reader("r");
	OK(tt_ring_seek(reader, (struct tt_pos){ info.files[0].name, 1 }, &err));
	take_rows(reader, &next);
	ck_assert_int_eq(next, 16);
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 3);
	ck_assert_int_eq(
		tt_ring_seek(reader, (struct tt_pos){ info.files[0].name, 5 }, &err),
		TT_E_RANGE);
	tt_ring_info_free(&info);
	tt_ring_reader_close(reader);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		merged_files_keep_rows_and_positions,
		files_not_allowed_stay_and_part_the_rest,
		files_with_a_gap_between_are_not_joined,
		merge_runs_beside_the_feed_but_not_beside_another,
		only_files_outside_the_queue_are_removed,
	};

	return ring_suite("ring merge", tests, sizeof(tests) / sizeof(tests[0]));
}
