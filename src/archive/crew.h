/* SPDX-License-Identifier: Apache-2.0 */
/* A crew of threads that work on bands, and the window of bands in memory.
 *
 * The calling thread fills bands and stores them in order; workers read, hash and encode in
 * between.  The window bounds memory whatever the dataset's size.  No libhdf5 call is made on
 * a worker. */
#ifndef TTI_CREW_H
#define TTI_CREW_H

#include "archive/bands.h"

struct tti_crew;

struct tti_crew_job {
	const struct tti_press *press;
	uint64_t first_band; /* to press->cut->grid.across[0] */
	/* On the calling thread, in order, each TT_OK or an error that ends the run: */
	int (*fill)(void *ctx, struct tti_band *band, struct tt_error *err);
	/* Take the band's chunks; *pending is raised for each that is still being written, and
	 * lowered by the writer's callback. */
	int (*store)(void *ctx, struct tti_band *band, unsigned *pending,
		     struct tt_error *err);
	/* Let writes finish, wait for one when wait.  The number, or an error. */
	int (*reap)(void *ctx, bool wait);
	/* All writes are over, whatever their result; before buffers are freed. */
	void (*settle)(void *ctx);
	void *ctx;
};

/* threads 0: one a core. */
int tti_crew_new(struct tti_crew **out, unsigned threads, struct tt_error *err);
void tti_crew_free(struct tti_crew **crew);
#define tti_auto_crew TTI_CLEANUP(tti_crew_free) struct tti_crew

int tti_crew_run(struct tti_crew *crew, const struct tti_crew_job *job,
		 struct tt_error *err);

#endif
