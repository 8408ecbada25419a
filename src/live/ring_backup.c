/* SPDX-License-Identifier: Apache-2.0 */
/* A consistent copy of a ring while it is being written.  The ends of all files but the newest
 * are final, and the newest is copied up to its end at one instant, so the copy is the ring as
 * it was then.  Invariant: dest appears whole or not at all. */
#include "live/ring.h"
#include "live/ring_cut.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/failpoint.h"
#include "base/num.h"
#include "live/ring_site.h"

#define COPY_BYTES (1u << 20)

struct backup {
	struct tti_ring ring;
	struct tti_items items;
	struct tti_site site;
};

static int copy_live(const struct tti_live *live, int to, uint64_t data_off, uint64_t end,
		     struct tt_error *err)
{
	uint64_t rows = tti_max_u64(COPY_BYTES / live->row_bytes, 1);
	tti_auto_free void *buf = malloc(rows * live->row_bytes);
	int rc = buf ? TT_OK : tti_fail_sys(err, -ENOMEM, live->path, NULL);

	for (uint64_t row = 0; rc == TT_OK && row < end; row += rows) {
		uint64_t step = tti_min_u64(rows, end - row);

		rc = tti_live_copy(live, row, step, buf, err);
		if (rc == TT_OK) {
			rc = tti_pwrite_all(to, buf, step * live->row_bytes,
					    data_off + row * live->row_bytes);
			if (rc < 0)
				tti_fail_sys(err, rc, live->path, "copy its rows");
		}
	}
	return rc;
}

/* A new file in the copy, for no more eyes than like (-1: nothing). */
static int make_like(const struct backup *backup, const char *name, int like,
		     struct tt_error *err)
{
	tti_auto_fd fd = openat(backup->site.dirfd, name,
				O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int rc = fd < 0 ? -errno : TT_OK;

	if (rc == TT_OK && like >= 0)
		rc = tti_narrow_mode(fd, like);
	return rc < 0 ? tti_fail_name(err, rc, backup->site.dirfd, backup->site.path,
				      name)
		      : tti_steal_fd(&fd);
}

static int copy_file(struct backup *backup, const struct tti_ring_item *item,
		     struct tt_error *err)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	char file_name[TTI_RING_NAME_BYTES];
	struct tti_live_make make;
	tti_auto_fd fd = -1;
	struct tti_live_made made;
	int rc = tti_ring_open_file(&backup->ring, item->name, item->merged, &live, err);

	tti_ring_format_name(file_name, item->name, item->merged);
	if (rc == TT_OK) {
		make = (struct tti_live_make){ .dtype = live.npy.dtype,
					       .row_rank = live.npy.rank
								   ? live.npy.rank - 1
								   : 0,
					       .row_shape = live.npy.shape + 1,
					       .capacity = live.capacity,
					       .exact = true,
					       .tail_words = live.tail_words };
		rc = tti_live_bounds(&live, &make.start, &make.end, err);
	}
	if (rc == TT_OK) {
		fd = make_like(backup, file_name, live.fd, err);
		rc = fd < 0 ? fd : TT_OK;
	}
	if (rc == TT_OK)
		rc = tti_live_fill(fd, &make, backup->site.path, &made, err);
	if (rc == TT_OK)
		rc = copy_live(&live, fd, made.data_off, make.end, err);
	if (rc == TT_OK && fsync(fd) < 0)
		rc = tti_fail_sys(err, -errno, backup->site.path, file_name);
	tti_live_close(&live);
	TTI_FAILPOINT("ring.backup.file");
	return rc;
}

struct content {
	const void *bytes;
	size_t n;
	int like; /* whose mode bounds the file's; -1: none */
};

static int put(struct backup *backup, const char *name, struct content content,
	       struct tt_error *err)
{
	tti_auto_fd fd = make_like(backup, name, content.like, err);
	int rc = fd < 0 ? fd : tti_write_all(fd, content.bytes, content.n);

	if (fd < 0)
		return rc;
	if (rc == TT_OK && fsync(fd) < 0)
		rc = -errno;
	return rc < 0 ? tti_fail_sys(err, rc, backup->site.path, name) : TT_OK;
}

/* The queue as it was when the list was made. */
static int copy_manifest(struct backup *backup, struct tt_error *err)
{
	uint64_t slots = backup->ring.slots, at = 0;
	tti_auto_free uint64_t *names = NULL;

	for (size_t i = 0; i < backup->items.count; i++)
		at += backup->items.at[i].queued;
	slots = tti_max_u64(tti_max_u64(slots, at), 2);
	names = calloc(slots, sizeof(*names));
	if (!names)
		return tti_fail_sys(err, -ENOMEM, backup->site.path, NULL);
	at = 0;
	for (size_t i = 0; i < backup->items.count; i++)
		if (backup->items.at[i].queued)
			names[at++] = backup->items.at[i].name;
	return put(
		backup, TTI_MANIFEST_NAME,
		(struct content){ names, slots * sizeof(*names), backup->ring.lock_fd },
		err);
}

