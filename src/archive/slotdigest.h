/* SPDX-License-Identifier: Apache-2.0 */
/* The digest of what lies in a slot, made from its bytes. */
#ifndef TTI_SLOTDIGEST_H
#define TTI_SLOTDIGEST_H

#include "archive/dataset.h"
#include "staged/digest.h"

struct tti_slot_digester {
	struct tti_slot_reader reader;
	struct tti_hasher *hasher;
	void *chunk;
};

int tti_slot_digester_init(struct tti_slot_digester *out, struct tti_driver *driver,
			   const struct tti_raw *raw, struct tt_error *err);
void tti_slot_digester_fini(struct tti_slot_digester *digester);

/* extent: the trimmed shape of the chunk in the slot, which must lie inside raw_data.
 * TT_E_DAMAGED: it cannot be read as the pipeline says. */
int tti_slot_digest(struct tti_slot_digester *digester, uint64_t slot,
		    const uint64_t *extent, struct tti_digest *out, struct tt_error *err);

#endif
