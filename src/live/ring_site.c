/* SPDX-License-Identifier: Apache-2.0 */
/* Building a directory so that it is seen whole or not at all.  Invariant: nothing that has
 * its final name is ever removed here. */
#include "live/ring_site.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/failpoint.h"
#include "base/fs.h"
#include "base/num.h"
#include "format/settings.h"

int tti_site_find(struct tti_site *site, const char *path, struct tt_error *err)
{
	tti_auto_free char *copy = strdup(path);
	const char *name;
	struct stat st;
	size_t len;

	*site = (struct tti_site){ .path = path, .parent = -1, .dirfd = -1 };
	if (!copy)
		return tti_fail_sys(err, -ENOMEM, path, NULL);
	len = strlen(copy);
	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	site->parent = tti_open_parent(copy, &name, err);
	if (site->parent < 0)
		return site->parent;
	if (name[0] == '\0' || fstatat(site->parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return tti_fail_sys(err, -EEXIST, path, NULL);
	if (fstatat(site->parent, TTI_SETTINGS_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return tti_fail(
			err, TT_E_UNSUPPORTED,
			"%s: lies in a ring, whose directory is for its own files; "
			"name a place beside it",
			path);
	if (snprintf(site->name, sizeof(site->name), "%s", name) > NAME_MAX ||
	    snprintf(site->tmp, sizeof(site->tmp), ".%s.new-%d", name, (int)getpid()) >
		    NAME_MAX)
		return tti_fail_sys(err, -ENAMETOOLONG, path, NULL);
	return TT_OK;
}

/* A ring holds nothing but files, so one level is all there is to remove. */
static void remove_dir(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *found;

	if (!dir) {
		tti_close_fd(&fd);
		return;
	}
	while ((found = readdir(dir)) != NULL)
		unlinkat(dirfd(dir), found->d_name, 0);
	closedir(dir);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* ".NAME.new-PID" of those who are dead, or whose pid is ours now. */
static void remove_leftovers(const struct tti_site *site)
{
	int fd = openat(site->parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t len = (size_t)(strrchr(site->tmp, '-') - site->tmp) + 1;
	struct dirent *found;

	if (!dir) {
		tti_close_fd(&fd);
		return;
	}
	while ((found = readdir(dir)) != NULL) {
		const char *digits = found->d_name + len;
		uint64_t pid;

		if (strncmp(found->d_name, site->tmp, len) != 0 ||
		    !tti_parse_u64(digits, strlen(digits), &pid) || pid == 0 ||
		    pid > INT_MAX)
			continue;
		if ((pid_t)pid == getpid() || (kill((pid_t)pid, 0) < 0 && errno == ESRCH))
			remove_dir(site->parent, found->d_name);
	}
	closedir(dir);
}

int tti_site_begin(struct tti_site *site, struct tt_error *err)
{
	remove_leftovers(site);
	if (mkdirat(site->parent, site->tmp, 0777) < 0)
		return tti_fail_name(err, -errno, site->parent, site->path, NULL);
	TTI_FAILPOINT("ring.site.mkdir");
	site->dirfd = openat(site->parent, site->tmp,
			     O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (site->dirfd < 0) {
		int rc = -errno;

		unlinkat(site->parent, site->tmp, AT_REMOVEDIR);
		return tti_fail_sys(err, rc, site->path, NULL);
	}
	return TT_OK;
}

int tti_site_finish(struct tti_site *site, struct tt_error *err)
{
	int rc = tti_fsync_dir(site->dirfd);

	if (rc < 0)
		return tti_fail_sys(err, rc, site->path, "fsync");
	TTI_FAILPOINT("ring.site.before_rename");
	rc = tti_rename_new(site->parent, site->tmp, site->parent, site->name);
	if (rc < 0)
		return tti_fail_sys(err, rc, site->path, NULL);
	TTI_FAILPOINT("ring.site.renamed");
	rc = tti_fsync_dir(site->parent);
	return rc < 0 ? tti_fail_sys(err, rc, site->path, "fsync of its directory")
		      : TT_OK;
}

void tti_site_undo(struct tti_site *site)
{
	tti_close_fd(&site->dirfd);
	remove_dir(site->parent, site->tmp);
}

void tti_site_fini(struct tti_site *site)
{
	tti_close_fd(&site->dirfd);
	tti_close_fd(&site->parent);
}
