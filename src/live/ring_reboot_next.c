/* SPDX-License-Identifier: Apache-2.0 */
/* Going on after a cut, made now or by an earlier try: a new file for the rows to come, and,
 * last of all, the ends of what was cut (steps 3 and 5 of ring_reboot.c).
 *
 * Invariant: the new name is later than all that can have been seen before the power loss; an
 * end is lowered only to what its entry says on disk. */
#include "live/ring_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>
#include "base/failpoint.h"
#include "base/num.h"
#include "live/ring_cut.h"

#define NAMES_SKIPPED 16 /* of files that left no trace; two at most were not synced */

/* ---- (3) A new file ---- */

/* The one that an earlier try made: newest, not cut, empty. */
static bool is_made(const struct tti_ring *ring, uint64_t newest)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	bool is = newest != 0 && tti_ring_find_entry(ring, newest) != TTI_NO_ENTRY &&
		  tti_ring_cut_at(ring, newest) == UINT64_MAX &&
		  tti_ring_open_raw(ring, newest, &live, NULL) == TT_OK && live.end == 0;

	tti_live_close(&live);
	return is;
}

/* After all names that were ever seen, and those of files that left no trace. */
static int next_name(struct tt_ring_writer *writer, uint64_t *out, struct tt_error *err)
{
	struct tti_ring *ring = &writer->ring;
	tti_auto_items items = { 0 };
	uint64_t last = tti_ring_newest(ring);
	int64_t now = writer->clock_ns();
	int rc = tti_ring_list(ring, &items, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < items.count; i++)
		last = tti_max_u64(last, items.at[i].name);
	for (uint64_t i = 0; i < tti_ring_entry_count(ring); i++)
		last = tti_max_u64(last, tti_entry_name(tti_ring_entry(ring, i)));
	if (last > UINT64_MAX - NAMES_SKIPPED)
		return tti_fail(err, TT_E_RANGE, "%s: no name is left after %" PRIu64,
				ring->path, last);
	*out = tti_max_u64(now > 0 ? (uint64_t)now : 1, last + NAMES_SKIPPED);
	return TT_OK;
}

static int make_next(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct tti_ring *ring = &writer->ring;
	uint64_t name = 0, idx;
	int rc = next_name(writer, &name, err);

	if (rc == TT_OK)
		rc = tti_writer_know_rows(writer, err);
	if (rc == TT_OK)
		rc = tti_writer_make_file(writer, &writer->like.npy,
					  ring->settings.capacity, name, err);
	TTI_FAILPOINT("ring.reboot.made");
	if (rc == TT_OK)
		rc = tti_ring_make_entry(ring, name, writer->reboot_base, &idx, err);
	if (rc == TT_OK)
		rc = tti_ring_sync_settings(ring, err);
	if (rc == TT_OK)
		rc = tti_ring_publish_name(ring, name, err);
	TTI_FAILPOINT("ring.reboot.named");
	if (rc == TT_OK && fdatasync(ring->lock_fd) < 0)
		rc = tti_fail_sys(err, -errno, ring->path,
				  "fdatasync of " TTI_MANIFEST_NAME);
	return rc;
}

/* Rows of the ring up to the cut of its newest file. */
static uint64_t rows_to_cut(const struct tti_ring *ring, uint64_t newest, uint64_t cut)
{
	uint64_t idx = tti_ring_find_entry(ring, newest), rows;
	struct tti_live live = TTI_LIVE_EMPTY;

	if (tti_ring_open_raw(ring, newest, &live, NULL) == TT_OK)
		cut = tti_min_u64(cut, live.end);
	else
		cut = 0; /* nothing is shown of it */
	tti_live_close(&live);
	rows = tti_field_load(&tti_ring_entry(ring, idx)->base);
	if (rows == TTI_ROWS_UNKNOWN || tti_add_overflow(rows, cut, &rows))
		return TTI_ROWS_UNKNOWN;
	return rows;
}

/* Nobody is shown what stands behind a cut, so no writer goes on there: not after a power loss,
 * and not when an entry says that there was one (it may have come out of a damaged settings
 * file). */
int tti_writer_reboot_go_on(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct tti_ring *ring = &writer->ring;
	uint64_t newest = tti_ring_newest(ring), cut = tti_ring_cut_at(ring, newest);

	if (writer->rebooted)
		return is_made(ring, newest) ? TT_OK : make_next(writer, err);
	if (cut == UINT64_MAX)
		return TT_OK;
	writer->reboot_base = rows_to_cut(ring, newest, cut);
	return make_next(writer, err);
}

/* ---- (5) Ends ---- */

static int lower_end(const struct tti_ring *ring, uint64_t name, uint64_t cut,
		     struct tt_error *err)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	int rc = tti_ring_open_raw(ring, name, &live, NULL);
	bool is_low = rc < 0 || live.end <= cut;

	tti_live_close(&live);
	if (is_low) /* or gone, or damaged: then nothing is shown of it */
		return TT_OK;
	rc = tti_ring_open_writable(ring, name, &live, err);
	TTI_FAILPOINT("ring.reboot.before_lower");
	if (rc == TT_OK)
		rc = tti_live_publish(&live, cut);
	TTI_FAILPOINT("ring.reboot.lowered");
	if (rc == TT_OK && fdatasync(live.fd) < 0)
		rc = tti_fail_sys(err, -errno, live.path, "fdatasync");
	tti_live_close(&live);
	return rc;
}

int tti_writer_lower_ends(struct tt_ring_writer *writer, struct tt_error *err)
{
	const struct tti_ring *ring = &writer->ring;
	int rc = TT_OK;

	for (uint64_t i = 0; rc == TT_OK && i < tti_ring_entry_count(ring); i++) {
		const struct tti_entry *entry = tti_ring_entry(ring, i);
		uint64_t name = tti_entry_name(entry),
			 cut = tti_field_load(&entry->cut_at);

		if (name != 0 && cut != UINT64_MAX)
			rc = lower_end(ring, name, cut, err);
	}
	return rc;
}
