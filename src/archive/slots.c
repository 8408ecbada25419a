/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks in and out of raw_data.  Invariant: a slot below `stored` is never written to, and
 * two slots of this run have different digests. */
#include "archive/slots.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "archive/h5put.h"
#include "archive/hashes.h"
#include "archive/lzf.h"
#include "base/error.h"
#include "base/num.h"

bool tti_slots_exist(struct tti_driver *driver, const char *name)
{
	TTI_H5_QUIET;
	tti_auto_free char *path = tti_path_of_raw(name);

	return path && tti_is_hard_path(tti_driver_file(driver), path);
}

void tti_slots_close(struct tti_slots *slots)
{
	if (!slots->driver)
		return;
	tti_h5_close(&slots->hashes);
	tti_raw_close(&slots->raw);
	tti_dedup_fini(&slots->known);
	pthread_mutex_destroy(&slots->lock);
	tt_dtype_unref(slots->dtype);
	free(slots->added);
	free(slots->fill);
	free(slots->where);
	free(slots->name);
	free(slots->raw_path);
	*slots = (struct tti_slots){ 0 };
}

static int begin(struct tti_slots *out, struct tti_driver *driver, const char *name,
		 struct tt_error *err)
{
	*out = (struct tti_slots){ .driver = driver, .hashes = -1 };
	out->raw.id = out->raw.type = -1;
	pthread_mutex_init(&out->lock, NULL);
	out->name = strdup(name);
	out->raw_path = tti_path_of_raw(name);
	if (asprintf(&out->where, "%s: dataset %s", tti_driver_path(driver), name) < 0)
		out->where = NULL;
	if (!out->name || !out->raw_path || !out->where)
		return tti_fail(err, -ENOMEM, "%s: out of memory", name);
	return tti_lzf_register(err);
}

/* The fill value of raw_data, zeros where none is defined. */
static int read_fill(struct tti_slots *slots, struct tt_error *err)
{
	tti_auto_hid dcpl = H5Dget_create_plist(slots->raw.id);
	H5D_fill_value_t status = H5D_FILL_VALUE_DEFAULT;

	slots->fill = calloc(1, slots->raw.element_bytes);
	if (!slots->fill)
		return tti_fail(err, -ENOMEM, "%s: out of memory", slots->where);
	if (dcpl < 0 || H5Pfill_value_defined(dcpl, &status) < 0 ||
	    (status == H5D_FILL_VALUE_USER_DEFINED &&
	     H5Pget_fill_value(dcpl, slots->raw.type, slots->fill) < 0))
		return tti_driver_fail(slots->driver, err, TT_E_DAMAGED,
				       "fill value of raw_data");
	return TT_OK;
}

static int check_raw(struct tti_slots *slots, struct tt_error *err)
{
	uint64_t chunks[TT_MAX_RANK];
	bool same = true;
	int rc;

	if (slots->raw.vlen_string)
		return tti_fail(err, TT_E_MISMATCH,
				"%s: holds variable-length strings; rows of a file "
				"cannot be added "
				"to it, give another name with --dataset",
				slots->where);
	rc = tti_pipeline_supported(&slots->raw.pipeline, 0, err);
	if (rc < 0)
		return tti_fail_in(err, rc, "%s", slots->where);
	rc = tti_hashes_chunks(slots, chunks, err);
	for (unsigned j = 0; rc == TT_OK && j < slots->raw.rank; j++)
		same &= chunks[j] == slots->raw.chunk[j];
	if (rc == TT_OK && !same)
		return tti_fail(
			err, TT_E_DAMAGED,
			"%s: attribute chunks of raw_data differs from how it is chunked",
			slots->where);
	return rc;
}

int tti_slots_open(struct tti_slots *out, struct tti_driver *driver, const char *name,
		   const struct tti_versions *versions, struct tt_error *err)
{
	TTI_H5_QUIET;
	int rc = begin(out, driver, name, err);

	if (rc == TT_OK)
		rc = tti_raw_open(&out->raw, tti_driver_file(driver), out->raw_path,
				  out->where, err);
	if (rc == TT_OK)
		rc = check_raw(out, err);
	if (rc == TT_OK)
		rc = read_fill(out, err);
	if (rc == TT_OK)
		rc = tti_hashes_load(out, versions, err);
	if (rc == TT_OK)
		rc = tti_hashes_descr(out, err);
	return rc;
}

/* ---- Making ---- */

static hid_t raw_properties(const struct tti_slots_spec *spec,
			    const struct tti_pipeline *filters, const void *fill,
			    struct tt_error *err)
{
	tti_auto_hid dcpl = H5Pcreate(H5P_DATASET_CREATE);
	hsize_t chunk[TT_MAX_RANK];

