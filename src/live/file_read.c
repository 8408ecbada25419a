/* SPDX-License-Identifier: Apache-2.0 */
/* Views, copies and the cursor of a single file.  Invariant: a view lies inside the rows that
 * were published when it was made. */
#include "live/file.h"

#include <inttypes.h>
#include "base/error.h"
#include "base/num.h"

uint64_t tt_file_size(const struct tt_file *file)
{
	uint64_t start, end;

	return tti_file_bounds(file, &start, &end, NULL) < 0 ? 0 : end - start;
}

uint64_t tt_file_room(const struct tt_file *file)
{
	uint64_t end = tti_live_end(&file->live);

	return end < file->live.capacity ? file->live.capacity - end : 0;
}

int tt_file_view(struct tt_file *file, uint64_t index, uint64_t count,
		 struct tt_view *out)
{
	const struct tti_live *live = &file->live;
	uint64_t start, end;
	int rc;

	if (tti_file_no_views(file))
		return TT_E_UNSUPPORTED;
	rc = tti_file_bounds(file, &start, &end, NULL);
	if (rc < 0)
		return rc;
	if (index > end - start)
		return TT_E_RANGE;
	*out = (struct tt_view){
		.rows = live->rows + (start + index) * live->row_bytes,
		.count = tti_min_u64(count, end - start - index),
	};
	return TT_OK;
}

int tt_file_data(struct tt_file *file, struct tt_view *out)
{
	return tt_file_view(file, 0, UINT64_MAX, out);
}

int tt_file_head(struct tt_file *file, uint64_t count, struct tt_view *out)
{
	return tt_file_view(file, 0, count, out);
}

int tt_file_tail(struct tt_file *file, uint64_t count, struct tt_view *out)
{
	struct tt_view all;
	int rc = tt_file_data(file, &all);

	if (rc < 0)
		return rc;
	count = tti_min_u64(count, all.count);
	*out = (struct tt_view){
		.rows = (const unsigned char *)all.rows +
			(all.count - count) * file->live.row_bytes,
		.count = count,
	};
	return TT_OK;
}

const void *tt_file_at(struct tt_file *file, int64_t index)
{
	struct tt_view all;
	uint64_t at = (uint64_t)index;

	if (tt_file_data(file, &all) < 0)
		return NULL;
	if (index < 0) {
		uint64_t back = -(uint64_t)index;

		if (back > all.count)
			return NULL;
		at = all.count - back;
	}
	if (at >= all.count)
		return NULL;
	return (const unsigned char *)all.rows + at * file->live.row_bytes;
}

/* Rows [index, index + count) must be published. */
static int check_range(const struct tt_file *file, uint64_t index, uint64_t count,
		       uint64_t *row_out, struct tt_error *err)
{
	uint64_t start, end;
	int rc = tti_file_bounds(file, &start, &end, err);

	if (rc < 0)
		return rc;
	if (index > end - start || count > end - start - index)
		return tti_fail(err, TT_E_RANGE,
				"%s: %" PRIu64 " rows from %" PRIu64
				" on are not there; it has "
				"%" PRIu64 " rows",
				file->live.path, count, index, end - start);
	*row_out = start + index;
	return TT_OK;
}

int tt_file_copy(struct tt_file *file, uint64_t index, uint64_t count, void *out,
		 struct tt_error *err)
{
	uint64_t row = 0;
	int rc = check_range(file, index, count, &row, err);

	return rc < 0 ? rc : tti_live_copy(&file->live, row, count, out, err);
}

int tt_file_copy_untorn(struct tt_file *file, uint64_t index, uint64_t count, void *out,
			struct tt_error *err)
{
	uint64_t row = 0;
	int rc = check_range(file, index, count, &row, err);

	return rc < 0 ? rc : tti_live_copy_untorn(&file->live, row, count, out, err);
}

/* ---- The cursor ---- */

static uint64_t clamp(uint64_t row, uint64_t start, uint64_t end)
{
	return row < start ? start : row > end ? end : row;
}

int tt_file_read(struct tt_file *file, uint64_t count, uint64_t prefetch,
		 struct tt_view *out)
{
	const struct tti_live *live = &file->live;
	uint64_t start, end, from, to;
	int rc;

	if (tti_file_no_views(file))
		return TT_E_UNSUPPORTED;
	rc = tti_file_bounds(file, &start, &end, NULL);
	if (rc < 0)
		return rc;
	file->cursor = clamp(file->cursor, start, end);
	to = file->cursor + tti_min_u64(count, end - file->cursor);
	if (to == file->cursor)
		return 0;
	from = file->cursor - tti_min_u64(prefetch, file->cursor - start);
	*out = (struct tt_view){ live->rows + from * live->row_bytes, to - from };
	file->cursor = to;
	return 1;
}

uint64_t tt_file_tell(const struct tt_file *file)
{
	uint64_t start, end;

	if (tti_file_bounds(file, &start, &end, NULL) < 0)
		return 0;
	return clamp(file->cursor, start, end) - start;
}

uint64_t tt_file_seek(struct tt_file *file, int64_t offset, enum tt_whence whence)
{
	uint64_t start, end, base, far;

	if (tti_file_bounds(file, &start, &end, NULL) < 0)
		return 0;
	file->cursor = clamp(file->cursor, start, end);
	base = whence == TT_SEEK_SET ? start : whence == TT_SEEK_CUR ? file->cursor : end;
	if (offset < 0) {
		far = -(uint64_t)offset;
		file->cursor = base - tti_min_u64(far, base - start);
	} else {
		far = (uint64_t)offset;
		file->cursor = base + tti_min_u64(far, end - base);
	}
	return file->cursor - start;
}

void tt_file_rewind(struct tt_file *file)
{
	tt_file_seek(file, 0, TT_SEEK_SET);
}
