/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a hash_table.  Invariant: at most largest_index rows are given out, whatever lies
 * behind them is another writer's leftover. */
#include "archive/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "archive/h5attr.h"
#include "archive/layout.h"

static int bad(struct tt_error *err, const char *where, const char *what)
{
	return tti_fail(err, TT_E_DAMAGED, "%s: hash_table %s", where, what);
}

static bool is_member(hid_t type, const char *name, hsize_t length)
{
	int index = H5Tget_member_index(type, name);
	tti_auto_hid member = index < 0 ? -1 : H5Tget_member_type(type, index), base = -1;
	hsize_t dims[H5S_MAX_RANK];

	if (member < 0 || H5Tget_class(member) != H5T_ARRAY ||
	    H5Tget_array_ndims(member) != 1 || H5Tget_array_dims2(member, dims) < 0 ||
	    dims[0] != length)
		return false;
	base = H5Tget_super(member);
	return base >= 0 && H5Tget_class(base) == H5T_INTEGER;
}

static hid_t memory_type(void)
{
	const hsize_t digest_dims = sizeof(struct tti_digest), range_dims = 2;
	tti_auto_hid digest = H5Tarray_create2(H5T_NATIVE_UINT8, 1, &digest_dims),
		     range = H5Tarray_create2(H5T_NATIVE_INT64, 1, &range_dims),
		     type = H5Tcreate(H5T_COMPOUND, sizeof(struct tti_table_row));

	if (digest < 0 || range < 0 || type < 0 ||
	    H5Tinsert(type, "hash", offsetof(struct tti_table_row, digest), digest) < 0 ||
	    H5Tinsert(type, "shape", offsetof(struct tti_table_row, start), range) < 0)
		return -1;
	return tti_steal_hid(&type);
}

static int check_type(hid_t id, const char *where, struct tt_error *err)
{
	tti_auto_hid type = H5Dget_type(id);

	if (type < 0 || H5Tget_class(type) != H5T_COMPOUND ||
	    H5Tget_nmembers(type) != 2 || !is_member(type, "hash", 32) ||
	    !is_member(type, "shape", 2))
		return bad(err, where,
			   "is not made of hash (32 bytes) and shape (2 integers)");
	return TT_OK;
}

static int check_extent(hid_t file, hid_t id, uint64_t count, const char *where,
			struct tt_error *err)
{
	tti_auto_hid space = H5Dget_space(id);
	hsize_t extent;

	if (space < 0 || H5Sget_simple_extent_ndims(space) != 1 ||
	    H5Sget_simple_extent_dims(space, &extent, NULL) < 0)
		return bad(err, where, "is not a list");
	if (extent < count)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: hash_table has %" PRIu64 " rows, "
				"largest_index says %" PRIu64,
				where, (uint64_t)extent, count);
	if (!tti_fits_file(file, count))
		return tti_fail(err, TT_E_DAMAGED,
				"%s: largest_index of hash_table says %" PRIu64
				" rows, more than the file has bytes",
				where, count);
	return TT_OK;
}

static int read_rows(struct tti_table *out, hid_t id, const char *where,
		     struct tt_error *err)
{
	tti_auto_hid memory = memory_type(), space = H5Dget_space(id), list = -1;
	hsize_t start = 0, count = out->count;

	out->rows = calloc(out->count, sizeof(*out->rows));
	if (!out->rows)
		return tti_fail(err, -ENOMEM, "%s: out of memory for %" PRIu64 " digests",
				where, out->count);
	list = H5Screate_simple(1, &count, NULL);
	if (memory < 0 || space < 0 || list < 0 ||
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0 ||
	    H5Dread(id, memory, list, space, H5P_DEFAULT, out->rows) < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, where, "hash_table");
	return TT_OK;
}

static int read_all(struct tti_table *out, hid_t file, const char *path,
		    const char *where, struct tt_error *err)
{
	tti_auto_hid id = -1;
	struct tti_object object;
	int64_t largest;
	size_t found;
	int rc;

	if (!tti_is_hard_path(file, path) || tti_object_at(&object, file, path) < 0 ||
	    object.type != H5O_TYPE_DATASET)
		return bad(err, where, "is missing");
	id = H5Dopen2(file, path, H5P_DEFAULT);
	if (id < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, where, "hash_table");
	rc = check_type(id, where, err);
	if (rc == TT_OK)
		rc = tti_attr_ints(&largest, 1, &found,
				   (struct tti_attr){ id, TTI_ATTR_LARGEST, where }, err);
	if (rc < 0)
		return rc;
	if (found == 0 || largest < 0)
		return bad(err, where, "has no largest_index that counts its rows");
	rc = check_extent(file, id, largest, where, err);
	out->count = largest;
	return rc < 0 || largest == 0 ? rc : read_rows(out, id, where, err);
}

int tti_table_read(struct tti_table *out, hid_t file, const char *path, const char *where,
		   struct tt_error *err)
{
	TTI_H5_QUIET;
	int rc;

	*out = (struct tti_table){ 0 };
	rc = read_all(out, file, path, where, err);
	if (rc < 0)
		tti_table_fini(out);
	return rc;
}

void tti_table_fini(struct tti_table *table)
{
	free(table->rows);
	*table = (struct tti_table){ 0 };
}
