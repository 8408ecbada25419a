/* SPDX-License-Identifier: Apache-2.0 */
#include "live/file_helpers.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tt_dtype *parse_dtype(const char *text)
{
	struct tt_dtype *dtype = NULL;
	struct tt_error err = { .text = "" };
	int rc = tt_dtype_parse(&dtype, text, strlen(text), false, &err);

	ck_assert_msg(rc == 0, "%s: %s", text, err.text);
	return dtype;
}

void make_file_opts(const char *path, const char *descr,
		    const struct tt_file_create_opts *opts)
{
	struct tt_dtype *dtype = parse_dtype(descr);
	struct tt_error err = { .text = "" };
	int rc = tt_file_create(path, dtype, opts, &err);

	ck_assert_msg(rc == 0, "%d %s", rc, err.text);
	tt_dtype_unref(dtype);
}

void make_file(const char *path, const char *descr, uint64_t capacity)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;

	opts.capacity = capacity;
	make_file_opts(path, descr, &opts);
}

struct tt_file *open_file(const char *path, enum tt_access access)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file = NULL;
	struct tt_error err = { .text = "" };
	int rc;

	opts.access = access;
	rc = tt_file_open(&file, path, &opts, &err);
	ck_assert_msg(rc == 0, "%d %s", rc, err.text);
	return file;
}

void fill_file(const char *path, int64_t rows)
{
	struct tt_file *file;

	make_file(path, "i8", (uint64_t)rows);
	file = open_file(path, TT_WRITE);
	for (int64_t i = 0; i < rows; i++)
		ck_assert_int_eq(tt_file_append(file, &i, 1), 0);
	tt_file_close(file);
}

int count_entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	ck_assert_ptr_nonnull(d);
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return n;
}

void *slurp(const char *path, size_t *len_out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size + 1);
	ck_assert_int_eq(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*len_out = (size_t)st.st_size;
	return bytes;
}

void spit(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}
