/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a ring in order.  Owns when a reader moves on from one file to the next and what it
 * lost when files between are gone.  Invariant: see ring_reader.h. */
#include "live/ring_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/num.h"
#include "base/opts.h"

int tti_reader_items(struct tt_ring_reader *reader, struct tti_items *out,
		     struct tt_error *err)
{
	int rc = tti_ring_visible(&reader->ring, out, err);
	size_t kept = 0;

	if (rc < 0 || !(reader->queued_only || reader->seal_only))
		return rc;
	for (size_t i = 0; i < out->count; i++)
		if ((out->at[i].queued || !reader->queued_only) &&
		    (out->at[i].sealed || !reader->seal_only))
			out->at[kept++] = out->at[i];
	out->count = kept;
	return TT_OK;
}

bool tti_reader_map_merged(const struct tt_ring_reader *reader,
			   const struct tti_items *items, struct tt_pos *pos)
{
	uint64_t idx = tti_ring_find_entry(&reader->ring, pos->file), into;
	const struct tti_ring_item *item;

	if (idx == TTI_NO_ENTRY)
		return false;
	into = tti_entry_merged(tti_ring_entry(&reader->ring, idx));
	item = into ? tti_items_find(items, into) : NULL;
	if (!item || !item->merged)
		return false;
	pos->row += tti_field_load(&tti_ring_entry(&reader->ring, idx)->merged_row);
	pos->file = into;
	return true;
}

/* ---- What was lost ---- */

static uint64_t base_of(const struct tt_ring_reader *reader, uint64_t name)
{
	uint64_t idx = tti_ring_find_entry(&reader->ring, name);

	return idx == TTI_NO_ENTRY
		       ? TTI_ROWS_UNKNOWN
		       : tti_field_load(&tti_ring_entry(&reader->ring, idx)->base);
}

/* Rows of files in (after, before) that are gone, as far as their entries tell. */
static uint64_t rows_between(const struct tt_ring_reader *reader, uint64_t after,
			     uint64_t before)
{
	uint64_t rows = 0;

	for (uint64_t i = 0; i < tti_ring_entry_count(&reader->ring); i++) {
		const struct tti_entry *entry = tti_ring_entry(&reader->ring, i);
		uint64_t name = tti_entry_name(entry),
			 count = tti_field_load(&entry->rows);

		if (name > after && name < before && count != TTI_ROWS_UNKNOWN)
			rows += count;
	}
	return rows;
}

/* Rows of a file that is gone which come after row. */
static uint64_t rows_behind(const struct tt_ring_reader *reader, uint64_t name,
			    uint64_t row)
{
	uint64_t idx = tti_ring_find_entry(&reader->ring, name), rows;

	if (idx == TTI_NO_ENTRY)
		return 0;
	rows = tti_field_load(&tti_ring_entry(&reader->ring, idx)->rows);
	return rows != TTI_ROWS_UNKNOWN && rows > row ? rows - row : 0;
}

/* The reader leaves pos for the first row of next.  The ring numbers its rows through all
 * files, so the difference is what lies between; a file of npyt has no such number. */
static void count_lost(struct tt_ring_reader *reader, const struct tti_ring_open *next)
{
	struct tt_pos from = reader->pos;
	uint64_t base = reader->cur ? reader->cur->base : base_of(reader, from.file);

	if (from.file == 0)
		return;
	if (base != TTI_ROWS_UNKNOWN && next->base != TTI_ROWS_UNKNOWN) {
		if (next->base > base + from.row)
			reader->lost += next->base - base - from.row;
		return;
	}
	if (!reader->cur)
		reader->lost += rows_behind(reader, from.file, from.row);
	reader->lost += rows_between(reader, from.file, next->name);
}

/* ---- Moving on ---- */

struct target {
	uint64_t name;
	bool merged;
	bool newest;
	bool found;
	bool inside; /* the rows at pos are in this (merged) file: no new start */
	uint64_t row;
};

/* The next of the queue, when the reader is in it: no directory is read at a roll. */
static int next_in_queue(struct tt_ring_reader *reader, struct target *out,
			 struct tt_error *err)
{
	tti_auto_names queue = { 0 };
	int rc;

	if (!reader->ring.lock.addr)
		return TT_OK;
	rc = tti_ring_queue(&reader->ring, &queue, err);
	for (size_t i = 0; rc == TT_OK && i + 1 < queue.count; i++)
		if (queue.at[i] == reader->pos.file) {
			out->name = queue.at[i + 1];
			out->newest = i + 2 == queue.count;
			out->found = true;
		}
	return rc;
}

/* The first file after name in a list. */
static void take_after(const struct tti_items *items, uint64_t name, struct target *out)
{
	size_t low = 0, high = items->count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (items->at[mid].name <= name)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < items->count)
		*out = (struct target){ .name = items->at[low].name,
					.merged = items->at[low].merged,
					.newest = items->at[low].name == items->newest,
					.found = true };
}

