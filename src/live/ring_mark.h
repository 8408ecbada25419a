/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of a ring: what of it is known to be on disk (docs/FORMAT.md, "Marks").
 *
 * Invariant: a mark is stored after what it speaks of was synced: the rows of its file up to
 * its end, that file's name and place in the manifest, its entry, and all files before it. */
#ifndef TTI_RING_MARK_H
#define TTI_RING_MARK_H

#include "live/mark.h"
#include "live/ring.h"

/* State of the one who stores marks, a writer's. */
struct tti_ring_marker {
	bool ready; /* tti_ring_marker_init() was called */
	bool has_boot; /* else no marks: nothing would tell them from those of another boot */
	uint8_t boot_id[TTI_BOOT_ID_BYTES];
	uint64_t sequence; /* of the last mark that is there */
	uint64_t file;	   /* that rows is about, 0 none */
	uint64_t since;	   /* files from this on may be unsynced, and ... */
	bool lazy;	   /* ... must be before one after them is marked */
	bool none;	   /* finished files are not synced by who finishes them */
	bool lost; /* names or marks could not be synced: none counts from then on */
	struct tti_rows_crc rows;
};

/* After the ring was opened for writing, under its writer lock. */
int tti_ring_marker_init(struct tti_ring_marker *marker, const struct tti_ring *ring,
			 struct tt_error *err);

/* live (file end.file of the ring) was synced up to end.row: store that, synced.  Files before
 * it must have been synced to their ends, but for the first mark after init, and after
 * tti_ring_mark_none(): then they are here, by the thread that owns the ring.  From any thread
 * that is the only one to do so at that time; uses the ring's descriptors, not its mappings, and
 * may run while the writer appends behind end or rolls.  Costs the new rows' checksum and one
 * fdatasync; the first mark of a file also syncs directory and manifest. */
int tti_ring_mark(struct tti_ring *ring, struct tti_ring_marker *marker,
		  const struct tti_live *live, struct tt_pos end, struct tt_error *err);

/* The same, and nothing will be written any more: no later boot has anything to doubt. */
int tti_ring_mark_closed(struct tti_ring *ring, struct tti_ring_marker *marker,
			 const struct tti_live *live, struct tt_pos end,
			 struct tt_error *err);

/* A writer that does not sync begins: no row is known to be on disk from now on. */
int tti_ring_mark_none(struct tti_ring *ring, struct tti_ring_marker *marker,
		       struct tt_error *err);

/* Rows from row on of file name will be changed in place: their checksum is taken back before,
 * synced.  Nothing to do when no mark has one that covers them.  The caller holds the writer
 * lock. */
int tti_ring_mark_changing(const struct tti_ring *ring, uint64_t name, uint64_t row,
			   struct tt_error *err);

/* The same, of a ring of which only the directory is open. */
int tti_ring_mark_changing_in(int dirfd, const char *path, uint64_t name, uint64_t row,
			      struct tt_error *err);

/* The mark that counts, read by pread: 1 there is one, 0 none, or an error. */
int tti_ring_mark_load(const struct tti_ring *ring, struct tti_mark *out);

/* The same.  *sure_out: it is the last that was stored.  Else a later one may have been lost,
 * so what is behind it may have been synced too. */
int tti_ring_mark_load_sure(const struct tti_ring *ring, struct tti_mark *out,
			    bool *sure_out);

/* Slot i, read by pread, is damaged (tti_mark_is_damaged()), and no store is on its way. */
bool tti_ring_mark_is_damaged(const struct tti_ring *ring, unsigned i);

/* Slot i, which is damaged, is made to say that nothing is known, or is emptied when the other
 * one says nothing either.  What the other one says stays, for who chooses to cut by it.  The
 * caller holds the writer lock. */
int tti_ring_mark_mend(const struct tti_ring *ring, unsigned i, struct tt_error *err);

#endif
