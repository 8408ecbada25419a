/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with marks, in words.  Invariant: the mark is loaded before the file is looked
 * at, so what a living writer does meanwhile only makes the file run ahead of it. */
#include "live/mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/fs.h"
#include "base/num.h"

#define STEP_BYTES 4096

static bool is_zero(const struct tti_live *live, uint64_t from, uint64_t to)
{
	uint64_t at = live->data_off + from * live->row_bytes,
		 until = live->data_off + to * live->row_bytes;
	uint8_t step[STEP_BYTES];

	while (at < until) {
		size_t n = (size_t)tti_min_u64(sizeof(step), until - at);

		if (tti_pread_all(live->fd, step, n, at) < 0)
			return false;
		for (size_t i = 0; i < n; i++)
			if (step[i] != 0)
				return false;
		at += n;
	}
	return true;
}

/* The last stamp before a mark may have been lost with the power, rows below it were not. */
bool tti_mark_is_of(const struct tti_mark *mark, const struct tti_live *live)
{
	uint64_t stamp = 0;
	uint32_t crc = 0;

	if (live->tail_words != 5 || mark->end > live->capacity ||
	    tti_live_load_stamp(live, &stamp) < 0 || !tti_stamp_is_ours(stamp))
		return false;
	return stamp >= (mark->update_timestamp & ~TTI_STAMP_MASK) ||
	       (mark->from < mark->end &&
		tti_rows_crc_of(live, mark->from, mark->end, &crc, NULL) == TT_OK &&
		crc == mark->rows_crc);
}

bool tti_mark_is_passed(const struct tti_mark *mark, const struct tti_live *live)
{
	uint64_t stamp = 0, end = 0;

	return tti_mark_age(mark) == TTI_MARK_CLOSED && live->tail_words == 5 &&
	       tti_live_load_stamp(live, &stamp) == TT_OK && tti_stamp_is_ours(stamp) &&
	       stamp <= mark->update_timestamp &&
	       tti_pread_all(live->fd, &end, sizeof(end), live->tail_off + 8) == TT_OK &&
	       mark->end < end && end <= live->capacity && is_zero(live, mark->end, end);
}

bool tti_mark_judge(const struct tti_mark *mark, const struct tti_live *live,
		    char what[TTI_MARK_WORDS])
{
	enum tti_mark_age age = tti_mark_age(mark);
	uint64_t end = 0, again = 0;
	uint32_t crc = 0;

	if (mark->end > live->capacity) {
		snprintf(what, TTI_MARK_WORDS,
			 "its mark says that %" PRIu64
			 " rows are on disk, it has room for %" PRIu64,
			 mark->end, live->capacity);
		return false;
	}
	if (!tti_mark_is_of(mark, live))
		return true; /* another program wrote since: nothing to hold against it */
	if (tti_pread_all(live->fd, &end, sizeof(end), live->tail_off + 8) < 0)
		return true; /* said by who reads the rows */
	if (mark->end > end && (age == TTI_MARK_NOW || age == TTI_MARK_CLOSED)) {
		snprintf(what, TTI_MARK_WORDS,
			 "its mark says that %" PRIu64
			 " rows are on disk, its end is %" PRIu64,
			 mark->end, end);
		return false;
	}
	if (tti_mark_is_passed(mark, live)) {
		snprintf(what, TTI_MARK_WORDS,
			 "its mark says that it was closed with %" PRIu64
			 " rows, its end is %" PRIu64,
			 mark->end, end);
		return false;
	}
	if (mark->from == mark->end ||
	    tti_rows_crc_of(live, mark->from, mark->end, &crc, NULL) < 0 ||
	    crc == mark->rows_crc || tti_live_load_stamp(live, &again) < 0 ||
	    tti_stamp_is_changing(again) || !tti_stamp_is_ours(again))
		return true;
	snprintf(what, TTI_MARK_WORDS,
		 "rows %" PRIu64 " to %" PRIu64 " are not those that were synced: their "
		 "checksum is 0x%08" PRIx32 ", its mark says 0x%08" PRIx32,
		 mark->from, mark->end, crc, mark->rows_crc);
	return false;
}
