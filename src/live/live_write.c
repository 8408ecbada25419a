/* SPDX-License-Identifier: Apache-2.0 */
/* Storing rows and the words that publish them.  Invariant: end is stored after the rows below
 * it are in place, and live->end is what was stored last. */
#include "live/live_file.h"

#include <errno.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/fs.h"

int tti_live_put_word(struct tti_live *live, uint32_t index, uint64_t value)
{
	if (live->tail) {
		tti_word_store(live->tail, index, value);
		return TT_OK;
	}
	return tti_pwrite_all(live->fd, &value, sizeof(value),
			      live->tail_off + 8u * index);
}

static void clear_gaps(const struct tti_live *live, void *rows, uint64_t count)
{
	uint64_t elements = live->row_bytes / tt_dtype_size(live->npy.dtype);

	tt_dtype_clear_padding(live->npy.dtype, rows, (size_t)(count * elements));
}

void tti_live_clear_padding(const struct tti_live *live, void *rows, uint64_t count)
{
	unsigned char *at = (unsigned char *)rows;

	if (live->gap_bytes == 0)
		clear_gaps(live, rows, count);
	else if (live->row_bytes >= 8)
		tti_live_clear_gaps(live, at, count);
	else
		for (uint64_t i = 0; i < count; i++, at += live->row_bytes)
			memset(at + live->gap_off, 0, live->gap_bytes);
}

static void choose_gap_word(struct tti_live *live)
{
	uint64_t from = live->gap_off & ~UINT32_C(7);
	unsigned char mask[8];

	if (from + 8 < live->gap_off + live->gap_bytes || from + 8 > live->row_bytes)
		from = tti_min_u64(live->gap_off, live->row_bytes - 8);
	memset(mask, 0xff, sizeof(mask));
	memset(mask + (live->gap_off - from), 0, live->gap_bytes);
	memcpy(&live->gap_mask, mask, sizeof(mask));
	live->gap_word = (uint32_t)from;
}

void tti_live_choose_copy(struct tti_live *live, bool clean)
{
	live->has_padding = !clean && tt_dtype_has_padding(live->npy.dtype);
	live->row_class = (unsigned char)tti_row_class(live->row_bytes);
	live->masked = live->has_padding && live->row_class != TTI_ROW_ANY;
	live->gap_class = !live->has_padding				 ? TTI_GAP_NONE
			  : live->gap_bytes >= 4 && live->row_bytes >= 8 ? TTI_GAP_TO8
									 : TTI_GAP_ANY;
	live->gap_last = live->gap_off + live->gap_bytes - 4;
	if (live->gap_bytes > 0 && live->row_bytes >= 8)
		choose_gap_word(live);
	memset(live->mask, 0xff, sizeof(live->mask));
	if (live->masked)
		clear_gaps(live, live->mask, 1);
}

/* Rows with padding, one after another; the mask stays in registers. */
static void copy_masked(const struct tti_live *live, unsigned char *to,
			const unsigned char *from, uint64_t count)
{
	size_t n = live->row_bytes;

	if (live->row_class == TTI_ROW_TO16)
		for (uint64_t i = 0; i < count; i++, to += n, from += n)
			tti_row_to16(to, from, n, live->mask);
	else if (live->row_class == TTI_ROW_TO32)
		for (uint64_t i = 0; i < count; i++, to += n, from += n)
			tti_row_to32(to, from, n, live->mask);
	else
		for (uint64_t i = 0; i < count; i++, to += n, from += n)
			tti_row_to64(to, from, n, live->mask);
}

void tti_live_copy_many(const struct tti_live *live, unsigned char *to, const void *rows,
			uint64_t count)
{
	if (live->masked) {
		copy_masked(live, to, rows, count);
		return;
	}
	memcpy(to, rows, (size_t)(count * live->row_bytes));
	if (live->has_padding)
		tti_live_clear_padding(live, to, count);
}

void tti_live_put(const struct tti_live *live, const void *rows, uint64_t count)
{
	const struct tti_live_next next = tti_live_next(live);

	if (count != 1 || !tti_live_put_one(live, &next, rows))
		tti_live_copy_many(live, live->at, rows, count);
}

void tti_live_stamp(struct tti_live *live)
{
	tti_live_stamp_at(live, tti_clock_coarse_ns());
}

void tti_live_stamp_at(struct tti_live *live, int64_t wall_ns)
{
	uint64_t now = (uint64_t)wall_ns & ~TTI_STAMP_MASK;

	if (live->tail_words == 5 && live->tail && now > tti_stamp_peek(live->tail))
		tti_stamp_settle(live->tail, now);
}

/* ---- Rows changed in place ---- */

/* Release stores, so that who sees a new byte also sees that a change was begun.  Pairs with
 * the acquire loads of tti_live_copy_untorn(). */
static void store_words(unsigned char *to, const unsigned char *from, uint64_t n)
{
	tti_word *word = (tti_word *)(void *)to;

	for (uint64_t i = 0; i < n / 8; i++) {
		uint64_t value;

		memcpy(&value, from + 8 * i, 8);
		atomic_store_explicit(&word[i], value, memory_order_release);
	}
}

static bool rows_are_words(const struct tti_live *live)
{
	return live->row_bytes % 8 == 0 && live->data_off % 8 == 0;
}

static int settle(struct tti_live *live, uint64_t before)
{
	uint64_t stable = tti_stamp_next(before, (uint64_t)tti_clock_coarse_ns());

	return live->tail_words == 5 ? tti_live_put_word(live, 2, stable) : TT_OK;
}

/* The stamp that stands there, before a change. */
static int load_stamp(const struct tti_live *live, uint64_t *out)
{
	*out = 0;
	if (live->tail_words != 5)
		return TT_OK;
	if (live->tail)
		*out = tti_stamp_peek(live->tail);
	else
		return tti_pread_all(live->fd, out, sizeof(*out), live->tail_off + 16);
	return TT_OK;
}

static int change_rows(struct tti_live *live, uint64_t row, const void *rows,
		       uint64_t count)
{
	unsigned char *to = live->rows + row * live->row_bytes;
	uint64_t before;
	int rc = load_stamp(live, &before);

	TTI_FAILPOINT("file.update.before_stamp");
	if (rc == TT_OK && live->tail_words == 5)
		rc = tti_live_put_word(live, 2, before | TTI_STAMP_MASK);
	if (rc < 0)
		return rc;
	TTI_FAILPOINT("file.update.before_rows");
	if (rows_are_words(live))
		store_words(to, rows, count * live->row_bytes);
	else
		memcpy(to, rows, (size_t)(count * live->row_bytes));
	TTI_FAILPOINT("file.update.before_settle");
	rc = settle(live, before);
	TTI_FAILPOINT("file.update.settled");
	return rc;
}

int tti_live_update(struct tti_live *live, uint64_t row, const void *rows, uint64_t count,
		    bool clean)
{
	tti_auto_free void *copy = NULL;
	size_t n = (size_t)(count * live->row_bytes);

	if (count == 0)
		return TT_OK;
	if (!live->has_padding || clean)
		return change_rows(live, row, rows, count);
	copy = malloc(n);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, rows, n);
	tti_live_clear_padding(live, copy, count);
	return change_rows(live, row, copy, count);
}
