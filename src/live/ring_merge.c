/* SPDX-License-Identifier: Apache-2.0 */
/* Joining files that left the queue.  Invariant: at every instant each row
 * is in exactly one file that readers look at: the joined files until the merged one has its
 * name, then that one; the entries that map old positions are on disk before. */
#include "live/ring_odd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/failpoint.h"
#include "base/num.h"

#define MERGED_BYTES (UINT64_C(256) << 20) /* of one merged file when no batch is given */
#define COPY_BYTES (1u << 20)

struct merge {
	struct tti_ring ring;
	struct tti_ring_lock lock;
	struct tti_items items;
	tt_ring_allow_fn *allow;
	void *ctx;
	uint64_t batch;
	uint64_t merged; /* files joined */
};

struct part {
	uint64_t name, start, end;
	uint64_t shown; /* where it was cut, or UINT64_MAX */
	uint64_t base;	/* rows of the ring before it, or unknown */
};

struct group {
	struct part *parts; /* owned by the caller */
	size_t count;
	uint64_t rows;
	struct tti_npy npy; /* of the first; dtype is owned */
	uint32_t tail_words;
};

static int remove_name(struct tti_ring *ring, uint64_t name, bool merged,
		       struct tt_error *err)
{
	char file_name[TTI_RING_NAME_BYTES], path[TTI_RING_PATH_BYTES];

	tti_ring_format_name(file_name, name, merged);
	if (unlinkat(ring->dirfd, file_name, 0) < 0 && errno != ENOENT)
		return tti_fail_sys(err, -errno,
				    tti_ring_path(ring, file_name, path, sizeof(path)),
				    "remove");
	return TT_OK;
}

static int sync_dir(const struct tti_ring *ring, struct tt_error *err)
{
	int rc = tti_fsync_dir(ring->dirfd);

	return rc < 0 ? tti_fail_sys(err, rc, ring->path, "fsync") : TT_OK;
}

/* ---- What a merge that died left ---- */

static bool has_merged_file(const struct tti_items *items, uint64_t name)
{
	const struct tti_ring_item *item = tti_items_find(items, name);

	return item && item->merged;
}

/* Entries that point to a file which never came would hide their own file as soon as another
 * merge makes one of that name. */
static void forget_unmade(struct tti_ring *ring, const struct tti_items *items)
{
	for (uint64_t i = 0; i < tti_ring_entry_count(ring); i++) {
		struct tti_entry *entry = tti_ring_entry(ring, i);
		uint64_t into = tti_entry_merged(entry);

		if (into == 0 || has_merged_file(items, into))
			continue;
		/* joined, and the merged file was removed since: its rows are gone */
		if (tti_items_find(items, tti_entry_name(entry)))
			tti_entry_merged_store(entry, 0);
	}
}

int tti_ring_finish_merge(struct tti_ring *ring, struct tti_items *items,
			  struct tt_error *err)
{
	size_t kept = 0;

	unlinkat(ring->dirfd, TTI_RING_MERGE_NAME, 0);
	forget_unmade(ring, items);
	for (size_t i = 0; i < items->count; i++) {
		const struct tti_ring_item item = items->at[i];

		if (item.shadowed && !item.queued) {
			int rc = remove_name(ring, item.name, false, err);

			if (rc < 0)
				return rc;
			continue;
		}
		items->at[kept++] = item;
	}
	items->count = kept;
	return TT_OK;
}

/* ---- Making one merged file ---- */

static int copy_rows(const struct tti_live *from, const struct part *part, int to,
		     uint64_t to_off, struct tt_error *err)
{
	uint64_t rows = tti_max_u64(COPY_BYTES / from->row_bytes, 1), row = part->start;
	tti_auto_free void *buf = malloc(rows * from->row_bytes);
	int rc = buf ? TT_OK : tti_fail_sys(err, -ENOMEM, from->path, NULL);

	while (rc == TT_OK && row < part->end) {
		uint64_t step = tti_min_u64(rows, part->end - row);

		rc = tti_live_copy(from, row, step, buf, err);
		if (rc == TT_OK) {
			rc = tti_pwrite_all(to, buf, step * from->row_bytes,
					    to_off + (row - part->start) *
							     from->row_bytes);
			if (rc < 0)
				tti_fail_sys(err, rc, from->path, "copy its rows");
		}
		row += step;
	}
	return rc;
}

