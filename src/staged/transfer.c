/* SPDX-License-Identifier: Apache-2.0 */
/* One routine moves a strided box; what makes it fast is what it finds out first:
 * trailing axes that lie without gaps on both sides are one run of bytes, and runs of up
 * to 16 bytes are moved without a call.
 *
 * Invariant: nothing is read or written outside the shapes given, whatever the rows
 *            say. */
#include "staged/transfer.h"

#include <string.h>

#include "base/num.h"

/* A box cut to size: axis i has count[i] steps of to[i] and from[i] bytes. */
struct box {
	uint32_t rank;
	unsigned char *to;
	const unsigned char *from;
	uint64_t count[TT_MAX_RANK];
	int64_t to_step[TT_MAX_RANK], from_step[TT_MAX_RANK];
	size_t run; /* bytes without gaps at each place */
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

#define STRIDED(bytes) \
	case bytes: \
		for (uint64_t i = 0; i < n; i++) \
			memcpy(to + (int64_t)i * to_step, from + (int64_t)i * from_step, \
			       bytes); \
		return;

/* One axis of runs. */
static void copy_axis(unsigned char *to, const unsigned char *from, uint64_t n,
		      int64_t to_step, int64_t from_step, size_t run)
{
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
	if (box->rank == 0) {
		copy_run(box->to, box->from, box->run);
		return;
	}
	outer = box->rank - 1;
	for (uint32_t i = 0; i < outer; i++)
		at[i] = 0;
	for (;;) {
		uint32_t axis = outer;

		copy_axis(box->to, box->from, box->count[outer], box->to_step[outer],
			  box->from_step[outer], box->run);
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

/* One row as a box; false when nothing of it fits. */
static inline bool row_box(const struct tt_nd *to, const struct tt_nd *from,
			   const struct tti_row *row, struct box *box)
{
	uint32_t rank = to->rank;

	box->rank = rank;
	box->to = to->data;
	box->from = from->data;
	box->run = to->element.bytes;
	for (uint32_t axis = 0; axis < rank; axis++) {
		uint64_t n = fit(row->from[axis], row->count[axis],
				 row->from_stride[axis], from->shape[axis]);

		n = fit(row->to[axis], n, row->to_stride[axis], to->shape[axis]);
		if (n == 0)
			return false;
		box->count[axis] = n;
		box->to += (int64_t)row->to[axis] * to->strides[axis];
		box->from += (int64_t)row->from[axis] * from->strides[axis];
		box->to_step[axis] = (int64_t)row->to_stride[axis] * to->strides[axis];
		box->from_step[axis] =
			(int64_t)row->from_stride[axis] * from->strides[axis];
	}
	return true;
}

void tti_transfer(const struct tt_nd *to, const struct tt_nd *from, const uint64_t *rows,
		  uint64_t count)
{
	struct box box;

	for (uint64_t i = 0; i < count; i++) {
		struct tti_row row = tti_row_at(rows, to->rank, i);

		if (row_box(to, from, &row, &box))
			copy_box(&box);
	}
}

/* The part of nd that a row names on its side: start, and strides times stride. */
static bool window(const struct tt_nd *nd, const uint64_t *start, const uint64_t *stride,
		   const uint64_t *count, struct tt_nd *out)
{
	unsigned char *data = nd->data;

	*out = *nd;
	for (uint32_t axis = 0; axis < nd->rank; axis++) {
		if (count[axis] == 0)
			return false;
		data += (int64_t)start[axis] * nd->strides[axis];
		out->strides[axis] = (int64_t)stride[axis] * nd->strides[axis];
		out->shape[axis] = count[axis];
	}
	out->data = data;
	return true;
}

static void clip_row(const struct tti_row *row, uint32_t rank, const uint64_t *from_shape,
		     const uint64_t *to_shape, uint64_t *count)
{
	for (uint32_t axis = 0; axis < rank; axis++) {
		count[axis] = fit(row->from[axis], row->count[axis],
				  row->from_stride[axis], from_shape[axis]);
		count[axis] = fit(row->to[axis], count[axis], row->to_stride[axis],
				  to_shape[axis]);
	}
}

int tti_transfer_read(const struct tt_nd *to, const struct tt_base_slab *from,
		      const uint64_t *rows, uint64_t n, struct tt_error *err)
{
	uint64_t count[TT_MAX_RANK];
	struct tt_nd part;
	int rc = TT_OK;

	for (uint64_t i = 0; rc == TT_OK && i < n; i++) {
		struct tti_row row = tti_row_at(rows, to->rank, i);

		clip_row(&row, to->rank, from->shape, to->shape, count);
		if (window(to, row.to, row.to_stride, count, &part))
			rc = from->read(from->ctx, row.from, count, row.from_stride,
					&part, err);
	}
	return rc;
}

int tti_transfer_write(const struct tt_base_slab *to, const struct tt_nd *from,
		       const uint64_t *rows, uint64_t n, struct tt_error *err)
{
	uint64_t count[TT_MAX_RANK];
	struct tt_nd part;
	int rc = TT_OK;

	for (uint64_t i = 0; rc == TT_OK && i < n; i++) {
		struct tti_row row = tti_row_at(rows, from->rank, i);

		clip_row(&row, from->rank, from->shape, to->shape, count);
		if (window(from, row.from, row.from_stride, count, &part))
			rc = to->write(to->ctx, row.to, count, &part, err);
	}
	return rc;
}
