/* SPDX-License-Identifier: Apache-2.0 */
/* A ring's own names that are no regular files.  Invariant: see ring_odd.h. */
#include "live/ring_odd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include "base/failpoint.h"
#include "base/fs.h"

const char *tti_ring_odd_kind(const struct tti_ring *ring, const char *name)
{
	struct stat st;

	return fstatat(ring->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0
		       ? NULL
		       : tti_odd_kind(st.st_mode);
}

int tti_ring_refuse_odd(const struct tti_ring *ring, const char *name,
			struct tt_error *err)
{
	const char *kind = tti_ring_odd_kind(ring, name);

	if (!kind)
		return TT_OK;
	return tti_fail(err, TT_E_FORMAT,
			"%s/%s: is %s, not a regular file, and is not used: 'ticktail "
			"recover %s' puts it aside and makes the file anew",
			ring->path, name, kind, ring->path);
}

/* Who takes the name may have lost a race with somebody who made the file: put back. */
static int move_odd(struct tti_ring *ring, const char *name, char aside[64],
		    struct tt_error *err)
{
	int rc = tti_ring_move_aside(ring, name, aside, err);

	if (rc < 0)
		return rc;
	TTI_FAILPOINT("recover.odd_aside");
	if (tti_ring_odd_kind(ring, aside))
		return TT_OK;
	rc = tti_rename_new(ring->dirfd, aside, ring->dirfd, name);
	return tti_fail(err, rc < 0 ? rc : TT_E_BUSY,
			"%s/%s: another process made it just now%s%s: try again",
			ring->path, name, rc < 0 ? "; it is " : "", rc < 0 ? aside : "");
}

int tti_ring_put_odd_aside(struct tti_ring *ring, const char *name,
			   struct tti_repair *repair, struct tt_error *err)
{
	const char *kind = tti_ring_odd_kind(ring, name);
	char aside[64];
	int rc;

	if (!kind)
		return TT_OK;
	rc = move_odd(ring, name, aside, err);
	if (rc == TT_OK)
		tti_repair_add(repair, "%s was %s, now %s", name, kind, aside);
	return rc;
}

/* Whoever locked a .writer that lay there before holds a lock on the settings file as well.  1 a
 * writer lives, 0 none does, -1 nothing tells. */
static int has_writer(const struct tti_ring *ring)
{
	int held;

	if (ring->set_fd < 0) /* npyt's ring: no writer of ours was there */
		return ring->set_rc == -ENOENT ? 0 : -1;
	held = tti_lock_is_held(ring->set_fd, TTI_LOCK_WRITER);
	return held < 0 ? -1 : held > 0;
}

int tti_ring_put_odd_writer_aside(struct tti_ring *ring, struct tti_repair *repair,
				  struct tt_error *err)
{
	const char *kind = tti_ring_odd_kind(ring, TTI_RING_WRITER_NAME);
	int64_t pid = tti_ring_writer_pid(ring);
	int lives = has_writer(ring);

	if (!kind)
		return TT_OK;
	if (lives == 0)
		return tti_ring_put_odd_aside(ring, TTI_RING_WRITER_NAME, repair, err);
	if (lives > 0)
		return tti_fail(err, TT_E_BUSY,
				"%s/%s: is %s, put there under a writer that lives "
				"(process %" PRId64 "): stop it, then recover again",
				ring->path, TTI_RING_WRITER_NAME, kind, pid);
	return tti_fail(err, TT_E_FORMAT,
			"%s/%s: is %s, and without a %s that can be read nothing tells "
			"whether a writer lives: stop all writers, remove %s/%s, then "
			"recover again",
			ring->path, TTI_RING_WRITER_NAME, kind, TTI_SETTINGS_NAME,
			ring->path, TTI_RING_WRITER_NAME);
}