static int fill_merged(struct merge *merge, const struct group *group, int fd,
		       uint64_t data_off, struct tt_error *err)
{
	uint64_t at = data_off;
	int rc = TT_OK;

	for (size_t i = 0; i < group->count && rc == TT_OK; i++) {
		const struct part *part = &group->parts[i];
		struct tti_live live = TTI_LIVE_EMPTY;

		rc = tti_ring_open_file(&merge->ring, part->name, false, &live, err);
		if (rc == TT_OK)
			rc = copy_rows(&live, part, fd, at, err);
		at += (part->end - part->start) * group->npy.row_bytes;
		tti_live_close(&live);
		TTI_FAILPOINT("ring.merge.copied");
	}
	if (rc == TT_OK && fsync(fd) < 0)
		rc = tti_fail_sys(err, -errno, merge->ring.path,
				  "fsync of the merged file");
	return rc;
}

static int make_merged(struct merge *merge, const struct group *group,
		       struct tt_error *err)
{
	const struct tti_live_make make = {
		.dtype = group->npy.dtype,
		.row_rank = group->npy.rank ? group->npy.rank - 1 : 0,
		.row_shape = group->npy.shape + 1,
		.capacity = tti_max_u64(group->rows, 1),
		.tail_words = group->tail_words,
		.start = 0,
		.end = group->rows,
	};
	tti_auto_fd fd = -1;
	struct tti_live_made made;
	int rc;

	unlinkat(merge->ring.dirfd, TTI_RING_MERGE_NAME, 0);
	fd = openat(merge->ring.dirfd, TTI_RING_MERGE_NAME,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return tti_fail_name(err, -errno, merge->ring.dirfd, merge->ring.path,
				     TTI_RING_MERGE_NAME);
	rc = tti_live_fill(fd, &make, merge->ring.path, &made, err);
	TTI_FAILPOINT("ring.merge.made");
	if (rc == TT_OK)
		rc = fill_merged(merge, group, fd, made.data_off, err);
	if (rc < 0)
		unlinkat(merge->ring.dirfd, TTI_RING_MERGE_NAME, 0);
	return rc;
}

/* Old positions must be mapped before the first reader can meet the merged file. */
static int enter_parts(struct merge *merge, const struct group *group,
		       struct tt_error *err)
{
	uint64_t first_row = 0;

