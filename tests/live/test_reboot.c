/* SPDX-License-Identifier: Apache-2.0 */
/* A ring after the machine went down under its writer: what was synced is there, what was not
 * is cut and kept, and no position means two rows. */
#include "reboot_help.h"

/* The next writer recovers, says `words`, and goes on in a new file with rows from `first`. */
static uint64_t recover(const char *words, int64_t first, uint64_t count)
{
	struct tt_ring_info before = ring_info("r");
	struct tt_ring_writer *writer = open_writer("r");
	struct tt_pos pos = tt_ring_writer_pos(writer);
	char path[128];

	ck_assert_msg(strstr(tt_ring_writer_repaired(writer), words),
		      "\"%s\" not in \"%s\"", words, tt_ring_writer_repaired(writer));
	for (size_t i = 0; i < before.file_count; i++)
		ck_assert_uint_lt(before.files[i].name, pos.file);
	ck_assert_uint_eq(pos.row, 0);
	tt_ring_info_free(&before);
	put_rows(writer, first, count);
	pos = tt_ring_writer_pos(writer);
	tt_ring_writer_close(writer);
	writer = open_writer("r"); /* and that was all */
	ck_assert_str_eq(tt_ring_writer_repaired(writer), "");
	ck_assert_uint_eq(tt_ring_writer_pos(writer).file, pos.file);
	tt_ring_writer_close(writer);
	ck_assert_uint_eq(count_damage(), 0);
	ck_assert_int_ne(access("r/.cut.tmp", F_OK), 0);
	in_ring(path, pos.file, "");
	ck_assert_int_eq(access(path, F_OK), 0);
	return pos.file;
}

/* What was cut is a file of its own. */
static void kept(uint64_t name, const char *suffix, int64_t first, uint64_t count)
{
	struct tt_file *file;
	struct tt_view view;
	char path[128];

	in_ring(path, name, suffix);
	OK(tt_file_open(&file, path, NULL, &err));
	OK(tt_file_data(file, &view));
	ck_assert_uint_eq(view.count, count);
	for (uint64_t i = 0; i < count; i++)
		ck_assert_int_eq(((const struct row *)view.rows)[i].number,
				 first + (int64_t)i);
	tt_file_close(file);
}

static uint64_t name_at(size_t back)
{
	struct tt_ring_info info = ring_info("r");
	uint64_t name = info.files[info.file_count - 1 - back].name;

	tt_ring_info_free(&info);
	return name;
}

START_TEST(unsynced_rows_are_cut_and_kept)
{
	uint64_t name;

	create_synced(100, 3);
	lose_power(0, 10, 5);
	name = name_at(0);
	/* before the next writer */
	shows(10);
	ck_assert_uint_eq(count_damage(), 0);
	ck_assert_uint_eq(cut_before((struct tt_pos){ name, 15 }, -1), 5);
	ck_assert_uint_eq(cut_before((struct tt_pos){ name, 9 }, 9), 0);
	/* and after */
	recover("5 rows of", 10, 3);
	shows(13);
	kept(name, ".cut", 10, 5);
	ck_assert_uint_eq(cut_before((struct tt_pos){ name, 13 }, 10), 3);
	ck_assert_uint_eq(cut_before((struct tt_pos){ name, 10 }, 10), 0);
	ck_assert_uint_eq(cut_before((struct tt_pos){ name, 4 }, 4), 0);
}
END_TEST

START_TEST(rows_that_left_no_trace_keep_their_positions)
{
	uint64_t name;

	create_synced(100, 3);
	lose_power(0, 10, 5);
	name = name_at(0);
	set_end(name, 10); /* the page with the later end was not written */
	shows(10);
	recover("", 10, 3);
	shows(13);
	ck_assert_uint_eq(cut_before((struct tt_pos){ name, 15 }, 10), 5);
	ck_assert_uint_eq(cut_before((struct tt_pos){ name + 7, 4 }, 10), 4);
}
END_TEST

/* How much of the newer file reached the disk. */
enum {
	ALL,
	NOT_NAMED,
	NOT_ENTERED,
	NEITHER,
	NO_FILE,
	NO_FILE_NO_ENTRY,
	NO_TRACE,
	NO_HEADER,
	NO_TAIL,
	NO_ROWS,
	CASES
};

