/* SPDX-License-Identifier: Apache-2.0 */
/* Element types.  The first byte chooses the entry (bit 0: C layout, bit 1: header's
 * descr), the rest is the text. */
#include "format/dtype.h"
#include "fuzz.h"

#define SMALL 65536

static void check_again(const struct tt_dtype *dtype)
{
	const char *descr = tt_dtype_descr(dtype);
	struct tt_dtype *again = NULL;

	MUST(tti_dtype_parse_descr(&again, descr, strlen(descr), NULL) == TT_OK);
	MUST(tt_dtype_equal(again, dtype) && tt_dtype_equal(dtype, again));
	MUST(strcmp(tt_dtype_descr(again), descr) == 0);
	MUST(tt_dtype_is_aligned(again) == tt_dtype_is_aligned(dtype));
	MUST(tt_dtype_has_padding(again) == tt_dtype_has_padding(dtype));
	tt_dtype_unref(again);
}

/* Leaves stand in order, inside the row, apart; what is between them is padding. */
static size_t check_leaves(const struct tt_dtype *dtype)
{
	size_t end = 0, used = 0;

	MUST(tt_dtype_leaf_count(dtype) > 0);
	for (size_t i = 0; i < tt_dtype_leaf_count(dtype); i++) {
		const struct tt_leaf *leaf = tt_dtype_leaf(dtype, i);
		uint64_t count = 1;

		for (uint32_t k = 0; k < leaf->rank; k++)
			count *= leaf->shape[k];
		MUST(count == leaf->count && leaf->size > 0 && leaf->name != NULL);
		MUST(leaf->offset >= end);
		end = leaf->offset + leaf->count * leaf->size;
		MUST(end <= tt_dtype_size(dtype));
		used += leaf->count * leaf->size;
	}
	MUST(tt_dtype_has_padding(dtype) == (used != tt_dtype_size(dtype)));
	return used;
}

static void check_padding(const struct tt_dtype *dtype, size_t used)
{
	size_t size = tt_dtype_size(dtype), kept = 0;
	unsigned char *rows = malloc(2 * size);

	MUST(rows != NULL);
	memset(rows, 0xaa, 2 * size);
	tt_dtype_clear_padding(dtype, rows, 2);
	for (size_t i = 0; i < 2 * size; i++)
		kept += rows[i] == 0xaa;
	MUST(kept == 2 * used);
	free(rows);
}

static void check_select(const struct tt_dtype *dtype)
{
	const char *names[] = {
		tt_dtype_leaf(dtype, 0)->name,
		tt_dtype_leaf(dtype, tt_dtype_leaf_count(dtype) - 1)->name,
	};
	struct tt_dtype *some;
	struct tt_error err;
	int rc = tt_dtype_select(&some, dtype, names, 2, &err);

	if (rc < 0) {
		fuzz_refused(rc, &err); /* one leaf only, or names that clash */
		MUST(some == NULL);
		return;
	}
	MUST(tt_dtype_field_count(some) == 2);
	check_again(some);
	tt_dtype_unref(some);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	struct tt_dtype *dtype = NULL;
	struct tt_error err = { 0 };
	size_t used;
	int rc;

	if (size == 0)
		return 0;
	if (data[0] & 2)
		rc = tti_dtype_parse_descr(&dtype, text, size - 1, &err);
	else
		rc = tt_dtype_parse(&dtype, text, size - 1, data[0] & 1, &err);
	if (rc < 0) {
		fuzz_refused(rc, &err);
		MUST(dtype == NULL);
		return 0;
	}
	MUST(tt_dtype_size(dtype) > 0 && tt_dtype_size(dtype) <= TTI_DTYPE_MAX_SIZE);
	check_again(dtype);
	used = check_leaves(dtype);
	if (tt_dtype_size(dtype) <= SMALL)
		check_padding(dtype, used);
	check_select(dtype);
	tt_dtype_unref(dtype);
	return 0;
}
