/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and extending hash_table.  Invariant: rows are added only behind rows that describe
 * all slots in use, so that the slot after the last row is free. */
#include "archive/hashes.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "archive/h5attr.h"
#include "archive/h5put.h"
#include "base/error.h"
#include "base/num.h"

#define MEMBER_HASH "hash"
#define MEMBER_ROWS "shape" /* the layout's word for (start, stop) */
#define TABLE_CHUNK 4096
#define LOAD_ROWS 16384

/* In memory and, as it has no padding, on disk. */
static hid_t row_type(void)
{
	hsize_t bytes = 32, pair = 2;
	tti_auto_hid type = H5Tcreate(H5T_COMPOUND, sizeof(struct tti_hash_row));
	tti_auto_hid hash = H5Tarray_create2(H5T_STD_U8LE, 1, &bytes);
	tti_auto_hid rows = H5Tarray_create2(H5T_STD_I64LE, 1, &pair);

	_Static_assert(sizeof(struct tti_hash_row) == 48, "a row has no padding");
	if (type < 0 || hash < 0 || rows < 0 ||
	    H5Tinsert(type, MEMBER_HASH, offsetof(struct tti_hash_row, digest), hash) <
		    0 ||
	    H5Tinsert(type, MEMBER_ROWS, offsetof(struct tti_hash_row, start), rows) < 0)
		return -1;
	return tti_steal_hid(&type);
}

static int damaged(const struct tti_slots *slots, const char *what, struct tt_error *err)
{
	return tti_fail(err, TT_E_DAMAGED, "%s: hash_table: %s", slots->where, what);
}

int tti_hashes_chunks(struct tti_slots *slots, uint64_t *chunks, struct tt_error *err)
{
	int64_t found[TT_MAX_RANK];
	size_t count;
	int rc = tti_attr_ints(
		found, TT_MAX_RANK, &count,
		(struct tti_attr){ slots->raw.id, TTI_ATTR_CHUNKS, slots->where }, err);

	if (rc < 0)
		return rc;
	if (count != slots->raw.rank)
		return tti_fail(
			err, TT_E_DAMAGED,
			"%s: attribute chunks of raw_data has %zu numbers, not %" PRIu32,
			slots->where, count, slots->raw.rank);
	for (size_t j = 0; j < count; j++)
		chunks[j] = (uint64_t)found[j];
	return TT_OK;
}

/* ---- Loading ---- */

static int open_table(struct tti_slots *slots, struct tt_error *err)
{
	tti_auto_free char *path = tti_path_of_hashes(slots->name);
	hid_t file = tti_driver_file(slots->driver);
	int64_t largest;
	size_t count;
	int rc;

	if (!path)
		return tti_fail(err, -ENOMEM, "%s: out of memory", slots->where);
	if (!tti_is_hard_path(file, path))
		return damaged(slots, "is missing: versions can be read, nothing added",
			       err);
	slots->hashes = H5Dopen2(file, path, H5P_DEFAULT);
	if (slots->hashes < 0)
		return tti_driver_fail(slots->driver, err, TT_E_DAMAGED, path);
	rc = tti_attr_ints(
		&largest, 1, &count,
		(struct tti_attr){ slots->hashes, TTI_ATTR_LARGEST, slots->where }, err);
	if (rc < 0)
		return rc;
	if (count != 1 || largest < 0)
		return damaged(slots, "attribute largest_index is missing or negative",
			       err);
	slots->stored = (uint64_t)largest;
	return TT_OK;
}

