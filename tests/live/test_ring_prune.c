/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting files that left the queue: by hand, by size, by age, under a limit. */
#include "ring_help.h"
#include "base/clock.h"
#include "base/lock.h"
#include "live/ring_counters.h"

static uint64_t count_files(const char *suffix)
{
	char command[128];
	FILE *out;
	unsigned count = 0;

	snprintf(command, sizeof(command), "ls r/*%s 2>/dev/null | wc -l", suffix);
	out = popen(command, "r");
	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(fscanf(out, "%u", &count), 1);
	pclose(out);
	return count;
}

static void fill_ring(int64_t first, uint64_t count)
{
	struct tt_ring_writer *writer = open_writer("r");

	put_rows(writer, first, count);
	tt_ring_writer_close(writer);
}

static uint64_t disk_bytes(void)
{
	struct tti_ring ring;
	uint64_t bytes;

	OK(tti_ring_open(&ring, "r", false, &err));
	OK(tti_ring_disk_bytes(&ring, &bytes, &err));
	tti_ring_close(&ring);
	return bytes;
}

static void check_whole(void)
{
	uint64_t found = 1;

	OK(tt_ring_verify("r", NULL, NULL, &found, &err));
	ck_assert_uint_eq(found, 0);
}

struct told {
	uint64_t files, rows, bytes, last;
};

static void tell(void *ctx, const struct tt_ring_file *file, uint64_t bytes)
{
	struct told *told = ctx;

	ck_assert_uint_gt(file->name, told->last); /* oldest first */
	told->last = file->name;
	told->files++;
	told->rows += file->end - file->start;
	told->bytes += bytes;
}

START_TEST(everything_outside_the_queue_goes)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	struct tt_ring_pruned pruned;
	struct told told = { 0 };

	create_ring("r", 4, 3);
	fill_ring(0, 40); /* 10 files, 7 out of the queue */
	opts.deleted = tell;
	opts.ctx = &told;
	opts.dry_run = true;
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 7);
	ck_assert_uint_eq(pruned.rows, 28);
	ck_assert_uint_eq(count_files(".npy"), 10);
	ck_assert_uint_eq(told.files, 7);
	opts.dry_run = false;
	told = (struct told){ 0 };
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 7);
	ck_assert_uint_eq(told.rows, 28);
	ck_assert_uint_eq(told.bytes, pruned.bytes);
	ck_assert_uint_eq(pruned.left_bytes, disk_bytes());
	ck_assert_uint_eq(count_files(".npy"), 3);
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 0);
	check_whole();
}
END_TEST

START_TEST(size_deletes_just_enough)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	struct tt_ring_pruned pruned;
	uint64_t before, each;

	create_ring("r", 1000, 2);
	fill_ring(0, 8000);
	before = disk_bytes();
	each = before / 8;
	opts.keep_bytes = before;
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 0);
	opts.keep_bytes = before - each - 1; /* one is not enough */
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 2);
	ck_assert_uint_eq(pruned.bytes, 2 * each);
	opts.keep_bytes = 0; /* cannot be met: the queue stays */
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 4);
	ck_assert_uint_eq(pruned.left_bytes, 2 * each);
	check_whole();
}
END_TEST

/* ---- Age ---- */

static int64_t now_ns;

static int64_t set_clock(void)
{
	return now_ns;
}

START_TEST(age_is_that_of_the_next_file)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_ring_pruned pruned;
	const int64_t hour = INT64_C(3600) * 1000000000;
	int64_t start = tti_clock_realtime_ns() - 20 * hour;

	create_ring("r", 4, 2);
	/* the first file has the name that create gave it: now; take it out of the way */
	writer = open_writer("r");
	tti_ring_writer_set_clock(writer, set_clock);
	now_ns = tti_clock_realtime_ns();
	put_rows(writer, 0, 4);
	tt_ring_writer_close(writer);
	opts.before_ns = start;
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 0);
	opts.before_ns = INT64_MAX;
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 0); /* in the queue */
	writer = open_writer("r");
	tti_ring_writer_set_clock(writer, set_clock);
	for (int i = 1; i <= 6; i++) {
		now_ns += 1000000;
		put_rows(writer, 4 * i, 4);
	}
	tt_ring_writer_close(writer);
	opts.before_ns = now_ns - 2500000; /* three more files begun later */
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 3);
	ck_assert_uint_eq(count_files(".npy"), 4);
}
END_TEST

