/* SPDX-License-Identifier: Apache-2.0 */
/* One live file, one process. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "lib/suite.h"
#include "lib/tmpdir.h"
#include "live/file_helpers.h"
#include "ticktail/file.h"

START_TEST(created_file_is_empty_and_aligned)
{
	struct tt_file *file;
	struct tt_file_info info;
	struct stat st;

	make_file("a.npy", "ts:i8,px:f8,flag:u1", 10);
	file = open_file("a.npy", TT_READ);
	ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
	ck_assert_uint_eq(info.row_bytes, 17);
	ck_assert_uint_eq(info.capacity, 64);
	ck_assert_uint_eq(info.start, 0);
	ck_assert_uint_eq(info.end, 0);
	ck_assert_uint_eq(info.tail_words, 5);
	ck_assert_uint_eq((info.data_off + info.capacity * info.row_bytes) % 64, 0);
	ck_assert(info.aligned_tail);
	ck_assert_int_eq(info.writer_pid, 0);
	ck_assert_uint_ne(info.update_timestamp, 0);
	ck_assert_uint_eq(info.update_timestamp & 0xFFFF, 0);
	ck_assert_int_eq(stat("a.npy", &st), 0);
	ck_assert_uint_eq((uint64_t)st.st_size, info.data_off + 64 * 17 + 40);
	ck_assert_uint_ge((uint64_t)st.st_blocks * 512, (uint64_t)st.st_size);
	ck_assert_uint_eq(tt_file_size(file), 0);
	tt_file_close(file);
}
END_TEST

START_TEST(exact_keeps_the_capacity)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_file *file;
	struct tt_file_info info;

	opts.capacity = 11;
	opts.exact = true;
	make_file_opts("a.npy", "ts:i8,px:f8,flag:u1", &opts);
	file = open_file("a.npy", TT_READ);
	ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
	ck_assert_uint_eq(info.capacity, 11);
	ck_assert(!info.aligned_tail);
	tt_file_close(file);
}
END_TEST

/* A file of exactly capacity rows, empty, with one row and full: each read in two ways. */
static void fill_and_read(const char *descr, uint64_t capacity)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_file_open_opts pread_opts = TT_FILE_OPEN_OPTS_INIT;
	const uint64_t counts[] = { 0, 1, capacity };
	struct tt_file *writer, *reader;
	struct tt_file_info info;
	uint64_t had = 0;

	opts.capacity = capacity;
	opts.exact = true;
	make_file_opts("b.npy", descr, &opts);
	writer = open_file("b.npy", TT_WRITE);
	ck_assert_int_eq(tt_file_info(writer, &info, NULL), 0);
	for (size_t i = 0; i < 3; had = counts[i++]) {
		uint64_t n = counts[i] * info.row_bytes;
		char *rows = malloc(n + 1), *seen = malloc(n + 1);

		memset(rows, 'x', n);
		if (counts[i] > had)
			ck_assert_int_eq(tt_file_append(writer, rows, counts[i] - had),
					 0);
		for (int by_pread = 0; by_pread < 2; by_pread++) {
			pread_opts.by_pread = by_pread;
			ck_assert_int_eq(
				tt_file_open(&reader, "b.npy", &pread_opts, NULL), 0);
			ck_assert_uint_eq(tt_file_size(reader), counts[i]);
			ck_assert_int_eq(tt_file_copy(reader, 0, counts[i], seen, NULL),
					 0);
			ck_assert_int_eq(memcmp(seen, rows, n), 0);
			tt_file_close(reader);
		}
		free(rows);
		free(seen);
	}
	tt_file_close(writer);
	ck_assert_int_eq(unlink("b.npy"), 0);
}

