/* SPDX-License-Identifier: Apache-2.0 */
/* What a ring's writer brings to disk: the newest file now and then, a finished one with all
 * that names it, the next one before it is needed.  By the helper, or by the owner when there
 * is none or it is late.  Invariant: at most the newest and one finished file are not on disk,
 * and no failed fdatasync is ever followed by one that counts. */
#include "live/ring_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/num.h"

/* ---- errors of the helper ---- */

void tti_upkeep_keep(struct tt_ring_writer *writer, const struct tt_error *err)
{
	tti_ring_count_error(&writer->ring, tti_writer_rows(writer), err->code, err);
	if (writer->kept.code == TT_OK)
		writer->kept = *err;
}

int tti_upkeep_count(struct tt_ring_writer *writer, int rc, const struct tt_error *err)
{
	if (rc < 0)
		tti_ring_count_error(&writer->ring, tti_writer_rows(writer), rc, err);
	return rc;
}

int tti_upkeep_tell(struct tt_ring_writer *writer, struct tt_error *err)
{
	int code = writer->kept.code;

	if (code < 0 && err)
		*err = writer->kept;
	writer->kept.code = TT_OK;
	return code;
}

/* ---- one file ---- */

static int lost(const struct tti_wfile *file, struct tt_error *err)
{
	if (!file->lost)
		return tti_fail(
			err, -EIO,
			"%s: an earlier fsync of the ring's directory, settings or "
			"manifest failed: this file may not be found after a power "
			"loss; close the writer and open it again",
			file->live.path);
	return tti_fail(err, -EIO,
			"%s: an earlier fdatasync failed: rows from %" PRIu64
			" on may not be on disk",
			file->live.path, file->synced);
}

static void note_synced(struct tt_ring_writer *writer, struct tti_wfile *file,
			uint64_t end)
{
	file->synced = end;
	atomic_store_explicit(&writer->synced_name, file->name, memory_order_relaxed);
	atomic_store_explicit(&writer->synced_end, end, memory_order_relaxed);
	tti_count_synced(tti_writer_counters(writer), file->name, end);
}

/* A mark says that all files before are on disk too: after a loss there are no more. */
static int mark(struct tt_ring_writer *writer, const struct tti_wfile *file, uint64_t end,
		struct tt_error *err)
{
	return writer->unmarked
		       ? TT_OK
		       : tti_ring_mark(&writer->ring, &writer->marker, &file->live,
				       (struct tt_pos){ file->name, end }, err);
}

/* A failure is for good: the kernel drops what it could not write and the next call would
 * succeed. */
int tti_upkeep_sync(struct tt_ring_writer *writer, struct tti_wfile *file,
		    struct tt_error *err)
{
	struct tti_counters *counters = tti_writer_counters(writer);
	int64_t before = tti_clock_monotonic_ns(), after;
	uint64_t end = tti_wfile_end(file); /* rows below it are in the pages now */
	int rc;

	atomic_store_explicit(&writer->synced_ns, before, memory_order_relaxed);
	if (file->lost)
		return lost(file, err);
	TTI_FAILPOINT("ring.sync.before");
	if (fdatasync(file->live.fd) < 0) {
		file->lost = writer->unmarked = true;
		tti_count_sync_failed(counters);
		return tti_fail_sys(err, -errno, file->live.path, "fdatasync");
	}
	TTI_FAILPOINT("ring.sync.done");
	if (writer->marker.lost) /* the rows are there, for who finds them */
		return lost(file, err);
	rc = mark(writer, file, end, err);
	if (rc < 0) {
		tti_count_sync_failed(counters);
		return rc;
	}
	after = tti_clock_monotonic_ns();
	tti_count_took(counters, TTI_HIST_SYNC, after - before);
	tti_count_sync(counters, tti_clock_coarse_ns());
	note_synced(writer, file, end);
	file->populated = 0; /* its pages are write-protected again */
	return TT_OK;
}

/* ---- finished files ---- */

static struct tti_wfile *take_finished(struct tt_ring_writer *writer)
{
	struct tti_wfile *file =
		atomic_exchange_explicit(&writer->finished, NULL, memory_order_acquire);
	struct tti_wfile *oldest = NULL;

	while (file) { /* the list is newest first */
		struct tti_wfile *older = file->older;

		file->older = oldest;
		oldest = file;
		file = older;
	}
	return oldest;
}

static int sync_fd(const struct tt_ring_writer *writer, int fd, const char *what,
		   struct tt_error *err)
{
	return fdatasync(fd) < 0 ? tti_fail_sys(err, -errno, writer->ring.path, what)
				 : TT_OK;
}

