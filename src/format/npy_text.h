/* SPDX-License-Identifier: Apache-2.0 */
/* The text of an .npy header: a Python dict literal with the keys descr, fortran_order and
 * shape.  Splits it into its values; what descr means is the dtype parser's business. */
#ifndef TTI_NPY_TEXT_H
#define TTI_NPY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ticktail/dtype.h"
#include "ticktail/error.h"

struct tti_npy_text {
	const char *descr; /* points into the text */
	size_t descr_len;
	bool fortran_order;
	uint32_t rank;
	uint64_t shape[TT_MAX_RANK];
	size_t extent_off; /* in the text; see struct tti_npy */
	uint32_t extent_width;
};

/* What lies between the length word and the data. */
struct tti_npy_dict {
	const char *text;
	size_t len;
	bool python2; /* 3L is an extent as well */
	const char *path;
};
/* TT_E_DAMAGED with the reason and the byte. */
int tti_npy_text_parse(struct tti_npy_text *out, const struct tti_npy_dict *dict,
		       struct tt_error *err);

#endif
