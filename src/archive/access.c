/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/access.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/lock.h"
#include "archive/flock.h"
#include "archive/newfile.h"
#include "archive/step.h"

#define START_OVER 1 /* the path names another file by now */

void tti_access_note(struct tti_access *access, const char *fmt, ...)
{
	size_t len = strlen(access->notes);
	size_t room = sizeof(access->notes) - len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = len ? snprintf(access->notes + len, room, "; ") : 0;
	if ((size_t)n < room && vsnprintf(access->notes + len + n, room - (size_t)n, fmt,
					  ap) >= (int)room - n)
		access->notes[len] = '\0';
	va_end(ap);
}

static void let_go(struct tti_access *access)
{
	tti_journal_free(&access->journal);
	tti_close_fd(&access->fd);
	tti_close_fd(&access->dir);
	free(access->path);
	access->path = NULL;
}

void tti_access_close(struct tti_access *access)
{
	if (access->is_new && access->fd >= 0)
		unlinkat(access->dir, access->temporary, 0);
	access->is_new = false;
	let_go(access);
}

int tti_access_put_in_place(struct tti_access *access, struct tt_error *err)
{
	const char *name = strrchr(access->path, '/') + 1;
	int rc = tti_step_put_in_place(access->dir, access->temporary, name);

	if (rc < 0)
		return tti_fail(err, rc, "%s: %s", access->shown,
				rc == -EEXIST ? "was made by another process meanwhile"
					      : tt_strerror(rc));
	access->is_new = false;
	rc = tti_step_fsync_dir(access->dir);
	return rc < 0 ? tti_fail(err, rc,
				 "%s: in place, but its directory could not be synced "
				 "(%s): "
				 "whether it survives a power loss is unknown",
				 access->shown, tt_strerror(rc))
		      : TT_OK;
}

static int refuse_network(const struct tti_access *access,
			  const struct tti_driver_opts *opts, struct tt_error *err)
{
	if (opts->force_network_fs || !tti_is_network_fs(access->fd))
		return TT_OK;
	return tti_fail(err, TT_E_UNSUPPORTED,
			"%s: lies on a network file system, where locks need not keep "
			"other hosts out: write to a local one, or force it when no "
			"other host writes it (--force-network-fs)",
			access->shown);
}

/* Both locks of a run.  START_OVER, TT_OK, or TT_E_BUSY once the time is over. */
static int lock_for_run(struct tti_access *access, int64_t deadline_ns,
			struct tt_error *err)
{
	const char *name = strrchr(access->path, '/') + 1;
	int rc = tti_wait_for_lock(tti_try_run_lock, access->fd, deadline_ns);

	if (rc == TT_E_BUSY)
		return tti_fail_busy(err, access->shown, access->fd);
	if (rc == TT_OK)
		rc = tti_wait_for_lock(tti_try_flock_exclusive, access->fd, deadline_ns);
	if (rc == TT_E_BUSY)
		return tti_fail_in_use(err, access->shown, access->fd);
	if (rc < 0)
		return tti_fail_sys(err, rc, access->shown, "lock");
	if (!access->is_new && !tti_same_inode(access->fd, access->dir, name))
		return START_OVER;
	tti_lock_put_pid(access->fd); /* only for other processes' messages */
	return TT_OK;
}

/* What a run that died has left; both locks are held. */
static int settle_journal(struct tti_access *access, struct tt_error *err)
{
	tti_auto_journal journal = TTI_JOURNAL_EMPTY;
	char aside[300];
	int rc = tti_journal_load(&journal, &access->place, err);

	if (rc < 0 || rc == TTI_JOURNAL_NONE)
		return rc;
	if (rc == TTI_JOURNAL_STALE) {
		rc = tti_journal_set_aside(&access->place, aside, err);
		if (rc == TT_OK)
			tti_access_note(
				access,
				"%s: another program changed it after an interrupted "
				"commit, which is lost; its journal is kept as %s",
				access->shown, aside);
		return rc;
	}
	if (rc == TTI_JOURNAL_PENDING) {
		rc = tti_journal_apply(&journal, &access->place, err);
		if (rc < 0)
			return rc;
		tti_access_note(
			access,
			"%s: an interrupted commit was completed from its journal",
			access->shown);
	}
	return tti_journal_finish(&access->place, err);
}

static int name_journal(struct tti_access *access, struct tt_error *err)
{
	access->place.dir = access->dir;
	access->place.archive = access->fd;
	access->place.path = access->shown;
	return tti_journal_name(&access->place, strrchr(access->path, '/') + 1, err);
}

static int open_there(struct tti_access *access, int flags, struct tt_error *err)
{
	const char *name = strrchr(access->path, '/') + 1, *parent_name;

	access->dir = tti_open_parent(access->path, &parent_name, err);
	if (access->dir < 0)
		return access->dir;
	access->fd = tti_open_regular(access->dir, name, flags, access->shown, err);
	if (access->fd < 0)
		return access->fd;
	return name_journal(access, err);
}

static int open_for_run(struct tti_access *access, const struct tti_driver_opts *opts,
			int64_t deadline_ns, struct tt_error *err)
{
	int rc = open_there(access, O_RDWR, err);

	if (rc == -ENOENT)
		return START_OVER; /* removed since its path was resolved */
	if (rc == TT_OK)
		rc = refuse_network(access, opts, err);
	if (rc == TT_OK)
		rc = lock_for_run(access, deadline_ns, err);
	return rc == TT_OK ? settle_journal(access, err) : rc;
}