START_TEST(rows_and_tail_meet_page_borders)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), data_off = 128, tail = 40;
	char descr[8192] = "f0:i8";
	struct tt_file_info info = { 0 };
	size_t n = strlen(descr);

	fill_and_read("i8", 1);
	for (uint64_t pages = 1; pages < 3; pages++)
		for (uint64_t off = 0; off <= 2; off++) {
			fill_and_read("i8", (pages * page - data_off) / 8 + 1 - off);
			fill_and_read("i8",
				      (pages * page - data_off - tail) / 8 + 1 - off);
		}
	/* a header that ends with its page */
	for (int i = 1; info.data_off < page; i++) {
		struct tt_file *file;

		n += (size_t)snprintf(descr + n, sizeof(descr) - n, ",f%d:i8", i);
		make_file("a.npy", descr, 1);
		file = open_file("a.npy", TT_READ);
		ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
		tt_file_close(file);
		unlink("a.npy");
	}
	ck_assert_uint_eq(info.data_off, page);
	fill_and_read(descr, 1);
	fill_and_read(descr, 2);
}
END_TEST

START_TEST(rows_appended_are_seen_at_once)
{
	struct tt_file *writer, *reader;
	struct tt_view view;

	make_file("a.npy", "i8", 100);
	writer = open_file("a.npy", TT_WRITE);
	reader = open_file("a.npy", TT_READ);
	for (int64_t i = 0; i < 100; i++) {
		ck_assert_int_eq(tt_file_append(writer, &i, 1), 0);
		ck_assert_uint_eq(tt_file_size(reader), (uint64_t)i + 1);
		ck_assert_int_eq(*(const int64_t *)tt_file_at(reader, -1), i);
	}
	ck_assert_int_eq(tt_file_data(reader, &view), 0);
	for (int64_t i = 0; i < 100; i++)
		ck_assert_int_eq(((const int64_t *)view.rows)[i], i);
	ck_assert_uint_eq(tt_file_room(writer), 4); /* rounded up to 104 */
	tt_file_close(reader);
	tt_file_close(writer);
}
END_TEST

START_TEST(append_is_all_or_nothing)
{
	int64_t rows[9] = { 0 };
	struct tt_file *writer;

	make_file("a.npy", "i8", 8);
	writer = open_file("a.npy", TT_WRITE);
	ck_assert_int_eq(tt_file_append(writer, rows, 9), TT_E_FULL);
	ck_assert_uint_eq(tt_file_size(writer), 0);
	ck_assert_int_eq(tt_file_append(writer, rows, 8), 0);
	ck_assert_int_eq(tt_file_append(writer, rows, 0), 0);
	ck_assert_int_eq(tt_file_append(writer, rows, 1), TT_E_FULL);
	ck_assert_int_eq(tt_file_append(writer, rows, UINT64_MAX), TT_E_FULL);
	ck_assert_ptr_null(tt_file_reserve(writer, 1));
	ck_assert_uint_eq(tt_file_room(writer), 0);
	tt_file_close(writer);
}
END_TEST

START_TEST(reserved_rows_show_when_published)
{
	struct tt_file *writer, *reader;
	int64_t *room;

	make_file("a.npy", "i8", 16);
	writer = open_file("a.npy", TT_WRITE);
	reader = open_file("a.npy", TT_READ);
	room = tt_file_reserve(writer, 3);
	ck_assert_ptr_nonnull(room);
	room[0] = 7, room[1] = 8, room[2] = 9;
	ck_assert_uint_eq(tt_file_size(reader), 0);
	ck_assert_ptr_eq(tt_file_reserve(writer, 16), room);
	ck_assert_int_eq(tt_file_publish(writer, 2), 0);
	ck_assert_uint_eq(tt_file_size(reader), 2);
	ck_assert_int_eq(*(const int64_t *)tt_file_at(reader, 1), 8);
	ck_assert_int_eq(tt_file_publish(writer, 15), TT_E_MISUSE);
	tt_file_close(reader);
	tt_file_close(writer);
}
END_TEST

