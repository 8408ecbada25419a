/* SPDX-License-Identifier: Apache-2.0 */
/* A ring that lost the power while nobody kept marks: nothing tells which of its rows reached the
 * disk.  By itself nothing is cut then; who asks for it (tt_recover_opts.cut_unproven) has all
 * cut that nothing proves.
 * Invariant: what is found is safe to cut by: files before it were synced, or were cut. */
#include "live/ring_cut.h"

#include <errno.h>
#include <time.h>
#include "base/clock.h"
#include "base/fs.h"
#include "live/ring_mark.h"

/* The last mark that still says something, though it does not count any more: what it covers is
 * on disk all the same.  Rows below its end may have been changed since, so they are not
 * summed. */
static bool find_older(const struct tti_ring *ring, struct tti_mark *out)
{
	bool found = false;

	*out = (struct tti_mark){ 0 };
	for (unsigned i = 0; i < TTI_MARK_SLOTS; i++) {
		uint8_t slots[TTI_SETTINGS_STRIDE + sizeof(struct tti_mark)] = { 0 };
		struct tti_mark mark;

		if (tti_pread_all(ring->set_fd, slots, sizeof(mark),
				  TTI_MARKS_OFF + i * TTI_SETTINGS_STRIDE) < 0 ||
		    tti_mark_pick(slots, &mark) != 1 || mark.file == 0 ||
		    mark.sequence <= out->sequence)
			continue;
		*out = mark;
		found = true;
	}
	out->from = out->end;
	out->rows_crc = 0;
	return found;
}

/* Without a mark that tells only the last store does: it was made after `since` and before this
 * boot. */
static bool is_of_before(const struct tti_ring *ring, uint64_t newest, uint64_t since)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	uint64_t stamp = 0;
	struct timespec up;
	bool is = false;

	if (clock_gettime(CLOCK_BOOTTIME, &up) == 0 &&
	    tti_ring_open_file(ring, newest, false, &live, NULL) == TT_OK &&
	    tti_live_load_stamp(&live, &stamp) == TT_OK && stamp > since &&
	    tti_stamp_is_ours(stamp))
		is = (int64_t)stamp < tti_clock_realtime_ns() -
					      (int64_t)up.tv_sec * 1000000000 -
					      up.tv_nsec;
	tti_live_close(&live);
	return is;
}

static bool is_empty(const struct tti_ring *ring, uint64_t name)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	bool is = tti_ring_open_file(ring, name, false, &live, NULL) == TT_OK &&
		  live.end == 0;

	tti_live_close(&live);
	return is;
}

/* The first file that was not cut, from its first row on.  Joined rows were synced.  Where all
 * were cut but the newest, which is empty, an earlier try came as far: the last that it cut. */
static int find_first(struct tti_ring *ring, struct tti_mark *out, struct tt_error *err)
{
	tti_auto_items items = { 0 };
	uint64_t cut = 0;
	int rc = tti_ring_list(ring, &items, err);

	*out = (struct tti_mark){ 0 };
	for (size_t i = 0; rc == TT_OK && out->file == 0 && i < items.count; i++) {
		const struct tti_ring_item *item = &items.at[i];

		if (item->merged || item->shadowed)
			continue;
		if (tti_ring_cut_at(ring, item->name) != UINT64_MAX)
			cut = item->name;
		else if (item->name == items.newest && is_empty(ring, item->name))
			break;
		else
			out->file = item->name;
	}
	if (rc == TT_OK && out->file == 0)
		out->file = cut;
	return rc;
}

/* mark: the one that counts, all zero without one; a first one says no more than none. */
static bool is_in_doubt(const struct tti_ring *ring, const struct tti_mark *mark,
			bool sure)
{
	uint64_t newest = tti_ring_newest(ring);

	if (mark->file == 0 && tti_boot_is_zero(mark->boot_id))
		return is_of_before(ring, newest, 0);
	if (tti_mark_age(mark) == TTI_MARK_OLD)
		return mark->file == 0 || !sure;
	/* closed, and somebody may have gone on whose marks were lost */
	return tti_mark_age(mark) == TTI_MARK_CLOSED && !sure &&
	       is_of_before(ring, newest,
			    newest == mark->file ? mark->update_timestamp : 0);
}

int tti_ring_unproven(struct tti_ring *ring, struct tti_mark *out, struct tt_error *err)
{
	struct tti_mark mark = { 0 };
	bool sure;
	int rc = tti_ring_mark_load_sure(ring, &mark, &sure);

	*out = (struct tti_mark){ 0 };
	if (rc < 0)
		return tti_fail_sys(err, rc, ring->path,
				    "read the marks of " TTI_SETTINGS_NAME);
	if (!ring->set.addr || tti_ring_is_npyts(ring) || !is_in_doubt(ring, &mark, sure))
		return 0;
	if (find_older(ring, out))
		return 1;
	rc = find_first(ring, out, err);
	return rc < 0 ? rc : out->file != 0;
}
