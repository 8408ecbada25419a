/* SPDX-License-Identifier: Apache-2.0 */
/* A look at a ring for those who watch it.  Invariant: read permission suffices, nothing is
 * waited for, and a missing or damaged settings file costs figures, not the look. */
#include "live/ring_odd.h"
#include "live/ring_status.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include "base/clock.h"
#include "base/num.h"
#include "live/ring_counters.h"
#include "live/shared_text.h"

_Static_assert(sizeof(((struct tt_status_damage *)NULL)->text) ==
		       4 * sizeof(((struct tt_error *)NULL)->text),
	       "any error's text fits, escaped");

#define NOTHING_KNOWN \
	{ \
		.opened_ns = TT_UNKNOWN_NS, .last_write_ns = TT_UNKNOWN_NS, \
		.rows_total = TT_UNKNOWN, .row_bytes = TT_UNKNOWN, \
		.newest_rows = TT_UNKNOWN, .newest_capacity = TT_UNKNOWN, \
		.keep = TT_UNKNOWN, .max_bytes = TT_UNKNOWN, .fs_bytes = TT_UNKNOWN, \
		.fs_free = TT_UNKNOWN, .bytes_per_day = NAN, .days_left = NAN, \
		.sync_ms = TT_UNKNOWN_NS, .last_sync_ns = TT_UNKNOWN_NS, \
		.unsynced_rows = TT_UNKNOWN, .unsynced_ns = TT_UNKNOWN_NS, \
		.count_rows = TT_UNKNOWN, .count_bytes = TT_UNKNOWN, \
		.count_appends = TT_UNKNOWN, .rolls = TT_UNKNOWN, .wakes = TT_UNKNOWN, \
		.syncs = TT_UNKNOWN, .sync_failures = TT_UNKNOWN, \
		.prepared = TT_UNKNOWN, .clock_steps = TT_UNKNOWN, \
		.repairs = TT_UNKNOWN, .errors = TT_UNKNOWN, \
		.rows_since_error = TT_UNKNOWN, .clock_step_ns = TT_UNKNOWN_NS, \
		.error_ns = TT_UNKNOWN_NS \
	}

static int64_t or_unknown(int64_t ns)
{
	return ns ? ns : TT_UNKNOWN_NS; /* 0: never stored */
}

static void note_writer(const struct tti_ring *ring, struct tt_ring_status *out)
{
	int64_t pid = tti_ring_writer_pid(ring);

	if (!ring->set.addr)
		out->writer = TT_WRITER_UNKNOWN;
	else
		out->writer = pid == 0 ? TT_WRITER_NONE : TT_WRITER_ALIVE;
	out->writer_pid = pid > 0 && ring->set.addr ? pid : 0;
	/* npyt's lock cannot be seen */
	if (out->foreign && out->writer == TT_WRITER_NONE)
		out->writer = TT_WRITER_UNKNOWN;
}

