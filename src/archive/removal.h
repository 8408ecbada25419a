/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting ring files that are archived: after the commit, each compared with what the
 * archive gives back. */
#ifndef TTI_REMOVAL_H
#define TTI_REMOVAL_H

#include "archive/sources.h"

/* Files that cannot go (still queued, not archived whole, not equal to what was read back)
 * stay, with a warning where that is not simply normal.  path is the archive's. */
int tti_remove_archived(const char *path, const struct tt_archive_job *job,
			struct tti_sources *sources, struct tt_error *err);

#endif
