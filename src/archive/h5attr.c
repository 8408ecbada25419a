/* SPDX-License-Identifier: Apache-2.0 */
/* Reading attributes.  Owns nothing; every size is checked before memory is taken, because
 * the file may say anything. */
#include "archive/h5attr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "base/compiler.h"

#define MAX_STRING (64 << 10) /* an attribute in an object header is no longer */

static int damaged(struct tti_attr a, struct tt_error *err, const char *what)
{
	return tti_fail(err, TT_E_DAMAGED, "%s: attribute %s %s", a.where, a.name, what);
}

/* 1 open, 0 missing, < 0 error. */
static int open_attr(hid_t *out, size_t *elements, struct tti_attr a,
		     struct tt_error *err)
{
	htri_t there = H5Aexists(a.object, a.name);
	tti_auto_hid attr = -1, space = -1;
	hssize_t n;

	if (there < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, a.where, a.name);
	if (there == 0)
		return 0;
	attr = H5Aopen(a.object, a.name, H5P_DEFAULT);
	space = attr < 0 ? -1 : H5Aget_space(attr);
	if (space < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, a.where, a.name);
	if (H5Sget_simple_extent_type(space) == H5S_NULL)
		return 0;
	n = H5Sget_simple_extent_npoints(space);
	if (n < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, a.where, a.name);
	*elements = n;
	*out = tti_steal_hid(&attr);
	return 1;
}

static int read_vlen(char **out, hid_t attr, hid_t type, struct tti_attr a,
		     struct tt_error *err)
{
	tti_auto_hid mem = H5Tcopy(H5T_C_S1), space = H5Aget_space(attr);
	char *text = NULL;

	if (mem < 0 || space < 0 || H5Tset_size(mem, H5T_VARIABLE) < 0 ||
	    H5Tset_cset(mem, H5Tget_cset(type)) < 0 || H5Aread(attr, mem, &text) < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, a.where, a.name);
	*out = strdup(text ? text : "");
	H5Dvlen_reclaim(mem, space, H5P_DEFAULT, &text);
	return *out ? TT_OK : tti_fail(err, -ENOMEM, "%s: out of memory", a.where);
}

static int read_fixed(char **out, hid_t attr, hid_t type, struct tti_attr a,
		      struct tt_error *err)
{
	size_t n = H5Tget_size(type);
	tti_auto_free char *text = NULL;

	if (n == 0 || n > MAX_STRING)
		return damaged(a, err, "is a string of no sensible length");
	text = calloc(1, n + 1);
	if (!text)
		return tti_fail(err, -ENOMEM, "%s: out of memory", a.where);
	if (H5Aread(attr, type, text) < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, a.where, a.name);
	if (H5Tget_strpad(type) == H5T_STR_SPACEPAD)
		while (n > 0 && text[n - 1] == ' ')
			text[--n] = '\0';
	*out = tti_steal_ptr(&text);
	return TT_OK;
}

int tti_attr_string(char **out, bool *fixed, struct tti_attr a, struct tt_error *err)
{
	tti_auto_hid attr = -1, type = -1;
	size_t elements = 0;
	htri_t vlen;
	int rc;

	*out = NULL;
	if (fixed)
		*fixed = false;
	rc = open_attr(&attr, &elements, a, err);
	if (rc <= 0)
		return rc;
	type = H5Aget_type(attr);
	if (type < 0 || H5Tget_class(type) != H5T_STRING || elements != 1)
		return damaged(a, err, "is not one string");
	vlen = H5Tis_variable_str(type);
	if (vlen < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, a.where, a.name);
	if (fixed)
		*fixed = !vlen;
	return vlen ? read_vlen(out, attr, type, a, err)
		    : read_fixed(out, attr, type, a, err);
}

int tti_attr_bool(bool *out, bool *found, struct tti_attr a, struct tt_error *err)
{
	tti_auto_hid attr = -1, type = -1;
	unsigned char bytes[16] = { 0 };
	size_t elements = 0, size;
	int rc;

	*out = *found = false;
	rc = open_attr(&attr, &elements, a, err);
	if (rc <= 0)
		return rc;
	type = H5Aget_type(attr);
	size = type < 0 ? 0 : H5Tget_size(type);
	if (elements != 1 || size == 0 || size > sizeof(bytes) ||
	    (H5Tget_class(type) != H5T_ENUM && H5Tget_class(type) != H5T_INTEGER))
		return damaged(a, err, "is not one truth value");
	if (H5Aread(attr, type, bytes) < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, a.where, a.name);
	for (size_t i = 0; i < size; i++)
		*out |= bytes[i] != 0;
	*found = true;
	return TT_OK;
}

int tti_attr_ints(int64_t *out, size_t room, size_t *count, struct tti_attr a,
		  struct tt_error *err)
{
	tti_auto_hid attr = -1, type = -1;
	size_t elements = 0;
	int rc;

	*count = 0;
	rc = open_attr(&attr, &elements, a, err);
	if (rc <= 0)
		return rc;
	type = H5Aget_type(attr);
	if (type < 0 || H5Tget_class(type) != H5T_INTEGER)
		return damaged(a, err, "is no integer");
	if (elements == 0 || elements > room)
		return damaged(a, err, "has an unexpected number of integers");
	if (H5Aread(attr, H5T_NATIVE_INT64, out) < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, a.where, a.name);
	*count = elements;
	return TT_OK;
}
