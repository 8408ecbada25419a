/* SPDX-License-Identifier: Apache-2.0 */
/* Rolling: the next file of a ring, from nothing to named in the manifest.  Invariant: a file
 * is whole before it has its name, has its entry before the manifest names it, and the file
 * before it got its last row before that; whatever fails, the writer stands where it stood. */
#include "live/ring_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/num.h"
#include "live/futex.h"
#include "live/ring_counters.h"

void tti_writer_wake(struct tt_ring_writer *writer, bool always)
{
	struct tti_words *words = tti_ring_words(&writer->ring);

	tti_wake_bump(words);
	if (always || !writer->wake_never)
		tti_futex_wake(tti_wake_futex(words));
}

#define DAY_NS (INT64_C(86400) * 1000000000)

int64_t tti_writer_roll_due(const struct tt_ring_writer *writer, int64_t first_ns)
{
	int64_t at_ns = (int64_t)writer->ring.settings.roll_at_s * 1000000000, due;

	if (writer->ring.settings.roll_at_s < 0 || first_ns == INT64_MIN ||
	    first_ns > INT64_MAX - 2 * DAY_NS || first_ns < 0)
		return INT64_MAX;
	due = first_ns / DAY_NS * DAY_NS + at_ns;
	return due > first_ns ? due : due + DAY_NS;
}

int tti_writer_sync(struct tt_ring_writer *writer, struct tt_error *err)
{
	char path[TTI_RING_PATH_BYTES], file_name[TTI_RING_NAME_BYTES];
	uint64_t end = writer->live.end;
	int rc;

	tti_ring_format_name(file_name, writer->name, false);
	if (fdatasync(writer->live.fd) < 0)
		return tti_fail_sys(
			err, -errno,
			tti_ring_path(&writer->ring, file_name, path, sizeof(path)),
			"fdatasync");
	rc = tti_ring_mark(&writer->ring, &writer->marker, &writer->live, writer->name,
			   end, err);
	if (rc < 0)
		return rc;
	writer->dirty = false;
	writer->last_sync_ns = writer->coarse_ns();
	return TT_OK;
}

int tti_writer_make_file(struct tt_ring_writer *writer, const struct tti_npy *rows,
			 uint64_t capacity, uint64_t name, struct tt_error *err)
{
	struct tti_ring *ring = &writer->ring;
	const struct tti_live_make make = {
		.dtype = rows->dtype,
		.row_rank = rows->rank ? rows->rank - 1 : 0,
		.row_shape = rows->shape + 1,
		.capacity = capacity,
		.exact = ring->settings.flags & TTI_SETTINGS_EXACT,
		.tail_words = ring->settings.tail_words ? ring->settings.tail_words : 5,
	};
	char file_name[TTI_RING_NAME_BYTES], path[TTI_RING_PATH_BYTES];
	tti_auto_fd fd = -1;
	int rc = TT_OK;

	tti_ring_format_name(file_name, name, false);
	tti_ring_path(ring, file_name, path, sizeof(path));
	TTI_FAILPOINT("ring.roll.begin");
	fd = tti_live_make(ring->dirfd, TTI_RING_NEXT_NAME, &make, path, err);
	if (fd < 0)
		return fd;
	TTI_FAILPOINT("ring.roll.made");
	if (writer->sync_ms != TT_SYNC_NONE && fsync(fd) < 0)
		rc = tti_fail_sys(err, -errno, path, "fsync");
	if (rc == TT_OK) {
		rc = tti_rename_new(ring->dirfd, TTI_RING_NEXT_NAME, ring->dirfd,
				    file_name);
		if (rc < 0)
			tti_fail_sys(err, rc, path, NULL);
	}
	if (rc < 0)
		goto undo;
	TTI_FAILPOINT("ring.roll.renamed");
	if (writer->sync_ms != TT_SYNC_NONE)
		rc = tti_fsync_dir(ring->dirfd);
	if (rc < 0) {
		unlinkat(ring->dirfd, file_name, 0);
		return tti_fail_sys(err, rc, path, "fsync of its directory");
	}
	return TT_OK;

undo:
	unlinkat(ring->dirfd, TTI_RING_NEXT_NAME, 0);
	return rc;
}

/* A file that was not published holds nothing; its entry goes first. */
static void undo_file(struct tt_ring_writer *writer, uint64_t name)
{
	char file_name[TTI_RING_NAME_BYTES];
	uint64_t idx = tti_ring_find_entry(&writer->ring, name);

	if (idx != TTI_NO_ENTRY)
		tti_entry_release(tti_ring_entry(&writer->ring, idx));
	tti_ring_format_name(file_name, name, false);
	unlinkat(writer->ring.dirfd, file_name, 0);
}

int tti_writer_adopt(struct tt_ring_writer *writer, uint64_t name, uint64_t base,
		     struct tt_error *err)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	uint64_t idx = TTI_NO_ENTRY;
	int rc = tti_ring_open_file(&writer->ring, name, false, true, false, &live, err);

	if (rc == TT_OK)
		rc = tti_ring_make_entry(&writer->ring, name, base, &idx, err);
	if (rc < 0) {
		tti_live_close(&live);
		return rc;
	}
	tti_live_close(&writer->live);
	writer->live = live;
	writer->name = name;
	writer->entry_idx = idx;
	writer->reserved = 0;
	writer->roll_due_ns =
		live.end == 0 ? INT64_MAX
			      : tti_writer_roll_due(
					writer,
					tti_field_load(
						&tti_writer_entry(writer)->first_row_ns));
	return TT_OK;
}

