/* SPDX-License-Identifier: Apache-2.0 */
/* What marks of rings (ring_mark.c) and of single files (file_mark.c) have in common: the
 * running checksum of the rows that are on disk.
 *
 * Invariant: crc is that of rows [from, end) as they were written; when rows may have been
 * changed in place since, from goes up to where no change can have been. */
#ifndef TTI_MARK_H
#define TTI_MARK_H

#include "base/boot.h"
#include "format/settings.h"
#include "live/live_file.h"

struct tti_rows_crc {
	uint64_t from, end;
	uint32_t crc;
};

/* Carry the checksum on to end, reading only the rows that it does not cover yet (by pread,
 * while a writer may append behind end).  An end below what is covered starts it anew. */
int tti_rows_crc_extend(struct tti_rows_crc *rows, const struct tti_live *live,
			uint64_t end, struct tt_error *err);

/* Checksum of rows [from, end) in one go. */
int tti_rows_crc_of(const struct tti_live *live, uint64_t from, uint64_t end,
		    uint32_t *out, struct tt_error *err);

/* A stamp that only a writer of ours stores: whoever else wrote rows left another.  Four-word
 * files have none, and 0 for it. */
static inline bool tti_stamp_is_ours(uint64_t stamp)
{
	return (stamp & TTI_STAMP_MASK) == 0 || tti_stamp_is_changing(stamp);
}

/* update_timestamp as it stands now, 0 where there is none. */
int tti_live_load_stamp(const struct tti_live *live, uint64_t *out);

/* How a mark stands to this boot. */
enum tti_mark_age {
	TTI_MARK_CLOSED, /* everything was synced and the file closed: holds in every boot */
	TTI_MARK_NOW,	 /* of this boot: nothing can be lost yet */
	TTI_MARK_OLD,	 /* of another: what it does not cover may be anything */
	TTI_MARK_UNSURE /* which boot this is cannot be told: as if there were no mark */
};
enum tti_mark_age tti_mark_age(const struct tti_mark *mark);

/* The mark speaks of what the file holds: nobody else has written to it since. */
bool tti_mark_is_of(const struct tti_mark *mark, const struct tti_live *live);

/* The file was closed at the mark's end, nobody wrote to it since, and between that and its end
 * nothing stands: its end is wrong. */
bool tti_mark_is_passed(const struct tti_mark *mark, const struct tti_live *live);

/* Whether the file bears out what a mark of it says, which was loaded before; false: what is
 * wrong.  Not when a mark is loaded again that is another. */
#define TTI_MARK_WORDS 200
bool tti_mark_judge(const struct tti_mark *mark, const struct tti_live *live,
		    char what[TTI_MARK_WORDS]);

#endif
