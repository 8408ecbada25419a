/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger: which rows of which file lie where in the archive.
 *
 * /_ticktail/ledger is one chunked dataset of the rows below, in the order in which they were
 * committed; it changes in the same journalled commit as the version it tells of, so that
 * the two never differ.  The layout is permanent: docs/FORMAT.md, "The ledger".  Readers find
 * members by name, so members may be added. */
#ifndef TTI_LEDGER_H
#define TTI_LEDGER_H

#include <stddef.h>
#include <stdint.h>
#include "staged/digest.h"
#include "archive/driver.h"
#include "base/error.h"

#define TTI_LEDGER_GROUP "/_ticktail"
#define TTI_LEDGER_DATASET "/_ticktail/ledger"

/* One stretch of rows of one file. */
struct tti_ledger_row {
	/* a ring: its id and 16 zeros, all zero when it is foreign; a single file: the SHA-256
	 * of its real path */
	struct tti_digest source;
	struct tti_digest first_digest,
		last_digest; /* of the first and last block_rows rows */
	uint64_t file_row;   /* the first row, from 0 of the file */
	uint64_t rows;
	uint64_t block_rows;
	uint64_t first_row; /* in the dataset */
	int64_t min_time,
		max_time; /* as stored in the rows; both TT_NAT when there is none */
	char *file;	  /* name in the ring; the real path of a single file */
	char *dataset;
	char *version;
	char *timestamp; /* of the version: tells a name that was used again */
};

struct tti_ledger {
	struct tti_ledger_row *rows; /* as stored */
	size_t count, stored;	     /* rows from stored on are new */
	size_t room;
	size_t *by_file; /* numbers of the stored rows, ordered by file name; stored of them */
};

/* Read the ledger of an archive; an archive without one has an empty one.  TT_E_DAMAGED when
 * it is not what the layout says.  tti_ledger_fini() also after a failure. */
int tti_ledger_load(struct tti_ledger *out, struct tti_driver *driver,
		    struct tt_error *err);
void tti_ledger_fini(struct tti_ledger *ledger);

/* The stored rows of a file name: by_file[*first_out ..], their number is returned. */
size_t tti_ledger_find(const struct tti_ledger *ledger, const char *file,
		       size_t *first_out);

/* Add a row (strings are copied); it is in the file after tti_ledger_store(). */
int tti_ledger_add(struct tti_ledger *ledger, const struct tti_ledger_row *row,
		   struct tt_error *err);
/* Append the new rows to the archive, making the ledger where there is none. */
int tti_ledger_store(struct tti_ledger *ledger, struct tti_driver *driver,
		     struct tt_error *err);

#endif
