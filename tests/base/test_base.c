/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/num.h"
#include "base/opts.h"

START_TEST(text_that_fits_is_kept_whole)
{
	struct tt_error err;

	ck_assert_int_eq(tti_fail(&err, -ENOENT, "%s: %d", "a", 7), -ENOENT);
	ck_assert_str_eq(err.text, "a: 7");
	ck_assert_int_eq(err.code, -ENOENT);
}
END_TEST

START_TEST(text_that_does_not_fit_ends_in_dots)
{
	struct tt_error err;
	char lots[sizeof(err.text) + 1];

	memset(lots, 'x', sizeof(lots) - 1);
	lots[sizeof(lots) - 1] = '\0';
	tti_fail(&err, -EIO, "%s", lots);
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
	ck_assert_str_eq(err.text + sizeof(err.text) - 4, "...");
	lots[sizeof(err.text) - 1] = '\0';
	tti_fail(&err, -EIO, "%s", lots);
	ck_assert_str_eq(err.text + sizeof(err.text) - 4, "xxx");
}
END_TEST

START_TEST(context_is_put_before_the_text)
{
	struct tt_error err;

	tti_fail(&err, -EIO, "inner");
	ck_assert_int_eq(tti_fail_in(&err, -EIO, "row %d", 3), -EIO);
	ck_assert_str_eq(err.text, "row 3: inner");
}
END_TEST

START_TEST(every_code_has_words)
{
	for (int code = TT_E_MISUSE; code <= TT_E_DAMAGED; code++)
		ck_assert_str_ne(tt_strerror(code), "unknown error");
	ck_assert_str_eq(tt_strerror(TT_E_MISUSE - 1), "unknown error");
	ck_assert_str_eq(tt_strerror(-ENOSPC), "No space left on device");
	ck_assert_str_eq(tt_strerror(1), "unknown error");
	ck_assert_str_eq(tt_strerror(INT_MIN + 1), "unknown error");
}
END_TEST

START_TEST(numbers_are_parsed_whole_or_refused)
{
	uint64_t u;
	int64_t i;

	ck_assert(tti_parse_u64("18446744073709551615", 20, &u) && u == UINT64_MAX);
	ck_assert(!tti_parse_u64("18446744073709551616", 20, &u));
	ck_assert(!tti_parse_u64("", 0, &u) && !tti_parse_u64("4x", 2, &u));
	ck_assert(!tti_parse_u64("+4", 2, &u) && !tti_parse_u64(" 4", 2, &u));
	ck_assert(tti_parse_i64("-9223372036854775808", 20, &i) && i == INT64_MIN);
	ck_assert(!tti_parse_i64("-9223372036854775809", 20, &i));
	ck_assert(!tti_parse_i64("9223372036854775808", 19, &i));
	ck_assert(tti_parse_i64("+7", 2, &i) && i == 7);
	ck_assert(!tti_parse_i64("-", 1, &i) && !tti_parse_i64("--1", 3, &i));
}
END_TEST

START_TEST(crc32c_has_the_standard_check_value)
{
	char many[100];

	ck_assert_uint_eq(tti_crc32c(0, "123456789", 9), 0xE3069283u);
	for (size_t i = 0; i < sizeof(many); i++)
		many[i] = (char)(i * 7);
	for (size_t cut = 0; cut <= sizeof(many); cut++)
		ck_assert_uint_eq(tti_crc32c(tti_crc32c(0, many, cut), many + cut,
					     sizeof(many) - cut),
				  tti_crc32c(0, many, sizeof(many)));
}
END_TEST

static char dir_name[64];

