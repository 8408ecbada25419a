/* SPDX-License-Identifier: Apache-2.0 */
/* Appending to and updating a single live file.  Invariant: readers are woken after the word
 * they sleep on has changed. */
#include "live/file.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>
#include "base/error.h"
#include "base/failpoint.h"
#include "live/futex.h"

#define STAMP_EVERY 256 /* publishes without a wake-up between two looks at the clock */

/* A wake-up is a system call; beside it the clock costs nothing.  A writer that wakes nobody
 * looks at it now and then only. */
static void after_publish(struct tt_file *file)
{
	if (file->wake_never || !file->live.tail) {
		if (++file->publishes % STAMP_EVERY == 0)
			tti_live_stamp(&file->live);
		return;
	}
	tti_live_stamp(&file->live);
	tti_futex_wake(tti_end_futex(file->live.tail));
}

int tt_file_append(struct tt_file *file, const void *rows, uint64_t count)
{
	int rc;

	if (TTI_UNLIKELY(!file->appendable))
		return TT_E_MISUSE;
	rc = tti_live_append(&file->live, rows, count, file->clean_rows);
	if (TTI_LIKELY(rc == TT_OK && count > 0))
		after_publish(file);
	return rc;
}

void *tt_file_reserve(struct tt_file *file, uint64_t count)
{
	struct tti_live *live = &file->live;

	if (!file->appendable || count > tti_live_room(live))
		return NULL;
	return live->rows + live->end * live->row_bytes;
}

int tt_file_publish(struct tt_file *file, uint64_t count)
{
	struct tti_live *live = &file->live;
	int rc;

	if (TTI_UNLIKELY(!file->appendable || count > tti_live_room(live)))
		return TT_E_MISUSE;
	if (TTI_UNLIKELY(count == 0))
		return TT_OK;
	if (live->has_padding && !file->clean_rows)
		tti_live_clear_padding(live, live->rows + live->end * live->row_bytes,
				       count);
	TTI_FAILPOINT("file.publish.before");
	rc = tti_live_publish(live, live->end + count);
	if (TTI_LIKELY(rc == TT_OK))
		after_publish(file);
	return rc;
}

int tt_file_update(struct tt_file *file, uint64_t index, const void *rows, uint64_t count,
		   struct tt_error *err)
{
	struct tti_live *live = &file->live;
	uint64_t start, end;
	int rc;

	if (!live->writable)
		return tti_fail(err, TT_E_MISUSE, "%s: opened for reading only",
				live->path);
	rc = tti_live_bounds(live, &start, &end, err);
	if (rc < 0)
		return rc;
	if (index > end - start || count > end - start - index)
		return tti_fail(err, TT_E_RANGE,
				"%s: rows %" PRIu64 " to %" PRIu64
				" are not there to be updated; "
				"it has %" PRIu64 " rows",
				live->path, index, index + count, end - start);
	rc = tti_live_update(live, start + index, rows, count, file->clean_rows);
	return rc < 0 ? tti_fail_sys(err, rc, live->path, "update") : TT_OK;
}

int tt_file_sync(struct tt_file *file, struct tt_error *err)
{
	if (fdatasync(file->live.fd) < 0)
		return tti_fail_sys(err, -errno, file->live.path, "fdatasync");
	return TT_OK;
}
