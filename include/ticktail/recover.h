/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing damaged or half-written files and rings back.
 *
 * What can be read is kept under its number: a row that is kept is the row that had its
 * position before.  Nothing is destroyed: a damaged file stays beside the mended one as
 * NAME.bad-N (in a ring .NAME.bad-N), and no file that a reader may have open is changed, cut
 * or written over; the mended copy takes the name by a rename.
 *
 * Threads:    calls on different paths may run at once.
 * Processes:  each call takes the writer lock of the file or ring, and in a ring also the lock
 *             of those who maintain it: TT_E_BUSY names the pid of a live writer.
 * Durability: everything is on disk before the mended file gets its name; killed at any place,
 *             the call can be made again.
 * Idempotent: a second call finds nothing to do. */
#ifndef TICKTAIL_RECOVER_H
#define TICKTAIL_RECOVER_H

#include <ticktail/ring.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tt_recover_opts {
	size_t struct_size;
	/* What a row is, for files whose header cannot be read, or says another type than this, and
	 * which lie in no ring that tells; NULL: not known.  What header, size and tail of a file,
	 * or two whole files of a ring, agree on is not overruled (TT_E_MISMATCH).  row_shape as
	 * in struct tt_file_create_opts. */
	const struct tt_dtype *dtype;
	uint32_t row_rank;
	const uint64_t *row_shape;
	/* A file that gets the bytes that are cut, in the order of the report; it is made when
	 * there are some, and an existing one must hold a beginning of them.  NULL: they stay
	 * in NAME.bad-N only. */
	const char *keep_cut;
	bool dry_run; /* say what would be done; takes no lock and changes nothing */
	/* Cut rows whose publication nothing proves.  Without it they are kept and counted as
	 * unproven. */
	bool cut_unproven;
};
#define TT_RECOVER_OPTS_INIT \
	{ \
		.struct_size = sizeof(struct tt_recover_opts) \
	}

enum tt_recover_did {
	TT_RECOVER_MENDED = 1, /* in place: a word, an entry, a name */
	TT_RECOVER_REPLACED,   /* by a mended copy; the old file is kept aside */
	TT_RECOVER_MADE,       /* anew: it was missing */
	TT_RECOVER_REMOVED,    /* a leftover of a dead process, without rows */
	TT_RECOVER_LEFT,       /* cannot be mended: what says why */
};

/* One thing that was wrong and what was done about it. */
struct tt_recover_item {
	char *path;  /* what was damaged */
	char *what;  /* what was wrong, in words */
	char *aside; /* where the damaged one is kept, or NULL */
	enum tt_recover_did did;
	bool has_rows;		/* the counts below mean something */
	uint64_t rows_kept;	/* rows in the mended file */
	uint64_t rows_unproven; /* of these, rows whose publication nothing proves */
	uint64_t rows_lost;	/* rows that were published and are gone */
	uint64_t rows_cut;	/* whole rows, not known to be published, that were cut */
	uint64_t bytes_cut;	/* all bytes that were cut */
};

struct tt_recover_report {
	struct tt_recover_item *items;
	size_t item_count; /* 0: nothing was wrong */
	uint64_t
		rows_kept; /* rows of the file, or of all files of the ring, afterwards */
	uint64_t rows_unproven, rows_lost, rows_cut, bytes_cut; /* sums of the items */
	size_t left; /* items that could not be mended */
};

/* Mend one file, whatever happened to it: cut or lengthened anywhere, header, tail or size
 * damaged, left half written by a process that died.  A whole file is left alone, but for rows
 * past its mark of another boot, which are cut as by the next writer.  With cut_unproven also
 * rows past a mark that the rows do not bear out, and all rows of a file without a mark that
 * nobody wrote since the machine was started; none of files that other programs wrote.
 *
 * Where the end of the rows is known (by the tail, by a mark) exactly those are kept.  Else
 * all up to the last row that holds a byte other than zero, and those are reported as unproven.
 * opts may be NULL.  *report_out is to be freed with tt_recover_report_free(), also after an
 * error.
 * Errors: TT_E_BUSY, TT_E_DAMAGED when the header is lost, or cannot be right, and opts do not
 * tell what a row is, TT_E_MISMATCH when opts tell what the file contradicts,
 * TT_E_UNSUPPORTED for a file of a ring (recover the ring), -ENOSPC with nothing changed,
 * -EEXIST (keep_cut holds something else). */
TT_API int tt_file_recover(const char *path, const struct tt_recover_opts *opts,
			   struct tt_recover_report *report_out, struct tt_error *err);

/* Mend a ring: every file as above, its manifest, its settings file with entries and marks,
 * and what dead processes left.  Rows that are gone for good stay counted, so that readers are
 * told how many they lost.  What is no regular file among .lock, .ticktail and .writer is put
 * aside; TT_E_FORMAT when that would be unsafe.  Errors as above; one file that cannot be
 * mended does not keep the others from it (report_out->left). */
TT_API int tt_ring_recover(const char *dir, const struct tt_recover_opts *opts,
			   struct tt_recover_report *report_out, struct tt_error *err);

TT_API void tt_recover_report_free(
	struct tt_recover_report *report); /* accepts an empty one */

#ifdef __cplusplus
}
#endif
#endif
