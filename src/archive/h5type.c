/* SPDX-License-Identifier: Apache-2.0 */
/* From a dtype to the HDF5 type of the same bytes.
 *
 * Invariant: a type made here has the size, the offsets and the byte orders of its dtype, so
 * rows pass through HDF5 with the file type as memory type and no byte changes. */
#include "archive/h5type.h"

#include <errno.h>

#include "archive/h5.h"
#include "base/error.h"

#define MAX_ENCODED (60 << 10) /* an object header message ends at 64 KiB */

/* ---- dtype to HDF5 ---- */

static int make(hid_t *out, const struct tt_dtype *dtype, unsigned depth,
		struct tt_error *err);

/* HDF5's own reason is of no use to the reader: he cannot change anything in there. */
static int refuse(struct tt_error *err, const struct tt_dtype *dtype, const char *why)
{
	return tti_fail(err, TT_E_DTYPE, "%s cannot be archived: %s",
			tt_dtype_descr(dtype), why);
}

static int ordered(hid_t *out, hid_t base, char order)
{
	tti_auto_hid type = H5Tcopy(base);

	if (type < 0 || (order == '>' && H5Tset_order(type, H5T_ORDER_BE) < 0))
		return -ENOMEM;
	*out = tti_steal_hid(&type);
	return TT_OK;
}

static hid_t int_base(size_t size, bool is_signed)
{
	switch (size) {
	case 1: return is_signed ? H5T_STD_I8LE : H5T_STD_U8LE;
	case 2: return is_signed ? H5T_STD_I16LE : H5T_STD_U16LE;
	case 4: return is_signed ? H5T_STD_I32LE : H5T_STD_U32LE;
	case 8: return is_signed ? H5T_STD_I64LE : H5T_STD_U64LE;
	default: return -1;
	}
}

/* Half precision has no predefined type: sign 15, exponent 5 at 10, mantissa 10 at 0. */
static int make_half(hid_t *out, char order)
{
	tti_auto_hid type = H5Tcopy(H5T_IEEE_F32LE);

	if (type < 0 || H5Tset_fields(type, 15, 10, 5, 0, 10) < 0 ||
	    H5Tset_size(type, 2) < 0 || H5Tset_ebias(type, 15) < 0 ||
	    (order == '>' && H5Tset_order(type, H5T_ORDER_BE) < 0))
		return -ENOMEM;
	*out = tti_steal_hid(&type);
	return TT_OK;
}

int tti_h5_make_float(hid_t *out, size_t size, char order)
{
	switch (size) {
	case 2: return make_half(out, order);
	case 4: return ordered(out, H5T_IEEE_F32LE, order);
	case 8: return ordered(out, H5T_IEEE_F64LE, order);
	case 16:
		/* x86's 80 bits in 16 bytes; elsewhere long double is another format */
		return H5Tget_size(H5T_NATIVE_LDOUBLE) == 16
			       ? ordered(out, H5T_NATIVE_LDOUBLE, order)
			       : TT_E_DTYPE;
	default: return TT_E_DTYPE;
	}
}

static int make_complex(hid_t *out, size_t size, char order)
{
	tti_auto_hid part = -1, type = -1;
	int rc = tti_h5_make_float(&part, size / 2, order);

	if (rc < 0)
		return rc;
	type = H5Tcreate(H5T_COMPOUND, size);
	if (type < 0 || H5Tinsert(type, "r", 0, part) < 0 ||
	    H5Tinsert(type, "i", size / 2, part) < 0)
		return -ENOMEM;
	*out = tti_steal_hid(&type);
	return TT_OK;
}

/* An enumeration of one signed byte with exactly these names is what h5py takes for bool. */
int tti_h5_make_bool(hid_t *out)
{
	tti_auto_hid type = H5Tenum_create(H5T_STD_I8LE);
	const int8_t no = 0, yes = 1;

	if (type < 0 || H5Tenum_insert(type, "FALSE", &no) < 0 ||
	    H5Tenum_insert(type, "TRUE", &yes) < 0)
		return -ENOMEM;
	*out = tti_steal_hid(&type);
	return TT_OK;
}

static int make_bytes(hid_t *out, size_t size)
{
	tti_auto_hid type = H5Tcopy(H5T_C_S1);

	if (type < 0 || H5Tset_size(type, size) < 0 ||
	    H5Tset_strpad(type, H5T_STR_NULLPAD) < 0)
		return -ENOMEM;
	*out = tti_steal_hid(&type);
	return TT_OK;
}

static int make_void(hid_t *out, size_t size)
{
	hid_t type = H5Tcreate(H5T_OPAQUE, size);

	*out = type;
	return type < 0 ? -ENOMEM : TT_OK;
}

static int make_struct(hid_t *out, const struct tt_dtype *dtype, unsigned depth,
		       struct tt_error *err)
{
	tti_auto_hid type = H5Tcreate(H5T_COMPOUND, tt_dtype_size(dtype));

	if (type < 0)
		return refuse(err, dtype, "HDF5 makes no compound type of this size");
	for (size_t i = 0; i < tt_dtype_field_count(dtype); i++) {
		const struct tt_field *field = tt_dtype_field(dtype, i);
		tti_auto_hid member = -1;
		int rc = make(&member, field->dtype, depth + 1, err);

		if (rc < 0)
			return rc;
		if (H5Tinsert(type, field->name, field->offset, member) < 0)
			return tti_fail(
				err, TT_E_DTYPE,
				"field '%s' cannot be archived: HDF5 takes no such "
				"member (fields that overlap, or an empty name)",
				field->name);
	}
	*out = tti_steal_hid(&type);
	return TT_OK;
}