static int check_table(struct tti_slots *slots, struct tt_error *err)
{
	tti_auto_hid type = H5Dget_type(slots->hashes),
		     space = H5Dget_space(slots->hashes);
	tti_auto_hid ours = row_type();
	hsize_t rows;

	if (type < 0 || space < 0 || ours < 0)
		return tti_driver_fail(slots->driver, err, TT_E_DAMAGED, "hash_table");
	if (H5Tequal(type, ours) <= 0)
		return damaged(slots, "has columns of another type", err);
	if (H5Sget_simple_extent_ndims(space) != 1 ||
	    H5Sget_simple_extent_dims(space, &rows, NULL) < 0 || rows < slots->stored)
		return damaged(slots, "has fewer rows than largest_index says", err);
	if (slots->stored > slots->raw.rows / slots->raw.chunk[0])
		return tti_fail(err, TT_E_DAMAGED,
				"%s: hash_table has %" PRIu64
				" rows, raw_data only %" PRIu64 " slots",
				slots->where, slots->stored,
				slots->raw.rows / slots->raw.chunk[0]);
	return TT_OK;
}

/* A digest of zeros and a place that cannot be tell nothing: such a slot is never shared. */
static int take_row(struct tti_slots *slots, const struct tti_hash_row *row)
{
	int64_t chunk = (int64_t)slots->raw.chunk[0], end = (int64_t)slots->raw.rows;

	if (tti_digest_is_zero(&row->digest) || row->start < 0 ||
	    row->start % chunk != 0 || row->start > end - chunk ||
	    row->stop <= row->start || row->stop > row->start + chunk)
		return TT_OK;
	return tti_dedup_put(&slots->known, &row->digest, (uint64_t)(row->start / chunk),
			     NULL);
}

static int load_rows(struct tti_slots *slots, hsize_t first, hsize_t count,
		     struct tti_hash_row *rows, struct tt_error *err)
{
	tti_auto_hid memory = H5Screate_simple(1, &count, NULL), type = row_type();
	tti_auto_hid space = H5Dget_space(slots->hashes);

	if (memory < 0 || type < 0 || space < 0 ||
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &count, NULL) < 0 ||
	    H5Dread(slots->hashes, type, memory, space, H5P_DEFAULT, rows) < 0)
		return tti_driver_fail(slots->driver, err, TT_E_DAMAGED,
				       "reading hash_table");
	for (hsize_t i = 0; i < count; i++)
		if (take_row(slots, &rows[i]) < 0)
			return tti_fail(err, -ENOMEM, "%s: out of memory", slots->where);
	return TT_OK;
}

/* One past the highest slot that a version's dataset uses. */
static int slots_of_version(struct tti_slots *slots, const char *version, uint64_t *need,
			    struct tt_error *err)
{
	tti_auto_free char *path = tti_path_of_dataset(version, slots->name);
	struct tt_dataset *dataset;
	int rc;

	if (!path || !tti_is_hard_path(tti_driver_file(slots->driver), path))
		return TT_OK;
	rc = tti_dataset_open(&dataset, slots->driver, version, slots->name, err);
	if (rc < 0)
		return rc;
	rc = tti_dataset_resolve(dataset, NULL, NULL, err);
	for (size_t i = 0; rc == TT_OK && i < dataset->mapping.count; i++)
		*need = tti_max_u64(*need, dataset->mapping.items[i].slot + 1);
	tt_dataset_close(dataset);
	return rc;
}

/* raw_data is longer than the table: leftovers of an interrupted commit, or chunks in use
 * behind a table that was rebuilt shorter.  Only the versions tell which. */
static int check_next_is_free(struct tti_slots *slots,
			      const struct tti_versions *versions, struct tt_error *err)
{
	uint64_t need = 0;
	int rc = TT_OK;

	if (slots->raw.rows <= slots->stored * slots->raw.chunk[0])
		return TT_OK;
	for (size_t i = 0; rc == TT_OK && i < versions->count; i++)
		if (versions->items[i].committed)
			rc = slots_of_version(slots, versions->items[i].name, &need, err);
	if (rc == TT_OK && need > slots->stored)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: versions use %" PRIu64
				" chunks, but hash_table counts %" PRIu64
				" (largest_index): adding rows would overwrite some; "
				"rebuild_hashtables() of versioned_hdf5 repairs it",
				slots->where, need, slots->stored);
	return rc;
}

int tti_hashes_load(struct tti_slots *slots, const struct tti_versions *versions,
		    struct tt_error *err)
{
	tti_auto_free struct tti_hash_row *rows = NULL;
	int rc = open_table(slots, err);

