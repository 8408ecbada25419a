/* SPDX-License-Identifier: Apache-2.0 */
/* Owns nothing between calls. */
#include "staged/team.h"

#include <pthread.h>
#include <unistd.h>

#include "base/num.h"

/* Starting a thread costs as much as hashing 30 KiB. */
enum { WORTH_A_THREAD = 256 << 10 };

unsigned tti_team_size(unsigned asked, uint64_t bytes)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t count = asked > 0 ? asked : cores > 0 ? (uint64_t)cores : 1;

	return (unsigned)tti_min_u64(tti_min_u64(count, TTI_TEAM_MAX),
				     bytes / WORTH_A_THREAD + 1);
}

void tti_team_run(void *(*fn)(void *member), void *members, size_t member_bytes,
		  unsigned count)
{
	pthread_t threads[TTI_TEAM_MAX];
	unsigned started = 1;

	while (started < count &&
	       pthread_create(&threads[started], NULL, fn,
			      (char *)members + started * member_bytes) == 0)
		started++;
	fn(members);
	while (started-- > 1)
		pthread_join(threads[started], NULL);
}
