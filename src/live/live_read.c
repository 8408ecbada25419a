/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the bounds and the rows of one file.  Invariant: nothing here trusts the words of
 * the tail further than capacity, and copies go through pread, which cannot be killed by a
 * file that somebody cut. */
#include "live/live_file.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/num.h"

/* All words of a tail that is not mapped: two reads must agree, or a misaligned word could be
 * seen half written. */
static int pread_words(const struct tti_live *live, uint64_t out[5])
{
	uint64_t again[5];
	size_t n = live->tail_words * sizeof(*out);
	int rc = tti_pread_all(live->fd, out, n, live->tail_off);

	for (int i = 0; rc == TT_OK && i < 1000; i++) {
		rc = tti_pread_all(live->fd, again, n, live->tail_off);
		if (rc < 0 || memcmp(out, again, n) == 0)
			return rc;
		memcpy(out, again, n);
	}
	return rc;
}

/* start and end of such a tail.  Peers cut and lengthen files in place; what stands there then
 * are rows, or words of the new tail: -ENODATA. */
static int pread_bounds(const struct tti_live *live, uint64_t out[2])
{
	uint64_t words[5];
	struct stat st;
	int rc = pread_words(live, words);

	if (rc < 0)
		return rc;
	if (fstat(live->fd, &st) < 0)
		return -errno;
	out[0] = words[0];
	out[1] = words[1];
	return (uint64_t)st.st_size == live->file_bytes &&
			       words[live->tail_words - 2] == live->data_off &&
			       (words[live->tail_words - 1] == TTI_TAIL_MAGIC ||
				words[live->tail_words - 1] == TTI_TAIL_SUPERSEDED)
		       ? TT_OK
		       : -ENODATA;
}

static int load_bounds(const struct tti_live *live, uint64_t out[2])
{
	if (!live->tail)
		return pread_bounds(live, out);
	do { /* clear stores start first, so a start that stood still fits end */
		out[0] = tti_start_load(live->tail);
		out[1] = tti_end_load(live->tail);
	} while (TTI_UNLIKELY(out[0] != tti_start_load(live->tail)));
	return TT_OK;
}

int tti_live_bounds(const struct tti_live *live, uint64_t *start_out, uint64_t *end_out,
		    struct tt_error *err)
{
	uint64_t bounds[2] = { 0, live->capacity };
	int rc = live->tail_words ? load_bounds(live, bounds) : TT_OK;

	if (rc == -ENODATA)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: was cut or lengthened while it was open",
				live->path);
	if (rc < 0)
		return tti_fail_sys(err, rc, live->path, "read of the tail");
	if (bounds[0] > bounds[1] || bounds[1] > live->capacity)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: the tail says start %" PRIu64 ", end %" PRIu64
				" in a capacity of %" PRIu64 " rows",
				live->path, bounds[0], bounds[1], live->capacity);
	*start_out = tti_min_u64(bounds[0], live->shown);
	*end_out = tti_min_u64(bounds[1], live->shown);
	return TT_OK;
}

uint64_t tti_live_end(const struct tti_live *live)
{
	uint64_t bounds[2];

	if (TTI_LIKELY(live->tail))
		return tti_min_u64(tti_end_load(live->tail), live->shown);
	if (live->tail_words && pread_bounds(live, bounds) == TT_OK &&
	    bounds[0] <= bounds[1] && bounds[1] <= live->capacity)
		return tti_min_u64(bounds[1], live->shown);
	return tti_min_u64(live->end, live->shown);
}

bool tti_live_is_superseded(const struct tti_live *live)
{
	uint64_t magic = 0;

	if (live->tail)
		return tti_magic_load(live->tail, live->tail_words) ==
		       TTI_TAIL_SUPERSEDED;
	return live->tail_words &&
	       tti_pread_all(live->fd, &magic, sizeof(magic),
			     live->tail_off + 8 * (live->tail_words - 1)) == TT_OK &&
	       magic == TTI_TAIL_SUPERSEDED;
}

/* ---- Copies ---- */

