/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of files as readers may see them after a power loss, and positions past a cut. */
#include "live/ring_cut.h"

#include <errno.h>
#include <fcntl.h>
#include "base/num.h"
#include "live/ring_mark.h"

bool tti_ring_wrote_npyt(const struct tti_live *live, bool has_entry)
{
	uint64_t stamp = 0;

	if (live->tail_words != 5)
		return !has_entry;
	if (tti_live_load_stamp(live, &stamp) < 0)
		return false;
	return !tti_stamp_is_ours(stamp) || (stamp == 0 && !has_entry);
}

bool tti_ring_is_npyts(const struct tti_ring *ring)
{
	uint64_t newest = tti_ring_newest(ring);
	char file_name[TTI_RING_NAME_BYTES];
	struct tti_live live = TTI_LIVE_EMPTY;
	struct tti_live_open args = { .dirfd = ring->dirfd,
				      .name = file_name,
				      .path = file_name,
				      .by_pread = true };
	bool is;

	if (!ring->set.addr)
		return true;
	if (newest == 0 || tti_ring_find_entry(ring, newest) != TTI_NO_ENTRY)
		return false;
	tti_ring_format_name(file_name, newest, false);
	if (tti_live_open(&live, &args, NULL) < 0)
		return false;
	is = tti_ring_wrote_npyt(&live, false);
	tti_live_close(&live);
	return is;
}

uint64_t tti_ring_cut_at(const struct tti_ring *ring, uint64_t name)
{
	uint64_t idx = tti_ring_find_entry(ring, name);

	return idx == TTI_NO_ENTRY ? UINT64_MAX
				   : tti_field_load(&tti_ring_entry(ring, idx)->cut_at);
}

/* A mark that waits for the next writer. */
static bool load_waiting(const struct tti_ring *ring, struct tti_mark *mark)
{
	bool sure;

	return tti_ring_mark_load_sure(ring, mark, &sure) == 1 && sure &&
	       mark->file != 0 && tti_mark_age(mark) == TTI_MARK_OLD &&
	       tti_ring_writer_pid(ring) == 0 && !tti_ring_is_npyts(ring);
}

bool tti_ring_is_past_mark(const struct tti_ring *ring, uint64_t name)
{
	struct tti_mark mark;

	return load_waiting(ring, &mark) && name > mark.file;
}

bool tti_ring_is_unsure(const struct tti_ring *ring, const struct tti_ring_item *item,
			int rc)
{
	struct tti_mark mark;

	if (!tti_ring_is_incomplete(rc))
		return false;
	if (!item->sealed && tti_ring_find_entry(ring, item->name) == TTI_NO_ENTRY)
		return true;
	if (!load_waiting(ring, &mark))
		return false;
	return item->name > mark.file || (item->name == mark.file && rc == -ENOENT);
}

/* The mark first: who stored a newer one had stored the cuts before. */
void tti_ring_limit_file(const struct tti_ring *ring, uint64_t name, bool merged,
			 struct tti_live *live)
{
	uint64_t limit = UINT64_MAX;
	struct tti_mark mark;

	live->shown = UINT64_MAX;
	if (merged || !ring->set.addr) /* joined rows were synced, or are not ours */
		return;
	if (load_waiting(ring, &mark) && name >= mark.file &&
	    !tti_ring_wrote_npyt(live, tti_ring_find_entry(ring, name) != TTI_NO_ENTRY))
		limit = name == mark.file ? mark.end : 0;
	live->shown = tti_min_u64(limit, tti_ring_cut_at(ring, name));
	live->end = tti_min_u64(live->end, live->shown);
}

int tti_ring_open_raw(const struct tti_ring *ring, uint64_t name, struct tti_live *live,
		      struct tt_error *err)
{
	int rc = tti_ring_open_file(ring, name, false, live, err);

	live->shown = UINT64_MAX;
	if (rc == TT_OK)
		rc = tti_live_look(live, err);
	if (rc < 0)
		tti_live_close(live);
	return rc;
}

/* The file whose rows were (or will be) cut last before `name`, when nothing else is known of
 * name: it was made after that file, and lost with the power.  0: none. */
static uint64_t cut_before(const struct tti_ring *ring, uint64_t name)
{
	uint64_t before = 0;

	for (uint64_t i = 0; i < tti_ring_entry_count(ring); i++) {
		uint64_t other = tti_entry_name(tti_ring_entry(ring, i));

		if (other < name && other > before)
			before = other;
	}
	return before && tti_ring_cut_at(ring, before) != UINT64_MAX ? before : 0;
}

static bool is_there(const struct tti_ring *ring, uint64_t name)
{
	char file_name[TTI_RING_NAME_BYTES];
	struct stat st;

	tti_ring_format_name(file_name, name, false);
	return fstatat(ring->dirfd, file_name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

uint64_t tti_ring_clamp_pos(const struct tti_ring *ring, struct tt_pos *pos)
{
	struct tt_pos cut = { pos->file, UINT64_MAX };
	uint64_t past;
	struct tti_mark mark;

	if (!ring->set.addr)
		return 0;
	if (tti_ring_find_entry(ring, pos->file) != TTI_NO_ENTRY)
		cut.row = tti_ring_cut_at(ring, pos->file);
	else if (pos->file <= tti_ring_newest(ring) && is_there(ring, pos->file))
		return 0; /* npyt's, or limited when it is opened */
	else if ((cut.file = cut_before(ring, pos->file)) != 0)
		cut.row = tti_ring_cut_at(ring, cut.file);
	if (cut.row == UINT64_MAX && load_waiting(ring, &mark) && pos->file >= mark.file)
		cut = (struct tt_pos){ mark.file, mark.end };
	if (cut.row == UINT64_MAX || (cut.file == pos->file && pos->row <= cut.row))
		return 0;
	past = cut.file == pos->file ? pos->row - cut.row : pos->row;
	*pos = cut;
	return past;
}
