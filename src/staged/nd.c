/* SPDX-License-Identifier: Apache-2.0 */
/* Invariant: a struct tt_nd made here never spans more bytes than a ptrdiff_t can
 *            count. */
#include "staged/nd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"

const char *tti_shape_text(uint32_t rank, const uint64_t *shape,
			   char text[TTI_SHAPE_TEXT])
{
	size_t len;

	/* a caller's, which there may be nothing behind */
	if (rank > TT_MAX_RANK) {
		snprintf(text, TTI_SHAPE_TEXT, "of rank %" PRIu32, rank);
		return text;
	}
	len = (size_t)snprintf(text, TTI_SHAPE_TEXT, "(");
	if (rank > TT_MAX_RANK) /* a caller's own: its shape holds no more */
		rank = TT_MAX_RANK;
	for (uint32_t i = 0; i < rank; i++)
		len += (size_t)snprintf(text + len, TTI_SHAPE_TEXT - len, "%s%" PRIu64,
					i ? ", " : "", shape[i]);
	snprintf(text + len, TTI_SHAPE_TEXT - len, rank == 1 ? ",)" : ")");
	return text;
}

bool tti_shape_empty(uint32_t rank, const uint64_t *shape)
{
	for (uint32_t i = 0; i < rank; i++)
		if (shape[i] == 0)
			return true;
	return false;
}

bool tti_shape_equal(uint32_t rank, const uint64_t *a, const uint64_t *b)
{
	return rank == 0 || memcmp(a, b, rank * sizeof(*a)) == 0;
}

int tti_shape_bytes(uint32_t rank, const uint64_t *shape, uint64_t element_bytes,
		    uint64_t *out, struct tt_error *err)
{
	char text[TTI_SHAPE_TEXT];
	uint64_t bytes = element_bytes;

	if (tti_shape_empty(rank, shape)) {
		*out = 0;
		return TT_OK;
	}
	for (uint32_t i = 0; i < rank; i++)
		if (tti_mul_overflow(bytes, shape[i], &bytes) || bytes > PTRDIFF_MAX)
			return tti_fail(err, -EOVERFLOW,
					"shape %s of elements of %" PRIu64
					" bytes: more than can be addressed",
					tti_shape_text(rank, shape, text), element_bytes);
	*out = bytes;
	return TT_OK;
}

int tt_nd_c_order(struct tt_nd *out, struct tt_element element, uint32_t rank,
		  const uint64_t *shape, void *data)
{
	uint64_t bytes, stride = element.bytes;

	if (rank > TT_MAX_RANK)
		return TT_E_RANGE;
	if (tti_shape_bytes(rank, shape, element.bytes, &bytes, NULL) < 0)
		return -EOVERFLOW;
	*out = (struct tt_nd){ .element = element, .rank = rank, .data = data };
	for (uint32_t axis = rank; axis-- > 0;) {
		out->shape[axis] = shape[axis];
		out->strides[axis] = (int64_t)stride;
		/* an empty array has no strides to speak of, its other axes may be
		 * anything */
		stride = bytes > 0 ? stride * shape[axis] : stride;
	}
	return TT_OK;
}

int tti_nd_broadcast(const struct tt_nd *from, uint32_t rank, const uint64_t *shape,
		     struct tt_nd *out, struct tt_error *err)
{
	char have[TTI_SHAPE_TEXT], want[TTI_SHAPE_TEXT];
	bool fits = from->rank <= rank;
	struct tt_nd nd = { .element = from->element, .rank = rank, .data = from->data };

	for (uint32_t i = 0; fits && i < rank; i++) {
		uint32_t missing = rank - from->rank;
		bool repeats = i < missing || from->shape[i - missing] == 1;

		fits = repeats || from->shape[i - missing] == shape[i];
		nd.shape[i] = shape[i];
		nd.strides[i] = repeats ? 0 : from->strides[i - missing];
	}
	if (!fits)
		return tti_fail(
			err, TT_E_MISMATCH,
			"a value of shape %s cannot be broadcast to the selection's "
			"shape %s",
			tti_shape_text(from->rank, from->shape, have),
			tti_shape_text(rank, shape, want));
	*out = nd;
	return TT_OK;
}
