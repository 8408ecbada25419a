/* SPDX-License-Identifier: Apache-2.0 */
/* A look at a ring: what it says of files, rows, writer and space after known operations, of
 * rings that say little, and to a user who may only read. */
#include <math.h>
#include <sys/resource.h>

#include "lib/mp.h"
#include "ring_help.h"
#include "base/lock.h"
#include "live/ring_counters.h"
#include "live/shared_text.h"
#include "ticktail/status.h"

static struct tt_ring_status look(const char *dir)
{
	struct tt_ring_status status;

	OK(tt_ring_status(dir, &status, &err));
	return status;
}

/* The settings file of r, mapped for writing. */
static struct tti_ring open_raw(void)
{
	struct tti_ring ring;

	OK(tti_ring_open(&ring, "r", true, &err));
	ck_assert_ptr_nonnull(ring.set.addr);
	return ring;
}

static struct tti_counters_seen read_counters(const struct tti_ring *ring)
{
	struct tti_counters_seen seen;

	tti_counters_read(ring, &seen);
	return seen;
}

/* ---- counters ---- */

START_TEST(each_filler_fills_its_own_word)
{
	struct tti_counters_seen seen;
	struct tti_counters *counters;
	struct tti_ring ring;

	create_ring("r", 8, 2);
	ring = open_raw();
	counters = tti_ring_counters(&ring);
	tti_count_appended(counters, 10, 160, 3);
	tti_count_appended(counters, 1, 16, 1);
	tti_count_last_write(counters, 77);
	tti_count_open(counters, 55);
	tti_count_roll(counters);
	tti_count_roll(counters);
	tti_count_wakes(counters, 5);
	tti_count_prepared(counters);
	tti_count_sync(counters, 99);
	tti_count_sync(counters, 100);
	tti_count_sync_failed(counters);
	tti_count_synced(counters, 1234, 6);
	tti_count_clock_step(counters, 42);
	tti_count_repair(counters);
	seen = read_counters(&ring);
	ck_assert_uint_eq(seen.rows, 11);
	ck_assert_uint_eq(seen.bytes, 176);
	ck_assert_uint_eq(seen.appends, 4);
	ck_assert_int_eq(seen.last_write_ns, 77);
	ck_assert_int_eq(seen.opened_ns, 55);
	ck_assert_uint_eq(seen.rolls, 2);
	ck_assert_uint_eq(seen.wakes, 5);
	ck_assert_uint_eq(seen.prepared, 1);
	ck_assert_uint_eq(seen.syncs, 2);
	ck_assert_int_eq(seen.last_sync_ns, 100);
	ck_assert_uint_eq(seen.sync_failures, 1);
	ck_assert_uint_eq(seen.synced_file, 1234);
	ck_assert_uint_eq(seen.synced_end, 6);
	ck_assert_uint_eq(seen.clock_steps, 1);
	ck_assert_int_eq(seen.clock_step_ns, 42);
	ck_assert_uint_eq(seen.repairs, 1);
	ck_assert_uint_eq(seen.errors, 0);
	tti_ring_close(&ring);
}
END_TEST

START_TEST(without_a_settings_file_nothing_is_filled)
{
	struct tti_ring ring = TTI_RING_EMPTY;
	struct tti_counters *none = tti_ring_counters(&ring);

	ck_assert_ptr_null(none);
	tti_count_appended(none, 1, 1, 1);
	tti_count_last_write(none, 1);
	tti_count_open(none, 1);
	tti_count_roll(none);
	tti_count_wakes(none, 1);
	tti_count_prepared(none);
	tti_count_sync(none, 1);
	tti_count_sync_failed(none);
	tti_count_synced(none, 1, 1);
	tti_count_clock_step(none, 1);
	tti_count_repair(none);
	tti_count_took(none, TTI_HIST_SYNC, 1);
	tti_count_error(none, 0, -EIO, NULL, "x");
	tti_ring_count_error(&ring, 7, -EIO, NULL);
	ck_assert_uint_eq(read_counters(&ring).errors, 0);
	/* a mapping for reading is never written to */
	create_ring("r", 8, 2);
	OK(tti_ring_open(&ring, "r", false, &err));
	ck_assert_ptr_null(tti_ring_counters(&ring));
	tti_ring_close(&ring);
}
END_TEST

