/* SPDX-License-Identifier: Apache-2.0 */
/* Opening one NPYT file: header, tail and size are checked against each other by pread before
 * anything is mapped, so that no mapping reaches past the file.
 * Invariant: what a dead writer left half done is mended only by a holder of the lock. */
#include "live/live_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/num.h"
#include "format/dtype.h"

#define PAGE 4096 /* the least that a write to the page cache changes as one */

static int read_part(const struct tti_live *live, void *buf, size_t n, uint64_t offset,
		     struct tt_error *err)
{
	int rc = tti_pread_all(live->fd, buf, n, offset);

	if (rc == -ENODATA)
		return tti_fail(err, TT_E_DAMAGED, "%s: became shorter while it was read",
				live->path);
	return rc < 0 ? tti_fail_sys(err, rc, live->path, "read") : TT_OK;
}

static int stat_bytes(struct tti_live *live, struct tt_error *err)
{
	struct stat st;

	if (fstat(live->fd, &st) < 0)
		return tti_fail_sys(err, -errno, live->path, "fstat");
	live->file_bytes = (uint64_t)st.st_size;
	return TT_OK;
}

/* The whole header; the caller frees *out. */
static int read_header(const struct tti_live *live, void **out, size_t *len_out,
		       struct tt_error *err)
{
	uint8_t prefix[TTI_NPY_PREFIX];
	size_t n = tti_min_u64(sizeof(prefix), live->file_bytes);
	tti_auto_free void *bytes = NULL;
	uint64_t length;
	int rc = read_part(live, prefix, n, 0, err);

	if (rc == TT_OK)
		rc = tti_npy_header_length(prefix, n, &length, live->path, err);
	if (rc < 0)
		return rc;
	if (length > live->file_bytes)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: cut short inside the .npy header: it takes %" PRIu64
				" bytes, the file has %" PRIu64
				"; 'ticktail recover %s --dtype DESCR', or '--like "
				"FILE', mends it",
				live->path, length, live->file_bytes, live->path);
	bytes = malloc(length);
	if (!bytes)
		return tti_fail_sys(err, -ENOMEM, live->path, NULL);
	rc = read_part(live, bytes, length, 0, err);
	if (rc < 0)
		return rc;
	*len_out = length;
	*out = tti_steal_ptr(&bytes);
	return TT_OK;
}

/* The last bytes of the file.  A writer may be storing into them: read until two reads agree,
 * or a misaligned word could be seen half stored. */
static int read_last(const struct tti_live *live, uint8_t last[TTI_TAIL_MAX_BYTES],
		     size_t n, struct tt_error *err)
{
	uint8_t again[TTI_TAIL_MAX_BYTES];
	uint64_t from = live->file_bytes - n;
	int rc = read_part(live, last, n, from, err);

	for (int i = 0; rc == TT_OK && i < 1000; i++) {
		rc = read_part(live, again, n, from, err);
		if (rc < 0 || memcmp(last, again, n) == 0)
			return rc;
		memcpy(last, again, n);
	}
	return rc;
}

static int refuse_plain(const struct tti_live *live, struct tt_error *err)
{
	if (live->npy.extent_width >= TTI_NPY_EXTENT_WIDTH)
		return tti_fail(err, TT_E_UNSUPPORTED,
				"%s: has no tail behind its %" PRIu64
				" rows, at byte %" PRIu64
				": a live file that was cut there is brought back by: "
				"ticktail recover %s",
				live->path, live->capacity, live->file_bytes, live->path);
	return tti_fail(err, TT_E_UNSUPPORTED,
			"%s: a plain .npy file without a tail; make it a live file with: "
			"ticktail "
			"adopt %s",
			live->path, live->path);
}

static int check_use(const struct tti_live *live, const struct tti_live_open *args,
		     struct tt_error *err)
{
	if (live->tail_words == 0 && (args->writable || !args->plain))
		return refuse_plain(live, err);
	if (args->writable && live->npy.fortran_order)
		return tti_fail(err, TT_E_UNSUPPORTED,
				"%s: its rows are in Fortran order; it can only be read",
				live->path);
	return TT_OK;
}

/* Most padded rows have one short gap; append zeroes it without asking the dtype again. */
static void note_padding(struct tti_live *live)
{
	const struct tt_dtype *dtype = live->npy.dtype;

	if (dtype->gap_count == 1 && dtype->gaps[0].bytes <= 8 &&
	    dtype->size == live->row_bytes && dtype->gaps[0].offset <= UINT32_MAX) {
		live->gap_off = (uint32_t)dtype->gaps[0].offset;
		live->gap_bytes = (uint32_t)dtype->gaps[0].bytes;
	}
}

