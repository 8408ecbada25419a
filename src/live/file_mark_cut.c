/* SPDX-License-Identifier: Apache-2.0 */
/* Going by FILE.mark after a power loss: what may be shown, what is cut, what verify says. */
#include "live/file_mark_slot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/fs.h"
#include "base/num.h"
#include "live/cut_rows.h"
#include "live/file.h"

/* The mark of another boot, and what it says of the file is true: rows behind it are not
 * proven.  Another's content under the same inode fails here, and is let alone. */
static bool is_waiting(const struct tti_live *live, const struct tti_mark_found *found)
{
	const struct tti_mark *mark = &found->slot.mark;
	uint64_t stamp = 0;
	uint32_t crc = 0;

	if (!found->sure || tti_mark_age(mark) != TTI_MARK_OLD ||
	    mark->end > live->capacity || tti_live_load_stamp(live, &stamp) < 0 ||
	    !tti_stamp_is_ours(stamp) ||
	    stamp < (mark->update_timestamp & ~TTI_STAMP_MASK))
		return false;
	return mark->from == mark->end ||
	       (tti_rows_crc_of(live, mark->from, mark->end, &crc, NULL) == TT_OK &&
		crc == mark->rows_crc);
}

static bool load_of(const struct tti_place *place, const struct tti_live *live,
		    struct tti_mark_found *found)
{
	tti_auto_fd fd = tti_mark_slot_open(place, O_RDONLY);

	return fd >= 0 && tti_mark_slot_pick(fd, live, found) == 1;
}

static bool load(const struct tt_file *file, struct tti_mark_found *found)
{
	return load_of(&file->place, &file->live, found);
}

/* No mark proves rows: those of before this boot from *row_out on may be anything.  Others than
 * ours are never cut.  found: NULL when there is no mark. */
static bool is_unproven(const struct tti_live *live, const struct tti_mark_found *found,
			uint64_t *row_out)
{
	const struct tti_mark *mark = found ? &found->slot.mark : NULL;
	struct timespec up;
	uint64_t stamp = 0;

	if (tti_live_load_stamp(live, &stamp) < 0 || stamp == 0 ||
	    !tti_stamp_is_ours(stamp))
		return false;
	*row_out = mark ? mark->end : 0;
	/* a file that was closed may have been written to since, and the mark of that was lost */
	if (mark && (found->sure || tti_mark_age(mark) != TTI_MARK_CLOSED ||
		     stamp <= mark->update_timestamp))
		return tti_mark_age(mark) == TTI_MARK_OLD;
	return clock_gettime(CLOCK_BOOTTIME, &up) == 0 &&
	       (int64_t)stamp < tti_clock_realtime_ns() -
					(int64_t)up.tv_sec * 1000000000 - up.tv_nsec;
}

bool tti_file_mark_waits(const struct tti_place *place, const struct tti_live *live,
			 bool cut_unproven, uint64_t *end_out)
{
	struct tti_mark_found found;
	bool has = live->tail_words == 5 && load_of(place, live, &found);
	uint64_t row = live->end, from;

	if (place->in_ring || live->tail_words != 5)
		return false;
	if (has && is_waiting(live, &found))
		row = found.slot.mark.end;
	else if (cut_unproven && is_unproven(live, has ? &found : NULL, &from))
		row = tti_min_u64(from, live->end);
	*end_out = row;
	return row != live->end;
}

void tti_file_mark_limit(struct tt_file *file)
{
	struct tti_mark_found found;

	file->live.shown = UINT64_MAX;
	if (file->place.in_ring || file->live.tail_words != 5 || !load(file, &found) ||
	    !is_waiting(&file->live, &found))
		return;
	file->marker.sequence = found.slot.mark.sequence;
	file->live.shown = found.slot.mark.end;
	file->live.end = tti_min_u64(file->live.end, file->live.shown);
	file->live.limit = file->live.end;
}

/* The mark is another one, or none, once a writer has cut what is behind it; npyt, which knows
 * no marks, leaves its stamp. */
void tti_file_mark_look(const struct tt_file *file)
{
	struct tti_mark_found found;
	uint64_t stamp = 0;

	if (load(file, &found) && found.slot.mark.sequence == file->marker.sequence &&
	    tti_live_load_stamp(&file->live, &stamp) == TT_OK && tti_stamp_is_ours(stamp))
		return;
	/* only a reader's own handle is ever limited, and none of those is constant */
	tti_file_mark_limit((struct tt_file *)(uintptr_t)file);
}

