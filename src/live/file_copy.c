/* SPDX-License-Identifier: Apache-2.0 */
/* Growing, trimming and clearing.  In place would be unsafe: under a reader's mapping the old
 * tail words become rows, or pages vanish.  So the file is copied beside itself, the old one is
 * marked superseded, and the copy takes its name.  Clearing leaves an empty file in its place, so
 * that rows which readers and backups are looking at are never overwritten by those that follow.
 * Invariant: the bytes of the old file never change again once it is marked; the writer lock
 * is held on both files until the copy has the name. */
#include "live/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/num.h"
#include "live/futex.h"

#define CHUNK (4u << 20)

int tti_file_copy_rows(const struct tti_live *from, uint64_t count, int fd,
		       uint64_t data_off, struct tt_error *err)
{
	uint64_t step = tti_max_u64(CHUNK / from->row_bytes, 1);
	tti_auto_free void *rows = NULL;
	int rc = TT_OK;

	step = tti_min_u64(step, count);
	if (count == 0)
		return TT_OK;
	rows = malloc((size_t)(step * from->row_bytes));
	if (!rows)
		return tti_fail_sys(err, -ENOMEM, from->path, NULL);
	for (uint64_t row = 0; rc == TT_OK && row < count; row += step) {
		uint64_t n = tti_min_u64(step, count - row);

		rc = tti_live_copy(from, row, n, rows, err);
		if (rc < 0)
			return rc;
		rc = tti_pwrite_all(fd, rows, (size_t)(n * from->row_bytes),
				    data_off + row * from->row_bytes);
		if (rc < 0)
			return tti_fail_sys(err, rc, from->path, "write of its copy");
	}
	return rc;
}

