/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on a path: clear, backup, merge, rename, remove.  Invariant: each does all of it
 * or leaves the files as they were. */
#include "live/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/fs.h"
#include "base/num.h"

#define STEADY_CHUNK \
	(256u << 10) /* bytes; copied in less than a tick of the coarse clock */
#define STEADY_TRIES 5000

/* ---- Clear ---- */

int tt_file_clear(const char *path, struct tt_error *err)
{
	struct tti_file_copy how = { .exact = true, .empty = true };
	struct tt_file *file;
	int rc = tti_file_open_for(&file, path, "clear", err);

	if (rc < 0)
		return rc;
	how.capacity = file->live.capacity;
	rc = tti_file_replace(file, &how, err);
	if (rc == TT_OK) /* rows that were cleared do not come back with the power */
		rc = tt_file_sync(file, err);
	tt_file_close(file);
	return rc;
}

/* ---- Backup ---- */

/* Copy count rows from row on to out, none of them while it was being changed.  Appends move
 * the stamp too, but seldom: a chunk that met one is read again. */
static int read_steady(const struct tti_live *live, uint64_t row, uint64_t count,
		       void *out, struct tt_error *err)
{
	bool stamped = live->tail && live->tail_words == 5;

	for (int i = 0; i < STEADY_TRIES; i++) {
		uint64_t before = stamped ? tti_stamp_load(live->tail) : 0;
		int rc;

		if (stamped && tti_stamp_is_changing(before)) {
			sched_yield();
			continue;
		}
		rc = tti_live_copy(live, row, count, out, err);
		if (rc < 0 || !stamped || tti_stamp_load(live->tail) == before)
			return rc;
	}
	return tti_fail(err, TT_E_TORN, "%s: rows kept changing while they were copied",
			live->path);
}

static int copy_steady(const struct tti_live *live, uint64_t count, int fd,
		       struct tt_error *err)
{
	uint64_t step = tti_max_u64(STEADY_CHUNK / live->row_bytes, 1);
	tti_auto_free void *rows = malloc((size_t)(step * live->row_bytes));

	if (!rows)
		return tti_fail_sys(err, -ENOMEM, live->path, NULL);
	for (uint64_t row = 0; row < count; row += step) {
		uint64_t n = tti_min_u64(step, count - row);
		int rc = read_steady(live, row, n, rows, err);

		if (rc < 0)
			return rc;
		rc = tti_pwrite_all(fd, rows, (size_t)(n * live->row_bytes),
				    live->data_off + row * live->row_bytes);
		if (rc < 0)
			return tti_fail_sys(err, rc, live->path, "write of its backup");
	}
	return TT_OK;
}

static int copy_header(const struct tti_live *live, int fd, const char *dest,
		       struct tt_error *err)
{
	tti_auto_free void *header = malloc(live->data_off);
	int rc;

	if (!header)
		return tti_fail_sys(err, -ENOMEM, live->path, NULL);
	rc = tti_pread_all(live->fd, header, live->data_off, 0);
	if (rc < 0)
		return tti_fail_sys(err, rc, live->path, "read");
	rc = tti_reserve_space(fd, 0, live->file_bytes, false);
	if (rc < 0)
		return tti_fail_space(err, rc, dest, fd, live->file_bytes);
	rc = tti_pwrite_all(fd, header, live->data_off, 0);
	return rc < 0 ? tti_fail_sys(err, rc, dest, "write") : TT_OK;
}

/* Fortran order is kept: those rows lie as the header says. */
static int copy_plain(const struct tti_live *live, int fd, struct tt_error *err)
{
	struct tti_live bytes = *live;

	bytes.npy.fortran_order = false; /* so that the copy takes bytes as they lie */
	return copy_steady(&bytes, live->capacity, fd, err);
}

/* Header as it is, rows, and a tail with the bounds of one instant. */
static int copy_file(const struct tti_live *live, int fd, const char *dest,
		     struct tt_error *err)
{
	struct tti_tail tail = { .words = live->tail_words, .offset = live->data_off };
	uint8_t words[TTI_TAIL_MAX_BYTES];
	int rc = tti_live_bounds(live, &tail.start, &tail.end, err);

	if (rc == TT_OK)
		rc = copy_header(live, fd, dest, err);
	if (rc < 0)
		return rc;
	if (live->tail_words == 0 || live->npy.fortran_order)
		rc = copy_plain(live, fd, err);
	else
		rc = copy_steady(live, tail.end, fd, err);
	if (rc < 0 || live->tail_words == 0)
		return rc;
	tail.update_timestamp = tti_stamp_next(0, (uint64_t)tti_clock_coarse_ns());
	rc = tti_pwrite_all(fd, words, tti_tail_format(words, &tail), live->tail_off);
	return rc < 0 ? tti_fail_sys(err, rc, dest, "write") : TT_OK;
}

static int backup_to(const struct tt_file *file, const struct tti_place *to,
		     struct tt_error *err)
{
	struct tti_new_file copy = TTI_NEW_FILE_EMPTY;
	int rc = tti_place_new(to, &copy, err);

