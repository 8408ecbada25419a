/* SPDX-License-Identifier: Apache-2.0 */
/* What may be shown of a ring after a power loss: before the next writer has cut what was not
 * synced, and afterwards.
 *
 * Invariant: every end of a ring's file that anybody but its writer looks at went through
 * tti_ring_limit_file(), because tti_ring_open_file() asks it. */
#ifndef TTI_RING_CUT_H
#define TTI_RING_CUT_H

#include "live/ring.h"

/* Set live->limit: what was cut of the file, or, while a mark of another boot waits for the
 * next writer, what that mark says. */
void tti_ring_limit_file(const struct tti_ring *ring, uint64_t name, bool merged,
			 struct tti_live *live);

/* For the writer, to read: a file's end as its tail has it, without that limit. */
int tti_ring_open_raw(const struct tti_ring *ring, uint64_t name, struct tti_live *live,
		      struct tt_error *err);

/* An error of opening a file that means no more than that it has no rows: npyt has named it
 * and is making it, or it came after the last sync before a power loss. */
bool tti_ring_is_unsure(const struct tti_ring *ring, const struct tti_ring_item *item,
			int rc);

/* A file of this name came after the last sync before a power loss, and the next writer has not
 * settled that yet. */
bool tti_ring_is_past_mark(const struct tti_ring *ring, uint64_t name);

/* The newest file was made by npyt, not by us before a power loss took its entry. */
bool tti_ring_is_npyts(const struct tti_ring *ring);

/* The file was written to by npyt since, or is npyt's: no mark speaks of it. */
bool tti_ring_wrote_npyt(const struct tti_live *live, bool has_entry);

/* Where rows of file `name` end for good: UINT64_MAX, or the first row that was cut. */
uint64_t tti_ring_cut_at(const struct tti_ring *ring, uint64_t name);

/* A stored position past a cut: *pos becomes the place of the cut; how many rows it was
 * past it, 0 for none. */
uint64_t tti_ring_clamp_pos(const struct tti_ring *ring, struct tt_pos *pos);

/* For who wants all cut that nothing proves, of a ring that a reboot met without a mark that
 * says anything: rows of *out's file from its end on, and all newer files.  1 there are, 0 not,
 * or an error. */
int tti_ring_unproven(struct tti_ring *ring, struct tti_mark *out, struct tt_error *err);

#endif
