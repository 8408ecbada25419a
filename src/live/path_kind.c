/* SPDX-License-Identifier: Apache-2.0 */
/* What a path is, by its content; names mean nothing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/fs.h"
#include "format/manifest.h"
#include "format/settings.h"
#include "live/live_file.h"
#include "ticktail/file.h"

#define MAGIC "\x93NUMPY"

static bool holds(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A ring that lost its manifest still has its files. */
static bool holds_ring_files(int fd)
{
	DIR *dir = fdopendir(fd); /* takes fd */
	struct dirent *entry;
	uint64_t name;
	bool found = false;

	if (!dir) {
		close(fd);
		return false;
	}
	while (!found && (entry = readdir(dir)))
		found = tti_ring_parse_name(entry->d_name, &name) != TTI_RING_OTHER;
	closedir(dir);
	return found;
}

static int directory_kind(const char *path, enum tt_path_kind *out, struct tt_error *err)
{
	tti_auto_fd fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int code = -errno;

	if (fd < 0 && code == -EACCES) /* it may still be searched */
		fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return tti_fail_sys(err, code, path, NULL);
	if (holds(fd, TTI_MANIFEST_NAME) || holds(fd, TTI_SETTINGS_NAME) ||
	    holds_ring_files(tti_steal_fd(&fd))) {
		*out = TT_PATH_NPY8;
		return TT_OK;
	}
	return tti_fail(err, TT_E_FORMAT,
			"%s: a directory, but no ring: it holds neither %s nor %s", path,
			TTI_MANIFEST_NAME, TTI_SETTINGS_NAME);
}

/* HDF5 allows its signature at 0, 512, 1024, 2048 and so on. */
static bool is_hdf5(int fd, uint64_t file_bytes)
{
	static const char signature[8] = "\211HDF\r\n\032\n";
	char bytes[8];

	for (uint64_t at = 0; at + sizeof(bytes) <= file_bytes; at = at ? 2 * at : 512)
		if (tti_pread_all(fd, bytes, sizeof(bytes), at) == TT_OK &&
		    memcmp(bytes, signature, sizeof(bytes)) == 0)
			return true;
	return false;
}

static int array_kind(const char *path, enum tt_path_kind *out, struct tt_error *err)
{
	const struct tti_live_open args = { .dirfd = AT_FDCWD,
					    .name = path,
					    .path = path,
					    .plain = true,
					    .by_pread = true };
	struct tti_live live;
	int rc = tti_live_open(&live, &args, err);

	if (rc < 0)
		return rc;
	*out = live.tail_words ? TT_PATH_NPYT : TT_PATH_NPY;
	tti_live_close(&live);
	return TT_OK;
}

/* Nothing of ours: in words what to do where there is something. */
static int refuse(int fd, const char *path, uint64_t file_bytes, struct tt_error *err)
{
	char bytes[sizeof(MAGIC) - 1];

	if (file_bytes == 0)
		return tti_fail(err, TT_E_FORMAT,
				"%s: is empty, not even a header is left: remove it and "
				"make it anew, or 'ticktail recover %s --dtype DESCR' "
				"makes a live file without rows of it",
				path, path);
	if (file_bytes < sizeof(bytes) &&
	    tti_pread_all(fd, bytes, file_bytes, 0) == TT_OK &&
	    memcmp(bytes, MAGIC, file_bytes) == 0)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: cut short inside the .npy header: the file has "
				"%" PRIu64 " bytes; 'ticktail recover %s --dtype DESCR', "
				"or '--like FILE', mends it",
				path, file_bytes, path);
	return tti_fail(err, TT_E_FORMAT,
			"%s: neither an .npy file, nor a ring, nor an HDF5 archive",
			path);
}

int tt_path_kind(const char *path, enum tt_path_kind *out, struct tt_error *err)
{
	tti_auto_fd fd = -1;
	char magic[sizeof(MAGIC) - 1];
	struct stat st;

	if (stat(path, &st) < 0)
		return tti_fail_sys(err, -errno, path, NULL);
	if (S_ISDIR(st.st_mode))
		return directory_kind(path, out, err);
	fd = tti_open_regular(AT_FDCWD, path, O_RDONLY, path, err);
	if (fd < 0)
		return fd;
	if (tti_pread_all(fd, magic, sizeof(magic), 0) == TT_OK &&
	    memcmp(magic, MAGIC, sizeof(magic)) == 0)
		return array_kind(path, out, err);
	if (is_hdf5(fd, (uint64_t)st.st_size)) {
		*out = TT_PATH_ARCHIVE;
		return TT_OK;
	}
	return refuse(fd, path, (uint64_t)st.st_size, err);
}
