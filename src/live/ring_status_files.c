/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a ring as a status sees them, and where positions lie among their rows.
 * Invariant: rows come from an entry once the file is sealed, from the file itself before;
 * what neither tells is unknown, never 0. */
#include "live/ring_status.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include "base/num.h"

#define DAY_NS 86400e9
#define RECENT_NS (INT64_C(7) * 86400 * 1000000000)
#define LEAST_NS (INT64_C(60) * 1000000000) /* a rate of less tells nothing */

void tti_look_close(struct tti_look *look)
{
	free(look->entries);
	free(look->files);
	tti_ring_close(&look->ring);
	look->entries = NULL;
	look->files = NULL;
}

int64_t tti_look_age(int64_t now_ns, int64_t then_ns)
{
	int64_t age;

	if (now_ns == TT_UNKNOWN_NS || then_ns == TT_UNKNOWN_NS ||
	    __builtin_sub_overflow(now_ns, then_ns, &age))
		return TT_UNKNOWN_NS;
	return age > 0 ? age : 0;
}

/* ---- entries ---- */

static int by_name(const void *a, const void *b)
{
	const struct tti_look_entry *left = a, *right = b;

	return left->name < right->name ? -1 : left->name > right->name;
}

static int copy_entries(struct tti_look *look)
{
	uint64_t count = tti_ring_entry_count(&look->ring);

	look->entries = calloc(count ? count : 1, sizeof(*look->entries));
	if (!look->entries)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		const struct tti_entry *from = tti_ring_entry(&look->ring, i);
		uint64_t name = tti_entry_name(from);

		if (name == 0)
			continue;
		look->entries[look->entry_count++] = (struct tti_look_entry){
			.name = name,
			.merged_into = tti_entry_merged(from),
			.rows = tti_field_load(&from->rows),
			.base = tti_field_load(&from->base),
			.first_row_ns = tti_field_load(&from->first_row_ns),
		};
	}
	if (look->entry_count > 1)
		qsort(look->entries, look->entry_count, sizeof(*look->entries), by_name);
	return TT_OK;
}

const struct tti_look_entry *tti_look_entry(const struct tti_look *look, uint64_t name)
{
	const struct tti_look_entry key = { .name = name };

	return look->entry_count ? bsearch(&key, look->entries, look->entry_count,
					   sizeof(key), by_name)
				 : NULL;
}

/* ---- files ---- */

/* A file that is damaged costs its rows, not the look. */
static int note_damaged(const struct tti_look *look, const struct tti_ring_item *item,
			const char *why, struct tt_ring_status *out, struct tt_error *err)
{
	char file_name[TTI_RING_NAME_BYTES];
	int rc;

	tti_ring_format_name(file_name, item->name, item->merged);
	rc = tti_look_damage(look, out, file_name, why);
	return rc < 0 ? tti_fail_sys(err, rc, look->ring.path, NULL) : 0;
}

/* The rows of one file by its own tail: 1, 0 nothing there yet, < 0. */
static int rows_of(struct tti_look *look, const struct tti_ring_item *item,
		   struct tti_look_file *file, struct tt_ring_status *out,
		   struct tt_error *err)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	uint64_t start = 0, end = 0;
	struct tt_error why;
	int rc = tti_ring_open_file(&look->ring, item->name, item->merged, &live, &why);

	if (rc == TT_OK)
		rc = tti_live_bounds(&live, &start, &end, &why);
	if (rc == TT_OK) {
		file->rows = end - start;
		out->row_bytes = live.row_bytes;
		if (!item->sealed) {
			out->newest_rows = end;
			out->newest_capacity = live.capacity;
		}
	}
	tti_live_close(&live);
	if (rc == TT_OK)
		return 1;
	/* gone meanwhile; or npyt's newest, named before it is made */
	if (rc == -ENOENT || (tti_ring_is_incomplete(rc) && !item->sealed &&
			      !tti_look_entry(look, item->name)))
		return 0;
	if (!tti_ring_is_damage(rc))
		return tti_fail(err, rc, "%s", why.text);
	return note_damaged(look, item, why.text, out, err);
}

static bool needs_look(const struct tti_look *look, const struct tti_ring_item *item,
		       const struct tt_ring_status *out)
{
	const struct tti_look_entry *entry = tti_look_entry(look, item->name);

	return item->merged || !item->sealed || !entry ||
	       entry->rows == TTI_ROWS_UNKNOWN || out->row_bytes == TT_UNKNOWN;
}

static int add_file(struct tti_look *look, const struct tti_ring_item *item,
		    struct tt_ring_status *out, struct tt_error *err)
{
	struct tti_look_file *file = &look->files[look->file_count];
	const struct tti_look_entry *entry = tti_look_entry(look, item->name);
	char file_name[TTI_RING_NAME_BYTES];
	struct stat st;
	int rc = 1;

