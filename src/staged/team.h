/* SPDX-License-Identifier: Apache-2.0 */
/* A few threads for one piece of work, started and joined within one call. */
#ifndef TTI_TEAM_H
#define TTI_TEAM_H

#include <stddef.h>
#include <stdint.h>

enum { TTI_TEAM_MAX = 64 };

/* How many are worth it for work on so many bytes. asked 0: at most one for each
 * processor that this thread may run on. */
unsigned tti_team_size(unsigned asked, uint64_t bytes);

/* Call fn with each of count members, member_bytes apart, on a thread each, the first on the
 * calling one; back when all are done.  A thread that cannot be started is left out: members
 * take their work from one place, so the others do its share.  Starting comes after all that
 * was written before, and all that members wrote comes before the return. */
void tti_team_run(void *(*fn)(void *member), void *members, size_t member_bytes,
		  unsigned count);

#endif