static void say(struct tti_live *live, const char *fmt, ...) TTI_PRINTF(2, 3);
static void say(struct tti_live *live, const char *fmt, ...)
{
	size_t len = strlen(live->repaired);
	va_list ap;

	if (len > 0 && len + 3 < sizeof(live->repaired))
		len += (size_t)snprintf(live->repaired + len,
					sizeof(live->repaired) - len, "; ");
	va_start(ap, fmt);
	vsnprintf(live->repaired + len, sizeof(live->repaired) - len, fmt, ap);
	va_end(ap);
}

static int cut(struct tt_file *file, uint64_t row, struct tt_error *err)
{
	struct tti_live *live = &file->live;
	char name[TTI_CUT_NAME_BYTES], tmp[TTI_MARK_NAME_BYTES + 16];
	const struct tti_cut what = { .dirfd = file->place.dirfd,
				      .name = file->place.name,
				      .tmp = tmp,
				      .from = live,
				      .row = row };
	uint64_t start, count;
	struct tt_error why;
	int rc = tti_live_bounds(live, &start, &live->end, err);

	if (rc < 0 || live->end <= row)
		return rc;
	count = live->end - row;
	snprintf(tmp, sizeof(tmp), ".%s.cut.tmp", file->place.name);
	rc = tti_cut_save(&what, name, &why);
	if (rc < 0) /* rows that follow would take their place */
		return tti_fail(err, rc,
				"%s: %" PRIu64 " rows that were not synced before the "
				"power loss are to be cut, and cannot be kept: %s; or "
				"take them as they are: remove %s.mark",
				live->path, count, why.text, file->place.name);
	say(live,
	    "%" PRIu64 " rows that were not synced before the power loss were cut, now "
	    "%s",
	    count, name);
	TTI_FAILPOINT("file.mark.saved");
	if (start > row)
		rc = tti_live_put_word(live, 0, row);
	if (rc == TT_OK)
		rc = tti_live_publish(live, row);
	if (rc == TT_OK && fdatasync(live->fd) < 0)
		rc = -errno;
	TTI_FAILPOINT("file.mark.lowered");
	return rc < 0 ? tti_fail_sys(err, rc, live->path, "lower its end") : TT_OK;
}

/* The tail fell behind what was synced: the mark, which has a checksum, was stored after it. */
static int raise_end(struct tt_file *file, const struct tti_mark *mark,
		     struct tt_error *err)
{
	struct tti_live *live = &file->live;
	int rc;

	rc = tti_live_publish(live, mark->end);
	if (rc == TT_OK && fdatasync(live->fd) < 0)
		rc = -errno;
	say(live, "its end was behind its mark and was set to %" PRIu64, mark->end);
	return rc < 0 ? tti_fail_sys(err, rc, live->path, "raise its end") : TT_OK;
}

/* A mark of this boot, or of a file that was closed, says nothing of power; but an end that
 * differs from it was changed by nobody who writes. */
static int hold_end(struct tt_file *file, const struct tti_mark *mark,
		    struct tt_error *err)
{
	struct tti_live *live = &file->live;
	enum tti_mark_age age = tti_mark_age(mark);
	int rc;

	if ((age != TTI_MARK_NOW && age != TTI_MARK_CLOSED) ||
	    !tti_mark_is_of(mark, live))
		return TT_OK;
	if (mark->end > live->end)
		return raise_end(file, mark, err);
	if (!tti_mark_is_passed(mark, live))
		return TT_OK;
	say(live,
	    "its end, %" PRIu64 ", was past where it was closed, %" PRIu64
	    ", with nothing between",
	    live->end, mark->end);
	rc = tti_live_publish(live, mark->end);
	if (rc == TT_OK && fdatasync(live->fd) < 0)
		rc = -errno;
	return rc < 0 ? tti_fail_sys(err, rc, live->path, "lower its end") : TT_OK;
}

static int recover(struct tt_file *file, const struct tti_mark_found *found,
		   struct tt_error *err)
{
	const struct tti_mark *mark = &found->slot.mark;
	struct tti_live *live = &file->live;
	bool is_old = tti_mark_age(mark) == TTI_MARK_OLD, unproven;
	uint64_t row;

	if (is_old && is_waiting(live, found))
		return mark->end > live->end ? raise_end(file, mark, err)
					     : cut(file, mark->end, err);
	unproven = is_unproven(live, found, &row);
	if (!is_old && !unproven)
		return hold_end(file, mark, err);
	if (file->hints.cut_unproven && unproven)
		return cut(file, row, err);
	say(live, "unproven after a reboot: %s",
	    found->sure ? "not the rows that were synced"
			: "a slot of its mark was damaged");
	return TT_OK;
}

