/* SPDX-License-Identifier: Apache-2.0 */
/* A look at a ring: what it says of files, rows, writer and space after known operations, of
 * rings that say little, and to a user who may only read. */
#include <math.h>

#include "lib/mp.h"
#include "live/shared_text.h"
#include "status_help.h"

START_TEST(a_look_tells_files_and_rows)
{
	struct tt_ring_writer *writer;
	struct tt_ring_status status;
	uint64_t merged;

	create_ring("r", 8, 2);
	status = look("r");
	ck_assert_int_eq(status.writer, TT_WRITER_NONE);
	ck_assert_uint_eq(status.rows, 0);
	ck_assert_uint_eq(status.rows_total, 0);
	ck_assert_uint_eq(status.keep, 2);
	ck_assert(!status.foreign);
	ck_assert_int_eq(status.settings_rc, TT_OK);
	ck_assert_int_eq(status.sync_ms, TT_SYNC_NONE);
	ck_assert_int_eq(status.last_write_ns, TT_UNKNOWN_NS);
	tt_ring_status_free(&status);

	writer = open_writer("r");
	put_rows(writer, 0, 43); /* 5 full files and 3 rows */
	status = look("r");
	ck_assert_int_eq(status.writer, TT_WRITER_ALIVE);
	ck_assert_int_eq(status.writer_pid, getpid());
	ck_assert_uint_eq(status.rows, 43);
	ck_assert_uint_eq(status.rows_total, 43);
	ck_assert_uint_eq(status.row_bytes, sizeof(struct row));
	ck_assert_uint_eq(status.newest_rows, 3);
	ck_assert_uint_eq(status.newest_capacity, 8);
	ck_assert_uint_eq(status.newest, tt_ring_writer_pos(writer).file);
	ck_assert_uint_eq(status.files_queued, 2);
	ck_assert_uint_eq(status.files_left, 4);
	ck_assert_uint_eq(status.files_merged, 0);
	ck_assert_uint_gt(status.bytes, 0);
	ck_assert_uint_gt(status.fs_bytes, status.fs_free);
	ck_assert_int_gt(status.last_write_ns, 0);
	ck_assert_int_le(status.last_write_ns, status.now_ns);
	tt_ring_status_free(&status);

	OK(tt_ring_merge("r", 2, NULL, NULL, &merged, &err));
	status = look("r");
	ck_assert_uint_eq(status.rows, 43);
	ck_assert_uint_eq(status.rows_total, 43);
	ck_assert_uint_eq(status.files_left, 2);
	ck_assert_uint_eq(status.files_merged, 2);
	tt_ring_status_free(&status);

	OK(tt_ring_roll(writer, &err));
	tt_ring_writer_close(writer);
	status = look("r");
	ck_assert_int_eq(status.writer, TT_WRITER_NONE);
	ck_assert_int_eq(status.writer_pid, 0);
	ck_assert_uint_eq(status.newest_rows, 0);
	ck_assert_int_gt(status.last_write_ns, 0); /* told by the file before */
	tt_ring_status_free(&status);
}
END_TEST

START_TEST(rows_that_are_gone_count_in_the_total)
{
	struct tt_ring_writer *writer;
	struct tt_ring_status status;
	struct tt_ring_info info;

	create_ring("r", 8, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 30);
	info = ring_info("r");
	OK(tt_ring_remove_file("r", info.files[0].name, &err));
	tt_ring_info_free(&info);
	status = look("r");
	ck_assert_uint_eq(status.rows, 22);
	ck_assert_uint_eq(status.rows_total, 30);
	tt_ring_status_free(&status);
	tt_ring_writer_close(writer);
}
END_TEST

static int hold_writer(void *arg)
{
	struct mp_gate *gate = arg;
	struct tt_ring_writer *writer = open_writer("r");

	put_rows(writer, 0, 3);
	mp_gate_add(gate);
	for (;;)
		pause();
	return 0;
}

START_TEST(a_killed_writer_is_seen_at_once)
{
	struct mp_gate *gate = mp_gate_new();
	struct tt_ring_status status;
	pid_t pid;

	create_ring("r", 8, 2);
	pid = mp_spawn(hold_writer, gate);
	ck_assert(mp_gate_wait(gate, 1, 20));
	status = look("r");
	ck_assert_int_eq(status.writer, TT_WRITER_ALIVE);
	ck_assert_int_eq(status.writer_pid, pid);
	tt_ring_status_free(&status);
	kill(pid, SIGKILL);
	ck_assert_int_eq(mp_wait(pid, 20), -SIGKILL);
	status = look("r");
	ck_assert_int_eq(status.writer, TT_WRITER_NONE);
	ck_assert_uint_eq(status.rows, 3);
	tt_ring_status_free(&status);
}
END_TEST

