/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines: what they are made of and how they walk.  The single filters are in stages.c. */
#include "archive/filters.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/num.h"
#include "archive/h5.h"
#include "archive/stages.h"

#define MOST_CHUNK_BYTES UINT32_MAX /* sizes of chunks are 32 bits wide in HDF5 */

static struct tti_filter *add(struct tti_pipeline *pipeline, int id, unsigned flags)
{
	struct tti_filter *filter = &pipeline->filters[pipeline->count++];

	*filter = (struct tti_filter){ .id = id, .flags = flags };
	return filter;
}

static void add_lzf(struct tti_pipeline *pipeline)
{
	struct tti_filter *filter = add(pipeline, TTI_FILTER_LZF, H5Z_FLAG_OPTIONAL);

	filter->value_count = 3;
	filter->values[0] = TTI_LZF_REVISION;
	filter->values[1] = TTI_LZF_LIBRARY;
	filter->values[2] = (unsigned)pipeline->chunk_bytes;
}

static void add_one_value(struct tti_pipeline *pipeline, int id, unsigned value)
{
	struct tti_filter *filter = add(pipeline, id, H5Z_FLAG_OPTIONAL);

	filter->value_count = 1;
	filter->values[0] = value;
}

int tti_pipeline_choose(struct tti_pipeline *out, const struct tti_filter_choice *choice,
			size_t element_bytes, size_t chunk_bytes, struct tt_error *err)
{
	if (chunk_bytes == 0 || chunk_bytes > MOST_CHUNK_BYTES)
		return tti_fail(
			err, TT_E_RANGE,
			"a chunk of %zu bytes: HDF5 holds 1 to %llu; choose another "
			"number of rows a chunk",
			chunk_bytes, (unsigned long long)MOST_CHUNK_BYTES);
	if (choice->filter == TT_FILTER_GZIP &&
	    (choice->gzip_level < 0 || choice->gzip_level > 9))
		return tti_fail(err, TT_E_RANGE, "gzip level %d: give 0 to 9",
				choice->gzip_level);
	*out = (struct tti_pipeline){ .chunk_bytes = chunk_bytes,
				      .element_bytes = element_bytes };
	if (choice->shuffle && element_bytes > 1)
		add_one_value(out, H5Z_FILTER_SHUFFLE, (unsigned)element_bytes);
	if (choice->filter == TT_FILTER_LZF)
		add_lzf(out);
	else if (choice->filter == TT_FILTER_GZIP)
		add_one_value(out, H5Z_FILTER_DEFLATE, (unsigned)choice->gzip_level);
	else if (choice->filter != TT_FILTER_NONE)
		return tti_fail(err, TT_E_RANGE, "filter %d is not known",
				(int)choice->filter);
	return TT_OK;
}

static int get_filter(struct tti_filter *out, hid_t dcpl, unsigned i,
		      struct tt_error *err)
{
	size_t count = TTI_FILTER_VALUES;
	H5Z_filter_t id =
		H5Pget_filter2(dcpl, i, &out->flags, &count, out->values, 0, NULL, NULL);

	if (id < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, NULL, "filter pipeline");
	out->id = id;
	/* libhdf5 gives the true number, which may be more than there was room for */
	out->value_count =
		(unsigned)(count < TTI_FILTER_VALUES ? count : TTI_FILTER_VALUES);
	return TT_OK;
}

int tti_pipeline_get(struct tti_pipeline *out, hid_t dcpl, size_t element_bytes,
		     size_t chunk_bytes, struct tt_error *err)
{
	int count, rc;
	TTI_H5_QUIET;

	*out = (struct tti_pipeline){ .chunk_bytes = chunk_bytes,
				      .element_bytes = element_bytes };
	count = H5Pget_nfilters(dcpl);
	if (count < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, NULL, "filter pipeline");
	if (count > TTI_MAX_FILTERS)
		return tti_fail(err, TT_E_DAMAGED,
				"filter pipeline: %d filters, HDF5 has at most %d", count,
				TTI_MAX_FILTERS);
	for (int i = 0; i < count; i++) {
		rc = get_filter(&out->filters[i], dcpl, (unsigned)i, err);
		if (rc < 0)
			return rc;
	}
	out->count = (unsigned)count;
	return TT_OK;
}

int tti_pipeline_put(const struct tti_pipeline *pipeline, hid_t dcpl,
		     struct tt_error *err)
{
	int rc;
	TTI_H5_QUIET;

