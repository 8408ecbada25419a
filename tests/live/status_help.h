/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of status, counters and registered readers share: a look at a ring. */
#ifndef STATUS_HELP_H
#define STATUS_HELP_H

#include "ring_help.h"
#include "ticktail/status.h"

static inline struct tt_ring_status look(const char *dir)
{
	struct tt_ring_status status;

	OK(tt_ring_status(dir, &status, &err));
	return status;
}

/* The settings file of r, mapped for writing. */
static inline struct tti_ring open_raw(void)
{
	struct tti_ring ring;

	OK(tti_ring_open(&ring, "r", true, &err));
	ck_assert_ptr_nonnull(ring.set.addr);
	return ring;
}

#endif
