/* SPDX-License-Identifier: Apache-2.0 */
/* The file after the one a reader has read to its end, and what lies lost between the two.
 * Invariant: rows between two places are counted by their numbers in the ring when both files
 * have one, so the count is exact whatever became of the files between; where npyt wrote, the
 * reader says that it may be more. */
#include "live/ring_reader.h"
#include "live/ring_cut.h"

#include <errno.h>
#include <stdlib.h>
#include "base/num.h"

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

uint64_t tti_reader_base_of(const struct tt_ring_reader *reader, uint64_t name)
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

		/* joined into the file that was read: they were read with it */
		if (name > after && name < before && count != TTI_ROWS_UNKNOWN &&
		    tti_entry_merged(entry) != after)
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

/* Without numbers: what is still noted of the files between. */
static void count_noted(struct tt_ring_reader *reader, const struct tti_ring_open *next)
{
	struct tt_pos from = reader->pos;
	uint64_t rows = rows_between(reader, from.file, next->name);

	if (!reader->cur) {
		rows += rows_behind(reader, from.file, from.row);
		reader->lost_more =
			true; /* its file is gone, with nobody knows how many */
	}
	reader->lost += rows;
	reader->lost_more |= rows > 0;
}

/* The reader leaves pos for the first row of next. */
static void count_lost(struct tt_ring_reader *reader, const struct tti_ring_open *next)
{
	if (reader->pos.file == 0)
		return;
	if (reader->base == TTI_ROWS_UNKNOWN || next->base == TTI_ROWS_UNKNOWN)
		count_noted(reader, next);
	else if (next->base > reader->base + reader->pos.row)
		reader->lost += next->base - reader->base - reader->pos.row;
}

/* Its last rows were cut after a power loss, or will be by the next writer: they were taken back,
 * and are told apart.  Of one cut for damage the entry still says how many rows it had. */
static bool was_cut(const struct tti_ring_open *file, const struct tti_ring *ring)
{
	const struct tti_entry *entry;
	uint64_t idx;

	if (file->live.shown == UINT64_MAX)
		return false;
	idx = tti_ring_find_entry(ring, file->name);
	if (idx == TTI_NO_ENTRY)
		return true;
	entry = tti_ring_entry(ring, idx);
	return tti_field_load(&entry->cut_at) == UINT64_MAX ||
	       tti_field_load(&entry->rows) == tti_field_load(&entry->cut_at);
}

/* ---- Moving on ---- */

struct target {
	uint64_t name;
	bool merged;
	bool newest;
	bool found;
	bool adjacent; /* the next of the queue: nothing lies between */
	bool inside;   /* the rows at pos are in this (merged) file: no new start */
	uint64_t row;
};

/* Slots ascend, and each only ever grows.  So when slot j still holds name after slot j + 1 was
 * seen to hold more, the two were neighbours at that instant: no file lies between them.  1
 * found, 0 not in this way. */
static int next_slot(const struct tti_ring *ring, uint64_t name, uint64_t *out)
{
	const tti_word *slots = tti_ring_slots(ring);
	uint64_t low = 0, high = ring->slots, more;

	while (low < high) { /* the last slot that is not above name */
		uint64_t mid = (low + high) / 2, at = tti_slot_load(slots, mid);

		if (at != 0 && at <= name)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || low == ring->slots)
		return 0;
	more = tti_slot_load(slots, low);
	if (more <= name || tti_slot_load(slots, low - 1) != name)
		return 0;
	*out = more;
	return 1;
}

/* The next of the queue, when the reader is in it: no directory is read at a roll. */
static int next_in_queue(struct tt_ring_reader *reader, struct target *out,
			 struct tt_error *err)
{
	tti_auto_names queue = { 0 };
	int rc = TT_OK;

	if (!reader->ring.lock.addr)
		return TT_OK;
	if (next_slot(&reader->ring, reader->pos.file, &out->name)) {
		out->newest = out->name == tti_reader_newest(reader);
		out->found = out->adjacent = true;
		return TT_OK;
	}
	rc = tti_ring_queue(&reader->ring, &queue, err);
	for (size_t i = 0; rc == TT_OK && i + 1 < queue.count; i++)
		if (queue.at[i] == reader->pos.file) {
			out->name = queue.at[i + 1];
			out->newest = i + 2 == queue.count;
			out->found = out->adjacent = true;
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
	const struct tti_ring_item *item;

	if (reader->queued_only || reader->seal_only)
		return;
	item = tti_items_find(&reader->seen, reader->pos.file);
	if (!item || item->merged != reader->cur->merged)
		return; /* it was joined since, and so were those behind it */
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
	struct tti_ring_item item = { .name = target->name };
	struct tti_ring_open *file;
	struct tt_error why;
	int rc = tti_reader_open_file(reader, target->name, target->merged, &file, &why);

	/* asked behind the open: meanwhile it may have been sealed, and removed */
	item.sealed = !target->newest || target->name < tti_reader_newest(reader);
	if (rc < 0 && tti_ring_is_unsure(&reader->ring, &item, rc))
		return 0; /* npyt names a file before it makes it */
	if (rc == -ENOENT && item.sealed)
		return -EAGAIN; /* merged or removed since it was found */
	if (tti_ring_is_damage(rc))
		return tti_reader_pass(reader, target->name, target->newest, &why);
	if (rc < 0)
		return tti_fail(err, rc, "%s", why.text);
	if (target->inside) {
		tti_reader_stand(reader, file, target->row);
		return 1;
	}
	/* a neighbour may still have lost rows to damage, which the numbers tell */
	if (!target->adjacent || !reader->cur ||
	    (reader->base != TTI_ROWS_UNKNOWN && file->base != TTI_ROWS_UNKNOWN &&
	     !was_cut(reader->cur, &reader->ring) && !was_cut(file, &reader->ring)))
		count_lost(reader, file);
	tti_reader_stand(reader, file, tti_reader_start(file));
	return 1;
}

int tti_reader_next_file(struct tt_ring_reader *reader, struct tt_error *err)
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
