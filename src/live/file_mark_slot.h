/* SPDX-License-Identifier: Apache-2.0 */
/* The slots of FILE.mark: where they are, and which of them speaks of a file. */
#ifndef TTI_FILE_MARK_SLOT_H
#define TTI_FILE_MARK_SLOT_H

#include "live/file_mark.h"

#define TTI_MARK_NAME_BYTES 264
#define TTI_MARK_FILE_BYTES (TTI_MARK_SLOTS * TTI_SETTINGS_STRIDE)

void tti_mark_slot_name(char out[TTI_MARK_NAME_BYTES], const struct tti_place *place);
uint32_t tti_mark_slot_crc(struct tti_file_mark slot);
/* What tells a file from any other, also from one that got its inode later. */
struct tti_file_mark tti_mark_slot_identity(const struct tti_live *live);
/* What FILE.mark says. */
struct tti_mark_found {
	struct tti_file_mark slot; /* that counts for the file that was asked about */
	uint64_t last;		   /* the highest sequence of any slot */
	bool is_ours;		   /* there is a whole slot, whatever file it speaks of */
	bool damaged
		[TTI_MARK_SLOTS]; /* neither whole nor empty, or not the neighbour that
				       * the other one was stored beside */
	bool sure;		  /* slot is the last that was stored: none is damaged */
};
/* The slot that counts for this file: 1 found, 0 none, or an error. */
int tti_mark_slot_pick(int fd, const struct tti_live *live, struct tti_mark_found *out);
/* One that speaks of no file: the first, so that no other ever stands alone. */
struct tti_file_mark tti_mark_slot_first(void);
/* FILE.mark of the file at place: a descriptor, or an error. */
int tti_mark_slot_open(const struct tti_place *place, int flags);

#endif
