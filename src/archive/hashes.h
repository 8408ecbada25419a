/* SPDX-License-Identifier: Apache-2.0 */
/* The hash_table of a dataset, on behalf of slots.c. */
#ifndef TTI_HASHES_H
#define TTI_HASHES_H

#include "archive/slots.h"

/* Attribute chunks of raw_data, raw.rank of them. */
int tti_hashes_chunks(struct tti_slots *slots, uint64_t *chunks, struct tt_error *err);
/* Open and read the table, fill known and stored.  Makes sure that the next slot is free:
 * a table that was rebuilt may be shorter than raw_data is long. */
int tti_hashes_load(struct tti_slots *slots, const struct tti_versions *versions,
		    struct tt_error *err);
/* The dtype kept with the data, if there is one that still means these bytes. */
int tti_hashes_descr(struct tti_slots *slots, struct tt_error *err);
int tti_hashes_create(struct tti_slots *slots, hid_t group, struct tt_error *err);
/* The rows of this run, then largest_index. */
int tti_hashes_append(struct tti_slots *slots, struct tt_error *err);

#endif
