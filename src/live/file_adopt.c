/* SPDX-License-Identifier: Apache-2.0 */
/* Making an np.save file a live file.  In place where the header has room for the extent and
 * some capacity puts the tail on a cache line: space first, then the tail in one write, then
 * the extent; dying between the last two leaves a file whose size tells the capacity, which
 * every reader understands.  Else by copy and rename.
 * Invariant: the rows are never moved or overwritten in the old file. */
#include "live/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/fs.h"
#include "base/num.h"

/* The plain file, locked. */
struct adopting {
	struct tti_place place;
	struct tti_live live;
	uint64_t want; /* rows, at least */
};

static int refuse_shape(const struct tti_live *live, struct tt_error *err)
{
	if (live->npy.rank == 0)
		return tti_fail(err, TT_E_UNSUPPORTED,
				"%s: an array of rank 0 has no rows to append to",
				live->path);
	if (live->npy.fortran_order && live->npy.rank > 1)
		return tti_fail(
			err, TT_E_UNSUPPORTED,
			"%s: its rows are in Fortran order and cannot grow; save it in C "
			"order first (numpy.ascontiguousarray)",
			live->path);
	return TT_OK;
}

/* The smallest capacity >= want whose tail starts on a 64-byte line; false when there is
 * none. */
static bool aligned_capacity(const struct tti_live *live, uint64_t want, uint64_t *out)
{
	for (uint64_t capacity = want; capacity < want + 64; capacity++) {
		uint64_t tail;

		if (tti_mul_overflow(capacity, live->row_bytes, &tail) ||
		    tti_add_overflow(tail, live->data_off, &tail) ||
		    tail > INT64_MAX - 64)
			return false;
		if (tail % 64 == 0) {
			*out = capacity;
			return true;
		}
	}
	return false;
}

/* Space behind the rows, without moving the end of the file.  On a full disk what was taken is
 * given back. */
static int reserve(const struct tti_live *live, uint64_t new_bytes, struct tt_error *err)
{
	int rc = tti_reserve_space(live->fd, 0, new_bytes, true);

	if (rc == TT_OK)
		return TT_OK;
	if (ftruncate(live->fd, (off_t)live->file_bytes) < 0)
		(void)0; /* the first error is the one to tell */
	return tti_fail_space(err, rc, live->path, live->fd,
			      new_bytes - live->file_bytes);
}

static int adopt_in_place(const struct tti_live *live, uint64_t capacity,
			  struct tt_error *err)
{
	const struct tti_tail tail = {
		.words = 5,
		.end = live->capacity,
		.update_timestamp = tti_stamp_next(0, (uint64_t)tti_clock_coarse_ns()),
		.offset = live->data_off,
	};
	uint64_t tail_off = live->data_off + capacity * live->row_bytes;
	uint8_t words[TTI_TAIL_MAX_BYTES];
	size_t n = tti_tail_format(words, &tail);
	int rc = reserve(live, tail_off + n, err);

	if (rc < 0)
		return rc;
	TTI_FAILPOINT("file.adopt.reserved");
	rc = tti_pwrite_all(live->fd, words, n, tail_off);
	if (rc < 0)
		return tti_fail_sys(err, rc, live->path, "write of the tail");
	TTI_FAILPOINT("file.adopt.tail");
	/* an extent that came to disk before its tail would leave no way to tell the rows */
	if (fsync(live->fd) < 0)
		return tti_fail_sys(err, -errno, live->path, "fsync");
	TTI_FAILPOINT("file.adopt.before_extent");
	rc = tti_live_put_extent(live, capacity, false, err);
	if (rc < 0)
		return rc;
	TTI_FAILPOINT("file.adopt.done");
	return fsync(live->fd) < 0 ? tti_fail_sys(err, -errno, live->path, "fsync")
				   : TT_OK;
}

static int fill_copy(const struct tti_live *live, int fd, uint64_t capacity,
		     struct tt_error *err)
{
	const struct tti_live_make make = {
		.dtype = live->npy.dtype,
		.row_rank = live->npy.rank - 1,
		.row_shape = live->npy.shape + 1,
		.capacity = capacity,
		.end = live->capacity,
	};
	struct tti_live_made made;
	int rc = tti_live_fill(fd, &make, live->path, &made, err);

