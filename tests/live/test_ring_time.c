/* SPDX-License-Identifier: Apache-2.0 */
/* What a ring does by the clock: names and days of files, limits, waiting. */
#include "lib/mp.h"
#include "ring_help.h"

/* ---- Days, times, limits ---- */

#define DAY INT64_C(86400000000000)

START_TEST(roll_at_a_time_of_day)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_ring_writer *writer;
	struct tt_ring_info info;

	opts.capacity = 100;
	opts.keep = 4;
	opts.roll_at_s = 22 * 3600;
	opts.sync_ms = TT_SYNC_NONE;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	writer = open_alone("r");
	tti_ring_writer_set_clock(writer, fake_clock);
	fake_now = 30000 * DAY + 21 * 3600 * INT64_C(1000000000);
	OK(tt_ring_writer_idle(writer, &err)); /* empty: nothing to roll */
	put_rows(writer, 0, 1);
	fake_now += 3599 * INT64_C(1000000000);
	put_rows(writer, 1, 1);
	fake_now += INT64_C(1000000000);
	put_rows(writer, 2, 1); /* the first append past the time */
	fake_now += DAY;
	OK(tt_ring_writer_idle(writer, &err)); /* or when idle */
	OK(tt_ring_writer_idle(writer, &err));
	put_rows(writer, 3, 1);
	info = ring_info("r");
	ck_assert_uint_eq(info.file_count, 3);
	ck_assert_uint_eq(info.files[0].end, 2);
	ck_assert_uint_eq(info.files[1].end, 1);
	ck_assert_int_eq(info.files[0].first_row_ns,
			 30000 * DAY + 21 * 3600 * INT64_C(1000000000));
	ck_assert_int_eq(info.files[2].first_row_ns, fake_now);
	tt_ring_info_free(&info);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(batches_stay_whole_when_asked)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_ring_writer *writer;
	struct tt_ring_info info;

	opts.capacity = 4;
	opts.keep = 4;
	opts.batches_whole = true;
	opts.sync_ms = TT_SYNC_NONE;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	writer = open_writer("r");
	for (int64_t i = 0; i < 9; i += 3)
		put_rows(writer, i, 3);
	put_rows(writer, 9, 6); /* more than a file holds: split */
	info = ring_info("r");
	ck_assert_uint_eq(info.files[0].end, 3);
	ck_assert_uint_eq(info.files[1].end, 3);
	ck_assert_uint_eq(info.rows, 15);
	tt_ring_info_free(&info);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(limit_removes_old_files_outside_the_queue_only)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_ring_writer *writer;
	struct tt_ring_info info;
	uint64_t bytes = 0;

	opts.capacity = 1024;
	opts.keep = 2;
	opts.max_bytes = 100000;
	opts.sync_ms = TT_SYNC_NONE;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	writer = open_writer("r");
	for (int64_t i = 0; i < 20; i++)
		put_rows(writer, i * 1024, 1024);
	tt_ring_writer_close(writer); /* its helper removes files as well */
	info = ring_info("r");
	for (size_t i = 0; i < info.file_count; i++) {
		char path[64];
		struct stat st;

		snprintf(path, sizeof(path), "r/%s", info.files[i].file_name);
		ck_assert_int_eq(stat(path, &st), 0);
		bytes += (uint64_t)st.st_blocks * 512;
	}
	ck_assert_uint_le(bytes, 100000);
	ck_assert_uint_ge(info.file_count, 3);
	ck_assert(info.files[info.file_count - 2].queued);
	tt_ring_info_free(&info);
}
END_TEST

/* ---- Waiting ---- */

static int feed_slowly(void *go)
{
	struct tt_ring_writer *writer;

	if (!mp_gate_wait(go, 1, 20))
		return 1;
	writer = open_writer("r");
	for (int64_t i = 0; i < 50; i++) {
		usleep(500);
		put_rows(writer, i, 1);
	}
	return tt_ring_writer_close(writer);
}

static void check_waits(enum tt_wait how)
{
	struct mp_gate *go = mp_gate_new();
	pid_t child = mp_spawn(feed_slowly, go);
	int64_t next = 0, from = tti_clock_monotonic_ns();
	struct tt_ring_reader *reader;

	create_ring("r", 4, 2);
	reader = open_reader("r");
	ck_assert_int_eq(tt_ring_wait(reader, how, 5000000, &err), 0);
	ck_assert_int_ge(tti_clock_monotonic_ns() - from, 5000000);
	mp_gate_add(go);
	while (next < 50) {
		ck_assert_int_eq(tt_ring_wait(reader, how, 20000000000, &err), 1);
		take_rows(reader, &next);
	}
	ck_assert_int_eq(mp_wait(child, 20), 0);
	tt_ring_reader_close(reader);
}

START_TEST(sleeping_reader_is_woken)
{
	check_waits(TT_WAIT_SLEEP);
}
END_TEST

START_TEST(spinning_reader_sees_rows)
{
	check_waits(TT_WAIT_SPIN);
}
END_TEST

START_TEST(yielding_reader_sees_rows)
{
	check_waits(TT_WAIT_YIELD);
}
END_TEST

START_TEST(reader_is_told_that_the_ring_was_replaced)
{
	struct tt_ring_reader *reader;

	create_ring("r", 4, 2);
	reader = open_reader("r");
	ck_assert_int_eq(rename("r", "old"), 0);
	create_ring("r", 4, 2);
	ck_assert_int_eq(tt_ring_wait(reader, TT_WAIT_SLEEP, 5000000000, &err),
			 TT_E_SUPERSEDED);
	tt_ring_reader_close(reader);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		roll_at_a_time_of_day,
		batches_stay_whole_when_asked,
		limit_removes_old_files_outside_the_queue_only,
		sleeping_reader_is_woken,
		spinning_reader_sees_rows,
		yielding_reader_sees_rows,
		reader_is_told_that_the_ring_was_replaced,
	};

	return ring_suite("ring and time", tests, sizeof(tests) / sizeof(tests[0]));
}
