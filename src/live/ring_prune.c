/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting files that left the queue, for their space: when somebody asks (prune, remove) and
 * when a ring has a limit.  Invariant: nothing is made and nothing grows here, so it works on
 * a full disk; a file in the queue, or with rows that a sync still has to reach, stays; the
 * entry of a file that goes tells late readers how many rows it had. */
#include "live/ring_mark.h"
#include "live/ring_odd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/num.h"
#include "base/opts.h"

int tti_ring_fail_no_manifest(const struct tti_ring *ring, struct tt_error *err)
{
	int rc = tti_ring_refuse_odd(ring, TTI_MANIFEST_NAME, err);

	if (rc < 0)
		return rc;
	return tti_fail(err, TT_E_DAMAGED,
			"%s/%s: missing or damaged, so what left the queue is not known: "
			"open the ring for writing first, which makes it again",
			ring->path, TTI_MANIFEST_NAME);
}

/* ---- What lies there ---- */

static uint64_t bytes_of(const struct tti_ring *ring, const char *file_name)
{
	struct stat st;

	if (fstatat(ring->dirfd, file_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return 0;
	return (uint64_t)st.st_blocks * 512;
}

/* Files of rows and what begins with a dot: files being made, what was put aside.  Manifest,
 * settings and lock are there whatever is deleted. */
static bool counts(const char *name)
{
	uint64_t number;

	if (tti_ring_parse_name(name, &number) != TTI_RING_OTHER)
		return true;
	return name[0] == '.' && strcmp(name, TTI_MANIFEST_NAME) != 0 &&
	       strcmp(name, TTI_SETTINGS_NAME) != 0 &&
	       strcmp(name, TTI_RING_WRITER_NAME) != 0;
}

int tti_ring_disk_bytes(const struct tti_ring *ring, uint64_t *out, struct tt_error *err)
{
	int fd = openat(ring->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *found;
	int rc = dir ? TT_OK : -errno;

	*out = 0;
	while (dir && rc == TT_OK) {
		errno = 0;
		found = readdir(dir);
		if (!found) {
			rc = -errno;
			break;
		}
		if (counts(found->d_name))
			*out += bytes_of(ring, found->d_name);
	}
	if (dir)
		closedir(dir);
	else
		tti_close_fd(&fd);
	return rc < 0 ? tti_fail_sys(err, rc, ring->path, "list the directory") : TT_OK;
}

/* The newest mark tells how far syncs have come; they reach files in their order.  Without a
 * mark nobody promised a sync that could still be on its way: a writer that does not sync
 * removes it, whatever the ring's own policy is. */
static bool is_unsynced(const struct tti_ring *ring, const struct tti_ring_item *item,
			uint64_t rows)
{
	struct tti_mark mark;

	if (!ring->set.addr || item->merged || tti_ring_is_foreign(ring) ||
	    tti_ring_mark_load(ring, &mark) <= 0 || mark.file == 0)
		return false;
	return item->name > mark.file || (item->name == mark.file && rows > mark.end);
}

/* ---- One file ---- */

struct tti_drop {
	const struct tti_ring_item *item;
	char file_name[TTI_RING_NAME_BYTES];
	uint64_t start, end, capacity; /* 0 of a file that cannot be read */
	uint64_t shown;		       /* where it was cut, or UINT64_MAX */
	uint64_t bytes;
};

/* What a file holds.  One that is damaged can be deleted; one that could not be looked at for
 * another reason is an error. */
static int look(const struct tti_ring *ring, const struct tti_ring_item *item,
		struct tti_drop *out, struct tt_error *err)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	struct tt_error why = { TT_OK, "" };
	uint64_t idx = tti_ring_find_entry(ring, item->name);
	int rc = tti_ring_open_file(ring, item->name, item->merged, &live, &why);

	*out = (struct tti_drop){ .item = item, .shown = UINT64_MAX };
	tti_ring_format_name(out->file_name, item->name, item->merged);
	if (rc == TT_OK) {
		out->capacity = live.capacity;
		out->shown = live.shown;
		rc = tti_live_bounds(&live, &out->start, &out->end, &why);
	}
	tti_live_close(&live);
	if (rc < 0 && !tti_ring_is_incomplete(rc))
		return tti_fail(err, rc, "%s", why.text);
	if (rc < 0)
		out->start = out->end = 0;
	if (rc < 0 && idx != TTI_NO_ENTRY && !item->merged &&
	    tti_field_load(&tti_ring_entry(ring, idx)->rows) != TTI_ROWS_UNKNOWN)
		out->end = tti_field_load(&tti_ring_entry(ring, idx)->rows);
	out->bytes = bytes_of(ring, out->file_name);
	return TT_OK;
}

/* What readers that come late are told. */
static void note_rows(const struct tti_ring *ring, const struct tti_drop *drop)
{
	uint64_t idx = tti_ring_find_entry(ring, drop->item->name);

	if (idx != TTI_NO_ENTRY && !drop->item->merged && drop->end > 0 &&
	    tti_field_load(&tti_ring_entry(ring, idx)->rows) == TTI_ROWS_UNKNOWN)
		tti_field_store(&tti_ring_entry(ring, idx)->rows, drop->end);
}

static int drop_file(const struct tti_ring *ring, const struct tti_drop *drop,
		     struct tt_error *err)
{
	char path[TTI_RING_PATH_BYTES];

	note_rows(ring, drop);
	TTI_FAILPOINT("ring.prune.unlink");
	if (unlinkat(ring->dirfd, drop->file_name, 0) == 0 || errno == ENOENT)
		return TT_OK;
	return tti_fail_sys(err, -errno,
			    tti_ring_path(ring, drop->file_name, path, sizeof(path)),
			    "remove");
}

static int sync_dir(const struct tti_ring *ring, struct tt_error *err)
{
	int rc = tti_fsync_dir(ring->dirfd);

	return rc < 0 ? tti_fail_sys(err, rc, ring->path, "fsync") : TT_OK;
}

/* ---- Pruning ---- */

struct prune {
	struct tti_ring ring;
	struct tti_ring_lock lock;
	struct tti_items items;
	struct tt_ring_prune_opts opts;
	struct tt_ring_pruned result;
	struct tt_error first; /* of the files that were passed over */
	int64_t now_ns;
};

/* A file that never had a row: its name may have been given long before the last rows of the
 * file before. */
static bool is_empty(const struct prune *prune, const struct tti_ring_item *item)
{
	uint64_t idx = tti_ring_find_entry(&prune->ring, item->name), rows;
	const struct tti_entry *entry;
	struct tti_drop drop;

	if (idx == TTI_NO_ENTRY || item->merged)
		return false; /* npyt names a file as it rolls */
	entry = tti_ring_entry(&prune->ring, idx);
	rows = tti_field_load(&entry->rows);
	if (tti_field_load(&entry->first_row_ns) != INT64_MIN)
		return false;
	if (rows != TTI_ROWS_UNKNOWN)
		return rows == 0;
	return look(&prune->ring, item, &drop, NULL) == TT_OK && drop.end == 0;
}

/* No row of a file is younger than the first one of the next.  A name alone tells less: it is
 * given ahead, and a feed that was stopped then goes on in the file before. */
static int64_t followed_ns(const struct prune *prune, size_t i)
{
	for (size_t k = i + 1; k < prune->items.count; k++) {
		const struct tti_ring_item *next = &prune->items.at[k];
		int64_t first;

		if (next->shadowed || is_empty(prune, next))
			continue;
		first = tti_ring_first_row_ns(&prune->ring, next);
		return next->name <= (uint64_t)prune->now_ns
			       ? tti_max_i64(first, (int64_t)next->name)
			       : first;
	}
	return INT64_MAX;
}

static bool is_wanted(const struct prune *prune, size_t i)
{
	const struct tt_ring_prune_opts *opts = &prune->opts;

	if (opts->keep_bytes == UINT64_MAX && opts->before_ns == INT64_MIN)
		return true;
	return prune->result.left_bytes > opts->keep_bytes ||
	       (opts->before_ns != INT64_MIN && followed_ns(prune, i) < opts->before_ns &&
		/* where the clock was set back the next file seems to have begun earlier */
		tti_ring_first_row_ns(&prune->ring, &prune->items.at[i]) <
			opts->before_ns);
}

static struct tt_ring_file describe(const struct prune *prune,
				    const struct tti_drop *drop)
{
	struct tt_ring_file file = { .name = drop->item->name,
				     .start = drop->start,
				     .end = drop->end,
				     .capacity = drop->capacity,
				     .sealed = true,
				     .merged = drop->item->merged,
				     .cut = drop->shown != UINT64_MAX };

	memcpy(file.file_name, drop->file_name, sizeof(drop->file_name));
	file.cut_at = file.cut ? drop->shown : 0;
	file.first_row_ns = tti_ring_first_row_ns(&prune->ring, drop->item);
	return file;
}

/* A file that cannot be looked at or removed is told and passed over: what else goes makes
 * the room that was asked for. */
static int pass_over(struct prune *prune, const struct tti_ring_item *item,
		     const struct tt_error *why)
{
	char file_name[TTI_RING_NAME_BYTES];

	tti_ring_format_name(file_name, item->name, item->merged);
	if (prune->opts.failed)
		prune->opts.failed(prune->opts.ctx, file_name, why);
	if (prune->result.failed++ == 0)
		prune->first = *why;
	return TT_OK;
}

static int fail_passed_over(const struct prune *prune, struct tt_error *err)
{
	const struct tt_ring_pruned *result = &prune->result;

	return tti_fail(err, prune->first.code,
			"%s: %" PRIu64 " files deleted, %" PRIu64
			" passed over, the first because of %s",
			prune->ring.path, result->files, result->failed,
			prune->first.text);
}

/* What the process or the directory refuses, it refuses for every file. */
static bool is_of_all_files(int rc, bool dropping)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM ||
	       (dropping && (rc == -EACCES || rc == -EROFS));
}

static int prune_one(struct prune *prune, size_t i, struct tt_error *err)
{
	const struct tti_ring_item *item = &prune->items.at[i];
	struct tt_ring_pruned *result = &prune->result;
	struct tt_error why = { TT_OK, "" };
	struct tt_ring_file file;
	struct tti_drop drop;
	int rc;

	if (item->queued || !item->sealed || item->shadowed || !is_wanted(prune, i))
		return TT_OK;
	rc = look(&prune->ring, item, &drop, &why);
	if (rc < 0 && is_of_all_files(rc, false))
		return tti_fail(err, rc, "%s", why.text);
	if (rc < 0)
		return pass_over(prune, item, &why);
	file = describe(prune, &drop);
	/* nor what is behind it, as a merged file that is on disk: no hole among the rows */
	if (result->unsynced > 0 || is_unsynced(&prune->ring, item, drop.end)) {
		result->unsynced++;
		return TT_OK;
	}
	if (prune->opts.allow && !prune->opts.allow(prune->opts.ctx, &file)) {
		result->refused++;
		return TT_OK;
	}
	if (!prune->opts.dry_run)
		rc = drop_file(&prune->ring, &drop, &why);
	if (rc < 0 && is_of_all_files(rc, true))
		return tti_fail(err, rc, "%s", why.text);
	if (rc < 0)
		return pass_over(prune, item, &why);
	result->files++;
	result->rows += drop.end - drop.start;
	result->bytes += drop.bytes;
	result->left_bytes -= tti_min_u64(drop.bytes, result->left_bytes);
	if (prune->opts.deleted)
		prune->opts.deleted(prune->opts.ctx, &file, drop.bytes);
	return TT_OK;
}

/* A full disk may have no room even for the empty lock file.  Then nobody else can make it
 * either. */
static int lock(struct prune *prune, struct tt_error *err)
{
	struct tt_error why;
	int rc = tti_ring_lock(&prune->lock, &prune->ring, TTI_LOCK_MAINTAINER, &why);

	if (rc == -ENOSPC || rc == -EDQUOT)
		return TT_OK;
	return rc < 0 ? tti_fail(err, rc, "%s", why.text) : TT_OK;
}

static int open_prune(struct prune *prune, const char *dir, struct tt_error *err)
{
	struct tti_ring *ring = &prune->ring;
	int rc = tti_ring_open(ring, dir, !prune->opts.dry_run, err);

	if (rc == TT_OK)
		(void)tti_ring_index_entries(ring); /* without memory more slowly */
	if (rc == TT_OK && !prune->opts.dry_run)
		rc = lock(prune, err);
	if (rc == TT_OK && !ring->lock.addr)
		rc = tti_ring_fail_no_manifest(ring, err);
	if (rc == TT_OK)
		rc = tti_ring_refuse_odd(ring, TTI_SETTINGS_NAME, err);
	/* an entry that cannot be seen might tell that a file is of a merge */
	if (rc == TT_OK && !ring->set.addr && ring->set_rc != -ENOENT)
		rc = tti_fail(err, ring->set_rc,
			      "%s/%s: cannot be used (%s): open the ring for writing "
			      "first, which makes it again",
			      dir, TTI_SETTINGS_NAME, tt_strerror(ring->set_rc));
	if (rc == TT_OK)
		rc = tti_ring_list_entered(ring, &prune->items, err);
	return rc;
}

static int prune_all(struct prune *prune, struct tt_error *err)
{
	int rc = TT_OK, synced = TT_OK;

	if (!prune->opts.dry_run)
		rc = tti_ring_finish_merge(&prune->ring, &prune->items, err);
	if (rc == TT_OK)
		rc = tti_ring_disk_bytes(&prune->ring, &prune->result.left_bytes, err);
	for (size_t i = 0; rc == TT_OK && i < prune->items.count; i++)
		rc = prune_one(prune, i, err);
	if (prune->result.files > 0 && !prune->opts.dry_run)
		synced = sync_dir(&prune->ring, rc < 0 ? NULL : err);
	if (rc == TT_OK)
		rc = synced;
	return rc == TT_OK && prune->result.failed > 0 ? fail_passed_over(prune, err)
						       : rc;
}

int tt_ring_prune(const char *dir, const struct tt_ring_prune_opts *opts,
		  struct tt_ring_pruned *out, struct tt_error *err)
{
	struct prune prune = { .ring = TTI_RING_EMPTY,
			       .lock = { .fd = -1 },
			       .opts = TT_RING_PRUNE_OPTS_INIT,
			       .now_ns = tti_clock_realtime_ns() };
	int rc;

	if (out)
		*out = (struct tt_ring_pruned){ 0 };
	if (opts && !tti_take_opts(&prune.opts, sizeof(prune.opts), opts))
		return tti_fail(err, TT_E_MISUSE, "%s: options of an unknown size", dir);
	rc = open_prune(&prune, dir, err);
	if (rc == TT_OK)
		rc = prune_all(&prune, err);
	if (out)
		*out = prune.result;
	tti_items_free(&prune.items);
	tti_ring_unlock(&prune.lock);
	tti_ring_close(&prune.ring);
	return rc;
}

/* ---- Removing one ---- */

static int remove_item(const struct tti_ring *ring, const struct tti_ring_item *item,
		       struct tt_error *err)
{
	struct tti_drop drop;
	int rc;

	if (item->queued || !item->sealed)
		return tti_fail(err, TT_E_RANGE,
				"%s: file %" PRIu64
				" is in the queue: files are removed when "
				"they have left it",
				ring->path, item->name);
	rc = look(ring, item, &drop, err);
	if (rc == TT_OK)
		rc = drop_file(ring, &drop, err);
	return rc < 0 ? rc : sync_dir(ring, err);
}

int tt_ring_remove_file(const char *dir, uint64_t name, struct tt_error *err)
{
	struct prune prune = { .ring = TTI_RING_EMPTY, .lock = { .fd = -1 } };
	const struct tti_ring_item *found = NULL;
	int rc = open_prune(&prune, dir, err);

	if (rc == TT_OK)
		rc = tti_ring_finish_merge(&prune.ring, &prune.items, err);
	if (rc == TT_OK)
		found = tti_items_find(&prune.items, name);
	if (rc == TT_OK)
		rc = found ? remove_item(&prune.ring, found, err)
			   : tti_fail(err, -ENOENT, "%s: no file %" PRIu64 " in it", dir,
				      name);
	tti_items_free(&prune.items);
	tti_ring_unlock(&prune.lock);
	tti_ring_close(&prune.ring);
	return rc;
}

/* ---- A limit ---- */

static bool is_made(const struct tti_ring *ring)
{
	return bytes_of(ring, TTI_RING_NEXT_NAME) > 0;
}

/* Oldest first until what lies there and the next file fit. */
static void drop_until_fits(struct tti_ring *ring, struct tti_items *items,
			    uint64_t next_bytes, uint64_t *total)
{
	uint64_t limit = ring->settings.max_bytes;

	for (size_t i = 0; i < items->count; i++) {
		const struct tti_ring_item *item = &items->at[i];
		struct tti_drop drop;

		if (*total + next_bytes <= limit)
			return;
		if (item->queued || !item->sealed || look(ring, item, &drop, NULL) < 0 ||
		    is_unsynced(ring, item, drop.end))
			continue;
		TTI_FAILPOINT("ring.limit.unlink");
		if (drop_file(ring, &drop, NULL) == TT_OK)
			*total -= tti_min_u64(drop.bytes, *total);
	}
}

int tti_ring_keep_under_limit(struct tti_ring *ring, int writer_fd, uint64_t next_bytes,
			      struct tt_error *err)
{
	uint64_t limit = ring->settings.max_bytes, total = 0;
	tti_auto_items items = { 0 };
	int rc;

	if (limit == 0)
		return TT_OK;
	rc = tti_ring_disk_bytes(ring, &total, err);
	if (rc == TT_OK && is_made(ring))
		next_bytes = 0;
	if (rc < 0 || total + next_bytes <= limit)
		return rc;
	rc = tti_ring_list(ring, &items, err);
	if (rc < 0)
		return rc;
	if (tti_lock_try(writer_fd, TTI_LOCK_MAINTAINER) < 0)
		return 1; /* a merge that runs meanwhile is not disturbed */
	drop_until_fits(ring, &items, next_bytes, &total);
	tti_lock_drop(writer_fd, TTI_LOCK_MAINTAINER);
	if (total + next_bytes <= limit)
		return TT_OK;
	return tti_fail(err, TT_E_FULL,
			"%s: %" PRIu64 " bytes on disk and %" PRIu64
			" for the next file are over its limit of %" PRIu64
			", and what is left may not be deleted (the queue, files put "
			"aside): raise --max-bytes, or remove .bad and .cut files",
			ring->path, total, next_bytes, limit);
}
