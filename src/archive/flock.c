/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/flock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/num.h"

int tti_try_run_lock(int fd)
{
	return tti_lock_try(fd, TTI_LOCK_WRITER);
}

static int try_flock(int fd, int how)
{
	int rc;

	do
		rc = flock(fd, how | LOCK_NB);
	while (rc < 0 && errno == EINTR);
	if (rc == 0)
		return TT_OK;
	return errno == EWOULDBLOCK ? TT_E_BUSY : -errno;
}

int tti_try_flock_shared(int fd)
{
	return try_flock(fd, LOCK_SH);
}

int tti_try_flock_exclusive(int fd)
{
	return try_flock(fd, LOCK_EX);
}

int tti_wait_for_lock(tti_lock_fn *try, int fd, int64_t deadline_ns)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	int rc;

	while ((rc = try(fd)) == TT_E_BUSY && tti_clock_monotonic_ns() < deadline_ns) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 16000000)
			pause.tv_nsec *= 2;
	}
	return rc;
}

/* Lines of /proc/locks: "1: FLOCK  ADVISORY  READ 1234 08:01:5678 0 EOF". */
static pid_t pid_of_line(char *line, const char *file)
{
	char *rest = line, *word;
	uint64_t pid = 0;

	for (int i = 0; (word = strsep(&rest, " \n"));) {
		if (*word == '\0')
			continue;
		if (i == 1 && strcmp(word, "FLOCK") != 0)
			return 0;
		if (i == 4 && !tti_parse_u64(word, strlen(word), &pid))
			return 0;
		if (i == 5)
			return strcmp(word, file) == 0 && pid <= INT32_MAX ? (pid_t)pid
									   : 0;
		i++;
	}
	return 0;
}

/* Who holds a flock on the file; 0 when that cannot be told. */
static pid_t flock_holder(int fd)
{
	FILE *locks = fopen("/proc/locks", "re");
	struct stat st;
	char file[64], line[256];
	pid_t pid = 0;

	if (!locks)
		return 0;
	if (fstat(fd, &st) == 0) {
		snprintf(file, sizeof(file), "%02x:%02x:%llu", major(st.st_dev),
			 minor(st.st_dev), (unsigned long long)st.st_ino);
		while (pid == 0 && fgets(line, sizeof(line), locks))
			pid = pid_of_line(line, file);
	}
	fclose(locks);
	return pid;
}

pid_t tti_run_pid(int fd)
{
	pid_t pid = tti_lock_get_pid(fd);

	return pid ? pid : flock_holder(fd);
}

int tti_fail_busy(struct tt_error *err, const char *path, int fd)
{
	pid_t pid = tti_run_pid(fd);

	if (pid == getpid())
		return tti_fail(err, TT_E_BUSY, "%s: being written by this process",
				path);
	if (pid == 0)
		return tti_fail(err, TT_E_BUSY, "%s: being written by another process",
				path);
	return tti_fail(err, TT_E_BUSY, "%s: being written by pid %d", path, (int)pid);
}

int tti_fail_in_use(struct tt_error *err, const char *path, int fd)
{
	pid_t pid = flock_holder(fd);

	if (pid == 0)
		return tti_fail(err, TT_E_BUSY,
				"%s: open in another program, which must close it first",
				path);
	return tti_fail(err, TT_E_BUSY, "%s: open in pid %d, which must close it first",
			path, (int)pid);
}
