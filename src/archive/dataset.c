/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a version's dataset and resolving where its chunks lie.  Reading is in read.c. */
#include "archive/dataset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "archive/h5attr.h"
#include "archive/layout.h"
#include "archive/reader.h"
#include "base/num.h"

static int no_memory(struct tt_dataset *d, struct tt_error *err)
{
	return tti_fail(err, -ENOMEM, "%s: out of memory", d->where);
}

/* The descr kept in the group that holds raw_data; any trouble with it means: none. */
static char *stored_descr(struct tt_dataset *d, hid_t file)
{
	tti_auto_free char *path = strdup(d->raw.path);
	char *slash = path ? strrchr(path, '/') : NULL, *descr = NULL;
	tti_auto_hid group = -1;

	if (!slash || slash == path)
		return NULL;
	*slash = '\0';
	group = H5Gopen2(file, path, H5P_DEFAULT);
	if (group < 0 ||
	    tti_attr_string(&descr, NULL,
			    (struct tti_attr){ group, TTI_ATTR_DESCR, path }, NULL) < 0)
		return NULL;
	return descr;
}

static int read_shape(struct tt_dataset *d, hid_t space, struct tt_error *err)
{
	hsize_t dims[H5S_MAX_RANK];
	int rank = -1;

	if (H5Sget_simple_extent_type(space) == H5S_SIMPLE)
		rank = H5Sget_simple_extent_dims(space, dims, NULL);
	if (rank < 1)
		return tti_fail(err, TT_E_UNSUPPORTED,
				"%s: is a single value or empty, not rows", d->where);
	if (rank != (int)d->raw.rank)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: has %d axes, its raw_data %" PRIu32, d->where, rank,
				d->raw.rank);
	d->grid.rank = rank;
	for (int i = 0; i < rank; i++) {
		d->grid.shape[i] = dims[i];
		d->grid.chunk[i] = d->raw.chunk[i];
	}
	if (!tti_grid_init(&d->grid))
		return tti_fail(err, TT_E_UNSUPPORTED, "%s: has more than 2^64 chunks",
				d->where);
	return TT_OK;
}

/* The axes as NumPy shows them: without those that a bare U took, with an array type's. */
static int make_info(struct tt_dataset *d, struct tt_error *err)
{
	uint32_t rank = d->grid.rank - d->rows.folded;
	uint64_t row_bytes = d->raw.element_bytes;
	bool empty = false;

	for (uint32_t i = 0; i < rank; i++) {
		d->shape[i] = d->grid.shape[i];
		d->chunk[i] = d->grid.chunk[i];
	}
	for (uint32_t i = 0; i < d->rows.added; i++)
		d->shape[rank + i] = d->chunk[rank + i] = d->rows.shape[i];
	for (uint32_t i = 1; i < d->grid.rank; i++)
		empty |= d->grid.shape[i] == 0;
	for (uint32_t i = 1; i < d->grid.rank && !empty; i++)
		if (tti_mul_overflow(row_bytes, d->grid.shape[i], &row_bytes))
			return tti_fail(err, TT_E_UNSUPPORTED,
					"%s: has rows of more than 2^64 "
					"bytes",
					d->where);
	d->info = (struct tt_dataset_info){
		.name = d->name,
		.dtype = d->rows.dtype,
		.rank = rank + d->rows.added,
		.shape = d->shape,
		.chunk = d->chunk,
		.row_bytes = empty || d->rows.vlen_string ? 0 : row_bytes,
		.vlen_strings = d->rows.vlen_string,
	};
	return TT_OK;
}

static int open_raw(struct tt_dataset *d, hid_t file, struct tt_error *err)
{
	tti_auto_free char *path = NULL;
	int rc = tti_attr_string(&path, NULL,
				 (struct tti_attr){ d->id, TTI_ATTR_RAW, d->where }, err);

	if (rc < 0)
		return rc;
	if (!path)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: attribute raw_data is missing, which names "
				"where its chunks are",
				d->where);
	return tti_raw_open(&d->raw, file, path, d->where, err);
}

static int check_type(struct tt_dataset *d, hid_t type, struct tt_error *err)
{
	if (H5Tequal(type, d->raw.type) > 0)
		return TT_OK;
	if (d->raw.vlen_string && H5Tget_class(type) == H5T_STRING &&
	    H5Tis_variable_str(type) > 0)
		return TT_OK;
	return tti_fail(err, TT_E_DAMAGED,
			"%s: its element type is not that of its raw_data", d->where);
}

