/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a file against those of a dataset, a piece at a time. */
#include "archive/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"

#define STEP_BYTES ((uint64_t)1 << 20)

int tti_item_compare(struct tti_item *item, struct tt_dataset *dataset,
		     const struct tti_overlap *overlap, bool *equal, struct tt_error *err)
{
	uint64_t step = tti_min_u64(overlap->rows, STEP_BYTES / item->row_bytes + 1);
	tti_auto_free uint8_t *ours = malloc(2 * step * item->row_bytes);
	uint8_t *theirs = ours + step * item->row_bytes;
	int rc = TT_OK;

	if (!ours)
		return tti_fail(err, -ENOMEM, "%s: out of memory", item->path);
	if (overlap->file_row < item->start)
		return TT_OK; /* partly gone from the file; the rest decides */
	for (uint64_t at = 0; rc == TT_OK && *equal && at < overlap->rows; at += step) {
		uint64_t n = tti_min_u64(step, overlap->rows - at);

		rc = tti_item_read(item, overlap->file_row + at, n, ours);
		if (rc < 0)
			return tti_fail_sys(err, rc, item->path, "reading rows");
		rc = tt_dataset_read(dataset, overlap->first_row + at, n, theirs, err);
		tt_dtype_clear_padding(
			item->dtype, ours,
			n * (item->row_bytes / tt_dtype_size(item->dtype)));
		*equal &= rc == TT_OK && memcmp(ours, theirs, n * item->row_bytes) == 0;
	}
	return rc;
}
