/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/newfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/lock.h"
#include "base/num.h"

/* TT_OK: nobody holds it, it is removed. */
static int remove_dead(int dir, const char *temporary)
{
	tti_auto_fd fd =
		openat(dir, temporary, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int rc = fd < 0 ? -errno : tti_lock_try(fd, TTI_LOCK_WRITER);

	/* under the lock: a maker that comes now sees that its file is gone */
	if (rc == TT_OK && unlinkat(dir, temporary, 0) < 0)
		rc = -errno;
	return rc;
}

int tti_newfile_create(int dir, const char *name, char temporary_out[256],
		       const char *path, struct tt_error *err)
{
	tti_auto_fd fd = -1;
	int rc = TT_OK;

	if (snprintf(temporary_out, 256, ".%s.%d.tmp", name, (int)getpid()) >= 256)
		return tti_fail(err, -ENAMETOOLONG, "%s: the name is too long", path);
	for (int tries = 0; tries < 100; tries++) {
		tti_close_fd(&fd);
		fd = openat(dir, temporary_out, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
			    0666);
		if (fd < 0 && errno != EEXIST)
			return tti_fail_sys(err, -errno, path, NULL);
		if (fd < 0) {
			rc = remove_dead(dir, temporary_out);
			if (rc < 0 && rc != -ENOENT)
				break;
			continue;
		}
		rc = tti_lock_try(fd, TTI_LOCK_WRITER);
		/* one that swept between the two calls took it for dead */
		if (rc == TT_OK && tti_same_inode(fd, dir, temporary_out))
			return tti_steal_fd(&fd);
	}
	if (rc == TT_E_BUSY)
		return tti_fail(err, rc, "%s: being written by this process", path);
	return tti_fail_sys(err, rc < 0 ? rc : -EAGAIN, path, "making a temporary file");
}

static bool is_temporary_of(const char *entry, const char *name)
{
	size_t len = strlen(name), all = strlen(entry);
	uint64_t pid;

	return all > len + 6 && entry[0] == '.' && strncmp(entry + 1, name, len) == 0 &&
	       entry[len + 1] == '.' && strcmp(entry + all - 4, ".tmp") == 0 &&
	       tti_parse_u64(entry + len + 2, all - len - 6, &pid);
}

void tti_newfile_sweep(int dir, const char *name)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!entries) {
		tti_close_fd(&copy);
		return;
	}
	while ((entry = readdir(entries)))
		if (is_temporary_of(entry->d_name, name))
			remove_dead(dir, entry->d_name);
	closedir(entries);
}
