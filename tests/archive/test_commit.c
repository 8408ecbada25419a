/* SPDX-License-Identifier: Apache-2.0 */
/* Committing: each row once, all or nothing, whatever the sources do. */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/sanitizers.h"
#include "ticktail/archive.h"

#define ROW "ts:i8,n:i4,px:f8"
#define ARCHIVE "a.h5"

struct row {
	int64_t ts;
	int32_t n;
	double px;
} __attribute__((packed));

static char dir_name[64];
static struct tt_error err;
static struct tt_archive_result result;

static void setup(void)
{
	strcpy(dir_name, "/var/tmp/tt-commit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir_name));
	ck_assert_int_eq(chdir(dir_name), 0);
	memset(&result, 0, sizeof(result));
}

static void teardown(void)
{
	char command[192];

	snprintf(command, sizeof(command), "rm -rf %s", dir_name);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(system(command), 0);
}

#define OK(call) ck_assert_msg((call) == TT_OK, "%s: %s", #call, err.text)

static struct row row_at(uint64_t i)
{
	return (struct row){ .ts = (int64_t)i * 1000, .n = (int32_t)i, .px = i * 0.25 };
}

static struct tt_dtype *row_type(void)
{
	struct tt_dtype *dtype;

	OK(tt_dtype_parse(&dtype, ROW, strlen(ROW), false, &err));
	return dtype;
}

static void make_file(const char *path, uint64_t capacity)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = row_type();

	opts.capacity = capacity;
	OK(tt_file_create(path, dtype, &opts, &err));
	tt_dtype_unref(dtype);
}

static void grow_file(const char *path, uint64_t first, uint64_t count)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;

	opts.access = TT_WRITE;
	OK(tt_file_open(&file, path, &opts, &err));
	for (uint64_t i = first; i < first + count; i++) {
		struct row row = row_at(i);

		OK(tt_file_append(file, &row, 1));
	}
	tt_file_close(file);
}

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

static int commit_job(struct tt_archive_job *job, const char *source)
{
	job->sources = &source;
	job->source_count = 1;
	return tt_archive_commit(ARCHIVE, job, &result, &err);
}

static int commit_as(const char *source, const char *dataset, uint64_t chunk)
{
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;

	job.dataset = dataset;
	job.chunk_rows = chunk;
	return commit_job(&job, source);
}

/* All rows of a dataset of the current version (version NULL); the caller frees. */
static void *read_all(const char *dataset, const char *version, uint64_t *count,
		      uint64_t *row_bytes)
{
	struct tt_archive *archive;
	struct tt_dataset *open;
	size_t at;
	void *rows;

	OK(tt_archive_open(&archive, ARCHIVE, NULL, &err));
	OK(tt_archive_find_version(archive, version, &at, &err));
	OK(tt_dataset_open(&open, archive, at, dataset, &err));
	*count = tt_dataset_info(open)->shape[0];
	*row_bytes = tt_dataset_info(open)->row_bytes;
	rows = calloc(*count + 1, *row_bytes);
	OK(tt_dataset_read(open, 0, *count, rows, &err));
	tt_dataset_close(open);
	tt_archive_close(archive);
	return rows;
}

/* The dataset holds rows first .. first + count, in order, each once. */
static void holds_rows(const char *dataset, const char *version, uint64_t first,
		       uint64_t count)
{
	uint64_t got, bytes;
	struct row *rows = read_all(dataset, version, &got, &bytes);

	ck_assert_uint_eq(got, count);
	ck_assert_uint_eq(bytes, sizeof(*rows));
	for (uint64_t i = 0; i < count; i++) {
		struct row want = row_at(first + i);

		ck_assert_msg(memcmp(&rows[i], &want, sizeof(want)) == 0, "row %llu",
			      (unsigned long long)i);
	}
	free(rows);
}

static uint64_t damage_count(void)
{
	uint64_t found = 99;

	OK(tt_archive_verify(ARCHIVE, NULL, NULL, &found, &err));
	return found;
}

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

static size_t version_count(void)
{
	struct tt_archive *archive;
	size_t n;

	OK(tt_archive_open(&archive, ARCHIVE, NULL, &err));
	n = tt_archive_version_count(archive);
	tt_archive_close(archive);
	return n;
}