static int pread_rows(const struct tti_live *live, void *out, size_t n, uint64_t offset,
		      struct tt_error *err)
{
	int rc = tti_pread_all(live->fd, out, n, offset);

	if (rc == -ENODATA)
		return tti_fail(
			err, TT_E_DAMAGED,
			"%s: became shorter while it was read: no bytes at %" PRIu64,
			live->path, offset);
	return rc < 0 ? tti_fail_sys(err, rc, live->path, "read") : TT_OK;
}

/* Fortran order keeps the elements of one column side by side: read a column of the wanted
 * rows and scatter it. */
static int copy_columns(const struct tti_live *live, uint64_t row, uint64_t count,
			unsigned char *out, struct tt_error *err)
{
	size_t item = tt_dtype_size(live->npy.dtype);
	uint64_t columns = live->row_bytes / item, place[TT_MAX_RANK] = { 0 };
	tti_auto_free unsigned char *column = malloc((size_t)count * item);

	if (!column)
		return tti_fail_sys(err, -ENOMEM, live->path, NULL);
	for (uint64_t c = 0; c < columns; c++) { /* in C order of shape[1:] */
		uint64_t at = 0;
		int rc;

		for (uint32_t i = live->npy.rank; i-- > 1;)
			at = at * live->npy.shape[i] + place[i];
		rc = pread_rows(live, column, (size_t)count * item,
				live->data_off + (at * live->capacity + row) * item, err);
		if (rc < 0)
			return rc;
		for (uint64_t r = 0; r < count; r++)
			memcpy(out + r * live->row_bytes + c * item, column + r * item,
			       item);
		for (uint32_t i = live->npy.rank; i-- > 1;) {
			if (++place[i] < live->npy.shape[i])
				break;
			place[i] = 0;
		}
	}
	return TT_OK;
}

int tti_live_copy(const struct tti_live *live, uint64_t row, uint64_t count, void *out,
		  struct tt_error *err)
{
	if (count == 0)
		return TT_OK;
	if (live->npy.fortran_order && live->npy.rank > 1)
		return copy_columns(live, row, count, out, err);
	return pread_rows(live, out, (size_t)(count * live->row_bytes),
			  live->data_off + row * live->row_bytes, err);
}

/* Acquire loads: who reads a word of a change reads the changing stamp after it. */
static void load_words(unsigned char *to, const unsigned char *from, uint64_t n)
{
	const tti_word *word = (const tti_word *)(const void *)from;

	for (uint64_t i = 0; i < n / 8; i++) {
		uint64_t value = atomic_load_explicit(&word[i], memory_order_acquire);

		memcpy(to + 8 * i, &value, 8);
	}
}

#define UNTORN_TRIES 2000 /* each behind a yield once the first hundred failed */

int tti_live_copy_untorn(const struct tti_live *live, uint64_t row, uint64_t count,
			 void *out, struct tt_error *err)
{
	if (!live->tail || live->tail_words != 5 || live->row_bytes % 8 ||
	    live->data_off % 8 || (live->npy.fortran_order && live->npy.rank > 1))
		return tti_fail(
			err, TT_E_UNSUPPORTED,
			"%s: untorn reads need a mapped five-word tail and rows of a "
			"multiple of 8 bytes",
			live->path);
	for (int i = 0; i < UNTORN_TRIES; i++) {
		uint64_t before = tti_stamp_load(live->tail);

		if (!tti_stamp_is_changing(before)) {
			load_words(out, live->rows + row * live->row_bytes,
				   count * live->row_bytes);
			if (tti_stamp_load(live->tail) == before)
				return TT_OK;
		} else if (i % 100 == 99 &&
			   tti_lock_is_held(live->fd, TTI_LOCK_WRITER) == 0 &&
			   tti_stamp_load(live->tail) == before) {
			return tti_fail(err, TT_E_TORN,
					"%s: a writer died while it changed rows; the "
					"next writer "
					"mends it",
					live->path);
		}
		if (i > 100)
			sched_yield();
	}
	return tti_fail(err, TT_E_TORN, "%s: rows kept changing while they were read",
			live->path);
}
