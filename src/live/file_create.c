/* SPDX-License-Identifier: Apache-2.0 */
/* Making a single live file.  Invariant: the file appears under its name complete, with its
 * space and first rows, or not at all; where the file system allows it has no name before, so
 * that not even a kill leaves something behind. */
#include "live/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/failpoint.h"
#include "base/fs.h"
#include "base/num.h"

/* ---- if_same ---- */

static int mismatch(const char *path, const char *what, struct tt_error *err)
{
	return tti_fail(err, TT_E_MISMATCH, "%s: exists with another %s", path, what);
}

static int check_same(const char *path, const struct tt_dtype *dtype,
		      const struct tt_file_create_opts *opts, struct tt_error *err)
{
	struct tt_file *file;
	struct tt_file_info info;
	int rc = tt_file_open(&file, path, NULL, err);

	if (rc < 0)
		return tti_fail_in(err, rc == TT_E_UNSUPPORTED ? TT_E_MISMATCH : rc,
				   "it exists and is no such live file");
	rc = tt_file_info(file, &info, err);
	if (rc == TT_OK && !tt_dtype_equal(info.dtype, dtype))
		rc = tti_fail(err, TT_E_MISMATCH,
			      "%s: exists with the element type %s, not %s", path,
			      tt_dtype_descr(info.dtype), tt_dtype_descr(dtype));
	else if (rc == TT_OK &&
		 (info.row_rank != opts->row_rank ||
		  (info.row_rank && memcmp(info.row_shape, opts->row_shape,
					   info.row_rank * sizeof(uint64_t)))))
		rc = mismatch(path, "row shape", err);
	else if (rc == TT_OK && info.fortran_order)
		rc = mismatch(path, "order of its rows (Fortran)", err);
	else if (rc == TT_OK && info.capacity < opts->capacity)
		rc = tti_fail(err, TT_E_MISMATCH,
			      "%s: exists with a capacity of %" PRIu64 " rows, %" PRIu64
			      " are asked for",
			      path, info.capacity, opts->capacity);
	tt_file_close(file);
	return rc;
}

/* ---- Filling and naming ---- */

#define CHUNK (1u << 20)

/* The first rows, padding zeroed as append does. */
static int write_rows(int fd, uint64_t data_off, const struct tt_dtype *dtype,
		      const struct tt_file_create_opts *opts, uint64_t row_bytes)
{
	uint64_t item = tt_dtype_size(dtype), total = opts->row_count * row_bytes;
	uint64_t step = tti_max_u64(CHUNK / item, 1) * item;
	tti_auto_free unsigned char *copy = malloc((size_t)step);
	int rc = TT_OK;

	if (!copy)
		return -ENOMEM;
	for (uint64_t at = 0; rc == TT_OK && at < total; at += step) {
		size_t n = (size_t)tti_min_u64(step, total - at);

		memcpy(copy, (const unsigned char *)opts->rows + at, n);
		tt_dtype_clear_padding(dtype, copy, n / item);
		rc = tti_pwrite_all(fd, copy, n, data_off + at);
	}
	return rc;
}

static int fill(int fd, const char *path, const struct tt_dtype *dtype,
		const struct tt_file_create_opts *opts, struct tt_error *err)
{
	const struct tti_live_make make = {
		.dtype = dtype,
		.row_rank = opts->row_rank,
		.row_shape = opts->row_shape,
		.capacity = opts->capacity,
		.exact = opts->exact,
		.tail_words = opts->tail_words,
		.end = opts->row_count,
	};
	struct tti_live_made made;
	uint64_t row_bytes = tt_dtype_size(dtype);
	int rc = tti_live_fill(fd, &make, path, &made, err);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < opts->row_rank; i++)
		row_bytes *= opts->row_shape[i]; /* tti_live_fill() excluded overflow */
	if (opts->row_count)
		rc = write_rows(fd, made.data_off, dtype, opts, row_bytes);
	TTI_FAILPOINT("file.create.filled");
	if (rc == TT_OK && fsync(fd) < 0)
		rc = -errno;
	return rc < 0 ? tti_fail_sys(err, rc, path, "write") : TT_OK;
}

static int make_and_link(const struct tti_place *place, const struct tt_dtype *dtype,
			 const struct tt_file_create_opts *opts, struct tt_error *err)
{
	struct tti_new_file file = TTI_NEW_FILE_EMPTY;
	int rc = tti_place_new(place, &file, err);

	if (rc == TT_OK)
		rc = fill(file.fd, place->path, dtype, opts, err);
	TTI_FAILPOINT("file.create.before_link");
	if (rc < 0) {
		tti_place_drop(place, &file);
		return rc;
	}
	tti_file_mark_remove(place); /* of a file that is gone */
	rc = tti_place_link(place, &file, err);
	TTI_FAILPOINT("file.create.linked");
	return rc < 0 ? rc : tti_place_sync(place, err);
}

static int create(const struct tti_place *place, const struct tt_dtype *dtype,
		  const struct tt_file_create_opts *opts, struct tt_error *err)
{
	struct stat st;
	int rc = tti_place_refuse_ring(place, "making", err);

	if (rc < 0)
		return rc;
	if (opts->row_count > opts->capacity)
		return tti_fail(err, TT_E_RANGE,
				"%s: %" PRIu64
				" first rows do not fit a capacity of %" PRIu64,
				place->path, opts->row_count, opts->capacity);
	/* before space is reserved for nothing; the link decides */
	if (fstatat(place->dirfd, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return tti_fail(err, -EEXIST, "%s: exists already", place->path);
	return make_and_link(place, dtype, opts, err);
}

int tt_file_create(const char *path, const struct tt_dtype *dtype,
		   const struct tt_file_create_opts *opts, struct tt_error *err)
{
	struct tt_file_create_opts mine = TT_FILE_CREATE_OPTS_INIT;
	tti_auto_place place = TTI_PLACE_EMPTY;
	int rc;

	memcpy(&mine, opts, tti_min_u64(sizeof(mine), opts->struct_size));
	rc = tti_place_open(&place, path, false, err);
	if (rc == TT_OK)
		rc = create(&place, dtype, &mine, err);
	if (rc == -EEXIST && mine.if_same)
		return check_same(path, dtype, &mine, err);
	return rc;
}