/* ---- What stays ---- */

static bool refuse_second(void *ctx, const struct tt_ring_file *file)
{
	ck_assert(file->sealed && !file->queued);
	return ++*(int *)ctx != 2;
}

START_TEST(what_is_refused_stays)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	struct tt_ring_pruned pruned;
	int asked = 0;

	create_ring("r", 4, 2);
	fill_ring(0, 24);
	opts.allow = refuse_second;
	opts.ctx = &asked;
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 3);
	ck_assert_uint_eq(pruned.refused, 1);
	ck_assert_uint_eq(count_files(".npy"), 3);
	check_whole();
}
END_TEST

static void put_mark(uint64_t file, uint64_t end)
{
	struct tti_mark mark = { .sequence = 1000, .file = file, .end = end };
	int fd = open("r/.ticktail", O_RDWR);

	tti_mark_seal(&mark);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, &mark, sizeof(mark), TTI_MARKS_OFF), sizeof(mark));
	close(fd);
}

START_TEST(rows_that_a_sync_must_reach_stay)
{
	struct tt_ring_opts set = TT_RING_OPTS_INIT;
	struct tt_ring_pruned pruned;
	struct tt_ring_info info;

	create_ring("r", 4, 2);
	fill_ring(0, 32);		  /* 8 files */
	OK(tt_ring_set("r", &set, &err)); /* sync after 1 s */
	info = ring_info("r");
	put_mark(info.files[1].name, 2);
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 1);
	ck_assert_uint_eq(pruned.unsynced, 5);
	put_mark(info.files[1].name, 4);
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 1);
	ck_assert_uint_eq(pruned.unsynced, 4);
	put_mark(info.files[7].name, 0);
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 4);
	ck_assert_uint_eq(pruned.unsynced, 0);
	tt_ring_info_free(&info);
}
END_TEST

/* The ring's policy is none; what counts is whether the last writer synced. */
START_TEST(without_syncs_nothing_is_waited_for)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_ring_pruned pruned;
	struct tt_ring_info info;

	create_ring("r", 4, 2);
	ck_assert_int_eq((info = ring_info("r")).opts.sync_ms, TT_SYNC_NONE);
	tt_ring_info_free(&info);
	fill_ring(0, 32);
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 6);

	opts.sync_ms = 1000000;
	OK(tt_ring_writer_open(&writer, "r", &opts, &err));
	put_rows(writer, 32, 16);
	tt_ring_writer_close(writer);
	info = ring_info("r");
	put_mark(info.files[0].name, 4); /* as if it had been killed */
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 1);
	ck_assert_uint_gt(pruned.unsynced, 0);
	tt_ring_info_free(&info);

	tt_ring_writer_close(open_writer("r")); /* by the ring's policy */
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_gt(pruned.files, 0);
	ck_assert_uint_eq(pruned.unsynced, 0);
	check_whole();
}
END_TEST

/* ---- Beside others ---- */

