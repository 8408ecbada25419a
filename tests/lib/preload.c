/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into the program by tests: another file system, another wall clock, a system that
 * refuses.
 *
 * TT_FAKE_FS=0x6969        statfs says so of every file
 * TT_FAKE_CLOCK=FILE       seconds in FILE, read at each call, are added to the wall clock
 * TT_FAKE_ERROR=CALL:N     CALL fails with errno N: fallocate, or openat of what has a dot in
 *                          its name
 * TT_FEW_MAPS=N            all mappings that vm.max_map_count allows are taken, but N */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* errno that a call is to fail with; 0: none. */
static int error_of(const char *call)
{
	const char *fake = getenv("TT_FAKE_ERROR");
	size_t len = strlen(call);

	return fake && strncmp(fake, call, len) == 0 && fake[len] == ':'
		       ? atoi(fake + len + 1)
		       : 0;
}

int fallocate(int fd, int mode, off_t at, off_t n)
{
	int (*real)(int, int, off_t, off_t) =
		(int (*)(int, int, off_t, off_t))dlsym(RTLD_NEXT, "fallocate");
	int error = error_of("fallocate");

	if (error == 0)
		return real(fd, mode, at, n);
	errno = error;
	return -1;
}

int openat(int dirfd, const char *path, int flags, ...)
{
	int (*real)(int, const char *, int, ...) =
		(int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
	int error = strchr(path, '.') ? error_of("openat") : 0;
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	if (error == 0)
		return real(dirfd, path, flags, mode);
	errno = error;
	return -1;
}

/* Neighbours of other protection are mappings of their own. */
__attribute__((constructor)) static void take_maps(void)
{
	const char *few = getenv("TT_FEW_MAPS");
	static void *taken[1 << 10];
	size_t count = 0;
	void *at;

	if (!few)
		return;
	for (size_t i = 0; i < 10000000; i++) {
		at = mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			break;
		taken[count++ % (1 << 10)] = at;
	}
	/* the last ones, each second: none of them joins two others into one */
	for (size_t i = 1, n = strtoul(few, NULL, 10); n > 0 && i < (1 << 10);
	     i += 1, n--)
		munmap(taken[(count - i) % (1 << 10)], 4096);
}
