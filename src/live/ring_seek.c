/* SPDX-License-Identifier: Apache-2.0 */
/* Places in a ring: going to stored positions, to the first and last rows, and looking at the
 * ends without going there.  Invariant: a position names the same row for ever; one that
 * cannot be honoured is refused or counted as lost, never bent. */
#include "live/ring_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "base/num.h"
#include "live/ring_cut.h"

#define LIST_TRIES 1000

static int refuse_chase(const struct tt_ring_reader *reader, struct tt_error *err)
{
	return tti_fail(err, -ENOENT, "%s: files are removed as fast as they are found",
			reader->ring.path);
}

/* Not npyt's newest, whose name comes before its file: it was merged or removed. */
static bool was_there(struct tt_ring_reader *reader, const struct tti_ring_item *item)
{
	return item->sealed || item->name < tti_reader_newest(reader);
}

static int refuse_row(const struct tt_ring_reader *reader, struct tt_pos pos,
		      uint64_t end, struct tt_error *err)
{
	return tti_fail(err, TT_E_RANGE,
			"%s: row %" PRIu64 " of file %" PRIu64
			" is past its end, %" PRIu64,
			reader->ring.path, pos.row, pos.file, end);
}

/* Before the next file that is there; what lies between is counted when it is reached. */
static void stand_before(struct tt_ring_reader *reader, struct tt_pos pos)
{
	reader->cur = NULL;
	reader->pos = pos;
	reader->base = pos.file ? tti_reader_base_of(reader, pos.file) : TTI_ROWS_UNKNOWN;
	tti_reader_trim(reader);
}

static int seek_gone(struct tt_ring_reader *reader, struct tt_pos pos, uint64_t newest,
		     struct tt_error *err)
{
	uint64_t idx = tti_ring_find_entry(&reader->ring, pos.file), rows;

	if (pos.file > newest)
		return tti_fail(err, TT_E_RANGE,
				"%s: no file %" PRIu64 ": the newest is %" PRIu64,
				reader->ring.path, pos.file, newest);
	/* of a merged file the entry knows the rows of its first part alone */
	rows = idx == TTI_NO_ENTRY ||
			       tti_entry_merged(tti_ring_entry(&reader->ring, idx)) != 0
		       ? TTI_ROWS_UNKNOWN
		       : tti_field_load(&tti_ring_entry(&reader->ring, idx)->rows);
	if (rows != TTI_ROWS_UNKNOWN && pos.row > rows)
		return refuse_row(reader, pos, rows, err);
	stand_before(reader, pos);
	return TT_OK;
}

static int try_seek(struct tt_ring_reader *reader, struct tt_pos pos,
		    struct tt_error *err)
{
	tti_auto_items items = { 0 };
	const struct tti_ring_item *item;
	struct tti_ring_open *file;
	struct tt_error why;
	uint64_t end;
	int rc;

	tti_ring_refresh(&reader->ring);
	rc = tti_ring_visible(&reader->ring, &items, err);
	if (rc < 0)
		return rc;
	tti_reader_map_merged(reader, &items, &pos);
	item = tti_items_find(&items, pos.file);
	rc = item ? tti_reader_open_file(reader, pos.file, item->merged, &file, &why)
		  : -ENOENT;
	if (rc == -ENOENT && item && was_there(reader, item))
		return -EAGAIN; /* merged or removed since it was listed */
	if (rc == -ENOENT)
		return seek_gone(reader, pos, items.newest, err);
	if (tti_ring_is_damage(rc)) {
		tti_reader_note_damage(reader, pos.file, &why);
		stand_before(reader, pos);
		return TT_OK;
	}
	if (rc < 0)
		return tti_fail(err, rc, "%s", why.text);
	end = tti_reader_end(reader, file);
	if (pos.row > end && file->live.shown <= end) {
		reader->cut += pos.row - end;
		pos.row = end;
	}
	if (pos.row > end)
		return refuse_row(reader, pos, end, err);
	tti_reader_stand(reader, file, tti_max_u64(pos.row, tti_reader_start(file)));
	return TT_OK;
}

int tt_ring_seek(struct tt_ring_reader *reader, struct tt_pos pos, struct tt_error *err)
{
	int rc = -EAGAIN;

	if (pos.file == 0)
		return tt_ring_seek_first(reader, err);
	tti_ring_refresh(&reader->ring);
	reader->cut += tti_ring_clamp_pos(&reader->ring, &pos);
	for (unsigned i = 0; i < LIST_TRIES && rc == -EAGAIN; i++)
		rc = try_seek(reader, pos, err);
	return rc == -EAGAIN ? refuse_chase(reader, err) : rc;
}

