/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of a process's two threads share: writers that have them, and waiting for what
 * they do. */
#ifndef HELPER_HELP_H
#define HELPER_HELP_H

#include "live/file.h"
#include "live/ring_writer.h"
#include "base/num.h"
#include "lib/until.h"
#include "ring_help.h"

static inline struct tt_ring_writer *open_with(const char *dir, int64_t sync_ms,
					       int64_t wake_us)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer = NULL;

	opts.sync_ms = sync_ms;
	opts.wake_us = wake_us;
	OK(tt_ring_writer_open(&writer, dir, &opts, &err));
	return writer;
}

/* A period of timed syncs that has not come since a writer was opened, but has since the host
 * was started. */
static inline int64_t half_of_uptime_ms(void)
{
	return tti_max_i64(tti_clock_monotonic_ns() / 2000000, 60000);
}

static inline void check_rows(const char *dir, int64_t count)
{
	struct tt_ring_reader *reader = open_reader(dir);
	int64_t next = 0;

	take_rows(reader, &next);
	ck_assert_int_eq(next, count);
	tt_ring_reader_close(reader);
}

static inline bool has_next(const struct tt_ring_writer *writer)
{
	return atomic_load(&writer->next_state) == TTI_NEXT_READY ||
	       atomic_load(&writer->next_state) == TTI_NEXT_NAMED;
}

static inline bool has_name(const struct tt_ring_writer *writer)
{
	return atomic_load(&writer->next_state) == TTI_NEXT_NAMED;
}

#endif
