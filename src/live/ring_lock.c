/* SPDX-License-Identifier: Apache-2.0 */
/* Who may write in a ring.  The lock that counts is on .writer, which readers cannot open; a
 * second one on the settings file is for everyone to see.  Invariant: a lock counts only
 * while its file is the one that the directory names. */
#include "live/ring_odd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>
#include "base/lock.h"

int64_t tti_ring_writer_pid(const struct tti_ring *ring)
{
	uint32_t pid;

	if (ring->set_fd < 0 || !ring->set.addr)
		return -1; /* nothing tells */
	if (tti_lock_is_held(ring->set_fd, TTI_LOCK_WRITER) <= 0)
		return 0;
	pid = tti_pid_load(tti_ring_words(ring));
	return pid ? (int64_t)pid : -1;
}

static int busy(const struct tti_ring *ring, int64_t byte, struct tt_error *err)
{
	int64_t pid = tti_ring_writer_pid(ring);

	if (byte == TTI_LOCK_MAINTAINER)
		return tti_fail(
			err, TT_E_BUSY,
			"%s: another process is merging or removing files: try again",
			ring->path);
	if (pid > 0)
		return tti_fail(err, TT_E_BUSY, "%s: being written by process %" PRId64,
				ring->path, pid);
	return tti_fail(err, TT_E_BUSY, "%s: being written by another process",
			ring->path);
}

/* TT_OK, -EAGAIN when the file was replaced meanwhile, or an error. */
static int lock_once(int *fd_out, const struct tti_ring *ring, int64_t byte,
		     struct tt_error *err)
{
	char path[TTI_RING_PATH_BYTES];
	tti_auto_fd fd = -1;
	int rc;

	rc = tti_ring_refuse_odd(ring, TTI_RING_WRITER_NAME, err);
	if (rc < 0)
		return rc;
	tti_ring_path(ring, TTI_RING_WRITER_NAME, path, sizeof(path));
	fd = openat(ring->dirfd, TTI_RING_WRITER_NAME,
		    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return tti_fail_sys(err, -errno, path, NULL);
	rc = tti_need_regular(fd, path, err);
	if (rc < 0)
		return rc;
	rc = tti_lock_try(fd, byte);
	if (rc == TT_E_BUSY)
		return busy(ring, byte, err);
	if (rc < 0)
		return tti_fail_sys(err, rc, path, "lock");
	if (!tti_same_inode(fd, ring->dirfd, TTI_RING_WRITER_NAME))
		return -EAGAIN;
	*fd_out = tti_steal_fd(&fd);
	return TT_OK;
}

int tti_ring_lock(struct tti_ring_lock *lock, const struct tti_ring *ring, int64_t byte,
		  struct tt_error *err)
{
	int rc;

	*lock = (struct tti_ring_lock){ .fd = -1 };
	do
		rc = lock_once(&lock->fd, ring, byte, err);
	while (rc == -EAGAIN);
	if (rc < 0)
		return rc;
	rc = tti_fork_guard_add(&lock->guard, &lock->fd);
	if (rc < 0) {
		tti_close_fd(&lock->fd);
		return tti_fail_sys(err, rc, ring->path, "guard the lock against fork");
	}
	return TT_OK;
}

void tti_ring_unlock(struct tti_ring_lock *lock)
{
	tti_fork_guard_remove(&lock->guard); /* also of one that a fork closed */
	tti_close_fd(&lock->fd);
}

bool tti_ring_lock_is_inherited(const struct tti_ring_lock *lock)
{
	return lock->guard.fd && lock->fd < 0;
}