/* Nothing that would store into what may not be written: a crash where the test fails. */
static void refuses_rows(struct tt_file *reader)
{
	unsigned char rows[64] = { 0 };
	struct tt_error err;

	for (uint64_t count = 1; count <= 4; count++) {
		ck_assert_int_eq(tt_file_append(reader, rows, count), TT_E_MISUSE);
		ck_assert_ptr_null(tt_file_reserve(reader, count));
		ck_assert_int_eq(tt_file_publish(reader, count), TT_E_MISUSE);
	}
	ck_assert_int_eq(tt_file_append(reader, rows, UINT64_MAX), TT_E_MISUSE);
	ck_assert_ptr_null(tt_file_reserve(reader, UINT64_MAX));
	ck_assert_int_eq(tt_file_publish(reader, UINT64_MAX), TT_E_MISUSE);
	ck_assert_int_eq(tt_file_publish(reader, 0), TT_E_MISUSE);
	ck_assert_int_eq(tt_file_update(reader, 0, rows, 1, &err), TT_E_MISUSE);
	ck_assert_int_eq(tt_file_grow(reader, 1, &err), TT_E_MISUSE);
}

START_TEST(reader_may_not_write)
{
	static const char *const types[] = { "u1", "V3", "i8",
					     "[('a', '<i8'), ('b', 'u1'), ('', '|V7')]" };
	struct tt_file_open_opts by_pread = TT_FILE_OPEN_OPTS_INIT;
	unsigned char rows[64] = { 0 };

	by_pread.by_pread = true;
	make_file("a.npy", types[_i], 40);
	for (uint64_t count = 0; count <= 3; count++) { /* of what is there */
		struct tt_file *writer = open_file("a.npy", TT_WRITE), *reader, *preader;
		struct tt_error err;
		struct tt_view view;

		ck_assert_int_eq(tt_file_append(writer, rows, count), TT_OK);
		reader = open_file("a.npy", TT_READ);
		ck_assert_int_eq(tt_file_open(&preader, "a.npy", &by_pread, &err), TT_OK);
		refuses_rows(reader);
		refuses_rows(preader);
		ck_assert_int_eq(tt_file_append(writer, rows, 1), TT_OK);
		ck_assert_int_ge(tt_file_tail(reader, 2, &view), 0); /* sees more now */
		ck_assert_int_eq(tt_file_copy(preader, 0, 1, rows, &err), TT_OK);
		refuses_rows(reader);
		refuses_rows(preader);
		tt_file_close(preader);
		tt_file_close(reader);
		tt_file_close(writer);
	}
}
END_TEST

START_TEST(padding_is_zeroed_unless_promised)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	static const char descr[] = "[('a', '<i8'), ('b', 'u1'), ('', '|V7')]";
	unsigned char row[16];
	const unsigned char *got;
	struct tt_file *file;

	memset(row, 0xAB, sizeof(row));
	make_file("a.npy", descr, 8);
	opts.access = TT_WRITE;
	ck_assert_int_eq(tt_file_open(&file, "a.npy", &opts, NULL), 0);
	ck_assert_int_eq(tt_file_append(file, row, 1), 0);
	got = tt_file_at(file, 0);
	ck_assert_int_eq(got[8], 0xAB);
	for (int i = 9; i < 16; i++)
		ck_assert_int_eq(got[i], 0);
	memset(tt_file_reserve(file, 1), 0xAB, 16);
	ck_assert_int_eq(tt_file_publish(file, 1), 0);
	ck_assert_int_eq(((const unsigned char *)tt_file_at(file, 1))[15], 0);
	ck_assert_int_eq(tt_file_update(file, 0, row, 1, NULL), 0);
	ck_assert_int_eq(((const unsigned char *)tt_file_at(file, 0))[15], 0);
	tt_file_close(file);

	opts.clean_rows = true;
	ck_assert_int_eq(tt_file_open(&file, "a.npy", &opts, NULL), 0);
	ck_assert_int_eq(tt_file_append(file, row, 1), 0);
	ck_assert_int_eq(((const unsigned char *)tt_file_at(file, 2))[15], 0xAB);
	tt_file_close(file);
}
END_TEST