/* ---- durability and space ---- */

START_TEST(rows_behind_the_last_sync_are_counted)
{
	struct tt_ring_writer *writer;
	struct tt_ring_status status;
	struct tt_ring_info info;
	struct tti_ring ring;

	create_ring("r", 8, 4);
	writer = open_writer("r");
	put_rows(writer, 0, 20);
	info = ring_info("r");
	ring = open_raw();
	tti_count_sync(tti_ring_counters(&ring), tti_clock_realtime_ns());
	tti_count_synced(tti_ring_counters(&ring), info.files[1].name, 6);
	status = look("r");
	ck_assert_uint_eq(status.unsynced_rows, 6);
	ck_assert_int_ge(status.unsynced_ns, 0);
	ck_assert_int_ge(status.last_sync_ns, 0);
	tt_ring_status_free(&status);
	tti_count_synced(tti_ring_counters(&ring), info.files[2].name, 4);
	status = look("r");
	ck_assert_uint_eq(status.unsynced_rows, 0);
	ck_assert_int_eq(status.unsynced_ns, 0);
	tt_ring_status_free(&status);
	tti_ring_close(&ring);
	tt_ring_info_free(&info);
	tt_ring_writer_close(writer);
}
END_TEST

/* The first row of each file came hours ago. */
static void make_older(const struct tt_ring_info *info, int64_t hours)
{
	struct tti_ring ring = open_raw();

	for (size_t i = 0; i < info->file_count; i++) {
		uint64_t idx = tti_ring_find_entry(&ring, info->files[i].name);

		tti_field_store(&tti_ring_entry(&ring, idx)->first_row_ns,
				tti_clock_realtime_ns() - hours * 3600000000000);
	}
	tti_ring_close(&ring);
}

START_TEST(days_left_follow_from_what_was_added)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_ring_status status;
	struct tt_ring_info info;
	double expected;

	create_ring("r", 8, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 43);
	status = look("r");
	ck_assert(isnan(status.days_left)); /* younger than a minute */
	tt_ring_status_free(&status);
	info = ring_info("r");
	make_older(&info, 12);
	status = look("r");
	/* 5 whole files and 3 rows in half a day */
	expected = 2 * ((double)status.bytes / 6 * 5 + 3 * sizeof(struct row));
	ck_assert_double_eq_tol(status.bytes_per_day, expected, expected / 1000);
	ck_assert_double_eq_tol(status.days_left, (double)status.fs_free / expected,
				(double)status.fs_free / expected / 1000);
	ck_assert(!status.limit_holds);
	tt_ring_status_free(&status);
	make_older(&info, 24 * 8); /* too old to say anything of today */
	status = look("r");
	ck_assert(isnan(status.bytes_per_day));
	tt_ring_status_free(&status);
	make_older(&info, 12);
	tt_ring_writer_close(writer);
	opts.max_bytes = 1 << 20;
	OK(tt_ring_set("r", &opts, &err));
	status = look("r");
	ck_assert(status.limit_holds);
	ck_assert(isnan(status.days_left));
	ck_assert_uint_eq(status.max_bytes, 1 << 20);
	tt_ring_status_free(&status);
	tt_ring_info_free(&info);
}
END_TEST

/* ---- rings that say little ---- */

START_TEST(without_settings_rows_and_files_are_told)
{
	struct tt_ring_status status;
	struct tt_ring_writer *writer;

	create_ring("r", 8, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 20);
	tt_ring_writer_close(writer);
	ck_assert_int_eq(unlink("r/.ticktail"), 0);
	status = look("r");
	ck_assert(status.foreign);
	ck_assert_int_eq(status.settings_rc, -ENOENT);
	ck_assert_int_eq(status.writer, TT_WRITER_UNKNOWN);
	ck_assert_uint_eq(status.rows, 20);
	ck_assert_uint_eq(status.rows_total, TT_UNKNOWN);
	ck_assert_uint_eq(status.newest_rows, 4);
	ck_assert_uint_eq(status.files_queued, 2);
	ck_assert_uint_eq(status.files_left, 1);
	ck_assert_uint_eq(status.count_rows, TT_UNKNOWN);
	ck_assert_uint_eq(status.errors, TT_UNKNOWN);
	ck_assert_uint_eq(status.unsynced_rows, TT_UNKNOWN);
	ck_assert_int_gt(status.last_write_ns, 0); /* by the file's own stamp */
	ck_assert_uint_eq(status.reader_count, 0);
	tt_ring_status_free(&status);
}
END_TEST

