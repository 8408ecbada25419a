/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a ring for writing: what the caller wants of it, the lock, the marks, telling others.
 * Invariant: nothing is changed before the lock is held, and nobody is told of a writer before
 * the ring is settled (ring_settle.c). */
#include "live/ring_odd.h"
#include "live/ring_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/opts.h"

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
				   (struct tt_pos){ file->name, file->live.end }, err);
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
	rc = tti_writer_settle(writer, err);
	if (rc == TT_OK &&
	    ring->slots < ring->settings.keep) /* a keep raised by one who died then */
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
	atomic_store_explicit(&writer->synced_ns, tti_clock_monotonic_ns(),
			      memory_order_relaxed);
	writer->upkeep = (struct tti_ring){ .dirfd = ring->dirfd,
					    .lock_fd = ring->lock_fd,
					    .set_fd = ring->set_fd,
					    .path = ring->path,
					    .writable = true };
	tti_ring_refresh(&writer->upkeep);
	if (!writer->upkeep.set.addr || !writer->upkeep.lock.addr)
		return tti_fail_sys(err, -ENOMEM, ring->path,
				    "map its settings and manifest");
	writer->counted_at_open = tti_counted_rows(counters);
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

/* A feed says what stands there and what to do; only who recovers puts it aside. */
static int judge_odd(struct tt_ring_writer *writer, struct tt_error *err)
{
	static const char *const names[] = { TTI_SETTINGS_NAME, TTI_MANIFEST_NAME };
	int rc = TT_OK;

	for (size_t i = 0; rc == TT_OK && i < 2; i++)
		rc = writer->recovers ? tti_ring_put_odd_aside(&writer->ring, names[i],
							       &writer->repair, err)
				      : tti_ring_refuse_odd(&writer->ring, names[i], err);
	return rc;
}

static int open_writer(struct tt_ring_writer *writer, const char *dir,
		       const struct tt_ring_writer_opts *opts, struct tt_error *err)
{
	int rc = tti_ring_open(&writer->ring, dir, true, err);

	if (rc == TT_OK)
		rc = take_options(writer, opts, err);
	if (rc == TT_OK && writer->recovers)
		rc = tti_ring_put_odd_writer_aside(&writer->ring, &writer->repair, err);
	if (rc == TT_OK)
		rc = tti_ring_lock(&writer->lock, &writer->ring, TTI_LOCK_WRITER, err);
	/* behind the lock: beside a writer that forced it, busy is what counts */
	if (rc == TT_OK)
		rc = tti_refuse_network_fs(writer->ring.dirfd, writer->ring.path,
					   writer->force_network_fs, err);
	/* what stood there before the lock was ours may have been changed meanwhile */
	if (rc == TT_OK)
		rc = judge_odd(writer, err);
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
	writer->like_rules = hints && hints->like_rules;
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
