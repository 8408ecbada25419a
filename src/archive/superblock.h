/* SPDX-License-Identifier: Apache-2.0 */
/* The one thing that the driver must know of HDF5's own format: where the allocated part of
 * the file ends, as its superblock says.  That is the committed end. */
#ifndef TTI_SUPERBLOCK_H
#define TTI_SUPERBLOCK_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct tti_superblock {
	uint64_t address; /* 0, or the length of a user block */
	uint64_t end;	  /* of allocation, counted from the start of the file */
};

/* Reads n bytes at address; what lies past the end reads as zero. */
typedef int tti_superblock_read_fn(void *ctx, uint64_t address, void *bytes, size_t n);

/* TT_E_FORMAT: no HDF5 signature in the first size bytes, or a superblock of a kind that is
 * not known; -errno of read. */
int tti_superblock_find(struct tti_superblock *out, uint64_t size,
			tti_superblock_read_fn *read, void *ctx, struct tt_error *err);

#endif
