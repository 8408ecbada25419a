/* SPDX-License-Identifier: Apache-2.0 */
#include "live/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
		return tti_fail(err, -errno, "%s: directory %s: %s", place->path, dir,
				tt_strerror(-errno));
	place->in_ring = holds(place->dirfd, TTI_MANIFEST_NAME) ||
			 holds(place->dirfd, TTI_SETTINGS_NAME);
	return TT_OK;
}

int tti_place_open(struct tti_place *place, const char *path, bool real, struct tt_error *err)
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
		return errno == EACCES ? TT_OK : tti_fail_sys(err, -errno, place->path,
							     "its directory");
	rc = tti_fsync_dir(fd);
	return rc < 0 ? tti_fail_sys(err, rc, place->path, "fsync of its directory") : TT_OK;
}

int tti_place_refuse_ring(const struct tti_place *place, const char *what,
			  struct tt_error *err)
{
	int len = (int)(place->name - place->path);

	if (!place->in_ring)
		return TT_OK;
	return tti_fail(err, TT_E_UNSUPPORTED,
			"%s: belongs to the ring %.*s; %s of a single file there is refused",
			place->path, len > 1 ? len - 1 : 1, len ? place->path : ".", what);
}
