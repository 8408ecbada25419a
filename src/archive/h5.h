/* SPDX-License-Identifier: Apache-2.0 */
/* Manners towards libhdf5: identifiers that close themselves, an error stack that neither
 * prints nor is left changed, and its words as one line of ours. */
#ifndef TTI_H5_H
#define TTI_H5_H

#include <hdf5.h>
#include "base/compiler.h"
#include "base/error.h"

/* Close any kind of identifier but a file's; accepts negative ones, leaves -1. */
void tti_h5_close(hid_t *id);
#define tti_auto_hid TTI_CLEANUP(tti_h5_close) hid_t

static inline hid_t tti_steal_hid(hid_t *id)
{
	hid_t taken = *id;

	*id = -1;
	return taken;
}

/* While the variable lives, libhdf5 prints no error stack on this thread; then the caller's
 * printer is back.  Every function that calls libhdf5 and may see it fail begins with
 * TTI_H5_QUIET; nesting is fine. */
struct tti_h5_quiet {
	unsigned is_v2;
	H5E_auto2_t print;
	void *data;
};
struct tti_h5_quiet tti_h5_quiet_begin(void);
void tti_h5_quiet_end(struct tti_h5_quiet *quiet);
#define TTI_H5_QUIET \
	TTI_CLEANUP(tti_h5_quiet_end) \
	struct tti_h5_quiet tti_quiet_ = tti_h5_quiet_begin(); \
	(void)tti_quiet_

/* "path: what: the innermost description on libhdf5's error stack"; clears the stack.
 * path or what may be NULL.  Returns code. */
int tti_h5_fail(struct tt_error *err, int code, const char *path, const char *what);

#endif
