/* SPDX-License-Identifier: Apache-2.0 */
/* A consistent copy of an archive: its bytes as the open handle sees them, a pending journal
 * laid over, while the shared lock keeps writers away. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/reader.h"
#include "base/compiler.h"
#include "base/fs.h"
#include "base/num.h"

#define BLOCK (1u << 20)

static int copy_bytes(struct tti_driver *driver, int fd, const char *dest,
		      struct tt_error *err)
{
	uint64_t end = tti_driver_end(driver);
	tti_auto_free char *block = malloc(BLOCK);
	int rc = tti_narrow_mode(fd, tti_driver_fd(driver));

	if (!block)
		return tti_fail(err, -ENOMEM, "%s: out of memory", dest);
	for (uint64_t at = 0; at < end && rc == TT_OK;) {
		size_t n = tti_min_u64(BLOCK, end - at);

		rc = tti_driver_pread(driver, at, block, n, err);
		if (rc < 0)
			return rc;
		rc = tti_write_all(fd, block, n);
		at += n;
	}
	if (rc == TT_OK && fsync(fd) < 0)
		rc = -errno;
	if (rc == -ENOSPC)
		return tti_fail_space(err, rc, dest, fd, end);
	return rc < 0 ? tti_fail_sys(err, rc, dest, "write") : TT_OK;
}

int tt_archive_backup(const char *path, const char *dest, struct tt_error *err)
{
	tti_auto_free char *tmp = NULL;
	tti_auto_fd fd = -1, dir = -1;
	struct tt_archive *archive;
	const char *name;
	int rc = tt_archive_open(&archive, path, NULL, err);

	if (rc < 0)
		return rc;
	dir = tti_open_parent(dest, &name, err);
	if (dir < 0) {
		tt_archive_close(archive);
		return dir;
	}
	if (asprintf(&tmp, ".%s.%ld.tmp", name, (long)getpid()) < 0) {
		tmp = NULL;
		tt_archive_close(archive);
		return tti_fail(err, -ENOMEM, "%s: out of memory", dest);
	}
	fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	rc = fd < 0 ? tti_fail_sys(err, -errno, dest, "temporary copy")
		    : copy_bytes(archive->driver, fd, dest, err);
	/* link, not rename: what is there already is somebody's */
	if (rc == TT_OK && linkat(dir, tmp, dir, name, 0) < 0)
		rc = tti_fail_sys(err, -errno, dest, NULL);
	if (fd >= 0)
		unlinkat(dir, tmp, 0);
	if (rc == TT_OK) {
		rc = tti_fsync_dir(dir);
		if (rc < 0)
			tti_fail_sys(err, rc, dest, "fsync of its directory");
	}
	tt_archive_close(archive);
	return rc;
}