static int judge_end(struct tti_live *live, const uint8_t last[TTI_TAIL_MAX_BYTES],
		     enum tti_tail_kind *kind_out, struct tti_tail *tail_out,
		     struct tt_error *err)
{
	const struct tti_file_end end = {
		.data_off = live->data_off,
		.row_bytes = live->row_bytes,
		.capacity = live->npy.rank ? live->npy.shape[0] : 1,
		.file_bytes = live->file_bytes,
		.last = last,
		.n = tti_min_u64(TTI_TAIL_MAX_BYTES, live->file_bytes),
		.path = live->path,
	};

	return tti_tail_judge(kind_out, tail_out, &live->capacity, &end, err);
}

/* What the file is: header against tail against size. */
static int inspect(struct tti_live *live, enum tti_tail_kind *kind_out,
		   struct tti_tail *tail_out, struct tt_error *err)
{
	tti_auto_free void *header = NULL;
	uint8_t last[TTI_TAIL_MAX_BYTES];
	size_t len;
	int rc = stat_bytes(live, err);

	if (rc == TT_OK)
		rc = read_header(live, &header, &len, err);
	if (rc == TT_OK)
		rc = tti_npy_parse(&live->npy, header, len, live->path, err);
	if (rc < 0)
		return rc;
	live->data_off = live->npy.data_off;
	live->row_bytes = live->npy.row_bytes;
	rc = read_last(live, last, tti_min_u64(sizeof(last), live->file_bytes), err);
	if (rc == TT_OK)
		rc = judge_end(live, last, kind_out, tail_out, err);
	if (rc < 0)
		return rc;
	live->tail_words = *kind_out == TTI_TAIL_NONE ? 0 : tail_out->words;
	live->tail_off = live->data_off + live->capacity * live->row_bytes;
	live->aligned = live->tail_words == 0 || live->tail_off % sizeof(tti_word) == 0;
	live->end = live->tail_words ? tail_out->end : live->capacity;
	note_padding(live);
	tti_live_choose_copy(live, false);
	return TT_OK;
}

static int map_file(struct tti_live *live, bool writable, struct tt_error *err)
{
	int rc = tti_map_open(&live->map, live->fd, live->file_bytes, writable);

	if (rc < 0)
		return tti_fail_map(err, rc, live->path, live->file_bytes);
	live->rows = (unsigned char *)live->map.addr + live->data_off;
	live->at = live->rows + live->end * live->row_bytes;
	if (live->tail_words && live->aligned)
		live->tail =
			(tti_word *)(void *)((char *)live->map.addr + live->tail_off);
	live->watched_tail = live->tail;
	live->watched_row_bytes = live->row_bytes;
	return TT_OK;
}

static void note_repair(struct tti_live *live, const char *words)
{
	size_t len = strlen(live->repaired);

	snprintf(live->repaired + len, sizeof(live->repaired) - len, "%s%s",
		 len ? "; " : "", words);
}

/* A header that would change across a page boundary could be seen half written after a kill;
 * adopt goes by copy then. */
static bool changes_one_page(const uint8_t *from, const uint8_t *to, size_t n)
{
	size_t first = 0, last = n;

	while (first < n && from[first] == to[first])
		first++;
	while (last > first && from[last - 1] == to[last - 1])
		last--;
	return first == last || first / PAGE == (last - 1) / PAGE;
}

/* Write the extent of capacity rows into the file's header.  1 done, 0 the header has no room
 * for it (or not in one page), or an error. */
int tti_live_put_extent(const struct tti_live *live, uint64_t capacity, bool dry,
			struct tt_error *err)
{
	tti_auto_free uint8_t *after = NULL;
	tti_auto_free void *header = NULL;
	size_t len, first = 0, last;
	int rc = read_header(live, &header, &len, err);

	if (rc < 0)
		return rc;
	after = malloc(len);
	if (!after)
		return tti_fail_sys(err, -ENOMEM, live->path, NULL);
	memcpy(after, header, len);
	if (tti_npy_put_extent(after, len, capacity, NULL) < 0 ||
	    !changes_one_page(header, after, len))
		return 0;
	if (dry)
		return 1;
	for (last = len; last > 0 && after[last - 1] == ((uint8_t *)header)[last - 1];)
		last--;
	while (first < last && after[first] == ((uint8_t *)header)[first])
		first++;
	rc = tti_pwrite_all(live->fd, after + first, last - first, first);
	return rc < 0 ? tti_fail_sys(err, rc, live->path, "write of the header") : 1;
}

