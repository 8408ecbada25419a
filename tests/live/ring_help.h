/* SPDX-License-Identifier: Apache-2.0 */
/* What the ring tests share: a private directory, numbered rows, rings of them. */
#ifndef RING_HELP_H
#define RING_HELP_H

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "lib/suite.h"
#include "live/ring.h"
#include "live/ring_counters.h"
#include "ticktail/ring.h"

struct row {
	int64_t number;
	double value;
};

static char work_dir[64];

static inline void make_work_dir(void)
{
	strcpy(work_dir, "/tmp/tt-ring-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(work_dir));
	ck_assert_int_eq(chmod(work_dir, 0755), 0);
	ck_assert_int_eq(chdir(work_dir), 0);
}

static inline void drop_work_dir(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", work_dir);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(system(command), 0);
}

#define OK(call) \
	do { \
		int ok_rc = (call); \
		ck_assert_msg(ok_rc == TT_OK, "%s: %d %s", #call, ok_rc, err.text); \
	} while (0)

static struct tt_error err;

static inline struct tt_dtype *row_dtype(void)
{
	static const char text[] = "number:i8,value:f8";
	struct tt_dtype *dtype = NULL;

	OK(tt_dtype_parse(&dtype, text, strlen(text), false, &err));
	return dtype;
}

static inline void create_ring(const char *dir, uint64_t capacity, uint64_t keep)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();

	opts.capacity = capacity;
	opts.keep = keep;
	opts.exact = true;
	opts.sync_ms = TT_SYNC_NONE;
	OK(tt_ring_create(dir, dtype, &opts, &err));
	tt_dtype_unref(dtype);
}

static inline struct tt_ring_writer *open_writer(const char *dir)
{
	struct tt_ring_writer *writer = NULL;

	OK(tt_ring_writer_open(&writer, dir, NULL, &err));
	return writer;
}

/* Without the helper thread: nothing happens but in the calls. */
static inline struct tt_ring_writer *open_alone(const char *dir)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer = NULL;

	opts.no_helper = true;
	OK(tt_ring_writer_open(&writer, dir, &opts, &err));
	return writer;
}

static inline struct tt_ring_reader *open_reader(const char *dir)
{
	struct tt_ring_reader *reader = NULL;

	OK(tt_ring_reader_open(&reader, dir, NULL, &err));
	return reader;
}

/* Rows numbered first, first + 1, ... */
static inline void put_rows(struct tt_ring_writer *writer, int64_t first, uint64_t count)
{
	struct row *rows = calloc(count ? count : 1, sizeof(*rows));

	for (uint64_t i = 0; i < count; i++)
		rows[i] = (struct row){ first + (int64_t)i, (double)i };
	OK(tt_ring_append(writer, rows, count, NULL, &err));
	free(rows);
}

/* All rows that can be read now must be numbered on from *next.  A check is a system call: one a
 * row would never catch up with a feed. */
static inline void take_rows(struct tt_ring_reader *reader, int64_t *next)
{
	struct tt_view view;
	int rc;

	while ((rc = tt_ring_read(reader, 1000, 0, &view, NULL, &err)) == 1) {
		const struct row *rows = view.rows;

		for (uint64_t i = 0; i < view.count; i++, (*next)++)
			if (rows[i].number != *next)
				ck_assert_int_eq(rows[i].number, *next);
	}
	ck_assert_msg(rc == 0, "%s", err.text);
}

/* A look at the last (tail) or first `count` rows: rows `first` and on, in so many files. */
static inline void look_shows(struct tt_ring_reader *reader, uint64_t count, bool tail,
			      int64_t first, uint64_t rows, size_t files)
{
	struct tt_view *views;
	size_t n;
	uint64_t seen = 0;

	OK(tail ? tt_ring_tail(reader, count, &views, &n, &err)
		: tt_ring_head(reader, count, &views, &n, &err));
	ck_assert_uint_eq(n, files);
	for (size_t i = 0; i < n; i++)
		for (uint64_t k = 0; k < views[i].count; k++)
			ck_assert_int_eq(((const struct row *)views[i].rows)[k].number,
					 first + (int64_t)seen++);
	ck_assert_uint_eq(seen, rows);
	free(views);
}

static inline struct tt_ring_info ring_info(const char *dir)
{
	struct tt_ring_info info;

	OK(tt_ring_info(dir, &info, &err));
	return info;
}

static inline struct tti_counters_seen counters(const char *dir)
{
	struct tti_counters_seen seen;
	struct tti_ring ring;

	OK(tti_ring_open(&ring, dir, false, &err));
	tti_counters_read(&ring, &seen);
	tti_ring_close(&ring);
	return seen;
}

static inline void read_file(const char *path, void *out, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(read(fd, out, n), (ssize_t)n);
	close(fd);
}

static inline void write_file(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
	close(fd);
}

/* For tti_ring_writer_set_clock(). */
static _Atomic(int64_t) fake_now;

static inline int64_t fake_clock(void)
{
	return fake_now;
}

/* Tests that run once each.  What main() returns. */
static inline int ring_suite(const char *name, const TTest *const *tests, size_t count)
{
	return run_suite(&(struct suite){ .name = name,
					  .enter = make_work_dir,
					  .leave = drop_work_dir,
					  .timeout_s = 60,
					  .tests = tests,
					  .count = count });
}

/* The same with what adds tests. */
static inline int ring_suite_with(const char *name, void (*add)(TCase *))
{
	return run_suite(&(struct suite){ .name = name,
					  .enter = make_work_dir,
					  .leave = drop_work_dir,
					  .timeout_s = 60,
					  .add = add });
}

#endif
