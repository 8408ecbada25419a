/* SPDX-License-Identifier: Apache-2.0 */
/* Opening raw_data.  Invariant: after tti_raw_open() one HDF5 chunk is one slot, and slots
 * are stacked along axis 0. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/dataset.h"
#include "archive/h5.h"
#include "archive/layout.h"
#include "base/num.h"

struct opening {
	struct tti_raw *out;
	const char *where;
	struct tt_error *err;
};

static int TTI_PRINTF(2, 3) damaged(struct opening *o, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = tti_vfail(o->err, TT_E_DAMAGED, fmt, ap);
	va_end(ap);
	return tti_fail_in(o->err, rc, "%s: %s", o->where, o->out->path);
}

static int read_extents(struct opening *o, hid_t dcpl, hid_t space)
{
	struct tti_raw *raw = o->out;
	hsize_t dims[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
	int rank;

	if (H5Sget_simple_extent_type(space) != H5S_SIMPLE)
		return damaged(o, "has no rows");
	rank = H5Sget_simple_extent_dims(space, dims, NULL);
	if (rank < 1 || rank > TT_MAX_RANK)
		return damaged(o, "has no shape that HDF5 can tell");
	if (H5Pget_layout(dcpl) != H5D_CHUNKED ||
	    H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) != rank)
		return damaged(o, "is not stored in chunks");
	raw->rank = rank;
	raw->rows = dims[0];
	raw->chunk_bytes = raw->element_bytes;
	for (int i = 0; i < rank; i++) {
		raw->chunk[i] = chunk[i];
		if (chunk[i] == 0 ||
		    tti_mul_overflow(raw->chunk_bytes, chunk[i], &raw->chunk_bytes))
			return damaged(o, "has chunks of no sensible size");
		if (i > 0 && dims[i] != chunk[i])
			return damaged(o,
				       "extent %" PRIu64
				       " of axis %d is not that of a chunk, "
				       "%" PRIu64,
				       (uint64_t)dims[i], i, (uint64_t)chunk[i]);
	}
	return TT_OK;
}

static int read_raw(struct opening *o, hid_t file)
{
	struct tti_raw *raw = o->out;
	tti_auto_hid dcpl = -1, space = -1;
	struct tti_object object;
	int rc;

	if (!tti_is_hard_path(file, raw->path) ||
	    tti_object_at(&object, file, raw->path) < 0 ||
	    object.type != H5O_TYPE_DATASET)
		return damaged(o, "there is no such dataset in the file");
	raw->id = H5Dopen2(file, raw->path, H5P_DEFAULT);
	raw->type = raw->id < 0 ? -1 : H5Dget_type(raw->id);
	space = raw->id < 0 ? -1 : H5Dget_space(raw->id);
	dcpl = raw->id < 0 ? -1 : H5Dget_create_plist(raw->id);
	if (raw->type < 0 || space < 0 || dcpl < 0)
		return tti_h5_fail(o->err, TT_E_DAMAGED, o->where, raw->path);
	raw->element_bytes = H5Tget_size(raw->type);
	raw->vlen_string = H5Tget_class(raw->type) == H5T_STRING &&
			   H5Tis_variable_str(raw->type) > 0;
	if (raw->element_bytes == 0)
		return damaged(o, "has elements of no size");
	rc = read_extents(o, dcpl, space);
	if (rc < 0)
		return rc;
	if (!tti_fits_file(file, raw->rows / raw->chunk[0]))
		return damaged(o,
			       "has room for %" PRIu64
			       " chunks, more than the file has bytes",
			       raw->rows / raw->chunk[0]);
	rc = tti_pipeline_get(&raw->pipeline, dcpl, raw->element_bytes, raw->chunk_bytes,
			      o->err);
	return rc < 0 ? tti_fail_in(o->err, rc, "%s: %s", o->where, raw->path) : TT_OK;
}

int tti_raw_open(struct tti_raw *out, hid_t file, const char *path, const char *where,
		 struct tt_error *err)
{
	TTI_H5_QUIET;
	struct opening o = { .out = out, .where = where, .err = err };
	int rc;

	*out = (struct tti_raw){ .id = -1, .type = -1, .path = strdup(path) };
	if (!out->path)
		return tti_fail(err, -ENOMEM, "%s: out of memory", where);
	rc = read_raw(&o, file);
	if (rc < 0)
		tti_raw_close(out);
	return rc;
}

void tti_raw_close(struct tti_raw *raw)
{
	if (!raw->path)
		return;
	tti_h5_close(&raw->type);
	tti_h5_close(&raw->id);
	free(raw->path);
	*raw = (struct tti_raw){ .id = -1, .type = -1 };
}
