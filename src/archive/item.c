/* SPDX-License-Identifier: Apache-2.0 */
/* One file of a source: read by pread, so that a bad sector or a file cut short is an error
 * and not a signal, and watched for change.  Invariant: rows are only taken from the inode
 * that was looked at first. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/sources.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/num.h"

#define DIGEST_STEP ((size_t)1 << 20)

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int changed(const struct tti_item *item, const char *what, struct tt_error *err)
{
	return tti_fail(
		err, TT_E_CHANGED,
		"%s: %s while it was being archived; nothing was committed, run it again",
		item->path, what);
}

static int removed(const struct tti_item *item, struct tt_error *err)
{
	return changed(item, "the file was removed", err);
}

static int open_handle(struct tti_item *item, struct tt_error *err)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;

	opts.plain = true;
	opts.by_pread = true;
	return tt_file_open(&item->handle, item->path, &opts, err);
}

int tti_item_open(struct tti_item *item, struct tt_error *err)
{
	struct stat now;
	int rc;

	if (item->fd >= 0)
		return TT_OK;
	item->fd = tti_open_regular(AT_FDCWD, item->path, O_RDONLY, item->path, err);
	if (item->fd < 0) {
		rc = item->fd;
		item->fd = -1;
		return rc == -ENOENT ? removed(item, err) : rc;
	}
	if (fstat(item->fd, &now) < 0)
		rc = tti_fail_sys(err, -errno, item->path, "fstat");
	else if (!same_inode(&now, &item->stat))
		rc = changed(item, "the file was replaced", err);
	else
		rc = item->fortran_order ? open_handle(item, err) : TT_OK;
	if (rc == -ENOENT)
		rc = removed(item, err);
	if (rc < 0)
		tti_item_close(item);
	return rc;
}

void tti_item_close(struct tti_item *item)
{
	tti_close_fd(&item->fd);
	tt_file_close(item->handle);
	item->handle = NULL;
}

int tti_item_read(struct tti_item *item, uint64_t row, uint64_t count, void *out)
{
	uint64_t at = row + item->moved;
	int rc;

	if (!item->fortran_order)
		return tti_pread_all(item->fd, out, count * item->row_bytes,
				     item->data_off + at * item->row_bytes);
	pthread_mutex_lock(&item->lock);
	rc = tt_file_copy(item->handle, at - item->path_start, count, out, NULL);
	pthread_mutex_unlock(&item->lock);
	return rc;
}

/* The words of a live file move with every append; a plain file has only its times. */
static int words_unchanged(const struct tti_item *item, bool was_cut,
			   struct tt_error *err)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file_info info;
	struct tt_file *file;
	int rc;

	opts.plain = true;
	opts.by_pread = true;
	rc = tt_file_open(&file, item->path, &opts, err);
	if (rc < 0)
		return rc == -ENOENT ? removed(item, err) : rc;
	rc = tt_file_info(file, &info, err);
	if (rc == TT_OK && (info.start != item->path_start || info.end != item->path_end))
		rc = changed(item, "rows were appended or removed", err);
	else if (rc == TT_OK && info.update_timestamp != item->update_timestamp &&
		 !(was_cut && info.capacity == info.end))
		rc = changed(item, "rows were changed", err);
	else if (rc == TT_OK && info.data_off != item->data_off)
		rc = changed(item, "its header was made longer", err);
	tt_file_close(file);
	return rc;
}

int tti_item_unchanged(const struct tti_item *item, struct tt_error *err)
{
	const struct stat *then = &item->stat;
	struct stat now;
	bool was_cut;

	if (stat(item->path, &now) < 0)
		return errno == ENOENT ? removed(item, err)
				       : tti_fail_sys(err, -errno, item->path, "stat");
	if (!same_inode(&now, then))
		return changed(item, "the file was replaced", err);
	/* npyt cuts the room behind the rows of a file that leaves its queue, which is also
	 * a new time stamp */
	was_cut = item->in_ring && now.st_size < then->st_size;
	if (now.st_size != then->st_size && !was_cut)
		return changed(item, "its size changed", err);
	if (item->tail_words == 0 &&
	    (memcmp(&now.st_mtim, &then->st_mtim, sizeof(now.st_mtim)) != 0 ||
	     memcmp(&now.st_ctim, &then->st_ctim, sizeof(now.st_ctim)) != 0))
		return changed(item, "it was written to", err);
	return words_unchanged(item, was_cut, err);
}

static int hash_rows(struct tti_item *item, struct tti_hasher *hasher,
		     struct tti_range rows, void *buffer)
{
	uint64_t step = DIGEST_STEP / item->row_bytes + 1;
	int rc = TT_OK;

	while (rc == TT_OK && rows.first < rows.end) {
		uint64_t n = tti_min_u64(rows.end - rows.first, step);

		rc = tti_item_read(item, rows.first, n, buffer);
		if (rc == TT_OK)
			rc = tti_hasher_update(hasher, buffer, n * item->row_bytes);
		rows.first += n;
	}
	return rc;
}

int tti_item_digest(struct tti_item *item, struct tti_hasher *hasher,
		    struct tti_range rows, struct tti_digest *out, struct tt_error *err)
{
	uint64_t step =
		tti_min_u64(rows.end - rows.first, DIGEST_STEP / item->row_bytes + 1);
	uint64_t bytes;
	tti_auto_free void *buffer = NULL;
	int rc;

	if (!tti_mul_overflow(step, item->row_bytes, &bytes))
		buffer = malloc(bytes);
	if (!buffer)
		return tti_fail(err, -ENOMEM,
				"%s: row of %" PRIu64 " bytes: out of memory", item->path,
				item->row_bytes);
	rc = tti_hasher_begin(hasher);
	if (rc == TT_OK)
		rc = hash_rows(item, hasher, rows, buffer);
	if (rc == TT_OK)
		rc = tti_hasher_end(hasher, 0, NULL, out);
	if (rc == -ENODATA)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: the file ends before row %" PRIu64, item->path,
				rows.end);
	return rc < 0 ? tti_fail_sys(err, rc, item->path, "reading rows") : TT_OK;
}
