/* SPDX-License-Identifier: Apache-2.0 */
/* A run over a ring and those who act in it: a writer, a maintainer, readers. */
#ifndef PROP_RING_H
#define PROP_RING_H

#include "ring_help.h"

#define READERS 5
#define ACTORS (READERS + 2) /* and the writer, and the maintainer */
#define DEADLINE 240	     /* seconds of one run */

enum mode { MERGING, REMOVING, LIMITED };

struct run {
	uint64_t seed, rolls;
	enum mode mode;
	bool threads;
	const char *dir;
	_Atomic(int64_t) total; /* rows whose append returned */
	_Atomic(uint64_t) rolled, lost, resumed, merged, removed, kills;
	_Atomic(uint32_t) done, failed;
};

struct actor {
	struct run *run;
	uint64_t random;
	int number;
	struct tt_error err;
};

/* From the run's seed, by an actor. */
uint64_t prop_any(struct actor *actor, uint64_t below);

/* How many rows there are, by the ring itself: what a writer that died published counts. */
int prop_count_rows(struct actor *actor, int64_t *out);

/* What each does until the run is over: 0, or 1 after what was wrong is printed. */
int prop_write_rows(struct actor *actor);
int prop_maintain(struct actor *actor);
int prop_read_rows(struct actor *actor);

#endif