	tti_ring_format_name(file_name, item->name, item->merged);
	if (fstatat(look->ring.dirfd, file_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return TT_OK; /* removed or merged meanwhile */
	*file = (struct tti_look_file){ .name = item->name,
					.merged = item->merged,
					.queued = item->queued,
					.sealed = item->sealed,
					.bytes = (uint64_t)st.st_blocks * 512,
					.rows = entry ? entry->rows : 0 };
	if (needs_look(look, item, out))
		rc = rows_of(look, item, file, out, err);
	if (rc < 0)
		return rc;
	if (rc == 0)
		file->rows = 0;
	file->first_row_ns = entry && entry->first_row_ns != INT64_MIN
				     ? entry->first_row_ns
				     : tti_ring_first_row_ns(&look->ring, item);
	out->rows += file->rows;
	out->bytes += file->bytes;
	out->files_queued += file->queued;
	out->files_left += !file->queued;
	out->files_merged += file->merged;
	look->file_count++;
	return TT_OK;
}

static int list_files(struct tti_look *look, struct tt_ring_status *out,
		      struct tt_error *err)
{
	tti_auto_items items = { 0 };
	struct tt_error why;
	int rc = tti_ring_visible(&look->ring, &items, &why);

	if (rc == TT_E_DAMAGED && look->ring.lock.addr) {
		/* a manifest that names no possible queue: the files tell */
		rc = tti_look_damage(look, out, TTI_MANIFEST_NAME, why.text);
		tti_map_close(&look->ring.lock);
		if (rc == TT_OK)
			rc = tti_ring_visible(&look->ring, &items, &why);
	}
	if (rc < 0)
		return rc == -ENOMEM ? tti_fail_sys(err, rc, look->ring.path, NULL)
				     : tti_fail(err, rc, "%s", why.text);
	out->newest = items.newest;
	look->files = calloc(items.count ? items.count : 1, sizeof(*look->files));
	if (!look->files)
		return tti_fail_sys(err, -ENOMEM, look->ring.path, NULL);
	for (size_t i = 0; rc == TT_OK && i < items.count; i++)
		rc = add_file(look, &items.at[i], out, err);
	return rc;
}

/* ---- where positions lie ---- */

static const struct tti_look_file *find_file(const struct tti_look *look, uint64_t name)
{
	for (size_t i = 0; i < look->file_count; i++)
		if (look->files[i].name == name)
			return &look->files[i];
	return NULL;
}

/* Without numbers of rows through all files: what the files themselves say. */
static uint64_t count_behind(const struct tti_look *look, struct tt_pos pos)
{
	const struct tti_look_file *at = find_file(look, pos.file);
	uint64_t rows = 0;

	if (pos.file != 0 && !at)
		return TT_UNKNOWN;
	if (at)
		rows = at->rows - tti_min_u64(at->rows, pos.row);
	for (size_t i = 0; i < look->file_count; i++)
		if (look->files[i].name > pos.file)
			rows += look->files[i].rows;
	return rows;
}

uint64_t tti_look_rows_behind(const struct tti_look *look,
			      const struct tt_ring_status *status, struct tt_pos pos)
{
	const struct tti_look_entry *entry = tti_look_entry(look, pos.file);

	if (pos.file == 0 || !entry || entry->base == TTI_ROWS_UNKNOWN ||
	    status->rows_total == TT_UNKNOWN)
		return count_behind(look, pos);
	if (tti_add_overflow(entry->base, pos.row, &pos.row))
		return TT_UNKNOWN;
	return status->rows_total - tti_min_u64(status->rows_total, pos.row);
}

static void number_rows(const struct tti_look *look, struct tt_ring_status *out)
{
	const struct tti_look_entry *newest = tti_look_entry(look, out->newest);

	if (out->newest != 0 && newest && newest->base != TTI_ROWS_UNKNOWN &&
	    out->newest_rows != TT_UNKNOWN &&
	    !tti_add_overflow(newest->base, out->newest_rows, &out->rows_total))
		return;
	out->rows_total = TT_UNKNOWN;
}

/* ---- how long the disk lasts ---- */

/* By what was added in the last days that files are left of: whole files where they are
 * sealed, else the rows. */
static void note_growth(const struct tti_look *look, struct tt_ring_status *out)
{
	int64_t from = out->now_ns, span;
	double bytes = 0;

	for (size_t i = 0; i < look->file_count; i++) {
		const struct tti_look_file *file = &look->files[i];
		int64_t age = tti_look_age(out->now_ns, file->first_row_ns);

		if (file->rows == 0 || age == TT_UNKNOWN_NS || age > RECENT_NS)
			continue;
		if (file->first_row_ns < from)
			from = file->first_row_ns;
		bytes += file->sealed ? (double)file->bytes
				      : (double)file->rows * (double)out->row_bytes;
	}
	span = out->now_ns - from;
	if (span >= LEAST_NS)
		out->bytes_per_day = bytes / (double)span * DAY_NS;
	out->limit_holds = out->max_bytes > 0 && out->fs_free != TT_UNKNOWN &&
			   (out->bytes >= out->max_bytes ||
			    out->max_bytes - out->bytes <= out->fs_free);
	if (!out->limit_holds && out->fs_free != TT_UNKNOWN && out->bytes_per_day > 0)
		out->days_left = (double)out->fs_free / out->bytes_per_day;
}

int tti_look_files(struct tti_look *look, struct tt_ring_status *out,
		   struct tt_error *err)
{
	int rc = copy_entries(look);

	if (rc < 0)
		return tti_fail_sys(err, rc, look->ring.path, NULL);
	rc = list_files(look, out, err);
	if (rc < 0)
		return rc;
	number_rows(look, out);
	note_growth(look, out);
	return TT_OK;
}