/* Finish or take back what a writer was doing when it died.  The caller holds its lock. */
static int mend(struct tti_live *live, enum tti_tail_kind kind,
		const struct tti_tail *tail, struct tt_error *err)
{
	int rc = TT_OK;

	if (kind == TTI_TAIL_ADOPTING) {
		rc = tti_live_put_extent(live, live->capacity, false, err);
		if (rc < 0)
			return rc;
		if (rc == 1)
			note_repair(live, "finished an interrupted adopt");
		rc = TT_OK;
	}
	TTI_FAILPOINT("file.open.before_magic");
	if (tail->superseded) {
		rc = tti_live_put_word(live, live->tail_words - 1, TTI_TAIL_MAGIC);
		note_repair(live, "took back an interrupted resize");
	}
	TTI_FAILPOINT("file.open.before_stamp");
	if (rc == TT_OK && tail->words == 5 &&
	    tti_stamp_is_changing(tail->update_timestamp)) {
		rc = tti_live_put_word(live, 2,
				       tti_stamp_next(tail->update_timestamp,
						      (uint64_t)tti_clock_coarse_ns()));
		note_repair(live,
			    "an update was interrupted: some rows may be half old, half "
			    "new");
	}
	TTI_FAILPOINT("file.open.mended");
	return rc < 0 ? tti_fail_sys(err, rc, live->path, "write of the tail") : TT_OK;
}

/* A store into a hole of a sparse file on a full disk would be a SIGBUS. */
static int fill_holes(const struct tti_live *live, struct tt_error *err)
{
	int rc = tti_reserve_space(live->fd, 0, live->file_bytes, true);

	return rc < 0 ? tti_fail_space(err, rc, live->path, live->fd, live->file_bytes)
		      : TT_OK;
}

static int open_checked(struct tti_live *live, const struct tti_live_open *args,
			struct tt_error *err)
{
	enum tti_tail_kind kind = TTI_TAIL_NONE;
	struct tti_tail tail = { 0 };
	int rc = inspect(live, &kind, &tail, err);

	if (rc == TT_OK)
		rc = check_use(live, args, err);
	if (rc == TT_OK && args->writable)
		rc = fill_holes(live, err);
	if (rc == TT_OK && !args->by_pread)
		rc = map_file(live, args->writable, err);
	if (rc == TT_OK && args->writable)
		rc = mend(live, kind, &tail, err);
	return rc;
}

int tti_live_open(struct tti_live *live, const struct tti_live_open *args,
		  struct tt_error *err)
{
	int flags = args->writable ? O_RDWR : O_RDONLY;
	int rc;

	*live = (struct tti_live)TTI_LIVE_EMPTY;
	live->writable = args->writable;
	live->path = strdup(args->path);
	if (!live->path)
		return tti_fail_sys(err, -ENOMEM, args->path, NULL);
	live->fd = args->take_fd ? args->fd
				 : tti_open_regular(args->dirfd, args->name, flags,
						    args->path, err);
	rc = live->fd < 0 ? live->fd : open_checked(live, args, err);
	if (rc < 0) {
		if (args->take_fd)
			live->fd = -1; /* still the caller's */
		tti_live_close(live);
	}
	return rc;
}

static bool is_same_file(const struct tti_live *live, const struct tti_live *now)
{
	return now->tail_words != 0 && now->data_off == live->data_off &&
	       now->row_bytes == live->row_bytes &&
	       tt_dtype_equal(now->npy.dtype, live->npy.dtype);
}

int tti_live_look(struct tti_live *live, struct tt_error *err)
{
	struct tti_live now = { .fd = live->fd, .path = live->path };
	enum tti_tail_kind kind;
	struct tti_tail tail = { 0 };
	uint64_t start;
	int rc = tti_live_bounds(live, &start, &live->end, NULL);

	if (rc == TT_OK || live->map.addr)
		return rc;
	rc = inspect(&now, &kind, &tail, err);
	if (rc == TT_OK && !is_same_file(live, &now))
		rc = tti_fail(err, TT_E_DAMAGED, "%s: other rows were written over it",
			      live->path);
	if (rc == TT_OK) {
		live->capacity = now.capacity;
		live->file_bytes = now.file_bytes;
		live->tail_off = now.tail_off;
		live->tail_words = now.tail_words;
		live->aligned = now.aligned;
		live->end = tti_min_u64(now.end, live->shown);
	}
	tti_npy_fini(&now.npy);
	return rc;
}

void tti_live_close(struct tti_live *live)
{
	tti_map_close(&live->map);
	tti_npy_fini(&live->npy);
	tti_close_fd(&live->fd);
	free(live->path);
	*live = (struct tti_live)TTI_LIVE_EMPTY;
}
