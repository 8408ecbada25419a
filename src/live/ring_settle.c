/* SPDX-License-Identifier: Apache-2.0 */
/* From a ring in whatever state to one whose newest file is open: finishing what a dead writer
 * left half done, mending what was damaged, taking over a ring of npyt.  Invariant: a file that
 * holds rows is never removed here, and no name is ever given to other rows. */
#include "live/ring_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>
#include "base/failpoint.h"
#include "base/num.h"
#include "live/ring_cut.h"

static int rows_of(const struct tti_ring *ring, uint64_t name, uint64_t *out,
		   struct tt_error *err)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	int rc = tti_ring_open_raw(ring, name, &live, err);

	*out = live.end;
	tti_live_close(&live);
	return rc;
}

/* A file newer than the manifest's newest was being made when its writer died: empty.  One
 * with rows says that the manifest is behind (power loss): it is entered, not removed. */
static int settle_orphan(struct tt_ring_writer *writer, uint64_t name,
			 struct tt_error *err)
{
	struct tti_ring *ring = &writer->ring;
	char file_name[TTI_RING_NAME_BYTES], aside[64];
	uint64_t rows = 0, idx;
	struct tt_error why;
	int rc;

	/* of before a power loss: its rows count no more, but a file that lies between two names
	 * and is not named would look like damage */
	if (tti_ring_cut_at(ring, name) != UINT64_MAX)
		return tti_ring_publish_name(ring, name, err);
	rc = rows_of(ring, name, &rows, &why);
	tti_ring_format_name(file_name, name, false);
	if (rc < 0 && !tti_ring_is_damage(rc)) /* it may be whole */
		return rc == -ENOENT ? TT_OK : tti_fail(err, rc, "%s", why.text);
	if (rc == TT_OK && rows > 0) {
		tti_repair_add(&writer->repair, "%s held rows and was entered again",
			       file_name);
		return tti_ring_publish_name(ring, name, err);
	}
	idx = tti_ring_find_entry(ring, name);
	if (idx != TTI_NO_ENTRY)
		tti_entry_release(tti_ring_entry(ring, idx));
	TTI_FAILPOINT("ring.open.orphan");
	if (rc < 0) {
		rc = tti_ring_move_aside(ring, file_name, aside, err);
		if (rc < 0)
			return rc;
		tti_repair_add(&writer->repair, "%s was unreadable, now %s", file_name,
			       aside);
	} else {
		if (unlinkat(ring->dirfd, file_name, 0) < 0 && errno != ENOENT)
			return tti_fail_sys(err, -errno, ring->path, file_name);
		tti_repair_add(&writer->repair,
			       "%s, empty and not published, was removed", file_name);
	}
	return TT_OK;
}

static int settle_orphans(struct tt_ring_writer *writer, struct tt_error *err)
{
	tti_auto_items items = { 0 };
	int rc = tti_ring_list(&writer->ring, &items, err);

	for (size_t i = 0; rc == TT_OK && i < items.count; i++)
		if (!items.at[i].published && !items.at[i].merged && items.newest != 0)
			rc = settle_orphan(writer, items.at[i].name, err);
	return rc;
}

/* Entries that were claimed or filled for files that never came.  Only while no maintainer
 * makes one. */
static void settle_entries(struct tt_ring_writer *writer)
{
	struct tti_ring *ring = &writer->ring;
	uint64_t newest = tti_ring_newest(ring);

	if (tti_lock_try(writer->lock.fd, TTI_LOCK_MAINTAINER) < 0)
		return;
	unlinkat(ring->dirfd, TTI_RING_MERGE_NAME, 0);
	for (uint64_t i = 0; i < tti_ring_entry_count(ring); i++) {
		struct tti_entry *entry = tti_ring_entry(ring, i);
		uint64_t name = tti_entry_name(entry);

		if (name == 0 || name > newest)
			tti_entry_release(entry);
	}
	tti_lock_drop(writer->lock.fd, TTI_LOCK_MAINTAINER);
}

