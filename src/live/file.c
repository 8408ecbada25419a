/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing a live file; who may write. */
#include "live/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/num.h"
#include "format/manifest.h"
#include "format/settings.h"
#include "live/futex.h"

#define WRITER_NAME ".writer" /* of a ring; its lock is the right to write there */

int tti_file_copy_name(char out[TTI_COPY_NAME_BYTES], int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	snprintf(out, TTI_COPY_NAME_BYTES, ".ticktail-%" PRIx64 ".new",
		 (uint64_t)st.st_ino);
	return TT_OK;
}

static int refuse_busy(int fd, const char *path, struct tt_error *err)
{
	pid_t pid = tti_lock_get_pid(fd);

	if (pid > 0)
		return tti_fail(err, TT_E_BUSY, "%s: being written by process %ld", path,
				(long)pid);
	return tti_fail(err, TT_E_BUSY,
			"%s: being written by another process (its pid is not "
			"known)",
			path);
}

/* The fd, -EAGAIN when the path was replaced in between, or an error. */
static int lock_once(const struct tti_place *place, struct tt_error *err)
{
	tti_auto_fd fd =
		tti_open_regular(place->dirfd, place->name, O_RDWR, place->path, err);
	int rc;

	if (fd < 0)
		return fd;
	rc = tti_lock_try(fd, TTI_LOCK_WRITER);
	if (rc == TT_E_BUSY)
		return refuse_busy(fd, place->path, err);
	if (rc < 0)
		return tti_fail_sys(err, rc, place->path, "lock");
	return tti_same_inode(fd, place->dirfd, place->name) ? tti_steal_fd(&fd)
							     : -EAGAIN;
}

int tti_file_lock(const struct tti_place *place, struct tt_error *err)
{
	int rc;

	do
		rc = lock_once(place, err);
	while (rc == -EAGAIN);
	if (rc >= 0)
		tti_lock_put_pid(
			rc); /* for messages; the other lock is the one that counts */
	return rc;
}

/* ---- A file that belongs to a ring: update only ---- */

/* The name in the manifest that is newest, 0 when there is none. */
static int newest_name(const struct tti_place *place, uint64_t *out, struct tt_error *err)
{
	tti_auto_fd fd = tti_open_regular(place->dirfd, TTI_MANIFEST_NAME,
					  O_RDONLY | O_NOFOLLOW, TTI_MANIFEST_NAME, err);
	tti_auto_free uint64_t *slots = NULL;
	struct stat st;
	uint64_t n;
	int64_t names;
	int rc;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return tti_fail_sys(err, -errno, TTI_MANIFEST_NAME, "fstat");
	rc = tti_manifest_slots((uint64_t)st.st_size, &n, place->path, err);
	if (rc < 0)
		return rc;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return tti_fail_sys(err, -ENOMEM, place->path, NULL);
	rc = tti_pread_all(fd, slots, n * sizeof(*slots), 0);
	if (rc < 0)
		return tti_fail_sys(err, rc, TTI_MANIFEST_NAME, "read");
	names = tti_manifest_queue(slots, n, place->path, err);
	if (names < 0)
		return (int)names;
	*out = names ? slots[names - 1] : 0;
	return TT_OK;
}

static int check_newest(const struct tti_place *place, struct tt_error *err)
{
	uint64_t name = 0, newest = 0;
	enum tti_ring_entry kind = tti_ring_parse_name(place->name, &name);
	int rc = newest_name(place, &newest, err);

	if (rc < 0)
		return rc;
	if (kind == TTI_RING_FILE && name == newest)
		return TT_OK;
	return tti_fail(
		err, TT_E_UNSUPPORTED,
		"%s: is %s: only the newest file of a ring, %" PRIu64 ".npy, can be "
		"updated",
		place->path,
		kind == TTI_RING_FILE && name > newest ? "not published yet" : "sealed",
		newest);
}

