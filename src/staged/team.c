/* SPDX-License-Identifier: Apache-2.0 */
/* Owns nothing between calls. */
#include "staged/team.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/num.h"

/* Starting a thread costs as much as hashing 30 KiB. */
enum { WORTH_A_THREAD = 256 << 10 };

/* Those that this thread may run on, by one system call; sysconf() opens and reads a file, and
 * counts those that it may not.  More than fit the set is more than a team has. */
static uint64_t count_processors(void)
{
	cpu_set_t set;
	long online;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		return (uint64_t)CPU_COUNT(&set);
	online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (uint64_t)online : 1;
}

unsigned tti_team_size(unsigned asked, uint64_t bytes)
{
	uint64_t worth = tti_min_u64(bytes / WORTH_A_THREAD + 1, TTI_TEAM_MAX);

	if (worth == 1)
		return 1;
	return (unsigned)tti_min_u64(worth, asked > 0 ? asked : count_processors());
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
