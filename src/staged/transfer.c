/* SPDX-License-Identifier: Apache-2.0 */
/* One routine moves a strided box; what makes it fast is what it finds out first:
 * trailing axes that lie without gaps on both sides are one run of bytes, and runs of up
 * to 16 bytes are moved without a call.
 *
 * Invariant: nothing is read or written outside the shapes given, whatever the rows
 *            say. */
#include "staged/transfer.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/num.h"

/* A box cut to size: axis i has count[i] steps of to[i] and from[i] bytes. */
struct box {
	uint32_t rank;
	unsigned char *to;
	const unsigned char *from;
	uint64_t count[TT_MAX_RANK];
	int64_t to_step[TT_MAX_RANK], from_step[TT_MAX_RANK];
	size_t run; /* bytes without gaps at each place */
	bool stream;
};

/* How many of count steps of stride from start stay below size. */
static uint64_t clip(uint64_t start, uint64_t count, uint64_t stride, uint64_t size)
{
	if (start >= size)
		return 0;
	return tti_min_u64(count, (size - start - 1) / (stride ? stride : 1) + 1);
}

static inline uint64_t fit(uint64_t start, uint64_t count, uint64_t stride, uint64_t size)
{
	/* the common case without a division */
	if (stride == 1 && start < size && count <= size - start)
		return count;
	return clip(start, count, stride, size);
}

/* Runs of a size known to the compiler, or nearly. */
static inline void copy_run(unsigned char *to, const unsigned char *from, size_t n)
{
	uint64_t a, b;
	uint32_t c, d;

	if (n > 16) {
		memcpy(to, from, n);
	} else if (n >= 8) {
		memcpy(&a, from, 8);
		memcpy(&b, from + n - 8, 8);
		memcpy(to, &a, 8);
		memcpy(to + n - 8, &b, 8);
	} else if (n >= 4) {
		memcpy(&c, from, 4);
		memcpy(&d, from + n - 4, 4);
		memcpy(to, &c, 4);
		memcpy(to + n - 4, &d, 4);
	} else {
		for (size_t i = 0; i < n; i++)
			to[i] = from[i];
	}
}

/* Whole lines go past the caches: each is then written without being read first.  A line that
 * is written in part goes the usual way, for half a line at a time is slow. */
#ifdef __SSE2__
static void copy_stream(unsigned char *to, const unsigned char *from, size_t n)
{
	size_t head = (0 - (uintptr_t)to) & 63;

	memcpy(to, from, head);
	for (to += head, from += head, n -= head; n >= 64; n -= 64, to += 64, from += 64)
		for (size_t i = 0; i < 64; i += 16)
			_mm_stream_si128(
				(__m128i *)(void *)(to + i),
				_mm_loadu_si128(
					(const __m128i *)(const void *)(from + i)));
	memcpy(to, from, n);
}
/* What was streamed is ordered like any store from here on. */
static void end_stream(void)
{
	_mm_sfence();
}
#else
static void copy_stream(unsigned char *to, const unsigned char *from, size_t n)
{
	memcpy(to, from, n);
}
static void end_stream(void)
{
}
#endif

enum { STREAM_RUN = 256 }; /* at least three lines of it are whole */

#define STRIDED(bytes) \
	case bytes: \
		for (uint64_t i = 0; i < n; i++) \
			memcpy(to + (int64_t)i * to_step, from + (int64_t)i * from_step, \
			       bytes); \
		return;

/* One axis of runs. */
static void copy_axis(const struct box *box, unsigned char *to, const unsigned char *from)
{
	uint32_t axis = box->rank - 1;
	uint64_t n = box->count[axis];
	int64_t to_step = box->to_step[axis], from_step = box->from_step[axis];
	size_t run = box->run;

	if (box->stream && run >= STREAM_RUN) {
		for (uint64_t i = 0; i < n; i++)
			copy_stream(to + (int64_t)i * to_step,
				    from + (int64_t)i * from_step, run);
		return;
	}
	switch (run) {
		STRIDED(1)
		STRIDED(2)
		STRIDED(4)
		STRIDED(8)
		STRIDED(16)
	default:
		for (uint64_t i = 0; i < n; i++)
			copy_run(to + (int64_t)i * to_step, from + (int64_t)i * from_step,
				 run);
	}
}

/* Make trailing axes without gaps part of the run. */
static inline void merge_axes(struct box *box)
{
	while (box->rank > 0) {
		uint32_t axis = box->rank - 1;
		int64_t run = (int64_t)box->run;

		if (box->count[axis] != 1) {
			if (box->to_step[axis] != run || box->from_step[axis] != run)
				return;
			box->run *= box->count[axis];
		}
		box->rank = axis;
	}
}