/* The lock first: a roll between the look and the lock would seal the file. */
static int lock_ring(struct tt_file *file, struct tt_error *err)
{
	const struct tti_place *place = &file->place;
	int rc;

	file->ring_fd =
		openat(place->dirfd, WRITER_NAME,
		       O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (file->ring_fd < 0)
		return tti_fail(err, -errno, "%s: the ring's %s: %s", place->path,
				WRITER_NAME, tt_strerror(-errno));
	rc = tti_need_regular(file->ring_fd, place->path, err);
	if (rc < 0)
		return rc;
	rc = tti_lock_try(file->ring_fd, TTI_LOCK_WRITER);
	if (rc == TT_E_BUSY)
		return tti_fail(err, rc,
				"%s: its ring is being written by another process",
				place->path);
	if (rc < 0)
		return tti_fail_sys(err, rc, place->path, "lock of the ring");
	if (!tti_same_inode(file->ring_fd, place->dirfd, WRITER_NAME))
		return tti_fail(err, TT_E_BUSY,
				"%s: the ring's %s was replaced; try again", place->path,
				WRITER_NAME);
	rc = tti_fork_guard_add(&file->ring_guard, &file->ring_fd);
	if (rc < 0)
		return tti_fail_sys(err, rc, place->path, "guard the lock against fork");
	return check_newest(place, err);
}

/* ---- Open and close ---- */

/* What a process that died while it copied the file left. */
static void drop_leftover_copy(const struct tt_file *file)
{
	char name[TTI_COPY_NAME_BYTES];

	if (tti_file_copy_name(name, file->live.fd) == TT_OK)
		unlinkat(file->place.dirfd, name, 0);
}

static int check_range(const struct tt_file *file, struct tt_error *err)
{
	if (file->sync_ms < TT_SYNC_NONE || file->sync_ms > TTI_SYNC_MS_MAX)
		return tti_fail(err, TT_E_RANGE,
				"%s: sync %" PRId64 " ms: -1, or 0 to %d",
				file->place.path, file->sync_ms, TTI_SYNC_MS_MAX);
	if (file->wake_us < TT_WAKE_NEVER || file->wake_us > TTI_WAKE_US_MAX)
		return tti_fail(err, TT_E_RANGE,
				"%s: wake %" PRId64 " us: -1, or 0 to %d",
				file->place.path, file->wake_us, TTI_WAKE_US_MAX);
	return TT_OK;
}

/* *fd holds the lock; the live file takes it over. */
static int open_locked(struct tt_file *file, int *fd, struct tt_error *err)
{
	struct tti_live_open args = {
		.path = file->place.path, .writable = true, .take_fd = true, .fd = *fd
	};
	int rc = tti_live_open(&file->live, &args, err);

	if (rc < 0)
		return rc;
	*fd = -1;
	tti_live_choose_copy(&file->live, file->clean_rows);
	file->live.limit = file->live.end;
	rc = tti_fork_guard_add(&file->guard, &file->live.fd);
	if (rc < 0)
		return tti_fail_sys(err, rc, file->place.path,
				    "guard the lock against fork");
	file->appendable = !file->place.in_ring;
	if (!file->appendable)
		return TT_OK;
	drop_leftover_copy(file);
	rc = tti_file_mark_open(file, file->sync_ms != TT_SYNC_NONE, err);
	file->live.limit = file->live.end; /* which it may have moved */
	return rc;
}

static int open_for_writing(struct tt_file *file, const struct tt_file_open_opts *opts,
			    struct tt_error *err)
{
	tti_auto_fd fd = -1;
	int rc;

	if (opts->by_pread || opts->plain)
		return tti_fail(err, TT_E_MISUSE,
				"%s: by_pread and plain are for reading",
				file->place.path);
	rc = check_range(file, err);
	if (rc < 0)
		return rc;
	rc = tti_file_init_duty(file);
	if (rc < 0)
		return tti_fail_sys(err, rc, file->place.path, NULL);
	rc = tti_refuse_network_fs(file->place.dirfd, file->place.path,
				   opts->force_network_fs, err);
	if (rc == TT_OK && file->place.in_ring)
		rc = opts->in_ring ? lock_ring(file, err)
				   : tti_place_refuse_ring(&file->place, "a write", err);
	if (rc < 0)
		return rc;
	fd = tti_file_lock(&file->place, err);
	return fd < 0 ? fd : open_locked(file, &fd, err);
}

static int open_for_reading(struct tt_file *file, const struct tt_file_open_opts *opts,
			    struct tt_error *err)
{
	const struct tti_live_open args = {
		.dirfd = file->place.dirfd,
		.name = file->place.name,
		.path = file->place.path,
		.plain = opts->plain,
		.by_pread = opts->by_pread,
	};

	int rc = tti_live_open(&file->live, &args, err);

	if (rc == TT_OK)
		tti_file_mark_limit(file);
	file->live.limit = file->live.end; /* no row may be appended */
	return rc;
}

/* The options the caller's version of the struct has. */
static struct tt_file_open_opts read_opts(const struct tt_file_open_opts *opts)
{
	struct tt_file_open_opts mine = TT_FILE_OPEN_OPTS_INIT;

	if (opts)
		memcpy(&mine, opts, tti_min_u64(sizeof(mine), opts->struct_size));
	return mine;
}

static void take_writing(struct tt_file *file, const struct tt_file_open_opts *opts)
{
	file->no_helper = opts->no_helper;
	file->wake_us = opts->wake_us;
	file->sync_ms = opts->sync_ms;
	atomic_store_explicit(&file->synced_ns, tti_clock_monotonic_ns(),
			      memory_order_relaxed);
	file->crew_opts.cpu = opts->helper_cpu;
	file->crew_opts.nice = opts->helper_nice;
}

int tt_file_open(struct tt_file **out, const char *path,
		 const struct tt_file_open_opts *opts, struct tt_error *err)
{
	return tti_file_open_hinted(out, path, opts, NULL, err);
}

int tti_file_open_hinted(struct tt_file **out, const char *path,
			 const struct tt_file_open_opts *opts,
			 const struct tti_file_hints *hints, struct tt_error *err)
{
	const struct tt_file_open_opts mine = read_opts(opts);
	bool writing = mine.access == TT_WRITE;
	struct tt_file *file;
	uint64_t end;
	int rc;

	*out = NULL;
	file = tti_calloc_lines(sizeof(*file));
	if (!file)
		return tti_fail_sys(err, -ENOMEM, path, NULL);
	file->live.fd = file->ring_fd = file->place.dirfd = -1;
	tti_file_marker_init(&file->marker);
	file->clean_rows = mine.clean_rows;
	if (hints)
		file->hints = *hints;
	take_writing(file, &mine);
	rc = tti_place_open(&file->place, path, writing, err);
	if (rc == TT_OK)
		rc = writing ? open_for_writing(file, &mine, err)
			     : open_for_reading(file, &mine, err);
	if (rc == TT_OK)
		rc = tti_file_bounds(file, &file->cursor, &end, err);
	if (rc < 0) {
		tt_file_close(file);
		return rc;
	}
	*out = file;
	return TT_OK;
}

int tti_file_open_for(struct tt_file **out, const char *path, const char *what,
		      struct tt_error *err)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	tti_auto_place place = TTI_PLACE_EMPTY;
	int rc = tti_place_open(&place, path, true, err);

	opts.access = TT_WRITE;
	opts.wake_us = TT_WAKE_NEVER; /* the operation wakes when it is done */
	opts.no_helper = true;
	opts.force_network_fs = true; /* done once, by somebody who looks at the result */
	*out = NULL;
	if (rc == TT_OK)
		rc = tti_place_refuse_ring(&place, what, err);
	return rc < 0 ? rc : tt_file_open(out, path, &opts, err);
}

