/* SPDX-License-Identifier: Apache-2.0 */
/* Committing: what is stored, by each engine, and how much memory it takes. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "commit_help.h"
#include "lib/sanitizers.h"

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

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, engines_and_filters_give_the_same_rows, 0, 4);
	tcase_add_test(tc, rows_of_several_axes_and_column_order);
	tcase_add_test(tc, chunks_of_nothing_but_zeros_are_not_stored);
	tcase_add_test(tc, unchanged_datasets_are_in_every_version);
	tcase_add_test(tc, memory_does_not_grow_with_the_file);
}

int main(void)
{
	return work_dir_suite("stored", add);
}
