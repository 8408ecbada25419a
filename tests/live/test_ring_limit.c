/* SPDX-License-Identifier: Apache-2.0 */
/* A limit on a ring's bytes, kept by its writer. */
#include "upkeep_help.h"
#include "base/clock.h"
#include "base/lock.h"

static void create_limited(uint64_t max_bytes)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();

	opts.capacity = 1000; /* with header and tail just within 4 pages */
	opts.keep = 2;
	opts.max_bytes = max_bytes;
	opts.sync_ms = TT_SYNC_NONE;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
}

#define FILE_BYTES 16384

/* The writer's helper may be looking after the limit. */
static void merge_when_free(void)
{
	int64_t deadline = tti_deadline_ns(INT64_C(10000000000));
	int rc;

	do
		rc = tt_ring_merge("r", 0, NULL, NULL, NULL, &err);
	while (rc == TT_E_BUSY && tti_clock_monotonic_ns() < deadline);
	OK(rc);
}

START_TEST(the_disk_never_holds_more_than_the_limit)
{
	const uint64_t limit = 7 * FILE_BYTES + 100;
	struct tt_ring_writer *writer;

	create_limited(limit);
	writer = open_writer("r");
	for (int i = 0; i < 300; i++) {
		put_rows(writer, 500 * i, 500);
		/* a merge has rows twice for a while, and the limit waits for it; rolls after
		 * it look again */
		if (i <= 100 || i > 110)
			ck_assert_uint_le(disk_bytes("r"),
					  limit); /* with the prepared file */
		if (i == 100)
			merge_when_free();
	}
	ck_assert_uint_ge(count_files("r/*.npy"), 6);
	tt_ring_writer_close(writer);
	ck_assert_uint_eq(counters("r").errors, 0);
	check_whole("r");
}
END_TEST

/* A merge holds the maintainers' lock while files roll; afterwards no row comes. */
START_TEST(a_limit_that_met_a_merge_is_looked_at_again)
{
	const uint64_t limit = 7 * FILE_BYTES + 100;
	struct tt_ring_writer *writer;
	int64_t deadline;
	int fd;

	create_limited(limit);
	writer = _i ? open_writer("r") : open_alone("r");
	fd = open("r/.writer", O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	OK(tti_lock_try(fd, TTI_LOCK_MAINTAINER));
	for (int i = 0; i < 40; i++)
		put_rows(writer, 500 * i, 500);
	ck_assert_uint_gt(disk_bytes("r"), limit);
	close(fd);
	deadline = tti_deadline_ns(INT64_C(20000000000));
	while (disk_bytes("r") > limit && tti_clock_monotonic_ns() < deadline) {
		OK(tt_ring_writer_idle(writer, &err));
		usleep(1000);
	}
	ck_assert_uint_le(disk_bytes("r"), limit);
	tt_ring_writer_close(writer);
	check_whole("r");
}
END_TEST

START_TEST(a_lower_limit_holds_from_the_next_open)
{
	struct tt_ring_opts set = TT_RING_OPTS_INIT;

	create_limited(0);
	fill_ring("r", 0, 20000);
	ck_assert_uint_eq(count_files("r/*.npy"), 20);
	set.max_bytes = 5 * FILE_BYTES;
	set.sync_ms = TT_SYNC_NONE;
	OK(tt_ring_set("r", &set, &err));
	tt_ring_writer_close(open_writer("r"));
	ck_assert_uint_eq(count_files("r/*.npy"), 4); /* and the one to come */
	check_whole("r");
}
END_TEST

START_TEST(what_was_put_aside_counts_and_is_told)
{
	static const char bytes[3 * FILE_BYTES] = { 1 };
	struct tti_counters_seen seen;
	struct tt_ring_writer *writer;
	int fd;

	create_limited(4 * FILE_BYTES);
	fill_ring("r", 0, 9000);
	ck_assert_uint_eq(count_files("r/*.npy"), 3);
	fd = open("r/.1.npy.bad-1", O_WRONLY | O_CREAT, 0644);
	ck_assert_int_eq(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	close(fd);
	writer = open_writer("r");
	put_rows(writer, 9000, 5000); /* goes on all the same */
	tt_ring_writer_close(writer);
	ck_assert_uint_eq(count_files("r/*.npy"), 2); /* the queue */
	seen = counters("r");
	ck_assert_uint_eq(seen.errors, 1); /* once, not at each roll */
	ck_assert_str_eq(seen.error_tag, "OVER_LIMIT");
	ck_assert_int_eq(access("r/.1.npy.bad-1", F_OK), 0);
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_test(tcase, the_disk_never_holds_more_than_the_limit);
	tcase_add_loop_test(tcase, a_limit_that_met_a_merge_is_looked_at_again, 0, 2);
	tcase_add_test(tcase, a_lower_limit_holds_from_the_next_open);
	tcase_add_test(tcase, what_was_put_aside_counts_and_is_told);
}

int main(void)
{
	return ring_suite_with("limit", add);
}
