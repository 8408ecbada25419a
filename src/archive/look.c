/* SPDX-License-Identifier: Apache-2.0 */
/* A look at an archive without opening it: no lock is taken, nothing is waited for and nothing
 * mended, so it answers while a commit runs too. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "archive/flock.h"
#include "archive/journal.h"
#include "base/fs.h"
#include "base/lock.h"
#include "ticktail/archive.h"

/* What a live commit does to journal and archive at this moment cannot be compared. */
static int journal_of(const struct tti_journal_place *place, struct tt_archive_state *out)
{
	tti_auto_journal journal = TTI_JOURNAL_EMPTY;
	struct stat st;
	int rc;

	if (fstatat(place->dir, place->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		out->journal = TT_JOURNAL_NONE;
		return errno == ENOENT ? TT_OK : -errno;
	}
	out->journal_bytes = (uint64_t)st.st_size;
	if (out->writing) {
		out->journal = TT_JOURNAL_PENDING;
		return TT_OK;
	}
	rc = tti_journal_load(&journal, place, NULL);
	out->journal = rc == TTI_JOURNAL_NONE	    ? TT_JOURNAL_NONE
		       : rc == TTI_JOURNAL_FINISHED ? TT_JOURNAL_FINISHED
		       : rc == TTI_JOURNAL_PENDING  ? TT_JOURNAL_PENDING
		       : rc == TTI_JOURNAL_STALE    ? TT_JOURNAL_STALE
						    : TT_JOURNAL_DAMAGED;
	return rc < 0 && rc != TT_E_DAMAGED ? rc : TT_OK;
}

static void note_space(int fd, struct tt_archive_state *out)
{
	struct statvfs fs;

	if (fstatvfs(fd, &fs) < 0)
		return;
	out->fs_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	out->fs_free = (uint64_t)fs.f_bavail * fs.f_frsize;
}

int tt_archive_look(const char *path, struct tt_archive_state *out, struct tt_error *err)
{
	tti_auto_free char *real = realpath(path, NULL);
	struct tti_journal_place place = { .path = path };
	tti_auto_fd fd = -1, dir = -1;
	const char *name;
	struct stat st;
	int rc;

	*out = (struct tt_archive_state){ 0 };
	if (!real)
		return tti_fail_sys(err, -errno, path, NULL);
	dir = tti_open_parent(real, &name, err);
	if (dir < 0)
		return dir;
	fd = tti_open_regular(dir, name, O_RDONLY, path, err);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return tti_fail_sys(err, -errno, path, NULL);
	out->bytes = (uint64_t)st.st_size;
	note_space(fd, out);
	out->writing = tti_lock_is_held(fd, TTI_LOCK_WRITER) == 1;
	if (out->writing)
		out->writer_pid = tti_run_pid(fd);
	place.dir = dir;
	place.archive = fd;
	rc = tti_journal_name(&place, name, err);
	if (rc < 0)
		return rc;
	rc = journal_of(&place, out);
	return rc < 0 ? tti_fail_sys(err, rc, path, "look at its journal") : TT_OK;
}
