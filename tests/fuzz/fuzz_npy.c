/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of .npy files.  The input is a file's beginning; what is parsed is written
 * again, parsed again, and must be the same. */
#include "format/npy.h"
#include "fuzz.h"

static int parse_exactly(struct tti_npy *out, const void *bytes, size_t n,
			 struct tt_error *err)
{
	void *copy = malloc(n ? n : 1); /* reading past n is seen */
	int rc;

	MUST(copy != NULL);
	memcpy(copy, bytes, n);
	rc = tti_npy_parse(out, copy, n, "input", err);
	free(copy);
	return rc;
}

static void check_same(const struct tti_npy *a, const struct tti_npy *b)
{
	MUST(a->rank == b->rank && a->row_bytes == b->row_bytes);
	MUST(memcmp(a->shape, b->shape, a->rank * sizeof(a->shape[0])) == 0);
	MUST(tt_dtype_equal(a->dtype, b->dtype));
	MUST(strcmp(tt_dtype_descr(a->dtype), tt_dtype_descr(b->dtype)) == 0);
}

static void check_format(const struct tti_npy *npy, bool wide)
{
	void *first, *second;
	size_t n, m;
	struct tti_npy again;
	struct tt_error err = { 0 };

	if (tti_npy_format(
		    &first, &n,
		    &(struct tti_npy_form){ npy->dtype, npy->rank, npy->shape, wide },
		    &err) < 0) {
		fuzz_refused(err.code, &err);
		return;
	}
	MUST(n % 64 == 0);
	MUST(parse_exactly(&again, first, n, &err) == TT_OK);
	MUST(again.data_off == n && !again.fortran_order);
	check_same(npy, &again);
	MUST(tti_npy_format(
		     &second, &m,
		     &(struct tti_npy_form){ again.dtype, again.rank, again.shape, wide },
		     NULL) == TT_OK);
	MUST(n == m && memcmp(first, second, n) == 0);
	tti_npy_fini(&again);
	free(first);
	free(second);
}

/* Another extent: nothing but it changes, and putting the old one back is possible. */
static void check_extent(const struct tti_npy *npy, const void *bytes, size_t n,
			 uint64_t value)
{
	uint8_t *copy = malloc(n);
	struct tti_npy again;
	struct tt_error err = { 0 };
	int rc;

	MUST(copy != NULL);
	memcpy(copy, bytes, n);
	rc = tti_npy_put_extent(copy, n, value, &err);
	if (rc < 0) {
		fuzz_refused(rc, &err);
		MUST(memcmp(copy, bytes, n) == 0);
		free(copy);
		return;
	}
	rc = parse_exactly(&again, copy, n, &err);
	if (rc < 0) { /* the total does not fit a file any more */
		MUST(value > npy->shape[0]);
		free(copy);
		return;
	}
	MUST(again.shape[0] == value && again.data_off == npy->data_off);
	again.shape[0] = npy->shape[0];
	check_same(npy, &again);
	tti_npy_fini(&again);
	MUST(tti_npy_put_extent(copy, n, npy->shape[0], &err) == TT_OK);
	MUST(parse_exactly(&again, copy, n, &err) == TT_OK);
	check_same(npy, &again);
	tti_npy_fini(&again);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t prefix = size < TTI_NPY_PREFIX ? size : TTI_NPY_PREFIX;
	struct tti_npy npy;
	struct tt_error err = { 0 };
	uint64_t length = 0;
	int rc = tti_npy_header_length(data, prefix, &length, "input", &err);

	if (rc < 0) {
		fuzz_refused(rc, &err);
		return 0;
	}
	MUST(length <= TTI_NPY_MAX_HEADER);
	rc = parse_exactly(&npy, data, length < size ? (size_t)length : size, &err);
	if (rc < 0) {
		fuzz_refused(rc, &err);
		return 0;
	}
	MUST(npy.data_off == length && npy.row_bytes > 0 && npy.rank <= TT_MAX_RANK);
	MUST(npy.extent_off + npy.extent_width <= length);
	check_format(&npy, false);
	check_format(&npy, true);
	if (npy.rank > 0) {
		check_extent(&npy, data, (size_t)length, 7);
		check_extent(&npy, data, (size_t)length, npy.shape[0] * 10 + 1);
	}
	tti_npy_fini(&npy);
	return 0;
}
