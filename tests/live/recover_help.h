/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of recovery share: a file of known rows, and kinds of damage to one. */
#ifndef RECOVER_HELP_H
#define RECOVER_HELP_H

#include "live/ring_help.h"

#include "format/settings.h"
#include "format/tail.h"
#include "ticktail/recover.h"

#define ROWS 40
#define CAPACITY 64
#define ROW_BYTES 16
#define DATA_OFF 192
#define TAIL_OFF (DATA_OFF + CAPACITY * ROW_BYTES)

static struct tt_recover_report report;

/* ---- Damage ---- */

static inline void poke(const char *path, off_t at, const void *bytes, size_t n)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	if (at < 0)
		at += lseek(fd, 0, SEEK_END);
	ck_assert_int_eq(pwrite(fd, bytes, n, at), (ssize_t)n);
	close(fd);
}

static inline void zero(const char *path, off_t at, size_t n)
{
	void *zeros = calloc(n, 1);

	poke(path, at, zeros, n);
	free(zeros);
}

static inline off_t size_of(const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_size;
}

static inline void cut_to(const char *path, off_t bytes)
{
	ck_assert_int_eq(truncate(path, bytes), 0);
}

static inline void put_word(const char *path, unsigned word, uint64_t value)
{
	poke(path, (off_t)(8 * word) - 40, &value, 8);
}

static inline void break_descr(const char *path)
{
	char header[DATA_OFF];
	char *at;

	read_file(path, header, sizeof(header));
	at = memmem(header, sizeof(header), "'descr'", 7);
	ck_assert_ptr_nonnull(at);
	poke(path, at + 1 - header, "D\001", 2);
}

static inline void break_extent(const char *path, const char *digits)
{
	char header[DATA_OFF];
	char *at;

	read_file(path, header, sizeof(header));
	at = memmem(header, sizeof(header), "64,)", 4);
	ck_assert_ptr_nonnull(at);
	poke(path, at - header, digits, 2);
}

static inline void make_file(const char *path)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct row rows[ROWS];

	for (int i = 0; i < ROWS; i++)
		rows[i] = (struct row){ i, i + 0.5 };
	opts.capacity = CAPACITY;
	opts.rows = rows;
	opts.row_count = ROWS;
	OK(tt_file_create(path, dtype, &opts, &err));
	ck_assert_int_eq(size_of(path), TAIL_OFF + 40);
	tt_dtype_unref(dtype);
}

static inline void damage_nothing(const char *path)
{
	(void)path;
}
static inline void damage_empty(const char *path)
{
	cut_to(path, 0);
}
static inline void damage_cut_magic(const char *path)
{
	cut_to(path, 5);
}
static inline void damage_cut_header(const char *path)
{
	cut_to(path, 77);
}
static inline void damage_cut_rows(const char *path)
{
	cut_to(path, DATA_OFF + 163);
}
static inline void damage_cut_at_tail(const char *path)
{
	cut_to(path, TAIL_OFF);
}
static inline void damage_cut_in_tail(const char *path)
{
	cut_to(path, TAIL_OFF + 20);
}
static inline void damage_cut_last(const char *path)
{
	cut_to(path, TAIL_OFF + 39);
}
static inline void damage_zero_tail(const char *path)
{
	zero(path, -40, 40);
}
static inline void damage_magic(const char *path)
{
	put_word(path, 4, 7);
}
static inline void damage_offset(const char *path)
{
	put_word(path, 3, 7);
}
static inline void damage_end(const char *path)
{
	put_word(path, 1, 1000);
}
static inline void damage_start(const char *path)
{
	put_word(path, 0, 100);
}
static inline void damage_prefix(const char *path)
{
	zero(path, 0, 10);
}
static inline void damage_length(const char *path)
{
	poke(path, 8, "\377\377", 2);
}
static inline void damage_descr(const char *path)
{
	break_descr(path);
}
static inline void damage_header(const char *path)
{
	zero(path, 0, DATA_OFF);
}
static inline void damage_extent(const char *path)
{
	break_extent(path, "32");
}
static inline void damage_extent_up(const char *path)
{
	break_extent(path, "96");
}
static inline void damage_garbage(const char *path)
{
	static const char garbage[] =
		"garbage that is not so short as a tail is, of 64 bytes..........";

	poke(path, size_of(path), garbage, 64);
}
static inline void damage_odd(const char *path)
{
	poke(path, size_of(path), "xyz", 3);
}
static inline void damage_hole(const char *path)
{
	zero(path, DATA_OFF + 160, 160);
}
static inline void damage_all(const char *path)
{
	zero(path, 0, (size_t)size_of(path));
}

#endif