int tt_ring_seek_number(struct tt_ring_reader *reader, struct tt_pos pos, uint64_t number,
			struct tt_error *err)
{
	int rc = tt_ring_seek(reader, pos, err);

	/* its file is gone, and perhaps what was noted of it */
	if (rc == TT_OK && pos.file != 0 && !reader->cur &&
	    reader->base == TTI_ROWS_UNKNOWN && number != TT_NUMBER_UNKNOWN &&
	    number >= pos.row)
		reader->base = number - pos.row;
	return rc;
}

int tt_ring_seek_first(struct tt_ring_reader *reader, struct tt_error *err)
{
	int rc;

	tti_ring_refresh(&reader->ring);
	stand_before(reader, (struct tt_pos){ 0, 0 });
	rc = tti_reader_advance(reader, err);
	return rc < 0 ? rc : TT_OK;
}

/* Rows in a file without mapping it.  -EAGAIN: it was merged or removed since it was listed. */
static int count_rows(struct tt_ring_reader *reader, const struct tti_ring_item *item,
		      uint64_t *start_out, uint64_t *end_out, struct tt_error *err)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	struct tt_error why;
	int rc = tti_ring_open_file(&reader->ring, item->name, item->merged, &live, &why);

	*start_out = *end_out = 0;
	if (rc == TT_OK)
		rc = tti_live_bounds(&live, start_out, end_out, &why);
	tti_live_close(&live);
	if (rc < 0 && tti_ring_is_unsure(&reader->ring, item, rc) &&
	    !(rc == -ENOENT && !item->sealed && was_there(reader, item)))
		return TT_OK; /* named but not made yet: no rows */
	if (rc == -ENOENT && was_there(reader, item))
		return -EAGAIN;
	if (tti_ring_is_damage(rc)) {
		tti_reader_note_damage(reader, item->name, &why);
		*start_out = *end_out = 0;
		return TT_OK;
	}
	return rc < 0 ? tti_fail(err, rc, "%s", why.text) : TT_OK;
}

struct place {
	size_t idx; /* of the file in the list of items */
	uint64_t row;
};

/* Where the last count rows begin. */
static int find_tail(struct tt_ring_reader *reader, const struct tti_items *items,
		     uint64_t count, struct place *out, struct tt_error *err)
{
	for (size_t i = items->count; i > 0; i--) {
		uint64_t start, end, here;
		int rc = count_rows(reader, &items->at[i - 1], &start, &end, err);

		if (rc < 0)
			return rc;
		here = tti_min_u64(end - start, count);
		*out = (struct place){ i - 1, end - here };
		count -= here;
		if (count == 0 && end > 0)
			return TT_OK;
	}
	return TT_OK;
}

/* One try; -EAGAIN: what was listed is gone. */
static int try_seek_tail(struct tt_ring_reader *reader, uint64_t count,
			 struct tt_error *err)
{
	tti_auto_items items = { 0 };
	struct place place = { 0 };
	const struct tti_ring_item *item;
	struct tti_ring_open *file;
	int rc;

	tti_ring_refresh(&reader->ring);
	rc = tti_reader_items(reader, &items, err);
	if (rc == TT_OK && items.count == 0)
		return tt_ring_seek_first(reader, err);
	if (rc == TT_OK)
		rc = find_tail(reader, &items, count, &place, err);
	if (rc < 0)
		return rc;
	item = &items.at[place.idx];
	rc = tti_reader_open_file(reader, item->name, item->merged, &file, err);
	if (rc == -ENOENT && was_there(reader, item))
		return -EAGAIN;
	if (tti_ring_is_damage(rc) || (rc == -ENOENT && place.idx + 1 == items.count)) {
		/* nothing but a file that is being made, or a damaged one: stand before it */
		stand_before(reader, (struct tt_pos){ place.idx ? item[-1].name : 0, 0 });
		return TT_OK;
	}
	if (rc < 0)
		return rc;
	tti_reader_stand(reader, file,
			 tti_min_u64(place.row, tti_reader_end(reader, file)));
	return TT_OK;
}

int tt_ring_seek_tail(struct tt_ring_reader *reader, uint64_t count, struct tt_error *err)
{
	int rc = -EAGAIN;

	for (unsigned i = 0; i < LIST_TRIES && rc == -EAGAIN; i++)
		rc = try_seek_tail(reader, count, err);
	return rc == -EAGAIN ? refuse_chase(reader, err) : rc;
}

