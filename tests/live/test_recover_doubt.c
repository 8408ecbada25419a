/* SPDX-License-Identifier: Apache-2.0 */
/* Recovering what a reboot left without marks, and where nothing can be written: rows that
 * nothing proves are cut only for who asks, and a recovery that fails loses nothing. */
#include "reboot_help.h"

#include <glob.h>
#include "ticktail/recover.h"

static struct tt_recover_report report;

/* A writer that does not sync dies with the machine. */
static void lose_unsynced(int64_t first, uint64_t count)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
		struct tt_ring_writer *writer;

		opts.sync_ms = TT_SYNC_NONE;
		opts.no_helper = true;
		OK(tt_ring_writer_open(&writer, "r", &opts, &err));
		put_rows(writer, first, count);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_gt(age_ring("r"), 0);
}

static void recover_ring(bool cut, bool dry_run)
{
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;

	opts.cut_unproven = cut;
	opts.dry_run = dry_run;
	tt_recover_report_free(&report);
	OK(tt_ring_recover("r", &opts, &report, &err));
}

static bool says(const char *words)
{
	for (size_t i = 0; i < report.item_count; i++)
		if (strstr(report.items[i].what, words))
			return true;
	return false;
}

static uint64_t cut_files(void)
{
	glob_t found;
	size_t count;

	if (glob("r/*.npy.cut", 0, NULL, &found) != 0)
		return 0;
	count = found.gl_pathc;
	globfree(&found);
	return count;
}

static void goes_on(int64_t first)
{
	struct tt_ring_writer *writer = open_writer("r");

	ck_assert_str_eq(tt_ring_writer_repaired(writer), "");
	put_rows(writer, first, 10);
	tt_ring_writer_close(writer);
	ck_assert_uint_eq(count_damage(), 0);
}

START_TEST(unproven_rows_are_said_and_kept_until_they_are_cut)
{
	create_ring("r", 8, 3);
	lose_unsynced(0, 20);
	recover_ring(false, false);
	ck_assert(says("unproven after a reboot"));
	ck_assert_uint_eq(ring_rows(), 20);
	ck_assert_uint_eq(cut_files(), 0);
	recover_ring(true, true);
	ck_assert(says("unproven after a reboot"));
	ck_assert_uint_eq(ring_rows(), 20);
	recover_ring(true, false);
	ck_assert_uint_eq(report.rows_cut, 20);
	ck_assert_uint_eq(cut_files(), 3);
	ck_assert_uint_eq(ring_rows(), 0);
	ck_assert_uint_eq(count_damage(), 0);
	recover_ring(true, false);
	ck_assert_uint_eq(report.item_count, 0);
	goes_on(100);
	ck_assert_uint_eq(ring_rows(), 10);
	tt_recover_report_free(&report);
}
END_TEST

/* What an earlier writer synced is proven. */
START_TEST(unproven_rows_begin_behind_the_last_mark)
{
	struct tt_ring_writer *writer;

	create_synced(100, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 30);
	tt_ring_writer_close(writer);
	lose_unsynced(30, 12);
	recover_ring(true, false);
	ck_assert_uint_eq(report.rows_cut, 12);
	ck_assert_uint_eq(ring_rows(), 30);
	recover_ring(true, false);
	ck_assert_uint_eq(report.item_count, 0);
	goes_on(42);
	tt_recover_report_free(&report);
}
END_TEST

/* The marks were lost with the settings: the last store was before this boot. */
START_TEST(unproven_without_any_mark)
{
	uint64_t old = UINT64_C(1) << 50; /* 1970 */
	struct tt_ring_info info;
	char path[128];

	create_ring("r", 8, 3);
	lose_unsynced(0, 20);
	info = ring_info("r");
	for (size_t i = 0; i < info.file_count; i++) {
		in_ring(path, info.files[i].name, "");
		put_bytes(path, &old, 8, tail_at(path, 2));
	}
	tt_ring_info_free(&info);
	ck_assert_int_eq(unlink("r/.ticktail"), 0);
	recover_ring(false, false);
	ck_assert(says("no mark says"));
	ck_assert_uint_eq(ring_rows(), 20);
	recover_ring(true, false);
	ck_assert_uint_eq(report.rows_cut, 20);
	ck_assert_uint_eq(cut_files(), 3);
	goes_on(100);
	tt_recover_report_free(&report);
}
END_TEST

/* Of this boot nothing is unproven. */
START_TEST(nothing_is_cut_without_a_reboot)
{
	struct tt_ring_writer *writer;

	create_ring("r", 8, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 20);
	tt_ring_writer_close(writer);
	recover_ring(true, false);
	ck_assert_uint_eq(report.item_count, 0);
	ck_assert_uint_eq(ring_rows(), 20);
	tt_recover_report_free(&report);
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_test(tcase, unproven_rows_are_said_and_kept_until_they_are_cut);
	tcase_add_test(tcase, unproven_rows_begin_behind_the_last_mark);
	tcase_add_test(tcase, unproven_without_any_mark);
	tcase_add_test(tcase, nothing_is_cut_without_a_reboot);
}

int main(void)
{
	return ring_suite_with("recover_doubt", add);
}
