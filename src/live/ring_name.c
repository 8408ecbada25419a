/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a ring's next file: chosen, given ahead of the roll so that the roll itself is
 * stores only, taken back when the roll does not come.  Owns when that is done.
 *
 * Invariant: who renames the next file has taken it, so it has one name at a time; a name is
 * greater than all that the manifest had when it was given, and what the manifest names is
 * never renamed. */
#include "live/ring_writer.h"

#include <errno.h>
#include <inttypes.h>
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/num.h"

#define MS INT64_C(1000000)
#define WINDOW_NS (20 * MS) /* of the pace, and how long before a roll by time */
#define KEPT_NS (1000 * MS) /* a name that no roll used */
#define RETRY_NS (100 * MS) /* after a rename that failed */

#define LOAD(field) atomic_load_explicit(&(field), memory_order_relaxed)

static void store_ns(_Atomic(int64_t) *field, int64_t ns)
{
	atomic_store_explicit(field, ns, memory_order_relaxed);
}

/* ---- Choosing ---- */

static uint64_t newest_name(const struct tt_ring_writer *writer,
			    const struct tti_ring *ring)
{
	return tti_max_u64(tti_writer_file_seen(writer)->name, tti_ring_newest(ring));
}

/* One step is counted once, however many names it makes lie ahead of the clock. */
static int64_t look_at_clock(struct tt_ring_writer *writer, uint64_t newest)
{
	int64_t now = writer->clock_ns();

	if (writer->clock_seen_ns == 0)
		writer->clock_seen_ns = (int64_t)tti_min_u64(newest, INT64_MAX);
	if (now < writer->clock_seen_ns)
		tti_count_clock_step(
			tti_writer_counters(writer),
			(int64_t)tti_min_u64((uint64_t)writer->clock_seen_ns -
						     (uint64_t)now,
					     INT64_MAX));
	writer->clock_seen_ns = now;
	return now;
}

/* Names only grow, whatever the clock does. */
static int choose(struct tt_ring_writer *writer, const struct tti_ring *ring,
		  uint64_t *out, struct tt_error *err)
{
	uint64_t newest = newest_name(writer, ring);
	int64_t now;

	if (newest == UINT64_MAX)
		return tti_fail(err, TT_E_RANGE,
				"%s: no name is left after file %" PRIu64 ".npy",
				writer->ring.path, newest);
	now = look_at_clock(writer, newest);
	*out = tti_max_u64(now > 0 ? (uint64_t)now : 1, newest + 1);
	return TT_OK;
}

#define TAKEN_MAX 100 /* names in a row */

/* By who took it; 0 is TTI_RING_NEXT_NAME.  What somebody else put under a file's name is left
 * there, and the name after it is as good: with the clock behind all names the same one would
 * be chosen again and again. */
static int rename_to(const struct tti_ring *ring, struct tti_wfile *next, uint64_t name,
		     struct tt_error *err)
{
	char from[TTI_RING_NAME_BYTES], to[TTI_RING_NAME_BYTES];
	uint64_t last = name > UINT64_MAX - TAKEN_MAX ? UINT64_MAX : name + TAKEN_MAX;
	int rc;

	tti_wfile_format_name(from, next->name);
	for (;; name++) {
		tti_wfile_format_name(to, name);
		rc = tti_rename_new(ring->dirfd, from, ring->dirfd, to);
		if (rc != -EEXIST || name == 0 || name == last)
			break;
	}
	if (rc < 0)
		return tti_fail_sys(err, rc, next->live.path, "rename");
	tti_wfile_set_name(next, ring, name);
	return TT_OK;
}

/* ---- At the roll ---- */

/* npyt readers with a longer queue enlarge the manifest.  Who gave the name ahead looked; what
 * grew since then is met by the next roll. */
static void look_at_manifest(struct tt_ring_writer *writer, const struct tti_wfile *next)
{
	if (next->name == 0 || LOAD(writer->manifest_bytes) > writer->ring.lock.bytes)
		tti_ring_refresh_manifest(&writer->ring);
}

int tti_name_now(struct tt_ring_writer *writer, struct tti_wfile *next,
		 struct tt_error *err)
{
	const struct tti_ring *ring = &writer->ring;
	uint64_t name, newest;
	int rc;

	look_at_manifest(writer, next);
	newest = newest_name(writer, ring);
	if (next->name > newest) {
		look_at_clock(writer, newest);
		return 1;
	}
	rc = choose(writer, ring, &name, err);
	return rc < 0 ? rc : rename_to(ring, next, name, err);
}

