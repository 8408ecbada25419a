/* SPDX-License-Identifier: Apache-2.0 */
/* The header of an .npy file (NumPy NEP 1, versions 1.0, 2.0, 3.0): bytes in, layout out,
 * and back.  Opens nothing.  Source: numpy/lib/format.py and docs/FORMAT.md. */
#ifndef TTI_NPY_H
#define TTI_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ticktail/dtype.h"
#include "ticktail/error.h"

#define TTI_NPY_PREFIX 12 /* bytes that suffice to know the header's length */
#define TTI_NPY_EXTENT_WIDTH \
	21 /* columns of the first extent in the files that we make */
#define TTI_NPY_MAX_HEADER (64u << 20)

struct tti_npy {
	uint8_t major; /* 1, 2 or 3 */
	bool fortran_order;
	uint32_t rank;
	uint64_t shape[TT_MAX_RANK];
	struct tt_dtype *dtype; /* owned */
	uint64_t data_off;	/* bytes before the data */
	uint64_t row_bytes; /* itemsize x product(shape[1:]); for rank 0 the itemsize */
	/* Where the first extent's digits stand and how many columns they may take (digits and
	 * the spaces before them); width 0 when rank is 0. */
	uint64_t extent_off;
	uint32_t extent_width;
};

/* Bytes before the data from the first TTI_NPY_PREFIX bytes (fewer: n).  TT_E_FORMAT when
 * it is no .npy file or of an unknown version. */
int tti_npy_header_length(const void *prefix, size_t n, uint64_t *out, const char *path,
			  struct tt_error *err);

/* Parse a whole header of exactly tti_npy_header_length() bytes.  Refuses what NumPy refuses
 * and sizes that overflow (TT_E_DAMAGED), types we do not know (TT_E_DTYPE), and rows without
 * bytes (TT_E_FORMAT).  On success the caller calls tti_npy_fini(). */
int tti_npy_parse(struct tti_npy *out, const void *bytes, size_t n, const char *path,
		  struct tt_error *err);
void tti_npy_fini(struct tti_npy *npy);

/* What a header is made for.  wide: the first extent takes TTI_NPY_EXTENT_WIDTH columns (NPYT). */
struct tti_npy_form {
	const struct tt_dtype *dtype;
	uint32_t rank;
	const uint64_t *shape;
	bool wide;
};

/* A header as NumPy writes it, byte for byte.  *out is malloc'ed, the caller frees it. */
int tti_npy_format(void **out, size_t *len_out, const struct tti_npy_form *form,
		   struct tt_error *err);

/* Write value right-aligned over the first extent in header bytes; the room must do
 * (TT_E_RANGE).  For headers whose room lies after the dict (np.save of NumPy >= 1.23), the
 * text behind the extent is moved and trailing spaces are taken. */
int tti_npy_put_extent(void *header, size_t n, uint64_t value, struct tt_error *err);

#endif
