/* SPDX-License-Identifier: Apache-2.0 */
/* Files and directories.  EINTR and short transfers end here; nothing above repeats them.
 * All functions return TT_OK or a negated errno unless said; texts are set where a path is
 * known. */
#ifndef TTI_FS_H
#define TTI_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "base/compiler.h"
#include "base/error.h"

void tti_close_fd(int *fd); /* accepts -1, keeps errno */
#define tti_auto_fd TTI_CLEANUP(tti_close_fd) int

static inline int tti_steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Open a regular file: links are followed unless flags say not, FIFOs are not waited for, and
 * anything but a regular file is refused with its kind in words.  The fd, or a negative error
 * with text. */
int tti_open_regular(int dirfd, const char *name, int flags, const char *path,
		     struct tt_error *err);

/* What a file of that mode is, in words; NULL for a regular one. */
const char *tti_odd_kind(mode_t mode);

/* TT_OK, or TT_E_FORMAT with what fd is instead of a regular file. */
int tti_need_regular(int fd, const char *path, struct tt_error *err);

/* Exactly n bytes or an error; -ENODATA when the file ends before. */
int tti_pread_all(int fd, void *buf, size_t n, uint64_t offset);
int tti_pwrite_all(int fd, const void *buf, size_t n, uint64_t offset);
int tti_write_all(int fd, const void *buf, size_t n);

/* Space for [offset, offset + n): -ENOSPC instead of a later SIGBUS.  What the file system has
 * no room for is refused before any of it is taken.  keep_size leaves the file's size alone.
 * Falls back to writing zeros where fallocate is not supported (never over existing bytes: the
 * range must lie past the end of the file). */
int tti_reserve_space(int fd, uint64_t offset, uint64_t n, bool keep_size);

/* Words for a full disk: "path: needs N bytes, M are free on this file system". */
int tti_fail_space(struct tt_error *err, int code, const char *path, int fd,
		   uint64_t needed);

/* Words for a name that directory dirfd does not take, as tti_fail_sys(); says so when what is
 * missing is an inode. */
int tti_fail_name(struct tt_error *err, int code, int dirfd, const char *path,
		  const char *what);

int tti_fsync_dir(int dirfd);
int tti_fsync_parent(const char *path); /* the directory that holds path */

/* Open the directory that holds path; *name_out points into path. */
int tti_open_parent(const char *path, const char **name_out, struct tt_error *err);

/* Words for a directory that cannot be opened on the way to path. */
int tti_fail_parent(struct tt_error *err, int code, const char *path, const char *dir);

/* A file that is to be. */
struct tti_put_file {
	const char *tmp, *name;
	const void *bytes;
	size_t n;
	mode_t mode;
	bool replace;
};
/* Create it in dirfd so that it is seen whole or not at all: temporary file, fsync, rename (or
 * link when !replace: -EEXIST if it is there), fsync of the directory. */
int tti_fs_put(int dirfd, const struct tti_put_file *file, struct tt_error *err);

/* Rename, never over what is there: -EEXIST.  Where the file system cannot promise it in one
 * step, the name is looked at before. */
int tti_rename_new(int from_dir, const char *from, int to_dir, const char *to);

/* Take from group and others what the mode of like does not give them: a copy is for no more
 * eyes than its original. */
int tti_narrow_mode(int fd, int like);

/* true when fd is still what path names (same device and inode). */
bool tti_same_inode(int fd, int dirfd, const char *name);

/* A network file system, where mapped words are not shared between hosts; false for a local
 * one, and when it cannot be told.  A FUSE that is not known to be local counts. */
bool tti_is_network_fs(int fd);
/* TT_E_UNSUPPORTED for live writing there, unless forced. */
int tti_refuse_network_fs(int fd, const char *path, bool force, struct tt_error *err);

#endif