START_TEST(times_fall_into_their_buckets)
{
	static const int64_t times[] = { -5, 0, 1, 2, 3, 4, 1023, 1024, INT64_MAX };
	static const unsigned buckets[] = { 0, 0, 0, 1, 1, 2, 9, 10, 62 };
	struct tt_ring_status status;
	struct tti_ring ring;

	create_ring("r", 8, 2);
	ring = open_raw();
	for (size_t i = 0; i < TTI_LEN(times); i++) {
		ck_assert_uint_eq(tti_hist_bucket(times[i]), buckets[i]);
		tti_count_took(tti_ring_counters(&ring), TTI_HIST_APPEND, times[i]);
	}
	for (int i = 0; i < 990; i++)
		tti_count_took(tti_ring_counters(&ring), TTI_HIST_ROLL, 3000);
	for (int i = 0; i < 10; i++)
		tti_count_took(tti_ring_counters(&ring), TTI_HIST_ROLL, 70000);
	tti_count_took(tti_ring_counters(&ring), TTI_HIST_SYNC, 5);
	tti_ring_close(&ring);
	status = look("r");
	ck_assert_uint_eq(status.append.count, 9);
	ck_assert_uint_eq(status.append.bucket[0], 3);
	ck_assert_int_eq(status.append.max_ns, INT64_MAX);
	ck_assert_uint_eq(status.roll.count, 1000);
	ck_assert_int_eq(status.roll.p50_ns, 4095);
	ck_assert_int_eq(status.roll.p99_ns, 4095);
	ck_assert_int_eq(status.roll.p999_ns, 131071);
	ck_assert_int_eq(status.roll.max_ns, 131071);
	ck_assert_int_eq(status.sync.p50_ns, 7);
	ck_assert_uint_eq(status.wake.count, 0);
	ck_assert_int_eq(status.wake.max_ns, TT_UNKNOWN_NS);
	tt_ring_status_free(&status);
}
END_TEST

START_TEST(the_last_error_is_told_whole)
{
	const char long_text[] = "0123456789012345678901234567890123456789"
				 "012345678901234567890123456789012345\xc3\xa4\xc3\xa4x";
	struct tti_counters_seen seen;
	struct tt_error why;
	struct tti_ring ring;

	create_ring("r", 8, 2);
	ring = open_raw();
	tti_fail(&why, -ENOSPC, "r/17.npy: fallocate: no space");
	tti_ring_count_error(&ring, 7, why.code, &why);
	seen = read_counters(&ring);
	ck_assert_uint_eq(seen.errors, 1);
	ck_assert_int_eq(seen.error_code, -ENOSPC);
	ck_assert_str_eq(seen.error_tag, "DISK_FULL");
	ck_assert_str_eq(seen.error_text, "17.npy: fallocate: no space");
	ck_assert_int_gt(seen.error_ns, 0);
	ck_assert_uint_eq(seen.error_rows, 7);
	tti_fail(&why, TT_E_RANGE, "r: no name is left");
	tti_ring_count_error(&ring, 7, why.code, &why);
	seen = read_counters(&ring);
	ck_assert_str_eq(seen.error_text, "no name is left");
	ck_assert_str_eq(seen.error_tag, "OUT_OF_RANGE");
	tti_ring_count_error(&ring, 7, -EIO, NULL);
	ck_assert_str_eq(read_counters(&ring).error_text, tt_strerror(-EIO));
	/* 76 bytes stay, and no half character */
	tti_count_error(tti_ring_counters(&ring), 9, -5, "CLOCK_STEP", long_text);
	seen = read_counters(&ring);
	ck_assert_str_eq(seen.error_tag, "CLOCK_STEP");
	ck_assert_uint_eq(strlen(seen.error_text), 79);
	ck_assert_str_eq(seen.error_text + 76, "...");
	ck_assert_uint_eq(seen.errors, 4);
	tti_ring_close(&ring);
}
END_TEST

