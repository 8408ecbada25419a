/* SPDX-License-Identifier: Apache-2.0 */
/* Committing: each row once, whatever becomes of the sources. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

#include "commit_help.h"

static void feed_ring(const char *dir, uint64_t first, uint64_t count, uint64_t capacity,
		      uint64_t keep)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_type();
	struct tt_ring_writer *writer;

	opts.capacity = capacity;
	opts.keep = keep;
	opts.exact = true;
	opts.sync_ms = TT_SYNC_NONE;
	if (access(dir, F_OK) < 0)
		OK(tt_ring_create(dir, dtype, &opts, &err));
	OK(tt_ring_writer_open(&writer, dir, NULL, &err));
	for (uint64_t i = first; i < first + count; i++) {
		struct row row = row_at(i);

		OK(tt_ring_append(writer, &row, 1, NULL, &err));
	}
	tt_ring_writer_close(writer);
	tt_dtype_unref(dtype);
}

static size_t version_count(void)
{
	struct tt_archive *archive;
	size_t n;

	OK(tt_archive_open(&archive, ARCHIVE, NULL, &err));
	n = tt_archive_version_count(archive);
	tt_archive_close(archive);
	return n;
}

START_TEST(two_nights_of_a_ring_and_nothing_twice)
{
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;

	job.dataset = "night/{name}";
	feed_ring("ring", 0, 2500, 1000, 2);
	OK(commit_job(&job, "ring"));
	ck_assert_uint_eq(result.rows, 2000);
	holds_rows("night/ring", NULL, 0, 2000);
	feed_ring("ring", 2500, 1600, 1000, 2);
	job.seal = true;
	OK(commit_job(&job, "ring"));
	ck_assert_uint_eq(result.rows, 2100);
	holds_rows("night/ring", NULL, 0, 4100);
	OK(commit_job(&job, "ring/"));
	ck_assert_uint_eq(result.rows, 0);
	ck_assert_str_eq(result.version, "");
	ck_assert_uint_eq(version_count(), 2);
	ck_assert_uint_eq(damage_count(), 0);
}
END_TEST

START_TEST(a_growing_file_shares_its_full_chunks)
{
	make_file("f.npy", 2000);
	grow_file("f.npy", 0, 1000);
	OK(commit_as("f.npy", NULL, 100));
	ck_assert_uint_eq(result.chunks_new, 10);
	grow_file("f.npy", 1000, 50);
	OK(commit_as("f.npy", NULL, 0));
	ck_assert_uint_eq(result.rows, 50);
	ck_assert_uint_eq(result.chunks, 11);
	ck_assert_uint_eq(result.chunks_reused, 10);
	grow_file("f.npy", 1050, 70);
	OK(commit_as("f.npy", NULL, 100));
	ck_assert_uint_eq(result.chunks, 12);
	ck_assert_uint_eq(result.chunks_new, 2); /* the trimmed one is made anew */
	holds_rows("f", NULL, 0, 1120);
	ck_assert_uint_eq(damage_count(), 0);
	ck_assert_int_eq(commit_as("f.npy", NULL, 200),
			 TT_OK); /* nothing new, nothing checked */
	grow_file("f.npy", 1120, 1);
	ck_assert_int_eq(commit_as("f.npy", NULL, 200), TT_E_MISMATCH);
	ck_assert_ptr_nonnull(strstr(err.text, "200"));
}
END_TEST

START_TEST(a_cleared_and_refilled_file_is_not_the_file_archived_before)
{
	make_file("f.npy", 500);
	grow_file("f.npy", 0, 300);
	OK(commit_as("f.npy", NULL, 0));
	OK(tt_file_clear("f.npy", &err));
	OK(commit_as("f.npy", NULL, 0));
	ck_assert_uint_eq(result.rows, 0);
	grow_file("f.npy", 7, 100);
	ck_assert_int_eq(commit_as("f.npy", NULL, 0), TT_E_MISMATCH);
	ck_assert_ptr_nonnull(strstr(err.text, "is not the file archived before"));
	ck_assert_ptr_nonnull(strstr(err.text, "--dataset"));
	grow_file("f.npy", 107, 300);
	ck_assert_int_eq(commit_as("f.npy", NULL, 0), TT_E_MISMATCH);
	OK(commit_as("f.npy", "again", 0));
	ck_assert_uint_eq(result.rows, 400);
	holds_rows("again", NULL, 7, 400);
	holds_rows("f", NULL, 0, 300);
	OK(commit_as("f.npy", "again", 0));
	ck_assert_uint_eq(result.rows, 0);
}
END_TEST