	for (unsigned i = 0; i < pipeline->count; i++) {
		const struct tti_filter *filter = &pipeline->filters[i];

		rc = filter->id == TTI_FILTER_LZF ? tti_lzf_register(err) : TT_OK;
		if (rc < 0)
			return rc;
		if (H5Pset_filter(dcpl, filter->id, filter->flags, filter->value_count,
				  filter->values) < 0)
			return tti_h5_fail(err, TT_E_UNSUPPORTED, NULL,
					   "filter pipeline");
	}
	return TT_OK;
}

static bool skipped(uint32_t mask, unsigned i)
{
	return mask >> i & 1;
}

int tti_pipeline_supported(const struct tti_pipeline *pipeline, uint32_t mask,
			   struct tt_error *err)
{
	for (unsigned i = 0; i < pipeline->count; i++)
		if (!skipped(mask, i) && !tti_stage_known(pipeline->filters[i].id))
			return tti_fail(err, TT_E_UNSUPPORTED,
					"filter %d is not one of shuffle (2), gzip (1), "
					"fletcher32 (3), LZF (32000)",
					pipeline->filters[i].id);
	return TT_OK;
}

int tti_pipeline_encode(const struct tti_pipeline *pipeline, struct tti_codec *codec,
			const void *chunk, struct tti_encoded *out, struct tt_error *err)
{
	struct tti_stage stage = { .element_bytes = pipeline->element_bytes };
	int rc = tti_pipeline_supported(pipeline, 0, err);

	if (rc == TT_OK)
		rc = tti_codec_grow(codec, pipeline->chunk_bytes, err);
	if (rc < 0)
		return rc;
	*out = (struct tti_encoded){ .bytes = chunk, .n = pipeline->chunk_bytes };
	for (unsigned i = 0; i < pipeline->count; i++) {
		stage.filter = &pipeline->filters[i];
		stage.in = out->bytes;
		stage.n = out->n;
		rc = tti_stage_encode(codec, &stage);
		if (rc == TT_OK) {
			out->bytes = stage.out;
			out->n = stage.out_n;
		} else if (rc == TTI_STAGE_NO_GAIN &&
			   (stage.filter->flags & H5Z_FLAG_OPTIONAL)) {
			out->mask |= UINT32_C(1) << i;
		} else {
			return tti_fail(err,
					rc == TTI_STAGE_NO_GAIN ? TT_E_UNSUPPORTED : rc,
					"filter %d cannot encode a chunk of %zu bytes",
					stage.filter->id, stage.n);
		}
	}
	if (out->n > MOST_CHUNK_BYTES)
		return tti_fail(err, TT_E_RANGE,
				"a filtered chunk of %zu bytes does not fit HDF5",
				out->n);
	return TT_OK;
}

static int decode_filters(const struct tti_pipeline *pipeline, struct tti_codec *codec,
			  struct tti_encoded *at, void *chunk, struct tt_error *err)
{
	struct tti_stage stage = { .element_bytes = pipeline->element_bytes };
	unsigned left = 0;

	for (unsigned i = 0; i < pipeline->count; i++)
		left += !skipped(at->mask, i);
	for (unsigned i = pipeline->count; i-- > 0;) {
		int rc;

		if (skipped(at->mask, i))
			continue;
		stage.filter = &pipeline->filters[i];
		stage.in = at->bytes;
		stage.n = at->n;
		/* the last one writes to its place, and may not write past it */
		stage.last = --left == 0;
		stage.target = chunk;
		stage.target_room = pipeline->chunk_bytes;
		rc = tti_stage_decode(codec, &stage);
		if (rc < 0)
			return tti_fail(err, rc, "filter %d: %s (%zu bytes stored)",
					stage.filter->id,
					tti_stage_words(rc, stage.filter->id), stage.n);
		at->bytes = stage.out;
		at->n = stage.out_n;
	}
	return TT_OK;
}

int tti_pipeline_decode(const struct tti_pipeline *pipeline, struct tti_codec *codec,
			const struct tti_encoded *stored, void *chunk,
			struct tt_error *err)
{
	struct tti_encoded at = *stored;
	int rc = tti_pipeline_supported(pipeline, stored->mask, err);

	if (rc == TT_OK)
		rc = tti_codec_grow(codec, tti_max_u64(pipeline->chunk_bytes, stored->n),
				    err);
	if (rc == TT_OK)
		rc = decode_filters(pipeline, codec, &at, chunk, err);
	if (rc < 0)
		return rc;
	if (at.n != pipeline->chunk_bytes)
		return tti_fail(err, TT_E_DAMAGED,
				"a chunk of %zu bytes decodes to %zu, %zu are expected",
				stored->n, at.n, pipeline->chunk_bytes);
	if (at.bytes != chunk)
		memcpy(chunk, at.bytes, at.n);
	return TT_OK;
}
