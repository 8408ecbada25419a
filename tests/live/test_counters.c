/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of a ring: each has its word, and what a writer does is counted in it. */
#include <sys/resource.h>

#include "status_help.h"

static struct tti_counters_seen read_counters(const struct tti_ring *ring)
{
	struct tti_counters_seen seen;

	tti_counters_read(ring, &seen);
	return seen;
}

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

/* From now on files of this process are as good as full, check's own too: undone by
 * setrlimit() before anything is checked. */
static struct rlimit limit_files(void)
{
	struct rlimit before, little;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	little = before;
	little.rlim_cur = 16;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &little);
	return before;
}

START_TEST(a_roll_that_fails_is_the_last_error)
{
	struct rlimit before;
	struct tt_ring_writer *writer;
	struct tt_ring_status status;
	struct row rows[9] = { { 0, 0 } };
	int rc;

	create_ring("r", 8, 4);
	writer = open_with(true, TT_SYNC_NONE);
	before = limit_files();
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

/* Files made ahead, or errors; without check's macros, which write. */
static uint64_t count_of(const char *ring, bool prepared)
{
	struct tt_ring_status status;
	uint64_t count;

	if (tt_ring_status(ring, &status, NULL) < 0)
		return 0;
	count = prepared ? status.prepared : status.errors;
	tt_ring_status_free(&status);
	return count;
}

/* The helper may meet what keeps the next file out while rows still find room: once they do not,
 * none has come since. */
START_TEST(an_error_met_ahead_stands_when_the_file_is_full)
{
	struct rlimit before;
	struct tt_ring_writer *writer;
	struct tt_ring_status status;
	struct row rows[8] = { { 0, 0 } };
	int64_t deadline = tti_deadline_ns(INT64_C(20000000000));
	int rc;

	create_ring("r", 8, 4);
	writer = open_with(false, TT_SYNC_NONE);
	OK(tt_ring_append(writer, rows, 8, NULL, &err));
	while (count_of("r", true) < 1 && tti_clock_monotonic_ns() < deadline)
		usleep(1000);
	before = limit_files();
	/* takes what was made ahead */
	rc = tt_ring_append(writer, rows, 1, NULL, NULL);
	while (count_of("r", false) < 1 && tti_clock_monotonic_ns() < deadline)
		usleep(1000);
	while (tt_ring_append(writer, rows, 1, NULL, NULL) == TT_OK)
		;
	setrlimit(RLIMIT_FSIZE, &before);
	ck_assert_int_eq(rc, TT_OK);
	status = look("r");
	ck_assert_uint_ge(status.errors, 1);
	ck_assert_str_eq(status.error_tag, "FILE_TOO_LARGE");
	ck_assert_uint_eq(status.rows_since_error, 0);
	tt_ring_status_free(&status);
	tt_ring_writer_close(writer);
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

static void add(TCase *tcase)
{
	tcase_add_test(tcase, each_filler_fills_its_own_word);
	tcase_add_test(tcase, without_a_settings_file_nothing_is_filled);
	tcase_add_test(tcase, times_fall_into_their_buckets);
	tcase_add_test(tcase, the_last_error_is_told_whole);
	tcase_add_test(tcase, an_error_left_half_stored_is_forgotten_at_open);
	tcase_add_loop_test(tcase, a_writer_counts_what_it_does, 0, 2);
	tcase_add_loop_test(tcase, syncs_are_counted_and_leave_nothing_behind, 0, 2);
	tcase_add_test(tcase, a_clock_set_back_is_counted);
	tcase_add_test(tcase, a_roll_that_fails_is_the_last_error);
	tcase_add_test(tcase, an_open_that_mends_is_counted);
	tcase_add_test(tcase, an_error_met_ahead_stands_when_the_file_is_full);
}

int main(void)
{
	return ring_suite_with("counters", add);
}
