/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on the path of one live file. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "format/npy.h"
#include "format/tail.h"
#include "lib/suite.h"
#include "lib/tmpdir.h"
#include "live/file_helpers.h"
#include "ticktail/file.h"

/* What np.save writes for n rows of i8: 0, 1, .. */
static void save_plain(const char *path, uint64_t n, uint32_t rank, const uint64_t *shape)
{
	struct tt_dtype *dtype = parse_dtype("i8");
	void *header = NULL;
	size_t len;
	char *bytes;

	ck_assert_int_eq(
		tti_npy_format(&header, &len,
			       &(struct tti_npy_form){ dtype, rank, shape, false }, NULL),
		0);
	bytes = malloc(len + n * 8);
	memcpy(bytes, header, len);
	for (uint64_t i = 0; i < n; i++)
		memcpy(bytes + len + 8 * i, &i, 8);
	spit(path, bytes, len + n * 8);
	free(bytes);
	free(header);
	tt_dtype_unref(dtype);
}

static uint64_t verify(const char *path)
{
	uint64_t found = 99;
	struct tt_error err = { .text = "" };
	int rc = tt_file_verify(path, NULL, NULL, &found, &err);

	ck_assert_msg(rc == 0, "%d %s", rc, err.text);
	return found;
}

START_TEST(adopt_in_place_keeps_rows_where_they_are)
{
	const uint64_t shape[] = { 5 };
	struct tt_file *file;
	struct tt_file_info info;
	struct stat before, after;
	bool in_place = false;
	int64_t row = 5;

	save_plain("a.npy", 5, 1, shape);
	ck_assert_int_eq(stat("a.npy", &before), 0);
	ck_assert_int_eq(tt_file_adopt("a.npy", (uint64_t)_i * 100, &in_place, NULL), 0);
	ck_assert(in_place);
	ck_assert_int_eq(stat("a.npy", &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	file = open_file("a.npy", TT_WRITE);
	ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
	ck_assert_uint_eq(info.capacity, _i ? 104 : 8);
	ck_assert_uint_eq(info.end, 5);
	ck_assert(info.aligned_tail);
	ck_assert_int_eq(tt_file_append(file, &row, 1), 0);
	for (int64_t i = 0; i < 6; i++)
		ck_assert_int_eq(*(const int64_t *)tt_file_at(file, i), i);
	tt_file_close(file);
	ck_assert_uint_eq(verify("a.npy"), 0);
	ck_assert_int_eq(count_entries("."), 1);
}
END_TEST

/* Old NumPy left no room behind the dict. */
static void save_without_room(const char *path)
{
	char bytes[128 + 24] = "\x93NUMPY\1\0\x76";
	char dict[128] = "{'descr': '<i8', 'fortran_order': False,";

	while (strlen(dict) < 128 - 10 - 1 - 16)
		strcat(dict, " ");
	strcat(dict, "'shape': (3,), }");
	memcpy(bytes + 10, dict, strlen(dict));
	bytes[127] = '\n';
	for (int64_t i = 0; i < 3; i++)
		memcpy(bytes + 128 + 8 * i, &i, 8);
	spit(path, bytes, sizeof(bytes));
}

START_TEST(adopt_without_room_goes_by_copy)
{
	struct tt_file *file;
	struct stat before, after;
	bool in_place = true;

	save_without_room("a.npy");
	ck_assert_int_eq(stat("a.npy", &before), 0);
	ck_assert_int_eq(tt_file_adopt("a.npy", 100, &in_place, NULL), 0);
	ck_assert(!in_place);
	ck_assert_int_eq(stat("a.npy", &after), 0);
	ck_assert_uint_ne(before.st_ino, after.st_ino);
	file = open_file("a.npy", TT_READ);
	ck_assert_uint_eq(tt_file_size(file), 3);
	ck_assert_int_eq(*(const int64_t *)tt_file_at(file, 2), 2);
	tt_file_close(file);
	ck_assert_int_eq(count_entries("."), 1);
}
END_TEST

START_TEST(adopt_refuses_what_it_must)
{
	const uint64_t one[] = { 6 }, two[] = { 2, 3 };
	struct tt_error err;
	char *bytes, *at;
	size_t len;

	save_plain("scalar.npy", 1, 0, NULL);
	ck_assert_int_eq(tt_file_adopt("scalar.npy", 0, NULL, &err), TT_E_UNSUPPORTED);
	save_plain("a.npy", 6, 1, one);
	ck_assert_int_eq(tt_file_adopt("a.npy", 5, NULL, &err), TT_E_RANGE);
	ck_assert_int_eq(tt_file_adopt("a.npy", 0, NULL, NULL), 0);
	ck_assert_int_eq(tt_file_adopt("a.npy", 0, NULL, &err), TT_E_MISMATCH);
	save_plain("f.npy", 6, 2, two);
	bytes = slurp("f.npy", &len);
	at = memmem(bytes, len, "False", 5);
	memcpy(at, "True ", 5);
	spit("f.npy", bytes, len);
	free(bytes);
	ck_assert_int_eq(tt_file_adopt("f.npy", 0, NULL, &err), TT_E_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "Fortran"));
	ck_assert_int_eq(tt_file_adopt("none.npy", 0, NULL, &err), -ENOENT);
}
END_TEST

START_TEST(interrupted_adopt_is_read_and_finished)
{
	const uint64_t shape[] = { 4 };
	const struct tti_tail tail = { .words = 5, .end = 4, .offset = 128 };
	uint8_t words[TTI_TAIL_MAX_BYTES];
	struct tt_file *file;
	struct tt_file_info info;
	int fd;

	save_plain("a.npy", 4, 1, shape);
	fd = open("a.npy", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, words, tti_tail_format(words, &tail), 128 + 16 * 8),
			 40);
	close(fd);
	file = open_file("a.npy", TT_READ);
	ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
	ck_assert_uint_eq(info.capacity, 16);
	ck_assert_uint_eq(info.end, 4);
	tt_file_close(file);
	ck_assert_uint_eq(verify("a.npy"), 0);
	if (_i == 0) { /* the next writer finishes it, or adopt run again */
		file = open_file("a.npy", TT_WRITE);
		ck_assert_ptr_nonnull(strstr(tt_file_repaired(file), "adopt"));
		tt_file_close(file);
	} else {
		ck_assert_int_eq(tt_file_adopt("a.npy", 0, NULL, NULL), 0);
	}
	file = open_file("a.npy", TT_WRITE);
	ck_assert_str_eq(tt_file_repaired(file), "");
	ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
	ck_assert_uint_eq(info.capacity, 16);
	tt_file_close(file);
}
END_TEST

