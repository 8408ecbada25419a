/* SPDX-License-Identifier: Apache-2.0 */
/* The tail of an NPYT file: 64-bit little-endian words after the last row.
 *   5 words (written by us)        start end update_timestamp offset magic
 *   4 words (npyt 0.3.x)           start end offset magic
 * Source: docs/FORMAT.md.  Bytes only; the live words are accessed through live/words.h. */
#ifndef TTI_TAIL_H
#define TTI_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ticktail/error.h"

#define TTI_TAIL_MAGIC UINT64_C(20250510080000)
#define TTI_TAIL_SUPERSEDED (TTI_TAIL_MAGIC + 1) /* the file was replaced by a copy */
#define TTI_TAIL_MAX_BYTES 40

struct tti_tail {
	uint32_t words; /* 5 or 4 */
	uint64_t start, end;
	uint64_t update_timestamp; /* 0 in a 4-word tail */
	uint64_t offset;
	bool superseded;
};

enum tti_tail_kind {
	TTI_TAIL_NONE = 0, /* a plain .npy file */
	TTI_TAIL_OK = 1,
	TTI_TAIL_ADOPTING = 2, /* an interrupted adopt: capacity comes from the size */
};

/* The end of a file, and what its header and fstat say. */
struct tti_file_end {
	uint64_t data_off, row_bytes;
	uint64_t capacity; /* the extent */
	uint64_t file_bytes;
	const void *last; /* the last n = min(40, file_bytes) bytes */
	size_t n;
	const char *path; /* for messages */
};

/* Judge it.  *kind_out, *tail_out (not for NONE) and *capacity_out (the true one) are written on
 * success; TT_E_DAMAGED with the values otherwise.  Rules: docs/FORMAT.md "The tail". */
int tti_tail_judge(enum tti_tail_kind *kind_out, struct tti_tail *tail_out,
		   uint64_t *capacity_out, const struct tti_file_end *end,
		   struct tt_error *err);

/* The bytes of a tail; returns their number (words x 8). */
size_t tti_tail_format(uint8_t out[TTI_TAIL_MAX_BYTES], const struct tti_tail *tail);

/* The smallest capacity >= rows whose tail starts on a 64-byte line, given a 64-byte aligned
 * data_off.  false on overflow. */
bool tti_tail_align_capacity(uint64_t rows, uint64_t data_off, uint64_t row_bytes,
			     uint64_t *out);

#endif
