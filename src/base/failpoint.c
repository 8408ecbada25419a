/* SPDX-License-Identifier: Apache-2.0 */
#include "base/failpoint.h"

#ifdef TTI_FAILPOINTS
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void log_passage(const char *name)
{
	const char *path = getenv("TT_FAILPOINT_LOG");
	char line[128];
	size_t len = strlen(name);
	int fd;

	if (!path || len + 1 >= sizeof(line))
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	memcpy(line, name, len);
	line[len] = '\n';
	if (write(fd, line, len + 1) < 0)
		abort(); /* a lost line would make the coverage test lie */
	close(fd);
}

void tti_failpoint(const char *name)
{
	static atomic_ulong passages;
	const char *wanted = getenv("TT_FAILPOINT");
	size_t len = strlen(name);
	unsigned long nth = 1;

	log_passage(name);
	if (!wanted || strncmp(wanted, name, len) != 0)
		return;
	if (wanted[len] == ':')
		nth = strtoul(wanted + len + 1, NULL, 10);
	else if (wanted[len] != '\0')
		return;
	if (atomic_fetch_add(&passages, 1) + 1 == nth)
		kill(getpid(), SIGKILL);
}
#else
typedef int tti_no_failpoints; /* ISO C wants a declaration in every file */
#endif
