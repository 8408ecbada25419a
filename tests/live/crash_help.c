/* SPDX-License-Identifier: Apache-2.0 */
#include "live/crash_help.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];

bool crash_dir_enter(void)
{
	strcpy(dir, access("/dev/shm", W_OK) == 0 ? "/dev/shm/tt-crash-XXXXXX"
						  : "/tmp/tt-crash-XXXXXX");
	return mkdtemp(dir) && chdir(dir) == 0;
}

bool crash_dir_leave(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return chdir("/") == 0 && system(command) == 0;
}

void *crash_record(size_t bytes)
{
	void *record = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return record == MAP_FAILED ? NULL : record;
}

/* variable: TT_FAILPOINT, TT_FAILPOINT_LOG, or NULL. */
static int run(int (*fn)(void *), void *ctx, const char *variable, const char *value)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		if (variable)
			setenv(variable, value, 1);
		_exit(fn(ctx));
	}
	if (child > 0 && waitpid(child, &status, 0) == child)
		return status;
	perror("# a child");
	exit(2);
}

int crash_run(int (*fn)(void *), void *ctx)
{
	return run(fn, ctx, NULL, NULL);
}

bool crash_kill(int (*fn)(void *), void *ctx, const char *name, unsigned nth)
{
	char wanted[256];
	int status;

	snprintf(wanted, sizeof(wanted), "%s:%u", name, nth);
	status = run(fn, ctx, "TT_FAILPOINT", wanted);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	printf("# %s: was not killed: status %d\n", wanted, status);
	return false;
}

int crash_run_logged(int (*fn)(void *), void *ctx)
{
	return run(fn, ctx, "TT_FAILPOINT_LOG", "log");
}

size_t crash_passed(struct crash_passage out[CRASH_NAMES_MAX])
{
	FILE *log = fopen("log", "r");
	size_t count = 0, i;
	char line[64];

	while (log && fgets(line, sizeof(line), log)) {
		line[strcspn(line, "\n")] = '\0';
		for (i = 0; i < count && strcmp(out[i].name, line) != 0; i++)
			;
		if (i == CRASH_NAMES_MAX) {
			printf("# too many failpoints for CRASH_NAMES_MAX\n");
			exit(2);
		}
		if (i == count)
			out[count++] = (struct crash_passage){ .count = 0 };
		strcpy(out[i].name, line);
		out[i].count++;
	}
	if (log)
		fclose(log);
	return count;
}

unsigned crash_passages(const char *name)
{
	FILE *log = fopen("log", "r");
	char line[256];
	unsigned count = 0;

	while (log && fgets(line, sizeof(line), log)) {
		line[strcspn(line, "\n")] = '\0';
		count += strcmp(line, name) == 0;
	}
	if (log)
		fclose(log);
	return count;
}
