/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the reference package wrote, from the directory that TT_SHARED names. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compiler.h"
#include "lib/suite.h"
#include "lib/tmpdir.h"
#include "live/file_helpers.h"
#include "ticktail/file.h"

static const struct golden {
	const char *name;
	uint32_t tail_words;
	uint64_t capacity, end, row_bytes;
	bool aligned, fortran;
} golden[] = {
	{ "big_endian_u2", 4, 5, 3, 2, false, false },
	{ "empty_reserved", 4, 8, 0, 32, true, false },
	{ "f8_rows_of_3", 4, 10, 4, 24, true, false },
	{ "fortran_order", 0, 2, 2, 24, true, true },
	{ "i8_1d", 4, 9, 5, 8, true, false },
	{ "plain_np_save", 0, 4, 4, 32, true, false },
	{ "strings_bool_time", 4, 4, 2, 27, false, false },
	{ "sub_arrays", 4, 4, 2, 56, true, false },
	{ "ticks_aligned", 4, 16, 6, 32, true, false },
	{ "ticks_packed_17_bytes", 4, 11, 6, 17, false, false },
};

static char *copy_here(const char *name)
{
	static char here[128];
	char path[4096];
	size_t len;
	void *bytes;

	snprintf(path, sizeof(path), "%s/golden/npyt/%s.npy", getenv("TT_SHARED"), name);
	snprintf(here, sizeof(here), "%s.npy", name);
	bytes = slurp(path, &len);
	spit(here, bytes, len);
	free(bytes);
	return here;
}

START_TEST(file_of_the_reference_is_read)
{
	const struct golden *g = &golden[_i];
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	const char *path = copy_here(g->name);
	struct tt_file *file;
	struct tt_file_info info;
	uint64_t found = 99;

	opts.plain = true;
	ck_assert_int_eq(tt_file_open(&file, path, &opts, NULL), 0);
	ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
	ck_assert_uint_eq(info.tail_words, g->tail_words);
	ck_assert_uint_eq(info.capacity, g->capacity);
	ck_assert_uint_eq(info.end, g->end);
	ck_assert_uint_eq(info.row_bytes, g->row_bytes);
	ck_assert_int_eq(info.aligned_tail, g->aligned);
	ck_assert_int_eq(info.fortran_order, g->fortran);
	tt_file_close(file);
	ck_assert_int_eq(tt_file_verify(path, NULL, NULL, &found, NULL), 0);
	ck_assert_uint_eq(found, 0);
}
END_TEST

START_TEST(file_of_the_reference_is_written_on)
{
	const struct golden *g = &golden[_i];
	const char *path = copy_here(g->name);
	unsigned char rows[128] = { 1 }, kept[1024];
	struct tt_file *file;
	struct tt_file_info info;

	if (g->fortran)
		return;
	if (g->tail_words == 0)
		ck_assert_int_eq(tt_file_adopt(path, 0, NULL, NULL), 0);
	file = open_file(path, TT_WRITE);
	ck_assert_int_eq(tt_file_copy(file, 0, g->end, kept, NULL), 0);
	ck_assert_int_eq(tt_file_grow(file, g->capacity + 1, NULL), 0);
	ck_assert_int_eq(tt_file_append(file, rows, 1), 0);
	ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
	ck_assert(info.aligned_tail);
	ck_assert_uint_eq(info.tail_words, g->tail_words ? g->tail_words : 5);
	ck_assert_uint_eq(info.end, g->end + 1);
	if (g->end)
		ck_assert_mem_eq(tt_file_at(file, 0), kept, g->end * g->row_bytes);
	tt_file_close(file);
}
END_TEST

START_TEST(values_are_the_reference_s)
{
	struct tt_file *file = open_file(copy_here("i8_1d"), TT_READ);
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	unsigned char two[2];
	double rows[6];

	for (int64_t i = 0; i < 5; i++)
		ck_assert_int_eq(*(const int64_t *)tt_file_at(file, i), i);
	tt_file_close(file);
	file = open_file(copy_here("f8_rows_of_3"), TT_READ);
	for (int i = 0; i < 4; i++)
		ck_assert(((const double *)tt_file_at(file, i))[2] == 3 * i + 2);
	tt_file_close(file);
	file = open_file(copy_here("big_endian_u2"), TT_READ);
	ck_assert_int_eq(tt_file_copy(file, 2, 1, two, NULL), 0);
	ck_assert_int_eq(two[0], 0xFF);
	tt_file_close(file);
	opts.plain = true;
	ck_assert_int_eq(tt_file_open(&file, copy_here("fortran_order"), &opts, NULL), 0);
	ck_assert_int_eq(tt_file_copy(file, 0, 2, rows, NULL), 0);
	for (int i = 0; i < 6; i++)
		ck_assert(rows[i] == i);
	tt_file_close(file);
}
END_TEST

static void add_tests(TCase *tcase)
{
	tcase_add_loop_test(tcase, file_of_the_reference_is_read, 0,
			    (int)TTI_LEN(golden));
	tcase_add_loop_test(tcase, file_of_the_reference_is_written_on, 0,
			    (int)TTI_LEN(golden));
	tcase_add_test(tcase, values_are_the_reference_s);
}

int main(void)
{
	struct stat st;
	char path[4096];

	snprintf(path, sizeof(path), "%s/golden/npyt",
		 getenv("TT_SHARED") ? getenv("TT_SHARED") : "");
	if (!getenv("TT_SHARED") || stat(path, &st) < 0) {
		puts("1..0 # SKIP TT_SHARED does not name the directory of reference "
		     "files");
		return EXIT_SUCCESS;
	}
	return run_suite(&(struct suite){ .name = "golden",
					  .enter = tmpdir_enter,
					  .leave = tmpdir_leave,
					  .add = add_tests });
}
