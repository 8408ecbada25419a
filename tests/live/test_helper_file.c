/* SPDX-License-Identifier: Apache-2.0 */
/* What the two threads of a process do for single files. */
#include <pthread.h>

#include "helper_help.h"

static struct tt_file *open_as(int64_t sync_ms, int64_t wake_us, bool no_helper)
{
	struct tt_file_create_opts create = TT_FILE_CREATE_OPTS_INIT;
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_file *file = NULL;

	create.capacity = 1000;
	unlink("f.npy");
	OK(tt_file_create("f.npy", dtype, &create, &err));
	tt_dtype_unref(dtype);
	opts.access = TT_WRITE;
	opts.sync_ms = sync_ms;
	opts.wake_us = wake_us;
	opts.no_helper = no_helper;
	OK(tt_file_open(&file, "f.npy", &opts, &err));
	return file;
}

static struct tt_file *open_file(int64_t sync_ms, int64_t wake_us)
{
	return open_as(sync_ms, wake_us, false);
}

static void *file_wait_main(void *arg)
{
	struct tt_file *file = NULL;
	int rc = tt_file_open(&file, "f.npy", NULL, NULL);

	if (rc == TT_OK)
		rc = tt_file_wait(file, 0, TT_WAIT_SLEEP, DEADLINE_NS);
	tt_file_close(file);
	return rc == 1 ? arg : NULL;
}

START_TEST(file_wakes_and_syncs_in_time)
{
	const struct row row = { 1, 2 };
	struct tt_file *file = open_file(5, 250);
	pthread_t thread;
	void *woken;

	ck_assert_int_eq(pthread_create(&thread, NULL, file_wait_main, file), 0);
	ck_assert_int_eq(tt_file_append(file, &row, 1), TT_OK);
	pthread_join(thread, &woken);
	ck_assert_ptr_eq(woken, file);
	UNTIL(atomic_load(&file->synced_end) == 1);
	/* the threads follow to a larger file */
	OK(tt_file_grow(file, 5000, &err));
	ck_assert_int_eq(tt_file_append(file, &row, 1), TT_OK);
	UNTIL(atomic_load(&file->synced_end) == 2);
	ck_assert_int_eq(tt_file_close(file), TT_OK);
}
END_TEST

START_TEST(file_is_not_synced_before_its_time)
{
	const struct row row = { 1, 2 };
	struct tt_file *file = open_file(half_of_uptime_ms(), 250);

	ck_assert_int_eq(tt_file_append(file, &row, 1), TT_OK);
	UNTIL(atomic_load(&file->duty.attention) & TTI_ATTEND_ASLEEP);
	pthread_mutex_lock(&file->duty.work_mutex); /* what the helper began is done */
	ck_assert_uint_eq(atomic_load(&file->synced_end), 0);
	pthread_mutex_unlock(&file->duty.work_mutex);
	ck_assert_int_eq(tt_file_close(file), TT_OK);
	file = open_as(half_of_uptime_ms(), 250, true);
	ck_assert_int_eq(tt_file_append(file, &row, 1), TT_OK);
	ck_assert_uint_eq(atomic_load(&file->synced_end), 0);
	ck_assert_int_eq(tt_file_close(file), TT_OK);
}
END_TEST

/* Asleep, the pulse looks at nothing until an append. */
START_TEST(pulse_of_an_idle_file_sleeps)
{
	const struct row row = { 1, 2 };
	struct tt_file *file = open_file(TT_SYNC_NONE, 250);
	uint64_t looks;

	ck_assert_int_eq(tt_file_append(file, &row, 1), TT_OK);
	UNTIL(atomic_load(&file->duty.attention) & TTI_ATTEND_ASLEEP);
	looks = tti_pulse_looks();
	usleep(100000); /* 400 periods */
	ck_assert_uint_le(tti_pulse_looks(), looks + 2);
	ck_assert_int_eq(tt_file_append(file, &row, 1), TT_OK);
	UNTIL(tti_pulse_looks() > looks + 2);
	tt_file_close(file);
}
END_TEST

START_TEST(file_alone_is_stamped)
{
	struct tt_file_create_opts create = TT_FILE_CREATE_OPTS_INIT;
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_file *file, *reader;
	struct tt_file_info info;
	uint64_t stamp = 0;

	create.capacity = 10000;
	OK(tt_file_create("f.npy", dtype, &create, &err));
	tt_dtype_unref(dtype);
	opts.access = TT_WRITE;
	opts.no_helper = true;
	opts.wake_us = TT_WAKE_NEVER;
	OK(tt_file_open(&file, "f.npy", &opts, &err));
	OK(tt_file_open(&reader, "f.npy", NULL, &err));
	for (int64_t i = 0; i < 1000; i++) {
		const struct row row = { i, 0 };

		ck_assert_int_eq(tt_file_append(file, &row, 1), TT_OK);
		if (i % 250 == 0)
			usleep(20000); /* the coarse clock goes on */
		if (i % 250 != 100)
			continue;
		OK(tt_file_info(reader, &info, &err));
		ck_assert_uint_gt(info.update_timestamp, stamp);
		stamp = info.update_timestamp;
	}
	ck_assert_uint_eq(tt_file_size(reader), 1000);
	ck_assert_int_eq(tt_file_sync(reader, &err), TT_E_MISUSE);
	OK(tt_file_sync(file, &err));
	tt_file_close(reader);
	tt_file_close(file);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		file_wakes_and_syncs_in_time,
		file_is_not_synced_before_its_time,
		pulse_of_an_idle_file_sleeps,
		file_alone_is_stamped,
	};

	return ring_suite("helper of files", tests, sizeof(tests) / sizeof(tests[0]));
}
