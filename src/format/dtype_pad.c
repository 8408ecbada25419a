/* SPDX-License-Identifier: Apache-2.0 */
/* Padding: the bytes of a row that belong to no leaf.  Invariant: bytes of leaves are
 * never written.  Appending runs through here, so types without padding cost nothing and
 * others one store a gap, whatever their nesting. */
#include "format/dtype.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The gap before each leaf and the one behind the last; empty ones are left out. */
static size_t find_gaps(const struct tt_dtype *dtype, struct tti_gap *out)
{
	size_t end = 0, count = 0;

	for (size_t i = 0; i <= dtype->leaf_count; i++) {
		const struct tt_leaf *leaf = &dtype->leaves[i];
		bool is_last = i == dtype->leaf_count;
		size_t next = is_last ? dtype->size : leaf->offset;

		if (next > end && out)
			out[count] = (struct tti_gap){ end, next - end };
		count += next > end;
		if (!is_last)
			end = leaf->offset + (size_t)leaf->count * leaf->size;
	}
	return count;
}

int tti_dtype_make_gaps(struct tt_dtype *dtype, struct tt_error *err)
{
	dtype->gap_count = find_gaps(dtype, NULL);
	if (dtype->gap_count == 0)
		return TT_OK;
	dtype->gaps = calloc(dtype->gap_count, sizeof(*dtype->gaps));
	if (!dtype->gaps)
		return tti_fail(err, -ENOMEM, "element type: out of memory");
	find_gaps(dtype, dtype->gaps);
	return TT_OK;
}

void tt_dtype_clear_padding(const struct tt_dtype *dtype, void *rows, size_t count)
{
	const struct tti_gap *gaps = dtype->gaps;
	size_t gap_count = dtype->gap_count, size = dtype->size;
	char *row = rows;

	if (gap_count == 0)
		return;
	for (; count > 0; count--, row += size)
		for (size_t g = 0; g < gap_count; g++)
			memset(row + gaps[g].offset, 0, gaps[g].bytes);
}

bool tt_dtype_has_padding(const struct tt_dtype *dtype)
{
	return dtype->gap_count > 0;
}
