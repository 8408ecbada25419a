/* SPDX-License-Identifier: Apache-2.0 */
/* Live files that are cut, flipped, or left by a dead writer. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "format/tail.h"
#include "lib/suite.h"
#include "lib/tmpdir.h"
#include "live/file_helpers.h"
#include "ticktail/file.h"

static uint64_t verify(const char *path)
{
	uint64_t found = 99;
	struct tt_error err = { .text = "" };
	int rc = tt_file_verify(path, NULL, NULL, &found, &err);

	ck_assert_msg(rc == 0, "%d %s", rc, err.text);
	return found;
}

static void put_word(const char *path, int from_end, uint64_t value)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END);

	ck_assert_int_eq(pwrite(fd, &value, 8, size - from_end), 8);
	close(fd);
}

/* What is looked at is a live file without its tail: it opens as a plain array, and verify says
 * so. */
static bool lost_tail;

/* Open, look at everything, verify: must never crash, and end in rows or in an error. */
static int exercise(const char *path)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;
	struct tt_view view;
	struct tt_error err = { .text = "" };
	uint64_t found = 0, sum = 0;
	enum tt_path_kind kind;
	int rc;

	opts.plain = true;
	rc = tt_file_open(&file, path, &opts, &err);
	if (rc < 0)
		ck_assert_ptr_nonnull(strstr(err.text, path));
	if (rc == 0 && tt_file_data(file, &view) == 0 && view.count > 0) {
		struct tt_file_info info;

		ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
		for (uint64_t i = 0; i < view.count * info.row_bytes; i++)
			sum += ((const unsigned char *)view.rows)[i];
	}
	if (rc == 0)
		tt_file_close(file);
	if (tt_file_verify(path, NULL, NULL, &found, NULL) == 0)
		ck_assert_int_eq(found > 0, rc == TT_E_DAMAGED || lost_tail);
	tt_path_kind(path, &kind, NULL);
	return sum == UINT64_MAX ? -1 : rc;
}

START_TEST(file_cut_anywhere_is_an_error_or_plain)
{
	static const char *const descrs[] = { "i8", "ts:i8,px:f8,flag:u1" };
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	size_t len;
	void *bytes;

	opts.capacity = 5;
	opts.exact = true;
	opts.tail_words = _i < 2 ? 5 : 4;
	make_file_opts("a.npy", descrs[_i % 2], &opts);
	bytes = slurp("a.npy", &len);
	for (size_t n = 0; n <= len; n++) {
		int rc;

		spit("cut.npy", bytes, n);
		lost_tail = n == len - opts.tail_words * 8;
		rc = exercise("cut.npy");
		if (n == len || n == len - opts.tail_words * 8)
			ck_assert_int_eq(rc, 0);
		else
			ck_assert_int_eq(rc, n < 6 ? TT_E_FORMAT : TT_E_DAMAGED);
	}
	free(bytes);
}
END_TEST

START_TEST(bit_flips_never_crash)
{
	size_t len;
	unsigned char *bytes;
	int fd;

	fill_file("a.npy", 5);
	bytes = slurp("a.npy", &len);
	fd = open("a.npy", O_RDWR | O_CLOEXEC);
	for (size_t bit = 0; bit < len * 8; bit++) {
		off_t at = (off_t)bit / 8;
		unsigned char flipped = bytes[at] ^ (unsigned char)(1u << bit % 8);

		if (bit / 8 >= 128 && bit / 8 < len - 40)
			continue; /* a row may be anything */
		ck_assert_int_eq(pwrite(fd, &flipped, 1, at), 1);
		exercise("a.npy");
		ck_assert_int_eq(pwrite(fd, &bytes[at], 1, at), 1);
	}
	close(fd);
	free(bytes);
}
END_TEST

START_TEST(bounds_broken_under_a_reader_are_noticed)
{
	struct tt_file *file;
	struct tt_view view;
	struct tt_file_info info;
	struct tt_error err;

	fill_file("a.npy", 5);
	file = open_file("a.npy", TT_READ);
	put_word("a.npy", 32, UINT64_MAX);
	ck_assert_uint_eq(tt_file_size(file), 0);
	ck_assert_int_eq(tt_file_data(file, &view), TT_E_DAMAGED);
	ck_assert_int_eq(tt_file_info(file, &info, &err), TT_E_DAMAGED);
	ck_assert_ptr_null(tt_file_at(file, 0));
	ck_assert_int_eq(tt_file_read(file, 1, 0, &view), TT_E_DAMAGED);
	ck_assert_int_eq(tt_file_wait(file, 1, TT_WAIT_SLEEP, -1), TT_E_DAMAGED);
	ck_assert_uint_eq(tt_file_tell(file), 0);
	ck_assert_uint_eq(tt_file_room(file), 0);
	tt_file_close(file);
	ck_assert_uint_eq(verify("a.npy"), 1);
}
END_TEST

START_TEST(next_writer_mends_and_says_so)
{
	struct tt_file *file;
	struct tt_file_info info;
	int64_t row;

	fill_file("a.npy", 5);
	put_word("a.npy", 8, TTI_TAIL_SUPERSEDED);
	put_word("a.npy", 24, UINT64_C(0x123456789ABFFFF));
	ck_assert_uint_eq(verify("a.npy"),
			  1); /* the changing stamp; superseded is legal */
	file = open_file("a.npy", TT_READ);
	ck_assert_int_eq(tt_file_copy_untorn(file, 0, 1, &row, NULL), TT_E_TORN);
	ck_assert_int_eq(tt_file_wait(file, 5, TT_WAIT_SPIN, 0),
			 0); /* same inode: go on */
	tt_file_close(file);
	file = open_file("a.npy", TT_WRITE);
	ck_assert_ptr_nonnull(strstr(tt_file_repaired(file), "resize"));
	ck_assert_ptr_nonnull(strstr(tt_file_repaired(file), "update"));
	ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
	ck_assert_uint_eq(info.update_timestamp & 0xFFFF, 0);
	ck_assert_int_eq(tt_file_copy_untorn(file, 0, 1, &row, NULL), 0);
	tt_file_close(file);
	ck_assert_uint_eq(verify("a.npy"), 0);
	file = open_file("a.npy", TT_WRITE);
	ck_assert_str_eq(tt_file_repaired(file), "");
	tt_file_close(file);
}
END_TEST

static void add_tests(TCase *tcase)
{
	tcase_add_loop_test(tcase, file_cut_anywhere_is_an_error_or_plain, 0, 4);
	tcase_add_test(tcase, bit_flips_never_crash);
	tcase_add_test(tcase, bounds_broken_under_a_reader_are_noticed);
	tcase_add_test(tcase, next_writer_mends_and_says_so);
}

int main(void)
{
	return run_suite(&(struct suite){ .name = "file_bad",
					  .enter = tmpdir_enter,
					  .leave = tmpdir_leave,
					  .add = add_tests });
}