START_TEST(first_rows_come_with_create)
{
	static const int64_t rows[] = { 5, 6, 7 };
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_file *file;
	struct tt_dtype *dtype = parse_dtype("i8");

	opts.capacity = 8;
	opts.rows = rows;
	opts.row_count = 3;
	make_file_opts("a.npy", "i8", &opts);
	file = open_file("a.npy", TT_READ);
	ck_assert_uint_eq(tt_file_size(file), 3);
	ck_assert_mem_eq(tt_file_at(file, 0), rows, sizeof(rows));
	tt_file_close(file);
	opts.row_count = 9;
	ck_assert_int_eq(tt_file_create("b.npy", dtype, &opts, NULL), TT_E_RANGE);
	ck_assert_int_eq(access("b.npy", F_OK), -1);
	tt_dtype_unref(dtype);
}
END_TEST

START_TEST(existing_file_is_kept)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *i8 = parse_dtype("i8"), *f8 = parse_dtype("f8");
	static const uint64_t shape[] = { 2 };
	struct tt_error err;

	opts.capacity = 8;
	ck_assert_int_eq(tt_file_create("a.npy", i8, &opts, NULL), 0);
	ck_assert_int_eq(tt_file_create("a.npy", i8, &opts, &err), -EEXIST);
	ck_assert_ptr_nonnull(strstr(err.text, "a.npy"));
	opts.if_same = true;
	ck_assert_int_eq(tt_file_create("a.npy", i8, &opts, NULL), 0);
	ck_assert_int_eq(tt_file_create("a.npy", f8, &opts, &err), TT_E_MISMATCH);
	ck_assert_ptr_nonnull(strstr(err.text, "'<i8'"));
	opts.capacity = 9;
	ck_assert_int_eq(tt_file_create("a.npy", i8, &opts, &err), TT_E_MISMATCH);
	ck_assert_ptr_nonnull(strstr(err.text, "capacity of 8"));
	opts.capacity = 8;
	opts.row_rank = 1;
	opts.row_shape = shape;
	ck_assert_int_eq(tt_file_create("a.npy", i8, &opts, &err), TT_E_MISMATCH);
	tt_dtype_unref(i8);
	tt_dtype_unref(f8);
}
END_TEST

START_TEST(impossible_sizes_are_refused)
{
	static const uint64_t huge[] = { UINT64_MAX / 2 }, zero[] = { 0 };
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = parse_dtype("i8");

	ck_assert_int_eq(tt_file_create("a.npy", dtype, &opts, NULL), TT_E_RANGE);
	opts.capacity = UINT64_MAX;
	ck_assert_int_eq(tt_file_create("a.npy", dtype, &opts, NULL), TT_E_RANGE);
	opts.capacity = UINT64_MAX / 8;
	opts.exact = true;
	ck_assert_int_eq(tt_file_create("a.npy", dtype, &opts, NULL), TT_E_RANGE);
	opts.capacity = 1;
	opts.row_rank = 1;
	opts.row_shape = huge;
	ck_assert_int_eq(tt_file_create("a.npy", dtype, &opts, NULL), TT_E_RANGE);
	opts.row_shape = zero;
	ck_assert_int_eq(tt_file_create("a.npy", dtype, &opts, NULL), TT_E_RANGE);
	opts.row_rank = 0;
	ck_assert_int_eq(tt_file_create("no/a.npy", dtype, &opts, NULL), -ENOENT);
	ck_assert_int_eq(access("a.npy", F_OK), -1);
	tt_dtype_unref(dtype);
}
END_TEST

START_TEST(array_type_gives_more_extents)
{
	struct tt_file *file;
	struct tt_file_info info;

	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	static const uint64_t shape[] = { 2, 3 };
	struct tt_dtype *f8 = parse_dtype("f8"), *array;

	opts.capacity = 4;
	ck_assert_int_eq(tt_dtype_subarray(&array, f8, 2, shape, NULL), 0);
	ck_assert_int_eq(tt_file_create("a.npy", array, &opts, NULL), 0);
	tt_dtype_unref(array);
	tt_dtype_unref(f8);
	file = open_file("a.npy", TT_READ);
	ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
	ck_assert_str_eq(tt_dtype_descr(info.dtype), "'<f8'");
	ck_assert_uint_eq(info.row_rank, 2);
	ck_assert_uint_eq(info.row_shape[1], 3);
	ck_assert_uint_eq(info.row_bytes, 48);
	tt_file_close(file);
}
END_TEST

