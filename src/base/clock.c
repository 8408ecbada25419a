/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <time.h>

static int64_t read_clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts); /* cannot fail for these clocks */
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t tti_clock_realtime_ns(void)
{
	return read_clock_ns(CLOCK_REALTIME);
}

int64_t tti_clock_coarse_ns(void)
{
	return read_clock_ns(CLOCK_REALTIME_COARSE);
}

int64_t tti_clock_monotonic_ns(void)
{
	return read_clock_ns(CLOCK_MONOTONIC);
}

int64_t tti_deadline_ns(int64_t timeout_ns)
{
	int64_t deadline;

	if (timeout_ns < 0 ||
	    __builtin_add_overflow(tti_clock_monotonic_ns(), timeout_ns, &deadline))
		return INT64_MAX;
	return deadline;
}
