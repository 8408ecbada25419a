/* SPDX-License-Identifier: Apache-2.0 */
/* Recovering a ring: its files (ring_recover.c), what a row of it is (ring_recover_rows.c), and
 * what the settings file says of its files (ring_recover_entries.c).
 * Invariant: while writer is there, the locks of the writer and of maintainers are held. */
#ifndef TTI_RING_RECOVER_H
#define TTI_RING_RECOVER_H

#include "live/recover.h"
#include "live/ring_writer.h"

struct tti_ring_recovery {
	const char *dir;
	struct tt_recover_opts opts;
	struct tt_recover_report *report;
	struct tt_ring_writer *writer; /* NULL: dry run */
	struct tti_ring *ring;
	struct tti_ring_like like;	 /* owned */
	bool told;			 /* by the caller, against what its files say */
	struct tti_mark mark;		 /* as found; sequence 0: none */
	bool torn[TTI_MARK_SLOTS];	 /* slots of marks that were damaged */
	char mark_words[TTI_MARK_WORDS]; /* what was wrong with the mark, or "" */
	struct tti_items items;		 /* owned */
	struct tti_cut_file cut;
};

/* What a row is -> rec->like, of the ring as it was opened to be looked at. */
int tti_ring_recover_rows(struct tti_ring_recovery *rec, struct tti_ring *look,
			  struct tt_error *err);

/* A number of rows that one witness tells is better than none, if it is possible; against an end
 * that is possible as well, what stands in the rows decides. */
bool tti_ring_recover_outweighs(const struct tti_ring_recovery *rec,
				const struct tti_ring_item *item, int fd,
				const struct tti_salvage *salvage, uint64_t rows);

/* name in the ring, or NULL for the ring as such. */
int tti_ring_recover_say(struct tti_ring_recovery *rec, const char *name,
			 enum tt_recover_did did, const char *what, struct tt_error *err);

/* Entries that cannot be: twice the same file, counted as free, joined into later files. */
int tti_ring_recover_entries(struct tti_ring_recovery *rec, struct tt_error *err);
/* What a merge left that died, or whose merged file was damaged since. */
int tti_ring_recover_merges(struct tti_ring_recovery *rec, struct tt_error *err);
/* The numbers of first rows made to ascend. */
int tti_ring_recover_bases(struct tti_ring_recovery *rec, struct tt_error *err);
/* Copies of files that were not finished. */
int tti_ring_drop_copies(struct tti_ring_recovery *rec, struct tt_error *err);

/* Dry run: what verify finds in manifest and settings, and files by look_at_files. */
typedef int tti_recover_files_fn(struct tti_ring_recovery *rec, struct tt_error *err);
int tti_ring_recover_look(struct tti_ring_recovery *rec, tti_recover_files_fn *files,
			  struct tt_error *err);

#endif