	if (rc == TT_OK)
		rc = check_table(slots, err);
	if (rc == TT_OK)
		rc = check_next_is_free(slots, versions, err);
	if (rc < 0)
		return rc;
	rows = malloc(LOAD_ROWS * sizeof(*rows));
	if (!rows)
		return tti_fail(err, -ENOMEM, "%s: out of memory", slots->where);
	for (uint64_t at = 0; rc == TT_OK && at < slots->stored; at += LOAD_ROWS)
		rc = load_rows(slots, at, tti_min_u64(LOAD_ROWS, slots->stored - at),
			       rows, err);
	return rc;
}

int tti_hashes_descr(struct tti_slots *slots, struct tt_error *err)
{
	tti_auto_free char *path = tti_path_of_data(slots->name), *descr = NULL;
	tti_auto_h5type own = TTI_H5TYPE_EMPTY;
	struct tt_dtype *dtype;
	tti_auto_hid group = -1;
	int rc;

	if (!path)
		return tti_fail(err, -ENOMEM, "%s: out of memory", slots->where);
	group = H5Gopen2(tti_driver_file(slots->driver), path, H5P_DEFAULT);
	if (group < 0)
		return tti_driver_fail(slots->driver, err, TT_E_DAMAGED, path);
	rc = tti_attr_string(&descr, NULL,
			     (struct tti_attr){ group, TTI_ATTR_DESCR, path }, err);
	if (rc < 0 || !descr ||
	    tt_dtype_parse(&dtype, descr, strlen(descr), false, NULL) < 0)
		return rc;
	if (tti_h5type_from_dtype(&own, dtype, NULL) == TT_OK &&
	    H5Tequal(own.type, slots->raw.type) > 0)
		slots->dtype = dtype;
	else
		tt_dtype_unref(dtype);
	return TT_OK;
}

/* ---- Writing ---- */

int tti_hashes_create(struct tti_slots *slots, hid_t group, struct tt_error *err)
{
	hsize_t one = 1, unlimited = H5S_UNLIMITED, chunk = TABLE_CHUNK;
	tti_auto_hid space = H5Screate_simple(1, &one, &unlimited);
	tti_auto_hid dcpl = H5Pcreate(H5P_DATASET_CREATE), type = row_type();
	const uint64_t none = 0;

	if (space < 0 || dcpl < 0 || type < 0 || H5Pset_chunk(dcpl, 1, &chunk) < 0)
		return tti_driver_fail(slots->driver, err, -EIO, "making hash_table");
	slots->hashes = H5Dcreate2(group, TTI_LEAF_HASHES, type, space, H5P_DEFAULT, dcpl,
				   H5P_DEFAULT);
	if (slots->hashes < 0 ||
	    tti_put_ints(slots->hashes, TTI_ATTR_LARGEST, &none, 0) < 0)
		return tti_driver_fail(slots->driver, err, -EIO, "making hash_table");
	return TT_OK;
}

int tti_hashes_append(struct tti_slots *slots, struct tt_error *err)
{
	hsize_t first = slots->stored, count = slots->added_count, extent = first + count;
	tti_auto_hid memory = H5Screate_simple(1, &count, NULL), type = row_type(),
		     space = -1;

	if (memory < 0 || type < 0 || H5Dset_extent(slots->hashes, &extent) < 0)
		return tti_driver_fail(slots->driver, err, -EIO, "growing hash_table");
	space = H5Dget_space(slots->hashes);
	if (space < 0 ||
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &count, NULL) < 0 ||
	    H5Dwrite(slots->hashes, type, memory, space, H5P_DEFAULT, slots->added) < 0 ||
	    tti_set_int(slots->hashes, TTI_ATTR_LARGEST, (int64_t)extent) < 0)
		return tti_driver_fail(slots->driver, err, -EIO, "writing hash_table");
	slots->stored = extent;
	slots->added_count = 0;
	return TT_OK;
}