static bool names(const struct tti_ring *ring, uint64_t name)
{
	if (name > tti_ring_newest(ring))
		return false;
	for (uint64_t i = ring->slots; i > 0; i--)
		if (tti_slot_load(tti_ring_slots(ring), i - 1) == name)
			return true;
	return false;
}

bool tti_name_was_published(struct tt_ring_writer *writer, struct tti_wfile *next)
{
	if (next->name == 0)
		return false;
	look_at_manifest(writer, next);
	if (!names(&writer->ring, next->name))
		return false;
	tti_entry_fill(next->entry, next->name,
		       tti_wfile_next_base(tti_writer_file(writer)));
	tti_field_store(&next->entry->rows, 0);
	tti_wfile_free(next);
	return true;
}

/* ---- Pulse: when ---- */

/* Rows of the last whole window in which any came, or of this one when they are more already: a
 * feed that pauses goes on as it did. */
static void keep_pace(struct tt_ring_writer *writer, uint64_t rows, int64_t now_ns)
{
	uint64_t came = rows - writer->paced_rows;

	if (now_ns - writer->paced_ns >= WINDOW_NS) {
		if (came > 0)
			writer->pace_before = came;
		writer->paced_rows = rows;
		writer->paced_ns = now_ns;
	}
	atomic_store_explicit(&writer->pace, tti_max_u64(came, writer->pace_before),
			      memory_order_relaxed);
}

/* The roll comes within a window, if rows come as they did. */
static bool is_near(const struct tt_ring_writer *writer, const struct tti_wfile *file,
		    uint64_t end)
{
	int64_t due = LOAD(writer->roll_due_ns);

	return file->live.capacity - end <= LOAD(writer->pace) ||
	       (due != INT64_MAX && end > 0 && writer->coarse_ns() >= due - WINDOW_NS);
}

/* Not again while nothing came since it was taken back. */
static bool is_due(const struct tt_ring_writer *writer, const struct tti_wfile *file,
		   uint64_t end, int64_t now_ns)
{
	if (now_ns < LOAD(writer->name_retry_ns))
		return false;
	if (LOAD(writer->next_state) == TTI_NEXT_NAMED)
		return now_ns - LOAD(writer->named_ns) >= KEPT_NS;
	return LOAD(writer->next_state) == TTI_NEXT_READY &&
	       file->before + end != LOAD(writer->unnamed_rows) &&
	       is_near(writer, file, end);
}

bool tti_name_is_due(struct tt_ring_writer *writer, const struct tti_wfile *file,
		     uint64_t end, int64_t now_ns)
{
	keep_pace(writer, file->before + end, now_ns);
	return is_due(writer, file, end, now_ns);
}

/* ---- Helper ---- */

/* What keeps a name from being given will be met, and told, by the roll. */
static void give_name(struct tt_ring_writer *writer, struct tti_wfile *next,
		      int64_t now_ns)
{
	uint64_t name;

	if (choose(writer, &writer->upkeep, &name, NULL) < 0 ||
	    rename_to(&writer->upkeep, next, name, NULL) < 0) {
		store_ns(&writer->name_retry_ns, now_ns + RETRY_NS);
		return;
	}
	TTI_FAILPOINT("ring.name.ahead");
	store_ns(&writer->named_ns, now_ns);
}

/* A file that the manifest names stays what it is. */
static void take_back(struct tt_ring_writer *writer, struct tti_wfile *next,
		      uint64_t rows, int64_t now_ns)
{
	if (names(&writer->upkeep, next->name) ||
	    rename_to(&writer->upkeep, next, 0, NULL) < 0) {
		store_ns(&writer->name_retry_ns, now_ns + RETRY_NS);
		return;
	}
	TTI_FAILPOINT("ring.name.back");
	atomic_store_explicit(&writer->unnamed_rows, rows, memory_order_relaxed);
}

void tti_name_ahead(struct tt_ring_writer *writer, int64_t now_ns)
{
	const struct tti_wfile *file = tti_writer_file_seen(writer);
	uint64_t end = tti_wfile_end(file);
	struct tti_wfile *next;

	if (!is_due(writer, file, end, now_ns))
		return;
	tti_ring_refresh(&writer->upkeep);
	atomic_store_explicit(&writer->manifest_bytes, writer->upkeep.lock.bytes,
			      memory_order_relaxed);
	next = tti_next_take(writer);
	if (!next) /* the roll came */
		return;
	if (next->name == 0)
		give_name(writer, next, now_ns);
	else
		take_back(writer, next, file->before + end, now_ns);
	tti_next_give(writer, next);
}
