/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping rows that are cut after a power loss: as an NPYT file NAME.cut beside their file. */
#ifndef TTI_CUT_ROWS_H
#define TTI_CUT_ROWS_H

#include "live/live_file.h"

#define TTI_CUT_NAME_BYTES 264

struct tti_cut {
	int dirfd;		/* good for names */
	const char *name, *tmp; /* of the file; a name for the copy while it is made */
	const struct tti_live *from; /* rows [row, from->end) are cut */
	uint64_t row;
};

/* Keep them under the first of NAME.cut, NAME.cut-2, ... that is free, synced; name tells
 * which.  When they are there already (a try that was killed), that is all. */
int tti_cut_save(const struct tti_cut *cut, char name[TTI_CUT_NAME_BYTES],
		 struct tt_error *err);

#endif
