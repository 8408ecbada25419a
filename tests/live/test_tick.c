/* SPDX-License-Identifier: Apache-2.0 */
/* What a tick of the coarse clock makes an append do.  Both threads stand still, and the test
 * ticks: with times of its own, an hour ahead, so that a look at the clock shows. */
#include "helper_help.h"

#define HOUR_NS (INT64_C(3600) * 1000000000)
#define STEP_NS 1000000
#define TICKS_TIMED 16 /* as in ring_append.c */

static int64_t wall_ns;

static uint64_t stamp_of(int64_t ns)
{
	return (uint64_t)ns & ~TTI_STAMP_MASK;
}

static void stop_threads(void)
{
	tti_helper_pause(true);
	tti_pulse_pause(true);
	tti_crew_pass();
	wall_ns = tti_clock_coarse_ns() + HOUR_NS;
}

static void start_threads(void)
{
	tti_pulse_pause(false);
	tti_helper_pause(false);
}

static void tick(struct tti_duty *duty)
{
	wall_ns += STEP_NS;
	tti_duty_tick(duty, wall_ns);
}

/* ---- Rings ---- */

/* A writer with a row, nothing to attend to, and a tick that times its append behind it. */
static struct tt_ring_writer *open_calm(void)
{
	struct tt_ring_writer *writer;

	create_ring("r", 10000, 3);
	writer = open_with("r", TT_SYNC_NONE, 250);
	put_rows(writer, 0, 1);
	stop_threads();
	put_rows(writer, 1, 1);
	writer->duty.ticks = 0;
	tti_duty_tick(&writer->duty, tti_clock_coarse_ns());
	put_rows(writer, 2, 1);
	ck_assert_uint_eq(writer->duty.ticks, 1);
	ck_assert_uint_eq(tti_attention(&writer->duty), 0);
	return writer;
}

static void check_ring(struct tt_ring_writer *writer, uint32_t ticks)
{
	ck_assert_uint_eq(tti_stamp_peek(tti_writer_live(writer)->tail),
			  stamp_of(wall_ns));
	ck_assert_uint_eq(tti_attention(&writer->duty), 0);
	ck_assert_uint_eq(tti_turn(&writer->duty), 0);
	ck_assert_uint_eq(writer->duty.ticks, ticks);
}

static void fill(struct tt_ring_writer *writer, int64_t from, uint64_t reserved,
		 uint64_t count)
{
	uint64_t got;
	struct row *rows = tt_ring_reserve(writer, reserved, &got, &err);

	ck_assert_ptr_nonnull(rows);
	ck_assert_uint_eq(got, reserved);
	for (uint64_t i = 0; i < count; i++)
		rows[i] = (struct row){ from + (int64_t)i, 0 };
	ck_assert_int_eq(tt_ring_publish(writer, count), TT_OK);
}

static uint64_t timed(void)
{
	const struct tti_counters_seen seen = counters("r");
	uint64_t sum = 0;

	for (size_t i = 0; i < TTI_HIST_BUCKETS; i++)
		sum += seen.hist[TTI_HIST_APPEND][i];
	return sum;
}

START_TEST(each_way_to_append_takes_the_time)
{
	struct tt_ring_writer *writer = open_calm();
	uint64_t before = timed();

	tick(&writer->duty);
	put_rows(writer, 3, 1);
	check_ring(writer, 2);
	tick(&writer->duty);
	put_rows(writer, 4, 3);
	check_ring(writer, 3);
	tick(&writer->duty);
	fill(writer, 7, 1, 1);
	check_ring(writer, 4);
	tick(&writer->duty);
	fill(writer, 8, 4, 4);
	check_ring(writer, 5);
	tick(&writer->duty);
	fill(writer, 12, 4, 2);
	check_ring(writer, 6);
	ck_assert_uint_eq(timed(), before);
	start_threads();
	tt_ring_writer_close(writer);
	check_rows("r", 14);
	ck_assert_uint_eq(counters("r").rows, 14);
	ck_assert_uint_eq(counters("r").appends, 8);
}
END_TEST

START_TEST(a_tick_while_rows_are_reserved_is_met_by_their_publish)
{
	struct tt_ring_writer *writer = open_calm();
	uint64_t got;
	struct row *row = tt_ring_reserve(writer, 1, &got, &err);

	ck_assert_ptr_nonnull(row);
	tick(&writer->duty);
	*row = (struct row){ 3, 0 };
	ck_assert_int_eq(tt_ring_publish(writer, 1), TT_OK);
	check_ring(writer, 2);
	/* nothing is published: the tick stays for the next */
	ck_assert_ptr_nonnull(tt_ring_reserve(writer, 1, &got, &err));
	tick(&writer->duty);
	ck_assert_int_eq(tt_ring_publish(writer, 0), TT_OK);
	ck_assert_uint_eq(tti_attention(&writer->duty), TTI_ATTEND_STAMP);
	put_rows(writer, 4, 1);
	check_ring(writer, 3);
	start_threads();
	tt_ring_writer_close(writer);
	check_rows("r", 5);
}
END_TEST

