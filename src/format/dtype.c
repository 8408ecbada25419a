/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of element types: making, counting, comparing, asking.  Invariant: a node is
 * complete (text, leaves, sizes) before anyone else sees it and never changes again. */
#include "format/dtype.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

/* A new reference comes from one that is held already: nothing to order. */
static void count_up(struct tt_dtype *dtype)
{
	atomic_fetch_add_explicit(&dtype->refs, 1, memory_order_relaxed);
}

/* true for the last one.  The release of each drop pairs with the acquire of the last:
 * all reads of the node come before it is freed. */
static bool count_down(struct tt_dtype *dtype)
{
	return atomic_fetch_sub_explicit(&dtype->refs, 1, memory_order_acq_rel) == 1;
}

struct tt_dtype *tt_dtype_ref(const struct tt_dtype *dtype)
{
	struct tt_dtype *ref = (struct tt_dtype *)(uintptr_t)dtype;

	if (ref)
		count_up(ref);
	return ref;
}

static void free_fields(struct tt_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free((void *)(uintptr_t)fields[i].name);
		free((void *)(uintptr_t)fields[i].title);
		tt_dtype_unref((struct tt_dtype *)(uintptr_t)fields[i].dtype);
	}
	free(fields);
}

void tt_dtype_unref(struct tt_dtype *dtype)
{
	if (!dtype || !count_down(dtype))
		return;
	free_fields(dtype->fields, dtype->field_count);
	tt_dtype_unref(dtype->base);
	free(dtype->descr);
	free(dtype->leaves);
	free(dtype->leaf_names);
	free(dtype->gaps);
	free(dtype);
}

void tti_fields_fini(struct tti_fields *fields)
{
	free_fields(fields->fields, fields->count);
	*fields = (struct tti_fields){ 0 };
}

static struct tt_dtype *new_node(struct tt_error *err)
{
	struct tt_dtype *dtype = calloc(1, sizeof(*dtype));

	if (!dtype)
		tti_fail(err, -ENOMEM, "element type: out of memory");
	else
		atomic_init(&dtype->refs, 1);
	return dtype;
}

int tti_dtype_complete(struct tt_dtype **out, struct tt_dtype **dtype,
		       struct tt_error *err)
{
	int rc = tti_dtype_make_descr(*dtype, err);

	if (rc == TT_OK)
		rc = tti_dtype_make_leaves(*dtype, err);
	if (rc == TT_OK)
		rc = tti_dtype_make_gaps(*dtype, err);
	if (rc == TT_OK)
		*out = tti_steal_ptr(dtype);
	return rc;
}

static size_t plain_align(const struct tti_plain *plain)
{
	switch (plain->kind) {
	case TT_BYTES:
	case TT_VOID: return 1;
	case TT_STR: return 4;
	case TT_COMPLEX: return (size_t)plain->size / 2;
	default: return (size_t)plain->size;
	}
}

int tti_dtype_plain(struct tt_dtype **out, const struct tti_plain *plain,
		    struct tt_error *err)
{
	tti_auto_dtype *dtype = NULL;

	*out = NULL;
	if (plain->size == 0)
		return tti_fail(
			err, TT_E_DTYPE,
			"element type: %c0 holds nothing; give it a length, as in %c8",
			plain->kind, plain->kind);
	if (plain->size > TTI_DTYPE_MAX_SIZE)
		return tti_fail(
			err, TT_E_DTYPE,
			"element type: %c of %llu bytes is too large; the most is %d",
			plain->kind, (unsigned long long)plain->size, TTI_DTYPE_MAX_SIZE);
	dtype = new_node(err);
	if (!dtype)
		return -ENOMEM;
	dtype->kind = plain->kind;
	dtype->unit = plain->unit;
	dtype->unit_step = plain->unit_step;
	dtype->size = (size_t)plain->size;
	dtype->align = plain_align(plain);
	dtype->is_aligned = true;
	dtype->order = plain->order;
	if (dtype->kind == TT_BYTES || dtype->kind == TT_VOID || dtype->size == 1)
		dtype->order = '|';
	return tti_dtype_complete(out, &dtype, err);
}

static int set_shape(struct tt_dtype *dtype, uint32_t rank, const uint64_t *shape,
		     struct tt_error *err)
{
	const struct tt_dtype *base = dtype->base;
	uint64_t size = base->size;

