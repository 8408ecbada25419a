/* SPDX-License-Identifier: Apache-2.0 */
/* Times as text.  Inside, a time is a count of a unit since 1970-01-01T00:00:00 UTC, as
 * NumPy's datetime64 stores it; outside it is RFC 3339.  Functions of their arguments only. */
#ifndef TICKTAIL_TIME_H
#define TICKTAIL_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ticktail/dtype.h>
#include <ticktail/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TT_NAT INT64_MIN /* NumPy's not-a-time */
#define TT_TIME_TEXT 64	 /* bytes that always suffice for tt_time_format() */

/* value x step units since 1970 as RFC 3339 with Z and the fraction digits of the unit
 * (s none, ms 3, us 6, ns 9, ps 12, fs 15, as 18; D and coarser a date; h and m as s),
 * "NaT" for TT_NAT.  The length; out is terminated. */
TT_API size_t tt_time_format(char out[TT_TIME_TEXT], int64_t value, enum tt_unit unit,
			     uint32_t step);

/* Parse RFC 3339 (zone optional, none means UTC; a date alone is its midnight; the T may be
 * a space) into a count of step units.  Exact: digits finer than the unit must be zero unless
 * round_up or round_down says otherwise.
 * TT_E_FORMAT when it is no such time, TT_E_RANGE when the unit cannot hold it. */
enum tt_time_round { TT_TIME_EXACT, TT_TIME_ROUND_DOWN, TT_TIME_ROUND_UP };
TT_API int tt_time_parse(const char *text, size_t len, enum tt_unit unit, uint32_t step,
			 enum tt_time_round round, int64_t *out);

#ifdef __cplusplus
}
#endif
#endif