	for (unsigned j = 0; j < spec->rank; j++)
		chunk[j] = spec->chunk[j];
	if (dcpl < 0 || H5Pset_chunk(dcpl, (int)spec->rank, chunk) < 0 ||
	    tti_put_fill(dcpl, spec->type->type, fill) < 0 ||
	    H5Pset_fill_time(dcpl, H5D_FILL_TIME_ALLOC) < 0 ||
	    H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_INCR) < 0 ||
	    tti_pipeline_put(filters, dcpl, err) < 0)
		return -1;
	return tti_steal_hid(&dcpl);
}

static int make_raw(struct tti_slots *slots, const struct tti_slots_spec *spec,
		    hid_t group, struct tt_error *err)
{
	hsize_t dims[TT_MAX_RANK], max[TT_MAX_RANK];
	tti_auto_hid space = -1, dcpl = -1, raw = -1;
	uint64_t chunk_bytes = spec->type->size;
	struct tti_pipeline filters;
	int rc;

	for (unsigned j = 0; j < spec->rank; j++) {
		dims[j] = j ? spec->chunk[j] : 0;
		max[j] = j ? spec->chunk[j] : H5S_UNLIMITED;
		chunk_bytes *= spec->chunk[j];
	}
	rc = tti_pipeline_choose(&filters, &spec->filter, spec->type->size, chunk_bytes,
				 err);
	if (rc < 0)
		return rc;
	slots->fill = calloc(1, spec->type->size);
	if (!slots->fill)
		return tti_fail(err, -ENOMEM, "%s: out of memory", slots->where);
	space = H5Screate_simple((int)spec->rank, dims, max);
	dcpl = raw_properties(spec, &filters, slots->fill, err);
	if (space < 0 || dcpl < 0)
		return tti_driver_fail(slots->driver, err, -EIO, "making raw_data");
	raw = H5Dcreate2(group, TTI_LEAF_RAW, spec->type->type, space, H5P_DEFAULT, dcpl,
			 H5P_DEFAULT);
	if (raw < 0 || tti_put_ints(raw, TTI_ATTR_CHUNKS, spec->chunk, spec->rank) < 0)
		return tti_driver_fail(slots->driver, err, -EIO, "making raw_data");
	return TT_OK;
}

int tti_slots_create(struct tti_slots *out, struct tti_driver *driver, const char *name,
		     const struct tti_slots_spec *spec, struct tt_error *err)
{
	TTI_H5_QUIET;
	tti_auto_free char *path = tti_path_of_data(name);
	tti_auto_hid lcpl = H5Pcreate(H5P_LINK_CREATE), group = -1;
	int rc = begin(out, driver, name, err);

	if (rc < 0)
		return rc;
	if (!path || lcpl < 0 || H5Pset_create_intermediate_group(lcpl, 1) < 0)
		return tti_fail(err, -ENOMEM, "%s: out of memory", out->where);
	group = tti_is_hard_path(tti_driver_file(driver), path)
			? H5Gopen2(tti_driver_file(driver), path, H5P_DEFAULT)
			: H5Gcreate2(tti_driver_file(driver), path, lcpl, H5P_DEFAULT,
				     H5P_DEFAULT);
	if (group < 0 ||
	    tti_put_string(group, TTI_ATTR_DESCR, tt_dtype_descr(spec->dtype)) < 0)
		return tti_driver_fail(driver, err, -EIO, "making a dataset");
	rc = make_raw(out, spec, group, err);
	if (rc == TT_OK)
		rc = tti_hashes_create(out, group, err);
	if (rc == TT_OK)
		rc = tti_raw_open(&out->raw, tti_driver_file(driver), out->raw_path,
				  out->where, err);
	if (rc == TT_OK)
		out->dtype = tt_dtype_ref(spec->dtype);
	return rc;
}

/* ---- Chunks ---- */

bool tti_slots_know(struct tti_slots *slots, const struct tti_digest *digest)
{
	uint64_t slot;
	bool known;

	pthread_mutex_lock(&slots->lock);
	known = tti_dedup_find(&slots->known, digest, &slot);
	pthread_mutex_unlock(&slots->lock);
	return known;
}

