/* SPDX-License-Identifier: Apache-2.0 */
/* An archive open for reading. */
#ifndef TTI_READER_H
#define TTI_READER_H

#include "archive/driver.h"
#include "archive/layout.h"

struct tt_archive {
	struct tti_driver *driver; /* owned; LOCK_SH as long as it lives */
	struct tti_versions versions;
	char *notes; /* the driver's and what reading the versions found */
};

#endif
