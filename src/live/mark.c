/* SPDX-License-Identifier: Apache-2.0 */
/* The running checksum of synced rows, and the age of a mark. */
#include "live/mark.h"

#include "base/crc32c.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/num.h"

#define STEP_BYTES 16384 /* on the small stack of a helper thread */

int tti_rows_crc_extend(struct tti_rows_crc *rows, const struct tti_live *live,
			uint64_t end, struct tt_error *err)
{
	uint8_t step[STEP_BYTES];
	uint64_t at, to = live->data_off + end * live->row_bytes;
	uint32_t crc;

	if (end < rows->end)
		*rows = (struct tti_rows_crc){ .from = end, .end = end };
	crc = rows->crc;
	for (at = live->data_off + rows->end * live->row_bytes; at < to;) {
		size_t n = (size_t)tti_min_u64(sizeof(step), to - at);
		int rc = tti_pread_all(live->fd, step, n, at);

		if (rc < 0)
			return tti_fail_sys(err, rc, live->path, "read of synced rows");
		crc = tti_crc32c(crc, step, n);
		at += n;
	}
	rows->crc = crc;
	rows->end = end;
	return TT_OK;
}

int tti_rows_crc_of(const struct tti_live *live, uint64_t from, uint64_t end,
		    uint32_t *out, struct tt_error *err)
{
	struct tti_rows_crc rows = { .from = from, .end = from };
	int rc = tti_rows_crc_extend(&rows, live, end, err);

	*out = rows.crc;
	return rc;
}

int tti_live_load_stamp(const struct tti_live *live, uint64_t *out)
{
	*out = 0;
	if (live->tail_words != 5)
		return TT_OK;
	if (!live->tail)
		return tti_pread_all(live->fd, out, sizeof(*out), live->tail_off + 16);
	*out = tti_stamp_load(live->tail);
	return TT_OK;
}

enum tti_mark_age tti_mark_age(const struct tti_mark *mark)
{
	uint8_t now[TTI_BOOT_ID_BYTES];

	if (tti_boot_is_zero(mark->boot_id))
		return TTI_MARK_CLOSED;
	if (tti_boot_id(now) < 0)
		return TTI_MARK_UNSURE;
	return memcmp(mark->boot_id, now, sizeof(now)) == 0 ? TTI_MARK_NOW : TTI_MARK_OLD;
}
