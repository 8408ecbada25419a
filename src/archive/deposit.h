/* SPDX-License-Identifier: Apache-2.0 */
/* Rows into one dataset of the new version: its chunks, its table, its virtual dataset. */
#ifndef TTI_DEPOSIT_H
#define TTI_DEPOSIT_H

#include "archive/crew.h"
#include "archive/plan.h"

struct tti_deposit_count {
	uint64_t rows_done; /* of the run, for progress */
	uint64_t chunks, chunks_new;
	uint64_t bytes;
};

struct tti_deposit {
	struct tti_driver *driver;
	struct tti_crew *crew;
	const struct tt_archive_job *job;
	const struct tti_versions *versions;
	const struct tti_plan *plan;
	hid_t group;	       /* of the new version */
	struct tti_work *work; /* times of its stretches are filled in */
	struct tti_deposit_count *count;
};
/* All HDF5 identifiers are closed again. */
int tti_deposit(struct tti_deposit *deposit, struct tt_error *err);

#endif