/* The names after the rows: what a manifest on disk names is there. */
static int sync_names(struct tt_ring_writer *writer, struct tt_error *err)
{
	int rc = tti_fsync_dir(writer->ring.dirfd);

	if (rc < 0)
		return tti_fail_sys(err, rc, writer->ring.path, "fsync");
	TTI_FAILPOINT("ring.finish.directory");
	rc = sync_fd(writer, writer->ring.set_fd, "fdatasync of " TTI_SETTINGS_NAME, err);
	TTI_FAILPOINT("ring.finish.settings");
	if (rc == TT_OK)
		rc = sync_fd(writer, writer->ring.lock_fd,
			     "fdatasync of " TTI_MANIFEST_NAME, err);
	TTI_FAILPOINT("ring.finish.manifest");
	return rc;
}

int tti_upkeep_finish(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct tti_wfile *file = take_finished(writer), *next;
	bool syncs = writer->sync_ms != TT_SYNC_NONE, told = writer->marker.lost;
	int rc = TT_OK, first = TT_OK;

	if (!file)
		return TT_OK;
	for (next = file; syncs && next; next = next->older) {
		if (next->lost || next->synced == tti_wfile_end(next))
			continue;
		rc = tti_upkeep_sync(writer, next, first == TT_OK ? err : NULL);
		if (first == TT_OK && !told) /* else a roll would say it each time */
			first = rc;
	}
	TTI_FAILPOINT("ring.finish.synced");
	if (syncs && !writer->marker.lost) {
		rc = sync_names(writer, first == TT_OK ? err : NULL);
		writer->marker.lost = rc < 0;
		if (rc < 0)
			tti_count_sync_failed(tti_writer_counters(writer));
		if (first == TT_OK)
			first = rc;
	}
	tti_crew_pass(); /* the pulse may still look at them */
	for (; file; file = next) {
		next = file->older;
		writer->finished_name = file->name;
		tti_wfile_free(file);
	}
	TTI_FAILPOINT("ring.finish.closed");
	tti_upkeep_limit(writer);
	return first;
}

/* ---- the next file ---- */

int tti_upkeep_prepare(struct tt_ring_writer *writer, struct tti_wfile **out,
		       struct tt_error *err)
{
	const struct tti_wfile_make make = {
		.rows = &tti_writer_file_seen(writer)->live.npy,
		.capacity = writer->upkeep.settings.capacity,
		.sync = writer->sync_ms != TT_SYNC_NONE,
	};
	int rc = tti_wfile_prepare(out, &writer->upkeep, &make, err);

	if (rc == TT_OK)
		tti_live_choose_copy(&(*out)->live, writer->clean);
	return rc;
}

/* ---- the limit ---- */

#define LIMIT_RETRY_NS INT64_C(100000000)

/* Room for the next file is made before it is needed.  Rows go on when it cannot be: whoever
 * watches is told once. */
void tti_upkeep_limit(struct tt_ring_writer *writer)
{
	struct tti_ring *ring = &writer->upkeep;
	const struct tti_live *live = &tti_writer_file_seen(writer)->live;
	struct tt_error why;
	uint64_t next = live->data_off + live->tail_words * 8u +
			ring->settings.capacity * live->row_bytes;
	int rc;

	if (ring->settings.max_bytes == 0)
		return;
	tti_ring_refresh(ring);
	/* one that is made lies there already, whatever its name */
	next = tti_next_is_free(writer) ? tti_round_up(next, 4096) : 0;
	rc = tti_ring_keep_under_limit(ring, writer->lock.fd, next, &why);
	if (rc < 0 && !writer->over_limit)
		tti_count_error(tti_writer_counters(writer), tti_writer_rows(writer), rc,
				rc == TT_E_FULL ? "OVER_LIMIT" : NULL, why.text);
	writer->over_limit = rc < 0;
	atomic_store_explicit(&writer->limit_ns,
			      rc == 1 ? tti_clock_monotonic_ns() + LIMIT_RETRY_NS : 0,
			      memory_order_relaxed);
}

/* ---- all of it ---- */

int tti_writer_sync(struct tt_ring_writer *writer, struct tt_error *err)
{
	int rc, kept;

	tti_upkeep_lock(writer);
	rc = tti_upkeep_finish(writer, err);
	if (rc == TT_OK)
		rc = tti_upkeep_sync(writer, tti_writer_file_seen(writer), err);
	tti_upkeep_count(writer, rc, err);
	kept = tti_upkeep_tell(writer, rc == TT_OK ? err : NULL);
	tti_upkeep_unlock(writer);
	writer->last_sync_ns = writer->coarse_ns();
	return rc < 0 ? rc : kept;
}
