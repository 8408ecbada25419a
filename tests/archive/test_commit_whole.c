/* SPDX-License-Identifier: Apache-2.0 */
/* Committing: all or nothing. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>

#include "commit_help.h"

static void *slurp(const char *path, size_t *n)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	char *bytes;

	ck_assert(fd >= 0 && fstat(fd, &st) == 0);
	bytes = malloc((size_t)st.st_size + 1);
	ck_assert_int_eq(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*n = (size_t)st.st_size;
	return bytes;
}

START_TEST(one_bad_source_leaves_no_archive)
{
	const char *sources[] = { "good.npy", "bad.npy" };
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;
	int fd = open("bad.npy", O_WRONLY | O_CREAT, 0666);

	make_file("good.npy", 10);
	grow_file("good.npy", 0, 10);
	ck_assert_int_eq(write(fd, "not an array", 12), 12);
	close(fd);
	job.sources = sources;
	job.source_count = 2;
	ck_assert_int_eq(tt_archive_commit(ARCHIVE, &job, &result, &err), TT_E_FORMAT);
	ck_assert_ptr_nonnull(strstr(err.text, "bad.npy"));
	sources[1] = "missing.npy";
	ck_assert_int_eq(tt_archive_commit(ARCHIVE, &job, &result, &err), -ENOENT);
	ck_assert_int_lt(access(ARCHIVE, F_OK), 0);
	ck_assert_int_eq(system("test -z \"$(ls -A | grep -v npy)\""), 0);
}
END_TEST

static void unchanged_by(int want, int got, const void *before, size_t n)
{
	size_t now;
	void *after = slurp(ARCHIVE, &now);

	ck_assert_msg(got == want, "%d: %s", got, err.text);
	ck_assert(now == n && memcmp(before, after, n) == 0);
	free(after);
}

START_TEST(refused_runs_leave_every_byte)
{
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;
	struct tt_dtype *other;
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	double values[4] = { 1, 2, 3, 4 };
	size_t n;
	void *before;

	make_file("f.npy", 100);
	grow_file("f.npy", 0, 50);
	job.version = "v1";
	OK(commit_job(&job, "f.npy"));
	before = slurp(ARCHIVE, &n);
	grow_file("f.npy", 50, 5);
	unchanged_by(TT_E_MISMATCH, commit_job(&job, "f.npy"), before, n);
	job.version = "a/b";
	unchanged_by(TT_E_RANGE, commit_job(&job, "f.npy"), before, n);
	job.version = NULL;
	job.parent = "nobody";
	unchanged_by(TT_E_RANGE, commit_job(&job, "f.npy"), before, n);
	job.parent = NULL;
	unchanged_by(TT_E_RANGE, commit_as("f.npy", "versions/x", 0), before, n);
	unchanged_by(TT_E_MISMATCH, commit_as("f.npy", "f/x", 0), before, n);
	unchanged_by(TT_E_FORMAT, commit_as(ARCHIVE, "x", 0), before, n);
	OK(tt_dtype_parse(&other, "f8", 2, false, &err));
	opts.capacity = opts.row_count = 4;
	opts.rows = values;
	OK(tt_file_create("g.npy", other, &opts, &err));
	unchanged_by(TT_E_MISMATCH, commit_as("g.npy", "f", 0), before, n);
	ck_assert_ptr_nonnull(strstr(err.text, "<f8"));
	tt_dtype_unref(other);
	free(before);
}
END_TEST

static bool append_while(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx;
	if (done == total)
		grow_file("f.npy", 100, 1);
	return true;
}

static bool cancel(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx;
	(void)done;
	(void)total;
	return false;
}

START_TEST(a_source_that_changes_aborts_the_version)
{
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;

	make_file("f.npy", 200);
	grow_file("f.npy", 0, 100);
	job.progress = append_while;
	ck_assert_int_eq(commit_job(&job, "f.npy"), TT_E_CHANGED);
	ck_assert_ptr_nonnull(strstr(err.text, "f.npy"));
	ck_assert_int_lt(access(ARCHIVE, F_OK), 0);
	job.progress = cancel;
	ck_assert_int_eq(commit_job(&job, "f.npy"), -ECANCELED);
	ck_assert_int_lt(access(ARCHIVE, F_OK), 0);
	job.progress = NULL;
	OK(commit_job(&job, "f.npy"));
	holds_rows("f", NULL, 0, 101);
}
END_TEST

START_TEST(an_archive_that_is_none_is_refused)
{
	int fd = open(ARCHIVE, O_WRONLY | O_CREAT, 0666);

	make_file("f.npy", 10);
	grow_file("f.npy", 0, 10);
	ck_assert_int_eq(write(fd, "rows, rows, rows", 16), 16);
	close(fd);
	ck_assert_int_eq(commit_as("f.npy", NULL, 0), TT_E_FORMAT);
	ck_assert_ptr_nonnull(strstr(err.text, ARCHIVE));
}
END_TEST

START_TEST(a_full_disk_leaves_the_archive)
{
	ck_assert_int_eq(mkdir("small", 0777), 0);
	if (mount("tmpfs", "small", "tmpfs", 0, "size=3m") < 0) {
		printf("# no permission to mount a small file system: not tested\n");
		return;
	}
	make_file("f.npy", 400000);
	grow_file("f.npy", 0, 1000);
	OK(commit_as("f.npy", NULL, 0));
	ck_assert_int_eq(
		system("mv " ARCHIVE " small/ && ln -s small/" ARCHIVE " " ARCHIVE), 0);
	grow_file("f.npy", 1000, 399000);
	ck_assert_int_eq(commit_as("f.npy", NULL, 0), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(err.text, ARCHIVE));
	holds_rows("f", NULL, 0, 1000);
	ck_assert_uint_eq(damage_count(), 0);
	ck_assert_int_eq(umount("small"), 0);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, one_bad_source_leaves_no_archive);
	tcase_add_test(tc, refused_runs_leave_every_byte);
	tcase_add_test(tc, a_source_that_changes_aborts_the_version);
	tcase_add_test(tc, an_archive_that_is_none_is_refused);
	tcase_add_test(tc, a_full_disk_leaves_the_archive);
}

int main(void)
{
	return work_dir_suite("all or nothing", add);
}
