/* SPDX-License-Identifier: Apache-2.0 */
/* How often a row's append reads a clock: now and then, whatever is asked of the writer, but where
 * each row has to look whether a time has come because nobody else does, or is synced (an
 * fdatasync a row, whose time is taken). */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "ring_help.h"
#include "ticktail/file.h"

#define ROWS 100000
#define LOOKS (ROWS / 64) /* of a writer without helper, or whose appends all wake */
#define LOOK 4		  /* calls: the time that it took, the stamp, the counters */
#define BESIDE 200	  /* calls of first rows, of rolls, of ticks */
#define ROLLS_AT 16384	  /* rows a file: six rolls */

/* ---- Clocks that are counted, in the place of the system's ---- */

static _Thread_local uint64_t clock_calls;

int clock_gettime(clockid_t clock, struct timespec *out)
{
	clock_calls++;
	return (int)syscall(SYS_clock_gettime, clock, out);
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*out = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

/* ---- What is asked of a writer ---- */

struct policy {
	const char *name;
	bool no_helper;
	int64_t wake_us, sync_ms;
	bool rolls_at; /* a time of day, of rings only */
	/* nobody else watches a time that may come with any row; the docs say so */
	bool each_row;
};

static const struct policy policies[] = {
	{ "helped", false, TT_WAKE_DEFAULT, TT_SYNC_NONE, false, false },
	{ "helped, wake never", false, TT_WAKE_NEVER, TT_SYNC_NONE, false, false },
	{ "helped, wake each", false, TT_WAKE_EACH, TT_SYNC_NONE, false, false },
	{ "helped, timed sync", false, TT_WAKE_DEFAULT, 20, false, false },
	{ "helped, wake never, timed sync", false, TT_WAKE_NEVER, 20, false, false },
	{ "helped, wake each, timed sync", false, TT_WAKE_EACH, 20, false, false },
	{ "helped, timed roll", false, TT_WAKE_DEFAULT, 20, true, false },
	{ "alone", true, TT_WAKE_DEFAULT, TT_SYNC_NONE, false, false },
	{ "alone, wake never", true, TT_WAKE_NEVER, TT_SYNC_NONE, false, false },
	{ "alone, wake each", true, TT_WAKE_EACH, TT_SYNC_NONE, false, false },
	{ "alone, timed sync", true, TT_WAKE_DEFAULT, 20, false, true },
	{ "alone, wake never, timed sync", true, TT_WAKE_NEVER, 20, false, true },
	{ "alone, wake never, timed roll", true, TT_WAKE_NEVER, TT_SYNC_NONE, true,
	  true },
};

static void judge(const struct policy *policy, const char *how, uint64_t calls,
		  uint64_t each)
{
	uint64_t most = LOOKS * LOOK + BESIDE + (policy->each_row ? each * ROWS : 0);

	printf("# %s, %s: %" PRIu64 " calls\n", policy->name, how, calls);
	ck_assert_msg(calls <= most,
		      "%s, %s: %" PRIu64 " clock calls for %d rows, at most %" PRIu64
		      " are right",
		      policy->name, how, calls, ROWS, most);
}

/* No check a row: the library's own writes, and reads the clock for all that is known. */
static uint64_t feed_file(struct tt_file *file, bool in_place)
{
	uint64_t before = clock_calls;
	int rc = TT_OK;

	for (int64_t i = 0; i < ROWS && rc == TT_OK; i++) {
		const struct row row = { i, (double)i };

		if (in_place) {
			struct row *place = tt_file_reserve(file, 1);

			if (!place)
				break;
			*place = row;
			rc = tt_file_publish(file, 1);
		} else {
			rc = tt_file_append(file, &row, 1);
		}
	}
	ck_assert_int_eq(rc, TT_OK);
	return clock_calls - before;
}

static uint64_t feed_ring(struct tt_ring_writer *writer, bool in_place)
{
	uint64_t before = clock_calls, got;
	int rc = TT_OK;

	for (int64_t i = 0; i < ROWS && rc == TT_OK; i++) {
		const struct row row = { i, (double)i };

		if (in_place) {
			struct row *place = tt_ring_reserve(writer, 1, &got, &err);

			if (!place)
				break;
			*place = row;
			rc = tt_ring_publish(writer, 1);
		} else {
			rc = tt_ring_append(writer, &row, 1, NULL, &err);
		}
	}
	ck_assert_msg(rc == TT_OK, "%s", err.text);
	return clock_calls - before;
}

static void feed_a_file(const struct policy *policy, bool in_place)
{
	struct tt_file_create_opts create = TT_FILE_CREATE_OPTS_INIT;
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	const char *path = in_place ? "p.npy" : "a.npy";
	struct tt_dtype *dtype = row_dtype();
	struct tt_file_info info;
	struct tt_file *file;
	uint64_t calls;

	create.capacity = ROWS;
	OK(tt_file_create(path, dtype, &create, &err));
	tt_dtype_unref(dtype);
	opts.access = TT_WRITE;
	opts.no_helper = policy->no_helper;
	opts.wake_us = policy->wake_us;
	opts.sync_ms = policy->sync_ms;
	OK(tt_file_open(&file, path, &opts, &err));
	calls = feed_file(file, in_place);
	OK(tt_file_info(file, &info, &err));
	ck_assert_uint_eq(info.end, ROWS);
	OK(tt_file_close(file));
	judge(policy, in_place ? "file, in place" : "file, append", calls, 1);
}

static void feed_a_ring(const struct policy *policy, bool in_place)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_opts create = TT_RING_OPTS_INIT;
	const char *dir = in_place ? "p" : "a";
	struct tt_dtype *dtype = row_dtype();
	struct tt_ring_writer *writer;
	uint64_t calls;

	create.capacity = ROLLS_AT;
	create.keep = 8;
	if (policy->rolls_at) /* twelve hours from now: it does not come */
		create.roll_at_s =
			(int32_t)((tti_clock_realtime_ns() / 1000000000 + 43200) % 86400);
	OK(tt_ring_create(dir, dtype, &create, &err));
	tt_dtype_unref(dtype);
	opts.no_helper = policy->no_helper;
	opts.wake_us = policy->wake_us;
	opts.sync_ms = policy->sync_ms;
	OK(tt_ring_writer_open(&writer, dir, &opts, &err));
	calls = feed_ring(writer, in_place);
	ck_assert_uint_eq(tt_ring_writer_pos(writer).row, ROWS % ROLLS_AT);
	OK(tt_ring_writer_close(writer));
	judge(policy, in_place ? "ring, in place" : "ring, append", calls, 2);
}

START_TEST(a_row_reads_no_clock)
{
	const struct policy *policy = &policies[_i];

	if (!policy->rolls_at) {
		feed_a_file(policy, false);
		feed_a_file(policy, true);
	}
	feed_a_ring(policy, false);
	feed_a_ring(policy, true);
}
END_TEST

/* What counts does. */
START_TEST(clocks_that_are_read_are_counted)
{
	uint64_t before = clock_calls;

	tti_clock_realtime_ns();
	tti_clock_coarse_ns();
	tti_clock_monotonic_ns();
	ck_assert_uint_eq(clock_calls - before, 3);
	ck_assert_int_gt(tti_clock_realtime_ns(), INT64_C(1600000000000000000));
	ck_assert_int_gt(time(NULL), 1600000000);
}
END_TEST

static void add_tests(TCase *tcase)
{
	tcase_add_test(tcase, clocks_that_are_read_are_counted);
	tcase_add_loop_test(tcase, a_row_reads_no_clock, 0,
			    sizeof(policies) / sizeof(policies[0]));
}

int main(void)
{
	return ring_suite_with("clock calls", add_tests);
}
