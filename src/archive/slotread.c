/* SPDX-License-Identifier: Apache-2.0 */
/* One slot of raw_data, read around libhdf5 from where it lies in the file; through libhdf5
 * only when a filter is in its way that it alone can undo. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/dataset.h"
#include "archive/h5.h"
#include "base/num.h"

void tti_fill_bytes(void *out, uint64_t n, const void *fill, size_t element_bytes)
{
	uint64_t done = tti_min_u64(element_bytes, n);

	if (!fill) {
		memset(out, 0, n);
		return;
	}
	memcpy(out, fill, done);
	while (done < n) {
		uint64_t more = tti_min_u64(done, n - done);

		memcpy((char *)out + done, out, more);
		done += more;
	}
}

int tti_fill_value(void **out, hid_t dcpl, const struct tti_raw *raw, const char *where,
		   struct tt_error *err)
{
	H5D_fill_value_t status = H5D_FILL_VALUE_DEFAULT;
	tti_auto_free void *fill = NULL;

	*out = NULL;
	if (raw->vlen_string)
		return TT_OK;
	if (H5Pfill_value_defined(dcpl, &status) < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, where, "fill value");
	if (status != H5D_FILL_VALUE_USER_DEFINED)
		return TT_OK;
	fill = calloc(1, raw->element_bytes);
	if (!fill)
		return tti_fail(err, -ENOMEM, "%s: out of memory", where);
	if (H5Pget_fill_value(dcpl, raw->type, fill) < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, where, "fill value");
	*out = tti_steal_ptr(&fill);
	return TT_OK;
}

/* What a slot holds that was never written: raw_data's own fill value. */
static int fill_slot(struct tti_slot_reader *r, void *chunk, struct tt_error *err)
{
	int rc = TT_OK;

	if (!r->fill_known) {
		tti_auto_hid dcpl = H5Dget_create_plist(r->raw->id);

		rc = tti_fill_value(&r->fill, dcpl, r->raw, r->raw->path, err);
		r->fill_known = rc == TT_OK;
	}
	if (rc == TT_OK)
		tti_fill_bytes(chunk, r->raw->chunk_bytes, r->fill,
			       r->raw->element_bytes);
	return rc;
}

/* By libhdf5: a filter that only it, or a plug-in of its, can undo. */
static int slot_by_hdf5(struct tti_slot_reader *r, uint64_t slot, void *chunk,
			struct tt_error *err)
{
	const struct tti_raw *raw = r->raw;
	hsize_t start[TT_MAX_RANK] = { slot * raw->chunk[0] }, count[TT_MAX_RANK];
	tti_auto_hid space = H5Dget_space(raw->id), memory = -1;

	for (uint32_t i = 0; i < raw->rank; i++)
		count[i] = raw->chunk[i];
	/* rows that are cut off at the end of raw_data belong to no version */
	if (raw->rows - start[0] < count[0]) {
		memset(chunk, 0, raw->chunk_bytes);
		count[0] = raw->rows - start[0];
	}
	memory = H5Screate_simple(raw->rank, count, NULL);
	if (space < 0 || memory < 0 ||
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
	    H5Dread(raw->id, raw->type, memory, space, H5P_DEFAULT, chunk) < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, NULL, "a slot that cannot be read");
	return TT_OK;
}

static int room_for_stored(struct tti_slot_reader *r, uint64_t n, struct tt_error *err)
{
	void *more;

	if (n <= r->room)
		return TT_OK;
	more = realloc(r->stored, n);
	if (!more)
		return tti_fail(err, -ENOMEM,
				"out of memory for a chunk of %" PRIu64 " bytes", n);
	r->stored = more;
	r->room = n;
	return TT_OK;
}

int tti_slot_check(struct tti_slot_reader *r, const struct tti_chunk_place *place,
		   struct tt_error *err)
{
	uint64_t end;

	if (tti_add_overflow(place->address, place->n, &end) ||
	    end > tti_driver_end(r->driver))
		return tti_fail(err, TT_E_DAMAGED,
				"lies past the end of the file, at bytes %" PRIu64
				" + %" PRIu64 " of %" PRIu64,
				place->address, place->n, tti_driver_end(r->driver));
	if (r->raw->pipeline.count == 0 && place->n != r->raw->chunk_bytes)
		return tti_fail(err, TT_E_DAMAGED,
				"is stored in %" PRIu64 " bytes, not in %" PRIu64,
				place->n, r->raw->chunk_bytes);
	return TT_OK;
}

int tti_slot_read(struct tti_slot_reader *r, uint64_t slot,
		  const struct tti_chunk_place *place, void *chunk, struct tt_error *err)
{
	const struct tti_pipeline *pipeline = &r->raw->pipeline;
	struct tti_encoded stored = { .n = place->n, .mask = place->filter_mask };
	int rc;

	if (place->address == TTI_NO_ADDRESS)
		return fill_slot(r, chunk, err);
	rc = tti_slot_check(r, place, err);
	if (rc < 0)
		return rc;
	if (pipeline->count == 0)
		return tti_driver_pread(r->driver, place->address, chunk,
					r->raw->chunk_bytes, err);
	rc = tti_pipeline_supported(pipeline, place->filter_mask, err);
	/* its own words, "filter 32015", say more than libhdf5's when that cannot either */
	if (rc < 0)
		return slot_by_hdf5(r, slot, chunk, NULL) == TT_OK ? TT_OK : rc;
	rc = room_for_stored(r, place->n, err);
	if (rc == TT_OK)
		rc = tti_driver_pread(r->driver, place->address, r->stored, place->n,
				      err);
	if (rc == TT_OK && !r->codec)
		rc = tti_codec_new(&r->codec, err);
	stored.bytes = r->stored;
	return rc < 0 ? rc : tti_pipeline_decode(pipeline, r->codec, &stored, chunk, err);
}

int tti_slot_probe(struct tti_slot_reader *r, uint64_t slot, struct tti_chunk_place *out,
		   struct tt_error *err)
{
	hsize_t offset[TT_MAX_RANK + 1] = { slot * r->raw->chunk[0] };

	return tti_driver_probe(r->driver, r->raw->id, offset, out, err);
}

void tti_slot_reader_fini(struct tti_slot_reader *r)
{
	tti_codec_free(&r->codec);
	free(r->stored);
	free(r->fill);
	*r = (struct tti_slot_reader){ 0 };
}