/* Not initialised where it need not be: small chunks come by the ten thousand, and
 * zeroing 32 axes of each costs more than copying it. */
static void copy_box(struct box *box)
{
	uint64_t at[TT_MAX_RANK];
	uint32_t outer;

	merge_axes(box);
	if (box->rank == 0 && box->stream && box->run >= STREAM_RUN) {
		copy_stream(box->to, box->from, box->run);
		return;
	}
	if (box->rank == 0) {
		copy_run(box->to, box->from, box->run);
		return;
	}
	outer = box->rank - 1;
	for (uint32_t i = 0; i < outer; i++)
		at[i] = 0;
	for (;;) {
		uint32_t axis = outer;

		copy_axis(box, box->to, box->from);
		while (axis > 0 && ++at[axis - 1] == box->count[axis - 1]) {
			axis--;
			at[axis] = 0;
			box->to -= box->to_step[axis] * (int64_t)(box->count[axis] - 1);
			box->from -=
				box->from_step[axis] * (int64_t)(box->count[axis] - 1);
		}
		if (axis == 0)
			return;
		box->to += box->to_step[axis - 1];
		box->from += box->from_step[axis - 1];
	}
}

/* Cut count places along axis 0 to what the side has of them; *offset is where in its memory
 * the first one is. */
static inline uint64_t fit_rows(const struct tti_side *side, uint64_t start,
				uint64_t count, uint64_t stride, int64_t *offset)
{
	const struct tti_packing *packing = &side->packing;
	int64_t step = side->nd->strides[0];

	if (packing->rows == 0) {
		*offset = (int64_t)start * step;
		return fit(start, count, stride, side->rows);
	}
	if (start >= side->rows)
		return 0;
	*offset = (int64_t)(start / packing->rows) * packing->step +
		  (int64_t)(start % packing->rows) * step;
	return fit(start % packing->rows, count, stride, packing->kept);
}

/* One row as a box; false when nothing of it fits.  Axis 0 apart: its rows may be packed. */
static inline bool row_box(const struct tti_side *to, const struct tti_side *from,
			   const struct tti_row *row, struct box *box)
{
	const struct tt_nd *a = to->nd, *b = from->nd;
	int64_t to_offset = 0, from_offset = 0;

	box->rank = a->rank;
	box->run = a->element.bytes;
	for (uint32_t axis = 0; axis < a->rank; axis++) {
		uint64_t n = row->count[axis];

		if (axis == 0) {
			n = fit_rows(from, row->from[0], n, row->from_stride[0],
				     &from_offset);
			n = fit_rows(to, row->to[0], n, row->to_stride[0], &to_offset);
		} else {
			n = fit(row->from[axis], n, row->from_stride[axis],
				b->shape[axis]);
			n = fit(row->to[axis], n, row->to_stride[axis], a->shape[axis]);
			to_offset += (int64_t)row->to[axis] * a->strides[axis];
			from_offset += (int64_t)row->from[axis] * b->strides[axis];
		}
		if (n == 0)
			return false;
		box->count[axis] = n;
		box->to_step[axis] = (int64_t)row->to_stride[axis] * a->strides[axis];
		box->from_step[axis] = (int64_t)row->from_stride[axis] * b->strides[axis];
	}
	box->to = (unsigned char *)a->data + to_offset;
	box->from = (const unsigned char *)b->data + from_offset;
	return true;
}

/* Boxes alike, each to_step and from_step behind the one before. */
struct train {
	struct box first;
	uint64_t count;
	int64_t to_step, from_step;
};

static bool alike(const struct box *a, const struct box *b)
{
	size_t n = a->rank * sizeof(*a->count);

	return memcmp(a->count, b->count, n) == 0 &&
	       memcmp(a->to_step, b->to_step, n) == 0 &&
	       memcmp(a->from_step, b->from_step, n) == 0;
}

/* From the first byte that a box writes to behind the last; steps are not negative here. */
static int64_t extent(const struct box *box)
{
	int64_t bytes = (int64_t)box->run;

	for (uint32_t axis = 0; axis < box->rank; axis++)
		bytes += (int64_t)(box->count[axis] - 1) * box->to_step[axis];
	return bytes;
}

static bool has_negative_step(const struct box *box)
{
	for (uint32_t axis = 0; axis < box->rank; axis++)
		if (box->to_step[axis] < 0)
			return true;
	return false;
}

/* Whether box goes on train.  Moved together, places are written in another order than one box
 * after the other: so they may have none in common. */
