/* SPDX-License-Identifier: Apache-2.0 */
/* Invariant: a slot counts only if it is whole and speaks of the very inode that is asked about. */
#include "live/file_mark_slot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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

struct tti_file_mark tti_mark_slot_first(void)
{
	struct tti_file_mark slot = { .magic = TTI_FILE_MARK_MAGIC, .mark.sequence = 1 };

	tti_mark_seal(&slot.mark);
	slot.crc = tti_mark_slot_crc(slot);
	return slot;
}

static bool is_whole(const struct tti_file_mark *slot)
{
	return slot->magic == TTI_FILE_MARK_MAGIC &&
	       slot->crc == tti_mark_slot_crc(*slot) && slot->mark.sequence != 0 &&
	       slot->mark.from <= slot->mark.end;
}

static bool is_damaged(const struct tti_file_mark *slot,
		       const struct tti_file_mark *other)
{
	static const struct tti_file_mark empty;
	bool is_beside = is_whole(other);

	if (is_whole(slot))
		return is_beside && other->mark.sequence >= slot->mark.sequence &&
		       other->mark.sequence != slot->mark.sequence + 1;
	return memcmp(slot, &empty, sizeof(empty)) != 0 ||
	       (is_beside && (other->mark.sequence != 1 || other->inode != 0));
}

int tti_mark_slot_pick(int fd, const struct tti_live *live, struct tti_mark_found *out)
{
	const struct tti_file_mark me = tti_mark_slot_identity(live);
	struct tti_file_mark slots[TTI_MARK_SLOTS];
	uint64_t best = 0;

	*out = (struct tti_mark_found){ .sure = true };
	for (unsigned i = 0; i < TTI_MARK_SLOTS; i++) {
		int rc = tti_pread_all(fd, &slots[i], sizeof(slots[i]),
				       i * TTI_SETTINGS_STRIDE);

		if (rc < 0)
			return rc == -ENODATA ? 0 : rc;
	}
	for (unsigned i = 0; i < TTI_MARK_SLOTS; i++) {
		out->damaged[i] = is_damaged(&slots[i], &slots[1 - i]);
		out->sure = out->sure && !out->damaged[i];
		if (!is_whole(&slots[i]))
			continue;
		out->is_ours = true;
		out->last = tti_max_u64(out->last, slots[i].mark.sequence);
		if (!is_of(&slots[i], &me) || slots[i].mark.sequence <= best)
			continue;
		best = slots[i].mark.sequence;
		out->slot = slots[i];
	}
	return best != 0;
}

int tti_mark_slot_open(const struct tti_place *place, int flags)
{
	char name[TTI_MARK_NAME_BYTES];

	tti_mark_slot_name(name, place);
	return tti_open_regular(place->dirfd, name, flags | O_NOFOLLOW, name, NULL);
}
