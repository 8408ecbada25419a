/* SPDX-License-Identifier: Apache-2.0 */
/* Reports, cut bytes and mended copies: what recovering a file and a ring share.
 * Invariant: see recover.h; each step is on disk before the next. */
#include "live/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "base/failpoint.h"
#include "base/fs.h"
#include "base/num.h"
#include "base/opts.h"
#include "live/file.h"
#include "live/live_file.h"

#define BLOCK (1u << 20)
/* Room for more rows that only a header asks for, with no tail to agree, is given up to here. */
#define TRUSTED_BYTES (UINT64_C(64) << 20)

/* ---- Reports ---- */

struct tt_recover_item *tti_recover_say(struct tt_recover_report *report,
					const char *path, enum tt_recover_did did,
					const char *what,
					const struct tti_salvage *salvage)
{
	struct tt_recover_item *items = reallocarray(
		report->items, report->item_count + 1, sizeof(*report->items));
	struct tt_recover_item *item;

	if (!items)
		return NULL;
	report->items = items;
	item = &items[report->item_count];
	*item = (struct tt_recover_item){ .path = strdup(path),
					  .what = strdup(what),
					  .did = did };
	if (!item->path || !item->what) {
		free(item->path);
		free(item->what);
		return NULL;
	}
	if (salvage) {
		item->has_rows = true;
		item->rows_kept = salvage->end - salvage->start;
		item->rows_unproven =
			salvage->end -
			tti_min_u64(salvage->end,
				    tti_max_u64(salvage->certain, salvage->start));
		item->rows_lost = salvage->lost;
		item->rows_cut = salvage->cut_rows;
		item->bytes_cut = salvage->cut_bytes;
	}
	report->item_count++;
	return item;
}

int tti_recover_aside(struct tt_recover_item *item, const char *aside)
{
	const char *slash = strrchr(item->path, '/');
	int len = slash ? (int)(slash - item->path) + 1 : 0;

	return asprintf(&item->aside, "%.*s%s", len, item->path, aside) < 0
		       ? (item->aside = NULL, -ENOMEM)
		       : TT_OK;
}

void tti_recover_sum(struct tt_recover_report *report)
{
	report->rows_unproven = report->rows_lost = report->rows_cut = 0;
	report->bytes_cut = report->left = 0;
	for (size_t i = 0; i < report->item_count; i++) {
		const struct tt_recover_item *item = &report->items[i];

		report->rows_unproven += item->rows_unproven;
		report->rows_lost += item->rows_lost;
		report->rows_cut += item->rows_cut;
		report->bytes_cut += item->bytes_cut;
		report->left += item->did == TT_RECOVER_LEFT;
	}
}

void tt_recover_report_free(struct tt_recover_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->item_count; i++) {
		free(report->items[i].path);
		free(report->items[i].what);
		free(report->items[i].aside);
	}
	free(report->items);
	*report = (struct tt_recover_report){ 0 };
}

/* ---- Options ---- */

int tti_recover_take_opts(struct tt_recover_opts *mine,
			  const struct tt_recover_opts *opts, const char *path,
			  struct tt_error *err)
{
	*mine = (struct tt_recover_opts)TT_RECOVER_OPTS_INIT;
	if (opts && !tti_take_opts(mine, sizeof(*mine), opts))
		return tti_fail(err, TT_E_MISUSE, "%s: options of an unknown size", path);
	if (mine->row_rank >= TT_MAX_RANK)
		return tti_fail(err, TT_E_RANGE,
				"%s: a row shape of %u extents; %u is the most", path,
				mine->row_rank, TT_MAX_RANK - 1);
	return TT_OK;
}

bool tti_recover_like(struct tti_npy *out, const struct tt_recover_opts *opts)
{
	const struct tt_dtype *base;
	uint32_t inner;

	*out = (struct tti_npy){ 0 };
	if (!opts->dtype)
		return false;
	base = tt_dtype_base(opts->dtype);
	inner = tt_dtype_rank(opts->dtype);
	if (1 + opts->row_rank + inner > TT_MAX_RANK)
		return false;
	out->dtype =
		(struct tt_dtype *)base; /* only looked at, and referenced by copies */
	out->rank = 1 + opts->row_rank + inner;
	out->row_bytes = tt_dtype_size(opts->dtype);
	for (uint32_t i = 0; i < opts->row_rank; i++) {
		out->shape[1 + i] = opts->row_shape[i];
		if (tti_mul_overflow(out->row_bytes, opts->row_shape[i], &out->row_bytes))
			return false;
	}
	for (uint32_t i = 0; i < inner; i++)
		out->shape[1 + opts->row_rank + i] = tt_dtype_shape(opts->dtype)[i];
	return out->row_bytes > 0;
}

/* ---- Cut bytes ---- */

static int open_cut(struct tti_cut_file *cut, struct tt_error *err)
{
	if (cut->fd >= 0)
		return TT_OK;
	cut->fd = open(cut->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		       0600);
	return cut->fd < 0 ? tti_fail_sys(err, -errno, cut->path, NULL) : TT_OK;
}

