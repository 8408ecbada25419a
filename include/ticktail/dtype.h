/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: what NumPy calls a dtype, as it stands in the header of an .npy file.
 *
 * A struct tt_dtype is immutable and counted: any thread may use it, tt_dtype_ref() and
 * tt_dtype_unref() may be called from any thread.  Sizes and offsets are bytes.
 * Accepted: b1 i1-i8 u1-u8 f2 f4 f8 f16 c8 c16 c32 S<n> U<n> V<n> M8[unit] m8[unit] in
 * either byte order, structs (nested, titled, padded, with sub-arrays).  Refused: objects,
 * dtype metadata, zero-sized elements, duplicate names. */
#ifndef TICKTAIL_DTYPE_H
#define TICKTAIL_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ticktail/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TT_MAX_RANK 32

/* The letters of NumPy's descr; TT_STRUCT has none there. */
enum tt_kind {
	TT_BOOL = 'b',
	TT_INT = 'i',
	TT_UINT = 'u',
	TT_FLOAT = 'f',
	TT_COMPLEX = 'c',
	TT_BYTES = 'S',
	TT_STR = 'U', /* UCS-4, size is 4 x characters */
	TT_VOID = 'V',
	TT_DATETIME = 'M',
	TT_TIMEDELTA = 'm',
	TT_STRUCT = 'r',
};

/* Units of M8 and m8, coarsest first.  TT_UNIT_GENERIC: no unit given. */
enum tt_unit {
	TT_UNIT_NONE = 0, /* not a time type */
	TT_UNIT_Y,
	TT_UNIT_M,
	TT_UNIT_W,
	TT_UNIT_D,
	TT_UNIT_h,
	TT_UNIT_m,
	TT_UNIT_s,
	TT_UNIT_ms,
	TT_UNIT_us,
	TT_UNIT_ns,
	TT_UNIT_ps,
	TT_UNIT_fs,
	TT_UNIT_as,
	TT_UNIT_GENERIC,
};

struct tt_dtype;

/* Parse text[0..len), UTF-8: a NumPy descr ('<f8', "[('ts', '<i8'), ('px', '<f8')]") or the
 * short form (ts:i8,sym:S8,bid:f8[10]; little-endian, packed, or with C layout when align).
 * On success *out holds one reference.  Errors: TT_E_DTYPE with the place in the text,
 * -ENOMEM. */
TT_API int tt_dtype_parse(struct tt_dtype **out, const char *text, size_t len, bool align,
			  struct tt_error *err);
TT_API struct tt_dtype *tt_dtype_ref(const struct tt_dtype *dtype);
TT_API void tt_dtype_unref(struct tt_dtype *dtype); /* accepts NULL */

/* An element that is an array of base: what one row of an array of shape (n, shape...) is.
 * rank 0 gives another reference to base.  Errors: TT_E_DTYPE (rank, overflow), -ENOMEM. */
TT_API int tt_dtype_subarray(struct tt_dtype **out, const struct tt_dtype *base,
			     uint32_t rank, const uint64_t *shape, struct tt_error *err);

/* A packed struct of the leaves whose names are given (a leaf, or a prefix of dotted names
 * naming a nested struct whole), in that order.  Errors: TT_E_RANGE naming the unknown one,
 * TT_E_DTYPE when one is named twice. */
TT_API int tt_dtype_select(struct tt_dtype **out, const struct tt_dtype *dtype,
			   const char *const *names, size_t count, struct tt_error *err);

/* The text that NumPy writes as 'descr' for this type (with the quotes of a plain type:
 * "'<f8'").  Lives as long as the dtype. */
TT_API const char *tt_dtype_descr(const struct tt_dtype *dtype);
TT_API size_t tt_dtype_size(const struct tt_dtype *dtype);
TT_API enum tt_kind tt_dtype_kind(const struct tt_dtype *dtype);
/* The same bytes mean the same: names, kinds, byte orders, offsets, sizes, titles aside. */
TT_API bool tt_dtype_equal(const struct tt_dtype *a, const struct tt_dtype *b);
/* true when offsets and size are those of a C struct (NumPy's align=True). */
TT_API bool tt_dtype_is_aligned(const struct tt_dtype *dtype);

/* The node itself, for those who translate types (HDF5): */
struct tt_field {
	const char *name;	      /* UTF-8 */
	const char *title;	      /* NULL for none */
	const struct tt_dtype *dtype; /* a sub-array field has a sub-array dtype */
	size_t offset;
};
TT_API char tt_dtype_order(const struct tt_dtype *dtype); /* '<', '>' or '|' */
TT_API enum tt_unit tt_dtype_unit(const struct tt_dtype *dtype);
TT_API uint32_t tt_dtype_unit_step(const struct tt_dtype *dtype); /* 25 in M8[25us] */
TT_API uint32_t tt_dtype_rank(const struct tt_dtype *dtype); /* of a sub-array, else 0 */
TT_API const uint64_t *tt_dtype_shape(const struct tt_dtype *dtype);
/* The element of a sub-array; dtype itself when it is none. */
TT_API const struct tt_dtype *tt_dtype_base(const struct tt_dtype *dtype);
TT_API size_t tt_dtype_field_count(const struct tt_dtype *dtype);
TT_API const struct tt_field *tt_dtype_field(const struct tt_dtype *dtype, size_t i);

/* Leaves: the plain elements of a row in storage order, nested structs flattened ("a.b"),
 * padding left out.  A sub-array of plain elements is one leaf with a shape; an array of
 * structs gives leaves named "c[0].x".  A row without fields is one leaf named "value". */
struct tt_leaf {
	const char *name;
	enum tt_kind kind;
	char order;
	enum tt_unit unit;
	uint32_t unit_step;
	uint32_t rank; /* 0: a single element */
	const uint64_t *shape;
	uint64_t count; /* product of shape, 1 for a single element */
	size_t size;	/* bytes of one element */
	size_t offset;	/* of the first element, in the row */
};
TT_API size_t tt_dtype_leaf_count(const struct tt_dtype *dtype);
TT_API const struct tt_leaf *tt_dtype_leaf(const struct tt_dtype *dtype, size_t i);

/* Zero the padding bytes of count rows. */
TT_API void tt_dtype_clear_padding(const struct tt_dtype *dtype, void *rows,
				   size_t count);
TT_API bool tt_dtype_has_padding(const struct tt_dtype *dtype);

#ifdef __cplusplus
}
#endif
#endif