/* Names only grow, whatever the clock does. */
static int next_name(struct tt_ring_writer *writer, uint64_t *out, struct tt_error *err)
{
	uint64_t newest = tti_max_u64(writer->name, tti_ring_newest(&writer->ring));
	int64_t now = writer->clock_ns();

	if (newest == UINT64_MAX)
		return tti_fail(err, TT_E_RANGE,
				"%s: no name is left after file %" PRIu64 ".npy",
				writer->ring.path, newest);
	*out = tti_max_u64(now > 0 ? (uint64_t)now : 1, newest + 1);
	return TT_OK;
}

/* The finished file: its rows are counted and on disk before a newer one is named. */
static int finish(struct tt_ring_writer *writer, struct tt_error *err)
{
	int rc = writer->sync_ms == TT_SYNC_NONE ? TT_OK : tti_writer_sync(writer, err);

	if (rc < 0)
		return rc;
	tti_field_store(&tti_writer_entry(writer)->rows, writer->live.end);
	TTI_FAILPOINT("ring.roll.sealed");
	if (writer->sync_ms != TT_SYNC_NONE && fdatasync(writer->ring.set_fd) < 0)
		return tti_fail_sys(err, -errno, writer->ring.path,
				    "fdatasync of " TTI_SETTINGS_NAME);
	return TT_OK;
}

static int publish(struct tt_ring_writer *writer, uint64_t name, struct tt_error *err)
{
	int rc = finish(writer, err);

	if (rc == TT_OK)
		rc = tti_ring_publish_name(&writer->ring, name, err);
	if (rc < 0)
		tti_field_store(&tti_writer_entry(writer)->rows, TTI_ROWS_UNKNOWN);
	return rc;
}

/* Room for the next file is made before it is needed.  Rows go on when it cannot be: whoever
 * watches is told once. */
void tti_writer_keep_under_limit(struct tt_ring_writer *writer)
{
	const struct tti_live *live = &writer->live;
	struct tt_error why;
	uint64_t next = live->data_off + live->tail_words * 8u +
			writer->ring.settings.capacity * live->row_bytes;
	int rc = tti_ring_keep_under_limit(&writer->ring, writer->lock.fd,
					   tti_round_up(next, 4096), &why);

	if (rc < 0 && !writer->over_limit)
		tti_count_error(tti_ring_counters(&writer->ring), rc,
				rc == TT_E_FULL ? "OVER_LIMIT" : NULL, why.text);
	writer->over_limit = rc < 0;
}

/* What came after is visible already; that it is not on disk is said by the next sync. */
static int sync_manifest(struct tt_ring_writer *writer, struct tt_error *err)
{
	if (writer->sync_ms == TT_SYNC_NONE || fdatasync(writer->ring.lock_fd) == 0)
		return TT_OK;
	return tti_fail_sys(err, -errno, writer->ring.path,
			    "fdatasync of " TTI_MANIFEST_NAME);
}

static void switch_to(struct tt_ring_writer *writer, const struct tti_live *next,
		      uint64_t name, uint64_t idx)
{
	tti_live_close(&writer->live);
	writer->live = *next;
	writer->name = name;
	writer->entry_idx = idx;
	writer->reserved = 0;
	writer->roll_due_ns = INT64_MAX;
	tti_writer_wake(writer, true);
	TTI_FAILPOINT("ring.roll.woken");
}

/* The number of the next file's first row in the whole ring. */
static uint64_t next_base(const struct tt_ring_writer *writer)
{
	uint64_t base = tti_field_load(&tti_writer_entry(writer)->base);

	return base == TTI_ROWS_UNKNOWN ? base : base + writer->live.end;
}

int tti_writer_roll(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct tti_ring *ring = &writer->ring;
	struct tti_live next = TTI_LIVE_EMPTY;
	uint64_t name = 0, idx = TTI_NO_ENTRY;
	int rc;

	tti_ring_refresh(
		ring); /* npyt readers with a longer queue enlarge the manifest */
	rc = next_name(writer, &name, err);
	if (rc == TT_OK)
		rc = tti_writer_make_file(writer, &writer->live.npy,
					  ring->settings.capacity, name, err);
	if (rc < 0)
		return rc;
	rc = tti_ring_open_file(ring, name, false, true, false, &next, err);
	if (rc == TT_OK)
		rc = tti_ring_make_entry(ring, name, next_base(writer), &idx, err);
	TTI_FAILPOINT("ring.roll.entered");
	if (rc == TT_OK)
		rc = publish(writer, name, err);
	if (rc < 0)
		goto undo;
	switch_to(writer, &next, name, idx);
	rc = sync_manifest(writer, err);
	tti_writer_keep_under_limit(writer);
	return rc;

undo: /* the new file is named nowhere yet */
	tti_live_close(&next);
	undo_file(writer, name);
	return rc;
}
