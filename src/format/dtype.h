/* SPDX-License-Identifier: Apache-2.0 */
/* Element types from the inside.  A type is a tree of immutable counted nodes: plain
 * ones, sub-arrays with a base, structs with fields.  Text and leaves come with it. */
#ifndef TTI_DTYPE_H
#define TTI_DTYPE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/compiler.h"
#include "base/error.h"
#include "ticktail/dtype.h"

#define TTI_DTYPE_MAX_DEPTH 32 /* structs and sub-arrays inside each other */
#define TTI_DTYPE_MAX_TEXT (4u << 20)
#define TTI_DTYPE_MAX_LEAVES 65536u
#define TTI_DTYPE_MAX_NAMES (16u << 20) /* bytes of all leaf names of a node */
#define TTI_DTYPE_MAX_SIZE INT32_MAX	/* NumPy holds no larger element */

struct tti_gap {
	size_t offset, bytes; /* in a row */
};

struct tt_dtype {
	_Atomic(uint32_t) refs;
	enum tt_kind kind; /* of a sub-array: its base's, as the next three */
	char order;
	enum tt_unit unit;
	uint32_t unit_step;
	uint32_t depth; /* 0 for plain */
	bool is_aligned;
	size_t size;
	size_t align; /* of the C type; 1 when not that of a C struct */

	struct tt_dtype *base; /* sub-arrays only, as the two below */
	uint32_t rank;
	uint64_t shape[TT_MAX_RANK]; /* own extents, then the base's */
	uint32_t full_rank;	     /* with the base's */

	struct tt_field *fields; /* structs only; names and titles are allocated */
	size_t field_count;

	char *descr;
	struct tt_leaf *leaves;
	char *leaf_names; /* the bytes behind all leaves[].name that are this node's */
	size_t leaf_count;
	struct tti_gap *gaps; /* padding, as few and long ones as there are */
	size_t gap_count;
};

static inline void tti_unref_dtype(struct tt_dtype **dtype)
{
	tt_dtype_unref(*dtype);
	*dtype = NULL;
}
#define tti_auto_dtype TTI_CLEANUP(tti_unref_dtype) struct tt_dtype

/* A plain type; size in bytes. */
struct tti_plain {
	enum tt_kind kind;
	char order; /* '<' or '>'; made '|' where order means nothing */
	enum tt_unit unit;
	uint32_t unit_step;
	uint64_t size;
};
int tti_dtype_plain(struct tt_dtype **out, const struct tti_plain *plain,
		    struct tt_error *err);

/* A type code without quotes: "<f8", "M8[25us]", "S12", "float64"; no order is '<'. */
int tti_dtype_code(struct tti_plain *out, const char *code, size_t len,
		   struct tt_error *err);

/* What may stand as 'descr' in an .npy header and nothing else: the literal without its
 * dictionary form.  Text and errors as tt_dtype_parse(). */
int tti_dtype_parse_descr(struct tt_dtype **out, const char *text, size_t len,
			  struct tt_error *err);

/* A struct being built: fields in storage order. */
struct tti_fields {
	struct tt_field *fields;
	size_t count, room;
	uint64_t end;	 /* where the next field may begin */
	uint64_t leaves; /* of all fields so far, up to TTI_DTYPE_MAX_LEAVES */
	bool c_layout;	 /* place fields and end as a C compiler does */
};
void tti_fields_fini(struct tti_fields *fields);
#define tti_auto_fields TTI_CLEANUP(tti_fields_fini) struct tti_fields

/* Count the leaves of one more field; refused as soon as the struct would have too many, for
 * each field holds a table of its own: a short text could ask for any amount of memory. */
int tti_count_leaves(uint64_t *leaves, const struct tt_dtype *dtype,
		     struct tt_error *err);

/* Append a field; a reference to dtype is taken.  title may be NULL. */
int tti_fields_add(struct tti_fields *fields, const char *name, const char *title,
		   const struct tt_dtype *dtype, struct tt_error *err);
int tti_fields_pad(struct tti_fields *fields, uint64_t bytes, struct tt_error *err);
/* The struct of the fields; fields is empty afterwards. */
int tti_fields_finish(struct tt_dtype **out, struct tti_fields *fields,
		      struct tt_error *err);

/* What a node carries besides its shape: called once, while it is being made. */
int tti_dtype_make_descr(struct tt_dtype *dtype, struct tt_error *err);
int tti_dtype_make_leaves(struct tt_dtype *dtype, struct tt_error *err);
int tti_dtype_make_gaps(struct tt_dtype *dtype, struct tt_error *err); /* needs leaves */
/* All three, then the node is the caller's. */
int tti_dtype_complete(struct tt_dtype **out, struct tt_dtype **dtype,
		       struct tt_error *err);

#endif
