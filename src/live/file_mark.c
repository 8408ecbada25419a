/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping FILE.mark: storing marks, and its name.  What it is for is in file_mark_cut.c. */
#include "live/file_mark_slot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/failpoint.h"
#include "base/fs.h"
#include "base/num.h"
#include "live/file.h"

#define SUMMED_BYTES ((uint64_t)1 << 20) /* of the rows that are there at open */

/* ---- storing ---- */

static int store(const struct tt_file *file, struct tti_file_marker *marker,
		 const struct tti_live *live, const struct tti_mark *mark,
		 struct tt_error *err)
{
	struct tti_file_mark slot = tti_mark_slot_identity(live);
	int rc;

	slot.mark = *mark;
	slot.mark.sequence = marker->sequence + 1;
	tti_mark_seal(&slot.mark);
	slot.crc = tti_mark_slot_crc(slot);
	TTI_FAILPOINT("file.mark.before_store");
	rc = tti_pwrite_all(marker->fd, &slot, sizeof(slot),
			    slot.mark.sequence % TTI_MARK_SLOTS * TTI_SETTINGS_STRIDE);
	TTI_FAILPOINT("file.mark.stored");
	if (rc == TT_OK && fdatasync(marker->fd) < 0)
		rc = -errno;
	if (rc < 0)
		return tti_fail_sys(err, rc, file->place.path, "store its mark");
	marker->sequence = slot.mark.sequence;
	return TT_OK;
}

/* A FILE.mark that speaks of no file, whole and on disk.  -EEXIST never: another's file of that
 * name is refused before. */