static int remember(struct tti_slots *slots, const struct tti_digest *digest,
		    uint64_t slot, uint64_t rows)
{
	struct tti_hash_row row = { .digest = *digest };
	int rc;

	if (slots->added_count == slots->added_room) {
		uint64_t room = slots->added_room ? slots->added_room * 2 : 64;
		void *grown = realloc(slots->added, room * sizeof(*slots->added));

		if (!grown)
			return -ENOMEM;
		slots->added = grown;
		slots->added_room = room;
	}
	row.start = (int64_t)(slot * slots->raw.chunk[0]);
	row.stop = row.start + (int64_t)rows;
	slots->added[slots->added_count++] = row;
	pthread_mutex_lock(&slots->lock);
	rc = tti_dedup_put(&slots->known, digest, slot, NULL);
	pthread_mutex_unlock(&slots->lock);
	return rc;
}

static void written(void *ctx, int rc)
{
	unsigned *pending = ctx;

	(void)rc; /* the engine keeps the first error; draining tells it */
	(*pending)--;
}

/* raw_data grows by a slot; leftovers of an interrupted commit are cut off first. */
static int make_room(struct tti_slots *slots, uint64_t slot, struct tt_error *err)
{
	uint64_t rows;
	hsize_t dims[TT_MAX_RANK];

	for (unsigned j = 1; j < slots->raw.rank; j++)
		dims[j] = slots->raw.chunk[j];
	if (tti_mul_overflow(slot + 1, slots->raw.chunk[0], &rows) || rows > INT64_MAX)
		return tti_fail(err, TT_E_RANGE, "%s: raw_data has no room for more rows",
				slots->where);
	if (slots->added_count == 0) {
		dims[0] = slot * slots->raw.chunk[0];
		if (slots->raw.rows > dims[0] && H5Dset_extent(slots->raw.id, dims) < 0)
			return tti_driver_fail(slots->driver, err, -EIO,
					       "cutting raw_data");
	}
	dims[0] = rows;
	if (H5Dset_extent(slots->raw.id, dims) < 0)
		return tti_driver_fail(slots->driver, err, -EIO, "growing raw_data");
	slots->raw.rows = rows;
	return TT_OK;
}

static int write_chunk(struct tti_slots *slots, uint64_t slot,
		       const struct tti_applicant *applicant, struct tt_error *err)
{
	const struct tti_encoded *stored = &applicant->cell->stored;
	hsize_t offset[TT_MAX_RANK] = { slot * slots->raw.chunk[0] };
	struct tti_driver_chunk chunk = {
		.dataset = slots->raw.id,
		.offset = offset,
		.filter_mask = stored->mask,
		.bytes = stored->bytes,
		.n = stored->n,
		.done = written,
		.ctx = applicant->pending,
	};
	int rc;

	(*applicant->pending)++; /* the callback may run before the call returns */
	rc = tti_driver_put_chunk(slots->driver, &chunk, NULL, err);
	if (rc < 0)
		(*applicant->pending)--;
	return rc;
}

int tti_slots_put(struct tti_slots *slots, const struct tti_applicant *chunk,
		  uint64_t *slot_out, struct tt_error *err)
{
	TTI_H5_QUIET;
	const struct tti_digest *digest = &chunk->cell->digest;
	uint64_t slot = slots->stored + slots->added_count;
	int rc;

	if (tti_dedup_find(&slots->known, digest, slot_out))
		return 0;
	rc = make_room(slots, slot, err);
	if (rc == TT_OK)
		rc = write_chunk(slots, slot, chunk, err);
	if (rc < 0)
		return rc;
	*slot_out = slot;
	return remember(slots, digest, slot, chunk->rows) < 0
		       ? tti_fail(err, -ENOMEM, "%s: out of memory", slots->where)
		       : 1;
}

int tti_slots_read(struct tti_slots *slots, uint64_t slot, uint64_t rows, void *out,
		   struct tt_error *err)
{
	TTI_H5_QUIET;
	hsize_t start[TT_MAX_RANK] = { slot * slots->raw.chunk[0] }, count[TT_MAX_RANK];
	tti_auto_hid file = H5Dget_space(slots->raw.id), memory = -1;

	for (unsigned j = 0; j < slots->raw.rank; j++)
		count[j] = slots->raw.chunk[j];
	count[0] = rows;
	memory = H5Screate_simple((int)slots->raw.rank, count, NULL);
	if (file < 0 || memory < 0 ||
	    H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
	    H5Dread(slots->raw.id, slots->raw.type, memory, file, H5P_DEFAULT, out) < 0)
		return tti_driver_fail(slots->driver, err, TT_E_DAMAGED, slots->name);
	return TT_OK;
}

int tti_slots_finish(struct tti_slots *slots, struct tt_error *err)
{
	TTI_H5_QUIET;

	return slots->added_count == 0 ? TT_OK : tti_hashes_append(slots, err);
}
