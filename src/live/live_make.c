/* SPDX-License-Identifier: Apache-2.0 */
/* Making an NPYT file.  Invariant: every byte up to the end of the tail has its block before
 * the file gets a name that others look for, so a full disk is an error here and nowhere
 * later. */
#include "live/live_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/fs.h"
#include "base/num.h"

/* Sizes of the file to be, and its header. */
struct plan {
	uint64_t capacity, row_bytes, data_off, tail_off, file_bytes;
	uint32_t tail_words;
	void *header; /* owned */
};

static int refuse_size(const struct tti_live_make *make, const char *path,
		       struct tt_error *err)
{
	return tti_fail(err, TT_E_RANGE,
			"%s: %" PRIu64
			" rows of this type and shape are more than a file can hold",
			path, make->capacity);
}

static int plan_rows(struct plan *plan, const struct tti_live_make *make,
		     const char *path, struct tt_error *err)
{
	plan->row_bytes = tt_dtype_size(make->dtype);
	if (make->row_rank >= TT_MAX_RANK)
		return tti_fail(err, TT_E_RANGE,
				"%s: a row shape of %u extents; %u is the most", path,
				make->row_rank, TT_MAX_RANK - 1);
	for (uint32_t i = 0; i < make->row_rank; i++)
		if (tti_mul_overflow(plan->row_bytes, make->row_shape[i],
				     &plan->row_bytes))
			return refuse_size(make, path, err);
	if (plan->row_bytes == 0)
		return tti_fail(err, TT_E_RANGE, "%s: rows without bytes", path);
	if (make->capacity == 0)
		return tti_fail(err, TT_E_RANGE,
				"%s: a capacity of 0 rows; it takes at least 1", path);
	plan->capacity = make->capacity;
	if (!make->exact &&
	    !tti_tail_align_capacity(make->capacity, 0, plan->row_bytes, &plan->capacity))
		return refuse_size(make, path, err);
	return TT_OK;
}

static int plan_file(struct plan *plan, const struct tti_live_make *make,
		     const char *path, struct tt_error *err)
{
	uint32_t inner = tt_dtype_rank(make->dtype);
	uint64_t shape[2 * TT_MAX_RANK];
	const struct tti_npy_form form = { tt_dtype_base(make->dtype),
					   1 + make->row_rank + inner, shape, true };
	size_t header_len;
	int rc = plan_rows(plan, make, path, err);

	if (rc < 0)
		return rc;
	plan->tail_words = make->tail_words ? make->tail_words : 5;
	if (plan->tail_words != 4 && plan->tail_words != 5)
		return tti_fail(err, TT_E_RANGE, "%s: a tail of %u words; it has 5 or 4",
				path, plan->tail_words);
	shape[0] = plan->capacity;
	if (make->row_rank)
		memcpy(shape + 1, make->row_shape, make->row_rank * sizeof(shape[0]));
	if (inner) /* an array of arrays is an array of more extents, as in NumPy */
		memcpy(shape + 1 + make->row_rank, tt_dtype_shape(make->dtype),
		       inner * sizeof(shape[0]));
	rc = tti_npy_format(&plan->header, &header_len, &form, err);
	if (rc < 0)
		return tti_fail_in(err, rc, "%s", path);
	plan->data_off = header_len;
	if (tti_mul_overflow(plan->capacity, plan->row_bytes, &plan->tail_off) ||
	    tti_add_overflow(plan->tail_off, plan->data_off, &plan->tail_off) ||
	    tti_add_overflow(plan->tail_off, plan->tail_words * 8u, &plan->file_bytes) ||
	    plan->file_bytes > INT64_MAX)
		return refuse_size(make, path, err);
	return TT_OK;
}

static int write_plan(int fd, const struct plan *plan, const struct tti_live_make *make,
		      const char *path, struct tt_error *err)
{
	const struct tti_tail tail = {
		.words = plan->tail_words,
		.start = make->start,
		.end = make->end,
		.update_timestamp = tti_stamp_next(make->stamp_after,
						   (uint64_t)tti_clock_coarse_ns()),
		.offset = plan->data_off,
	};
	uint8_t words[TTI_TAIL_MAX_BYTES];
	size_t n = tti_tail_format(words, &tail);
	int rc = tti_reserve_space(fd, 0, plan->file_bytes, false);

	if (rc < 0)
		return tti_fail_space(err, rc, path, fd, plan->file_bytes);
	TTI_FAILPOINT("file.make.reserved");
	rc = tti_pwrite_all(fd, plan->header, plan->data_off, 0);
	TTI_FAILPOINT("file.make.before_tail");
	if (rc == TT_OK)
		rc = tti_pwrite_all(fd, words, n, plan->tail_off);
	return rc < 0 ? tti_fail_sys(err, rc, path, "write") : TT_OK;
}

int tti_live_fill(int fd, const struct tti_live_make *make, const char *path,
		  struct tti_live_made *made, struct tt_error *err)
{
	struct plan plan = { 0 };
	int rc = plan_file(&plan, make, path, err);

	if (rc == TT_OK)
		rc = write_plan(fd, &plan, make, path, err);
	free(plan.header);
	if (rc == TT_OK && made)
		*made = (struct tti_live_made){ plan.capacity, plan.data_off };
	return rc;
}

int tti_live_make(int dirfd, const char *tmp, const struct tti_live_make *make,
		  const char *path, struct tt_error *err)
{
	tti_auto_fd fd = -1;
	int rc;

	if (unlinkat(dirfd, tmp, 0) < 0 && errno != ENOENT)
		return tti_fail_sys(err, -errno, path,
				    "removing a left-over temporary file");
	fd = openat(dirfd, tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return tti_fail_name(err, -errno, dirfd, path, NULL);
	TTI_FAILPOINT("file.make.created");
	rc = tti_live_fill(fd, make, path, NULL, err);
	if (rc < 0)
		goto undo;
	return tti_steal_fd(&fd);

undo: /* the name */
	unlinkat(dirfd, tmp, 0);
	return rc;
}
