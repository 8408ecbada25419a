/* SPDX-License-Identifier: Apache-2.0 */
/* The header of an .npy file as bytes: for programs that send rows to NumPy, or take them from
 * it, through a pipe.  Files are opened with <ticktail/file.h>.
 *
 * Functions of their arguments only: any thread, no state.  Sizes are bytes. */
#ifndef TICKTAIL_NPY_H
#define TICKTAIL_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ticktail/dtype.h>
#include <ticktail/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TT_NPY_PREFIX 12 /* bytes that suffice to know the header's length */

struct tt_npy_header {
	struct tt_dtype *dtype; /* a reference of its own */
	bool fortran_order;
	uint32_t rank;
	uint64_t shape[TT_MAX_RANK];
	uint64_t data_off;  /* bytes before the data */
	uint64_t row_bytes; /* itemsize x product(shape[1:]) */
	/* The first extent stands in a column of its own, as in live files: behind the rows
	 * there may be a tail that says which of them are valid. */
	bool wide;
};

/* Bytes before the data, from the first n bytes (TT_NPY_PREFIX, or fewer in a shorter file).
 * name stands in messages.  TT_E_FORMAT: no .npy file, or of an unknown version. */
TT_API int tt_npy_header_length(const void *prefix, size_t n, const char *name,
				uint64_t *out, struct tt_error *err);
/* Parse a whole header of exactly tt_npy_header_length() bytes; on success the caller calls
 * tt_npy_header_fini().  Errors: TT_E_FORMAT, TT_E_DTYPE, TT_E_DAMAGED, -ENOMEM. */
TT_API int tt_npy_header_parse(struct tt_npy_header *out, const void *bytes, size_t n,
			       const char *name, struct tt_error *err);
TT_API void tt_npy_header_fini(struct tt_npy_header *header);

/* The header that np.save writes for an array in C order, byte for byte.  *out is malloc'ed,
 * the caller frees it. */
TT_API int tt_npy_header_format(void **out, size_t *len_out, const struct tt_dtype *dtype,
				uint32_t rank, const uint64_t *shape,
				struct tt_error *err);

#ifdef __cplusplus
}
#endif
#endif