/* Axes of a sub-array and, behind them, the characters of a U: one array type. */
static int array_axes(const struct tt_dtype *dtype, uint32_t *rank, uint64_t *shape)
{
	const struct tt_dtype *base = tt_dtype_base(dtype);

	*rank = tt_dtype_rank(dtype);
	if (*rank > TT_MAX_RANK)
		return TT_E_DTYPE;
	for (uint32_t i = 0; i < *rank; i++)
		shape[i] = tt_dtype_shape(dtype)[i];
	if (tt_dtype_kind(base) != TT_STR)
		return TT_OK;
	if (*rank == TT_MAX_RANK)
		return TT_E_DTYPE;
	shape[(*rank)++] = tt_dtype_size(base) / 4;
	return TT_OK;
}

static int make_plain(hid_t *out, const struct tt_dtype *dtype, unsigned depth,
		      struct tt_error *err)
{
	size_t size = tt_dtype_size(dtype);
	char order = tt_dtype_order(dtype);

	switch (tt_dtype_kind(dtype)) {
	case TT_BOOL: return tti_h5_make_bool(out);
	case TT_INT:
	case TT_UINT:
		return ordered(out, int_base(size, tt_dtype_kind(dtype) == TT_INT),
			       order);
	case TT_DATETIME:
	case TT_TIMEDELTA: return ordered(out, H5T_STD_I64LE, order);
	case TT_STR: return ordered(out, H5T_STD_U32LE, order);
	case TT_FLOAT: return tti_h5_make_float(out, size, order);
	case TT_COMPLEX: return make_complex(out, size, order);
	case TT_BYTES: return make_bytes(out, size);
	case TT_VOID: return make_void(out, size);
	case TT_STRUCT: return make_struct(out, dtype, depth, err);
	default: return TT_E_DTYPE;
	}
}

static int make(hid_t *out, const struct tt_dtype *dtype, unsigned depth,
		struct tt_error *err)
{
	const struct tt_dtype *base = tt_dtype_base(dtype);
	uint64_t shape[TT_MAX_RANK];
	hsize_t dims[TT_MAX_RANK];
	tti_auto_hid element = -1;
	uint32_t rank;
	int rc;

	if (depth > TTI_H5TYPE_DEPTH)
		return refuse(err, dtype, "structs are nested more than 64 deep");
	if (array_axes(dtype, &rank, shape) < 0)
		return refuse(err, dtype, "an HDF5 array has at most 32 axes");
	/* a base that is a sub-array again keeps its own array type */
	rc = base == dtype || tt_dtype_rank(base) == 0
		     ? make_plain(&element, base, depth, err)
		     : make(&element, base, depth + 1, err);
	if (rc == TT_E_DTYPE && (!err || err->code != TT_E_DTYPE))
		return refuse(err, dtype, "HDF5 has no such type on this machine");
	if (rc < 0)
		return rc == -ENOMEM ? tti_fail(err, rc, "out of memory for an HDF5 type")
				     : rc;
	if (rank == 0) {
		*out = tti_steal_hid(&element);
		return TT_OK;
	}
	for (uint32_t i = 0; i < rank; i++)
		dims[i] = shape[i];
	*out = H5Tarray_create2(element, rank, dims);
	return *out < 0 ? refuse(err, dtype, "HDF5 makes no array type of this shape")
			: TT_OK;
}

void tti_h5type_close(struct tti_h5type *h5type)
{
	tti_h5_close(&h5type->type);
}

static int check_encoded(hid_t type, const struct tt_dtype *dtype, struct tt_error *err)
{
	size_t bytes = 0;

	if (H5Tencode(type, NULL, &bytes) < 0)
		return refuse(err, dtype, "HDF5 cannot encode the type");
	if (bytes > MAX_ENCODED)
		return tti_fail(err, TT_E_DTYPE,
				"the rows cannot be archived: their type takes %zu "
				"bytes to describe in HDF5, at most %d fit (fewer fields "
				"or shorter names)",
				bytes, MAX_ENCODED);
	return TT_OK;
}

int tti_h5type_from_dtype(struct tti_h5type *out, const struct tt_dtype *dtype,
			  struct tt_error *err)
{
	const struct tt_dtype *base = tt_dtype_base(dtype);
	struct tt_error local = { 0 };
	struct tti_h5type made = TTI_H5TYPE_EMPTY;
	int rc;

	*out = (struct tti_h5type)TTI_H5TYPE_EMPTY;
	if (!err)
		err = &local;
	err->code = 0;
	if (tt_dtype_size(dtype) > UINT32_MAX)
		return refuse(err, dtype, "HDF5 holds rows of less than 4 GiB");
	if (array_axes(dtype, &made.rank, made.shape) < 0)
		return refuse(err, dtype, "an HDF5 dataset has at most 32 axes");
	rc = tt_dtype_kind(base) == TT_STR
		     ? ordered(&made.type, H5T_STD_U32LE, tt_dtype_order(base))
		     : make(&made.type, base, 0, err);
	if (rc == TT_OK)
		rc = check_encoded(made.type, dtype, err);
	if (rc < 0) {
		tti_h5type_close(&made);
		return rc;
	}
	made.size = H5Tget_size(made.type);
	*out = made;
	return TT_OK;
}
