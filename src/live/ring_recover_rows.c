/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of a ring is that is recovered: as its files say, or as the caller does; and whether
 * one witness of how many rows a file has is to be believed.
 * Invariant: what two whole files say is not overruled, and neither is the size of a row that one
 * says; between types of one size nothing but the caller, or a majority, decides. */
#include "live/ring_recover.h"

#include <string.h>
#include "base/num.h"

#define GIVEN_CAPACITY 4096 /* of files when only the caller knows what a row is */

static int refuse(const struct tti_ring_recovery *rec, const struct tti_npy *told,
		  struct tt_error *err)
{
	return tti_fail(
		err, TT_E_MISMATCH,
		"%s: its files hold rows of %s, and header, size and tail of %u of "
		"them bear it out; the caller says rows of %s: leave --dtype and "
		"--like away",
		rec->dir, tt_dtype_descr(rec->like.npy.dtype), rec->like.votes,
		tt_dtype_descr(told->dtype));
}

/* found: its files say something. */
static int take_told(struct tti_ring_recovery *rec, const struct tti_npy *told,
		     bool found, struct tt_error *err)
{
	struct tti_ring_like *like = &rec->like;

	if (found && tti_ring_same_rows(&like->npy, told)) {
		like->split = false;
		rec->told = true;
		return TT_OK;
	}
	if (found && (like->split ? like->votes > 1 : like->votes > 0) &&
	    like->npy.row_bytes != told->row_bytes)
		return refuse(rec, told, err);
	if (found && like->votes > 1 && !like->split)
		return refuse(rec, told, err);
	if (!found || like->votes == 0) {
		like->capacity = GIVEN_CAPACITY;
		like->tail_words = 5;
	}
	tti_npy_fini(&like->npy);
	like->npy = *told;
	like->npy.dtype = tt_dtype_ref(told->dtype);
	like->split = false;
	rec->told = true;
	return TT_OK;
}

int tti_ring_recover_rows(struct tti_ring_recovery *rec, struct tti_ring *look,
			  struct tt_error *err)
{
	struct tti_npy told;
	bool is_told = tti_recover_like(&told, &rec->opts);
	int rc = tti_ring_find_like(look, &rec->like, err);

	if (rc < 0)
		return rc;
	if (is_told)
		return take_told(rec, &told, rc == 1, err);
	if (rc == 1)
		return TT_OK;
	return tti_fail(err, TT_E_DAMAGED,
			"%s: no file in it can be read, so what a row is must be said: "
			"recover it with --dtype DESCR [--row-shape SHAPE], or with "
			"--like FILE",
			rec->dir);
}

/* ---- How many a file has ---- */

bool tti_ring_recover_outweighs(const struct tti_ring_recovery *rec,
				const struct tti_ring_item *item, int fd,
				const struct tti_salvage *salvage, uint64_t rows)
{
	uint64_t row = salvage->row_bytes, last,
		 there = salvage->file_bytes > salvage->data_off
				 ? (salvage->file_bytes - salvage->data_off) / row
				 : 0;

	if (rows == TTI_ROWS_UNKNOWN)
		return false;
	if (salvage->damaged && !salvage->end_known)
		return rows <= tti_max_u64(salvage->file_bytes / row,
					   rec->ring->settings.capacity);
	if (item->merged || salvage->end == rows || rows > there ||
	    tti_salvage_last_byte(
		    fd, salvage->data_off,
		    salvage->data_off + tti_max_u64(rows, salvage->end) * row, &last) < 0)
		return false;
	last = (last - salvage->data_off + row - 1) / row;
	return salvage->end < rows ? last == rows : last <= rows;
}