static bool joins(struct train *train, const struct box *box)
{
	int64_t to_step = box->to - train->first.to;
	int64_t from_step = box->from - train->first.from;

	if (!alike(&train->first, box))
		return false;
	if (train->count > 1)
		return to_step == train->to_step * (int64_t)train->count &&
		       from_step == train->from_step * (int64_t)train->count;
	if (to_step <= 0 || from_step <= 0 || box->rank == TT_MAX_RANK ||
	    has_negative_step(box) || to_step < extent(box))
		return false;
	train->to_step = to_step;
	train->from_step = from_step;
	return true;
}

/* The boxes of a train are its innermost axis. */
static void copy_train(struct train *train)
{
	struct box *box = &train->first;

	if (train->count == 0)
		return;
	merge_axes(box);
	if (train->count > 1) {
		box->count[box->rank] = train->count;
		box->to_step[box->rank] = train->to_step;
		box->from_step[box->rank] = train->from_step;
		box->rank++;
	}
	copy_box(box);
}

static void transfer_abreast(const struct tti_side *to, const struct tti_side *from,
			     const struct tti_rows *rows)
{
	struct train train = { .count = 0 };
	struct box box = { .stream = rows->stream };

	for (uint64_t i = 0; i < rows->count; i++) {
		struct tti_row row = tti_row_at(rows->rows, to->nd->rank, i);

		if (!row_box(to, from, &row, &box))
			continue;
		if (train.count > 0 && joins(&train, &box)) {
			train.count++;
			continue;
		}
		copy_train(&train);
		train.first = box;
		train.count = 1;
	}
	copy_train(&train);
}

static void transfer_singly(const struct tti_side *to, const struct tti_side *from,
			    const struct tti_rows *rows)
{
	struct box box;

	box.stream = rows->stream;
	for (uint64_t i = 0; i < rows->count; i++) {
		struct tti_row row = tti_row_at(rows->rows, to->nd->rank, i);

		if (row_box(to, from, &row, &box))
			copy_box(&box);
	}
}

void tti_transfer(const struct tti_side *to, const struct tti_side *from,
		  struct tti_rows rows)
{
	if (rows.abreast)
		transfer_abreast(to, from, &rows);
	else
		transfer_singly(to, from, &rows);
	if (rows.stream)
		end_stream();
}

/* The part of a side that a row names: from start, in steps of stride; *count is cut to it. */
static bool window(const struct tti_side *side, const uint64_t *start,
		   const uint64_t *stride, uint64_t *count, struct tt_nd *out)
{
	const struct tt_nd *nd = side->nd;
	int64_t offset = 0;

	*out = *nd;
	for (uint32_t axis = 0; axis < nd->rank; axis++) {
		if (axis == 0) {
			count[0] = fit_rows(side, start[0], count[0], stride[0], &offset);
		} else {
			count[axis] = fit(start[axis], count[axis], stride[axis],
					  nd->shape[axis]);
			offset += (int64_t)start[axis] * nd->strides[axis];
		}
		if (count[axis] == 0)
			return false;
		out->strides[axis] = (int64_t)stride[axis] * nd->strides[axis];
		out->shape[axis] = count[axis];
	}
	out->data = (unsigned char *)nd->data + offset;
	return true;
}

int tti_transfer_read(const struct tti_side *to, const struct tt_base_slab *from,
		      struct tti_rows rows, struct tt_error *err)
{
	uint64_t count[TT_MAX_RANK];
	struct tt_nd part;
	int rc = TT_OK;

	for (uint64_t i = 0; rc == TT_OK && i < rows.count; i++) {
		struct tti_row row = tti_row_at(rows.rows, from->rank, i);

		for (uint32_t axis = 0; axis < from->rank; axis++)
			count[axis] = fit(row.from[axis], row.count[axis],
					  row.from_stride[axis], from->shape[axis]);
		if (window(to, row.to, row.to_stride, count, &part))
			rc = from->read(from->ctx, row.from, count, row.from_stride,
					&part, err);
	}
	return rc;
}

int tti_transfer_write(const struct tt_base_slab *to, const struct tti_side *from,
		       struct tti_rows rows, struct tt_error *err)
{
	uint64_t count[TT_MAX_RANK];
	struct tt_nd part;
	int rc = TT_OK;

	for (uint64_t i = 0; rc == TT_OK && i < rows.count; i++) {
		struct tti_row row = tti_row_at(rows.rows, to->rank, i);

		for (uint32_t axis = 0; axis < to->rank; axis++)
			count[axis] = fit(row.to[axis], row.count[axis],
					  row.to_stride[axis], to->shape[axis]);
		if (window(from, row.from, row.from_stride, count, &part))
			rc = to->write(to->ctx, row.to, count, &part, err);
	}
	return rc;
}