START_TEST(fortran_rows_are_copied_in_c_order)
{
	/* shape (2, 3, 2) in Fortran order: element (i, j, k) lies at i + 2 (j + 3 k) */
	const uint64_t shape[] = { 2, 3, 2 };
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;
	struct tt_view view;
	int64_t rows[12];
	size_t len;
	char *bytes, *at;

	save_plain("f.npy", 12, 3, shape);
	bytes = slurp("f.npy", &len);
	at = memmem(bytes, len, "False", 5);
	memcpy(at, "True ", 5);
	spit("f.npy", bytes, len);
	free(bytes);
	opts.plain = true;
	ck_assert_int_eq(tt_file_open(&file, "f.npy", &opts, NULL), 0);
	ck_assert_uint_eq(tt_file_size(file), 2);
	ck_assert_int_eq(tt_file_data(file, &view), TT_E_UNSUPPORTED);
	ck_assert_ptr_null(tt_file_at(file, 0));
	ck_assert_int_eq(tt_file_copy(file, 0, 2, rows, NULL), 0);
	for (int64_t i = 0; i < 2; i++)
		for (int64_t j = 0; j < 3; j++)
			for (int64_t k = 0; k < 2; k++)
				ck_assert_int_eq(rows[(i * 3 + j) * 2 + k],
						 i + 2 * (j + 3 * k));
	ck_assert_int_eq(tt_file_copy(file, 1, 1, rows, NULL), 0);
	ck_assert_int_eq(rows[3], 1 + 2 * (1 + 3 * 1));
	tt_file_close(file);
}
END_TEST

START_TEST(plain_file_is_read_only_when_asked_for)
{
	const uint64_t shape[] = { 6 };
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;
	struct tt_error err;

	save_plain("a.npy", 6, 1, shape);
	ck_assert_int_eq(tt_file_open(&file, "a.npy", NULL, &err), TT_E_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "ticktail adopt a.npy"));
	opts.plain = true;
	ck_assert_int_eq(tt_file_open(&file, "a.npy", &opts, NULL), 0);
	ck_assert_uint_eq(tt_file_size(file), 6);
	ck_assert_int_eq(*(const int64_t *)tt_file_at(file, 5), 5);
	tt_file_close(file);
	opts.plain = false;
	opts.access = TT_WRITE;
	ck_assert_int_eq(tt_file_open(&file, "a.npy", &opts, &err), TT_E_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "adopt"));
	ck_assert_uint_eq(verify("a.npy"), 0);
}
END_TEST