static void spoil_newer(uint64_t name, int how)
{
	static const uint8_t zero[128];
	char path[128];

	in_ring(path, name, "");
	if (how == NOT_NAMED || how == NEITHER || how == NO_TRACE)
		unname_newest();
	if (how == NOT_ENTERED || how == NEITHER || how == NO_FILE_NO_ENTRY ||
	    how == NO_TRACE)
		forget_entry(name);
	if (how == NO_FILE || how == NO_FILE_NO_ENTRY || how == NO_TRACE)
		ck_assert_int_eq(unlink(path), 0);
	if (how == NO_HEADER)
		put_bytes(path, zero, 128, 0);
	if (how == NO_TAIL)
		put_bytes(path, zero, 40, tail_at(path, 0));
	if (how == NO_ROWS)
		set_end(name, 0);
}

START_TEST(newer_file_is_cut_whatever_is_left_of_it)
{
	uint64_t name, older;

	create_synced(8, 3);
	lose_power(0, 0, 21); /* the rolls synced 16 */
	name = name_at(0);
	older = name_at(1);
	spoil_newer(name, _i);
	if (_i != NO_HEADER && _i != NO_TAIL)
		shows(16);
	if (_i != NO_TRACE)
		ck_assert_uint_eq(cut_before((struct tt_pos){ name, 5 }, -1), 5);
	recover("", 16, 30);
	shows(46);
	ck_assert_uint_eq(cut_before((struct tt_pos){ name, 5 }, 16), 5);
	ck_assert_uint_eq(cut_before((struct tt_pos){ name, 0 }, 16), 0);
	ck_assert_uint_eq(cut_before((struct tt_pos){ older, 7 }, 15), 0);
	if (_i <= NEITHER)
		kept(name, ".cut", 16, 5);
}
END_TEST

START_TEST(tail_behind_its_mark_is_raised)
{
	create_synced(100, 3);
	lose_power(0, 10, 0);
	set_end(name_at(0), 4);
	recover("4 rows, 10 were synced", 10, 3);
	shows(13);
}
END_TEST

START_TEST(rows_that_changed_on_disk_are_told_and_kept)
{
	char path[128];
	uint64_t name;

	create_synced(8, 3);
	lose_power(0, 13, 2);
	name = name_at(0);
	in_ring(path, name, "");
	put_bytes(path, "\xff", 1, tail_at(path, 0) - 7 * 16 + 8); /* row 1 of 8 */
	recover("does not hold the rows", 13, 3);
	shows(16);
	ck_assert_uint_eq(count_damage(), 0);
	ck_assert_uint_eq(cut_before((struct tt_pos){ name, 4 }, 12), 0);
	ck_assert_uint_eq(cut_before((struct tt_pos){ name, 6 }, 13), 1);
}
END_TEST

START_TEST(closed_ring_is_believed)
{
	struct tt_ring_writer *writer;
	struct tt_pos pos;

	create_synced(8, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 13);
	pos = tt_ring_writer_pos(writer);
	tt_ring_writer_close(writer);
	age_ring("r");
	shows(13);
	writer = open_writer("r");
	ck_assert_str_eq(tt_ring_writer_repaired(writer), "");
	ck_assert_uint_eq(tt_ring_writer_pos(writer).file, pos.file);
	ck_assert_uint_eq(tt_ring_writer_pos(writer).row, 5);
	put_rows(writer, 13, 2);
	tt_ring_writer_close(writer);
	shows(15);
}
END_TEST

START_TEST(killed_writer_loses_nothing_in_the_same_boot)
{
	struct tt_ring_writer *writer;
	pid_t pid;

	create_synced(8, 3);
	pid = fork();
	if (pid == 0) {
		writer = open_alone("r");
		put_rows(writer, 0, 13);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	shows(13);
	writer = open_writer("r");
	ck_assert_str_eq(tt_ring_writer_repaired(writer), "");
	put_rows(writer, 13, 2);
	tt_ring_writer_close(writer);
	shows(15);
}
END_TEST

START_TEST(ring_that_is_not_synced_is_unproven)
{
	struct tt_ring_writer *writer;

	create_ring("r", 8, 3); /* sync none */
	if (fork() == 0) {
		writer = open_alone("r");
		put_rows(writer, 0, 13);
		_exit(0);
	}
	wait(NULL);
	ck_assert_int_gt(age_ring("r"), 0);
	shows(13);
	writer = open_writer("r");
	ck_assert_ptr_nonnull(
		strstr(tt_ring_writer_repaired(writer), "unproven after a reboot"));
	put_rows(writer, 13, 2);
	tt_ring_writer_close(writer);
	shows(15);
}
END_TEST

START_TEST(sync_on_demand_covers_files_that_were_not)
{
	struct tt_ring_writer *writer;

	create_ring("r", 8, 3); /* sync none */
	if (fork() == 0) {
		writer = open_alone("r");
		put_rows(writer, 0, 13);
		OK(tt_ring_sync(writer, &err));
		put_rows(writer, 13, 6);
		_exit(0);
	}
	wait(NULL);
	ck_assert_int_gt(age_ring("r"), 0);
	shows(13);
	recover("3 rows of", 13, 2);
	shows(15);
}
END_TEST

START_TEST(updated_rows_are_no_damage)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct row row = { 7, 4711 };
	struct tt_file *file;
	char path[128];

	create_synced(100, 3);
	lose_power(0, 10, 5);
	in_ring(path, name_at(0), "");
	opts.access = TT_WRITE;
	opts.in_ring = true;
	OK(tt_file_open(&file, path, &opts, &err));
	OK(tt_file_update(file, 7, &row, 1, &err));
	tt_file_close(file);
	recover("5 rows of", 10, 3);
	shows(13);
}
END_TEST

