/* SPDX-License-Identifier: Apache-2.0 */
/* Storing and loading the marks of a ring.  Invariant: a mark goes over the older slot, so the
 * one that counts stays whole until the next one is. */
#include "live/ring_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/failpoint.h"

#define SLOTS_BYTES ((TTI_MARK_SLOTS - 1) * TTI_SETTINGS_STRIDE + sizeof(struct tti_mark))

int tti_ring_mark_load_sure(const struct tti_ring *ring, struct tti_mark *out,
			    bool *sure_out)
{
	uint8_t slots[SLOTS_BYTES];
	int rc;

	*sure_out = false;
	if (ring->set_fd < 0 || ring->set_rc < 0)
		return 0;
	rc = tti_pread_all(ring->set_fd, slots, sizeof(slots), TTI_MARKS_OFF);
	if (rc < 0)
		return rc;
	*sure_out = !tti_mark_is_damaged(slots, 0) && !tti_mark_is_damaged(slots, 1);
	return tti_mark_pick(slots, out);
}

int tti_ring_mark_load(const struct tti_ring *ring, struct tti_mark *out)
{
	bool sure;

	return tti_ring_mark_load_sure(ring, out, &sure);
}

bool tti_ring_mark_is_damaged(const struct tti_ring *ring, unsigned i)
{
	uint8_t slots[SLOTS_BYTES];

	if (ring->set_fd < 0 || ring->set_rc < 0)
		return false;
	for (int tries = 0; tries < 100; tries++)
		if (tti_pread_all(ring->set_fd, slots, sizeof(slots), TTI_MARKS_OFF) <
			    0 ||
		    !tti_mark_is_damaged(slots, i))
			return false;
	return true;
}

static int empty(const struct tti_ring *ring, unsigned i, struct tt_error *err)
{
	static const uint8_t zero[sizeof(struct tti_mark)];
	int rc = tti_pwrite_all(ring->set_fd, zero, sizeof(zero),
				TTI_MARKS_OFF + (uint64_t)i * TTI_SETTINGS_STRIDE);

	if (rc == TT_OK && fdatasync(ring->set_fd) < 0)
		rc = -errno;
	return rc < 0 ? tti_fail_sys(err, rc, ring->path,
				     "empty a mark in " TTI_SETTINGS_NAME)
		      : TT_OK;
}

int tti_ring_marker_init(struct tti_ring_marker *marker, const struct tti_ring *ring,
			 struct tt_error *err)
{
	struct tti_mark mark;
	int rc = tti_ring_mark_load(ring, &mark);

	*marker = (struct tti_ring_marker){ .ready = true, .lazy = true };
	if (rc < 0)
		return tti_fail_sys(err, rc, ring->path,
				    "read the marks of " TTI_SETTINGS_NAME);
	if (rc > 0) {
		marker->sequence = mark.sequence;
		marker->since = mark.file;
	}
	marker->has_boot = tti_boot_id(marker->boot_id) == TT_OK;
	return TT_OK;
}

/* What the kernel could not write it drops, and its next answer is yes: after that nothing is
 * known to be on disk any more. */
static int sync_or_lose(int fd, bool *lost)
{
	if (fdatasync(fd) == 0)
		return TT_OK;
	*lost = true;
	return -errno;
}

/* Sequences alternate between the slots. */
static int put(const struct tti_ring *ring, struct tti_mark *mark, bool *lost,
	       struct tt_error *err)
{
	uint64_t at =
		TTI_MARKS_OFF + mark->sequence % TTI_MARK_SLOTS * TTI_SETTINGS_STRIDE;
	int rc;

	tti_mark_seal(mark);
	TTI_FAILPOINT("ring.mark.before_store");
	rc = tti_pwrite_all(ring->set_fd, mark, sizeof(*mark), at);
	TTI_FAILPOINT("ring.mark.stored");
	if (rc == TT_OK)
		rc = sync_or_lose(ring->set_fd, lost);
	TTI_FAILPOINT("ring.mark.synced");
	return rc < 0 ? tti_fail_sys(err, rc, ring->path,
				     "store a mark in " TTI_SETTINGS_NAME)
		      : TT_OK;
}

