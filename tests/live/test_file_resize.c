/* SPDX-License-Identifier: Apache-2.0 */
/* One live file, one process: other tails, resizing, waiting. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/suite.h"
#include "lib/tmpdir.h"
#include "live/file_helpers.h"
#include "ticktail/file.h"

START_TEST(misaligned_tail_takes_rows_but_no_tailing)
{
	struct tt_file_create_opts copts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_file *writer, *reader;
	unsigned char row[17] = { 1 };

	copts.capacity = 3;
	copts.exact = true;
	copts.tail_words = (uint32_t)_i;
	make_file_opts("a.npy", "ts:i8,px:f8,flag:u1", &copts);
	writer = open_file("a.npy", TT_WRITE);
	reader = open_file("a.npy", TT_READ);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(tt_file_append(writer, row, 1), 0);
		ck_assert_uint_eq(tt_file_size(reader), i + 1);
	}
	ck_assert_int_eq(tt_file_append(writer, row, 1), TT_E_FULL);
	ck_assert_int_eq(tt_file_wait(reader, 2, TT_WAIT_SPIN, 0), 1);
	ck_assert_int_eq(tt_file_wait(reader, 3, TT_WAIT_SPIN, 0), TT_E_UNSUPPORTED);
	ck_assert_int_eq(tt_file_update(writer, 1, row, 1, NULL), 0);
	ck_assert_int_eq(tt_file_copy_untorn(reader, 0, 1, row, NULL), TT_E_UNSUPPORTED);
	tt_file_close(reader);
	tt_file_close(writer);
}
END_TEST

START_TEST(four_word_tail_is_kept)
{
	struct tt_file_create_opts copts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_file *file;
	struct tt_file_info info;
	int64_t row = 4;

	copts.capacity = 8;
	copts.tail_words = 4;
	make_file_opts("a.npy", "i8", &copts);
	file = open_file("a.npy", TT_WRITE);
	ck_assert_int_eq(tt_file_append(file, &row, 1), 0);
	ck_assert_int_eq(tt_file_update(file, 0, &row, 1, NULL), 0);
	ck_assert_int_eq(tt_file_copy_untorn(file, 0, 1, &row, NULL), TT_E_UNSUPPORTED);
	ck_assert_int_eq(tt_file_grow(file, 100, NULL), 0);
	ck_assert_int_eq(tt_file_append(file, &row, 1), 0);
	ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
	ck_assert_uint_eq(info.tail_words, 4);
	ck_assert_uint_eq(info.update_timestamp, 0);
	ck_assert_uint_eq(info.end, 2);
	ck_assert_uint_ge(info.capacity, 101);
	tt_file_close(file);
}
END_TEST

START_TEST(grown_handle_goes_on_and_old_views_stay)
{
	struct tt_file *file, *reader;
	struct tt_view old;
	int64_t row = 8;

	fill_file("a.npy", 8);
	file = open_file("a.npy", TT_WRITE);
	reader = open_file("a.npy", TT_READ);
	ck_assert_int_eq(tt_file_data(file, &old), 0);
	ck_assert_int_eq(tt_file_append(file, &row, 1), TT_E_FULL);
	ck_assert_int_eq(tt_file_grow(file, 1, NULL), 0);
	ck_assert_int_eq(tt_file_append(file, &row, 1), 0);
	ck_assert_int_eq(((const int64_t *)old.rows)[7], 7);
	ck_assert_int_eq(*(const int64_t *)tt_file_at(file, 8), 8);
	ck_assert_uint_eq(tt_file_size(reader), 8);
	ck_assert_int_eq(tt_file_wait(reader, 7, TT_WAIT_SPIN, 0), 1);
	ck_assert_int_eq(tt_file_wait(reader, 8, TT_WAIT_SPIN, 0), TT_E_SUPERSEDED);
	tt_file_close(reader);
	reader = open_file("a.npy", TT_READ);
	ck_assert_uint_eq(tt_file_size(reader), 9);
	tt_file_close(reader);
	tt_file_close(file);
	ck_assert_int_eq(count_entries("."), 1);
}
END_TEST

START_TEST(resize_and_trim_keep_rows)
{
	struct tt_file *file;
	struct tt_file_info info;
	struct tt_error err;

	fill_file("a.npy", 20);
	ck_assert_int_eq(tt_file_resize("a.npy", 1000, NULL), 0);
	file = open_file("a.npy", TT_READ);
	ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
	ck_assert_uint_eq(info.capacity, 1000);
	ck_assert_uint_eq(info.end, 20);
	tt_file_close(file);
	ck_assert_int_eq(tt_file_resize("a.npy", 19, &err), TT_E_RANGE);
	ck_assert_ptr_nonnull(strstr(err.text, "holds 20"));
	ck_assert_int_eq(tt_file_resize("a.npy", 0, &err), TT_E_RANGE);
	ck_assert_int_eq(tt_file_trim("a.npy", NULL), 0);
	file = open_file("a.npy", TT_READ);
	ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
	ck_assert_uint_eq(info.capacity, 24);
	for (int64_t i = 0; i < 20; i++)
		ck_assert_int_eq(*(const int64_t *)tt_file_at(file, i), i);
	tt_file_close(file);
	ck_assert_int_eq(count_entries("."), 1);
}
END_TEST

START_TEST(mode_survives_a_resize)
{
	struct stat st;

	fill_file("a.npy", 3);
	ck_assert_int_eq(chmod("a.npy", 0640), 0);
	ck_assert_int_eq(tt_file_resize("a.npy", 1000, NULL), 0);
	ck_assert_int_eq(stat("a.npy", &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0640);
}
END_TEST

START_TEST(link_to_a_file_is_followed)
{
	struct stat st;
	struct tt_file *file;

	ck_assert_int_eq(mkdir("d", 0777), 0);
	fill_file("d/a.npy", 8);
	ck_assert_int_eq(symlink("d/a.npy", "l.npy"), 0);
	ck_assert_int_eq(tt_file_resize("l.npy", 100, NULL), 0);
	ck_assert_int_eq(lstat("l.npy", &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	file = open_file("d/a.npy", TT_READ);
	ck_assert_uint_eq(tt_file_size(file), 8);
	ck_assert_uint_eq(tt_file_room(file), 96);
	tt_file_close(file);
}
END_TEST

START_TEST(waiting_ends_in_time)
{
	struct tt_file *file;

	fill_file("a.npy", 3);
	file = open_file("a.npy", TT_READ);
	ck_assert_int_eq(tt_file_wait(file, 2, (enum tt_wait)_i, -1), 1);
	ck_assert_int_eq(tt_file_wait(file, 3, (enum tt_wait)_i, 0), 0);
	ck_assert_int_eq(tt_file_wait(file, 3, (enum tt_wait)_i, 20000000), 0);
	ck_assert_int_eq(tt_file_wait(file, 4, (enum tt_wait)_i, -1), TT_E_DAMAGED);
	ck_assert_int_eq(rename("a.npy", "b.npy"), 0);
	fill_file("a.npy", 5);
	ck_assert_int_eq(tt_file_wait(file, 3, (enum tt_wait)_i, -1), TT_E_CHANGED);
	tt_file_close(file);
}
END_TEST

START_TEST(pread_handle_reads_without_mapping)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;
	struct tt_view view;
	int64_t rows[3];
	struct tt_error err;

	fill_file("a.npy", 3);
	opts.by_pread = true;
	ck_assert_int_eq(tt_file_open(&file, "a.npy", &opts, NULL), 0);
	ck_assert_uint_eq(tt_file_size(file), 3);
	ck_assert_int_eq(tt_file_data(file, &view), TT_E_UNSUPPORTED);
	ck_assert_int_eq(tt_file_copy(file, 0, 3, rows, NULL), 0);
	ck_assert_int_eq(rows[2], 2);
	ck_assert_int_eq(tt_file_wait(file, 3, TT_WAIT_SLEEP, 2000000), 0);
	ck_assert_int_eq(truncate("a.npy", 130), 0);
	ck_assert_int_eq(tt_file_copy(file, 0, 3, rows, &err), TT_E_DAMAGED);
	tt_file_close(file);
}
END_TEST

static void add_tests(TCase *tcase)
{
	tcase_add_loop_test(tcase, misaligned_tail_takes_rows_but_no_tailing, 4, 6);
	tcase_add_test(tcase, four_word_tail_is_kept);
	tcase_add_test(tcase, grown_handle_goes_on_and_old_views_stay);
	tcase_add_test(tcase, resize_and_trim_keep_rows);
	tcase_add_test(tcase, mode_survives_a_resize);
	tcase_add_test(tcase, link_to_a_file_is_followed);
	tcase_add_loop_test(tcase, waiting_ends_in_time, 0, 3);
	tcase_add_test(tcase, pread_handle_reads_without_mapping);
}

int main(void)
{
	return run_suite(&(struct suite){ .name = "file_resize",
					  .enter = tmpdir_enter,
					  .leave = tmpdir_leave,
					  .add = add_tests });
}