int tt_ring_seek_last(struct tt_ring_reader *reader, struct tt_error *err)
{
	return tt_ring_seek_tail(reader, 0, err);
}

/* ---- Looking at the ends ---- */

struct looks {
	struct tt_ring_reader *reader;
	struct tt_view *at; /* malloc'ed */
	size_t count;
};

/* Rows [from, to) of a file, its mapping kept until the next look. */
static int look(struct looks *looks, const struct tti_ring_item *item, uint64_t from,
		uint64_t to, struct tt_error *err)
{
	struct tt_ring_reader *reader = looks->reader;
	struct tti_ring_open *file;
	int rc;

	if (from == to)
		return TT_OK;
	rc = tti_reader_open_file(reader, item->name, item->merged, &file, err);
	if (rc == -ENOENT && was_there(reader, item))
		return -EAGAIN;
	if (rc < 0)
		return rc;
	file->pinned = true;
	rc = tti_reader_view(file, from, to, &looks->at[looks->count], err);
	if (rc == TT_OK)
		looks->count++;
	return rc;
}

static int start_look(struct looks *looks, struct tti_items *items, struct tt_error *err)
{
	struct tt_ring_reader *reader = looks->reader;
	int rc;

	for (struct tti_ring_open *file = reader->open; file; file = file->next)
		file->pinned = false;
	tti_reader_trim(reader);
	tti_ring_refresh(&reader->ring);
	rc = tti_reader_items(reader, items, err);
	if (rc < 0)
		return rc;
	looks->at = calloc(items->count ? items->count : 1, sizeof(*looks->at));
	return looks->at ? TT_OK : tti_fail_sys(err, -ENOMEM, reader->ring.path, NULL);
}

static int try_tail(struct looks *looks, uint64_t count, struct tt_error *err)
{
	struct tt_ring_reader *reader = looks->reader;
	tti_auto_items items = { 0 };
	struct place place = { 0 };
	uint64_t left = count;
	int rc = start_look(looks, &items, err);

	if (rc == TT_OK && items.count > 0)
		rc = find_tail(reader, &items, count, &place, err);
	for (size_t i = place.idx; rc == TT_OK && left > 0 && i < items.count; i++) {
		uint64_t start, end, from;

		rc = count_rows(reader, &items.at[i], &start, &end, err);
		from = i == place.idx ? place.row : start;
		/* rows that came since are left out */
		end = tti_min_u64(end, from + tti_min_u64(left, UINT64_MAX - from));
		if (rc == TT_OK && end > from) {
			left -= end - from;
			rc = look(looks, &items.at[i], from, end, err);
		}
	}
	return rc;
}

static int try_head(struct looks *looks, uint64_t count, struct tt_error *err)
{
	struct tt_ring_reader *reader = looks->reader;
	tti_auto_items items = { 0 };
	int rc = start_look(looks, &items, err);

	for (size_t i = 0; rc == TT_OK && count > 0 && i < items.count; i++) {
		uint64_t start, end;

		rc = count_rows(reader, &items.at[i], &start, &end, err);
		end = tti_min_u64(end, start + tti_min_u64(count, UINT64_MAX - start));
		if (rc == TT_OK) {
			count -= end - start;
			rc = look(looks, &items.at[i], start, end, err);
		}
	}
	return rc;
}

/* Again with a new list while files go away under it. */
static int look_at(struct looks *looks, uint64_t count, bool tail, struct tt_error *err)
{
	int rc = -EAGAIN;

	for (unsigned i = 0; i < LIST_TRIES && rc == -EAGAIN; i++) {
		free(looks->at);
		*looks = (struct looks){ .reader = looks->reader };
		rc = tail ? try_tail(looks, count, err) : try_head(looks, count, err);
	}
	if (rc < 0)
		free(looks->at);
	return rc == -EAGAIN ? refuse_chase(looks->reader, err) : rc;
}

int tt_ring_tail(struct tt_ring_reader *reader, uint64_t count,
		 struct tt_view **views_out, size_t *n_out, struct tt_error *err)
{
	struct looks looks = { .reader = reader };
	int rc = look_at(&looks, count, true, err);

	if (rc < 0)
		return rc;
	*views_out = looks.at;
	*n_out = looks.count;
	return TT_OK;
}

int tt_ring_head(struct tt_ring_reader *reader, uint64_t count,
		 struct tt_view **views_out, size_t *n_out, struct tt_error *err)
{
	struct looks looks = { .reader = reader };
	int rc = look_at(&looks, count, false, err);

	if (rc < 0)
		return rc;
	*views_out = looks.at;
	*n_out = looks.count;
	return TT_OK;
}
