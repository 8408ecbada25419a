/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a ring for writing: taking the lock, finishing what a dead writer left half done,
 * taking over a ring of npyt.  Invariant: a file that holds rows is never removed here, and
 * nothing is changed before the lock is held. */
#include "live/ring_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/num.h"
#include "base/opts.h"
#include "live/ring_cut.h"

static int rows_of(const struct tti_ring *ring, uint64_t name, uint64_t *out,
		   struct tt_error *err)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	int rc = tti_ring_open_file(ring, name, false, false, true, &live, err);

	live.shown = UINT64_MAX;
	if (rc == TT_OK)
		*out = tti_live_end(&live);
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

/* What a row is: what most files say, else what the caller knew. */
static int find_rows(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct tti_ring_like found;
	int rc = tti_ring_find_like(&writer->ring, &found, err);

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
	rc = tti_ring_open_file(ring, name, false, false, true, &newest, &why);
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
	rc = tti_ring_open_file(ring, name, false, false, true, &newest, err);
	if (rc == TT_OK)
		rc = tti_ring_mend_settings(ring, &newest, &writer->repair, err);
	tti_live_close(&newest);
	TTI_FAILPOINT("ring.open.settings");
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

/* For everyone to see.  Failing to get the second lock changes nothing. */
static int announce(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct tti_words *words = tti_ring_words(&writer->ring);
	uint64_t request;
	int rc = tti_lock_try(writer->ring.set_fd, TTI_LOCK_WRITER);

	if (rc == TT_OK) {
		rc = tti_fork_guard_add(&writer->set_guard, &writer->ring.set_fd);
		if (rc < 0)
			return tti_fail_sys(err, rc, writer->ring.path,
					    "guard the lock against fork");
	}
	tti_pid_store(words, (uint32_t)getpid());
	request = tti_request_peek(words);
	atomic_store_explicit(&writer->served, request, memory_order_relaxed);
	tti_answer_store(words, request);
	return TT_OK;
}

/* From a ring in whatever state to one whose newest file is open. */
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

/* From now on a power loss loses nothing that the mark covers. */
static int begin_marks(struct tt_ring_writer *writer, struct tt_error *err)
{
	const struct tti_wfile *file = tti_writer_file(writer);
	int rc = tti_ring_marker_init(&writer->marker, &writer->ring, err);

	if (writer->sync_ms == INT64_MIN)
		writer->sync_ms = writer->ring.settings.sync_ms;
	/* a mark would end the doubt before anybody could choose to cut */
	writer->unmarked = writer->doubtful && writer->recovers;
	if (rc == TT_OK && writer->unmarked)
		return tti_writer_lower_ends(writer, err);
	if (rc == TT_OK && writer->sync_ms == TT_SYNC_NONE)
		rc = tti_ring_mark_none(&writer->ring, &writer->marker, err);
	else if (rc == TT_OK && fdatasync(file->live.fd) < 0)
		rc = tti_fail_sys(err, -errno, file->live.path, "fdatasync");
	else if (rc == TT_OK)
		rc = tti_ring_mark(&writer->ring, &writer->marker, &file->live,
				   file->name, file->live.end, err);
	TTI_FAILPOINT("ring.open.marked");
	return rc < 0 ? rc : tti_writer_lower_ends(writer, err);
}

static int open_locked(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct tti_ring *ring = &writer->ring;
	int rc;

	if (ring->set_rc == TT_E_UNSUPPORTED)
		return tti_fail(
			err, TT_E_UNSUPPORTED,
			"%s/%s: made by a newer release: this one can only read the "
			"ring",
			ring->path, TTI_SETTINGS_NAME);
	unlinkat(ring->dirfd, TTI_RING_NEXT_NAME, 0);
	rc = settle(writer, err);
	if (rc == TT_OK && !writer->judged) /* the marks were found with the settings */
		rc = settle(writer, err);
	if (rc < 0)
		return rc;
	settle_entries(writer);
	settle_entry(writer);
	if (ring->slots < ring->settings.keep) /* a keep raised by one who died then */
		rc = tti_ring_mend_manifest(ring, ring->settings.keep, false,
					    &writer->repair, err);
	TTI_FAILPOINT("ring.open.settled");
	if (rc == TT_OK)
		rc = begin_marks(writer, err);
	if (rc == TT_OK)
		rc = announce(writer, err);
	return rc;
}

static int take_options(struct tt_ring_writer *writer,
			const struct tt_ring_writer_opts *opts, struct tt_error *err)
{
	struct tt_ring_writer_opts mine = TT_RING_WRITER_OPTS_INIT;

	if (opts && !tti_take_opts(&mine, sizeof(mine), opts))
		return tti_fail(err, TT_E_MISUSE, "%s: options of an unknown size",
				writer->ring.path);
	opts = &mine;
	writer->clean = opts->clean_rows;
	writer->wake_us = opts->wake_us;
	writer->sync_ms = opts->sync_ms;
	writer->no_helper = opts->no_helper;
	writer->crew_opts.cpu = opts->helper_cpu;
	writer->crew_opts.nice = opts->helper_nice;
	if (opts->wake_us < TT_WAKE_NEVER || opts->wake_us > TTI_WAKE_US_MAX)
		return tti_fail(err, TT_E_RANGE,
				"%s: wake %" PRId64 " us: -1, or 0 to %d",
				writer->ring.path, opts->wake_us, TTI_WAKE_US_MAX);
	if (opts->sync_ms != INT64_MIN &&
	    (opts->sync_ms < -1 || opts->sync_ms > TTI_SYNC_MS_MAX))
		return tti_fail(err, TT_E_RANGE,
				"%s: sync %" PRId64 " ms: -1, or 0 to %d",
				writer->ring.path, opts->sync_ms, TTI_SYNC_MS_MAX);
	writer->force_network_fs = opts->force_network_fs;
	return TT_OK;
}

/* Without a helper nobody keeps a period: each publish wakes. */
static uint32_t wake_policy(const struct tt_ring_writer *writer)
{
	if (writer->wake_us == TT_WAKE_NEVER)
		return TTI_WAKE_NEVER;
	return writer->wake_us == TT_WAKE_EACH || !tti_crew_has(&writer->duty)
		       ? TTI_WAKE_EACH
		       : TTI_WAKE_PERIOD;
}

/* How readers sleep, and what upkeep works with. */
static int start(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct tti_ring *ring = &writer->ring;
	struct tti_counters *counters = tti_writer_counters(writer);
	const struct tti_live *live = &tti_writer_file(writer)->live;
	int rc = tti_writer_init_duty(writer);

	if (rc < 0)
		return tti_fail_sys(err, rc, ring->path, NULL);
	writer->dtype = tt_dtype_ref(live->npy.dtype);
	writer->row_bytes = live->row_bytes;
	writer->last_sync_ns = writer->coarse_ns();
	writer->upkeep = (struct tti_ring){ .dirfd = ring->dirfd,
					    .lock_fd = ring->lock_fd,
					    .set_fd = ring->set_fd,
					    .path = ring->path,
					    .writable = true };
	tti_ring_refresh(&writer->upkeep);
	if (!writer->upkeep.set.addr || !writer->upkeep.lock.addr)
		return tti_fail_sys(err, -ENOMEM, ring->path,
				    "map its settings and manifest");
	tti_count_open(counters, tti_clock_realtime_ns());
	if (writer->repair.text[0])
		tti_count_repair(counters);
	tti_upkeep_limit(writer);
	tti_writer_set_limit(writer);
	tti_writer_join(writer);
	tti_wake_policy_store(tti_ring_words(ring), wake_policy(writer));
	tti_writer_wake(writer, true);
	return TT_OK;
}

static int open_writer(struct tt_ring_writer *writer, const char *dir,
		       const struct tt_ring_writer_opts *opts, struct tt_error *err)
{
	int rc = tti_ring_open(&writer->ring, dir, true, err);

	if (rc == TT_OK)
		rc = take_options(writer, opts, err);
	if (rc == TT_OK)
		rc = tti_ring_lock(&writer->lock, &writer->ring, TTI_LOCK_WRITER, err);
	/* behind the lock: beside a writer that forced it, busy is what counts */
	if (rc == TT_OK)
		rc = tti_refuse_network_fs(writer->ring.dirfd, writer->ring.path,
					   writer->force_network_fs, err);
	/* what stood there before the lock was ours may have been changed meanwhile */
	if (rc == TT_OK) {
		tti_map_close(&writer->ring.set);
		tti_ring_refresh(&writer->ring);
		rc = open_locked(writer, err);
	}
	if (rc < 0)
		return rc;
	return start(writer, err);
}

/* Who seals a ring without a writer holds its lock for an instant, and so does one that is being
 * killed: a feed that starts just then must not be turned away. */
int tt_ring_writer_open(struct tt_ring_writer **out, const char *dir,
			const struct tt_ring_writer_opts *opts, struct tt_error *err)
{
	int64_t deadline = tti_deadline_ns(TTI_LEAVING_NS);
	int rc;

	while ((rc = tti_ring_writer_open_with(out, dir, opts, NULL, err)) == TT_E_BUSY &&
	       tti_clock_monotonic_ns() < deadline)
		usleep(1000);
	return rc;
}

int tti_ring_writer_open_with(struct tt_ring_writer **out, const char *dir,
			      const struct tt_ring_writer_opts *opts,
			      const struct tti_writer_hints *hints, struct tt_error *err)
{
	struct tt_ring_writer *writer = tti_calloc_lines(sizeof(*writer));
	int rc;

	*out = NULL;
	if (!writer)
		return tti_fail_sys(err, -ENOMEM, dir, NULL);
	writer->ring = (struct tti_ring)TTI_RING_EMPTY;
	writer->upkeep = (struct tti_ring)TTI_RING_EMPTY;
	atomic_store_explicit(&writer->roll_due_ns, INT64_MAX, memory_order_relaxed);
	writer->lock.fd = -1;
	writer->clock_ns = tti_clock_realtime_ns;
	writer->coarse_ns = tti_clock_coarse_ns;
	if (hints && hints->like) {
		writer->like = *hints->like;
		writer->like.npy.dtype = tt_dtype_ref(hints->like->npy.dtype);
	}
	writer->recovers = hints != NULL;
	writer->cut_unproven = hints && hints->cut_unproven;
	rc = open_writer(writer, dir, opts, err);
	tti_ring_like_fini(&writer->like);
	if (rc < 0) {
		tt_ring_writer_close(writer);
		return rc;
	}
	*out = writer;
	return TT_OK;
}

void tti_ring_writer_set_clock(struct tt_ring_writer *writer, int64_t (*clock_ns)(void))
{
	tti_crew_lock();
	writer->clock_ns = clock_ns;
	writer->coarse_ns = clock_ns;
	tti_crew_unlock();
}
