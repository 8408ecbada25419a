/* SPDX-License-Identifier: Apache-2.0 */
/* An archive open for reading. */
#ifndef TTI_READER_H
#define TTI_READER_H

#include "archive/driver.h"
#include "archive/layout.h"

struct tti_holds; /* what tt_archive_holds() has read (holds.c) */
void tti_holds_free(struct tti_holds *holds);

struct tt_archive {
	struct tti_driver *driver; /* owned; LOCK_SH as long as it lives */
	struct tti_versions versions;
	struct tti_holds *holds; /* owned; NULL before the first question */
	char *notes;		 /* the driver's and what reading the versions found */
};

#endif
