/* SPDX-License-Identifier: Apache-2.0 */
/* Start and end of the newest file, which nothing protects and which may have been changed to
 * others that are as possible.  A mark has a checksum, so where the two differ the mark is right.
 *
 * Invariant: an end is only lowered to where the ring was closed, and only over bytes that are
 * all zero; only raised over rows that were synced and what stands behind them. */
#include "live/ring_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>
#include "base/failpoint.h"
#include "base/num.h"
#include "live/ring_cut.h"
#include "live/ring_mark.h"
#include "live/salvage.h"

/* A mark that speaks of the file as it is.  That of another boot was gone by before. */
static bool load_mark(const struct tti_ring *ring, uint64_t name,
		      const struct tti_live *live, struct tti_mark *mark)
{
	return tti_ring_mark_load(ring, mark) == 1 && mark->file == name &&
	       tti_mark_is_of(mark, live) &&
	       (tti_mark_age(mark) == TTI_MARK_NOW ||
		tti_mark_age(mark) == TTI_MARK_CLOSED);
}

/* An end below what was synced is no end: rows are, as far as anything stands there. */
static int raised_end(struct tt_ring_writer *writer, const struct tti_live *live,
		      const struct tti_mark *mark, uint64_t *end_out)
{
	uint64_t last, room = live->data_off + live->capacity * live->row_bytes, rows;
	int rc;

	*end_out = mark->end;
	if (tti_mark_age(mark) != TTI_MARK_NOW)
		return TT_OK;
	rc = tti_salvage_last_byte(live->fd, live->data_off, room, &last);
	if (rc < 0)
		return rc;
	rows = (last - live->data_off + live->row_bytes - 1) / live->row_bytes;
	if (rows > mark->end) {
		writer->rows_unproven += rows - mark->end;
		*end_out = rows;
	}
	return TT_OK;
}

static int judge(struct tt_ring_writer *writer, uint64_t name,
		 const struct tti_live *live, uint64_t *end_out)
{
	struct tti_mark mark;

	*end_out = live->end;
	if (!load_mark(&writer->ring, name, live, &mark))
		return TT_OK;
	if (mark.end > live->end)
		return raised_end(writer, live, &mark, end_out);
	if (tti_mark_is_passed(&mark, live))
		*end_out = mark.end;
	return TT_OK;
}

static int store(struct tt_ring_writer *writer, uint64_t name, uint64_t start,
		 uint64_t end, struct tt_error *err)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	int rc = tti_ring_open_writable(&writer->ring, name, &live, err);
	uint64_t was = live.end;

	if (rc < 0)
		return rc;
	if (start != 0)
		rc = tti_live_put_word(&live, 0, 0);
	TTI_FAILPOINT("recover.start_stored");
	if (rc == TT_OK && end != was)
		rc = tti_live_publish(&live, end);
	if (rc == TT_OK && fdatasync(live.fd) < 0)
		rc = -errno;
	if (rc < 0)
		rc = tti_fail_sys(err, rc, live.path, "make its tail right");
	tti_live_close(&live);
	if (rc == TT_OK && start != 0)
		tti_repair_add(&writer->repair,
			       "%" PRIu64 ".npy began at row %" PRIu64
			       ", which no file of a ring does: it begins at 0 again",
			       name, start);
	if (rc == TT_OK && end != was)
		tti_repair_add(&writer->repair,
			       "%" PRIu64 ".npy ended at row %" PRIu64
			       ", by its mark it ends at %" PRIu64,
			       name, was, end);
	return rc;
}

int tti_writer_mend_tail(struct tt_ring_writer *writer, uint64_t name,
			 struct tt_error *err)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	uint64_t start = 0, end = 0, was = 0;
	int rc;

	if (tti_ring_find_entry(&writer->ring, name) == TTI_NO_ENTRY ||
	    tti_ring_cut_at(&writer->ring, name) != UINT64_MAX)
		return TT_OK;
	rc = tti_ring_open_raw(&writer->ring, name, &live, err);
	if (rc == TT_OK)
		rc = tti_live_bounds(&live, &start, &was, err);
	if (rc == TT_OK) {
		rc = judge(writer, name, &live, &end);
		if (rc < 0)
			tti_fail_sys(err, rc, live.path, "read of its rows");
	}
	tti_live_close(&live);
	if (rc < 0 || (start == 0 && end == was))
		return rc;
	return store(writer, name, start, end, err);
}
