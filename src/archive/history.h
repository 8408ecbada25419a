/* SPDX-License-Identifier: Apache-2.0 */
/* What of a file is in the archive already, as seen from one version.
 *
 * A row of the ledger counts when its version is that version or an ancestor of it.  When its
 * version was deleted, it counts when the version's dataset still reaches over the rows and
 * no later row of the ledger put others there.  Where a deletion cut the chain, a version off
 * it may be an ancestor: then the rows themselves are looked at.  What a counting row says about
 * a file must be true of the file: the digests of its first and last block are compared. */
#ifndef TTI_HISTORY_H
#define TTI_HISTORY_H

#include "archive/bands.h"
#include "archive/driver.h"
#include "archive/layout.h"
#include "archive/ledger.h"
#include "archive/sources.h"

#define TTI_BLOCK_BYTES ((uint64_t)64 << 10) /* of the digests in the ledger */

struct tti_history {
	struct tti_driver *driver;
	const struct tti_versions *versions;
	const struct tti_ledger *ledger;
	const char *version; /* TTI_FIRST_VERSION: nothing counts */
	bool *in_chain;	     /* of versions->items */
	bool is_cut;	     /* the chain ends at a version whose parent was deleted */
	bool *of_namesake;   /* of ledger->rows: their version is another one by now */
	char *found; /* the path of a version's dataset, the last that was there */
	struct tti_hasher *hasher;
	/* the dataset that was last asked for */
	char *dataset;
	uint64_t dataset_rows;
};
/* driver, versions, ledger and version are set and all else is zero; they outlive it. */
int tti_history_open(struct tti_history *history, struct tt_error *err);
void tti_history_close(struct tti_history *history); /* accepts a zeroed one */

/* true: version is above, or in the chain of prev_version from it. */
bool tti_version_descends(const struct tti_versions *versions, const char *version,
			  const char *above);
/* The place of the newest version the ledger knows that still exists, or TTI_NO_VERSION. */
size_t tti_history_newest(const struct tti_versions *versions,
			  const struct tti_ledger *ledger);

/* Rows of a dataset in the version, 0 when it has none such. */
int tti_history_rows(struct tti_history *history, const char *dataset, uint64_t *out,
		     struct tt_error *err);

/* Ranges of rows of a file, ascending, apart. */
struct tti_ranges {
	struct tti_range *items;
	size_t count, room;
	uint64_t cut; /* rows that are archived, and were cut from the file later */
};
void tti_ranges_fini(struct tti_ranges *ranges);

/* The rows of item that the archive does not hold in its dataset (any dataset when
 * any_dataset).  TT_E_MISMATCH when the file is not the one archived before. */
int tti_history_missing(struct tti_history *history, struct tti_item *item,
			bool any_dataset, struct tti_ranges *out, struct tt_error *err);

/* Counting rows of the ledger of an item, for those who want to re-read them: visit is called
 * for each until it returns other than TT_OK. */
struct tti_visitor {
	int (*visit)(void *ctx, const struct tti_ledger_row *row, struct tt_error *err);
	void *ctx;
	bool any_dataset;
};
int tti_history_each(struct tti_history *history, struct tti_item *item,
		     const struct tti_visitor *visitor, struct tt_error *err);

/* Rows of a block in the digests of the ledger. */
uint64_t tti_block_rows(uint64_t rows, uint64_t row_bytes);

#endif