int tti_file_open_copy(const struct tti_place *place, int old, struct tt_error *err)
{
	char name[TTI_COPY_NAME_BYTES];
	tti_auto_fd fd = -1;
	struct stat st;
	int rc = tti_file_copy_name(name, old);

	if (rc < 0 || fstat(old, &st) < 0)
		return tti_fail_sys(err, rc < 0 ? rc : -errno, place->path, "fstat");
	/* ours alone: who holds the lock of old is the only one who uses this name */
	if (unlinkat(place->dirfd, name, 0) < 0 && errno != ENOENT)
		return tti_fail_sys(err, -errno, place->path,
				    "removing a left-over copy");
	fd = openat(place->dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return tti_fail_name(err, -errno, place->dirfd, place->path,
				     "making a copy beside it");
	TTI_FAILPOINT("file.copy.created");
	/* the owner may only be kept by root; the mode matters to readers */
	if (fchown(fd, st.st_uid, st.st_gid) < 0 && errno != EPERM)
		rc = -errno;
	if (rc == TT_OK && fchmod(fd, st.st_mode & 0777) < 0)
		rc = -errno;
	if (rc == TT_OK)
		rc = tti_lock_try(fd, TTI_LOCK_WRITER);
	if (rc < 0) {
		unlinkat(place->dirfd, name, 0);
		return tti_fail_sys(err, rc, place->path, "making a copy beside it");
	}
	return tti_steal_fd(&fd);
}

/* The copy, complete and synced. */
static int fill_copy(const struct tt_file *file, int fd, const struct tti_file_copy *how,
		     struct tt_error *err)
{
	const struct tti_live *live = &file->live;
	struct tti_live_make make = {
		.dtype = live->npy.dtype,
		.row_rank = live->npy.rank - 1,
		.row_shape = live->npy.shape + 1,
		.capacity = how->capacity,
		.exact = how->exact,
		.tail_words = live->tail_words ? live->tail_words : 5,
	};
	struct tti_live_made made;
	int rc = how->empty ? TT_OK : tti_live_bounds(live, &make.start, &make.end, err);

	if (rc == TT_OK && live->tail_words == 5 && live->tail)
		make.stamp_after = tti_stamp_peek(live->tail);
	if (rc == TT_OK)
		rc = tti_live_fill(fd, &make, live->path, &made, err);
	TTI_FAILPOINT("file.copy.reserved");
	if (rc == TT_OK)
		rc = tti_file_copy_rows(live, make.end, fd, made.data_off, err);
	TTI_FAILPOINT("file.copy.filled");
	if (rc == TT_OK && fsync(fd) < 0)
		rc = tti_fail_sys(err, -errno, live->path, "fsync of its copy");
	return rc;
}

/* The old file is nobody's now and nothing will be written behind its rows: who still has it
 * open sees it empty, start first, so that at every instant start <= end. */
static void empty_old(struct tti_live *live)
{
	uint64_t stamp = live->tail ? tti_stamp_peek(live->tail) : 0;

	tti_live_put_word(live, 0, 0);
	TTI_FAILPOINT("file.clear.before_end");
	tti_live_publish(live, 0);
	TTI_FAILPOINT("file.clear.before_stamp");
	if (live->tail_words == 5)
		tti_live_put_word(live, 2,
				  tti_stamp_next(stamp, (uint64_t)tti_clock_coarse_ns()));
	if (live->tail)
		tti_futex_wake(tti_end_futex(live->tail));
	TTI_FAILPOINT("file.clear.done");
}

/* Give an empty copy the name.  The old file is not marked: readers who go on at the same row
 * in it would be wrong. */
static int take_name_empty(struct tt_file *file, const char *copy, struct tt_error *err)
{
	const struct tti_place *place = &file->place;

	TTI_FAILPOINT("file.clear.before_rename");
	if (renameat(place->dirfd, copy, place->dirfd, place->name) < 0)
		return tti_fail_sys(err, -errno, place->path, "rename of an empty file");
	TTI_FAILPOINT("file.clear.renamed");
	empty_old(&file->live);
	return TT_OK;
}

/* Mark the old file, wake its readers, and give the copy the name. */
static int take_name(struct tt_file *file, const char *copy, struct tt_error *err)
{
	struct tti_live *live = &file->live;
	const struct tti_place *place = &file->place;
	uint32_t last = live->tail_words - 1;
	int rc = TT_OK;

	TTI_FAILPOINT("file.copy.before_superseded");
	if (live->tail_words)
		rc = tti_live_put_word(live, last, TTI_TAIL_SUPERSEDED);
	if (rc < 0)
		return tti_fail_sys(err, rc, live->path, "write of the tail");
	TTI_FAILPOINT("file.copy.before_rename");
	if (renameat(place->dirfd, copy, place->dirfd, place->name) < 0) {
		rc = tti_fail_sys(err, -errno, live->path, "rename of its copy");
		goto undo;
	}
	TTI_FAILPOINT("file.copy.renamed");
	if (live->tail)
		tti_futex_wake(tti_end_futex(live->tail));
	return TT_OK;

undo: /* readers go on with this file */
	if (live->tail_words)
		tti_live_put_word(live, last, TTI_TAIL_MAGIC);
	return rc;
}

/* A place for the old mapping: views into it stay valid until the handle is closed. */
static int reserve_old_map(struct tt_file *file)
{
	struct tti_map *maps =
		reallocarray(file->old_maps, file->old_count + 1, sizeof(*maps));

	if (!maps)
		return -ENOMEM;
	file->old_maps = maps;
	return TT_OK;
}

/* The handle goes on with next. */
static void switch_to(struct tt_file *file, struct tti_live *next)
{
	tti_file_leave(file); /* the next append lets the threads in again */
	memcpy(next->repaired, file->live.repaired, sizeof(next->repaired));
	file->old_maps[file->old_count++] = file->live.map;
	file->live.map = (struct tti_map){ 0 };
	tti_fork_guard_remove(&file->guard);
	tti_live_close(&file->live); /* its lock goes with it */
	file->live = *next;
	tti_live_choose_copy(&file->live, file->clean_rows);
	file->live.limit = file->live.end;
	file->lost = false;
	file->populated = 0;
	tti_fork_guard_add(&file->guard,
			   &file->live.fd); /* cannot fail: was done before */
	tti_lock_put_pid(file->live.fd);
	file->appendable = true;
}

static int replace(struct tt_file *file, int *fd, const char *copy, bool empty,
		   struct tt_error *err)
{
	struct tti_live_open args = {
		.path = file->place.path, .writable = true, .take_fd = true, .fd = *fd
	};
	struct tti_live next;
	int rc = reserve_old_map(file);

	if (rc < 0)
		return tti_fail_sys(err, rc, file->place.path, NULL);
	rc = tti_live_open(&next, &args, err);
	if (rc < 0)
		return rc;
	*fd = -1; /* next's now */
	rc = tti_file_mark_copy(file, &next, err);
	if (rc == TT_OK)
		rc = empty ? take_name_empty(file, copy, err)
			   : take_name(file, copy, err);
	if (rc < 0) {
		tti_file_mark_moved(file);
		tti_live_close(&next);
		return rc;
	}
	switch_to(file, &next);
	tti_file_mark_moved(file);
	return tti_place_sync(&file->place, err);
}

int tti_file_replace(struct tt_file *file, const struct tti_file_copy *how,
		     struct tt_error *err)
{
	char copy[TTI_COPY_NAME_BYTES];
	tti_auto_fd fd = tti_file_open_copy(&file->place, file->live.fd, err);
	int rc;

	if (fd < 0)
		return fd;
	rc = tti_file_copy_name(copy, file->live.fd);
	if (rc == TT_OK)
		rc = fill_copy(file, fd, how, err);
	if (rc == TT_OK)
		rc = replace(file, &fd, copy, how->empty, err);
	if (rc < 0)
		goto undo;
	return TT_OK;

undo: /* the copy's name; gone already when it took the file's */
	unlinkat(file->place.dirfd, copy, 0);
	return rc;
}

/* ---- What callers ask for ---- */

int tt_file_grow(struct tt_file *file, uint64_t count, struct tt_error *err)
{
	const struct tti_live *live = &file->live;
	uint64_t want, twice;

	if (!file->appendable)
		return tti_fail(err, TT_E_MISUSE, "%s: not open for appending",
				file->place.path);
	if (count <= tti_live_room(live))
		return TT_OK;
	if (tti_add_overflow(live->end, count, &want))
		return tti_fail(err, TT_E_RANGE, "%s: %" PRIu64 " more rows are too many",
				live->path, count);
	/* half as much again, so that growing row by row copies each row a few times only */
	if (!tti_add_overflow(live->capacity, live->capacity / 2, &twice))
		want = tti_max_u64(want, twice);
	return tti_file_replace(file, &(struct tti_file_copy){ .capacity = want }, err);
}

/* Copy to the capacity (rounded up to an aligned tail), unless the file has it already. */
static int resize(struct tt_file *file, uint64_t capacity, struct tt_error *err)
{
	const struct tti_live *live = &file->live;
	uint64_t rounded;

	if (live->end > capacity)
		return tti_fail(err, TT_E_RANGE,
				"%s: a capacity of %" PRIu64
				" rows would lose some: it holds "
				"%" PRIu64,
				live->path, capacity, live->end);
	if (!tti_tail_align_capacity(capacity, live->data_off, live->row_bytes, &rounded))
		return tti_fail(err, TT_E_RANGE,
				"%s: %" PRIu64 " rows are more than a file can "
				"hold",
				live->path, capacity);
	if (rounded == live->capacity && live->data_off % 64 == 0)
		return TT_OK;
	return tti_file_replace(file, &(struct tti_file_copy){ .capacity = capacity },
				err);
}

int tt_file_resize(const char *path, uint64_t capacity, struct tt_error *err)
{
	struct tt_file *file;
	int rc;

	if (capacity == 0)
		return tti_fail(err, TT_E_RANGE,
				"%s: a capacity of 0 rows; it takes at least 1", path);
	rc = tti_file_open_for(&file, path, "resize", err);
	if (rc < 0)
		return rc;
	rc = resize(file, capacity, err);
	tt_file_close(file);
	return rc;
}

int tt_file_trim(const char *path, struct tt_error *err)
{
	struct tt_file *file;
	uint64_t least, rounded;
	int rc = tti_file_open_for(&file, path, "resize", err);

	if (rc < 0)
		return rc;
	least = tti_max_u64(file->live.end, 1);
	if (tti_tail_align_capacity(least, 0, file->live.row_bytes, &rounded) &&
	    rounded < file->live.capacity)
		rc = resize(file, least, err);
	tt_file_close(file);
	return rc;
}