START_TEST(views_are_cut_to_what_is_there)
{
	struct tt_file *file;
	struct tt_view view;

	fill_file("a.npy", 10);
	file = open_file("a.npy", TT_READ);
	ck_assert_int_eq(tt_file_head(file, 3, &view), 0);
	ck_assert_uint_eq(view.count, 3);
	ck_assert_int_eq(*(const int64_t *)view.rows, 0);
	ck_assert_int_eq(tt_file_tail(file, 3, &view), 0);
	ck_assert_int_eq(*(const int64_t *)view.rows, 7);
	ck_assert_int_eq(tt_file_tail(file, 30, &view), 0);
	ck_assert_uint_eq(view.count, 10);
	ck_assert_int_eq(tt_file_view(file, 8, 30, &view), 0);
	ck_assert_uint_eq(view.count, 2);
	ck_assert_int_eq(tt_file_view(file, 10, 1, &view), 0);
	ck_assert_uint_eq(view.count, 0);
	ck_assert_int_eq(tt_file_view(file, 11, 1, &view), TT_E_RANGE);
	ck_assert_int_eq(*(const int64_t *)tt_file_at(file, -10), 0);
	ck_assert_ptr_null(tt_file_at(file, -11));
	ck_assert_ptr_null(tt_file_at(file, 10));
	ck_assert_ptr_null(tt_file_at(file, INT64_MIN));
	tt_file_close(file);
}
END_TEST

START_TEST(cursor_walks_inside_the_rows)
{
	struct tt_file *file;
	struct tt_view view;

	fill_file("a.npy", 10);
	file = open_file("a.npy", TT_READ);
	ck_assert_int_eq(tt_file_read(file, 4, 2, &view), 1);
	ck_assert_uint_eq(view.count, 4);
	ck_assert_int_eq(tt_file_read(file, 4, 2, &view), 1);
	ck_assert_uint_eq(view.count, 6);
	ck_assert_int_eq(*(const int64_t *)view.rows, 2);
	ck_assert_uint_eq(tt_file_tell(file), 8);
	ck_assert_int_eq(tt_file_read(file, 4, 0, &view), 1);
	ck_assert_uint_eq(view.count, 2);
	ck_assert_int_eq(tt_file_read(file, 4, 0, &view), 0);
	ck_assert_uint_eq(tt_file_seek(file, -3, TT_SEEK_END), 7);
	ck_assert_uint_eq(tt_file_seek(file, -100, TT_SEEK_CUR), 0);
	ck_assert_uint_eq(tt_file_seek(file, 100, TT_SEEK_SET), 10);
	ck_assert_uint_eq(tt_file_seek(file, INT64_MIN, TT_SEEK_END), 0);
	ck_assert_uint_eq(tt_file_seek(file, INT64_MAX, TT_SEEK_CUR), 10);
	tt_file_rewind(file);
	ck_assert_uint_eq(tt_file_tell(file), 0);
	tt_file_close(file);
}
END_TEST

START_TEST(copy_gives_rows_in_c_order)
{
	int64_t rows[10];
	struct tt_file *file;
	struct tt_error err;

	fill_file("a.npy", 10);
	file = open_file("a.npy", TT_READ);
	ck_assert_int_eq(tt_file_copy(file, 2, 8, rows, NULL), 0);
	ck_assert_int_eq(rows[0], 2);
	ck_assert_int_eq(rows[7], 9);
	ck_assert_int_eq(tt_file_copy(file, 2, 9, rows, &err), TT_E_RANGE);
	ck_assert_int_eq(tt_file_copy(file, 11, 0, rows, &err), TT_E_RANGE);
	ck_assert_int_eq(tt_file_copy(file, UINT64_MAX, 2, rows, &err), TT_E_RANGE);
	ck_assert_int_eq(tt_file_copy_untorn(file, 2, 8, rows, NULL), 0);
	ck_assert_int_eq(rows[7], 9);
	tt_file_close(file);
}
END_TEST