static void make_dir(void)
{
	strcpy(dir_name, "/tmp/tt-base-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir_name));
	ck_assert_int_eq(chdir(dir_name), 0);
}

static void drop_dir(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir_name);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(put_is_whole_or_not_there)
{
	struct tti_put_file file = {
		.tmp = ".t", .name = "f", .bytes = "hello", .n = 5, .mode = 0644
	};
	struct tt_error err;
	tti_auto_fd dir = open(".", O_RDONLY | O_DIRECTORY);
	tti_auto_fd fd = -1;
	char back[8] = "";

	ck_assert_int_eq(tti_fs_put(dir, &file, &err), TT_OK);
	file.bytes = "HELLO";
	ck_assert_int_eq(tti_fs_put(dir, &file, &err), -EEXIST);
	file.bytes = "again";
	file.replace = true;
	ck_assert_int_eq(tti_fs_put(dir, &file, &err), TT_OK);
	ck_assert_int_ne(access(".t", F_OK), 0);
	fd = tti_open_regular(AT_FDCWD, "f", O_RDONLY, "f", &err);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(tti_pread_all(fd, back, 5, 0), TT_OK);
	ck_assert_str_eq(back, "again");
	ck_assert_int_eq(tti_pread_all(fd, back, 6, 0), -ENODATA);
}
END_TEST

START_TEST(only_regular_files_are_opened)
{
	struct tt_error err;

	ck_assert_int_eq(mkfifo("fifo", 0644), 0);
	ck_assert_int_lt(tti_open_regular(AT_FDCWD, "fifo", O_RDONLY, "fifo", &err), 0);
	ck_assert_str_eq(err.text, "fifo: is a FIFO, not a regular file");
	ck_assert_int_lt(tti_open_regular(AT_FDCWD, ".", O_RDONLY, ".", &err), 0);
	ck_assert_int_lt(tti_open_regular(AT_FDCWD, "none", O_RDONLY, "none", &err), 0);
	ck_assert_str_eq(err.text, "none: No such file or directory");
}
END_TEST

START_TEST(lock_is_seen_and_dies_with_its_holder)
{
	tti_auto_fd fd = open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	tti_auto_fd other = open("lock", O_RDONLY | O_CLOEXEC);
	int ready[2], status;
	char byte;
	pid_t child;

	ck_assert_int_eq(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		int mine = open("lock", O_RDWR | O_CLOEXEC);

		if (tti_lock_try(mine, TTI_LOCK_WRITER) != TT_OK ||
		    tti_lock_put_pid(mine) || write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	ck_assert_int_eq(tti_lock_try(fd, TTI_LOCK_WRITER), TT_E_BUSY);
	ck_assert_int_eq(tti_lock_is_held(other, TTI_LOCK_WRITER), 1);
	ck_assert_int_eq(tti_lock_get_pid(other), child);
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(tti_lock_is_held(other, TTI_LOCK_WRITER), 0);
	ck_assert_int_eq(tti_lock_try(fd, TTI_LOCK_WRITER), TT_OK);
}
END_TEST

/* A program built against an older header, this one, and a newer one. */
START_TEST(options_of_older_programs_keep_defaults)
{
	struct opts {
		size_t struct_size;
		int first, later;
	} mine = { sizeof(mine), 1, 2 }, theirs = { offsetof(struct opts, later), 7, 9 };

	ck_assert(tti_take_opts(&mine, sizeof(mine), &theirs));
	ck_assert_uint_eq(mine.struct_size, sizeof(mine));
	ck_assert_int_eq(mine.first, 7);
	ck_assert_int_eq(mine.later, 2);
	theirs.struct_size = sizeof(theirs);
	ck_assert(tti_take_opts(&mine, sizeof(mine), &theirs));
	ck_assert_int_eq(mine.later, 9);
	theirs.struct_size++;
	ck_assert(!tti_take_opts(&mine, sizeof(mine), &theirs));
	theirs.struct_size = 0;
	ck_assert(!tti_take_opts(&mine, sizeof(mine), &theirs));
}
END_TEST

START_TEST(empty_map_is_legal_and_closing_twice_too)
{
	tti_auto_fd fd = open("map", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	struct tti_map map;

	ck_assert_int_eq(tti_map_open(&map, fd, 0, true), TT_OK);
	ck_assert_ptr_null(map.addr);
	tti_map_close(&map);
	ck_assert_int_eq(tti_reserve_space(fd, 0, 8192, false), TT_OK);
	ck_assert_int_eq(tti_map_open(&map, fd, 8192, true), TT_OK);
	tti_map_close(&map);
	tti_map_close(&map);
}
END_TEST

START_TEST(what_does_not_fit_takes_nothing)
{
	tti_auto_fd fd = open("huge", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	struct statvfs fs;
	struct stat st;
	int rc;

	ck_assert_int_eq(fstatvfs(fd, &fs), 0);
	if (fs.f_blocks == 0)
		return; /* a file system without a limit */
	rc = tti_reserve_space(
		fd, 0, (uint64_t)fs.f_bfree * fs.f_frsize + ((uint64_t)1 << 30), false);
	ck_assert_msg(rc == -ENOSPC || rc == -EFBIG, "%d", rc);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, 0);
	ck_assert_int_eq(st.st_blocks, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base");
	TCase *pure = tcase_create("pure"), *files = tcase_create("files");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(pure, text_that_fits_is_kept_whole);
	tcase_add_test(pure, text_that_does_not_fit_ends_in_dots);
	tcase_add_test(pure, context_is_put_before_the_text);
	tcase_add_test(pure, every_code_has_words);
	tcase_add_test(pure, numbers_are_parsed_whole_or_refused);
	tcase_add_test(pure, crc32c_has_the_standard_check_value);
	tcase_add_checked_fixture(files, make_dir, drop_dir);
	tcase_add_test(files, put_is_whole_or_not_there);
	tcase_add_test(files, only_regular_files_are_opened);
	tcase_add_test(files, lock_is_seen_and_dies_with_its_holder);
	tcase_add_test(pure, options_of_older_programs_keep_defaults);
	tcase_add_test(files, what_does_not_fit_takes_nothing);
	tcase_add_test(files, empty_map_is_legal_and_closing_twice_too);
	suite_add_tcase(suite, pure);
	suite_add_tcase(suite, files);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
