/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes, written.  Invariant: strings have variable length, because versioned_hdf5
 * cannot look up others. */
#include "archive/h5put.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"

static hid_t string_type(void)
{
	tti_auto_hid type = H5Tcopy(H5T_C_S1);

	if (type < 0 || H5Tset_size(type, H5T_VARIABLE) < 0 ||
	    H5Tset_cset(type, H5T_CSET_UTF8) < 0)
		return -1;
	return tti_steal_hid(&type);
}

static hid_t bool_type(void)
{
	tti_auto_hid type = H5Tenum_create(H5T_STD_I8LE);
	const int8_t no = 0, yes = 1;

	if (type < 0 || H5Tenum_insert(type, "FALSE", &no) < 0 ||
	    H5Tenum_insert(type, "TRUE", &yes) < 0)
		return -1;
	return tti_steal_hid(&type);
}

/* Made anew: one that is there may have another type. */
static int put(hid_t object, const char *name, hid_t type, hid_t space, const void *value)
{
	tti_auto_hid attr = -1;
	htri_t there = H5Aexists(object, name);

	if (type < 0 || space < 0 || there < 0 ||
	    (there > 0 && H5Adelete(object, name) < 0))
		return -EIO;
	attr = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	return attr < 0 || H5Awrite(attr, type, value) < 0 ? -EIO : TT_OK;
}

int tti_put_string(hid_t object, const char *name, const char *text)
{
	tti_auto_hid type = string_type(), space = H5Screate(H5S_SCALAR);

	return put(object, name, type, space, &text);
}

int tti_put_ints(hid_t object, const char *name, const uint64_t *values, size_t count)
{
	hsize_t dims = count;
	tti_auto_hid space =
		count ? H5Screate_simple(1, &dims, NULL) : H5Screate(H5S_SCALAR);

	return put(object, name, H5T_STD_I64LE, space, values);
}

int tti_put_bool(hid_t object, const char *name, bool value)
{
	tti_auto_hid type = bool_type(), space = H5Screate(H5S_SCALAR);
	int8_t byte = value;

	return put(object, name, type, space, &byte);
}

int tti_set_int(hid_t object, const char *name, int64_t value)
{
	tti_auto_hid attr = H5Aopen(object, name, H5P_DEFAULT);

	return attr < 0 || H5Awrite(attr, H5T_NATIVE_INT64, &value) < 0 ? -EIO : TT_OK;
}

/* ---- Carrying over ---- */

/* Bytes that hold the value in its own type; variable-length parts are libhdf5's. */
static int copy_value(hid_t to, hid_t from, hid_t type, hid_t space, size_t n)
{
	void *value = calloc(1, n + !n);
	int rc = -EIO;

	if (!value)
		return -ENOMEM;
	if (H5Aread(from, type, value) >= 0) {
		rc = H5Awrite(to, type, value) < 0 ? -EIO : TT_OK;
		if (H5Dvlen_reclaim(type, space, H5P_DEFAULT, value) < 0)
			rc = -EIO;
	}
	free(value);
	return rc;
}

static int copy_one(hid_t to, hid_t from_object, const char *name)
{
	tti_auto_hid from = H5Aopen(from_object, name, H5P_DEFAULT);
	tti_auto_hid type = from < 0 ? -1 : H5Aget_type(from);
	tti_auto_hid space = from < 0 ? -1 : H5Aget_space(from), made = -1;
	hssize_t points;
	size_t size;

	if (type < 0 || space < 0)
		return -EIO;
	made = H5Acreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	points = H5Sget_simple_extent_type(space) == H5S_NULL
			 ? 0
			 : H5Sget_simple_extent_npoints(space);
	size = H5Tget_size(type);
	if (made < 0 || points < 0 || size == 0 || (size_t)points > SIZE_MAX / 2 / size)
		return -EIO;
	return points == 0 ? TT_OK
			   : copy_value(made, from, type, space, (size_t)points * size);
}

struct copying {
	hid_t to;
	const char *const *skip;
	int rc;
};

static herr_t copy_named(hid_t from, const char *name, const H5A_info_t *info, void *ctx)
{
	struct copying *copying = ctx;

	(void)info;
	for (const char *const *skip = copying->skip; skip && *skip; skip++)
		if (strcmp(*skip, name) == 0)
			return 0;
	copying->rc = copy_one(copying->to, from, name);
	return copying->rc < 0 ? -1 : 0;
}

int tti_copy_attributes(hid_t to, hid_t from, const char *const *skip)
{
	struct copying copying = { .to = to, .skip = skip };

	if (H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_INC, NULL, copy_named, &copying) < 0)
		return copying.rc < 0 ? copying.rc : -EIO;
	return TT_OK;
}

/* 64 KiB less what the message says about the value. */
#define FILL_MAX (65535 - 64)

int tti_put_fill(hid_t dcpl, hid_t type, const void *fill)
{
	if (H5Tget_size(type) > FILL_MAX)
		return TT_OK;
	return H5Pset_fill_value(dcpl, type, fill) < 0 ? -EIO : TT_OK;
}
