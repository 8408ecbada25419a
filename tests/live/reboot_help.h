/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of power losses share: a writer that dies, and damage to what it left. */
#ifndef REBOOT_HELP_H
#define REBOOT_HELP_H

#include "age_mark.h"
#include "ring_help.h"

/* A ring whose syncs come only when they are asked for. */
static inline void create_synced(uint64_t capacity, uint64_t keep)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();

	opts.capacity = capacity;
	opts.keep = keep;
	opts.exact = true;
	opts.sync_ms = 86400000;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
}

/* Rows numbered on from `first`: `synced` of them are on disk, `more` are not; then the
 * machine is off. */
static inline void lose_power(int64_t first, uint64_t synced, uint64_t more)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		struct tt_ring_writer *writer = open_alone("r");

		put_rows(writer, first, synced);
		OK(tt_ring_sync(writer, &err));
		put_rows(writer, first + (int64_t)synced, more);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_gt(age_ring("r"), 0);
}

/* ---- what of later writes may have reached the disk or not ---- */

static inline void in_ring(char out[128], uint64_t name, const char *suffix)
{
	snprintf(out, 128, "r/%" PRIu64 ".npy%s", name, suffix);
}

/* Word i of a file's tail: its offset. */
static inline off_t tail_at(const char *path, unsigned i)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_size - 40 + 8 * (off_t)i;
}

static inline void put_bytes(const char *path, const void *bytes, size_t n, off_t at)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, bytes, n, at), (ssize_t)n);
	close(fd);
}

static inline void set_end(uint64_t name, uint64_t end)
{
	char path[128];

	in_ring(path, name, "");
	put_bytes(path, &end, 8, tail_at(path, 1));
}

/* The manifest without its newest name. */
static inline void unname_newest(void)
{
	uint64_t slots[16] = { 0 }, zero = 0;
	int fd = open("r/.lock", O_RDWR | O_CLOEXEC);
	ssize_t n = pread(fd, slots, sizeof(slots), 0) / 8;

	while (n > 0 && slots[n - 1] == 0)
		n--;
	ck_assert_int_gt(n, 1);
	ck_assert_int_eq(pwrite(fd, &zero, 8, (n - 1) * 8), 8);
	close(fd);
}

static inline void forget_entry(uint64_t name)
{
	static const uint8_t zero[128];
	int fd = open("r/.ticktail", O_RDWR | O_CLOEXEC);
	uint64_t found;

	for (off_t at = TTI_ENTRIES_OFF; pread(fd, &found, 8, at) == 8; at += 128)
		if (found == name)
			ck_assert_int_eq(pwrite(fd, zero, 128, at), 128);
	close(fd);
}

/* ---- what the ring shows ---- */

static inline uint64_t count_damage(void)
{
	uint64_t found = 0;

	OK(tt_ring_verify("r", NULL, NULL, &found, &err));
	return found;
}

static inline uint64_t ring_rows(void)
{
	struct tt_ring_info info = ring_info("r");
	uint64_t rows = info.rows;

	tt_ring_info_free(&info);
	return rows;
}

/* Rows 0 to count, and no more. */
static inline void shows(int64_t count)
{
	struct tt_ring_reader *reader = open_reader("r");
	int64_t next = 0;

	take_rows(reader, &next);
	ck_assert_int_eq(next, count);
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 0);
	tt_ring_reader_close(reader);
}

/* Going to a position: rows said to be cut, and the number of the row that is read next. */
static inline uint64_t cut_before(struct tt_pos pos, int64_t next)
{
	struct tt_ring_reader *reader = open_reader("r");
	struct tt_view view;
	uint64_t cut;

	OK(tt_ring_seek(reader, pos, &err));
	cut = tt_ring_reader_cut(reader);
	ck_assert_uint_eq(tt_ring_reader_cut(reader), 0);
	if (next < 0) {
		ck_assert_int_eq(tt_ring_read(reader, 1, 0, &view, NULL, &err), 0);
	} else {
		ck_assert_int_eq(tt_ring_read(reader, 1, 0, &view, NULL, &err), 1);
		ck_assert_int_eq(((const struct row *)view.rows)->number, next);
	}
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 0);
	tt_ring_reader_close(reader);
	return cut;
}

#endif
