/* SPDX-License-Identifier: Apache-2.0 */
/* A ring's directory: opening it with its manifest, its settings file and its files.
 * Invariant: nothing in the directory is followed (symlinks) or waited for (FIFOs), and what
 * cannot be used is left unmapped, with the reason kept. */
#include "live/ring.h"
#include "live/ring_cut.h"
#include "live/ring_odd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/limits.h"
#include "base/num.h"

const char *tti_ring_path(const struct tti_ring *ring, const char *name, char *buf,
			  size_t size)
{
	snprintf(buf, size, "%s/%s", ring->path, name);
	return buf;
}

/* O_NOFOLLOW: a ring's own files are made by its writer, never links. */
static int open_own(const struct tti_ring *ring, const char *name, struct tt_error *err)
{
	char path[TTI_RING_PATH_BYTES];

	return tti_open_regular(ring->dirfd, name,
				(ring->writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW,
				tti_ring_path(ring, name, path, sizeof(path)), err);
}

/* A manifest of an odd size, or with none, leaves the mapping empty: readers then go by the
 * directory, the next writer makes it right. */
void tti_ring_refresh_manifest(struct tti_ring *ring)
{
	struct stat st;
	struct tti_map map;
	uint64_t slots;

	if (ring->lock_fd < 0) {
		ring->lock_fd = open_own(ring, TTI_MANIFEST_NAME, NULL);
		if (ring->lock_fd < 0) {
			ring->lock_rc = ring->lock_fd;
			ring->lock_fd = -1;
			return;
		}
	}
	ring->lock_rc = fstat(ring->lock_fd, &st) < 0 ? -errno : TT_OK;
	if (ring->lock_rc < 0 || (uint64_t)st.st_size <= ring->lock.bytes)
		return;
	ring->lock_rc = tti_manifest_slots((uint64_t)st.st_size, &slots, "", NULL);
	if (ring->lock_rc == TT_OK)
		ring->lock_rc =
			tti_map_open(&map, ring->lock_fd, slots * 8, ring->writable);
	if (ring->lock_rc < 0)
		return;
	tti_map_close(&ring->lock);
	ring->lock = map;
	ring->slots = slots;
}

/* The first page says whether the rest can be believed. */
static int judge_settings(struct tti_ring *ring, uint64_t bytes, struct tt_error *err)
{
	char path[TTI_RING_PATH_BYTES];
	uint8_t page[TTI_WORDS_OFF];
	int rc;

	tti_ring_path(ring, TTI_SETTINGS_NAME, path, sizeof(path));
	if (bytes < sizeof(page))
		return tti_fail(err, TT_E_DAMAGED, "%s: %" PRIu64 " bytes are too few",
				path, bytes);
	rc = tti_pread_all(ring->set_fd, page, sizeof(page), 0);
	if (rc < 0)
		return tti_fail_sys(err, rc, path, "read");
	rc = tti_settings_check(page, bytes, path, err);
	if (rc == TT_OK)
		rc = tti_settings_pick(page, &ring->settings, NULL, path, err);
	return rc;
}

static void map_settings(struct tti_ring *ring)
{
	struct stat st;
	struct tti_map map;
	uint64_t bytes;

	if (ring->set_fd < 0) {
		ring->set_fd = open_own(ring, TTI_SETTINGS_NAME, NULL);
		if (ring->set_fd < 0) {
			ring->set_rc = ring->set_fd;
			ring->set_fd = -1;
			return;
		}
	}
	if (fstat(ring->set_fd, &st) < 0) {
		ring->set_rc = -errno;
		return;
	}
	/* a file that is longer than any can be holds nothing more */
	bytes = tti_min_u64((uint64_t)st.st_size, TTI_SETTINGS_MAX_BYTES);
	if (ring->set.addr && bytes <= ring->set.bytes)
		return;
	ring->set_rc = judge_settings(ring, (uint64_t)st.st_size, NULL);
	if (ring->set_rc < 0)
		return;
	ring->set_rc = tti_map_open(&map, ring->set_fd, bytes, ring->writable);
	if (ring->set_rc < 0)
		return;
	tti_map_close(&ring->set);
	ring->set = map;
}

int tti_ring_fail_manifest(const struct tti_ring *ring, struct tt_error *err)
{
	char path[TTI_RING_PATH_BYTES];
	int fd;

	if (tti_ring_refuse_odd(ring, TTI_MANIFEST_NAME, err) < 0)
		return TT_E_FORMAT;
	tti_ring_path(ring, TTI_MANIFEST_NAME, path, sizeof(path));
	if (ring->lock_fd >= 0)
		return tti_fail_map(err, ring->lock_rc, path, TTI_MANIFEST_MAX_SLOTS * 8);
	/* again, for its words */
	fd = open_own(ring, TTI_MANIFEST_NAME, err);
	if (fd < 0)
		return fd;
	tti_close_fd(&fd);
	return tti_fail_sys(err, ring->lock_rc, path, NULL);
}

/* Nobody could look, for want of something: that says nothing about the ring. */
static bool is_want(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM;
}

static int refuse_blind(const struct tti_ring *ring, struct tt_error *err)
{
	char path[TTI_RING_PATH_BYTES];

	if (is_want(ring->lock_rc))
		return tti_ring_fail_manifest(ring, err);
	if (!is_want(ring->set_rc))
		return TT_OK;
	tti_ring_path(ring, TTI_SETTINGS_NAME, path, sizeof(path));
	return tti_fail_map(err, ring->set_rc, path, TTI_SETTINGS_MIN_BYTES);
}

void tti_ring_refresh(struct tti_ring *ring)
{
	tti_ring_refresh_manifest(ring);
	map_settings(ring);
}

void tti_ring_close(struct tti_ring *ring)
{
	tti_map_close(&ring->lock);
	tti_map_close(&ring->set);
	tti_close_fd(&ring->lock_fd);
	tti_close_fd(&ring->set_fd);
	tti_close_fd(&ring->dirfd);
	tti_ring_index_free(ring);
	free(ring->path);
	*ring = (struct tti_ring)TTI_RING_EMPTY;
}

uint64_t tti_ring_newest(const struct tti_ring *ring)
{
	for (uint64_t i = ring->lock.addr ? ring->slots : 0; i > 0; i--) {
		uint64_t name = tti_slot_load(tti_ring_slots(ring), i - 1);

		if (name != 0)
			return name;
	}
	return 0;
}

static bool is_there(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A ring that lost manifest and settings still has its files. */
static bool is_ring(struct tti_ring *ring)
{
	return is_there(ring->dirfd, TTI_MANIFEST_NAME) ||
	       is_there(ring->dirfd, TTI_SETTINGS_NAME) || tti_ring_has_files(ring);
}

int tti_ring_open(struct tti_ring *ring, const char *dir, bool writable,
		  struct tt_error *err)
{
	int rc;

	*ring = (struct tti_ring)TTI_RING_EMPTY;
	ring->writable = writable;
	ring->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ring->dirfd < 0 && errno == ENOTDIR)
		return tti_fail(err, TT_E_FORMAT,
				"%s: not a directory, so no ring; 'ticktail create "
				"--rolling' makes one",
				dir);
	if (ring->dirfd < 0)
		return tti_fail_sys(err, -errno, dir, NULL);
	ring->path = strdup(dir);
	if (!ring->path) {
		tti_ring_close(ring);
		return tti_fail_sys(err, -ENOMEM, dir, NULL);
	}
	if (!is_ring(ring)) {
		tti_ring_close(ring);
		return tti_fail(err, TT_E_FORMAT,
				"%s: neither %s nor %s in it: not a ring", dir,
				TTI_MANIFEST_NAME, TTI_SETTINGS_NAME);
	}
	tti_ring_refresh(ring);
	rc = refuse_blind(ring, err);
	if (rc < 0)
		tti_ring_close(ring);
	return rc;
}

/* An entry of the ring's directory. */
struct file_name {
	char name[TTI_RING_NAME_BYTES], path[TTI_RING_PATH_BYTES];
};

static void name_file(struct file_name *out, const struct tti_ring *ring, uint64_t name,
		      bool merged)
{
	tti_ring_format_name(out->name, name, merged);
	tti_ring_path(ring, out->name, out->path, sizeof(out->path));
}

static int open_named(const struct file_name *file, struct tti_live_open args,
		      struct tti_live *live, struct tt_error *err)
{
	tti_auto_fd fd = tti_open_regular(
		args.dirfd, file->name, (args.writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW,
		file->path, err);
	int rc;

	if (fd < 0)
		return fd;
	args.name = file->name;
	args.path = file->path;
	args.fd = fd;
	args.take_fd = true;
	rc = tti_live_open(live, &args, err);
	if (rc < 0)
		return rc;
	tti_steal_fd(&fd);
	return TT_OK;
}

static int open_to_read(const struct tti_ring *ring, const struct tti_ring_item *item,
			bool by_pread, struct tti_live *live, struct tt_error *err)
{
	struct file_name file;
	int rc;

	name_file(&file, ring, item->name, item->merged);
	rc = open_named(
		&file,
		(struct tti_live_open){ .dirfd = ring->dirfd, .by_pread = by_pread },
		live, err);
	if (rc == TT_OK)
		tti_ring_limit_file(ring, item->name, item->merged, live);
	return rc;
}

int tti_ring_open_file(const struct tti_ring *ring, uint64_t name, bool merged,
		       struct tti_live *live, struct tt_error *err)
{
	const struct tti_ring_item item = { .name = name, .merged = merged };

	return open_to_read(ring, &item, true, live, err);
}

int tti_ring_map_file(const struct tti_ring *ring, uint64_t name, bool merged,
		      struct tti_live *live, struct tt_error *err)
{
	const struct tti_ring_item item = { .name = name, .merged = merged };

	return open_to_read(ring, &item, false, live, err);
}

int tti_ring_open_writable(const struct tti_ring *ring, uint64_t name,
			   struct tti_live *live, struct tt_error *err)
{
	struct file_name file;

	name_file(&file, ring, name, false);
	return open_named(
		&file, (struct tti_live_open){ .dirfd = ring->dirfd, .writable = true },
		live, err);
}

bool tti_ring_is_incomplete(int rc)
{
	return rc == -ENOENT || rc == -ENODATA || rc == TT_E_FORMAT ||
	       rc == TT_E_DAMAGED || rc == TT_E_UNSUPPORTED; /* rows, and no tail yet */
}

bool tti_ring_is_damage(int rc)
{
	return (tti_ring_is_incomplete(rc) && rc != -ENOENT) || rc == TT_E_DTYPE ||
	       rc == TT_E_MISMATCH || rc == -EIO || rc == -ELOOP || rc == -EISDIR;
}

bool tti_ring_same_rows(const struct tti_npy *a, const struct tti_npy *b)
{
	if (a->rank != b->rank || !tt_dtype_equal(a->dtype, b->dtype))
		return false;
	for (uint32_t i = 1; i < a->rank; i++)
		if (a->shape[i] != b->shape[i])
			return false;
	return true;
}

int64_t tti_ring_first_row_ns(const struct tti_ring *ring,
			      const struct tti_ring_item *item)
{
	uint64_t idx = tti_ring_find_entry(ring, item->name);
	int64_t now = tti_clock_realtime_ns();
	char file_name[TTI_RING_NAME_BYTES];
	struct stat st;

	if (idx != TTI_NO_ENTRY) {
		int64_t first = tti_field_load(&tti_ring_entry(ring, idx)->first_row_ns);

		if (first != INT64_MIN)
			return first;
	}
	tti_ring_format_name(file_name, item->name, item->merged);
	if (item->name > (uint64_t)now &&
	    fstatat(ring->dirfd, file_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return item->name > INT64_MAX ? INT64_MAX : (int64_t)item->name;
}
