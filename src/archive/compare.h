/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a dataset gives rows back as they are in a file. */
#ifndef TTI_COMPARE_H
#define TTI_COMPARE_H

#include <stdbool.h>
#include <stdint.h>
#include "archive/dataset.h"
#include "archive/sources.h"

/* Rows that are in both. */
struct tti_overlap {
	uint64_t file_row;  /* from 0 of the file */
	uint64_t first_row; /* of the dataset */
	uint64_t rows;
};

/* *equal stays as it is when they are equal (padding aside, which is no data), else false.
 * The item is open and of as many bytes a row as the dataset.  Rows that the file does not
 * have any more are equal. */
int tti_item_compare(struct tti_item *item, struct tt_dataset *dataset,
		     const struct tti_overlap *overlap, bool *equal,
		     struct tt_error *err);

#endif