/* What is not on disk by the policy goes there. */
static int settle(struct tt_file *file)
{
	bool begun = file->begun; /* else nothing changed, and nothing changes now */
	bool dirty =
		begun && file->live.end != atomic_load_explicit(&file->synced_end,
								memory_order_relaxed);
	int rc = TT_OK;

	tti_file_leave(file);
	if (file->sync_ms != TT_SYNC_NONE && (dirty || file->lost))
		rc = tt_file_sync(file, NULL);
	if (begun)
		tti_live_stamp(&file->live);
	if (dirty && file->wake_us != TT_WAKE_NEVER && file->live.tail)
		tti_futex_wake(tti_end_futex(file->live.tail));
	return rc;
}

int tt_file_close(struct tt_file *file)
{
	int rc = TT_OK;

	if (!file)
		return TT_OK;
	if (file->appendable && file->live.fd >= 0)
		rc = settle(file);
	tti_file_mark_close(file);
	tti_fork_guard_remove(&file->guard);
	tti_live_close(&file->live);
	tti_fork_guard_remove(&file->ring_guard);
	tti_close_fd(&file->ring_fd);
	for (size_t i = 0; i < file->old_count; i++)
		tti_map_close(&file->old_maps[i]);
	free(file->old_maps);
	tti_place_close(&file->place);
	tti_duty_fini(&file->duty);
	free(file);
	return rc;
}

const char *tt_file_repaired(const struct tt_file *file)
{
	return file->live.repaired;
}

/* ---- Info ---- */

static int64_t writer_pid(const struct tt_file *file)
{
	pid_t pid;

	if (file->live.writable)
		return getpid();
	if (tti_lock_is_held(file->live.fd, TTI_LOCK_WRITER) <= 0)
		return 0;
	pid = tti_lock_get_pid(file->live.fd);
	return pid > 0 ? pid : -1;
}

static uint64_t load_stamp(const struct tti_live *live)
{
	uint64_t stamp = 0;

	if (live->tail_words != 5)
		return 0;
	if (live->tail)
		return tti_stamp_load(live->tail);
	return tti_pread_all(live->fd, &stamp, sizeof(stamp), live->tail_off + 16) < 0
		       ? 0
		       : stamp;
}

int tt_file_info(struct tt_file *file, struct tt_file_info *out, struct tt_error *err)
{
	const struct tti_live *live = &file->live;
	uint64_t start, end;
	int rc = tti_file_bounds(file, &start, &end, err);

	if (rc < 0)
		return rc;
	*out = (struct tt_file_info){
		.dtype = live->npy.dtype,
		.row_rank = live->npy.rank ? live->npy.rank - 1 : 0,
		.row_shape = live->npy.shape + 1,
		.row_bytes = live->row_bytes,
		.capacity = live->capacity,
		.start = start,
		.end = end,
		.update_timestamp = load_stamp(live),
		.data_off = live->data_off,
		.tail_words = live->tail_words,
		.fortran_order = live->npy.fortran_order,
		.aligned_tail = live->aligned,
		.writer_pid = writer_pid(file),
	};
	return TT_OK;
}