static int read_all(struct tt_dataset *d, hid_t file, struct tt_error *err)
{
	tti_auto_hid type = H5Dget_type(d->id), space = H5Dget_space(d->id);
	tti_auto_free char *descr = NULL;
	size_t mapped = 0;
	int rc;

	d->dcpl = H5Dget_create_plist(d->id);
	if (type < 0 || space < 0 || d->dcpl < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, d->where, NULL);
	rc = open_raw(d, file, err);
	if (rc == TT_OK)
		rc = check_type(d, type, err);
	if (rc == TT_OK)
		rc = read_shape(d, space, err);
	if (rc < 0)
		return rc;
	descr = stored_descr(d, file);
	rc = tti_h5type_rows(&d->rows,
			     &(struct tti_h5stored){ .type = d->raw.type,
						     .rank = d->grid.rank,
						     .shape = d->grid.shape,
						     .descr = descr,
						     .where = d->where },
			     err);
	if (rc == TT_OK)
		rc = tti_fill_value(&d->fill, d->dcpl, &d->raw, d->where, err);
	if (rc == TT_OK)
		rc = make_info(d, err);
	if (rc == TT_OK && H5Pget_layout(d->dcpl) == H5D_VIRTUAL &&
	    H5Pget_virtual_count(d->dcpl, &mapped) < 0)
		rc = tti_h5_fail(err, TT_E_DAMAGED, d->where, "mappings");
	d->info.chunks = mapped;
	return rc;
}

static int open_named(struct tt_dataset *d, const char *version, struct tt_error *err)
{
	tti_auto_free char *path = tti_path_of_dataset(version, d->name);
	hid_t file = tti_driver_file(d->driver);
	struct tti_object object;

	if (!path)
		return no_memory(d, err);
	if (*d->name == '\0' || !tti_is_hard_path(file, path) ||
	    tti_object_at(&object, file, path) < 0)
		return tti_fail(err, TT_E_RANGE, "%s: version %s has no dataset '%s'",
				tti_driver_path(d->driver), version, d->name);
	if (object.type != H5O_TYPE_DATASET)
		return tti_fail(err, TT_E_RANGE, "%s: is no dataset", d->where);
	d->id = H5Dopen2(file, path, H5P_DEFAULT);
	if (d->id < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, d->where, NULL);
	return read_all(d, file, err);
}

int tti_dataset_open(struct tt_dataset **out, struct tti_driver *driver,
		     const char *version, const char *name, struct tt_error *err)
{
	TTI_H5_QUIET;
	struct tt_dataset *d = calloc(1, sizeof(*d));
	int rc;

	*out = NULL;
	if (!d)
		return tti_fail(err, -ENOMEM, "%s: out of memory", name);
	d->driver = driver;
	d->slots = (struct tti_slot_reader){ .driver = driver, .raw = &d->raw };
	d->id = d->dcpl = -1;
	d->cached_item = UINT64_MAX;
	d->name = strdup(name);
	if (asprintf(&d->where, "%s: version %s: dataset %s", tti_driver_path(driver),
		     version, name) < 0)
		d->where = NULL;
	rc = d->name && d->where ? open_named(d, version, err)
				 : tti_fail(err, -ENOMEM, "%s: out of memory", name);
	if (rc < 0) {
		tt_dataset_close(d);
		return rc;
	}
	*out = d;
	return TT_OK;
}

int tt_dataset_open(struct tt_dataset **out, struct tt_archive *archive, size_t version,
		    const char *name, struct tt_error *err)
{
	*out = NULL;
	if (version >= archive->versions.count)
		return tti_fail(err, TT_E_RANGE, "%s: there is no version number %zu",
				tti_driver_path(archive->driver), version);
	return tti_dataset_open(out, archive->driver,
				archive->versions.items[version].name, name, err);
}

void tt_dataset_close(struct tt_dataset *d)
{
	if (!d)
		return;
	tti_mapping_fini(&d->mapping);
	tti_h5rows_fini(&d->rows);
	tti_slot_reader_fini(&d->slots);
	tti_h5_close(&d->dcpl);
	tti_h5_close(&d->id);
	tti_raw_close(&d->raw);
	free(d->places);
	free(d->cached);
	free(d->fill);
	free(d->where);
	free(d->name);
	free(d);
}

const struct tt_dataset_info *tt_dataset_info(const struct tt_dataset *dataset)
{
	return &dataset->info;
}

int tti_dataset_resolve(struct tt_dataset *d, tti_mapping_fault_fn *fault, void *ctx,
			struct tt_error *err)
{
	TTI_H5_QUIET;
	struct tti_mapping_source source = {
		.grid = &d->grid,
		.raw_path = d->raw.path,
		.raw_rows = d->raw.rows,
		.where = d->where,
		.fault = fault,
		.ctx = ctx,
	};
	int rc;

	if (d->resolved)
		return TT_OK;
	rc = tti_mapping_read(&d->mapping, d->dcpl, &source, err);
	if (rc < 0)
		return rc;
	if (H5Pget_layout(d->dcpl) != H5D_VIRTUAL && H5Dget_storage_size(d->id) > 0) {
		struct tti_mapping_fault f = {
			.chunk = -1,
			.row = -1,
			.what = "has rows of its own instead of mappings",
		};

		d->mapping.unusual = strdup(f.what);
		if (!d->mapping.unusual) {
			tti_mapping_fini(&d->mapping);
			return no_memory(d, err);
		}
		if (fault)
			fault(ctx, &f);
	}
	d->places =
		d->mapping.count ? calloc(d->mapping.count, sizeof(*d->places)) : NULL;
	if (d->mapping.count && !d->places) {
		tti_mapping_fini(&d->mapping);
		return no_memory(d, err);
	}
	d->resolved = true;
	return TT_OK;
}
