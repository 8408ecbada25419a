/* SPDX-License-Identifier: Apache-2.0 */
/* Where a path lies, and making a file there.  Invariant: what gets a name through here was
 * complete before. */
#include "live/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "format/manifest.h"
#include "format/settings.h"

static bool holds(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The directory part of path; the caller frees it. */
static char *dir_of(const char *path, const char *name)
{
	size_t len = (size_t)(name - path);

	if (len == 0)
		return strdup(".");
	return strndup(path, len > 1 ? len - 1 : len);
}

static int open_dir(struct tti_place *place, struct tt_error *err)
{
	tti_auto_free char *dir = dir_of(place->path, place->name);

	if (!dir)
		return tti_fail_sys(err, -ENOMEM, place->path, NULL);
	place->dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (place->dirfd < 0)
		return tti_fail_parent(err, -errno, place->path, dir);
	place->in_ring = holds(place->dirfd, TTI_MANIFEST_NAME) ||
			 holds(place->dirfd, TTI_SETTINGS_NAME);
	return TT_OK;
}

int tti_place_open(struct tti_place *place, const char *path, bool real,
		   struct tt_error *err)
{
	const char *slash;
	int rc;

	*place = (struct tti_place)TTI_PLACE_EMPTY;
	place->path = real ? realpath(path, NULL) : strdup(path);
	if (!place->path)
		return tti_fail_sys(err, -errno, path, NULL);
	slash = strrchr(place->path, '/');
	place->name = slash ? slash + 1 : place->path;
	rc = open_dir(place, err);
	if (rc < 0)
		tti_place_close(place);
	return rc;
}

void tti_place_close(struct tti_place *place)
{
	tti_close_fd(&place->dirfd);
	free(place->path);
	*place = (struct tti_place)TTI_PLACE_EMPTY;
}

int tti_place_sync(const struct tti_place *place, struct tt_error *err)
{
	tti_auto_fd fd = openat(place->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (fd < 0) /* a directory that may not be read cannot be synced; the file is */
		return errno == EACCES
			       ? TT_OK
			       : tti_fail_sys(err, -errno, place->path, "its directory");
	rc = tti_fsync_dir(fd);
	return rc < 0 ? tti_fail_sys(err, rc, place->path, "fsync of its directory")
		      : TT_OK;
}

int tti_place_refuse_ring(const struct tti_place *place, const char *what,
			  struct tt_error *err)
{
	int len = (int)(place->name - place->path);

	if (!place->in_ring)
		return TT_OK;
	return tti_fail(
		err, TT_E_UNSUPPORTED,
		"%s: belongs to the ring %.*s; %s of a single file there is refused",
		place->path, len > 1 ? len - 1 : 1, len ? place->path : ".", what);
}

/* ---- New files ---- */

static int new_named(const struct tti_place *place, struct tti_new_file *out)
{
	snprintf(out->tmp, sizeof(out->tmp), ".ticktail-%ld-%" PRIx64 ".new",
		 (long)getpid(), (uint64_t)tti_clock_monotonic_ns());
	out->fd = openat(place->dirfd, out->tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
			 0666);
	if (out->fd >= 0)
		return TT_OK;
	out->tmp[0] = '\0';
	return -errno;
}

int tti_place_new(const struct tti_place *place, struct tti_new_file *out,
		  struct tt_error *err)
{
	int rc = TT_OK;

	out->tmp[0] = '\0';
	out->fd = openat(place->dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	/* the name is given through /proc, which a container may lack */
	if (out->fd >= 0 && access("/proc/self/fd", X_OK) < 0)
		tti_close_fd(&out->fd), errno = EOPNOTSUPP;
	if (out->fd < 0)
		rc = errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT
			     ? new_named(place, out)
			     : -errno;
	return rc < 0 ? tti_fail_name(err, rc, place->dirfd, place->path, NULL) : TT_OK;
}

void tti_place_drop(const struct tti_place *place, struct tti_new_file *file)
{
	if (file->tmp[0])
		unlinkat(place->dirfd, file->tmp, 0);
	file->tmp[0] = '\0';
	tti_close_fd(&file->fd);
}

int tti_place_link(const struct tti_place *place, struct tti_new_file *file,
		   struct tt_error *err)
{
	char self[64];
	int rc;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", file->fd);
	if (file->tmp[0])
		rc = linkat(place->dirfd, file->tmp, place->dirfd, place->name, 0);
	else
		rc = linkat(AT_FDCWD, self, place->dirfd, place->name, AT_SYMLINK_FOLLOW);
	rc = rc < 0 ? -errno : TT_OK;
	tti_place_drop(place, file);
	if (rc == -EEXIST)
		return tti_fail(err, rc, "%s: exists already", place->path);
	return rc < 0 ? tti_fail_name(err, rc, place->dirfd, place->path, NULL) : TT_OK;
}