/* What stands there already must be the same: a call that died wrote it. */
static int keep_block(struct tti_cut_file *cut, const void *bytes, size_t n,
		      struct tt_error *err)
{
	tti_auto_free uint8_t *old = malloc(n);
	struct stat st;
	size_t there;
	int rc = old ? TT_OK : -ENOMEM;

	if (rc == TT_OK && fstat(cut->fd, &st) < 0)
		rc = -errno;
	if (rc < 0)
		return tti_fail_sys(err, rc, cut->path, NULL);
	there = (uint64_t)st.st_size <= cut->at
			? 0
			: (size_t)tti_min_u64(n, (uint64_t)st.st_size - cut->at);
	if (!S_ISREG(st.st_mode) || tti_pread_all(cut->fd, old, there, cut->at) < 0 ||
	    memcmp(old, bytes, there) != 0)
		return tti_fail(
			err, -EEXIST,
			"%s: exists already and holds something else: name a file "
			"that is not there for the bytes that are cut",
			cut->path);
	rc = tti_pwrite_all(cut->fd, (const uint8_t *)bytes + there, n - there,
			    cut->at + there);
	cut->at += n;
	return rc < 0 ? tti_fail_sys(err, rc, cut->path, "write") : TT_OK;
}

static int keep_piece(struct tti_cut_file *cut, int from, const struct tti_piece *piece,
		      struct tt_error *err)
{
	tti_auto_free uint8_t *buf = malloc(BLOCK);
	int rc = buf ? TT_OK : tti_fail_sys(err, -ENOMEM, cut->path, NULL);

	for (uint64_t at = piece->from; rc == TT_OK && at < piece->to;) {
		size_t n = (size_t)tti_min_u64(BLOCK, piece->to - at);

		rc = tti_pread_all(from, buf, n, at);
		if (rc < 0)
			return tti_fail_sys(err, rc, cut->path,
					    "read what is to be kept");
		rc = keep_block(cut, buf, n, err);
		at += n;
	}
	return rc;
}

static int cut_keep(struct tti_cut_file *cut, int from, const struct tti_salvage *salvage,
		    struct tt_error *err)
{
	int rc;

	if (!cut || !cut->path || salvage->cut_bytes == 0)
		return TT_OK;
	rc = open_cut(cut, err);
	for (int i = 0; rc == TT_OK && i < 2; i++)
		rc = keep_piece(cut, from, &salvage->cut[i], err);
	if (rc == TT_OK && fsync(cut->fd) < 0)
		rc = tti_fail_sys(err, -errno, cut->path, "fsync");
	if (rc == TT_OK)
		tti_fsync_parent(cut->path); /* the bytes are in NAME.bad-N as well */
	return rc;
}

/* ---- The mended copy ---- */

static uint64_t choose_capacity(const struct tti_replace *args, bool *exact_out)
{
	const struct tti_salvage *s = args->salvage;
	uint64_t there = s->file_bytes > s->data_off
				 ? (s->file_bytes - s->data_off) / s->row_bytes
				 : 0;
	uint64_t bytes;

	*exact_out = false;
	if (args->closed)
		return tti_max_u64(s->end, 1);
	if (s->capacity == TTI_SALVAGE_UNKNOWN || s->capacity == 0)
		return tti_max_u64(there, 1);
	if (s->capacity > there &&
	    (tti_mul_overflow(s->capacity, s->row_bytes, &bytes) ||
	     bytes > tti_max_u64(TRUSTED_BYTES, 4 * s->file_bytes)))
		return tti_max_u64(there, 1);
	*exact_out = true;
	return tti_max_u64(s->capacity, s->end);
}

/* Header, and tail if it had one. */
static int fill(const struct tti_replace *args, int fd, uint64_t *data_off_out,
		struct tt_error *err)
{
	const struct tti_salvage *s = args->salvage;
	struct tti_live_make make = {
		.dtype = s->npy.dtype,
		.row_rank = s->npy.rank ? s->npy.rank - 1 : 0,
		.row_shape = s->npy.shape + 1,
		.tail_words = (uint32_t)s->tail_words,
		.start = s->start,
		.end = s->end,
		.stamp_after = s->stamp == UINT64_MAX ? 0 : s->stamp,
	};
	struct tti_live_made made = { 0 };
	uint64_t shape[TT_MAX_RANK];
	const struct tti_npy_form form = { s->npy.dtype, s->npy.rank, shape, false };
	void *header = NULL;
	size_t len;
	int rc;

	if (s->tail_words) {
		make.capacity = choose_capacity(args, &make.exact);
		rc = tti_live_fill(fd, &make, args->place->path, &made, err);
		*data_off_out = made.data_off;
		return rc;
	}
	memcpy(shape, s->npy.shape, sizeof(shape));
	shape[0] = s->end;
	rc = tti_npy_format(&header, &len, &form, err);
	if (rc == TT_OK) {
		rc = tti_pwrite_all(fd, header, len, 0);
		if (rc < 0)
			tti_fail_sys(err, rc, args->place->path, "write of its copy");
	}
	free(header);
	*data_off_out = len;
	return rc;
}