	for (size_t i = 0; i < group->count; i++) {
		const struct part *part = &group->parts[i];
		struct tti_entry *entry;
		uint64_t idx;
		int rc = tti_ring_make_entry(&merge->ring, part->name, TTI_ROWS_UNKNOWN,
					     &idx, err);

		if (rc < 0)
			return rc;
		entry = tti_ring_entry(&merge->ring, idx);
		tti_field_store(&entry->rows, part->end);
		tti_field_store(&entry->merged_row, first_row);
		TTI_FAILPOINT("ring.merge.entry");
		tti_entry_merged_store(entry, group->parts[0].name);
		first_row += part->end;
	}
	return tti_ring_sync_settings(&merge->ring, err);
}

static int join(struct merge *merge, const struct group *group, struct tt_error *err)
{
	char file_name[TTI_RING_NAME_BYTES];
	int rc = make_merged(merge, group, err);

	if (rc == TT_OK)
		rc = enter_parts(merge, group, err);
	TTI_FAILPOINT("ring.merge.before_rename");
	tti_ring_format_name(file_name, group->parts[0].name, true);
	if (rc == TT_OK && renameat(merge->ring.dirfd, TTI_RING_MERGE_NAME,
				    merge->ring.dirfd, file_name) < 0)
		rc = tti_fail_sys(err, -errno, merge->ring.path, file_name);
	if (rc < 0)
		goto undo;
	TTI_FAILPOINT("ring.merge.renamed");
	rc = sync_dir(&merge->ring, err);
	for (size_t i = group->count; rc == TT_OK && i > 0; i--) {
		TTI_FAILPOINT("ring.merge.unlink");
		rc = remove_name(&merge->ring, group->parts[i - 1].name, false, err);
	}
	if (rc == TT_OK)
		rc = sync_dir(&merge->ring, err);
	merge->merged += group->count;
	return rc;

undo: /* no reader believes the entries without the merged file, the next merge clears them */
	unlinkat(merge->ring.dirfd, TTI_RING_MERGE_NAME, 0);
	return rc;
}

/* ---- Choosing ---- */

static bool may_join(struct merge *merge, const struct tti_ring_item *item,
		     const struct part *part)
{
	struct tt_ring_file file = {
		.name = item->name,
		.start = part->start,
		.end = part->end,
		.sealed = true,
		.cut = part->shown != UINT64_MAX,
	};

	file.cut_at = file.cut ? part->shown : 0;
	tti_ring_format_name(file.file_name, item->name, false);
	file.first_row_ns = tti_ring_first_row_ns(&merge->ring, item);
	return !merge->allow || merge->allow(merge->ctx, &file);
}

/* Files between the two that were removed would be rows that nobody counts as lost. */
static bool follows(const struct group *group, const struct part *part)
{
	const struct part *last = &group->parts[group->count - 1];

	return last->base == TTI_ROWS_UNKNOWN || part->base == TTI_ROWS_UNKNOWN ||
	       last->base + last->end == part->base;
}

static uint64_t base_of(const struct tti_ring *ring, uint64_t name)
{
	uint64_t idx = tti_ring_find_entry(ring, name);

	return idx == TTI_NO_ENTRY ? TTI_ROWS_UNKNOWN
				   : tti_field_load(&tti_ring_entry(ring, idx)->base);
}

/* 1 the file was put into the group, 0 it does not go with it (or at all). */
static int add_part(struct merge *merge, struct group *group,
		    const struct tti_ring_item *item, struct tt_error *err)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	struct part part = { .name = item->name,
			     .base = base_of(&merge->ring, item->name) };
	int rc;

	if (item->merged || item->queued || !item->sealed)
		return 0;
	rc = tti_ring_open_file(&merge->ring, item->name, false, &live, err);
	if (rc == TT_OK)
		rc = tti_live_bounds(&live, &part.start, &part.end, err);
	part.shown = live.shown;
	/* rows before start would have to be made up */
	if (rc == TT_OK && part.start == 0 && may_join(merge, item, &part) &&
	    (group->count == 0 ||
	     (tti_ring_same_rows(&group->npy, &live.npy) && follows(group, &part)))) {
		if (group->count == 0) {
			group->npy = live.npy;
			group->tail_words = live.tail_words;
			live.npy = (struct tti_npy){ 0 }; /* taken over */
		}
		group->parts[group->count++] = part;
		group->rows += part.end;
		rc = 1;
	}
	tti_live_close(&live);
	return rc;
}

static bool is_group_full(const struct merge *merge, const struct group *group)
{
	if (merge->batch != 0)
		return group->count == merge->batch;
	return group->rows * group->npy.row_bytes >= MERGED_BYTES;
}

/* A group that is not full stays for the next time when a batch was asked for. */
static int finish_group(struct merge *merge, struct group *group, struct tt_error *err)
{
	bool enough = merge->batch ? group->count == merge->batch : group->count > 1;
	int rc = enough ? join(merge, group, err) : TT_OK;

	tti_npy_fini(&group->npy);
	*group = (struct group){ .parts = group->parts };
	return rc;
}

