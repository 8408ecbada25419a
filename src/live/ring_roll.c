/* SPDX-License-Identifier: Apache-2.0 */
/* Rolling: the next file of a ring, from prepared to named in the manifest.  Invariant: a file
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
	if (always || writer->wake_us != TT_WAKE_NEVER) {
		tti_futex_wake(tti_wake_futex(words));
		tti_count_wakes(tti_writer_counters(writer), 1);
	}
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

static void set_roll_due(struct tt_ring_writer *writer, int64_t due)
{
	atomic_store_explicit(&writer->roll_due_ns, due, memory_order_relaxed);
}

/* ---- At open ---- */

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
	fd = tti_live_make(ring->dirfd, TTI_RING_NEXT_NAME, &make, path, err);
	if (fd < 0)
		return fd;
	TTI_FAILPOINT("ring.open.made");
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
	TTI_FAILPOINT("ring.open.renamed");
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

int tti_writer_adopt(struct tt_ring_writer *writer, uint64_t name, uint64_t base,
		     struct tt_error *err)
{
	struct tti_wfile *file = tti_wfile_new();
	uint64_t idx = TTI_NO_ENTRY;
	int rc;

	if (!file)
		return tti_fail_sys(err, -ENOMEM, writer->ring.path, NULL);
	rc = tti_ring_open_writable(&writer->ring, name, &file->live, err);
	if (rc == TT_OK)
		rc = tti_ring_make_entry(&writer->ring, name, base, &idx, err);
	if (rc == TT_OK)
		rc = tti_wfile_take_entry(file, &writer->ring, idx, err);
	if (rc < 0) {
		tti_wfile_free(file);
		return rc;
	}
	file->name = name;
	file->before = 0 - file->live.end; /* rows count from here */
	tti_live_choose_copy(&file->live, writer->clean);
	atomic_store_explicit(&file->slow_end, file->live.end, memory_order_relaxed);
	tti_wfile_free(tti_writer_file(writer)); /* settled twice: nobody has it yet */
	atomic_store_explicit(&writer->file, file, memory_order_release);
	set_roll_due(
		writer,
		file->live.end == 0
			? INT64_MAX
			: tti_writer_roll_due(
				  writer, tti_field_load(&file->entry->first_row_ns)));
	return TT_OK;
}

/* ---- A roll ---- */

/* A quick path past this many rows looks again whether anything was asked for: what a pulse
 * without a processor costs is bounded by rows. */
#define CHECK_ROWS 4096
#define CHECK_ROWS_ALONE 64 /* the same where no pulse is */

void tti_writer_set_limit(struct tt_ring_writer *writer)
{
	struct tti_live *live = &tti_writer_file(writer)->live;
	uint64_t rows = tti_writer_is_alone(writer) ? CHECK_ROWS_ALONE : CHECK_ROWS;

	/* the first row of a file has its hour noted; a tail without a mapping is written */
	live->limit = live->end == 0 || !live->tail
			      ? live->end
			      : tti_min_u64(live->capacity, live->end + rows);
}

struct roll {
	struct tt_ring_writer *writer;
	struct tti_wfile *from, *to;
	bool syncs; /* all is on disk before it is seen, and the work mutex is held */
};

/* Named for those who list the directory; not yet published.  As a rule it has been for a
 * while, and this is no system call. */
static int take_name(struct roll *roll, struct tt_error *err)
{
	const struct tti_ring *ring = &roll->writer->ring;
	int rc = tti_name_now(roll->writer, roll->to, err);

	if (rc < 0)
		return rc;
	TTI_FAILPOINT("ring.roll.renamed");
	rc = roll->syncs ? tti_fsync_dir(ring->dirfd) : TT_OK;
	return rc < 0 ? tti_fail_sys(err, rc, roll->to->live.path,
				     "fsync of its directory")
		      : TT_OK;
}

/* The finished file: its rows are counted (and on disk) before a newer one is named. */
static int seal(struct roll *roll, struct tt_error *err)
{
	struct tt_ring_writer *writer = roll->writer;
	bool told = roll->syncs && writer->marker.lost; /* then with the work mutex */
	int rc = TT_OK;

	/* what was lost was told; the feed may go on in a new file */
	if (roll->syncs && !roll->from->lost)
		rc = tti_upkeep_sync(writer, roll->from, err);
	if (rc < 0 && !told)
		return rc;
	tti_field_store(&roll->from->entry->rows, roll->from->live.end);
	TTI_FAILPOINT("ring.roll.sealed");
	return roll->syncs ? tti_ring_sync_settings(&writer->ring, err) : TT_OK;
}

/* Who sleeps sees the new file within the pulse's period, as it sees rows: that call is not
 * made here.  A pulse that sleeps itself, or will be woken by this append only when it is
 * over, is none. */
static void wake(struct tt_ring_writer *writer)
{
	bool pulses = tti_crew_has(&writer->duty) && writer->wake_us != TT_WAKE_EACH &&
		      !(tti_attention(&writer->duty) & TTI_ATTEND_ASLEEP);

	if (pulses)
		tti_wake_bump(tti_ring_words(&writer->ring));
	else
		tti_writer_wake(writer, true);
}

