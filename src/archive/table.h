/* SPDX-License-Identifier: Apache-2.0 */
/* The hash_table of a dataset as any writer left it: which rows of raw_data have which
 * digest.  Reading only; rows need not be in the order of slots. */
#ifndef TTI_TABLE_H
#define TTI_TABLE_H

#include <hdf5.h>
#include <stdint.h>
#include "staged/digest.h"
#include "base/compiler.h"
#include "base/error.h"

struct tti_table_row {
	struct tti_digest digest; /* all zero: not known */
	int64_t start, stop;	  /* rows of raw_data */
};

struct tti_table {
	struct tti_table_row *rows;
	uint64_t count; /* largest_index */
};

/* path is that of the hash_table in the file, where names the dataset in errors.
 * TT_E_DAMAGED: missing, of another type, or shorter than largest_index says. */
int tti_table_read(struct tti_table *out, hid_t file, const char *path, const char *where,
		   struct tt_error *err);
void tti_table_fini(struct tti_table *table); /* accepts an empty one */
#define tti_auto_table TTI_CLEANUP(tti_table_fini) struct tti_table

#endif
