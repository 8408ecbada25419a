/* SPDX-License-Identifier: Apache-2.0 */
/* Which files were joined into a merged one.  The entries tell; they are written before the
 * merged file appears and stay as long as it does. */
#include "live/ring.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "live/ring_words.h"

static int by_row(const void *a, const void *b)
{
	const struct tt_ring_part *x = a, *y = b;

	return (x->row > y->row) - (x->row < y->row);
}

static void take_entry(struct tt_ring_part *part, const struct tti_entry *entry)
{
	uint64_t cut_at = tti_field_load(&entry->cut_at);

	*part = (struct tt_ring_part){
		.name = tti_entry_name(entry),
		.row = tti_field_load(&entry->merged_row),
		.rows = tti_field_load(&entry->rows),
		.first_row_ns = tti_field_load(&entry->first_row_ns),
		.cut = cut_at != UINT64_MAX,
		.cut_at = cut_at != UINT64_MAX ? cut_at : 0,
	};
	tti_ring_format_name(part->file_name, part->name, false);
	if (part->first_row_ns == INT64_MIN)
		part->first_row_ns = (int64_t)part->name;
}

int tt_ring_parts(const char *dir, uint64_t name, struct tt_ring_part **parts_out,
		  size_t *count_out, struct tt_error *err)
{
	struct tt_ring_part *parts;
	struct tti_ring ring;
	size_t count = 0;
	int rc = tti_ring_open(&ring, dir, false, err);

	*parts_out = NULL;
	*count_out = 0;
	if (rc < 0)
		return rc;
	parts = calloc(tti_ring_entry_count(&ring) + 1, sizeof(*parts));
	for (uint64_t i = 0; parts && i < tti_ring_entry_count(&ring); i++) {
		const struct tti_entry *entry = tti_ring_entry(&ring, i);

		if (tti_entry_name(entry) != 0 && tti_entry_merged(entry) == name &&
		    tti_field_load(&entry->rows) != TTI_ROWS_UNKNOWN)
			take_entry(&parts[count++], entry);
	}
	tti_ring_close(&ring);
	if (!parts)
		return tti_fail_sys(err, -ENOMEM, dir, NULL);
	if (count == 0) {
		free(parts);
		return TT_OK;
	}
	qsort(parts, count, sizeof(*parts), by_row);
	*parts_out = parts;
	*count_out = count;
	return TT_OK;
}
