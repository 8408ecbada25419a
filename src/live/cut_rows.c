/* SPDX-License-Identifier: Apache-2.0 */
/* Copying rows that are cut.  Invariant: a .cut file has its name only when it is whole and
 * on disk, and none is ever written over. */
#include "live/cut_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/fs.h"
#include "base/num.h"
#include "live/mark.h"

#define COPY_BYTES (256u << 10)

/* dirfd may be good for names only. */
static int sync_dir(int dirfd)
{
	tti_auto_fd fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : tti_fsync_dir(fd);
}

static int copy_rows(const struct tti_live *from, uint64_t row, int to, uint64_t to_off,
		     struct tt_error *err)
{
	uint64_t step = tti_max_u64(COPY_BYTES / from->row_bytes, 1);
	tti_auto_free void *rows = malloc((size_t)(step * from->row_bytes));
	int rc = TT_OK;

	if (!rows)
		return tti_fail_sys(err, -ENOMEM, from->path, NULL);
	for (; row < from->end && rc == TT_OK; row += step) {
		uint64_t n = tti_min_u64(step, from->end - row);

		rc = tti_live_copy(from, row, n, rows, err);
		if (rc < 0)
			return rc;
		rc = tti_pwrite_all(to, rows, (size_t)(n * from->row_bytes), to_off);
		to_off += n * from->row_bytes;
	}
	return rc < 0 ? tti_fail_sys(err, rc, from->path, "copy what is cut") : TT_OK;
}

/* Was saved under that name by a try that was killed. */
static bool is_saved(const struct tti_cut *cut, const char *name)
{
	const struct tti_live *from = cut->from;
	struct tti_live_open args = {
		.dirfd = cut->dirfd, .name = name, .path = name, .by_pread = true
	};
	struct tti_live there = TTI_LIVE_EMPTY;
	uint32_t a = 0, b = 1;
	bool same = tti_live_open(&there, &args, NULL) == TT_OK &&
		    there.end == from->end - cut->row &&
		    there.row_bytes == from->row_bytes &&
		    tti_rows_crc_of(from, cut->row, from->end, &a, NULL) == TT_OK &&
		    tti_rows_crc_of(&there, 0, there.end, &b, NULL) == TT_OK && a == b;

	tti_live_close(&there);
	return same;
}

static int fill(const struct tti_cut *cut, struct tt_error *err)
{
	const struct tti_live *from = cut->from;
	const struct tti_live_make make = {
		.dtype = from->npy.dtype,
		.row_rank = from->npy.rank ? from->npy.rank - 1 : 0,
		.row_shape = from->npy.shape + 1,
		.capacity = from->end - cut->row,
		.exact = true,
		.end = from->end - cut->row,
	};
	struct tti_live made = TTI_LIVE_EMPTY;
	struct tti_live_open args = {
		.dirfd = cut->dirfd, .name = cut->tmp, .path = cut->tmp, .by_pread = true
	};
	tti_auto_fd fd = tti_live_make(cut->dirfd, cut->tmp, &make, from->path, err);
	int rc = fd < 0 ? fd : tti_live_open(&made, &args, err);
	uint64_t data_off = made.data_off;

	tti_live_close(&made);
	if (rc == TT_OK) {
		rc = tti_narrow_mode(fd, from->fd);
		if (rc < 0)
			tti_fail_sys(err, rc, from->path, "keep what is cut");
	}
	if (rc == TT_OK)
		rc = copy_rows(from, cut->row, fd, data_off, err);
	if (rc == TT_OK && fsync(fd) < 0)
		rc = tti_fail_sys(err, -errno, from->path, "fsync of what is cut");
	return rc;
}

int tti_cut_save(const struct tti_cut *cut, char name[TTI_CUT_NAME_BYTES],
		 struct tt_error *err)
{
	int rc;

	snprintf(name, TTI_CUT_NAME_BYTES, "%s.cut", cut->name);
	for (unsigned i = 2; faccessat(cut->dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	     i++) {
		if (is_saved(cut, name))
			return TT_OK;
		snprintf(name, TTI_CUT_NAME_BYTES, "%s.cut-%u", cut->name, i);
	}
	TTI_FAILPOINT("ring.reboot.before_save");
	rc = fill(cut, err);
	TTI_FAILPOINT("ring.reboot.saved");
	if (rc == TT_OK) {
		rc = tti_rename_new(cut->dirfd, cut->tmp, cut->dirfd, name);
		if (rc == TT_OK)
			rc = sync_dir(cut->dirfd);
		if (rc < 0)
			tti_fail_sys(err, rc, cut->from->path, "keep what is cut");
	}
	TTI_FAILPOINT("ring.reboot.save_named");
	if (rc < 0)
		unlinkat(cut->dirfd, cut->tmp, 0);
	return rc;
}