static int make(struct tt_file *file, struct tt_error *err)
{
	const struct tti_file_mark first = tti_mark_slot_first();
	uint8_t bytes[TTI_MARK_FILE_BYTES] = { 0 };
	char name[TTI_MARK_NAME_BYTES], tmp[TTI_MARK_NAME_BYTES + 8];
	tti_auto_fd dir =
		openat(file->place.dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	memcpy(bytes + first.mark.sequence % TTI_MARK_SLOTS * TTI_SETTINGS_STRIDE, &first,
	       sizeof(first));
	tti_mark_slot_name(name, &file->place);
	snprintf(tmp, sizeof(tmp), ".%s.tmp", name);
	if (dir < 0)
		return -errno;
	if (unlinkat(dir, tmp, 0) < 0 && errno != ENOENT)
		return -errno;
	rc = tti_fs_put(dir,
			&(struct tti_put_file){ .tmp = tmp,
						.name = name,
						.bytes = bytes,
						.n = sizeof(bytes),
						.mode = 0644 },
			err);
	TTI_FAILPOINT("file.mark.made");
	return rc;
}

/* Both slots were damaged, or emptied by who could not remove them. */
static int store_first(struct tt_file *file, struct tt_error *err)
{
	const struct tti_file_mark first = tti_mark_slot_first();
	struct tti_file_marker *marker = &file->marker;
	int rc = tti_pwrite_all(marker->fd, &first, sizeof(first),
				first.mark.sequence % TTI_MARK_SLOTS *
					TTI_SETTINGS_STRIDE);

	if (rc == TT_OK && fdatasync(marker->fd) < 0)
		rc = -errno;
	if (rc < 0)
		return tti_fail_sys(err, rc, file->place.path, "store its mark");
	marker->sequence = first.mark.sequence;
	return TT_OK;
}

static int open_to_store(struct tt_file *file, struct tt_error *err)
{
	struct tti_file_marker *marker = &file->marker;
	struct tti_mark_found found;
	struct stat st;
	int rc;

	marker->fd = tti_mark_slot_open(&file->place, O_RDWR);
	if (marker->fd == -ENOENT) {
		rc = make(file, err);
		if (rc < 0)
			return rc;
		marker->fd = tti_mark_slot_open(&file->place, O_RDWR);
	}
	if (marker->fd < 0)
		return marker->fd;
	rc = tti_mark_slot_pick(marker->fd, &file->live, &found);
	if (rc == 0 && !found.is_ours &&
	    (fstat(marker->fd, &st) < 0 || st.st_size != TTI_MARK_FILE_BYTES))
		return tti_fail(err, TT_E_FORMAT,
				"%s.mark: is no mark of ours: move it away, or write "
				"without syncs",
				file->place.path);
	marker->sequence = found.last;
	return rc < 0 ? rc : found.last ? TT_OK : store_first(file, err);
}

/* Sync what is there and store the first mark of a handle that keeps marks. */
static int begin(struct tt_file *file, struct tt_error *err)
{
	struct tti_file_marker *marker = &file->marker;
	struct tt_error why = { TT_OK, "" };
	int rc = tti_boot_id(marker->boot_id);

	if (rc < 0)
		return 0; /* no marks: see tti_boot_id() */
	rc = open_to_store(file, &why);
	if (rc == TT_OK) {
		uint64_t end = file->live.end,
			 most = tti_max_u64(SUMMED_BYTES / file->live.row_bytes, 1),
			 from = end - tti_min_u64(end, most);

		marker->rows = (struct tti_rows_crc){ .from = from, .end = from };
		return 1;
	}
	if (marker->fd >= 0)
		tti_close_fd(&marker->fd);
	marker->fd = -1;
	if (rc == -EACCES || rc == -EPERM || rc == -EROFS || rc == -ENAMETOOLONG)
		return 0; /* a directory that it may not write */
	return why.text[0] ? tti_fail(err, rc, "%s", why.text)
			   : tti_fail_sys(err, rc, file->place.path, "its mark");
}

/* The caller holds the marker's lock. */
static int put(struct tt_file *file, uint64_t end, bool closed, struct tt_error *err)
{
	struct tti_file_marker *marker = &file->marker;
	struct tti_mark mark = { .end = end, .update_timestamp = marker->stamp };
	int rc;

	if (marker->restart > marker->rows.from ||
	    !tti_stamp_is_ours(mark.update_timestamp)) {
		uint64_t from =
			tti_min_u64(tti_max_u64(marker->restart, marker->rows.end), end);

		marker->rows = (struct tti_rows_crc){ .from = from, .end = from };
	}
	rc = tti_rows_crc_extend(&marker->rows, &file->live, end, err);
	if (rc < 0)
		return rc;
	mark.from = marker->rows.from;
	mark.rows_crc = marker->rows.crc;
	if (!closed)
		memcpy(mark.boot_id, marker->boot_id, sizeof(mark.boot_id));
	return store(file, marker, &file->live, &mark, err);
}

void tti_file_mark_before(struct tt_file *file)
{
	uint64_t stamp = 0;

	tti_live_load_stamp(&file->live, &stamp);
	pthread_mutex_lock(&file->marker.lock);
	file->marker.stamp = stamp;
	pthread_mutex_unlock(&file->marker.lock);
}

int tti_file_mark(struct tt_file *file, uint64_t end, struct tt_error *err)
{
	struct tti_file_marker *marker = &file->marker;
	int rc = TT_OK;

	if (!file->appendable || file->live.tail_words != 5)
		return TT_OK;
	pthread_mutex_lock(&marker->lock);
	if (marker->fd < 0)
		rc = begin(file, err);
	if (rc >= 0 && marker->fd >= 0 && !marker->moving)
		rc = put(file, end, false, err);
	pthread_mutex_unlock(&marker->lock);
	return rc < 0 ? rc : TT_OK;
}

int tti_file_mark_changing(struct tt_file *file, uint64_t row, struct tt_error *err)
{
	struct tti_file_marker *marker = &file->marker;
	struct tti_mark mark = { 0 };
	int rc = TT_OK;

	pthread_mutex_lock(&marker->lock);
	if (marker->fd >= 0 && row < marker->rows.end &&
	    marker->rows.from < marker->rows.end) {
		mark.from = mark.end = marker->rows.end;
		marker->rows = (struct tti_rows_crc){ .from = mark.end, .end = mark.end };
		memcpy(mark.boot_id, marker->boot_id, sizeof(mark.boot_id));
		mark.update_timestamp = marker->stamp;
		rc = store(file, marker, &file->live, &mark, err);
	}
	marker->restart = file->live.end;
	pthread_mutex_unlock(&marker->lock);
	return rc;
}

int tti_file_mark_copy(struct tt_file *file, const struct tti_live *copy,
		       struct tt_error *err)
{
	struct tti_file_marker *marker = &file->marker;
	struct tti_mark mark = { .from = copy->end, .end = copy->end };
	int rc = TT_OK;

	pthread_mutex_lock(&marker->lock);
	if (marker->fd >= 0) {
		memcpy(mark.boot_id, marker->boot_id, sizeof(mark.boot_id));
		marker->rows =
			(struct tti_rows_crc){ .from = mark.from, .end = mark.end };
		marker->restart = 0;
		marker->moving = true;
		rc = tti_live_load_stamp(copy, &mark.update_timestamp);
		marker->stamp = mark.update_timestamp;
		if (rc == TT_OK)
			rc = store(file, marker, copy, &mark, err);
	}
	TTI_FAILPOINT("file.mark.copy_marked");
	pthread_mutex_unlock(&marker->lock);
	return rc;
}

void tti_file_mark_moved(struct tt_file *file)
{
	pthread_mutex_lock(&file->marker.lock);
	file->marker.moving = false;
	pthread_mutex_unlock(&file->marker.lock);
}

void tti_file_marker_init(struct tti_file_marker *marker)
{
	*marker = (struct tti_file_marker){ .fd = -1 };
	pthread_mutex_init(&marker->lock, NULL);
}

void tti_file_mark_close(struct tt_file *file)
{
	struct tti_file_marker *marker = &file->marker;

	if (marker->fd >= 0 && file->live.fd >= 0 && !file->lost) {
		tti_file_mark_before(file);
		if (fdatasync(file->live.fd) == 0)
			put(file, file->live.end, true, NULL);
	}
	if (marker->fd >= 0)
		tti_close_fd(&marker->fd);
	pthread_mutex_destroy(&marker->lock);
}

/* ---- names ---- */

void tti_file_mark_rename(const struct tti_place *from, const struct tti_place *to)
{
	char old[TTI_MARK_NAME_BYTES], name[TTI_MARK_NAME_BYTES];

	tti_mark_slot_name(old, from);
	tti_mark_slot_name(name, to);
	tti_file_mark_remove(to); /* of a file that is gone */
	tti_rename_new(from->dirfd, old, to->dirfd, name);
}

void tti_file_mark_remove(const struct tti_place *place)
{
	char name[TTI_MARK_NAME_BYTES];
	tti_auto_fd fd = tti_mark_slot_open(place, O_RDONLY);
	uint64_t magic = 0;

	tti_mark_slot_name(name, place);
	for (unsigned i = 0; fd >= 0 && i < TTI_MARK_SLOTS; i++)
		if (tti_pread_all(fd, &magic, 8, i * TTI_SETTINGS_STRIDE) == TT_OK &&
		    magic == TTI_FILE_MARK_MAGIC)
			unlinkat(place->dirfd, name, 0);
}
