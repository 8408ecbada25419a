/* SPDX-License-Identifier: Apache-2.0 */
/* The public face of the .npy header: the same parser and printer as the files use. */
#include "ticktail/npy.h"

#include <string.h>
#include "format/npy.h"

int tt_npy_header_length(const void *prefix, size_t n, const char *name, uint64_t *out,
			 struct tt_error *err)
{
	return tti_npy_header_length(prefix, n, out, name, err);
}

int tt_npy_header_parse(struct tt_npy_header *out, const void *bytes, size_t n,
			const char *name, struct tt_error *err)
{
	struct tti_npy npy;
	int rc = tti_npy_parse(&npy, bytes, n, name, err);

	if (rc < 0)
		return rc;
	*out = (struct tt_npy_header){
		.dtype = tt_dtype_ref(npy.dtype),
		.fortran_order = npy.fortran_order,
		.rank = npy.rank,
		.data_off = npy.data_off,
		.row_bytes = npy.row_bytes,
		.wide = npy.extent_width >= TTI_NPY_EXTENT_WIDTH,
	};
	memcpy(out->shape, npy.shape, sizeof(out->shape));
	tti_npy_fini(&npy);
	return TT_OK;
}

void tt_npy_header_fini(struct tt_npy_header *header)
{
	tt_dtype_unref(header->dtype);
	header->dtype = NULL;
}

int tt_npy_header_format(void **out, size_t *len_out, const struct tt_dtype *dtype,
			 uint32_t rank, const uint64_t *shape, struct tt_error *err)
{
	const struct tti_npy_form form = { dtype, rank, shape, false };

	return tti_npy_format(out, len_out, &form, err);
}