START_TEST(readers_keep_their_rows_and_count_the_rest)
{
	struct tt_ring_reader *inside, *late;
	struct tt_pos pos;
	struct tt_view view;
	int64_t next;
	uint64_t lost;

	create_ring("r", 1000, 2);
	fill_ring(0, 10000);
	inside = open_reader("r");
	ck_assert_int_eq(tt_ring_read(inside, 10, 0, &view, &pos, &err), 1);
	OK(tt_ring_prune("r", NULL, NULL, &err));
	/* the view is still there, and so is the rest of its file */
	ck_assert_int_eq(((const struct row *)view.rows)[9].number, 9);
	ck_assert_int_eq(tt_ring_read(inside, 5000, 0, &view, NULL, &err), 1);
	ck_assert_uint_eq(view.count, 990);
	ck_assert_int_eq(((const struct row *)view.rows)[989].number, 999);
	next = 8000;
	take_rows(inside, &next);
	ck_assert_int_eq(next, 10000);
	ck_assert_uint_eq(tt_ring_reader_lost(inside), 7000);
	tt_ring_reader_close(inside);
	late = open_reader("r");
	OK(tt_ring_seek(late, (struct tt_pos){ pos.file, 10 }, &err));
	next = 8000;
	take_rows(late, &next);
	lost = tt_ring_reader_lost(late);
	ck_assert_uint_eq(lost, 7990);
	tt_ring_reader_close(late);
}
END_TEST

START_TEST(merged_files_go_with_all_their_parts)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	struct tt_ring_pruned pruned;
	struct tt_ring_reader *late;
	struct tt_pos pos[2];
	struct tt_view view;
	int64_t next = 16;

	create_ring("r", 4, 2);
	fill_ring(0, 24);
	late = open_reader("r");
	ck_assert_int_eq(tt_ring_read(late, 1, 0, &view, &pos[0], &err), 1);
	OK(tt_ring_merge("r", 0, NULL, NULL, NULL, &err));
	ck_assert_uint_eq(count_files(".npy_"), 1);
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 1);
	ck_assert_uint_eq(pruned.rows, 16);
	OK(tt_ring_seek(late, (struct tt_pos){ pos[0].file, 1 }, &err));
	take_rows(late, &next);
	ck_assert_int_eq(next, 24);
	ck_assert_uint_eq(tt_ring_reader_lost(late), 15);
	tt_ring_reader_close(late);
	check_whole();
}
END_TEST

START_TEST(maintainers_do_not_meet_but_the_feed_goes_on)
{
	struct tt_ring_writer *writer;
	struct tti_ring_lock lock;
	struct tt_ring_pruned pruned;
	struct tti_ring ring;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 24);
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 4);
	put_rows(writer, 24, 24);
	OK(tti_ring_open(&ring, "r", true, &err));
	OK(tti_ring_lock(&lock, &ring, TTI_LOCK_MAINTAINER, &err));
	ck_assert_int_eq(tt_ring_prune("r", NULL, &pruned, &err), TT_E_BUSY);
	tti_ring_unlock(&lock);
	tti_ring_close(&ring);
	tt_ring_writer_close(writer);
	check_whole();
}
END_TEST

START_TEST(nothing_is_made)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	struct stat before, after;

	create_ring("r", 4, 2);
	fill_ring(0, 24);
	ck_assert_int_eq(unlink("r/.ticktail"), 0); /* as of npyt */
	ck_assert_int_eq(unlink("r/.writer"), 0);
	ck_assert_int_eq(stat("r/.lock", &before), 0);
	opts.dry_run = true;
	OK(tt_ring_prune("r", &opts, NULL, &err));
	ck_assert_int_ne(access("r/.writer", F_OK), 0);
	OK(tt_ring_prune("r", NULL, NULL, &err));
	ck_assert_int_ne(access("r/.ticktail", F_OK), 0);
	ck_assert_int_eq(stat("r/.lock", &after), 0);
	ck_assert_int_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	ck_assert_uint_eq(count_files(".npy"), 2);
}
END_TEST

START_TEST(without_a_manifest_nothing_is_deleted)
{
	create_ring("r", 4, 2);
	fill_ring(0, 24);
	ck_assert_int_eq(truncate("r/.lock", 7), 0);
	ck_assert_int_eq(tt_ring_prune("r", NULL, NULL, &err), TT_E_DAMAGED);
	ck_assert_ptr_nonnull(strstr(err.text, "r/.lock: missing or damaged"));
	ck_assert_uint_eq(count_files(".npy"), 6);
}
END_TEST

/* ---- A limit ---- */

static struct tti_counters_seen counters(void)
{
	struct tti_counters_seen seen;
	struct tti_ring ring;

