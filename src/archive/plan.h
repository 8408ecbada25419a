/* SPDX-License-Identifier: Apache-2.0 */
/* What one run will do: on which version it builds, and which rows go to which dataset.
 * Reads the archive, changes nothing. */
#ifndef TTI_PLAN_H
#define TTI_PLAN_H

#include "archive/history.h"
#include "archive/names.h"

/* A dataset that gets rows. */
struct tti_work {
	const char *name;	      /* the items' */
	const struct tti_item *model; /* of whose type all its rows are */
	struct tti_stretch *stretches;
	size_t count, room;
	uint64_t rows;	      /* new ones */
	uint64_t rows_before; /* in the parent */
};

struct tti_plan {
	const char *parent; /* TTI_FIRST_VERSION: none; the versions' or the job's */
	char version[1024];
	char timestamp[TTI_TIMESTAMP_TEXT];
	struct tti_work *works;
	size_t count, room;
	uint64_t rows;
};

/* What a plan is made from; the driver may be a new archive's (no versions, no ledger). */
struct tti_plan_input {
	struct tti_driver *driver;
	const struct tt_archive_job *job;
	const struct tti_versions *versions;
	const struct tti_ledger *ledger;
	const struct tti_sources *sources;
};
int tti_plan_make(struct tti_plan *out, const struct tti_plan_input *input,
		  struct tt_error *err);
void tti_plan_fini(struct tti_plan *plan); /* accepts a zeroed one */
/* Find the work on a dataset, NULL when there is none. */
const struct tti_work *tti_plan_find(const struct tti_plan *plan, const char *dataset);

#endif