static int merge_all(struct merge *merge, struct tt_error *err)
{
	tti_auto_free struct part *parts =
		calloc(merge->items.count ? merge->items.count : 1, sizeof(*parts));
	struct group group = { .parts = parts };
	int rc = parts ? TT_OK : tti_fail_sys(err, -ENOMEM, merge->ring.path, NULL);

	for (size_t i = 0; i < merge->items.count && rc == TT_OK; i++) {
		int added = add_part(merge, &group, &merge->items.at[i], err);

		if (added == 0 && group.count > 0) {
			rc = finish_group(merge, &group, err);
			if (rc == TT_OK)
				added = add_part(merge, &group, &merge->items.at[i], err);
		}
		if (added < 0)
			rc = added;
		else if (rc == TT_OK && added == 1 && is_group_full(merge, &group))
			rc = finish_group(merge, &group, err);
	}
	if (rc == TT_OK && group.count > 0)
		rc = finish_group(merge, &group, err);
	tti_npy_fini(&group.npy);
	return rc;
}

/* The settings file holds the map of old positions; a ring of npyt gets one. */
static int need_settings(struct merge *merge, struct tt_error *err)
{
	struct tti_live newest = TTI_LIVE_EMPTY;
	struct tti_repair repair = { "" };
	int rc;

	if (merge->ring.set.addr)
		return TT_OK;
	rc = tti_ring_refuse_odd(&merge->ring, TTI_SETTINGS_NAME, err);
	if (rc < 0)
		return rc;
	if (merge->ring.set_rc != -ENOENT)
		return tti_fail(
			err, merge->ring.set_rc,
			"%s/%s: cannot be used: open the ring for writing first, which "
			"makes it again",
			merge->ring.path, TTI_SETTINGS_NAME);
	rc = merge->items.count == 0
		     ? -ENOENT
		     : tti_ring_open_file(&merge->ring, merge->items.at[0].name,
					  merge->items.at[0].merged, &newest, err);
	if (rc == TT_OK)
		rc = tti_ring_mend_settings(&merge->ring, &newest, &repair, err);
	tti_live_close(&newest);
	return rc == -ENOENT ? tti_fail_sys(err, rc, merge->ring.path, "no file in it")
			     : rc;
}

static int open_merge(struct merge *merge, const char *dir, struct tt_error *err)
{
	int rc = tti_ring_open(&merge->ring, dir, true, err);

	if (rc < 0)
		return rc;
	(void)tti_ring_index_entries(&merge->ring); /* without memory more slowly */
	rc = tti_ring_lock(&merge->lock, &merge->ring, TTI_LOCK_MAINTAINER, err);
	if (rc == TT_OK && !merge->ring.lock.addr)
		rc = tti_ring_fail_no_manifest(&merge->ring, err);
	if (rc == TT_OK)
		rc = tti_ring_list_entered(&merge->ring, &merge->items, err);
	return rc == TT_OK ? need_settings(merge, err) : rc;
}

static void close_merge(struct merge *merge)
{
	tti_items_free(&merge->items);
	tti_ring_unlock(&merge->lock);
	tti_ring_close(&merge->ring);
}

int tt_ring_merge(const char *dir, uint64_t batch, tt_ring_allow_fn *allow, void *ctx,
		  uint64_t *merged_out, struct tt_error *err)
{
	struct merge merge = { .ring = TTI_RING_EMPTY,
			       .lock = { .fd = -1 },
			       .allow = allow,
			       .ctx = ctx,
			       .batch = batch };
	int rc;

	if (batch == 1)
		return tti_fail(err, TT_E_RANGE,
				"%s: a batch of 1 joins nothing: at least 2", dir);
	rc = open_merge(&merge, dir, err);
	if (rc == TT_OK)
		rc = tti_ring_finish_merge(&merge.ring, &merge.items, err);
	if (rc == TT_OK)
		rc = merge_all(&merge, err);
	close_merge(&merge);
	if (rc == TT_OK && merged_out)
		*merged_out = merge.merged;
	return rc;
}