/* Each append and each reserve looks at everything. */
START_TEST(ticks_are_met_where_each_row_wakes)
{
	struct tt_ring_writer *writer;

	create_ring("r", 100, 3);
	writer = open_with("r", TT_SYNC_NONE, TT_WAKE_EACH);
	put_rows(writer, 0, 1);
	stop_threads();
	for (int64_t i = 1; i < 20; i += 2) {
		int64_t before;

		UNTIL(stamp_of(tti_clock_coarse_ns()) >
		      tti_stamp_peek(tti_writer_live(writer)->tail));
		before = tti_clock_coarse_ns();
		tti_duty_tick(&writer->duty, before);
		fill(writer, i, 1, 1);
		ck_assert_uint_ge(tti_stamp_peek(tti_writer_live(writer)->tail),
				  stamp_of(before));
		ck_assert_uint_eq(tti_attention(&writer->duty), TTI_ATTEND_ALWAYS);
		put_rows(writer, i + 1, 1);
	}
	start_threads();
	tt_ring_writer_close(writer);
	check_rows("r", 21);
}
END_TEST

START_TEST(time_is_that_of_the_last_tick_and_goes_on_only)
{
	struct tt_ring_writer *writer = open_calm();

	tick(&writer->duty);
	tick(&writer->duty);
	tick(&writer->duty);
	put_rows(writer, 3, 1);
	check_ring(writer, 2);
	tti_duty_tick(&writer->duty, wall_ns - HOUR_NS); /* set back */
	put_rows(writer, 4, 1);
	check_ring(writer, 3);
	start_threads();
	tt_ring_writer_close(writer);
	check_rows("r", 5);
}
END_TEST

START_TEST(some_ticks_time_their_append)
{
	struct tt_ring_writer *writer = open_calm();
	uint64_t before = timed();

	for (int64_t i = 0; i < 3 * TICKS_TIMED; i++) {
		tick(&writer->duty);
		put_rows(writer, 3 + i, 1);
	}
	ck_assert_uint_eq(timed(), before + 3);
	start_threads();
	tt_ring_writer_close(writer);
	check_rows("r", 3 + 3 * TICKS_TIMED);
}
END_TEST

/* With something else to attend to the tick goes the whole way. */
START_TEST(a_tick_hides_nothing_else)
{
	struct tt_ring_writer *writer = open_calm();
	bool sealed = true;

	tti_request_add(tti_ring_words(&writer->ring));
	tick(&writer->duty);
	tti_attend(&writer->duty, TTI_ATTEND_ROLL);
	put_rows(writer, 3, 1);
	ck_assert_uint_eq(counters("r").rolls, 1);
	tick(&writer->duty);
	tti_attend(&writer->duty, TTI_ATTEND_ASLEEP);
	fill(writer, 4, 1, 1);
	ck_assert_uint_eq(tti_attention(&writer->duty), 0);
	start_threads();
	OK(tt_ring_seal("r", DEADLINE_NS, &sealed, &err));
	tt_ring_writer_close(writer);
	check_rows("r", 5);
}
END_TEST

/* ---- Files ---- */

static void check_file(struct tt_file *file)
{
	ck_assert_uint_eq(tti_stamp_peek(file->live.tail), stamp_of(wall_ns));
	ck_assert_uint_eq(tti_attention(&file->duty), 0);
}

START_TEST(files_take_the_time_as_well)
{
	struct tt_file_create_opts create = TT_FILE_CREATE_OPTS_INIT;
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	const struct row rows[3] = { { 1, 2 } };
	struct tt_dtype *dtype = row_dtype();
	struct tt_file *file;

	create.capacity = 1000;
	OK(tt_file_create("f.npy", dtype, &create, &err));
	tt_dtype_unref(dtype);
	opts.access = TT_WRITE;
	OK(tt_file_open(&file, "f.npy", &opts, &err));
	ck_assert_int_eq(tt_file_append(file, rows, 1), TT_OK);
	stop_threads();
	ck_assert_int_eq(tt_file_append(file, rows, 1), TT_OK);
	tick(&file->duty);
	ck_assert_int_eq(tt_file_append(file, rows, 1), TT_OK);
	check_file(file);
	tick(&file->duty);
	ck_assert_int_eq(tt_file_append(file, rows, 3), TT_OK);
	check_file(file);
	tick(&file->duty);
	ck_assert_ptr_nonnull(tt_file_reserve(file, 1));
	ck_assert_int_eq(tt_file_publish(file, 1), TT_OK);
	check_file(file);
	tick(&file->duty);
	tick(&file->duty);
	ck_assert_ptr_nonnull(tt_file_reserve(file, 2));
	ck_assert_int_eq(tt_file_publish(file, 2), TT_OK);
	check_file(file);
	start_threads();
	ck_assert_uint_eq(tt_file_size(file), 9);
	tt_file_close(file);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		each_way_to_append_takes_the_time,
		a_tick_while_rows_are_reserved_is_met_by_their_publish,
		ticks_are_met_where_each_row_wakes,
		time_is_that_of_the_last_tick_and_goes_on_only,
		some_ticks_time_their_append,
		a_tick_hides_nothing_else,
		files_take_the_time_as_well,
	};

	return ring_suite("ticks", tests, sizeof(tests) / sizeof(tests[0]));
}
