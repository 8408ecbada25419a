/* SPDX-License-Identifier: Apache-2.0 */
/* Files and directories.  Invariant: a call either did all it was asked or returns why not;
 * tti_fs_put() is the only code that makes a visible file from a temporary one by content. */
#include "base/fs.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/limits.h"

void tti_close_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0 && close(*fd) < 0)
		assert(errno != EBADF); /* a double close is a bug */
	*fd = -1;
	errno = saved;
}

const char *tti_odd_kind(mode_t mode)
{
	if (S_ISREG(mode))
		return NULL;
	if (S_ISLNK(mode))
		return "a symbolic link";
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISFIFO(mode))
		return "a FIFO";
	if (S_ISSOCK(mode))
		return "a socket";
	return "a device";
}

int tti_need_regular(int fd, const char *path, struct tt_error *err)
{
	const char *kind;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return tti_fail_sys(err, -errno, path, "fstat");
	kind = tti_odd_kind(st.st_mode);
	if (kind)
		return tti_fail(err, TT_E_FORMAT, "%s: is %s, not a regular file", path,
				kind);
	return TT_OK;
}

int tti_open_regular(int dirfd, const char *name, int flags, const char *path,
		     struct tt_error *err)
{
	tti_auto_fd fd =
		openat(dirfd, name, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
	int rc;

	if (fd < 0 && errno == EISDIR)
		return tti_fail(err, -EISDIR, "%s: is a directory, not a regular file",
				path);
	if (fd < 0)
		return tti_fail_sys(err, -errno, path, NULL);
	rc = tti_need_regular(fd, path, err);
	return rc < 0 ? rc : tti_steal_fd(&fd);
}

int tti_pread_all(int fd, void *buf, size_t n, uint64_t offset)
{
	char *at = buf;

	while (n > 0) {
		ssize_t got = pread(fd, at, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -ENODATA;
		at += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return TT_OK;
}

int tti_pwrite_all(int fd, const void *buf, size_t n, uint64_t offset)
{
	const char *at = buf;

	while (n > 0) {
		ssize_t put = pwrite(fd, at, n, (off_t)offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		at += put;
		offset += (uint64_t)put;
		n -= (size_t)put;
	}
	return TT_OK;
}

int tti_write_all(int fd, const void *buf, size_t n)
{
	const char *at = buf;

	while (n > 0) {
		ssize_t put = write(fd, at, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		at += put;
		n -= (size_t)put;
	}
	return TT_OK;
}

static int write_zeros(int fd, uint64_t offset, uint64_t n)
{
	static const char zeros[65536];
	int rc = TT_OK;

	while (n > 0 && rc == TT_OK) {
		size_t step = n < sizeof(zeros) ? (size_t)n : sizeof(zeros);

		rc = tti_pwrite_all(fd, zeros, step, offset);
		offset += step;
		n -= step;
	}
	return rc;
}

/* Less is free than the range takes, whichever of the file's own blocks lie in it.  Only root
 * may count on what a file system keeps back. */
static bool cannot_fit(int fd, uint64_t n)
{
	struct statvfs fs;
	struct stat st;
	uint64_t has, free_blocks;

	if (fstat(fd, &st) < 0 || fstatvfs(fd, &fs) < 0 || fs.f_blocks == 0 ||
	    fs.f_frsize == 0)
		return false; /* it does not tell */
	has = (uint64_t)st.st_blocks * 512;
	free_blocks = geteuid() == 0 ? fs.f_bfree : fs.f_bavail;
	return n > has && (n - has) / fs.f_frsize > free_blocks;
}

int tti_reserve_space(int fd, uint64_t offset, uint64_t n, bool keep_size)
{
	int rc;

	if (n == 0)
		return TT_OK;
	rc = tti_check_file_size(offset, n);
	if (rc < 0)
		return rc;
	/* ext4 takes all there is before it says that it is too little: everybody else who
	 * writes there would meet a full disk meanwhile */
	if (cannot_fit(fd, n))
		return -ENOSPC;
	do
		rc = fallocate(fd, keep_size ? FALLOC_FL_KEEP_SIZE : 0, (off_t)offset,
			       (off_t)n);
	while (rc < 0 && errno == EINTR);
	if (rc == 0)
		return TT_OK;
	if (errno != EOPNOTSUPP)
		return -errno;
	return keep_size ? TT_OK : write_zeros(fd, offset, n);
}

int tti_fail_space(struct tt_error *err, int code, const char *path, int fd,
		   uint64_t needed)
{
	char mount[PATH_MAX], words[160];
	struct statvfs fs;
	struct stat st;

	if (err && code == -ENOSPC && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) &&
	    !S_ISDIR(st.st_mode)) /* /dev/full: no file system to make room on */
		return tti_fail(err, code, "%s: %s", path, tt_strerror(code));
	if (!err || (code != -ENOSPC && code != -EDQUOT && code != -EFBIG))
		return tti_fail_sys(err, code, path, NULL);
	if (code != -ENOSPC || fstatvfs(fd, &fs) < 0) {
		tti_limit_words(code, words, sizeof(words));
		return tti_fail(err, code, "%s: needs %llu bytes: %s%s%s%s", path,
				(unsigned long long)needed, tt_strerror(code),
				words[0] ? " (" : "", words, words[0] ? ")" : "");
	}
	tti_mount_point(fd, mount, sizeof(mount));
	return tti_fail(
		err, code, "%s: no space left on %s%s: needs %llu bytes, %llu are free%s",
		path, mount[0] ? "the file system at " : "this file system", mount,
		(unsigned long long)needed, (unsigned long long)fs.f_bavail * fs.f_frsize,
		fs.f_files > 0 && fs.f_favail == 0 ? ", but no inode" : "");
}

int tt_error_space(struct tt_error *err, int code, const char *path, int fd,
		   uint64_t needed)
{
	return tti_fail_space(err, code, path, fd, needed);
}

int tti_fail_name(struct tt_error *err, int code, int dirfd, const char *path,
		  const char *what)
{
	char mount[PATH_MAX];
	struct statvfs fs;

	if (!err || code != -ENOSPC || fstatvfs(dirfd, &fs) < 0 || fs.f_files == 0 ||
	    fs.f_favail > 0)
		return tti_fail_sys(err, code, path, what);
	tti_mount_point(dirfd, mount, sizeof(mount));
	return tti_fail(err, code,
			"%s: no inode left on %s%s: it has %llu files, as many as it can "
			"have: remove some (ticktail prune works then)",
			path, mount[0] ? "the file system at " : "this file system",
			mount, (unsigned long long)fs.f_files);
}

int tti_fsync_dir(int dirfd)
{
	/* some file systems do not sync directories; they have nothing to say about it */
	if (fsync(dirfd) < 0 && errno != EINVAL)
		return -errno;
	return TT_OK;
}

int tti_fail_parent(struct tt_error *err, int code, const char *path, const char *dir)
{
	char words[160];

	if (code == -ENOENT)
		return tti_fail(err, code, "%s: there is no directory %s: make it first",
				path, dir);
	tti_limit_words(code, words, sizeof(words));
	return tti_fail(err, code, "%s: directory %s: %s%s%s%s", path, dir,
			tt_strerror(code), words[0] ? " (" : "", words,
			words[0] ? ")" : "");
}

int tti_open_parent(const char *path, const char **name_out, struct tt_error *err)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	size_t len;
	int fd;

	*name_out = slash ? slash + 1 : path;
	len = slash ? (size_t)(slash - path) : 0;
	if (len >= sizeof(dir))
		return tti_fail(err, -ENAMETOOLONG, "%s: path too long", path);
	if (!slash)
		strcpy(dir, ".");
	else if (len == 0)
		strcpy(dir, "/");
	else
		memcpy(dir, path, len), dir[len] = '\0';
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? tti_fail_parent(err, -errno, path, dir) : fd;
}

int tti_fsync_parent(const char *path)
{
	const char *name;
	tti_auto_fd dir = tti_open_parent(path, &name, NULL);

	return dir < 0 ? dir : tti_fsync_dir(dir);
}

int tti_fs_put(int dirfd, const struct tti_put_file *file, struct tt_error *err)
{
	const char *tmp = file->tmp, *name = file->name;
	tti_auto_fd fd =
		openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file->mode);
	int rc;

	if (fd < 0)
		return tti_fail_name(err, -errno, dirfd, tmp, NULL);
	rc = tti_check_file_size(0, file->n);
	if (rc == TT_OK)
		rc = tti_write_all(fd, file->bytes, file->n);
	if (rc == TT_OK && fsync(fd) < 0)
		rc = -errno;
	if (rc == TT_OK && file->replace && renameat(dirfd, tmp, dirfd, name) < 0)
		rc = -errno;
	if (rc == TT_OK && !file->replace && linkat(dirfd, tmp, dirfd, name, 0) < 0)
		rc = -errno;
	if (rc < 0) {
		tti_fail_space(err, rc, name, dirfd, file->n);
		goto undo;
	}
	/* from here the file is visible; only its durability can still fail */
	if (!file->replace)
		unlinkat(dirfd, tmp, 0);
	rc = tti_fsync_dir(dirfd);
	return rc < 0 ? tti_fail_sys(err, rc, name, "fsync of its directory") : TT_OK;

undo: /* only effects that other processes can see */
	unlinkat(dirfd, tmp, 0);
	return rc;
}

int tti_rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
	struct stat st;

	if (renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE) == 0)
		return TT_OK;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (fstatat(to_dir, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(from_dir, from, to_dir, to) < 0 ? -errno : TT_OK;
}

int tti_narrow_mode(int fd, int like)
{
	struct stat mine, other;
	mode_t mode;

	if (fstat(fd, &mine) < 0 || fstat(like, &other) < 0)
		return -errno;
	mode = mine.st_mode & (other.st_mode | S_IRWXU) & 07777;
	if (mode == (mine.st_mode & 07777))
		return TT_OK;
	return fchmod(fd, mode) < 0 ? -errno : TT_OK;
}

bool tti_same_inode(int fd, int dirfd, const char *name)
{
	struct stat mine, named;

	return fstat(fd, &mine) == 0 && fstatat(dirfd, name, &named, 0) == 0 &&
	       mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

/* Numbers of statfs(2). */
static const struct {
	uint32_t magic;
	const char *name;
} network_kinds[] = {
	{ 0x6969, "NFS" },	 { 0x517b, "SMB" },	   { 0xfe534d42, "SMB2" },
	{ 0xff534d42, "CIFS" },	 { 0x00c36400, "Ceph" },   { 0x5346414f, "AFS" },
	{ 0x6b414653, "kAFS" },	 { 0x01021997, "9P" },	   { 0x0bd00bd0, "Lustre" },
	{ 0x01161970, "GFS2" },	 { 0x7461636f, "OCFS2" },  { 0x47504653, "GPFS" },
	{ 0x564c, "NCP" },	 { 0x73757245, "Coda" },   { 0x19830326, "BeeGFS" },
	{ 0xaad7aaea, "PanFS" }, { 0x786f4256, "vboxsf" }, { 0xbacbacbc, "HGFS" },
	{ 0x65735546, "FUSE" }, /* sshfs, GlusterFS, s3fs: judged by the mount's type */
};

/* fuse.NAME of the mount that fd is on, by its device number; FUSE can also be a local one. */
static bool is_local_fuse(int fd)
{
	static const char *const local[] = { " fuseblk ",	 " fuse.ntfs-3g ",
					     " fuse.exfat ",	 " fuse.fuse2fs ",
					     " fuse.overlayfs ", " fuse.fuse-overlayfs ",
					     " fuse.lxcfs ",	 " fuse.gocryptfs ",
					     " fuse.encfs ",	 " fuse.mergerfs " };
	char line[4096], device[32];
	struct stat st;
	bool found = false;
	FILE *mounts;

	if (fstat(fd, &st) < 0)
		return false;
	mounts = fopen("/proc/self/mountinfo", "re");
	snprintf(device, sizeof(device), " %u:%u ", major(st.st_dev), minor(st.st_dev));
	while (mounts && !found && fgets(line, sizeof(line), mounts))
		for (size_t i = 0; strstr(line, device) && i < TTI_LEN(local); i++)
			found |= strstr(line, local[i]) != NULL;
	if (mounts)
		fclose(mounts);
	return found;
}

/* The name of a network file system, or NULL. */
static const char *network_fs(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return NULL;
	for (size_t i = 0; i < TTI_LEN(network_kinds); i++)
		if ((uint32_t)fs.f_type == network_kinds[i].magic)
			return strcmp(network_kinds[i].name, "FUSE") == 0 &&
					       is_local_fuse(fd)
				       ? NULL
				       : network_kinds[i].name;
	return NULL;
}

bool tti_is_network_fs(int fd)
{
	return network_fs(fd) != NULL;
}

int tti_refuse_network_fs(int fd, const char *path, bool force, struct tt_error *err)
{
	const char *kind = force ? NULL : network_fs(fd);

	if (!kind)
		return TT_OK;
	return tti_fail(
		err, TT_E_UNSUPPORTED,
		"%s: lies on a network file system (%s), where processes of other "
		"hosts do not share memory and read torn rows: write to a local "
		"one, or force it (--force-network-fs)",
		path, kind);
}
