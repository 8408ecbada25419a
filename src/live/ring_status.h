/* SPDX-License-Identifier: Apache-2.0 */
/* One look at a ring, shared by the parts of tt_ring_status(): what is on disk
 * (ring_status_files.c), who reads (ring_status_readers.c), the rest (ring_status.c). */
#ifndef TTI_RING_STATUS_H
#define TTI_RING_STATUS_H

#include "live/ring.h"
#include "ticktail/status.h"

/* A copy of a named entry. */
struct tti_look_entry {
	uint64_t name, rows, base, merged_into;
	int64_t first_row_ns;
};

struct tti_look_file {
	uint64_t name, rows, bytes;
	int64_t first_row_ns;
	bool merged, queued, sealed;
};

struct tti_look {
	struct tti_ring ring;
	struct tti_look_entry *entries; /* malloc'ed, ascending by name */
	size_t entry_count;
	struct tti_look_file *files; /* malloc'ed, ascending by name; visible ones */
	size_t file_count;
};

/* Fill entries and files of a look whose ring is open, and what the status says of them. */
int tti_look_files(struct tti_look *look, struct tt_ring_status *out,
		   struct tt_error *err);
void tti_look_close(struct tti_look *look);

/* Note that file_name cannot be read; why may begin with its path.  TT_OK or -ENOMEM. */
int tti_look_damage(const struct tti_look *look, struct tt_ring_status *out,
		    const char *file_name, const char *why);

const struct tti_look_entry *tti_look_entry(const struct tti_look *look, uint64_t name);

/* Rows published behind pos, TT_UNKNOWN when nothing tells. */
uint64_t tti_look_rows_behind(const struct tti_look *look,
			      const struct tt_ring_status *status, struct tt_pos pos);

/* ns between two wall clocks, at least 0; TT_UNKNOWN_NS when one is not known. */
int64_t tti_look_age(int64_t now_ns, int64_t then_ns);

/* Registered readers into out->readers. */
int tti_look_readers(const struct tti_look *look, struct tt_ring_status *out,
		     struct tt_error *err);

#endif
