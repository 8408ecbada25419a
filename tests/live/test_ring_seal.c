/* SPDX-License-Identifier: Apache-2.0 */
/* Sealing the newest file: without a writer, beside one, and after one that died. */
#include "upkeep_help.h"

START_TEST(seal_without_a_writer_rolls)
{
	struct tt_ring_info info;
	bool sealed = true;

	create_ring("r", 4, 3);
	OK(tt_ring_seal("r", 10000000000, &sealed, &err));
	ck_assert(!sealed); /* empty: nothing to do */
	fill_ring("r", 0, 3);
	OK(tt_ring_seal("r", 10000000000, &sealed, &err));
	ck_assert(sealed);
	OK(tt_ring_seal("r", 10000000000, &sealed, &err));
	ck_assert(!sealed);
	info = ring_info("r");
	ck_assert_uint_eq(info.file_count, 2);
	ck_assert(info.files[0].sealed && info.files[0].end == 3);
	tt_ring_info_free(&info);
	check_whole("r");
}
END_TEST

static void check_seal_beside(bool idle_only)
{
	int ready[2], stop[2], status;
	int64_t next = 0;
	struct tt_ring_reader *reader;
	struct tt_ring_info info;
	uint64_t newest;
	bool sealed;
	char byte;
	pid_t child;

	create_ring("r", 1000000, 3);
	fill_ring("r", 0, 3);
	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_int_eq(pipe(stop), 0);
	child = fork();
	if (child == 0)
		_exit(feed("r", ready[1], stop[0], idle_only));
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	for (int i = 0; i < (idle_only ? 1 : 20); i++) {
		info = ring_info("r");
		newest = info.files[info.file_count - 1].name;
		tt_ring_info_free(&info);
		OK(tt_ring_seal("r", 10000000000, &sealed, &err));
		info = ring_info("r");
		if (sealed)
			ck_assert_uint_gt(info.files[info.file_count - 1].name, newest);
		tt_ring_info_free(&info);
	}
	if (idle_only) { /* the newest is empty now */
		OK(tt_ring_seal("r", 10000000000, &sealed, &err));
		ck_assert(!sealed);
	}
	ck_assert_int_eq(write(stop[1], "x", 1), 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_ge(next, 3);
	tt_ring_reader_close(reader);
	check_whole("r");
}

START_TEST(seal_asks_a_feeding_writer)
{
	check_seal_beside(false);
}
END_TEST

START_TEST(seal_asks_an_idle_writer)
{
	check_seal_beside(true);
}
END_TEST

START_TEST(seal_names_a_writer_that_does_not_answer)
{
	struct tt_ring_writer *writer;
	char expected[64];

	create_ring("r", 4, 3);
	writer = open_alone("r");
	put_rows(writer, 0, 1);
	ck_assert_int_eq(tt_ring_seal("r", 20000000, NULL, &err), TT_E_TIMEOUT);
	snprintf(expected, sizeof(expected), "r: process %d,", (int)getpid());
	ck_assert_int_eq(strncmp(err.text, expected, strlen(expected)), 0);
	put_rows(writer, 1, 1); /* served late, once */
	ck_assert_uint_eq(tt_ring_writer_pos(writer).row, 1);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(seal_takes_over_from_a_writer_that_died)
{
	int ready[2], status;
	bool sealed;
	char byte;
	pid_t child;

	create_ring("r", 4, 3);
	fill_ring("r", 0, 2);
	ck_assert_int_eq(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		struct tt_ring_writer *writer = open_writer("r");

		if (write(ready[1], "x", 1) == 1)
			usleep(300000);
		_exit(writer ? 0 : 1); /* as if killed: nothing closed */
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	OK(tt_ring_seal("r", 20000000000, &sealed, &err));
	ck_assert(sealed);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		seal_without_a_writer_rolls,
		seal_asks_a_feeding_writer,
		seal_asks_an_idle_writer,
		seal_names_a_writer_that_does_not_answer,
		seal_takes_over_from_a_writer_that_died,
	};

	return ring_suite("ring seal", tests, sizeof(tests) / sizeof(tests[0]));
}
