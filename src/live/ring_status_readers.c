/* SPDX-License-Identifier: Apache-2.0 */
/* Who reads a ring and how far behind.  A slot holds what any process with the right to write
 * the file may have put there: every value is shown, none is trusted. */
#include "live/ring_status.h"

#include <errno.h>
#include "base/lock.h"
#include "live/ring_register.h"
#include "live/shared_text.h"

/* When the oldest row behind pos was written at the earliest: not before the reader had read
 * all there was, and not before its file had its first row. */
static int64_t oldest_unread(const struct tti_look *look,
			     const struct tti_slot_seen *seen)
{
	const struct tti_look_entry *entry = tti_look_entry(look, seen->pos.file);
	int64_t since = seen->all_read_ns ? seen->all_read_ns : TT_UNKNOWN_NS;

	if (entry && entry->first_row_ns > since)
		since = entry->first_row_ns;
	return since;
}

static void fill(struct tt_status_reader *out, const struct tti_look *look,
		 const struct tt_ring_status *status, const struct tti_slot_seen *seen)
{
	out->pid = seen->pid;
	out->pos = seen->pos;
	out->lost = seen->lost;
	out->seen_ns = seen->seen_ns;
	tti_show_text(out->name, seen->name);
	out->lag_rows = tti_look_rows_behind(look, status, seen->pos);
	out->lag_ns = out->lag_rows == 0
			      ? 0
			      : tti_look_age(status->now_ns, oldest_unread(look, seen));
}

int tti_look_readers(const struct tti_look *look, struct tt_ring_status *out,
		     struct tt_error *err)
{
	if (!look->ring.set.addr)
		return TT_OK;
	out->readers = calloc(TTI_READER_SLOTS, sizeof(*out->readers));
	if (!out->readers)
		return tti_fail_sys(err, -ENOMEM, look->ring.path, NULL);
	for (unsigned i = 0; i < TTI_READER_SLOTS; i++) {
		struct tt_status_reader *reader = &out->readers[out->reader_count];
		struct tti_slot_seen seen;

		tti_slot_load_all(tti_ring_slot(&look->ring.set, i), &seen);
		if (seen.pid == 0)
			continue;
		reader->slot = i;
		reader->alive =
			tti_lock_is_held(look->ring.set_fd, TTI_LOCK_READER_SLOT(i)) == 1;
		fill(reader, look, out, &seen);
		out->reader_count++;
	}
	return TT_OK;
}
