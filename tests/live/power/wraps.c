/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that the linker sends here instead of to libc (-Wl,--wrap, power.mk).  Each does
 * what it is asked and tells the model.  A sync is not passed on: the model is the disk. */
#include "live/power/model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRAP(type, name, ...) \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static const char *redirect(const char *path)
{
	return model_boot_path() && strcmp(path, BOOT_ID) == 0 ? model_boot_path() : path;
}

int __real_openat(int dirfd, const char *path, int flags, ...);
int __wrap_openat(int dirfd, const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

static int opened(int dirfd, const char *path, int flags, mode_t mode)
{
	bool makes = flags & (O_CREAT | O_TMPFILE) & ~O_DIRECTORY;
	bool told = makes && model_enter("openat");
	int fd = __real_openat(dirfd, redirect(path), flags, mode);

	if (!told)
		return fd;
	if (fd >= 0 && (flags & O_TMPFILE) == O_TMPFILE) {
		char inside[4096];

		snprintf(inside, sizeof(inside), "%s/.", path);
		model_opened(fd, dirfd, inside);
	} else if (fd >= 0) {
		model_opened(fd, dirfd, path);
	}
	model_leave("openat done");
	return fd;
}

int __wrap_openat(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return opened(dirfd, path, flags, mode);
}

int __wrap_open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return opened(AT_FDCWD, path, flags, mode);
}

WRAP(FILE *, fopen, const char *path, const char *mode)
{
	return __real_fopen(redirect(path), mode);
}

WRAP(int, fsync, int fd)
{
	if (!model_enter("fsync"))
		return __real_fsync(fd);
	model_note("fsync", fd, NULL, NULL);
	model_synced(fd);
	model_leave("fsync done");
	return 0;
}

WRAP(int, fdatasync, int fd)
{
	if (!model_enter("fdatasync"))
		return __real_fdatasync(fd);
	model_note("fdatasync", fd, NULL, NULL);
	model_synced(fd);
	model_leave("fdatasync done");
	return 0;
}

WRAP(int, linkat, int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	bool told = model_enter("linkat");
	int rc = __real_linkat(from_dir, from, to_dir, to, flags);

	if (told && rc == 0) {
		model_note("link", -1, to, NULL);
		model_linked(to_dir, to);
	}
	if (told)
		model_leave("linkat done");
	return rc;
}

WRAP(int, unlinkat, int dirfd, const char *path, int flags)
{
	bool told = model_enter("unlinkat");
	int rc = __real_unlinkat(dirfd, path, flags);

	if (told && rc == 0) {
		model_note("unlink", -1, path, NULL);
		model_unlinked(dirfd, path);
	}
	if (told)
		model_leave("unlinkat done");
	return rc;
}

WRAP(int, unlink, const char *path)
{
	return __wrap_unlinkat(AT_FDCWD, path, 0);
}

WRAP(int, renameat2, int from_dir, const char *from, int to_dir, const char *to,
     unsigned flags)
{
	struct model_name old = { .dir = -1 };
	bool told = model_enter("rename");
	int rc;

	if (told)
		old = model_find(from_dir, from);
	rc = __real_renameat2(from_dir, from, to_dir, to, flags);
	if (told && rc == 0) {
		model_note("rename", -1, from, to);
		model_renamed(&old, to_dir, to);
	}
	if (told)
		model_leave("rename done");
	return rc;
}

WRAP(int, renameat, int from_dir, const char *from, int to_dir, const char *to)
{
	return __wrap_renameat2(from_dir, from, to_dir, to, 0);
}

WRAP(int, rename, const char *from, const char *to)
{
	return __wrap_renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

WRAP(int, mkdirat, int dirfd, const char *path, mode_t mode)
{
	bool told = model_enter("mkdirat");
	int rc = __real_mkdirat(dirfd, path, mode);

	if (told && rc == 0) {
		int fd = __real_openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0) {
			model_opened(fd, dirfd, path);
			close(fd);
		}
	}
	if (told)
		model_leave("mkdirat done");
	return rc;
}

WRAP(int, mkdir, const char *path, mode_t mode)
{
	return __wrap_mkdirat(AT_FDCWD, path, mode);
}

/* Calls that change bytes: the model looks at the bytes themselves; these are places. */
#define PLACE_CALL(type, name, params, args) \
	type __real_##name params; \
	type __wrap_##name params; \
	type __wrap_##name params \
	{ \
		bool told = model_enter(#name); \
		type rc = __real_##name args; \
\
		if (told) \
			model_leave(#name " done"); \
		return rc; \
	}

PLACE_CALL(int, ftruncate, (int fd, off_t size), (fd, size))
PLACE_CALL(int, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
PLACE_CALL(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))
PLACE_CALL(int, sync_file_range, (int fd, off_t at, off_t n, unsigned how),
	   (fd, at, n, how))

WRAP(ssize_t, pwrite, int fd, const void *p, size_t n, off_t at)
{
	bool told = model_enter("pwrite");
	size_t before = told ? model_size(fd) : 0;
	ssize_t put = __real_pwrite(fd, p, n, at);

	if (told && put > 0)
		model_note("pwrite", fd, NULL, NULL);
	if (told && put > 0)
		model_appended(fd, before, (size_t)at, (size_t)(at + put));
	if (told)
		model_leave("pwrite done");
	return put;
}

/* What a test build of the rooms calls at each of its failpoints. */
void tti_failpoint(const char *name);
void __real_tti_failpoint(const char *name);
void __wrap_tti_failpoint(const char *name);
void __wrap_tti_failpoint(const char *name)
{
	if (model_enter(name)) {
		model_note(name, -1, NULL, NULL);
		model_leave(name);
		model_passed(name);
	}
	__real_tti_failpoint(name);
}

/* Syncs of which the model knows nothing would make it say that less is on disk than is: it
 * would accuse the innocent.  Nobody calls them; who does is to be told here. */
int __real_msync(void *at, size_t n, int flags);
int __wrap_msync(void *at, size_t n, int flags);
int __wrap_msync(void *at, size_t n, int flags)
{
	if (model_enter("msync")) {
		fprintf(stderr, "# power model: msync is not modelled\n");
		_exit(99);
	}
	return __real_msync(at, n, flags);
}
