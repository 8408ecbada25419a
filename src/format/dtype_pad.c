/* SPDX-License-Identifier: Apache-2.0 */
/* Padding: the bytes of a row that belong to no leaf.  Invariant: bytes of leaves are
 * never written, types without padding cost nothing. */
#include "format/dtype.h"

#include <string.h>

static void clear_struct(const struct tt_dtype *dtype, char *row)
{
	size_t end = 0;

	for (size_t i = 0; i < dtype->field_count; i++) {
		const struct tt_field *field = &dtype->fields[i];

		memset(row + end, 0, field->offset - end);
		tt_dtype_clear_padding(field->dtype, row + field->offset, 1);
		end = field->offset + field->dtype->size;
	}
	memset(row + end, 0, dtype->size - end);
}

void tt_dtype_clear_padding(const struct tt_dtype *dtype, void *rows, size_t count)
{
	if (!dtype->has_padding)
		return;
	for (size_t i = 0; i < count; i++) {
		char *row = (char *)rows + i * dtype->size;

		if (dtype->base)
			tt_dtype_clear_padding(dtype->base, row,
					       dtype->size / dtype->base->size);
		else
			clear_struct(dtype, row);
	}
}

bool tt_dtype_has_padding(const struct tt_dtype *dtype)
{
	return dtype->has_padding;
}
