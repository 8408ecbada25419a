/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fs.h"

#ifdef TTI_FAILPOINTS
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

struct half {
	int fd;
	const void *bytes;
	size_t n;
	uint64_t offset;
};

static int step(const struct half *half)
{
	static atomic_ulong taken;
	const char *kill_at = getenv("TT_STEP_KILL"), *fail_at = getenv("TT_STEP_FAIL");
	unsigned long now;
	char *end;

	if (!kill_at && !fail_at)
		return TT_OK; /* not counted, so that a forked test begins at 1 */
	now = atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed) + 1;
	if (kill_at && strtoul(kill_at, NULL, 10) == now) {
		/* a sector is written whole or not at all, a page need not be */
		if (half->n > 0)
			tti_pwrite_all(half->fd, half->bytes, half->n / 2 & ~(size_t)511,
				       half->offset);
		kill(getpid(), SIGKILL);
	}
	if (fail_at && strtoul(fail_at, &end, 10) == now)
		return -(int)strtol(end + 1, NULL, 10);
	return TT_OK;
}
#define STEP(...) step(&(struct half){ __VA_ARGS__ })
#else
#define STEP(...) TT_OK
#endif

int tti_step_pwrite(int fd, const void *bytes, size_t n, uint64_t offset)
{
	int rc = STEP(.fd = fd, .bytes = bytes, .n = n, .offset = offset);

	return rc < 0 ? rc : tti_pwrite_all(fd, bytes, n, offset);
}

int tti_step_submit(int fd, const void *bytes, size_t n, uint64_t offset)
{
	(void)fd, (void)bytes, (void)n, (void)offset;
	return STEP(.fd = fd, .bytes = bytes, .n = n, .offset = offset);
}

int tti_step_fdatasync(int fd)
{
	int rc = STEP(.fd = fd);

	if (rc < 0)
		return rc;
	return fdatasync(fd) < 0 ? -errno : TT_OK;
}

int tti_step_fsync(int fd)
{
	int rc = STEP(.fd = fd);

	if (rc < 0)
		return rc;
	return fsync(fd) < 0 ? -errno : TT_OK;
}

int tti_step_fsync_dir(int dir)
{
	int rc = STEP(.fd = dir);

	return rc < 0 ? rc : tti_fsync_dir(dir);
}

int tti_step_truncate(int fd, uint64_t size)
{
	int rc = STEP(.fd = fd);

	if (rc < 0)
		return rc;
	do
		rc = ftruncate(fd, (off_t)size);
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : TT_OK;
}

int tti_step_rename(int dir, const char *from, const char *to)
{
	int rc = STEP(.fd = dir);

	if (rc < 0)
		return rc;
	return renameat(dir, from, dir, to) < 0 ? -errno : TT_OK;
}

int tti_step_put_in_place(int dir, const char *from, const char *to)
{
	int rc = STEP(.fd = dir);

	if (rc < 0)
		return rc;
	if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0)
		return TT_OK;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* a file system without that flag: two names for a moment */
	if (linkat(dir, from, dir, to, 0) < 0)
		return -errno;
	unlinkat(dir, from, 0);
	return TT_OK;
}

int tti_step_unlink(int dir, const char *name)
{
	int rc = STEP(.fd = dir);

	if (rc < 0)
		return rc;
	return unlinkat(dir, name, 0) < 0 ? -errno : TT_OK;
}