START_TEST(what_npyt_wrote_since_is_not_cut)
{
	struct tt_ring_writer *writer;
	uint64_t stamp = 0x1234567890abcdefu;
	char path[128];

	create_synced(100, 3);
	lose_power(0, 10, 5);
	in_ring(path, name_at(0), "");
	put_bytes(path, &stamp, 8, tail_at(path, 2));
	shows(15);
	writer = open_writer("r");
	ck_assert_ptr_nonnull(strstr(tt_ring_writer_repaired(writer), "npyt wrote"));
	put_rows(writer, 15, 5);
	tt_ring_writer_close(writer);
	shows(20);
}
END_TEST

START_TEST(damaged_settings_do_not_hide_the_mark)
{
	create_synced(100, 3);
	lose_power(0, 10, 5);
	put_bytes("r/.ticktail", "junk", 4, 0);
	recover("5 rows of", 10, 3);
	shows(13);
}
END_TEST

START_TEST(lost_manifest_does_not_hide_the_mark)
{
	create_synced(8, 3);
	lose_power(0, 10, 3);
	ck_assert_int_eq(unlink("r/.lock"), 0);
	recover("3 rows of", 10, 3);
	shows(13);
}
END_TEST

START_TEST(power_is_lost_again_and_again)
{
	int64_t next = 0;

	create_synced(64, 3);
	for (int i = 0; i < 12; i++) {
		lose_power(next, 1 + (uint64_t)i, 3);
		next += 1 + i;
		shows(next);
	}
	recover("", next, 3);
	shows(next + 3);
}
END_TEST

START_TEST(cut_files_merge_and_keep_positions)
{
	struct tt_ring_writer *writer;
	uint64_t name, joined;

	create_synced(8, 2);
	lose_power(0, 5, 2);
	name = name_at(0);
	recover("2 rows of", 5, 40);
	writer = open_writer("r");
	tt_ring_writer_close(writer);
	OK(tt_ring_merge("r", 0, NULL, NULL, &joined, &err));
	ck_assert_uint_gt(joined, 1);
	shows(45);
	ck_assert_uint_eq(cut_before((struct tt_pos){ name, 7 }, 5), 2);
	ck_assert_uint_eq(cut_before((struct tt_pos){ name, 3 }, 3), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("power loss");
	TCase *tcase = tcase_create("power loss");
	SRunner *runner = srunner_create(suite);
	const TTest *tests[] = {
		unsynced_rows_are_cut_and_kept,
		rows_that_left_no_trace_keep_their_positions,
		tail_behind_its_mark_is_raised,
		rows_that_changed_on_disk_are_told_and_kept,
		closed_ring_is_believed,
		killed_writer_loses_nothing_in_the_same_boot,
		ring_that_is_not_synced_is_unproven,
		sync_on_demand_covers_files_that_were_not,
		updated_rows_are_no_damage,
		what_npyt_wrote_since_is_not_cut,
		damaged_settings_do_not_hide_the_mark,
		lost_manifest_does_not_hide_the_mark,
		power_is_lost_again_and_again,
		cut_files_merge_and_keep_positions,
	};
	int failed;

	tcase_add_checked_fixture(tcase, make_work_dir, drop_work_dir);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tcase, tests[i]);
	tcase_add_loop_test(tcase, newer_file_is_cut_whatever_is_left_of_it, 0, CASES);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
