/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of a file faulted in before the writer reaches them, so that an append meets none. */
#ifndef TTI_POPULATE_H
#define TTI_POPULATE_H

#include "live/live_file.h"

#define TTI_POPULATE_AHEAD (UINT64_C(4) << 20)

/* populated: bytes of the file, from its beginning, that tti_populate() last returned. */
static inline bool tti_populate_is_short(const struct tti_live *live, uint64_t end,
					 uint64_t populated)
{
	uint64_t at = live->data_off + end * live->watched_row_bytes;

	return live->map.addr && populated < live->file_bytes &&
	       populated < at + TTI_POPULATE_AHEAD / 2;
}

/* Fault in what lies ahead of row end, and the tail's page; how far it got. */
uint64_t tti_populate(const struct tti_live *live, uint64_t end, uint64_t populated);

#endif