static int fail_read(const struct tti_replace *args, int rc, uint64_t at,
		     struct tt_error *err)
{
	const struct tti_salvage *s = args->salvage;

	return tti_fail(err, rc,
			"%s: row %" PRIu64 ", at byte %" PRIu64
			", cannot be read: %s: copy the file to a good disk first",
			args->place->path, (at - s->data_off) / s->row_bytes, at,
			tt_strerror(rc));
}

static int copy_rows(const struct tti_replace *args, int fd, uint64_t data_off,
		     struct tt_error *err)
{
	const struct tti_salvage *s = args->salvage;
	tti_auto_free uint8_t *buf = malloc(BLOCK);
	uint64_t at = s->data_off, to = s->data_off + s->end * s->row_bytes;

	if (!buf)
		return tti_fail_sys(err, -ENOMEM, args->place->path, NULL);
	while (at < to) {
		size_t n = (size_t)tti_min_u64(BLOCK, to - at);
		int rc = tti_pread_all(args->fd, buf, n, at);

		if (rc < 0)
			return fail_read(args, rc, at, err);
		rc = tti_pwrite_all(fd, buf, n, data_off + (at - s->data_off));
		if (rc == -ENOSPC)
			return tti_fail_space(err, rc, args->place->path, fd, to - at);
		if (rc < 0)
			return tti_fail_sys(err, rc, args->place->path,
					    "write of its copy");
		at += n;
	}
	if (fsync(fd) < 0)
		return tti_fail_sys(err, -errno, args->place->path, "fsync of its copy");
	return TT_OK;
}

/* ---- Names ---- */

static bool is_this(const struct tti_place *place, const char *name, int fd)
{
	struct stat there, mine;

	return fstatat(place->dirfd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(fd, &mine) == 0 && there.st_ino == mine.st_ino &&
	       there.st_dev == mine.st_dev;
}

/* A second name for the damaged file; the one that a call gave it which died is taken.  1 when
 * the file system has no second names, and the first one was changed instead. */
static int name_aside(const struct tti_replace *args, char aside[NAME_MAX + 1],
		      struct tt_error *err)
{
	const struct tti_place *place = args->place;
	int rc = -EEXIST;

	for (unsigned i = 1; i < 10000 && rc == -EEXIST; i++) {
		if (snprintf(aside, NAME_MAX + 1, "%s%s.bad-%u", args->aside_prefix,
			     place->name, i) > NAME_MAX)
			return tti_fail_sys(err, -ENAMETOOLONG, place->path,
					    "keep what is damaged");
		rc = linkat(place->dirfd, place->name, place->dirfd, aside, 0) < 0
			     ? -errno
			     : TT_OK;
		if (rc == -EEXIST && is_this(place, aside, args->fd))
			return TT_OK;
		if (rc == -EPERM || rc == -EOPNOTSUPP || rc == -EMLINK) {
			rc = tti_rename_new(place->dirfd, place->name, place->dirfd,
					    aside);
			if (rc == TT_OK)
				return 1;
		}
	}
	return rc < 0 ? tti_fail_sys(err, rc, place->path, "keep what is damaged")
		      : TT_OK;
}

static int put_in_place(const struct tti_replace *args, const char *copy,
			char aside[NAME_MAX + 1], struct tt_error *err)
{
	const struct tti_place *place = args->place;
	int moved = name_aside(args, aside, err), rc;

	if (moved < 0)
		return moved;
	TTI_FAILPOINT("recover.aside");
	rc = tti_place_sync(place, err);
	if (rc == TT_OK && renameat(place->dirfd, copy, place->dirfd, place->name) < 0)
		rc = tti_fail_sys(err, -errno, place->path, "rename of its copy");
	if (rc < 0)
		goto undo;
	TTI_FAILPOINT("recover.renamed");
	return tti_place_sync(place, err);

undo: /* the second name */
	if (moved == 1)
		tti_rename_new(place->dirfd, aside, place->dirfd, place->name);
	else
		unlinkat(place->dirfd, aside, 0);
	return rc;
}

int tti_recover_replace(const struct tti_replace *args, char aside_out[NAME_MAX + 1],
			struct tt_error *err)
{
	char copy[TTI_COPY_NAME_BYTES];
	tti_auto_fd fd = tti_file_open_copy(args->place, args->fd, err);
	uint64_t data_off;
	int rc;

	if (fd < 0)
		return fd;
	rc = tti_file_copy_name(copy, args->fd);
	if (rc == TT_OK)
		rc = fill(args, fd, &data_off, err);
	if (rc == TT_OK)
		rc = copy_rows(args, fd, data_off, err);
	TTI_FAILPOINT("recover.copied");
	if (rc == TT_OK)
		rc = cut_keep(args->cut, args->fd, args->salvage, err);
	TTI_FAILPOINT("recover.cut");
	if (rc == TT_OK)
		rc = put_in_place(args, copy, aside_out, err);
	if (rc < 0)
		goto undo;
	return TT_OK;

undo: /* the copy's name; gone already when it took the file's */
	unlinkat(args->place->dirfd, copy, 0);
	return rc;
}
