/* SPDX-License-Identifier: Apache-2.0 */
/* The temporary name of an archive that is being made, ".<name>.<pid>.tmp", and those that
 * died with it. */
#ifndef TTI_NEWFILE_H
#define TTI_NEWFILE_H

#include "base/error.h"

/* A new, empty file under its temporary name, with the run lock held; the descriptor or a
 * negative error. */
int tti_newfile_create(int dir, const char *name, char temporary_out[256],
		       const char *path, struct tt_error *err);
/* Remove temporary files of name whose makers are gone. */
void tti_newfile_sweep(int dir, const char *name);

#endif
