/* SPDX-License-Identifier: Apache-2.0 */
/* A directory that is built under a temporary name beside its place and then renamed. */
#ifndef TTI_RING_SITE_H
#define TTI_RING_SITE_H

#include <limits.h>
#include "ticktail/error.h"

struct tti_site {
	const char *path;	 /* as the caller wrote it */
	char name[NAME_MAX + 1]; /* its last part */
	char tmp[NAME_MAX + 1];
	int parent, dirfd; /* owned; dirfd is the temporary directory */
};

/* -EEXIST when the place is taken, TT_E_UNSUPPORTED in a ring with settings. */
int tti_site_find(struct tti_site *site, const char *path, struct tt_error *err);
/* Make the temporary directory, without what was left there by one who died. */
int tti_site_begin(struct tti_site *site, struct tt_error *err);
/* Sync and rename: from here it is seen. */
int tti_site_finish(struct tti_site *site, struct tt_error *err);
/* Remove the temporary directory and what is in it. */
void tti_site_undo(struct tti_site *site);
void tti_site_fini(struct tti_site *site); /* closes; idempotent */

#endif
