/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into the program by tests: another file system, another wall clock.
 *
 * TT_FAKE_FS=0x6969        statfs says so of every file
 * TT_FAKE_CLOCK=FILE       seconds in FILE, read at each call, are added to the wall clock */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

int fstatfs(int fd, struct statfs *out)
{
	int (*real)(int, struct statfs *) =
		(int (*)(int, struct statfs *))dlsym(RTLD_NEXT, "fstatfs");
	const char *fake = getenv("TT_FAKE_FS");
	int rc = real(fd, out);

	if (rc == 0 && fake)
		out->f_type = (__typeof__(out->f_type))strtoul(fake, NULL, 0);
	return rc;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	int (*real)(clockid_t, struct timespec *) =
		(int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	const char *path = getenv("TT_FAKE_CLOCK");
	int rc = real(clock, out);
	char text[32] = "";
	int fd;

	if (rc != 0 || !path ||
	    (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return rc;
	if (read(fd, text, sizeof(text) - 1) > 0)
		out->tv_sec += strtol(text, NULL, 10);
	close(fd);
	return rc;
}