START_TEST(update_changes_rows_and_the_stamp)
{
	struct tt_file *file;
	struct tt_file_info before, after;
	const int64_t rows[] = { -1, -2 };
	struct tt_error err;

	fill_file("a.npy", 10);
	file = open_file("a.npy", TT_WRITE);
	ck_assert_int_eq(tt_file_info(file, &before, NULL), 0);
	ck_assert_int_eq(tt_file_update(file, 3, rows, 2, NULL), 0);
	ck_assert_int_eq(tt_file_info(file, &after, NULL), 0);
	ck_assert_uint_gt(after.update_timestamp, before.update_timestamp);
	ck_assert_uint_eq(after.update_timestamp & 0xFFFF, 0);
	ck_assert_uint_eq(after.end, before.end);
	ck_assert_int_eq(*(const int64_t *)tt_file_at(file, 4), -2);
	ck_assert_int_eq(*(const int64_t *)tt_file_at(file, 5), 5);
	ck_assert_int_eq(tt_file_update(file, 9, rows, 2, &err), TT_E_RANGE);
	ck_assert_ptr_nonnull(strstr(err.text, "10 rows"));
	tt_file_close(file);
}
END_TEST

START_TEST(second_writer_is_refused)
{
	struct tt_file *first, *second;
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_error err;

	fill_file("a.npy", 1);
	first = open_file("a.npy", TT_WRITE);
	opts.access = TT_WRITE;
	ck_assert_int_eq(tt_file_open(&second, "a.npy", &opts, &err), TT_E_BUSY);
	ck_assert_ptr_null(second);
	tt_file_close(first);
	second = open_file("a.npy", TT_WRITE);
	tt_file_close(second);
}
END_TEST

START_TEST(reader_holds_no_claim_on_writing)
{
	struct tt_file *reader, *writer;

	fill_file("a.npy", 3);
	reader = open_file("a.npy", TT_READ);
	writer = open_file("a.npy", TT_WRITE);
	tt_file_close(reader);
	tt_file_close(writer);
	tt_file_close(NULL);
}
END_TEST

static void add_tests(TCase *tcase)
{
	tcase_add_test(tcase, created_file_is_empty_and_aligned);
	tcase_add_test(tcase, exact_keeps_the_capacity);
	tcase_add_test(tcase, rows_and_tail_meet_page_borders);
	tcase_add_test(tcase, rows_appended_are_seen_at_once);
	tcase_add_test(tcase, append_is_all_or_nothing);
	tcase_add_test(tcase, reserved_rows_show_when_published);
	tcase_add_loop_test(tcase, reader_may_not_write, 0, 4);
	tcase_add_test(tcase, padding_is_zeroed_unless_promised);
	tcase_add_test(tcase, first_rows_come_with_create);
	tcase_add_test(tcase, existing_file_is_kept);
	tcase_add_test(tcase, impossible_sizes_are_refused);
	tcase_add_test(tcase, array_type_gives_more_extents);
	tcase_add_test(tcase, views_are_cut_to_what_is_there);
	tcase_add_test(tcase, cursor_walks_inside_the_rows);
	tcase_add_test(tcase, copy_gives_rows_in_c_order);
	tcase_add_test(tcase, update_changes_rows_and_the_stamp);
	tcase_add_test(tcase, second_writer_is_refused);
	tcase_add_test(tcase, reader_holds_no_claim_on_writing);
}

int main(void)
{
	return run_suite(&(struct suite){ .name = "file",
					  .enter = tmpdir_enter,
					  .leave = tmpdir_leave,
					  .add = add_tests });
}
