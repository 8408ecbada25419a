/* SPDX-License-Identifier: Apache-2.0 */
/* What a ring is, as one consistent look.  Reads with pread only. */
#include "live/ring.h"
#include "live/ring_cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void take_rows(struct tt_ring_info *info, const struct tti_live *live)
{
	if (info->dtype)
		return;
	info->dtype = tt_dtype_ref(live->npy.dtype);
	info->row_rank = live->npy.rank ? live->npy.rank - 1 : 0;
	memcpy(info->row_shape, live->npy.shape + 1,
	       info->row_rank * sizeof(*info->row_shape));
	info->row_bytes = live->row_bytes;
	info->capacity = live->capacity;
}

/* 1 added, 0 gone meanwhile. */
static int add_file(struct tti_ring *ring, struct tt_ring_info *info,
		    const struct tti_ring_item *item, struct tt_error *err)
{
	struct tt_ring_file *file = &info->files[info->file_count];
	struct tti_live live = TTI_LIVE_EMPTY;
	int rc = tti_ring_open_file(ring, item->name, item->merged, &live, err);

	*file = (struct tt_ring_file){ .name = item->name,
				       .sealed = item->sealed,
				       .queued = item->queued,
				       .merged = item->merged };
	tti_ring_format_name(file->file_name, item->name, item->merged);
	if (rc == TT_OK)
		rc = tti_live_bounds(&live, &file->start, &file->end, err);
	if (rc == TT_OK) {
		file->capacity = live.capacity;
		file->cut = live.shown != UINT64_MAX;
		file->cut_at = file->cut ? live.shown : 0;
		take_rows(info, &live);
	}
	tti_live_close(&live);
	if (rc == -ENOENT)
		return 0;
	/* npyt makes the file after its name: what is not whole yet is an empty file */
	if (rc < 0 && !tti_ring_is_unsure(ring, item, rc)) {
		if (!tti_ring_is_damage(rc))
			return rc;
		file->damaged = true;
		file->start = file->end = 0;
	}
	file->first_row_ns = tti_ring_first_row_ns(ring, item);
	info->rows += file->end - file->start;
	info->file_count++;
	return 1;
}

static void turn_around(struct tt_ring_info *info)
{
	for (size_t i = 0; i < info->file_count / 2; i++) {
		struct tt_ring_file swap = info->files[i];

		info->files[i] = info->files[info->file_count - 1 - i];
		info->files[info->file_count - 1 - i] = swap;
	}
}

/* Of the ring as a whole. */
static void fill_settings(struct tti_ring *ring, struct tt_ring_info *info)
{
	info->foreign = tti_ring_is_foreign(ring);
	info->keep = ring->lock.addr  ? ring->slots
		     : ring->set.addr ? ring->settings.keep
				      : 0;
	info->opts = (struct tt_ring_opts)TT_RING_OPTS_INIT;
	info->opts.capacity = info->capacity;
	info->opts.keep = info->keep;
	if (ring->set.addr) {
		tti_ring_settings_to(&info->opts, &ring->settings);
		info->capacity = ring->settings.capacity;
	}
	if (!info->foreign)
		memcpy(info->ring_id, ring->settings.ring_id, sizeof(info->ring_id));
	info->opts.row_rank = info->row_rank;
	info->opts.row_shape = info->row_shape;
	info->writer_pid = tti_ring_writer_pid(ring);
}

static int fill(struct tti_ring *ring, struct tt_ring_info *info, struct tt_error *err)
{
	tti_auto_items items = { 0 };
	struct tti_ring_like like;
	int rc = tti_ring_visible(ring, &items, err);

	if (rc < 0)
		return rc;
	info->files = calloc(items.count ? items.count : 1, sizeof(*info->files));
	if (!info->files)
		return tti_fail_sys(err, -ENOMEM, ring->path, NULL);
	/* newest first, so that the ring's type is that of its newest file */
	for (size_t i = items.count; rc >= 0 && i > 0; i--)
		rc = add_file(ring, info, &items.at[i - 1], err);
	if (rc < 0)
		return rc;
	if (!info->dtype && tti_ring_find_like(ring, &like, NULL) == 1) {
		const struct tti_live rows = { .npy = like.npy,
					       .row_bytes = like.npy.row_bytes,
					       .capacity = like.capacity };

		take_rows(info, &rows);
		tti_ring_like_fini(&like);
	}
	turn_around(info);
	fill_settings(ring, info);
	return TT_OK;
}

int tt_ring_info(const char *dir, struct tt_ring_info *out, struct tt_error *err)
{
	struct tti_ring ring;
	int rc;

	*out = (struct tt_ring_info){ 0 };
	rc = tti_ring_open(&ring, dir, false, err);
	if (rc < 0)
		return rc;
	(void)tti_ring_index_entries(&ring); /* without memory more slowly */
	rc = fill(&ring, out, err);
	tti_ring_close(&ring);
	if (rc < 0)
		tt_ring_info_free(out);
	return rc;
}

void tt_ring_info_free(struct tt_ring_info *info)
{
	if (!info)
		return;
	tt_dtype_unref(info->dtype);
	free(info->files);
	*info = (struct tt_ring_info){ 0 };
}