/* ---- Each row once ---- */

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

/* ---- All or nothing ---- */

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

/* ---- What is stored ---- */

START_TEST(engines_and_filters_give_the_same_rows)
{
	static const enum tt_archive_io engines[] = { TT_IO_URING, TT_IO_THREADS };
	static const char *const names[] = { "none", "lzf", "gzip" };
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;

	make_file("f.npy", 20000);
	grow_file("f.npy", 0, 19999);
	job.io = engines[_i % 2];
	job.threads = 1 + _i;
	for (int filter = TT_FILTER_NONE; filter <= TT_FILTER_GZIP; filter++) {
		int rc;

		job.filter = (enum tt_archive_filter)filter;
		job.shuffle = _i >= 2;
		job.dataset = names[filter];
		job.chunk_rows = 700;
		rc = commit_job(&job, "f.npy");
		if (rc == TT_E_UNSUPPORTED && job.io == TT_IO_URING) {
			printf("# no io_uring here: %s\n", err.text);
			return;
		}
		OK(rc);
		ck_assert_int_eq(result.io, job.io);
		holds_rows(names[filter], NULL, 0, 19999);
	}
	ck_assert_uint_eq(damage_count(), 0);
}
END_TEST

static void write_plain(const char *path, const char *descr, const char *fortran,
			const char *shape, const void *bytes, size_t n)
{
	char header[192];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	memset(header, ' ', sizeof(header));
	memcpy(header, "\x93NUMPY\x01\x00\xb6\x00", 10);
	snprintf(header + 10, 180, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }",
		 descr, fortran, shape);
	header[10 + strlen(header + 10)] = ' ';
	header[191] = '\n';
	ck_assert_int_eq(write(fd, header, 192), 192);
	ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
	close(fd);
}

START_TEST(rows_of_several_axes_and_column_order)
{
	int16_t rows[6] = { 1, 2, 3, 4, 5, 6 }, columns[6] = { 1, 3, 5, 2, 4, 6 }, *got;
	uint64_t count, bytes;

	write_plain("c.npy", "<i2", "False", "(3, 2)", rows, sizeof(rows));
	write_plain("f.npy", "<i2", "True", "(3, 2)", columns, sizeof(columns));
	OK(commit_as("c.npy", NULL, 0));
	OK(commit_as("f.npy", NULL, 0));
	for (int i = 0; i < 2; i++) {
		got = read_all(i ? "f" : "c", NULL, &count, &bytes);
		ck_assert(count == 3 && bytes == 4 &&
			  memcmp(got, rows, sizeof(rows)) == 0);
		free(got);
	}
	OK(commit_as("f.npy", "c", 0)); /* added behind */
	got = read_all("c", NULL, &count, &bytes);
	ck_assert(count == 6 && memcmp(got + 6, rows, sizeof(rows)) == 0);
	free(got);
	ck_assert_uint_eq(damage_count(), 0);
}
END_TEST

START_TEST(chunks_of_nothing_but_zeros_are_not_stored)
{
	int64_t *rows = calloc(1000, 8), *zeros = calloc(1050, 8);
	uint64_t count, bytes;
	int64_t *got;

	rows[250] = 5;
	write_plain("z.npy", "<i8", "False", "(1000,)", rows, 8000);
	OK(commit_as("z.npy", NULL, 100));
	ck_assert_uint_eq(result.chunks, 1);
	write_plain("y.npy", "<i8", "False", "(1050,)", zeros, 8400);
	OK(commit_as("y.npy", NULL, 100));
	ck_assert_uint_eq(result.chunks, 1); /* the trimmed last one is */
	got = read_all("z", NULL, &count, &bytes);
	ck_assert(count == 1000 && memcmp(got, rows, 8000) == 0);
	free(got);
	free(zeros);
	free(rows);
	ck_assert_uint_eq(damage_count(), 0);
}
END_TEST

