/* SPDX-License-Identifier: Apache-2.0 */
/* Making virtual datasets.  Invariant: destination and source of every mapping are the
 * trimmed box of one chunk, as regular hyperslabs. */
#include "archive/vds.h"

#include <errno.h>

#include "archive/h5.h"
#include "archive/h5put.h"

/* Selects one box; the space is used again for each mapping. */
static int select_box(hid_t space, unsigned rank, const uint64_t *start,
		      const uint64_t *extent)
{
	hsize_t from[TT_MAX_RANK], one[TT_MAX_RANK], block[TT_MAX_RANK];

	for (unsigned j = 0; j < rank; j++) {
		from[j] = start[j];
		one[j] = 1;
		block[j] = extent[j];
	}
	return H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, one, block) < 0
		       ? -EIO
		       : 0;
}

static int map_chunks(hid_t dcpl, hid_t to, hid_t from, const struct tti_vds *vds)
{
	const struct tti_grid *grid = vds->grid;
	uint64_t start[TT_MAX_RANK], extent[TT_MAX_RANK], source[TT_MAX_RANK] = { 0 };

	for (uint64_t k = 0; k < grid->count; k++) {
		if (vds->map[k] == TTI_NO_SLOT)
			continue;
		tti_grid_box(grid, k, start, extent);
		source[0] = vds->map[k] * grid->chunk[0];
		if (select_box(to, grid->rank, start, extent) < 0 ||
		    select_box(from, grid->rank, source, extent) < 0 ||
		    H5Pset_virtual(dcpl, to, ".", vds->slots->raw_path, from) < 0)
			return -EIO;
	}
	return TT_OK;
}

static bool has_chunks(const struct tti_vds *vds)
{
	for (uint64_t k = 0; k < vds->grid->count; k++)
		if (vds->map[k] != TTI_NO_SLOT)
			return true;
	return false;
}

static hid_t simple_space(unsigned rank, uint64_t first, const uint64_t *rest)
{
	hsize_t dims[TT_MAX_RANK] = { first };

	for (unsigned j = 1; j < rank; j++)
		dims[j] = rest[j];
	return H5Screate_simple((int)rank, dims, NULL);
}

/* Nothing but fill value: contiguous without storage, which every libhdf5 reads alike. */
static int put_layout(hid_t dcpl, hid_t space, const struct tti_vds *vds)
{
	const struct tti_grid *grid = vds->grid;
	tti_auto_hid to = -1, from = -1;

	if (!has_chunks(vds))
		return H5Pset_layout(dcpl, H5D_CONTIGUOUS) < 0 ||
				       H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_LATE) < 0
			       ? -EIO
			       : TT_OK;
	to = H5Scopy(space);
	from = simple_space(grid->rank, vds->slots->raw.rows, grid->chunk);
	return to < 0 || from < 0 ? -EIO : map_chunks(dcpl, to, from, vds);
}

static int put_attributes(hid_t dataset, const struct tti_vds *vds)
{
	static const char *const own[] = { TTI_ATTR_RAW, TTI_ATTR_CHUNKS, NULL };
	int rc = tti_put_string(dataset, TTI_ATTR_RAW, vds->slots->raw_path);

	if (rc == TT_OK)
		rc = tti_put_ints(dataset, TTI_ATTR_CHUNKS, vds->grid->chunk,
				  vds->grid->rank);
	if (rc == TT_OK && vds->like >= 0)
		rc = tti_copy_attributes(dataset, vds->like, own);
	return rc;
}

int tti_vds_create(struct tti_driver *driver, const struct tti_vds *vds,
		   struct tt_error *err)
{
	TTI_H5_QUIET;
	tti_auto_hid space =
		simple_space(vds->grid->rank, vds->grid->shape[0], vds->grid->shape);
	tti_auto_hid dcpl = H5Pcreate(H5P_DATASET_CREATE),
		     lcpl = H5Pcreate(H5P_LINK_CREATE);
	hid_t type = vds->slots->raw.type;
	tti_auto_hid dataset = -1;

	if (space < 0 || dcpl < 0 || lcpl < 0 ||
	    H5Pset_create_intermediate_group(lcpl, 1) < 0 ||
	    tti_put_fill(dcpl, type, vds->slots->fill) < 0 ||
	    H5Pset_fill_time(dcpl, H5D_FILL_TIME_IFSET) < 0 ||
	    put_layout(dcpl, space, vds) < 0)
		return tti_driver_fail(driver, err, -EIO, vds->name);
	dataset = H5Dcreate2(vds->group, vds->name, type, space, lcpl, dcpl, H5P_DEFAULT);
	if (dataset < 0 || put_attributes(dataset, vds) < 0)
		return tti_driver_fail(driver, err, -EIO, vds->name);
	return TT_OK;
}