START_TEST(an_error_left_half_stored_is_forgotten_at_open)
{
	struct tti_counters_seen seen;
	struct tti_counters *counters;
	struct tti_ring ring;

	create_ring("r", 8, 2);
	ring = open_raw();
	counters = tti_ring_counters(&ring);
	tti_count_error(counters, 0, -EIO, NULL, "before");
	atomic_store(&counters->error_ns, INT64_MIN); /* it died here */
	tti_count_error(counters, 0, -EIO, NULL, "another");
	seen = read_counters(&ring);
	ck_assert_uint_eq(seen.errors, 2);
	ck_assert_int_eq(seen.error_code, 0);
	ck_assert_str_eq(seen.error_text, "");
	tti_count_open(counters, 1);
	tti_count_error(counters, 0, -EIO, NULL, "third");
	ck_assert_str_eq(read_counters(&ring).error_text, "third");
	tti_ring_close(&ring);
}
END_TEST

/* ---- files, rows, writer ---- */

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

/* ---- counters that a writer fills ---- */

static struct tt_ring_writer *open_with(bool no_helper, int64_t sync_ms)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer = NULL;

	opts.no_helper = no_helper;
	opts.sync_ms = sync_ms;
	OK(tt_ring_writer_open(&writer, "r", &opts, &err));
	return writer;
}

/* With the threads and without them. */
START_TEST(a_writer_counts_what_it_does)
{
	struct tt_ring_writer *writer;
	struct tt_ring_status status;

	create_ring("r", 8, 4);
	writer = open_with(_i == 1, TT_SYNC_NONE);
	put_rows(writer, 0, 3);
	put_rows(writer, 3, 8);
	put_rows(writer, 11, 9); /* 20 rows: two full files and four */
	OK(tt_ring_roll(writer, &err));
	tt_ring_writer_close(writer);
	status = look("r");
	ck_assert_uint_eq(status.count_rows, 20);
	ck_assert_uint_eq(status.count_bytes, 20 * sizeof(struct row));
	ck_assert_uint_eq(status.rolls, 3);
	ck_assert_uint_eq(status.roll.count, 3);
	ck_assert_uint_eq(status.count_appends, 3);
	ck_assert_uint_gt(status.wakes, 0);
	ck_assert_uint_eq(status.errors, 0);
	ck_assert_uint_eq(status.repairs, 0);
	ck_assert_uint_eq(status.clock_steps, 0);
	ck_assert_uint_eq(status.sync_failures, 0);
	ck_assert_int_gt(status.opened_ns, 0);
	ck_assert_int_gt(status.last_write_ns, 0);
	ck_assert_int_le(status.last_write_ns, status.now_ns);
	tt_ring_status_free(&status);
	writer = open_with(_i == 1, TT_SYNC_NONE); /* they go on */
	put_rows(writer, 20, 5);
	tt_ring_writer_close(writer);
	status = look("r");
	ck_assert_uint_eq(status.count_rows, 25);
	ck_assert_uint_eq(status.rows_total, 25);
	tt_ring_status_free(&status);
}
END_TEST

START_TEST(syncs_are_counted_and_leave_nothing_behind)
{
	struct tt_ring_writer *writer;
	struct tt_ring_status status;

	create_ring("r", 64, 4);
	writer = open_with(_i == 1, TT_SYNC_EACH);
	put_rows(writer, 0, 3);
	put_rows(writer, 3, 3);
	status = look("r");
	ck_assert_uint_ge(status.syncs, 2);
	ck_assert_uint_eq(status.sync.count, status.syncs);
	ck_assert_uint_eq(status.unsynced_rows, 0);
	ck_assert_int_eq(status.unsynced_ns, 0);
	ck_assert_int_gt(status.last_sync_ns, 0);
	tt_ring_status_free(&status);
	tt_ring_writer_close(writer);
	writer = open_with(_i == 1, TTI_SYNC_MS_MAX);
	put_rows(writer, 6, 5);
	status = look("r");
	ck_assert_uint_eq(status.unsynced_rows, 5);
	ck_assert_int_ge(status.unsynced_ns, 0);
	tt_ring_status_free(&status);
	OK(tt_ring_sync(writer, &err));
	status = look("r");
	ck_assert_uint_eq(status.unsynced_rows, 0);
	tt_ring_status_free(&status);
	tt_ring_writer_close(writer);
}
END_TEST