START_TEST(clear_empties_and_readers_notice)
{
	struct tt_file *reader;

	fill_file("a.npy", 5);
	reader = open_file("a.npy", TT_READ);
	ck_assert_int_eq(tt_file_clear("a.npy", NULL), 0);
	ck_assert_uint_eq(tt_file_size(reader), 0);
	ck_assert_int_eq(tt_file_wait(reader, 5, TT_WAIT_SLEEP, -1), TT_E_DAMAGED);
	tt_file_close(reader);
	ck_assert_uint_eq(verify("a.npy"), 0);
}
END_TEST

START_TEST(backup_is_whole_and_equal)
{
	struct tt_file *writer, *copy;
	struct tt_error err;
	int64_t row = 5;

	fill_file("a.npy", 5);
	writer = open_file("a.npy", TT_WRITE);
	ck_assert_int_eq(tt_file_backup("a.npy", "b.npy", NULL), 0);
	ck_assert_int_eq(tt_file_append(writer, &row, 1), 0);
	ck_assert_int_eq(tt_file_backup("a.npy", "b.npy", &err), -EEXIST);
	tt_file_close(writer);
	copy = open_file("b.npy", TT_WRITE);
	ck_assert_uint_eq(tt_file_size(copy), 5);
	for (int64_t i = 0; i < 5; i++)
		ck_assert_int_eq(*(const int64_t *)tt_file_at(copy, i), i);
	tt_file_close(copy);
	ck_assert_int_eq(count_entries("."), 2);
}
END_TEST

START_TEST(merge_appends_and_grows)
{
	struct tt_file *file;
	struct tt_error err;

	fill_file("a.npy", 8);
	fill_file("b.npy", 5);
	make_file("c.npy", "f8", 4);
	ck_assert_int_eq(tt_file_merge("a.npy", "c.npy", &err), TT_E_MISMATCH);
	ck_assert_int_eq(tt_file_merge("a.npy", "b.npy", NULL), 0);
	file = open_file("a.npy", TT_READ);
	ck_assert_uint_eq(tt_file_size(file), 13);
	ck_assert_int_eq(*(const int64_t *)tt_file_at(file, 7), 7);
	ck_assert_int_eq(*(const int64_t *)tt_file_at(file, 12), 4);
	tt_file_close(file);
}
END_TEST

START_TEST(rename_and_remove_need_the_lock)
{
	struct tt_file *writer;
	struct tt_error err;

	fill_file("a.npy", 5);
	fill_file("c.npy", 5);
	writer = open_file("a.npy", TT_WRITE);
	ck_assert_int_eq(tt_file_rename("a.npy", "b.npy", &err), TT_E_BUSY);
	ck_assert_int_eq(tt_file_remove("a.npy", &err), TT_E_BUSY);
	ck_assert_int_eq(tt_file_clear("a.npy", &err), TT_E_BUSY);
	ck_assert_int_eq(tt_file_resize("a.npy", 100, &err), TT_E_BUSY);
	tt_file_close(writer);
	ck_assert_int_eq(tt_file_rename("a.npy", "c.npy", &err), -EEXIST);
	ck_assert_int_eq(tt_file_rename("a.npy", "b.npy", NULL), 0);
	ck_assert_int_eq(tt_file_remove("b.npy", NULL), 0);
	ck_assert_int_eq(tt_file_remove("b.npy", &err), -ENOENT);
	ck_assert_int_eq(count_entries("."), 1);
}
END_TEST

START_TEST(file_of_a_ring_is_left_alone)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	const uint64_t manifest[] = { 100, 200 };
	struct tt_file *file;
	struct tt_error err;
	struct tt_dtype *dtype = parse_dtype("i8");
	struct tt_file_create_opts copts = TT_FILE_CREATE_OPTS_INIT;
	int64_t row = -1;

	ck_assert_int_eq(mkdir("r", 0777), 0);
	fill_file("r/100.npy", 3);
	fill_file("r/200.npy", 3);
	fill_file("r/300.npy", 3);
	spit("r/.lock", manifest, sizeof(manifest));
	opts.access = TT_WRITE;
	ck_assert_int_eq(tt_file_open(&file, "r/200.npy", &opts, &err), TT_E_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "belongs to the ring"));
	ck_assert_ptr_nonnull(strstr(err.text, "/r;"));
	ck_assert_int_eq(tt_file_resize("r/200.npy", 100, &err), TT_E_UNSUPPORTED);
	ck_assert_int_eq(tt_file_clear("r/200.npy", &err), TT_E_UNSUPPORTED);
	ck_assert_int_eq(tt_file_adopt("r/200.npy", 0, NULL, &err), TT_E_UNSUPPORTED);
	copts.capacity = 1;
	ck_assert_int_eq(tt_file_create("r/x.npy", dtype, &copts, &err),
			 TT_E_UNSUPPORTED);
	tt_dtype_unref(dtype);

	opts.in_ring = true;
	ck_assert_int_eq(tt_file_open(&file, "r/100.npy", &opts, &err), TT_E_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "sealed"));
	ck_assert_int_eq(tt_file_open(&file, "r/300.npy", &opts, &err), TT_E_UNSUPPORTED);
	ck_assert_int_eq(tt_file_open(&file, "r/200.npy", &opts, NULL), 0);
	ck_assert_int_eq(tt_file_append(file, &row, 1), TT_E_MISUSE);
	ck_assert_int_eq(tt_file_append(file, &row, 2), TT_E_MISUSE);
	ck_assert_ptr_null(tt_file_reserve(file, 1));
	ck_assert_int_eq(tt_file_publish(file, 1), TT_E_MISUSE);
	ck_assert_int_eq(tt_file_update(file, 1, &row, 1, NULL), 0);
	ck_assert_int_eq(*(const int64_t *)tt_file_at(file, 1), -1);
	tt_file_close(file);
	ck_assert_int_eq(access("r/.writer", F_OK), 0);
}
END_TEST

