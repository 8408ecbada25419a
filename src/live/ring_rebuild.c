/* SPDX-License-Identifier: Apache-2.0 */
/* Making a manifest again on demand.  The writer does the same by itself when it opens a ring
 * whose manifest is missing or damaged. */
#include "live/ring.h"

int tt_ring_rebuild(const char *dir, uint64_t keep, struct tt_error *err)
{
	struct tti_ring ring = TTI_RING_EMPTY;
	struct tti_ring_lock lock = { .fd = -1 };
	struct tti_repair repair = { "" };
	int rc;

	if (keep > TTI_MANIFEST_MAX_SLOTS)
		return tti_fail(err, TT_E_RANGE, "%s: keep %llu: at most %u", dir,
				(unsigned long long)keep, TTI_MANIFEST_MAX_SLOTS);
	rc = tti_ring_open(&ring, dir, true, err);
	if (rc == TT_OK)
		rc = tti_ring_lock(&lock, &ring, TTI_LOCK_WRITER, err);
	if (rc == TT_OK)
		rc = tti_ring_mend_manifest(&ring, keep < 2 ? 2 : keep, true, &repair,
					    err);
	tti_ring_unlock(&lock);
	tti_ring_close(&ring);
	return rc;
}