static bool is_copied(const struct backup *backup, uint64_t name)
{
	return name <= backup->items.newest;
}

/* Settings and entries as they are; the words of living processes as zeros. */
static int copy_settings(struct backup *backup, struct tt_error *err)
{
	tti_auto_free uint8_t *bytes = NULL;
	struct tti_ring *ring = &backup->ring;
	uint64_t count = tti_ring_entry_count(ring);
	size_t n = TTI_ENTRIES_OFF + count * sizeof(struct tti_entry);

	if (!ring->set.addr)
		return TT_OK; /* a ring of npyt: the copy is one too */
	n = tti_max_u64(n, TTI_SETTINGS_MIN_BYTES);
	bytes = calloc(1, n);
	if (!bytes)
		return tti_fail_sys(err, -ENOMEM, backup->site.path, NULL);
	tti_settings_format(bytes, &ring->settings);
	for (uint64_t i = 0; i < count; i++) {
		const struct tti_entry *from = tti_ring_entry(ring, i);
		struct tti_entry *to =
			(struct tti_entry *)(void *)(bytes + TTI_ENTRIES_OFF) + i;
		uint64_t name = tti_entry_name(from);

		if (name == 0 || !is_copied(backup, name))
			continue;
		tti_field_store(&to->first_row_ns, tti_field_load(&from->first_row_ns));
		tti_field_store(&to->rows, name == backup->items.newest
						   ? TTI_ROWS_UNKNOWN
						   : tti_field_load(&from->rows));
		tti_field_store(&to->time_min, tti_field_load(&from->time_min));
		tti_field_store(&to->time_max, tti_field_load(&from->time_max));
		tti_field_store(&to->cut_at, tti_field_load(&from->cut_at));
		tti_entry_merged_store(to, tti_entry_merged(from));
		tti_field_store(&to->merged_row, tti_field_load(&from->merged_row));
		tti_field_store(&to->base, tti_field_load(&from->base));
		tti_field_store(&to->claim, 1);
		tti_entry_name_store(to, name);
	}
	return put(backup, TTI_SETTINGS_NAME, (struct content){ bytes, n, ring->set_fd },
		   err);
}

static int copy_all(struct backup *backup, struct tt_error *err)
{
	int rc = TT_OK;

	for (size_t i = 0; rc == TT_OK && i < backup->items.count; i++) {
		const struct tti_ring_item *item = &backup->items.at[i];

		rc = copy_file(backup, item, err);
		/* npyt's newest may not be made yet: the copy has its name alone, too */
		if (tti_ring_is_unsure(&backup->ring, item, rc))
			rc = TT_OK;
	}
	if (rc == TT_OK)
		rc = copy_manifest(backup, err);
	if (rc == TT_OK)
		rc = copy_settings(backup, err);
	return rc;
}

/* One try; -EAGAIN when a file that was listed is gone: merged or removed meanwhile. */
static int try_copy(struct backup *backup, struct tt_error *err)
{
	int rc = tti_site_begin(&backup->site, err);

	if (rc < 0)
		return rc;
	rc = tti_narrow_mode(backup->site.dirfd, backup->ring.dirfd);
	if (rc < 0)
		tti_fail_sys(err, rc, backup->site.path, "mode of the copy");
	tti_ring_refresh(&backup->ring);
	if (rc == TT_OK)
		rc = tti_ring_visible(&backup->ring, &backup->items, err);
	if (rc == TT_OK)
		rc = copy_all(backup, err);
	if (rc == TT_OK)
		rc = tti_site_finish(&backup->site, err);
	else if (rc == -ENOENT)
		rc = -EAGAIN;
	tti_items_free(&backup->items);
	if (rc < 0)
		tti_site_undo(&backup->site);
	tti_close_fd(&backup->site.dirfd);
	return rc;
}

int tt_ring_backup(const char *dir, const char *dest, struct tt_error *err)
{
	struct backup backup = { .ring = TTI_RING_EMPTY,
				 .site = { .parent = -1, .dirfd = -1 } };
	int rc = tti_ring_open(&backup.ring, dir, false, err);

	if (rc == TT_OK)
		rc = tti_site_find(&backup.site, dest, err);
	if (rc == TT_OK) {
		rc = -EAGAIN;
		for (unsigned tries = 0; tries < 100 && rc == -EAGAIN; tries++)
			rc = try_copy(&backup, err);
	}
	if (rc == -EAGAIN)
		rc = tti_fail(err, -EAGAIN,
			      "%s: files are removed as fast as they are copied", dir);
	tti_site_fini(&backup.site);
	tti_ring_close(&backup.ring);
	return rc;
}