	if (rc == TT_OK) {
		rc = tti_narrow_mode(copy.fd, file->live.fd);
		rc = rc < 0 ? tti_fail_sys(err, rc, to->path, "mode of the copy")
			    : copy_file(&file->live, copy.fd, to->path, err);
	}
	TTI_FAILPOINT("file.backup.filled");
	if (rc == TT_OK && fsync(copy.fd) < 0)
		rc = tti_fail_sys(err, -errno, to->path, "fsync");
	if (rc < 0) {
		tti_place_drop(to, &copy);
		return rc;
	}
	rc = tti_place_link(to, &copy, err);
	TTI_FAILPOINT("file.backup.linked");
	return rc < 0 ? rc : tti_place_sync(to, err);
}

int tt_file_backup(const char *path, const char *dest, struct tt_error *err)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	tti_auto_place to = TTI_PLACE_EMPTY;
	struct tt_file *file;
	struct stat st;
	int rc = tti_place_open(&to, dest, false, err);

	if (rc < 0)
		return rc;
	if (fstatat(to.dirfd, to.name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return tti_fail(err, -EEXIST, "%s: exists already", dest);
	opts.plain = true;
	rc = tt_file_open(&file, path, &opts, err);
	if (rc < 0)
		return rc;
	rc = backup_to(file, &to, err);
	tt_file_close(file);
	return rc;
}

/* ---- Merge ---- */

static int check_alike(const struct tt_file *a, const struct tt_file *b,
		       struct tt_error *err)
{
	const struct tti_npy *x = &a->live.npy, *y = &b->live.npy;

	if (!tt_dtype_equal(x->dtype, y->dtype))
		return tti_fail(err, TT_E_MISMATCH,
				"%s: has the element type %s, %s has %s", b->live.path,
				tt_dtype_descr(y->dtype), a->live.path,
				tt_dtype_descr(x->dtype));
	if (x->rank != y->rank ||
	    (x->rank > 1 &&
	     memcmp(x->shape + 1, y->shape + 1, (x->rank - 1) * sizeof(uint64_t))))
		return tti_fail(err, TT_E_MISMATCH,
				"%s: its rows have another shape than those "
				"of %s",
				b->live.path, a->live.path);
	return TT_OK;
}

/* All rows are copied behind end and published at once. */
static int append_all(struct tt_file *to, struct tt_file *from, struct tt_error *err)
{
	uint64_t start, end, count;
	void *room;
	int rc = tti_live_bounds(&from->live, &start, &end, err);

	if (rc < 0)
		return rc;
	count = end - start;
	rc = tt_file_grow(to, count, err);
	if (rc < 0)
		return rc;
	room = tt_file_reserve(to, count);
	if (!room)
		return tti_fail(err, TT_E_FULL, "%s: %" PRIu64 " rows do not fit",
				to->live.path, count);
	rc = tti_live_copy(&from->live, start, count, room, err);
	if (rc < 0)
		return rc;
	TTI_FAILPOINT("file.merge.before_publish");
	rc = tt_file_publish(to, count);
	return rc < 0 ? tti_fail_sys(err, rc, to->live.path, "write of the tail") : TT_OK;
}

int tt_file_merge(const char *path, const char *other, struct tt_error *err)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *to, *from;
	int rc;

	opts.plain = true;
	rc = tt_file_open(&from, other, &opts, err);
	if (rc < 0)
		return rc;
	rc = tti_file_open_for(&to, path, "merge", err);
	if (rc < 0) {
		tt_file_close(from);
		return rc;
	}
	rc = check_alike(to, from, err);
	if (rc == TT_OK)
		rc = append_all(to, from, err);
	if (rc == TT_OK)
		rc = tt_file_sync(to, err);
	tt_file_close(to);
	tt_file_close(from);
	return rc;
}

/* ---- Rename and remove ---- */

int tt_file_rename(const char *path, const char *to, struct tt_error *err)
{
	tti_auto_place from = TTI_PLACE_EMPTY, dest = TTI_PLACE_EMPTY;
	tti_auto_fd fd = -1;
	int rc = tti_place_open(&from, path, true, err);

	if (rc == TT_OK)
		rc = tti_place_open(&dest, to, false, err);
	if (rc == TT_OK)
		rc = tti_place_refuse_ring(&from, "rename", err);
	if (rc == TT_OK)
		rc = tti_place_refuse_ring(&dest, "rename", err);
	if (rc < 0)
		return rc;
	fd = tti_file_lock(&from, err);
	if (fd < 0)
		return fd;
	rc = tti_rename_new(from.dirfd, from.name, dest.dirfd, dest.name);
	if (rc < 0)
		return tti_fail(err, rc, "%s: rename to %s: %s", path, to,
				tt_strerror(rc));
	tti_file_mark_rename(&from, &dest);
	rc = tti_place_sync(&dest, err);
	return rc < 0 ? rc : tti_place_sync(&from, err);
}

int tt_file_remove(const char *path, struct tt_error *err)
{
	tti_auto_place place = TTI_PLACE_EMPTY;
	char copy[TTI_COPY_NAME_BYTES];
	tti_auto_fd fd = -1;
	int rc = tti_place_open(&place, path, true, err);

	if (rc == TT_OK)
		rc = tti_place_refuse_ring(&place, "removal", err);
	if (rc < 0)
		return rc;
	fd = tti_file_lock(&place, err);
	if (fd < 0)
		return fd;
	if (tti_file_copy_name(copy, fd) == TT_OK)
		unlinkat(place.dirfd, copy, 0);
	if (unlinkat(place.dirfd, place.name, 0) < 0)
		return tti_fail_sys(err, -errno, place.path, "remove");
	tti_file_mark_remove(&place);
	return tti_place_sync(&place, err);
}
