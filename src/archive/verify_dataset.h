/* SPDX-License-Identifier: Apache-2.0 */
/* The dataset that is being verified, as verify_dataset.c comes to know it and verify_slots.c
 * uses it. */
#ifndef TTI_VERIFY_DATASET_H
#define TTI_VERIFY_DATASET_H

#include <errno.h>
#include "archive/dataset.h"
#include "archive/table.h"
#include "archive/verify.h"
#include "base/error.h"

/* What versions and hash_table say about one slot. */
struct tti_subject_slot {
	uint64_t version;		/* first that uses it, + 1; 0: none */
	uint64_t chunk, row, row_count; /* there */
	uint64_t table_row;		/* + 1; 0: none */
};

struct tti_subject {
	struct tti_verify *v;
	const char *name;
	char *where;
	struct tti_raw raw;
	struct tti_table table;
	bool table_known, padded;
	struct tti_subject_slot *slots;
	uint64_t *extents;	 /* of the chunk in each slot, raw.rank a slot */
	uint64_t slot_count;	 /* room in both */
	uint64_t need;		 /* slots that versions use, counted from 0 */
	struct tti_object *seen; /* objects that several versions share */
	size_t seen_count;
	size_t version; /* at hand */
};

static inline int tti_subject_no_memory(struct tti_subject *s)
{
	return tti_fail(s->v->err, -ENOMEM, "%s: out of memory", s->where);
}

/* The digest of every slot that can be checked, made anew from its bytes. */
int tti_verify_slots(struct tti_subject *s);
/* Two slots in use with one digest: deduplication failed, and delete_versions does too. */
int tti_verify_duplicates(struct tti_subject *s);

#endif