int tti_ring_mark_mend(const struct tti_ring *ring, unsigned i, struct tt_error *err)
{
	struct tti_mark other, none = { 0 };
	bool lost;
	int rc = tti_ring_mark_load(ring, &other);

	if (rc < 0)
		return tti_fail_sys(err, rc, ring->path,
				    "read the marks of " TTI_SETTINGS_NAME);
	if (rc == 0)
		return empty(ring, i, err);
	none.sequence = other.sequence + 1;
	memcpy(none.boot_id, other.boot_id, sizeof(none.boot_id));
	if (tti_boot_is_zero(none.boot_id)) /* closed, and then somebody went on */
		memset(none.boot_id, 0xff, sizeof(none.boot_id));
	return put(ring, &none, &lost, err);
}

/* A first mark that says nothing, not even of a boot: no other ever stands alone, so where one
 * does the other was lost, and may have been the later one. */
static int put_first(const struct tti_ring *ring, struct tti_ring_marker *marker,
		     struct tt_error *err)
{
	struct tti_mark first = { .sequence = 1 };
	int rc;

	if (marker->sequence != 0)
		return TT_OK;
	rc = put(ring, &first, &marker->lost, err);
	if (rc == TT_OK)
		marker->sequence = 1;
	return rc;
}

/* What makes a file findable is on disk before a mark speaks of it. */
static int sync_names(const struct tti_ring *ring, bool *lost, struct tt_error *err)
{
	int rc = tti_fsync_dir(ring->dirfd);

	*lost |= rc < 0;
	if (rc == TT_OK && ring->lock_fd >= 0)
		rc = sync_or_lose(ring->lock_fd, lost);
	if (rc == TT_OK)
		rc = sync_or_lose(ring->set_fd, lost);
	return rc < 0 ? tti_fail_sys(err, rc, ring->path, "fsync of its names") : TT_OK;
}