/* Gone, or, where nothing can be removed, without a word. */
static int withdraw(struct tt_file *file, int fd, struct tt_error *err)
{
	static const uint8_t zero[TTI_MARK_FILE_BYTES];
	char name[TTI_MARK_NAME_BYTES];
	int rc, unlinked;

	tti_mark_slot_name(name, &file->place);
	TTI_FAILPOINT("file.mark.before_remove");
	unlinked = unlinkat(file->place.dirfd, name, 0) < 0 ? -errno : TT_OK;
	if (unlinked == TT_OK)
		return tti_place_sync(&file->place, err);
	rc = tti_pwrite_all(fd, zero, sizeof(zero), 0);
	if (rc == TT_OK && fdatasync(fd) < 0)
		rc = -errno;
	if (rc == -EBADF) /* it could be opened for reading only */
		rc = unlinked;
	return rc < 0 ? tti_fail_sys(err, rc, file->place.path,
				     "its .mark can neither be removed nor changed, and "
				     "would be wrong after a write")
		      : TT_OK;
}

int tti_file_mark_open(struct tt_file *file, bool keep, struct tt_error *err)
{
	tti_auto_fd fd = tti_mark_slot_open(&file->place, O_RDWR);
	struct tti_mark_found found = { .is_ours = false };
	bool has = false;
	uint64_t row;
	int rc = TT_OK;

	if (fd == -EACCES || fd == -EROFS)
		fd = tti_mark_slot_open(&file->place, O_RDONLY);
	if (fd == -EACCES) /* what it says would be wrong after a write */
		return tti_fail(err, fd,
				"%s.mark: may not be read: who may write to a file that "
				"is synced must be able to read its mark",
				file->place.path);
	if (fd >= 0) {
		rc = tti_mark_slot_pick(fd, &file->live, &found);
		if (rc < 0)
			return tti_fail_sys(err, rc, file->place.path, "read its mark");
		has = rc == 1;
		if (has)
			rc = recover(file, &found, err);
		if (rc < 0)
			return rc;
	}
	if (!has && file->hints.cut_unproven && file->live.tail_words == 5 &&
	    is_unproven(&file->live, NULL, &row))
		rc = cut(file, row, err);
	if (rc < 0)
		return rc;
	if (keep && file->live.tail_words == 5) {
		tti_live_stamp(&file->live); /* ours, whoever wrote before */
		tti_file_mark_before(file);
		if (fdatasync(file->live.fd) < 0)
			return tti_fail_sys(err, -errno, file->place.path, "fdatasync");
		rc = tti_file_mark(file, file->live.end, err);
		if (rc < 0 || file->marker.fd >= 0)
			return rc;
	}
	return found.is_ours ? withdraw(file, fd, err) : TT_OK;
}

/* ---- verify ---- */

/* Of slots that are damaged: a store that is on its way is seen whole by and by. */
static int pick_at_rest(int fd, const struct tti_live *live, struct tti_mark_found *out)
{
	int rc = 0;

	for (int tries = 0; tries < 100; tries++) {
		rc = tti_mark_slot_pick(fd, live, out);
		if (rc < 0 || out->sure)
			break;
	}
	return rc;
}

static void tell_slots(const struct tti_mark_found *found, enum tti_mark_age age,
		       tti_mark_tell_fn *fn, void *ctx)
{
	char what[TTI_MARK_WORDS];

	for (unsigned i = 0; i < TTI_MARK_SLOTS; i++) {
		if (!found->damaged[i])
			continue;
		snprintf(what, sizeof(what), "slot %u, at byte %u, is damaged%s", i,
			 i * TTI_SETTINGS_STRIDE,
			 age == TTI_MARK_OLD
				 ? ", so nothing tells which rows were synced last "
				   "before the reboot"
				 : ": 'ticktail recover', or the next writer that "
				   "syncs, stores it anew");
		fn(ctx, what, age);
	}
}

void tti_file_mark_verify(const struct tti_place *place, const struct tti_live *live,
			  tti_mark_tell_fn *fn, void *ctx)
{
	tti_auto_fd fd = tti_mark_slot_open(place, O_RDONLY);
	struct tti_mark_found found, again;
	char what[TTI_MARK_WORDS];
	uint64_t row;
	int rc;

	if (fd < 0 || place->in_ring || live->tail_words != 5)
		return;
	rc = pick_at_rest(fd, live, &found);
	if (rc < 0)
		return;
	tell_slots(&found,
		   rc == 1 && is_unproven(live, &found, &row) ? TTI_MARK_OLD
							      : TTI_MARK_UNSURE,
		   fn, ctx);
	if (rc == 1 && !tti_mark_judge(&found.slot.mark, live, what) &&
	    tti_mark_slot_pick(fd, live, &again) == 1 &&
	    again.slot.mark.sequence == found.slot.mark.sequence)
		fn(ctx, what, tti_mark_age(&found.slot.mark));
}
