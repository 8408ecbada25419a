/* SPDX-License-Identifier: Apache-2.0 */
#include "staged/driver_slabs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int driver_alloc_gaps(void *ctx, const struct tt_nd *like, struct tt_base_slab *out,
		      struct tt_error *err)
{
	struct tt_nd nd;
	int rc = tt_nd_c_order(&nd, like->element, like->rank, like->shape, NULL);
	size_t bytes;

	(void)ctx;
	if (rc < 0)
		return rc;
	nd.strides[0] += 3;
	bytes = like->shape[0] * (size_t)nd.strides[0];
	*out = (struct tt_base_slab){ .element = like->element,
				      .rank = like->rank,
				      .memory = malloc(bytes),
				      .release = free };
	if (!out->memory)
		return tti_fail(err, -ENOMEM, "the driver is out of memory");
	memset(out->memory, 0xa5, bytes);
	out->ctx = out->memory;
	memcpy(out->shape, nd.shape, sizeof(nd.shape));
	memcpy(out->strides, nd.strides, sizeof(nd.strides));
	return rc;
}

struct apart {
	struct tt_nd nd; /* C order */
};

/* Between the box of a slab and an array, an element at a time. */
static void copy_box(const struct apart *apart, const uint64_t *start,
		     const uint64_t *stride, const struct tt_nd *nd, bool into)
{
	uint64_t at[TT_MAX_RANK] = { 0 }, size = 1;

	for (uint32_t i = 0; i < nd->rank; i++)
		size *= nd->shape[i];
	for (uint64_t k = 0; k < size; k++) {
		unsigned char *there = apart->nd.data, *here = nd->data;

		for (uint32_t i = 0; i < nd->rank; i++) {
			uint64_t step = stride ? stride[i] : 1;

			there +=
				(int64_t)(start[i] + at[i] * step) * apart->nd.strides[i];
			here += (int64_t)at[i] * nd->strides[i];
		}
		memcpy(into ? there : here, into ? here : there, nd->element.bytes);
		for (uint32_t i = nd->rank; i-- > 0 && ++at[i] == nd->shape[i];)
			at[i] = 0;
	}
}

static int read_apart(void *ctx, const uint64_t *start, const uint64_t *count,
		      const uint64_t *stride, const struct tt_nd *to,
		      struct tt_error *err)
{
	(void)count;
	(void)err;
	copy_box(ctx, start, stride, to, false);
	return TT_OK;
}

static int write_apart(void *ctx, const uint64_t *start, const uint64_t *count,
		       const struct tt_nd *from, struct tt_error *err)
{
	(void)count;
	(void)err;
	copy_box(ctx, start, NULL, from, true);
	return TT_OK;
}

static void release_apart(void *ctx)
{
	struct apart *apart = ctx;

	free(apart->nd.data);
	free(apart);
}

int driver_alloc_apart(void *ctx, const struct tt_nd *like, struct tt_base_slab *out,
		       struct tt_error *err)
{
	struct apart *apart = malloc(sizeof(*apart));
	size_t bytes = like->element.bytes;

	(void)ctx;
	for (uint32_t i = 0; i < like->rank; i++)
		bytes *= like->shape[i];
	if (!apart ||
	    tt_nd_c_order(&apart->nd, like->element, like->rank, like->shape,
			  malloc(bytes)) < 0 ||
	    !apart->nd.data)
		return tti_fail(err, -ENOMEM, "the driver is out of memory");
	memset(apart->nd.data, 0xa5, bytes);
	*out = (struct tt_base_slab){ .element = like->element,
				      .rank = like->rank,
				      .read = read_apart,
				      .write = write_apart,
				      .release = release_apart,
				      .ctx = apart };
	memcpy(out->shape, like->shape, sizeof(like->shape));
	return TT_OK;
}
