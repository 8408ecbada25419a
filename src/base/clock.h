/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, in nanoseconds. */
#ifndef TTI_CLOCK_H
#define TTI_CLOCK_H

#include <stdint.h>

int64_t tti_clock_realtime_ns(void);  /* UTC since 1970; may step */
int64_t tti_clock_coarse_ns(void);    /* the same, about a millisecond old, cheap */
int64_t tti_clock_monotonic_ns(void); /* for deadlines */

/* monotonic now + timeout; a negative timeout means for ever (INT64_MAX). */
int64_t tti_deadline_ns(int64_t timeout_ns);

#endif
