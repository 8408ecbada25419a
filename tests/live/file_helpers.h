/* SPDX-License-Identifier: Apache-2.0 */
/* Short ways to make the files of the live tests; all assert. */
#ifndef TEST_FILE_HELPERS_H
#define TEST_FILE_HELPERS_H

#include <stdint.h>
#include "ticktail/file.h"

struct tt_dtype *parse_dtype(const char *text);
void make_file(const char *path, const char *descr, uint64_t capacity);
void make_file_opts(const char *path, const char *descr,
		    const struct tt_file_create_opts *opts);
struct tt_file *open_file(const char *path, enum tt_access access);
/* A file of i8 rows 0, 1, .. of just enough (aligned) capacity. */
void fill_file(const char *path, int64_t rows);
/* Entries of a directory, hidden ones too. */
int count_entries(const char *dir);
/* Read a whole file; the caller frees it. */
void *slurp(const char *path, size_t *len_out);
void spit(const char *path, const void *bytes, size_t len);

#endif
