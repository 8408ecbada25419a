/* SPDX-License-Identifier: Apache-2.0 */
/* Faulting pages in.  Invariant: no byte changes, and none is touched by a store that another
 * store could meet. */
#include "live/populate.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/num.h"

#ifndef MADV_POPULATE_WRITE /* since Linux 5.14 and glibc 2.35 */
#define MADV_POPULATE_WRITE 23
#endif

/* A page at a time, by an atomic or of nothing: also a row that is being stored there keeps
 * its value. */
static void touch(unsigned char *from, unsigned char *to, uint64_t page)
{
	for (; from < to; from += page)
		__atomic_fetch_or(from, 0, __ATOMIC_RELAXED);
}

/* Every byte has its block since the file was made, so this cannot be the first to find the
 * disk full.  Any other failure will be met by the append, as without a helper. */
static void fault_in(const struct tti_live *live, uint64_t from, uint64_t to)
{
	unsigned char *base = live->map.addr;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	from -= from % page;
	if (madvise(base + from, (size_t)(to - from), MADV_POPULATE_WRITE) < 0 &&
	    errno == EINVAL)
		touch(base + from, base + to, page);
}

uint64_t tti_populate(const struct tti_live *live, uint64_t end, uint64_t populated)
{
	uint64_t at = live->data_off + end * live->row_bytes;
	uint64_t to = tti_min_u64(live->file_bytes, at + TTI_POPULATE_AHEAD);

	if (!tti_populate_is_short(live, end, populated))
		return populated;
	if (populated < at) /* begun, overtaken, or write-protected by a sync */
		fault_in(live, live->tail_off, live->file_bytes);
	fault_in(live, tti_max_u64(at, populated), to);
	return to;
}
