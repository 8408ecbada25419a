/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of versions: a new archive, a new version with what it inherits, and the words
 * that make it count. */
#ifndef TTI_VERSIONGROUP_H
#define TTI_VERSIONGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include "archive/driver.h"
#include "archive/layout.h"

/* Everything an archive without a version has. */
int tti_archive_make(struct tti_driver *driver, const char *timestamp,
		     struct tt_error *err);

struct tti_new_version {
	const char *name;
	const char *parent; /* TTI_FIRST_VERSION: none */
	const char *timestamp;
	/* true for datasets that the version makes itself */
	bool (*is_own)(void *ctx, const char *dataset);
	void *ctx;
};

/* The group of the version, holding all groups of its parent with their attributes and links
 * to its datasets, but for those that it makes itself.  *out is to be closed. */
int tti_version_begin(hid_t *out, struct tti_driver *driver,
		      const struct tti_new_version *version, struct tt_error *err);
/* Committed, and the current one. */
int tti_version_end(hid_t group, struct tti_driver *driver,
		    const struct tti_new_version *version, struct tt_error *err);
/* The stored data_version becomes 4 (files of version 1 without strings are alike). */
int tti_archive_upgrade(struct tti_driver *driver, struct tt_error *err);
/* true when some dataset holds variable-length strings. */
bool tti_archive_has_strings(struct tti_driver *driver);
/* Have the journal notice foreign commits: they all rewrite the object of the versions. */
int tti_archive_watch(struct tti_driver *driver, struct tt_error *err);

#endif