/* What a row is: what most files say, else what the caller knew, unless that rules. */
static int find_rows(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct tti_ring_like found;
	int rc;

	if (writer->like_rules)
		return TT_OK;
	rc = tti_ring_find_like(&writer->ring, &found, err);
	if (rc == 1) {
		tti_ring_like_fini(&writer->like);
		writer->like = found;
	}
	return rc < 0 ? rc : TT_OK;
}

static int need_rows(const struct tt_ring_writer *writer, struct tt_error *err)
{
	if (writer->like.npy.dtype)
		return TT_OK;
	return tti_fail(
		err, TT_E_FORMAT,
		"%s: no file in it can be read, so its element type is not known: "
		"ticktail recover %s --dtype DESCR",
		writer->ring.path, writer->ring.path);
}

int tti_writer_know_rows(struct tt_ring_writer *writer, struct tt_error *err)
{
	int rc = find_rows(writer, err);

	return rc < 0 ? rc : need_rows(writer, err);
}

/* npyt names a file before it makes it; a writer that died between left the name alone, or a
 * file that is not whole and never had a row published. */
static int make_named(struct tt_ring_writer *writer, uint64_t name, bool broken,
		      struct tt_error *err)
{
	struct tti_ring *ring = &writer->ring;
	char file_name[TTI_RING_NAME_BYTES], aside[64] = "";
	const struct tti_ring_like *rows = &writer->like;
	int rc = need_rows(writer, err);

	tti_ring_format_name(file_name, name, false);
	if (rc == TT_OK && broken)
		rc = tti_ring_move_aside(ring, file_name, aside, err);
	TTI_FAILPOINT("ring.open.aside");
	if (rc == TT_OK && !ring->set.addr)
		ring->settings.tail_words =
			rows->tail_words; /* what its peers can read */
	if (rc == TT_OK)
		rc = tti_writer_make_file(writer, &rows->npy,
					  ring->set.addr ? ring->settings.capacity
							 : rows->capacity,
					  name, err);
	if (rc == TT_OK)
		tti_repair_add(&writer->repair,
			       "%s was named but not %s%s%s; it was made", file_name,
			       broken ? "whole" : "there", broken ? ", now " : "", aside);
	return rc;
}

/* A ring of ours whose settings file is damaged as well gets that first. */
static int mend_settings_first(struct tt_ring_writer *writer, struct tt_error *err)
{
	const struct tti_live rows = { .capacity = writer->like.capacity,
				       .tail_words = writer->like.tail_words };

	return writer->ring.set.addr ? TT_OK
				     : tti_ring_mend_settings(&writer->ring, &rows,
							      &writer->repair, err);
}

/* Damage in a file of ours: its name stays with it, so that no position ever means two rows;
 * the feed goes on in a new file. */
static int leave_damaged(struct tt_ring_writer *writer, uint64_t *name,
			 struct tt_error *err)
{
	struct tti_ring *ring = &writer->ring;
	uint64_t next = tti_max_u64((uint64_t)writer->clock_ns(), *name + 1);
	uint64_t idx;
	int rc = need_rows(writer, err);

	if (rc == TT_OK)
		rc = mend_settings_first(writer, err);
	if (rc == TT_OK)
		rc = tti_writer_make_file(writer, &writer->like.npy,
					  ring->settings.capacity, next, err);
	TTI_FAILPOINT("recover.left");
	if (rc == TT_OK)
		rc = tti_ring_make_entry(ring, next, TTI_ROWS_UNKNOWN, &idx, err);
	if (rc == TT_OK)
		rc = tti_ring_publish_name(ring, next, err);
	if (rc == TT_OK)
		tti_repair_add(&writer->repair,
			       "%" PRIu64 ".npy is damaged; rows go on in %" PRIu64
			       ".npy",
			       *name, next);
	*name = next;
	return rc;
}

/* npyt wrote the ring, and may have died between a name and its file. */
static bool is_npyts(const struct tt_ring_writer *writer)
{
	return tti_ring_is_foreign(&writer->ring) &&
	       (writer->ring.set.addr || writer->ring.set_rc == -ENOENT);
}

