/* SPDX-License-Identifier: Apache-2.0 */
/* Invariant: a slot counts only if it is whole and speaks of the very inode that is asked about. */
#include "live/file_mark_slot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include "base/crc32c.h"
#include "base/fs.h"
#include "base/num.h"

void tti_mark_slot_name(char out[TTI_MARK_NAME_BYTES], const struct tti_place *place)
{
	snprintf(out, TTI_MARK_NAME_BYTES, "%s.mark", place->name);
}

uint32_t tti_mark_slot_crc(struct tti_file_mark slot)
{
	slot.crc = 0;
	return tti_crc32c(0, &slot, sizeof(slot));
}

struct tti_file_mark tti_mark_slot_identity(const struct tti_live *live)
{
	struct tti_file_mark slot = {
		.magic = TTI_FILE_MARK_MAGIC,
		.data_off = live->data_off,
		.row_bytes = live->row_bytes,
		.capacity = live->capacity,
	};
	struct statx stx;

	if (statx(live->fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &stx) < 0)
		return slot;
	slot.inode = stx.stx_ino;
	if (stx.stx_mask & STATX_BTIME)
		slot.born_ns = (int64_t)stx.stx_btime.tv_sec * 1000000000 +
			       stx.stx_btime.tv_nsec;
	return slot;
}

static bool is_of(const struct tti_file_mark *slot, const struct tti_file_mark *me)
{
	return me->inode != 0 && slot->inode == me->inode &&
	       slot->born_ns == me->born_ns && slot->data_off == me->data_off &&
	       slot->row_bytes == me->row_bytes && slot->capacity == me->capacity;
}

int tti_mark_slot_pick(int fd, const struct tti_live *live, struct tti_file_mark *out,
		       uint64_t *last_out, bool *is_ours)
{
	const struct tti_file_mark me = tti_mark_slot_identity(live);
	uint64_t best = 0;

	*last_out = 0;
	*is_ours = false;
	for (unsigned i = 0; i < TTI_MARK_SLOTS; i++) {
		struct tti_file_mark slot;
		int rc = tti_pread_all(fd, &slot, sizeof(slot), i * TTI_SETTINGS_STRIDE);

		if (rc < 0)
			return rc == -ENODATA ? 0 : rc;
		if (slot.magic != TTI_FILE_MARK_MAGIC ||
		    slot.crc != tti_mark_slot_crc(slot) || slot.mark.from > slot.mark.end)
			continue;
		*is_ours = true;
		*last_out = tti_max_u64(*last_out, slot.mark.sequence);
		if (!is_of(&slot, &me) || slot.mark.sequence <= best)
			continue;
		best = slot.mark.sequence;
		*out = slot;
	}
	return best != 0;
}

int tti_mark_slot_open(const struct tti_place *place, int flags)
{
	char name[TTI_MARK_NAME_BYTES];

	tti_mark_slot_name(name, place);
	return tti_open_regular(place->dirfd, name, flags | O_NOFOLLOW, name, NULL);
}
