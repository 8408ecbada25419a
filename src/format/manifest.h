/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest of a ring (NPY8): <ring>/.lock, keep x uint64 little-endian names of the
 * newest files in ascending order, 0 = free slot.  A name is the nanosecond at which the file
 * was made; the file is <name>.npy, after a merge <name>.npy_.  Source: docs/FORMAT.md. */
#ifndef TTI_MANIFEST_H
#define TTI_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ticktail/error.h"

#define TTI_MANIFEST_NAME ".lock"
#define TTI_MANIFEST_MAX_SLOTS (1u << 20)
#define TTI_RING_NAME_BYTES 32 /* "18446744073709551615.npy_" and its NUL */

/* A file of .lock's size holds how many slots: TT_E_DAMAGED when it is 0, no multiple of 8 or
 * above the limit. */
int tti_manifest_slots(uint64_t file_bytes, uint64_t *out, const char *path,
		       struct tt_error *err);

/* Copy of the slots -> the queue: zeros and equal neighbours dropped, in place.  The number of
 * names left, or TT_E_DAMAGED when they do not ascend. */
int64_t tti_manifest_queue(uint64_t *slots, uint64_t n, const char *path,
			   struct tt_error *err);

enum tti_ring_entry { TTI_RING_OTHER = 0, TTI_RING_FILE = 1, TTI_RING_MERGED = 2 };

/* What a directory entry is: <digits>.npy or <digits>.npy_ (no leading zero, fits u64, not
 * 0), else TTI_RING_OTHER. */
enum tti_ring_entry tti_ring_parse_name(const char *name, uint64_t *out);
void tti_ring_format_name(char out[TTI_RING_NAME_BYTES], uint64_t name, bool merged);

#endif
