/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of tt_archive_verify(): who is told, and one dataset's chunks. */
#ifndef TTI_VERIFY_H
#define TTI_VERIFY_H

#include "ticktail/archive.h"
#include "archive/driver.h"
#include "archive/layout.h"
#include "base/compiler.h"

struct tti_verify {
	struct tti_driver *driver;
	const char *path;
	tt_damage_fn *fn; /* may be NULL */
	void *ctx;
	uint64_t found;
	struct tti_versions versions;
	struct tt_error *err;
};

/* Where damage is; all zero but chunk and row -1: in the archive as a whole. */
struct tti_damage_place {
	const char *version, *dataset;
	int64_t chunk, row, row_count;
};
#define TTI_DAMAGE_NOWHERE \
	{ \
		.chunk = -1, .row = -1 \
	}

void tti_verify_tell(struct tti_verify *verify, const struct tti_damage_place *place,
		     const char *fmt, ...) TTI_PRINTF(3, 4);

/* raw_data and hash_table of a dataset, and every mapping of every version to it; every digest
 * is made anew.  An error means that it could not be looked at (memory, I/O). */
int tti_verify_dataset(struct tti_verify *verify, const char *name);

#endif