	if (rank > TT_MAX_RANK || base->full_rank > TT_MAX_RANK - rank)
		return tti_fail(err, TT_E_DTYPE, "element type: more than %d dimensions",
				TT_MAX_RANK);
	for (uint32_t i = 0; i < rank; i++) {
		if (shape[i] == 0)
			return tti_fail(
				err, TT_E_DTYPE,
				"element type: a sub-array of extent 0 holds nothing");
		if (tti_mul_overflow(size, shape[i], &size) || size > INT64_MAX)
			return tti_fail(
				err, TT_E_DTYPE,
				"element type: the size of the sub-array overflows");
		dtype->shape[i] = shape[i];
	}
	for (uint32_t i = 0; i < base->full_rank; i++)
		dtype->shape[rank + i] = base->shape[i];
	dtype->rank = rank;
	dtype->full_rank = rank + base->full_rank;
	dtype->size = (size_t)size;
	return TT_OK;
}

int tt_dtype_subarray(struct tt_dtype **out, const struct tt_dtype *base, uint32_t rank,
		      const uint64_t *shape, struct tt_error *err)
{
	tti_auto_dtype *dtype = NULL;
	int rc;

	*out = NULL;
	if (rank == 0) {
		*out = tt_dtype_ref(base);
		return TT_OK;
	}
	if (base->depth >= TTI_DTYPE_MAX_DEPTH)
		return tti_fail(err, TT_E_DTYPE,
				"element type: nested deeper than %d levels",
				TTI_DTYPE_MAX_DEPTH);
	dtype = new_node(err);
	if (!dtype)
		return -ENOMEM;
	dtype->base = tt_dtype_ref(base);
	dtype->kind = base->kind;
	dtype->order = base->order;
	dtype->unit = base->unit;
	dtype->unit_step = base->unit_step;
	dtype->depth = base->depth + 1;
	dtype->align = base->align;
	dtype->is_aligned = base->is_aligned;
	rc = set_shape(dtype, rank, shape, err);
	return rc < 0 ? rc : tti_dtype_complete(out, &dtype, err);
}

/* Sub-arrays inside sub-arrays are one shape here: the bytes are the same. */
static const struct tt_dtype *innermost(const struct tt_dtype *dtype)
{
	while (dtype->base)
		dtype = dtype->base;
	return dtype;
}

static bool same_fields(const struct tt_dtype *a, const struct tt_dtype *b)
{
	if (a->field_count != b->field_count)
		return false;
	for (size_t i = 0; i < a->field_count; i++) {
		const struct tt_field *fa = &a->fields[i], *fb = &b->fields[i];

		if (fa->offset != fb->offset || strcmp(fa->name, fb->name) != 0 ||
		    !tt_dtype_equal(fa->dtype, fb->dtype))
			return false;
	}
	return true;
}

bool tt_dtype_equal(const struct tt_dtype *a, const struct tt_dtype *b)
{
	if (a == b)
		return true;
	if (a->size != b->size || a->full_rank != b->full_rank ||
	    memcmp(a->shape, b->shape, a->full_rank * sizeof(a->shape[0])) != 0)
		return false;
	a = innermost(a);
	b = innermost(b);
	return a->kind == b->kind && a->order == b->order && a->unit == b->unit &&
	       a->unit_step == b->unit_step && same_fields(a, b);
}

const char *tt_dtype_descr(const struct tt_dtype *dtype)
{
	return dtype->descr;
}

size_t tt_dtype_size(const struct tt_dtype *dtype)
{
	return dtype->size;
}

enum tt_kind tt_dtype_kind(const struct tt_dtype *dtype)
{
	return dtype->kind;
}

bool tt_dtype_is_aligned(const struct tt_dtype *dtype)
{
	return dtype->is_aligned;
}

char tt_dtype_order(const struct tt_dtype *dtype)
{
	return dtype->order;
}

enum tt_unit tt_dtype_unit(const struct tt_dtype *dtype)
{
	return dtype->unit;
}

uint32_t tt_dtype_unit_step(const struct tt_dtype *dtype)
{
	return dtype->unit_step;
}

uint32_t tt_dtype_rank(const struct tt_dtype *dtype)
{
	return dtype->rank;
}

const uint64_t *tt_dtype_shape(const struct tt_dtype *dtype)
{
	return dtype->shape;
}

const struct tt_dtype *tt_dtype_base(const struct tt_dtype *dtype)
{
	return dtype->base ? dtype->base : dtype;
}

size_t tt_dtype_field_count(const struct tt_dtype *dtype)
{
	return dtype->field_count;
}

const struct tt_field *tt_dtype_field(const struct tt_dtype *dtype, size_t i)
{
	return i < dtype->field_count ? &dtype->fields[i] : NULL;
}