START_TEST(a_replaced_file_is_told_apart_and_a_grown_copy_is_not)
{
	make_file("f.npy", 300);
	grow_file("f.npy", 0, 300);
	OK(commit_as("f.npy", NULL, 0));
	OK(tt_file_resize("f.npy", 900, &err)); /* another inode, the same rows */
	grow_file("f.npy", 300, 10);
	OK(commit_as("f.npy", NULL, 0));
	ck_assert_uint_eq(result.rows, 10);
	ck_assert_int_eq(unlink("f.npy"), 0);
	make_file("f.npy", 600);
	grow_file("f.npy", 5, 600);
	ck_assert_int_eq(commit_as("f.npy", NULL, 0), TT_E_MISMATCH);
	holds_rows("f", NULL, 0, 310);
}
END_TEST

START_TEST(two_rings_of_one_name_are_told_apart)
{
	const char *both[] = { "x/ring", "y/ring" };
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;

	ck_assert(mkdir("x", 0777) == 0 && mkdir("y", 0777) == 0);
	feed_ring("x/ring", 0, 101, 50, 2);
	feed_ring("y/ring", 100, 101, 50, 2);
	job.sources = both;
	job.source_count = 2;
	job.dataset = "{name}";
	ck_assert_int_eq(tt_archive_commit(ARCHIVE, &job, &result, &err), TT_E_MISMATCH);
	ck_assert_ptr_nonnull(strstr(err.text, "x/ring"));
	ck_assert_int_lt(access(ARCHIVE, F_OK), 0);
	OK(commit_as("x/ring", "ring", 0));
	OK(commit_as("y/ring", "ring", 0));
	ck_assert_uint_eq(result.rows, 100);
	holds_rows("ring", NULL, 0, 200);
	OK(commit_as("x/ring", "ring", 0));
	ck_assert_uint_eq(result.rows, 0);
	OK(commit_as("y/ring", "ring", 0));
	ck_assert_uint_eq(result.rows, 0);
	job.dataset = NULL; /* by day: both go to ring/DAY */
	ck_assert_int_eq(tt_archive_commit(ARCHIVE, &job, &result, &err), TT_E_MISMATCH);
}
END_TEST

static bool allow_all(void *ctx, const struct tt_ring_file *file)
{
	(void)ctx;
	(void)file;
	return true;
}

START_TEST(merged_files_are_not_archived_again)
{
	uint64_t merged;

	feed_ring("ring", 0, 450, 50, 2);
	OK(commit_as("ring", "r", 64));
	ck_assert_uint_eq(result.rows, 400);
	feed_ring("ring", 450, 200, 50, 2);
	OK(tt_ring_merge("ring", 4, allow_all, NULL, &merged, &err));
	ck_assert_uint_gt(merged, 0);
	OK(commit_as("ring", "r", 64));
	ck_assert_uint_eq(result.rows, 200);
	holds_rows("r", NULL, 0, 600);
	OK(commit_as("ring", "r", 64));
	ck_assert_uint_eq(result.rows, 0);
}
END_TEST

START_TEST(archived_files_are_deleted_outside_the_queue_only)
{
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;
	struct tt_ring_info info;
	struct tt_archive *archive;
	bool holds;

	feed_ring("ring", 0, 330, 50, 3);
	job.dataset = "r";
	OK(commit_job(&job, "ring"));
	OK(tt_ring_info("ring", &info, &err));
	ck_assert_uint_eq(info.file_count, 7);
	OK(tt_archive_open(&archive, ARCHIVE, NULL, &err));
	for (size_t i = 0; i < info.file_count; i++) {
		OK(tt_archive_holds(archive, "ring", &info.files[i], &holds, &err));
		ck_assert_int_eq(holds, info.files[i].sealed);
	}
	tt_archive_close(archive);
	tt_ring_info_free(&info);
	job.delete_archived = true;
	OK(commit_job(&job, "ring"));
	OK(tt_ring_info("ring", &info, &err));
	ck_assert_uint_eq(info.file_count, 3);
	tt_ring_info_free(&info);
	holds_rows("r", NULL, 0, 300);
	feed_ring("ring", 330, 100, 50, 3);
	OK(commit_job(&job, "ring"));
	ck_assert_uint_eq(result.rows, 100);
	holds_rows("r", NULL, 0, 400);
}
END_TEST