/* Before anything but the manifest was mended: only a queue that needed no mending shows that
 * no file of it is missing. */
static enum tti_numbers numbers_go_on(const struct tt_ring_writer *writer)
{
	if (!writer->ring.set.addr && writer->ring.set_rc == -ENOENT)
		return TTI_NUMBERS_NONE;
	return writer->queue_whole ? TTI_NUMBERS_QUEUE : TTI_NUMBERS_LOST;
}

static int settle_newest(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct tti_ring *ring = &writer->ring;
	uint64_t name = tti_ring_newest(ring);
	struct tti_live newest = TTI_LIVE_EMPTY;
	enum tti_numbers from = numbers_go_on(writer);
	struct tt_error why;
	int rc;

	if (name == 0)
		return tti_fail(
			err, TT_E_FORMAT,
			"%s: an empty manifest and no file, so its element type is not "
			"known: remove it and create the ring again",
			ring->path);
	rc = find_rows(writer, err);
	if (rc < 0)
		return rc;
	rc = tti_ring_open_file(ring, name, false, &newest, &why);
	if (rc == TT_OK && !tti_ring_same_rows(&newest.npy, &writer->like.npy))
		rc = TT_E_MISMATCH;
	if (rc == -ENOENT)
		rc = make_named(writer, name, false, err);
	else if (tti_ring_is_incomplete(rc) && is_npyts(writer))
		rc = make_named(writer, name, true, err);
	else if (tti_ring_is_damage(rc))
		rc = leave_damaged(writer, &name, err);
	else if (rc < 0)
		rc = tti_fail(err, rc, "%s", why.text);
	tti_live_close(&newest);
	if (rc < 0)
		return rc;
	rc = tti_ring_open_file(ring, name, false, &newest, err);
	if (rc == TT_OK)
		rc = tti_ring_mend_settings(ring, &newest, &writer->repair, err);
	tti_live_close(&newest);
	TTI_FAILPOINT("ring.open.settings");
	if (rc == TT_OK)
		rc = tti_writer_mend_tail(writer, name, err);
	if (rc < 0)
		return rc;
	return tti_writer_adopt(writer, name, tti_ring_number_file(ring, name, from),
				err);
}

/* The newest file is open again for rows, so what was noted at its seal does not hold. */
static void settle_entry(struct tt_ring_writer *writer)
{
	const struct tti_wfile *file = tti_writer_file(writer);
	struct tti_entry *entry = file->entry;
	const struct tti_ring_item item = { .name = file->name };

	tti_field_store(&entry->rows, TTI_ROWS_UNKNOWN);
	if (file->live.end > 0 && tti_field_load(&entry->first_row_ns) == INT64_MIN) {
		tti_field_store(&entry->first_row_ns,
				tti_ring_first_row_ns(&writer->ring, &item));
		atomic_store_explicit(
			&writer->roll_due_ns,
			tti_writer_roll_due(writer, tti_field_load(&entry->first_row_ns)),
			memory_order_relaxed);
	}
}

/* Up to the newest file, open. */
static int settle(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct tti_ring *ring = &writer->ring;
	int rc = TT_OK;

	writer->judged = ring->set.addr;
	if (writer->judged)
		rc = tti_writer_reboot_cut(writer, err);
	if (rc == TT_OK)
		rc = tti_ring_mend_manifest(ring, 2, false, &writer->repair, err);
	writer->queue_whole = rc == TT_OK && !writer->repair.text[0];
	TTI_FAILPOINT("ring.open.manifest");
	if (rc == TT_OK)
		rc = settle_orphans(writer, err);
	if (rc == TT_OK)
		rc = tti_writer_reboot_go_on(writer, err);
	return rc < 0 ? rc : settle_newest(writer, err);
}

int tti_writer_settle(struct tt_ring_writer *writer, struct tt_error *err)
{
	int rc = settle(writer, err);

	if (rc == TT_OK && !writer->judged) /* the marks were found with the settings */
		rc = settle(writer, err);
	if (rc < 0)
		return rc;
	settle_entries(writer);
	settle_entry(writer);
	return TT_OK;
}
