/* SPDX-License-Identifier: Apache-2.0 */
/* Calls at random, legal and not, by one process, one seed after another; what all such tests
 * share.  TT_SEED replays a run (a longer one begins with the same calls), TT_LONG=1 makes many
 * and long ones. */
#ifndef PROP_CALLS_H
#define PROP_CALLS_H

#include <check.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "lib/suite.h"
#include "ticktail/error.h"

struct calls {
	uint64_t seed, random, step;
	const char *op; /* the call that is being made, for messages */
	struct tt_error err;
};

__attribute__((noreturn)) static inline void calls_fail(const struct calls *calls,
							const char *what, int line)
{
	printf("# TT_SEED=%" PRIu64 ", step %" PRIu64 ", %s: line %d: %s; %s\n",
	       calls->seed, calls->step, calls->op, line, what, calls->err.text);
	fflush(stdout);
	ck_abort_msg("TT_SEED=%" PRIu64 ", step %" PRIu64 ", %s: line %d: %s; %s",
		     calls->seed, calls->step, calls->op, line, what, calls->err.text);
}

/* ck_assert() is a system call each time. */
#define HOLDS(calls, condition) \
	do { \
		if (!(condition)) \
			calls_fail(calls, #condition, __LINE__); \
	} while (0)

/* From the run's seed: 0 to below - 1, 0 when that is none. */
static inline uint64_t any(struct calls *calls, uint64_t below)
{
	calls->random ^= calls->random << 13;
	calls->random ^= calls->random >> 7;
	calls->random ^= calls->random << 17;
	return below ? calls->random % below : 0;
}

/* The same, or a number at which sums and products wrap. */
static inline uint64_t any_odd(struct calls *calls, uint64_t below, uint64_t row_bytes)
{
	switch (any(calls, 8)) {
	case 0: return 0;
	case 1: return UINT64_MAX;
	case 2: return UINT64_MAX - 1;
	case 3: return UINT64_C(1) << 63;
	case 4: return (UINT64_C(1) << 63) - 1;
	case 5: return UINT64_MAX / row_bytes + 1;
	default: return any(calls, below);
	}
}

struct row_type {
	const char *descr;
	size_t bytes;
	uint64_t padding; /* bit i: byte i */
};

/* Each way in which rows are copied and padding is cleared. */
static inline const struct row_type *any_row_type(struct calls *calls)
{
	static const struct row_type types[] = {
		{ "V1", 1, 0 },
		{ "V3", 3, 0 },
		{ "V5", 5, 0 },
		{ "V7", 7, 0 },
		{ "i8", 8, 0 },
		{ "V16", 16, 0 },
		{ "V24", 24, 0 },
		{ "V40", 40, 0 },
		{ "V1000", 1000, 0 },
		{ "[('a','<i8'),('b','u1'),('','|V7')]", 16, 0xfe00 },
		{ "[('a','u1'),('','|V3'),('b','<u4'),('c','u1'),('','|V7')]", 16,
		  0xfe0e },
	};

	return &types[any(calls, sizeof(types) / sizeof(*types))];
}

static inline void calls_begin(struct calls *calls, uint64_t seed)
{
	*calls = (struct calls){ .seed = seed,
				 .random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1,
				 .op = "make" };
	if (calls->random == 0) /* where the generator stands still */
		calls->random = 1;
	for (int i = 0; i < 10; i++)
		any(calls, 2);
}

/* Runs of 2,000 calls by default: the first `seeds`; 100 of 6,000 with TT_LONG.  Each in a
 * directory of its own. */
static inline void calls_run(void (*run)(uint64_t seed, uint64_t steps), uint64_t seeds)
{
	const char *seed = getenv("TT_SEED");
	uint64_t first =
		seed ? strtoull(seed, NULL, 10) : (uint64_t)tti_clock_realtime_ns();
	bool is_long = getenv("TT_LONG") != NULL;

	for (uint64_t i = 0; i < (is_long ? 100 : seeds); i++) {
		char dir[32];

		snprintf(dir, sizeof(dir), "%" PRIu64, first + i);
		ck_assert_int_eq(mkdir(dir, 0755), 0);
		ck_assert_int_eq(chdir(dir), 0);
		run(first + i, is_long ? 6000 : 2000);
		ck_assert_int_eq(chdir(".."), 0);
	}
}

#endif
