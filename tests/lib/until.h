/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for what another thread or process does. */
#ifndef TESTS_UNTIL_H
#define TESTS_UNTIL_H

#include <check.h>
#include <stdint.h>
#include <unistd.h>

#include "base/clock.h"

#define DEADLINE_NS INT64_C(20000000000)

/* Look until it is true; the deadline is for what never comes. */
#define UNTIL(condition) \
	do { \
		int64_t until_ns = tti_clock_monotonic_ns() + DEADLINE_NS; \
		while (!(condition)) { \
			ck_assert_msg(tti_clock_monotonic_ns() < until_ns, "never: %s", \
				      #condition); \
			usleep(200); \
		} \
	} while (0)

#endif