START_TEST(a_damaged_settings_file_is_said_and_no_obstacle)
{
	struct tt_ring_status status;
	char page[4096] = { 0 };
	int fd;

	create_ring("r", 8, 2);
	fd = open("r/.ticktail", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, page, sizeof(page), 0), sizeof(page));
	close(fd);
	status = look("r");
	ck_assert_int_eq(status.settings_rc, TT_E_DAMAGED);
	ck_assert_uint_eq(status.damage_count, 1);
	ck_assert_str_eq(status.damage[0].file_name, ".ticktail");
	ck_assert_uint_eq(status.rows, 0);
	ck_assert_uint_eq(status.keep, 2);
	tt_ring_status_free(&status);
}
END_TEST

START_TEST(what_is_no_ring_is_refused)
{
	struct tt_ring_status status;

	ck_assert_int_eq(tt_ring_status("nothing", &status, &err), -ENOENT);
	mkdir("empty", 0755);
	ck_assert_int_eq(tt_ring_status("empty", &status, &err), TT_E_FORMAT);
	create_ring("r", 8, 2);
	write_file("r/.lock", "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 24);
	OK(tt_ring_status("r", &status, &err)); /* damaged is not gone */
	ck_assert_str_eq(status.damage[0].file_name, ".lock");
	tt_ring_status_free(&status);
	ck_assert_ptr_null(status.readers);
	tt_ring_status_free(&status);
	tt_ring_status_free(NULL);
}
END_TEST

static int look_only(void *arg)
{
	struct tt_ring_status status;

	(void)arg;
	if (!mp_drop_root())
		return 77;
	if (tt_ring_status("r", &status, &err) < 0)
		return 1;
	tt_ring_status_free(&status);
	return status.rows == 5 && status.writer == TT_WRITER_ALIVE &&
			       status.writer_pid > 0
		       ? 0
		       : 2;
}

START_TEST(who_may_only_read_can_look)
{
	struct tt_ring_writer *writer;
	int rc;

	create_ring("r", 8, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 5);
	rc = mp_wait(mp_spawn(look_only, NULL), 20);
	if (rc != 77)
		ck_assert_int_eq(rc, 0);
	tt_ring_writer_close(writer);
}
END_TEST

/* ---- texts of others ---- */

START_TEST(hostile_texts_are_escaped)
{
	struct tt_ring_status status;
	struct tti_counters *counters;
	struct tti_ring ring;
	char shown[64];

	tti_show_text(shown, "a\x1b[31m\xff\xc3\xa4\xe2\x80\xae\n");
	ck_assert_str_eq(shown, "a\\x1b[31m\\xff\xc3\xa4\\xe2\\x80\\xae\\x0a");
	create_ring("r", 8, 2);
	ring = open_raw();
	counters = tti_ring_counters(&ring);
	tti_count_error(counters, 0, -EIO, NULL, "x");
	memset(counters->error_tag, 0xff, sizeof(counters->error_tag));
	memset(counters->error_text, 0x1b, sizeof(counters->error_text));
	atomic_store(&counters->error_code, INT64_MIN);
	atomic_store(&counters->rows, UINT64_MAX);
	atomic_store(&counters->last_write_ns, INT64_MAX);
	atomic_store(&counters->synced_file, 77);
	atomic_store(&counters->append_ns[63], UINT64_MAX);
	atomic_store(&counters->append_ns[2], UINT64_MAX);
	status = look("r");
	ck_assert_int_eq(status.error_code, 0);
	ck_assert_uint_eq(strlen(status.error_tag), 4 * sizeof(counters->error_tag));
	ck_assert_uint_eq(strlen(status.error_text), 4 * sizeof(counters->error_text));
	ck_assert_int_eq(status.append.p50_ns, 7);
	ck_assert_uint_eq(status.append.count, UINT64_MAX - 1);
	ck_assert_uint_eq(status.unsynced_rows, TT_UNKNOWN);
	tt_ring_status_free(&status);
	tti_ring_close(&ring);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_look_tells_files_and_rows,
		rows_that_are_gone_count_in_the_total,
		a_killed_writer_is_seen_at_once,
		rows_behind_the_last_sync_are_counted,
		days_left_follow_from_what_was_added,
		without_settings_rows_and_files_are_told,
		a_damaged_settings_file_is_said_and_no_obstacle,
		what_is_no_ring_is_refused,
		who_may_only_read_can_look,
		hostile_texts_are_escaped,
	};

	return ring_suite("status", tests, sizeof(tests) / sizeof(tests[0]));
}