	OK(tti_ring_open(&ring, "r", false, &err));
	tti_counters_read(&ring, &seen);
	tti_ring_close(&ring);
	return seen;
}

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
			ck_assert_uint_le(disk_bytes(),
					  limit); /* with the prepared file */
		if (i == 100)
			merge_when_free();
	}
	ck_assert_uint_ge(count_files(".npy"), 6);
	tt_ring_writer_close(writer);
	ck_assert_uint_eq(counters().errors, 0);
	check_whole();
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
	ck_assert_uint_gt(disk_bytes(), limit);
	close(fd);
	deadline = tti_deadline_ns(INT64_C(20000000000));
	while (disk_bytes() > limit && tti_clock_monotonic_ns() < deadline) {
		OK(tt_ring_writer_idle(writer, &err));
		usleep(1000);
	}
	ck_assert_uint_le(disk_bytes(), limit);
	tt_ring_writer_close(writer);
	check_whole();
}
END_TEST

START_TEST(a_lower_limit_holds_from_the_next_open)
{
	struct tt_ring_opts set = TT_RING_OPTS_INIT;

	create_limited(0);
	fill_ring(0, 20000);
	ck_assert_uint_eq(count_files(".npy"), 20);
	set.max_bytes = 5 * FILE_BYTES;
	set.sync_ms = TT_SYNC_NONE;
	OK(tt_ring_set("r", &set, &err));
	tt_ring_writer_close(open_writer("r"));
	ck_assert_uint_eq(count_files(".npy"), 4); /* and the one to come */
	check_whole();
}
END_TEST

START_TEST(what_was_put_aside_counts_and_is_told)
{
	static const char bytes[3 * FILE_BYTES] = { 1 };
	struct tti_counters_seen seen;
	struct tt_ring_writer *writer;
	int fd;

	create_limited(4 * FILE_BYTES);
	fill_ring(0, 9000);
	ck_assert_uint_eq(count_files(".npy"), 3);
	fd = open("r/.1.npy.bad-1", O_WRONLY | O_CREAT, 0644);
	ck_assert_int_eq(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	close(fd);
	writer = open_writer("r");
	put_rows(writer, 9000, 5000); /* goes on all the same */
	tt_ring_writer_close(writer);
	ck_assert_uint_eq(count_files(".npy"), 2); /* the queue */
	seen = counters();
	ck_assert_uint_eq(seen.errors, 1); /* once, not at each roll */
	ck_assert_str_eq(seen.error_tag, "OVER_LIMIT");
	ck_assert_int_eq(access("r/.1.npy.bad-1", F_OK), 0);
}
END_TEST

int main(void)
{
	SRunner *runner;
	Suite *suite = suite_create("prune");
	TCase *tc = tcase_create("prune");
	int failed;

	tcase_add_checked_fixture(tc, make_work_dir, drop_work_dir);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, everything_outside_the_queue_goes);
	tcase_add_test(tc, size_deletes_just_enough);
	tcase_add_test(tc, age_is_that_of_the_next_file);
	tcase_add_test(tc, what_is_refused_stays);
	tcase_add_test(tc, rows_that_a_sync_must_reach_stay);
	tcase_add_test(tc, without_syncs_nothing_is_waited_for);
	tcase_add_test(tc, readers_keep_their_rows_and_count_the_rest);
	tcase_add_test(tc, merged_files_go_with_all_their_parts);
	tcase_add_test(tc, maintainers_do_not_meet_but_the_feed_goes_on);
	tcase_add_test(tc, nothing_is_made);
	tcase_add_test(tc, without_a_manifest_nothing_is_deleted);
	tcase_add_test(tc, the_disk_never_holds_more_than_the_limit);
	tcase_add_loop_test(tc, a_limit_that_met_a_merge_is_looked_at_again, 0, 2);
	tcase_add_test(tc, a_lower_limit_holds_from_the_next_open);
	tcase_add_test(tc, what_was_put_aside_counts_and_is_told);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