/* The maintainer's lock of a ring, asked for by the process itself: what happens just before. */
static void (*before_lock)(void);

int fcntl(int fd, int op, ...)
{
	static int (*real)(int, int, ...);
	struct flock *lock;
	void (*now)(void) = before_lock;
	va_list args;

	if (!real)
		real = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl");
	va_start(args, op);
	lock = va_arg(args, struct flock *);
	va_end(args);
	if (op == F_OFD_SETLK && now && lock->l_start == ((int64_t)1 << 62) + 2) {
		before_lock = NULL;
		now();
	}
	return real(fd, op, lock);
}

static void merge_unarchived(void)
{
	uint64_t merged;

	feed_ring("ring", 200, 250, 50, 2);
	OK(tt_ring_merge("ring", 4, allow_all, NULL, &merged, &err));
	ck_assert_uint_gt(merged, 0);
}

/* The merged file gets the name of the archived one, and rows that nobody archived. */
START_TEST(a_file_that_is_merged_after_it_was_compared_stays)
{
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;

	feed_ring("ring", 0, 200, 50, 2);
	job.dataset = "r";
	job.delete_archived = true;
	before_lock = merge_unarchived;
	OK(commit_job(&job, "ring"));
	ck_assert_uint_eq(result.rows, 150);
	ck_assert_ptr_null(before_lock);
	job.seal = true;
	OK(commit_job(&job, "ring"));
	ck_assert_uint_eq(result.rows, 300);
	holds_rows("r", NULL, 0, 450);
}
END_TEST

static int busy_fd;

static void be_busy(void)
{
	struct flock lock = { .l_type = F_WRLCK,
			      .l_whence = SEEK_SET,
			      .l_start = ((int64_t)1 << 62) + 2,
			      .l_len = 1 };

	busy_fd = open("ring/.writer", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(fcntl(busy_fd, F_OFD_SETLK, &lock), 0);
}

START_TEST(what_is_committed_is_no_failure_when_others_remove_files)
{
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;
	struct tt_ring_info info;

	feed_ring("ring", 0, 330, 50, 3);
	job.dataset = "r";
	job.delete_archived = true;
	before_lock = be_busy;
	OK(commit_job(&job, "ring"));
	ck_assert_uint_eq(result.rows, 300);
	ck_assert_ptr_null(before_lock);
	close(busy_fd);
	OK(tt_ring_info("ring", &info, &err));
	ck_assert_uint_eq(info.file_count, 7);
	tt_ring_info_free(&info);
	OK(commit_job(&job, "ring"));
	OK(tt_ring_info("ring", &info, &err));
	ck_assert_uint_eq(info.file_count, 3);
	tt_ring_info_free(&info);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, two_nights_of_a_ring_and_nothing_twice);
	tcase_add_test(tc, a_growing_file_shares_its_full_chunks);
	tcase_add_test(tc, a_cleared_and_refilled_file_is_not_the_file_archived_before);
	tcase_add_test(tc, a_replaced_file_is_told_apart_and_a_grown_copy_is_not);
	tcase_add_test(tc, two_rings_of_one_name_are_told_apart);
	tcase_add_test(tc, merged_files_are_not_archived_again);
	tcase_add_test(tc, archived_files_are_deleted_outside_the_queue_only);
	tcase_add_test(tc, a_file_that_is_merged_after_it_was_compared_stays);
	tcase_add_test(tc, what_is_committed_is_no_failure_when_others_remove_files);
}

int main(void)
{
	return work_dir_suite("commit", add);
}