/* The finished file is upkeep's from here on. */
static void switch_files(struct roll *roll)
{
	struct tt_ring_writer *writer = roll->writer;
	struct tti_wfile *from = roll->from;

	roll->to->before = from->before + from->live.end;
	roll->to->follows = from->name;
	atomic_store_explicit(&writer->file, roll->to, memory_order_release);
	set_roll_due(writer, INT64_MAX);
	tti_writer_set_limit(writer);
	from->older = atomic_load_explicit(&writer->finished, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&writer->finished, &from->older,
						      from, memory_order_release,
						      memory_order_relaxed))
		;
	TTI_FAILPOINT("ring.roll.switched");
	wake(writer);
	TTI_FAILPOINT("ring.roll.woken");
}

static int publish(struct roll *roll, struct tt_error *err)
{
	struct tt_ring_writer *writer = roll->writer;
	int rc = take_name(roll, err);

	if (rc == TT_OK) {
		tti_entry_fill(roll->to->entry, roll->to->name,
			       tti_wfile_next_base(roll->from));
		TTI_FAILPOINT("ring.roll.entered");
		rc = seal(roll, err);
	}
	if (rc == TT_OK)
		rc = tti_ring_publish_name(&writer->ring, roll->to->name, err);
	if (rc < 0)
		tti_field_store(&roll->from->entry->rows, TTI_ROWS_UNKNOWN);
	return rc;
}

/* From a prepared file to one that readers see.  Consumes to. */
static int commit(struct tt_ring_writer *writer, struct tti_wfile *to, bool syncs,
		  struct tt_error *err)
{
	struct roll roll = { .writer = writer,
			     .from = tti_writer_file(writer),
			     .to = to,
			     .syncs = syncs && writer->sync_ms != TT_SYNC_NONE };
	int rc = publish(&roll, err);

	if (rc < 0)
		tti_wfile_discard(to, &writer->ring); /* it is named nowhere yet */
	tti_next_free(writer);
	if (rc < 0)
		return rc;
	switch_files(&roll);
	tti_count_roll(tti_writer_counters(writer));
	return TT_OK;
}

/* The file made ahead, or NULL. */
static struct tti_wfile *take_next(struct tt_ring_writer *writer)
{
	struct tti_wfile *next = tti_next_take(writer);

	if (!next || !tti_name_was_published(writer, next))
		return next;
	tti_next_free(writer);
	return NULL;
}

/* Stores, and one rename when the name was not given ahead.  0: there is no prepared file. */
static int roll_prepared(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct tti_wfile *next;
	int64_t before;
	int rc;

	/* who syncs each append syncs each roll */
	if (writer->sync_ms == TT_SYNC_EACH)
		return 0;
	next = take_next(writer);
	if (!next)
		return 0;
	before = tti_clock_monotonic_ns();
	rc = tti_upkeep_count(writer, commit(writer, next, false, err), err);
	tti_count_took(tti_writer_counters(writer), TTI_HIST_ROLL,
		       tti_clock_monotonic_ns() - before);
	return rc < 0 ? rc : 1;
}

/* With the work mutex: what came before goes to disk first, so that never more than two files
 * are not there. */
static int roll_here(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct tti_wfile *next;
	struct tt_error before, why;
	int rc;

	if (tti_upkeep_finish(writer, &before) < 0)
		tti_upkeep_keep(writer, &before);
	if (tti_upkeep_prepare(writer, &next, &why) < 0)
		return tti_fail(err, tti_writer_unmade(writer, &why), "%s", why.text);
	tti_writer_made(writer);
	rc = commit(writer, next, true, err);
	if (rc < 0)
		return tti_upkeep_count(writer, rc, err);
	/* what came after is visible already; that it is not on disk is said */
	rc = tti_upkeep_count(writer, tti_upkeep_finish(writer, err), err);
	return rc < 0 ? rc : tti_upkeep_tell(writer, err);
}

static int roll_timed(struct tt_ring_writer *writer, struct tt_error *err)
{
	int64_t before = tti_clock_monotonic_ns();
	int rc = roll_here(writer, err);

	tti_count_took(tti_writer_counters(writer), TTI_HIST_ROLL,
		       tti_clock_monotonic_ns() - before);
	return rc;
}

int tti_writer_roll_held(struct tt_ring_writer *writer, struct tt_error *err)
{
	int rc = roll_prepared(writer, err);

	if (rc != 0)
		return rc < 0 ? rc : TT_OK;
	return roll_timed(writer, err);
}

/* Who meets the helper as it makes or names the next file waits for that, and then rolls with
 * the file that it made. */
int tti_writer_roll(struct tt_ring_writer *writer, struct tt_error *err)
{
	int rc = roll_prepared(writer, err);

	if (rc != 0)
		return rc < 0 ? rc : TT_OK;
	tti_upkeep_lock(writer);
	rc = tti_writer_roll_held(writer, err);
	tti_upkeep_unlock(writer);
	return rc;
}
