/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a ring in order.  Owns when a reader moves on from one file to the next; where to is
 * ring_next.c's.  Invariant: see ring_reader.h. */
#include "live/ring_register.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/num.h"
#include "base/opts.h"
#include "ticktail/status.h"

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

uint64_t tti_reader_newest(struct tt_ring_reader *reader)
{
	const struct tti_ring *ring = &reader->ring;
	uint64_t at = reader->newest_slot, name;

	if (at >= ring->slots || !ring->lock.addr)
		at = 0;
	name = ring->lock.addr ? tti_slot_load(tti_ring_slots(ring), at) : 0;
	if (name == 0) { /* none yet, or the manifest is being made again */
		reader->newest_slot = 0;
		return tti_ring_newest(ring);
	}
	while (at + 1 < ring->slots) {
		uint64_t next = tti_slot_load(tti_ring_slots(ring), at + 1);

		if (next == 0)
			break;
		name = next;
		at++;
	}
	reader->newest_slot = at;
	return name;
}

/* A newer file is named.  A manifest that is missing or lost its names cannot tell: the
 * directory is asked then. */
static bool is_below(struct tt_ring_reader *reader, uint64_t name)
{
	uint64_t newest = tti_reader_newest(reader);

	return newest == 0 || name < newest;
}

bool tti_reader_has_rows(struct tt_ring_reader *reader)
{
	struct tti_ring_open *cur = reader->cur;

	if (!cur)
		return false;
	if (reader->seal_only && !cur->merged && !is_below(reader, cur->name))
		return false;
	return reader->pos.row < tti_reader_end(reader, cur);
}

/* A manifest that was made longer names the next file behind what is mapped of it. */
static bool has_grown(struct tt_ring_reader *reader)
{
	if (reader->cur && tti_reader_takes_rows(reader, reader->cur))
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
	if (reader->cur && tti_reader_takes_rows(reader, reader->cur)) {
		tti_ring_refresh(&reader->ring); /* entries of files behind it, if any */
		if (tti_reader_is_ahead(reader, reader->cur))
			return 0;
	}
	rc = reader->cur ? tti_reader_is_sure(reader, reader->cur, err) : 1;
	if (rc <= 0)
		return rc;
	/* the last rows of a file are published before the next is named: having seen the
	 * name, end is final */
	if (tti_reader_has_rows(reader))
		return 1;
	tti_ring_refresh(&reader->ring);
	return tti_reader_next_file(reader, err);
}

int tti_reader_advance(struct tt_ring_reader *reader, struct tt_error *err)
{
	while (!tti_reader_has_rows(reader)) {
		int rc = move_on(reader, err);

		if (rc <= 0)
			return rc;
	}
	return 1;
}

/* What stands at the reader's place, as a rule told by a few loads: 1 rows, up to *end_out; 0
 * nothing new. */
static int find_end(struct tt_ring_reader *reader, uint64_t *end_out,
		    struct tt_error *err)
{
	const struct tti_ring_open *cur = reader->cur;
	int rc;

	*end_out = cur && !reader->seal_only ? tti_reader_newest_end(reader, cur)
					     : TTI_ROWS_UNKNOWN;
	if (*end_out != TTI_ROWS_UNKNOWN) {
		if (*end_out > reader->pos.row)
			return 1;
		if (tti_reader_takes_rows(reader, cur))
			return 0;
	}
	rc = tti_reader_advance(reader, err);
	if (rc == 1)
		*end_out = tti_reader_end(reader, reader->cur);
	return rc;
}

int tt_ring_read(struct tt_ring_reader *reader, uint64_t count, uint64_t prefetch,
		 struct tt_view *out, struct tt_pos *pos_out, struct tt_error *err)
{
	uint64_t start, end, from, to;
	int rc;

	*out = (struct tt_view){ 0 };
	if (count == 0)
		return 0;
	rc = find_end(reader, &end, err);
	if (rc == 0)
		tti_reader_note_all_read(reader);
	if (rc <= 0)
		return rc;
	if (end <= reader->pos.row) /* a peer took rows back meanwhile */
		return 0;
	tti_reader_fetch_row(reader);
	start = prefetch ? tti_reader_start(reader->cur) : reader->pos.row;
	from = reader->pos.row - tti_min_u64(prefetch, reader->pos.row - start);
	to = reader->pos.row + tti_min_u64(count, end - reader->pos.row);
	rc = tti_reader_view(reader->cur, from, to, out, err);
	if (rc < 0)
		return rc;
	if (pos_out)
		*pos_out = (struct tt_pos){ reader->cur->name, from };
	reader->pos.row = to;
	tti_reader_note(reader);
	return 1;
}

uint64_t tt_ring_reader_lost(struct tt_ring_reader *reader)
{
	uint64_t lost = reader->lost;

	reader->lost = 0;
	reader->lost_more = false;
	tti_reader_note_lost(reader, lost);
	return lost;
}

uint64_t tt_ring_reader_cut(struct tt_ring_reader *reader)
{
	uint64_t cut = reader->cut;

	reader->cut = 0;
	return cut;
}

bool tt_ring_reader_lost_more(const struct tt_ring_reader *reader)
{
	return reader->lost_more;
}

struct tt_pos tt_ring_tell(const struct tt_ring_reader *reader)
{
	return reader->pos;
}

uint64_t tt_ring_tell_number(const struct tt_ring_reader *reader)
{
	if (reader->base == TTI_ROWS_UNKNOWN)
		return TT_NUMBER_UNKNOWN;
	return reader->base + reader->pos.row;
}

bool tt_ring_reader_id(const struct tt_ring_reader *reader, uint8_t id_out[16])
{
	memset(id_out, 0, 16);
	if (!reader->ring.set.addr)
		return false;
	memcpy(id_out, reader->ring.settings.ring_id, 16);
	return true;
}

/* ---- Opening ---- */

/* What a row is, by the newest file that can be read. */
static int find_rows(struct tt_ring_reader *reader, struct tt_error *err)
{
	tti_auto_items items = { 0 };
	struct tt_error why = { TT_OK, "" };
	struct tti_ring_like like;
	int rc = tti_ring_find_like(&reader->ring, &like, err);

	if (rc == 1) {
		reader->rows = like.npy; /* taken over */
		return TT_OK;
	}
	if (rc == TT_OK)
		rc = tti_ring_visible(&reader->ring, &items, err);
	if (rc < 0)
		return rc;
	for (size_t i = items.count; i > 0; i--) {
		struct tti_live live = TTI_LIVE_EMPTY;

		rc = tti_ring_open_file(&reader->ring, items.at[i - 1].name,
					items.at[i - 1].merged, &live, &why);
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
	reader->base = TTI_ROWS_UNKNOWN;
	rc = tti_ring_open(&reader->ring, dir, false, err);
	if (rc == TT_OK && tti_ring_index_entries(&reader->ring) < 0)
		rc = tti_fail_sys(err, -ENOMEM, dir, NULL);
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
	tt_ring_reader_unregister(reader);
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