static int64_t an_hour_ago(void)
{
	return tti_clock_realtime_ns() - INT64_C(3600000000000);
}

START_TEST(a_clock_set_back_is_counted)
{
	struct tt_ring_writer *writer;
	struct tt_ring_status status;

	create_ring("r", 8, 4);
	writer = open_with(true, TT_SYNC_NONE);
	tti_ring_writer_set_clock(writer, an_hour_ago);
	put_rows(writer, 0, 3);
	OK(tt_ring_roll(writer, &err));
	status = look("r");
	ck_assert_uint_eq(status.clock_steps, 1);
	ck_assert_int_gt(status.clock_step_ns, INT64_C(3500000000000));
	ck_assert_int_lt(status.clock_step_ns, INT64_C(3700000000000));
	tt_ring_status_free(&status);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(a_roll_that_fails_is_the_last_error)
{
	struct rlimit before, little;
	struct tt_ring_writer *writer;
	struct tt_ring_status status;
	struct row rows[9] = { { 0, 0 } };
	int rc;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	little = before;
	little.rlim_cur = 16;
	create_ring("r", 8, 4);
	writer = open_with(true, TT_SYNC_NONE);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &little); /* what check writes is limited too */
	rc = tt_ring_append(writer, rows, 9, NULL, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	ck_assert_int_lt(rc, 0);
	status = look("r");
	ck_assert_uint_ge(status.errors, 1);
	ck_assert_int_eq(status.error_code, err.code);
	ck_assert_str_eq(status.error_tag, tt_error_tag(err.code));
	ck_assert_str_eq(status.error_tag, "FILE_TOO_LARGE");
	ck_assert_str_ne(status.error_text, "");
	ck_assert_int_gt(status.error_ns, 0);
	ck_assert_uint_eq(status.rows_since_error, 0);
	tt_ring_status_free(&status);
	OK(tt_ring_append(writer, rows, 3, NULL, &err));
	tt_ring_writer_close(writer);
	status = look("r");
	ck_assert_uint_eq(status.rows_since_error, 3);
	ck_assert_uint_eq(status.count_rows, 8 + 3);
	tt_ring_status_free(&status);
}
END_TEST

START_TEST(an_open_that_mends_is_counted)
{
	struct tt_ring_status status;

	create_ring("r", 8, 4);
	tt_ring_writer_close(open_with(true, TT_SYNC_NONE));
	status = look("r");
	ck_assert_uint_eq(status.repairs, 0);
	tt_ring_status_free(&status);
	ck_assert_int_eq(unlink("r/.lock"), 0);
	tt_ring_writer_close(open_with(true, TT_SYNC_NONE));
	status = look("r");
	ck_assert_uint_eq(status.repairs, 1);
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
	Suite *suite = suite_create("status");
	TCase *tcase = tcase_create("status");
	SRunner *runner = srunner_create(suite);
	const TTest *tests[] = {
		each_filler_fills_its_own_word,
		without_a_settings_file_nothing_is_filled,
		times_fall_into_their_buckets,
		the_last_error_is_told_whole,
		an_error_left_half_stored_is_forgotten_at_open,
		a_look_tells_files_and_rows,
		rows_that_are_gone_count_in_the_total,
		a_killed_writer_is_seen_at_once,
		a_clock_set_back_is_counted,
		a_roll_that_fails_is_the_last_error,
		an_open_that_mends_is_counted,
		rows_behind_the_last_sync_are_counted,
		days_left_follow_from_what_was_added,
		without_settings_rows_and_files_are_told,
		a_damaged_settings_file_is_said_and_no_obstacle,
		what_is_no_ring_is_refused,
		who_may_only_read_can_look,
		hostile_texts_are_escaped,
	};
	int failed;

	tcase_add_checked_fixture(tcase, make_work_dir, drop_work_dir);
	tcase_set_timeout(tcase, 60);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tcase, tests[i]);
	tcase_add_loop_test(tcase, a_writer_counts_what_it_does, 0, 2);
	tcase_add_loop_test(tcase, syncs_are_counted_and_leave_nothing_behind, 0, 2);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