/* By the list of the last look, so that a reader far behind does not list a large directory
 * for each file.  Between two files that are still there none can have come: names only grow,
 * and a merged file takes the place of one that then is gone.  Only the end of the list is
 * out of date. */
static void next_seen(const struct tt_ring_reader *reader, struct target *out)
{
	if (reader->queued_only || reader->seal_only)
		return;
	take_after(&reader->seen, reader->pos.file, out);
	if (out->newest)
		*out = (struct target){ 0 };
}

static int next_on_disk(struct tt_ring_reader *reader, struct target *out,
			struct tt_error *err)
{
	struct tt_pos pos = reader->pos;
	int rc;

	tti_items_free(&reader->seen);
	rc = tti_reader_items(reader, &reader->seen, err);
	if (rc < 0)
		return rc;
	if (pos.file != 0 && !(reader->cur && reader->cur->merged) &&
	    tti_reader_map_merged(reader, &reader->seen, &pos)) {
		*out = (struct target){ .name = pos.file,
					.merged = true,
					.found = true,
					.inside = true,
					.row = pos.row };
		return TT_OK;
	}
	take_after(&reader->seen, pos.file, out);
	return TT_OK;
}

/* 1 standing there, 0 not there yet, -EAGAIN look again. */
static int go_to(struct tt_ring_reader *reader, const struct target *target,
		 struct tt_error *err)
{
	struct tti_ring_open *file;
	struct tt_error why;
	int rc = tti_reader_open_file(reader, target->name, target->merged, &file, &why);

	if (rc == -ENOENT && !target->newest)
		return -EAGAIN; /* merged or removed since it was found */
	if (rc < 0 && target->newest && tti_ring_is_incomplete(rc) &&
	    tti_ring_find_entry(&reader->ring, target->name) == TTI_NO_ENTRY)
		return 0; /* npyt names a file before it makes it */
	if (rc < 0)
		return tti_fail(err, rc, "%s", why.text);
	if (target->inside) {
		tti_reader_stand(reader, file, target->row);
		return 1;
	}
	count_lost(reader, file);
	tti_reader_stand(reader, file, tti_reader_start(file));
	return 1;
}

static int next_file(struct tt_ring_reader *reader, struct tt_error *err)
{
	int rc = -EAGAIN;

	for (unsigned tries = 0; tries < 1000 && rc == -EAGAIN; tries++) {
		struct target target = { 0 };

		rc = tries == 0 && reader->cur ? next_in_queue(reader, &target, err)
					       : TT_OK;
		if (rc == TT_OK && !target.found && tries == 0 && reader->cur)
			next_seen(reader, &target);
		if (rc == TT_OK && !target.found)
			rc = next_on_disk(reader, &target, err);
		if (rc < 0)
			return rc;
		if (!target.found)
			return 0;
		if (reader->seal_only && target.newest)
			return 0;
		rc = go_to(reader, &target, err);
	}
	if (rc == -EAGAIN)
		return tti_fail(err, -ENOENT,
				"%s: files are removed as fast as they are found",
				reader->ring.path);
	return rc;
}

/* A newer file is named.  A manifest that is missing or lost its names cannot tell: the
 * directory is asked then. */
static bool is_below(const struct tt_ring_reader *reader, uint64_t name)
{
	uint64_t newest = tti_ring_newest(&reader->ring);

	return newest == 0 || name < newest;
}

static bool has_rows(const struct tt_ring_reader *reader)
{
	struct tti_ring_open *cur = reader->cur;

	if (!cur)
		return false;
	if (reader->seal_only && !cur->merged && !is_below(reader, cur->name))
		return false;
	return reader->pos.row < tti_reader_end(cur);
}

/* The writer notes the rows of a file before it names the next one. */
static bool takes_rows(const struct tt_ring_reader *reader)
{
	const struct tti_ring_open *cur = reader->cur;
	const struct tti_entry *entry;

	if (!cur || cur->entry_idx >= tti_ring_entry_count(&reader->ring))
		return false;
	entry = tti_ring_entry(&reader->ring, cur->entry_idx);
	return tti_entry_name(entry) == cur->name &&
	       tti_field_load(&entry->rows) == TTI_ROWS_UNKNOWN;
}

/* A manifest that was made longer names the next file behind what is mapped of it. */
static bool has_grown(struct tt_ring_reader *reader)
{
	if (takes_rows(reader))
		return false;
	tti_ring_refresh(&reader->ring);
	return is_below(reader, reader->pos.file);
}

/* 1 the place changed, 0 nothing newer. */
static int move_on(struct tt_ring_reader *reader, struct tt_error *err)
{
	int rc;

	if (!is_below(reader, reader->pos.file) && !has_grown(reader))
		return 0;
	rc = reader->cur ? tti_reader_is_sure(reader->cur, err) : 1;
	if (rc <= 0)
		return rc;
	/* the last rows of a file are published before the next is named: having seen the
	 * name, end is final */
	if (has_rows(reader))
		return 1;
	tti_ring_refresh(&reader->ring);
	return next_file(reader, err);
}