static int open_new(struct tti_access *access, const struct tti_driver_opts *opts,
		    struct tt_error *err)
{
	const char *name;
	int rc;

	access->dir = tti_open_parent(access->path, &name, err);
	if (access->dir < 0)
		return access->dir;
	tti_newfile_sweep(access->dir, name);
	access->fd = tti_newfile_create(access->dir, name, access->temporary,
					access->shown, err);
	if (access->fd < 0)
		return access->fd;
	access->is_new = true;
	rc = name_journal(access, err);
	if (rc == TT_OK)
		rc = refuse_network(access, opts, err);
	if (rc == TT_OK) /* nobody else knows the name: no waiting */
		rc = lock_for_run(access, 0, err);
	return rc;
}

/* A reader that may write completes a dead run first; one that may not, or that comes while
 * others have the file open, reads through the journal. */
static void try_to_settle(const struct tti_access *reader,
			  const struct tti_driver_opts *opts, struct tti_access *settled)
{
	*settled = (struct tti_access)TTI_ACCESS_EMPTY;
	if (faccessat(reader->dir, reader->place.name, F_OK, 0) < 0)
		return;
	settled->path = strdup(reader->path);
	settled->shown = reader->shown;
	if (!settled->path || faccessat(reader->dir, ".", W_OK, AT_EACCESS) < 0)
		return;
	open_for_run(settled, opts, 0, NULL);
}

static int look_through(struct tti_access *access, struct tt_error *err)
{
	int rc = tti_journal_load(&access->journal, &access->place, err);

	if (rc < 0)
		return rc;
	access->read_through = rc == TTI_JOURNAL_PENDING;
	if (rc == TTI_JOURNAL_PENDING)
		tti_access_note(
			access,
			"%s: an interrupted commit is read from its journal, which this "
			"process may not apply now",
			access->shown);
	else
		tti_journal_free(&access->journal);
	if (rc == TTI_JOURNAL_STALE)
		tti_access_note(access,
				"%s: its journal %s is stale: another program changed "
				"the archive "
				"after an interrupted commit, which is lost",
				access->shown, access->place.name);
	return TT_OK;
}

static int open_reader(struct tti_access *access, const struct tti_driver_opts *opts,
		       int64_t deadline_ns, struct tt_error *err)
{
	const char *name = strrchr(access->path, '/') + 1;
	struct tti_access settled;
	int rc = open_there(access, O_RDONLY, err);

	if (rc < 0)
		return rc;
	try_to_settle(access, opts, &settled);
	if (settled.notes[0])
		tti_access_note(access, "%s", settled.notes);
	tti_access_close(&settled);
	rc = tti_wait_for_lock(tti_try_flock_shared, access->fd, deadline_ns);
	if (rc == TT_E_BUSY)
		return tti_fail_busy(err, access->shown, access->fd);
	if (rc < 0)
		return tti_fail_sys(err, rc, access->shown, "lock");
	if (!tti_same_inode(access->fd, access->dir, name))
		return START_OVER;
	return look_through(access, err);
}

/* The real path; of a file that is not there, that of its directory and its name.
 * *there_out says which. */
static int resolve(char **out, const char *path, bool *there_out, struct tt_error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	tti_auto_free char *dir = NULL, *real = realpath(path, NULL);

	*there_out = real != NULL;
	if (real) {
		*out = tti_steal_ptr(&real);
		return TT_OK;
	}
	if (errno != ENOENT || *name == '\0')
		return tti_fail_sys(err, -errno, path, NULL);
	if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return tti_fail(err, -ENOENT, "%s: a symbolic link to nothing", path);
	dir = slash ? strndup(path, (size_t)(slash - path) + (slash == path))
		    : strdup(".");
	real = dir ? realpath(dir, NULL) : NULL;
	if (!real && dir && errno == ENOENT)
		return tti_fail(err, -ENOENT,
				"%s: there is no directory %s: make it first", path, dir);
	if (!real)
		return tti_fail_sys(err, -errno, path, NULL);
	if (asprintf(out, "%s/%s", strcmp(real, "/") ? real : "", name) < 0) {
		*out = NULL;
		return tti_fail_sys(err, -ENOMEM, path, NULL);
	}
	return TT_OK;
}

static int open_once(struct tti_access *access, const char *path,
		     const struct tti_driver_opts *opts, int64_t deadline_ns,
		     struct tt_error *err)
{
	bool there;
	int rc = resolve(&access->path, path, &there, err);

	if (rc < 0)
		return rc;
	if (!there && access->mode != TTI_DRIVER_CREATE)
		return tti_fail(err, -ENOENT,
				"%s: there is no such archive; 'ticktail archive' makes "
				"one",
				path);
	if (!there)
		return open_new(access, opts, err);
	if (access->mode == TTI_DRIVER_READ)
		return open_reader(access, opts, deadline_ns, err);
	return open_for_run(access, opts, deadline_ns, err);
}

int tti_access_open(struct tti_access *access, const char *path,
		    enum tti_driver_mode mode, const struct tti_driver_opts *opts,
		    struct tt_error *err)
{
	int64_t deadline = tti_deadline_ns(opts->apply_wait_ns);
	int rc;

	*access = (struct tti_access)TTI_ACCESS_EMPTY;
	access->mode = mode;
	access->shown = path;
	while ((rc = open_once(access, path, opts, deadline, err)) == START_OVER) {
		let_go(access);
		if (tti_clock_monotonic_ns() > deadline)
			return tti_fail(err, TT_E_BUSY,
					"%s: it is being replaced again and again", path);
	}
	if (rc < 0)
		tti_access_close(access);
	return rc;
}