START_TEST(kind_is_found_by_content)
{
	const uint64_t shape[] = { 6 };
	enum tt_path_kind kind;
	struct tt_error err;
	char hdf5[600] = { 0 };

	fill_file("a.dat", 3);
	save_plain("p", 6, 1, shape);
	memcpy(hdf5 + 512, "\211HDF\r\n\032\n", 8);
	spit("h", hdf5, sizeof(hdf5));
	spit("h0", hdf5 + 512, 88);
	spit("t.npy", "hello", 5);
	spit("e.npy", "", 0);
	ck_assert_int_eq(mkdir("r", 0777), 0);
	ck_assert_int_eq(tt_path_kind("a.dat", &kind, NULL), 0);
	ck_assert_int_eq(kind, TT_PATH_NPYT);
	ck_assert_int_eq(tt_path_kind("p", &kind, NULL), 0);
	ck_assert_int_eq(kind, TT_PATH_NPY);
	ck_assert_int_eq(tt_path_kind("h", &kind, NULL), 0);
	ck_assert_int_eq(kind, TT_PATH_ARCHIVE);
	ck_assert_int_eq(tt_path_kind("h0", &kind, NULL), 0);
	ck_assert_int_eq(kind, TT_PATH_ARCHIVE);
	ck_assert_int_eq(tt_path_kind("t.npy", &kind, &err), TT_E_FORMAT);
	ck_assert_int_eq(tt_path_kind("e.npy", &kind, &err), TT_E_FORMAT);
	ck_assert_int_eq(tt_path_kind("none", &kind, &err), -ENOENT);
	ck_assert_int_eq(tt_path_kind("r", &kind, &err), TT_E_FORMAT);
	spit("r/123.npy", "", 0);
	ck_assert_int_eq(tt_path_kind("r", &kind, NULL), 0);
	ck_assert_int_eq(kind, TT_PATH_NPY8);
	ck_assert_int_eq(mkdir("s", 0777), 0);
	spit("s/.lock", "", 0);
	ck_assert_int_eq(tt_path_kind("s", &kind, NULL), 0);
	ck_assert_int_eq(kind, TT_PATH_NPY8);
	ck_assert_int_eq(mkfifo("f", 0666), 0);
	ck_assert_int_eq(tt_path_kind("f", &kind, &err), TT_E_FORMAT);
	ck_assert_ptr_nonnull(strstr(err.text, "FIFO"));
}
END_TEST

static void add_tests(TCase *tcase)
{
	tcase_add_loop_test(tcase, adopt_in_place_keeps_rows_where_they_are, 0, 2);
	tcase_add_test(tcase, adopt_without_room_goes_by_copy);
	tcase_add_test(tcase, adopt_refuses_what_it_must);
	tcase_add_loop_test(tcase, interrupted_adopt_is_read_and_finished, 0, 2);
	tcase_add_test(tcase, fortran_rows_are_copied_in_c_order);
	tcase_add_test(tcase, plain_file_is_read_only_when_asked_for);
	tcase_add_test(tcase, clear_empties_and_readers_notice);
	tcase_add_test(tcase, backup_is_whole_and_equal);
	tcase_add_test(tcase, merge_appends_and_grows);
	tcase_add_test(tcase, rename_and_remove_need_the_lock);
	tcase_add_test(tcase, file_of_a_ring_is_left_alone);
	tcase_add_test(tcase, kind_is_found_by_content);
}

int main(void)
{
	return run_suite(&(struct suite){ .name = "file_ops",
					  .enter = tmpdir_enter,
					  .leave = tmpdir_leave,
					  .add = add_tests });
}