int tti_reader_advance(struct tt_ring_reader *reader, struct tt_error *err)
{
	while (!has_rows(reader)) {
		int rc = move_on(reader, err);

		if (rc <= 0)
			return rc;
	}
	return 1;
}

int tt_ring_read(struct tt_ring_reader *reader, uint64_t count, uint64_t prefetch,
		 struct tt_view *out, struct tt_pos *pos_out, struct tt_error *err)
{
	uint64_t start, end, from, to;
	int rc;

	*out = (struct tt_view){ 0 };
	if (count == 0)
		return 0;
	rc = tti_reader_advance(reader, err);
	if (rc <= 0)
		return rc;
	end = tti_reader_end(reader->cur);
	if (end <= reader->pos.row) /* a peer took rows back meanwhile */
		return 0;
	start = prefetch ? tti_reader_start(reader->cur) : reader->pos.row;
	from = reader->pos.row - tti_min_u64(prefetch, reader->pos.row - start);
	to = reader->pos.row + tti_min_u64(count, end - reader->pos.row);
	rc = tti_reader_view(reader->cur, from, to, out, err);
	if (rc < 0)
		return rc;
	if (pos_out)
		*pos_out = (struct tt_pos){ reader->cur->name, from };
	reader->pos.row = to;
	return 1;
}

uint64_t tt_ring_reader_lost(struct tt_ring_reader *reader)
{
	uint64_t lost = reader->lost;

	reader->lost = 0;
	return lost;
}

struct tt_pos tt_ring_tell(const struct tt_ring_reader *reader)
{
	return reader->pos;
}

/* ---- Opening ---- */

/* What a row is, by the newest file that can be read. */
static int find_rows(struct tt_ring_reader *reader, struct tt_error *err)
{
	tti_auto_items items = { 0 };
	struct tt_error why = { TT_OK, "" };
	int rc = tti_ring_visible(&reader->ring, &items, err);

	if (rc < 0)
		return rc;
	for (size_t i = items.count; i > 0; i--) {
		struct tti_live live = TTI_LIVE_EMPTY;

		rc = tti_ring_open_file(&reader->ring, items.at[i - 1].name,
					items.at[i - 1].merged, false, true, &live, &why);
		if (rc == TT_OK) {
			reader->rows = live.npy;
			live.npy = (struct tti_npy){ 0 }; /* taken over */
		}
		tti_live_close(&live);
		if (rc == TT_OK || !tti_ring_is_incomplete(rc))
			break;
	}
	if (reader->rows.dtype)
		return TT_OK;
	if (why.code != TT_OK && items.count > 1)
		return tti_fail(err, why.code, "%s", why.text);
	return tti_fail(err, -ENOENT, "%s: has no file yet", reader->ring.path);
}

int tt_ring_reader_open(struct tt_ring_reader **out, const char *dir,
			const struct tt_ring_reader_opts *opts, struct tt_error *err)
{
	struct tt_ring_reader_opts mine = TT_RING_READER_OPTS_INIT;
	struct tt_ring_reader *reader;
	int rc;

	*out = NULL;
	if (opts && !tti_take_opts(&mine, sizeof(mine), opts))
		return tti_fail(err, TT_E_MISUSE, "%s: options of an unknown size", dir);
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return tti_fail_sys(err, -ENOMEM, dir, NULL);
	reader->queued_only = mine.queued_only;
	reader->seal_only = mine.seal_only;
	reader->looked_ns = tti_clock_monotonic_ns();
	rc = tti_ring_open(&reader->ring, dir, false, err);
	if (rc == TT_OK)
		rc = find_rows(reader, err);
	if (rc < 0) {
		tt_ring_reader_close(reader);
		return rc;
	}
	rc = tti_reader_advance(reader,
				NULL); /* an error comes again with the first read */
	*out = reader;
	return TT_OK;
}

void tt_ring_reader_close(struct tt_ring_reader *reader)
{
	if (!reader)
		return;
	while (reader->open) {
		struct tti_ring_open *file = reader->open;

		reader->open = file->next;
		tti_reader_close_file(file);
	}
	tti_items_free(&reader->seen);
	tti_npy_fini(&reader->rows);
	tti_ring_close(&reader->ring);
	free(reader);
}

const struct tt_dtype *tt_ring_reader_dtype(const struct tt_ring_reader *reader)
{
	return reader->rows.dtype;
}

uint64_t tt_ring_reader_row_bytes(const struct tt_ring_reader *reader)
{
	return reader->rows.row_bytes;
}

uint32_t tt_ring_reader_row_rank(const struct tt_ring_reader *reader)
{
	return reader->rows.rank ? reader->rows.rank - 1 : 0;
}

const uint64_t *tt_ring_reader_row_shape(const struct tt_ring_reader *reader)
{
	return reader->rows.shape + 1;
}
