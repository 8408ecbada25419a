/* SPDX-License-Identifier: Apache-2.0 */
/* The shared words between threads of one process, over one mapping, so that a thread
 * sanitizer can follow them: what it accepts here is what processes rely on. */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "lib/suite.h"
#include "lib/tmpdir.h"
#include "live/file_helpers.h"
#include "live/live_file.h"

#define ROWS 20000
#define CHANGES 5000

static struct tti_live open_live(const char *path)
{
	const struct tti_live_open args = {
		.dirfd = AT_FDCWD, .name = path, .path = path, .writable = true
	};
	struct tti_live live;

	ck_assert_int_eq(tti_live_open(&live, &args, NULL), 0);
	return live;
}

/* Readers copy the struct, so that they share the mapping but no plain field. */
static void *read_appended(void *arg)
{
	const struct tti_live live = *(const struct tti_live *)arg;
	const int64_t *rows = (const int64_t *)(const void *)live.rows;
	uint64_t seen = 0;

	while (seen < ROWS) {
		uint64_t end = tti_live_end(&live);

		for (; seen < end; seen++)
			if (rows[seen] != (int64_t)seen)
				return arg;
		sched_yield();
	}
	return NULL;
}

START_TEST(published_rows_are_seen_whole)
{
	struct tti_live live, shared;
	pthread_t threads[2];
	void *wrong;

	make_file("a.npy", "i8", ROWS);
	live = shared = open_live("a.npy");
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, read_appended, &shared), 0);
	for (int64_t i = 0; i < ROWS; i++) {
		ck_assert_int_eq(tti_live_append(&live, &i, 1), 0);
		if (i % 16 == 0)
			tti_live_stamp(&live);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], &wrong);
		ck_assert_ptr_null(wrong);
	}
	tti_live_close(&live);
}
END_TEST

static void *read_changed(void *arg)
{
	const struct tti_live live = *(const struct tti_live *)arg;
	uint64_t row[8] = { 0 };

	while (row[0] < CHANGES) {
		int rc = tti_live_copy_untorn(&live, 0, 1, row, NULL);

		if (rc == TT_E_TORN)
			continue;
		if (rc < 0)
			return arg;
		for (int i = 1; i < 8; i++)
			if (row[i] != row[0])
				return arg;
	}
	return NULL;
}

START_TEST(changed_rows_are_seen_untorn)
{
	struct tti_live live, shared;
	uint64_t row[8] = { 0 };
	pthread_t threads[2];
	void *wrong;

	make_file("a.npy", "v:u8[8]", 1);
	live = open_live("a.npy");
	ck_assert_int_eq(tti_live_append(&live, row, 1), 0);
	shared = live;
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_changed, &shared),
				 0);
	for (uint64_t n = 1; n <= CHANGES; n++) {
		for (int i = 0; i < 8; i++)
			row[i] = n;
		ck_assert_int_eq(tti_live_update(&live, 0, row, 1, false), 0);
		if (n % 64 == 0)
			sched_yield();
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], &wrong);
		ck_assert_ptr_null(wrong);
	}
	tti_live_close(&live);
}
END_TEST

static void *watch_magic(void *arg)
{
	const struct tti_live live = *(const struct tti_live *)arg;
	const int64_t *rows = (const int64_t *)(const void *)live.rows;

	while (!tti_live_is_superseded(&live))
		sched_yield();
	if (tti_live_end(&live) != 3 || rows[2] != 2)
		return arg;
	return NULL;
}

START_TEST(superseded_comes_after_the_last_end)
{
	struct tti_live live, shared;
	pthread_t thread;
	void *wrong;

	make_file("a.npy", "i8", 8);
	live = shared = open_live("a.npy");
	ck_assert_int_eq(pthread_create(&thread, NULL, watch_magic, &shared), 0);
	for (int64_t i = 0; i < 3; i++)
		ck_assert_int_eq(tti_live_append(&live, &i, 1), 0);
	ck_assert_int_eq(tti_live_put_word(&live, 4, TTI_TAIL_SUPERSEDED), 0);
	pthread_join(thread, &wrong);
	ck_assert_ptr_null(wrong);
	tti_live_close(&live);
}
END_TEST

static void add_tests(TCase *tcase)
{
	tcase_add_test(tcase, published_rows_are_seen_whole);
	tcase_add_test(tcase, changed_rows_are_seen_untorn);
	tcase_add_test(tcase, superseded_comes_after_the_last_end);
}

int main(void)
{
	return run_suite(&(struct suite){ .name = "file_threads",
					  .enter = tmpdir_enter,
					  .leave = tmpdir_leave,
					  .timeout_s = 600,
					  .add = add_tests });
}