	if (rc == TT_OK)
		rc = tti_file_copy_rows(live, live->capacity, fd, made.data_off, err);
	if (rc == TT_OK && fsync(fd) < 0)
		rc = tti_fail_sys(err, -errno, live->path, "fsync of its copy");
	return rc;
}

static int adopt_by_copy(const struct adopting *a, struct tt_error *err)
{
	char copy[TTI_COPY_NAME_BYTES];
	tti_auto_fd fd = tti_file_open_copy(&a->place, a->live.fd, err);
	int rc;

	if (fd < 0)
		return fd;
	rc = tti_file_copy_name(copy, a->live.fd);
	if (rc == TT_OK)
		rc = fill_copy(&a->live, fd, a->want, err);
	TTI_FAILPOINT("file.adopt.before_rename");
	if (rc == TT_OK &&
	    renameat(a->place.dirfd, copy, a->place.dirfd, a->place.name) < 0)
		rc = tti_fail_sys(err, -errno, a->place.path, "rename of its copy");
	if (rc < 0)
		goto undo;
	TTI_FAILPOINT("file.adopt.renamed");
	return tti_place_sync(&a->place, err);

undo: /* the copy's name */
	unlinkat(a->place.dirfd, copy, 0);
	return rc;
}

static int adopt(struct adopting *a, uint64_t capacity, bool *in_place,
		 struct tt_error *err)
{
	const struct tti_live *live = &a->live;
	uint64_t aligned;
	int rc = refuse_shape(live, err);

	if (rc < 0)
		return rc;
	if (capacity > 0 && capacity < live->capacity)
		return tti_fail(err, TT_E_RANGE,
				"%s: a capacity of %" PRIu64
				" rows would lose some: it holds "
				"%" PRIu64,
				live->path, capacity, live->capacity);
	a->want = tti_max_u64(tti_max_u64(capacity, live->capacity), 1);
	*in_place = false;
	if (aligned_capacity(live, a->want, &aligned)) {
		rc = tti_live_put_extent(live, aligned, true, err);
		if (rc < 0)
			return rc;
		*in_place = rc == 1;
	}
	return *in_place ? adopt_in_place(live, aligned, err) : adopt_by_copy(a, err);
}

/* An adopt that died before its last step left a live file; opening it for writing finishes
 * it.  Any other live file has nothing to be adopted. */
static int finish_adopt(const struct adopting *a, struct tt_error *err)
{
	struct tt_file *file;
	int rc;

	if (a->live.npy.rank == 0 || a->live.capacity == a->live.npy.shape[0])
		return tti_fail(err, TT_E_MISMATCH, "%s: is a live file already",
				a->place.path);
	rc = tti_file_open_for(&file, a->place.path, "adopt", err);
	if (rc == TT_OK)
		tt_file_close(file);
	return rc;
}

int tt_file_adopt(const char *path, uint64_t capacity, bool *in_place_out,
		  struct tt_error *err)
{
	struct adopting a = { .place = TTI_PLACE_EMPTY, .live = TTI_LIVE_EMPTY };
	struct tti_live_open args = { .plain = true, .by_pread = true, .take_fd = true };
	bool in_place = true, finish = false;
	tti_auto_fd fd = -1;
	int rc = tti_place_open(&a.place, path, true, err);

	if (rc == TT_OK)
		rc = tti_place_refuse_ring(&a.place, "adopt", err);
	if (rc == TT_OK)
		rc = fd = tti_file_lock(&a.place, err);
	if (rc >= 0) {
		args.path = a.place.path;
		args.fd = fd;
		rc = tti_live_open(&a.live, &args, err);
	}
	if (rc == TT_OK) {
		fd = -1; /* a.live's now */
		finish = a.live.tail_words != 0;
		if (!finish)
			rc = adopt(&a, capacity, &in_place, err);
		tti_close_fd(&a.live.fd); /* and its lock */
		if (finish)
			rc = finish_adopt(&a, err);
	}
	tti_live_close(&a.live);
	tti_place_close(&a.place);
	if (rc == TT_OK && in_place_out)
		*in_place_out = in_place;
	return rc;
}