START_TEST(unchanged_datasets_are_in_every_version)
{
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;

	make_file("f.npy", 100);
	grow_file("f.npy", 0, 50);
	make_file("g.npy", 100);
	grow_file("g.npy", 9, 30);
	job.version = "one";
	job.dataset = "deep/er/{name}";
	OK(commit_job(&job, "f.npy"));
	job.version = "two";
	OK(commit_job(&job, "g.npy"));
	job.version = "three";
	grow_file("f.npy", 50, 2);
	OK(commit_job(&job, "f.npy"));
	holds_rows("deep/er/f", "one", 0, 50);
	holds_rows("deep/er/f", "two", 0, 50);
	holds_rows("deep/er/f", "three", 0, 52);
	holds_rows("deep/er/g", "three", 9, 30);
	job.version = "side";
	job.parent = "one";
	OK(commit_job(&job, "g.npy")); /* not in the line of one */
	holds_rows("deep/er/f", "side", 0, 50);
	holds_rows("deep/er/g", "side", 9, 30);
	ck_assert_uint_eq(result.chunks_new, 0);
	ck_assert_uint_eq(damage_count(), 0);
}
END_TEST

/* Peak of the process that archives a sparse file whose chunks all differ. */
static long peak_kib(const char *name, uint64_t mib)
{
	struct rusage use;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		char shape[64];
		int fd;

		snprintf(shape, sizeof(shape), "(%llu,)",
			 (unsigned long long)(mib << 17));
		write_plain(name, "<i8", "False", shape, &mib, 8);
		fd = open(name, O_WRONLY);
		if (ftruncate(fd, 192 + (off_t)(mib << 20)) < 0)
			_exit(1);
		for (uint64_t i = 1; i < mib; i++)
			if (pwrite(fd, &i, 8, 192 + (off_t)(i << 20)) != 8)
				_exit(1);
		close(fd);
		_exit(commit_as(name, NULL, 0) == TT_OK && result.chunks_new == mib ? 0
										    : 2);
	}
	ck_assert_int_eq(wait4(pid, &status, 0, &use), pid);
	ck_assert_int_eq(status, 0);
	return use.ru_maxrss;
}

START_TEST(memory_does_not_grow_with_the_file)
{
	long small = peak_kib("small.npy", 64), large = peak_kib("large.npy", 512);

	printf("# peak %ld KiB for 64 MiB, %ld KiB for 512 MiB\n", small, large);
	if (UNDER_ASAN)
		return; /* it keeps what was freed */
	ck_assert_int_le(large, 128 << 10);
	ck_assert_int_le(large - small, 32 << 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("commit");
	TCase *once = tcase_create("once"), *whole = tcase_create("whole");
	TCase *stored = tcase_create("stored");
	TCase *cases[] = { once, whole, stored };
	SRunner *runner;
	int failed;

	for (size_t i = 0; i < 3; i++) {
		tcase_add_checked_fixture(cases[i], setup, teardown);
		suite_add_tcase(suite, cases[i]);
	}
	tcase_add_test(once, two_nights_of_a_ring_and_nothing_twice);
	tcase_add_test(once, a_growing_file_shares_its_full_chunks);
	tcase_add_test(once, a_cleared_and_refilled_file_is_not_the_file_archived_before);
	tcase_add_test(once, a_replaced_file_is_told_apart_and_a_grown_copy_is_not);
	tcase_add_test(once, two_rings_of_one_name_are_told_apart);
	tcase_add_test(once, merged_files_are_not_archived_again);
	tcase_add_test(once, archived_files_are_deleted_outside_the_queue_only);
	tcase_add_test(once, a_file_that_is_merged_after_it_was_compared_stays);
	tcase_add_test(once, what_is_committed_is_no_failure_when_others_remove_files);
	tcase_add_test(whole, one_bad_source_leaves_no_archive);
	tcase_add_test(whole, refused_runs_leave_every_byte);
	tcase_add_test(whole, a_source_that_changes_aborts_the_version);
	tcase_add_test(whole, an_archive_that_is_none_is_refused);
	tcase_add_test(whole, a_full_disk_leaves_the_archive);
	tcase_add_loop_test(stored, engines_and_filters_give_the_same_rows, 0, 4);
	tcase_add_test(stored, rows_of_several_axes_and_column_order);
	tcase_add_test(stored, chunks_of_nothing_but_zeros_are_not_stored);
	tcase_add_test(stored, unchanged_datasets_are_in_every_version);
	tcase_add_test(stored, memory_does_not_grow_with_the_file);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