static void note_space(const struct tti_ring *ring, struct tt_ring_status *out)
{
	struct statvfs fs;

	if (fstatvfs(ring->dirfd, &fs) < 0)
		return;
	out->fs_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	out->fs_free = (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* ---- histograms ---- */

/* The upper bound of the bucket that holds the rank-th smallest, rank from 1. */
static int64_t bound_at(const struct tt_status_hist *hist, uint64_t rank)
{
	uint64_t sum = 0;
	unsigned at = 0;

	while (at < TTI_HIST_BUCKETS - 1 &&
	       !__builtin_add_overflow(sum, hist->bucket[at], &sum) && sum < rank)
		at++;
	return at >= 62 ? INT64_MAX : (INT64_C(2) << at) - 1;
}

/* The rank of a quantile, rounded up; per is in thousandths. */
static uint64_t rank_of(uint64_t count, uint64_t per)
{
	return count / 1000 * per + (count % 1000 * per + 999) / 1000;
}

static void note_hist(struct tt_status_hist *out, const uint64_t *buckets)
{
	memcpy(out->bucket, buckets, sizeof(out->bucket));
	for (unsigned i = 0; i < TTI_HIST_BUCKETS; i++)
		if (__builtin_add_overflow(out->count, buckets[i], &out->count))
			out->count = UINT64_MAX - 1;
	out->p50_ns = out->p99_ns = out->p999_ns = out->max_ns = TT_UNKNOWN_NS;
	if (out->count == 0)
		return;
	out->p50_ns = bound_at(out, rank_of(out->count, 500));
	out->p99_ns = bound_at(out, rank_of(out->count, 990));
	out->p999_ns = bound_at(out, rank_of(out->count, 999));
	out->max_ns = bound_at(out, out->count);
}

/* ---- counters ---- */

static void note_error(const struct tti_counters_seen *seen, struct tt_ring_status *out)
{
	out->errors = seen->errors;
	if (seen->errors == 0 || seen->error_ns == 0)
		return;
	out->error_code = seen->error_code < INT32_MIN || seen->error_code > INT32_MAX
				  ? 0
				  : (int)seen->error_code;
	out->error_ns = seen->error_ns;
	out->rows_since_error = seen->rows - tti_min_u64(seen->rows, seen->error_rows);
	tti_show_text(out->error_tag, seen->error_tag);
	tti_show_text(out->error_text, seen->error_text);
}

static void note_counters(const struct tti_counters_seen *seen,
			  struct tt_ring_status *out)
{
	out->opened_ns = or_unknown(seen->opened_ns);
	out->count_rows = seen->rows;
	out->count_bytes = seen->bytes;
	out->count_appends = seen->appends;
	out->rolls = seen->rolls;
	out->wakes = seen->wakes;
	out->syncs = seen->syncs;
	out->sync_failures = seen->sync_failures;
	out->prepared = seen->prepared;
	out->clock_steps = seen->clock_steps;
	out->repairs = seen->repairs;
	if (seen->clock_steps > 0)
		out->clock_step_ns = seen->clock_step_ns;
	note_hist(&out->append, seen->hist[TTI_HIST_APPEND]);
	note_hist(&out->roll, seen->hist[TTI_HIST_ROLL]);
	note_hist(&out->sync, seen->hist[TTI_HIST_SYNC]);
	note_hist(&out->wake, seen->hist[TTI_HIST_WAKE]);
	note_error(seen, out);
}

/* The stamp in the tail of the newest file with rows tells when its last row came, in rings
 * of npyt's too.  It may run ahead of a clock that was set back. */
static void note_last_write(const struct tti_look *look, int64_t counted_ns,
			    struct tt_ring_status *out)
{
	const struct tti_look_file *file = NULL;
	struct tti_live live = TTI_LIVE_EMPTY;
	uint64_t stamp;

	out->last_write_ns = out->foreign ? TT_UNKNOWN_NS : or_unknown(counted_ns);
	for (size_t i = look->file_count; i > 0 && !file; i--)
		if (look->files[i - 1].rows > 0)
			file = &look->files[i - 1];
	if (!file ||
	    tti_ring_open_file(&look->ring, file->name, file->merged, &live, NULL) < 0)
		return;
	if (live.tail_words == 5 &&
	    tti_pread_all(live.fd, &stamp, sizeof(stamp),
			  live.tail_off + 2 * sizeof(stamp)) == TT_OK &&
	    stamp <= (uint64_t)out->now_ns && (int64_t)stamp > out->last_write_ns)
		out->last_write_ns = (int64_t)stamp;
	tti_live_close(&live);
}

static void note_sync(const struct tti_look *look, const struct tti_counters_seen *seen,
		      struct tt_ring_status *out)
{
	out->last_sync_ns = or_unknown(seen->last_sync_ns);
	if (out->foreign)
		return;
	if (seen->synced_file != 0)
		out->unsynced_rows = tti_look_rows_behind(
			look, out,
			(struct tt_pos){ seen->synced_file, seen->synced_end });
	if (out->unsynced_rows == 0)
		out->unsynced_ns = 0;
	else
		out->unsynced_ns = tti_look_age(out->now_ns, out->last_sync_ns);
}

/* ---- damage ---- */

static const char *behind(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) == 0 ? text + len : text;
}

int tti_look_damage(const struct tti_look *look, struct tt_ring_status *out,
		    const char *file_name, const char *why)
{
	struct tt_status_damage *more =
		reallocarray(out->damage, out->damage_count + 1, sizeof(*out->damage));

	if (!more)
		return -ENOMEM;
	out->damage = more;
	more += out->damage_count++;
	why = behind(why, look->ring.path);
	why = behind(why, "/");
	why = behind(why, file_name);
	tti_show_text(more->text, behind(why, ": "));
	snprintf(more->file_name, sizeof(more->file_name), "%s", file_name);
	return TT_OK;
}

static int note_odd(const struct tti_look *look, struct tt_ring_status *out,
		    const char *name)
{
	struct tt_error why;

	return tti_ring_refuse_odd(&look->ring, name, &why) < 0
		       ? tti_look_damage(look, out, name, why.text)
		       : TT_OK;
}

/* Without a manifest that can be used the files tell, as for every reader. */
static int note_lost_words(const struct tti_look *look, struct tt_ring_status *out,
			   struct tt_error *err)
{
	const struct tti_ring *ring = &look->ring;
	struct tt_error why;
	int rc = TT_OK;

	if (!ring->lock.addr && (tti_ring_is_damage(ring->lock_rc) ||
				 tti_ring_odd_kind(ring, TTI_MANIFEST_NAME))) {
		tti_ring_fail_manifest(ring, &why);
		rc = tti_look_damage(look, out, TTI_MANIFEST_NAME, why.text);
	}
	if (rc == TT_OK)
		rc = note_odd(look, out, TTI_SETTINGS_NAME);
	if (rc == TT_OK)
		rc = note_odd(look, out, TTI_RING_WRITER_NAME);
	if (rc == TT_OK && !ring->set.addr && tti_ring_is_damage(ring->set_rc) &&
	    ring->set_rc != TT_E_UNSUPPORTED &&
	    !tti_ring_odd_kind(ring, TTI_SETTINGS_NAME))
		rc = tti_look_damage(
			look, out, TTI_SETTINGS_NAME,
			"the settings file is damaged; the next writer makes "
			"it again");
	return rc < 0 ? tti_fail_sys(err, rc, ring->path, NULL) : TT_OK;
}

/* ---- all of it ---- */

static int look_at(struct tti_look *look, struct tt_ring_status *out,
		   struct tt_error *err)
{
	struct tti_ring *ring = &look->ring;
	struct tti_counters_seen seen;
	int rc;

	out->foreign = tti_ring_is_foreign(ring);
	out->settings_rc = ring->set.addr				? TT_OK
			   : tti_ring_odd_kind(ring, TTI_SETTINGS_NAME) ? TT_E_DAMAGED
									: ring->set_rc;
	note_writer(ring, out);
	note_space(ring, out);
	if (ring->lock.addr)
		out->keep = ring->slots;
	if (ring->set.addr) {
		out->keep = ring->lock.addr ? ring->slots : ring->settings.keep;
		out->max_bytes = ring->settings.max_bytes;
		out->sync_ms = ring->settings.sync_ms;
	}
	rc = note_lost_words(look, out, err);
	if (rc < 0)
		return rc;
	/* counters first: rows seen later can only be more */
	tti_counters_read(ring, &seen);
	rc = tti_look_files(look, out, err);
	if (rc < 0)
		return rc;
	if (ring->set.addr) {
		note_counters(&seen, out);
		note_sync(look, &seen, out);
	}
	note_last_write(look, seen.last_write_ns, out);
	return tti_look_readers(look, out, err);
}

int tt_ring_status(const char *dir, struct tt_ring_status *out, struct tt_error *err)
{
	struct tti_look look = { .ring = TTI_RING_EMPTY };
	int rc;

	*out = (struct tt_ring_status)NOTHING_KNOWN;
	out->now_ns = tti_clock_realtime_ns();
	rc = tti_ring_open(&look.ring, dir, false, err);
	if (rc < 0)
		return rc;
	rc = look_at(&look, out, err);
	tti_look_close(&look);
	if (rc < 0)
		tt_ring_status_free(out);
	return rc;
}

void tt_ring_status_free(struct tt_ring_status *status)
{
	if (!status)
		return;
	free(status->readers);
	free(status->damage);
	status->damage = NULL;
	status->damage_count = 0;
	status->readers = NULL;
	status->reader_count = 0;
}