static int sync_file(const struct tti_ring *ring, const struct tti_ring_item *item,
		     bool *lost, struct tt_error *err)
{
	char file_name[TTI_RING_NAME_BYTES];
	tti_auto_fd fd = -1;
	int rc = TT_OK;

	tti_ring_format_name(file_name, item->name, item->merged);
	fd = openat(ring->dirfd, file_name,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		rc = errno == ENOENT ? TT_OK : -errno; /* merged or removed */
	else
		rc = sync_or_lose(fd, lost);
	return rc < 0 ? tti_fail_sys(err, rc, ring->path, file_name) : TT_OK;
}

/* Files that a writer before, or one that does not sync, may have left unsynced. */
static int sync_older(struct tti_ring *ring, struct tti_ring_marker *marker,
		      uint64_t before, struct tt_error *err)
{
	tti_auto_items items = { 0 };
	int rc = tti_ring_list(ring, &items, err);

	for (size_t i = 0; rc == TT_OK && i < items.count; i++)
		if (items.at[i].name >= marker->since && items.at[i].name < before)
			rc = sync_file(ring, &items.at[i], &marker->lost, err);
	return rc;
}

/* The checksum up to end, and the stamp that it goes with.  Rows that npyt changed in place
 * since are known by a stamp that is not ours: what is below end is then not checked. */
static int checksum(struct tti_ring_marker *marker, const struct tti_live *live,
		    uint64_t end, uint64_t *stamp_out, struct tt_error *err)
{
	int rc = tti_live_load_stamp(live, stamp_out);

	if (rc < 0)
		return tti_fail_sys(err, rc, live->path, "read of the tail");
	if (!tti_stamp_is_ours(*stamp_out)) {
		marker->rows = (struct tti_rows_crc){ .from = end, .end = end };
		return TT_OK;
	}
	return tti_rows_crc_extend(&marker->rows, live, end, err);
}

static int mark(struct tti_ring *ring, struct tti_ring_marker *marker,
		const struct tti_live *live, struct tti_mark *next, struct tt_error *err)
{
	int rc = TT_OK;

	if (marker->file != next->file) {
		if (marker->lazy)
			rc = sync_older(ring, marker, next->file, err);
		if (rc == TT_OK)
			rc = sync_names(ring, &marker->lost, err);
		marker->rows = (struct tti_rows_crc){ 0 };
		marker->file = rc < 0 ? 0 : next->file;
	}
	if (rc == TT_OK)
		rc = checksum(marker, live, next->end, &next->update_timestamp, err);
	if (rc == TT_OK)
		rc = put_first(ring, marker, err);
	if (rc < 0)
		return rc;
	next->from = marker->rows.from;
	next->rows_crc = marker->rows.crc;
	next->sequence = marker->sequence + 1;
	rc = put(ring, next, &marker->lost, err);
	if (rc < 0)
		return rc;
	marker->sequence = next->sequence;
	marker->since = next->file;
	marker->lazy = marker->none;
	return TT_OK;
}

int tti_ring_mark(struct tti_ring *ring, struct tti_ring_marker *marker,
		  const struct tti_live *live, struct tt_pos end, struct tt_error *err)
{
	struct tti_mark next = { .file = end.file, .end = end.row };

	if (!marker->has_boot)
		return TT_OK;
	memcpy(next.boot_id, marker->boot_id, sizeof(next.boot_id));
	return mark(ring, marker, live, &next, err);
}

int tti_ring_mark_closed(struct tti_ring *ring, struct tti_ring_marker *marker,
			 const struct tti_live *live, struct tt_pos end,
			 struct tt_error *err)
{
	struct tti_mark next = { .file = end.file, .end = end.row };

	return marker->has_boot ? mark(ring, marker, live, &next, err) : TT_OK;
}

int tti_ring_mark_none(struct tti_ring *ring, struct tti_ring_marker *marker,
		       struct tt_error *err)
{
	struct tti_mark next = { .sequence = marker->sequence + 1 };
	int rc;

	memcpy(next.boot_id, marker->boot_id, sizeof(next.boot_id));
	marker->file = 0;
	marker->none = true;
	if (!marker->has_boot && marker->sequence == 0)
		return TT_OK;
	rc = put(ring, &next, &marker->lost, err);
	if (rc == TT_OK)
		marker->sequence = next.sequence;
	return rc;
}

int tti_ring_mark_changing(const struct tti_ring *ring, uint64_t name, uint64_t row,
			   struct tt_error *err)
{
	struct tti_mark next;
	bool sure, lost;
	int rc = tti_ring_mark_load_sure(ring, &next, &sure);

	if (rc < 0)
		return tti_fail_sys(err, rc, ring->path,
				    "read the marks of " TTI_SETTINGS_NAME);
	if (rc == 0 || next.file != name || row >= next.end || next.from == next.end)
		return TT_OK;
	next.from = next.end;
	next.rows_crc = 0;
	if (sure) /* else in its own place: the other one stays lost */
		next.sequence++;
	return put(ring, &next, &lost, err);
}

int tti_ring_mark_changing_in(int dirfd, const char *path, uint64_t name, uint64_t row,
			      struct tt_error *err)
{
	tti_auto_fd fd = openat(dirfd, TTI_SETTINGS_NAME,
				O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct tti_ring ring = TTI_RING_EMPTY;
	tti_auto_free char *copy = strdup(path);

	if (fd < 0 && errno == ENOENT)
		return TT_OK; /* npyt's ring: nothing is marked */
	if (fd < 0 || !copy)
		return tti_fail_sys(err, -errno, path, TTI_SETTINGS_NAME);
	ring.set_fd = fd;
	ring.path = copy;
	return tti_ring_mark_changing(&ring, name, row, err);
}
