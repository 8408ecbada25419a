/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of numbers become boxes of bytes, cut to what there is on both sides.
 *
 * Invariant: nothing is read or written outside the shapes given, whatever the rows
 *            say. */
#include "staged/transfer.h"

#include "base/error.h"
#include "base/num.h"

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
			   const struct tti_row *row, struct tti_box *box)
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

void tti_transfer(struct tti_convoy *convoy, const struct tti_side *to,
		  const struct tti_side *from, struct tti_rows rows)
{
	struct tti_box box;

	for (uint64_t i = 0; i < rows.count; i++) {
		struct tti_row row = tti_row_at(rows.rows, to->nd->rank, i);

		if (row_box(to, from, &row, &box))
			tti_convoy_add(convoy, &box);
	}
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

int tti_after_call(int rc, const char *what, struct tt_error *err)
{
	if (rc > 0)
		return tti_fail(err, TT_E_MISUSE,
				"%s returned %d: must be 0 or a negative code", what, rc);
	if (rc < 0 && err && err->code != rc)
		return tti_fail(err, rc, "%s: %s", what, tt_strerror(rc));
	return rc;
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
		if (!window(to, row.to, row.to_stride, count, &part))
			continue;
		tti_before_call(err);
		rc = from->read(from->ctx, row.from, count, row.from_stride, &part, err);
		rc = tti_after_call(rc, "the read of a base slab", err);
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
		if (!window(from, row.from, row.from_stride, count, &part))
			continue;
		tti_before_call(err);
		rc = to->write(to->ctx, row.to, count, &part, err);
		rc = tti_after_call(rc, "the write of a base slab", err);
	}
	return rc;
}
