/* SPDX-License-Identifier: Apache-2.0 */
/* Filter pipelines of chunks, run outside libhdf5 so that hash workers and scan threads can
 * encode and decode in parallel: shuffle, LZF, gzip (deflate) and fletcher32.  What we encode,
 * libhdf5 decodes, and the reverse.
 *
 * Bit i of a chunk's filter mask means that filter i was skipped for this chunk. */
#ifndef TTI_FILTERS_H
#define TTI_FILTERS_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>
#include "ticktail/archive.h"
#include "base/error.h"
#include "archive/lzf.h"

#define TTI_MAX_FILTERS 32 /* of HDF5 */
#define TTI_FILTER_VALUES 20

struct tti_filter {
	int id;
	unsigned flags; /* H5Z_FLAG_OPTIONAL or 0 */
	unsigned value_count;
	unsigned values[TTI_FILTER_VALUES];
};

struct tti_pipeline {
	size_t chunk_bytes, element_bytes;
	unsigned count;
	struct tti_filter filters[TTI_MAX_FILTERS];
};

struct tti_filter_choice {
	enum tt_archive_filter filter;
	int gzip_level; /* 0-9 */
	bool shuffle;	/* left out for one-byte elements, where it does nothing */
};
/* What the user asked for; TT_E_RANGE for a level or a size HDF5 cannot hold. */
int tti_pipeline_choose(struct tti_pipeline *out, const struct tti_filter_choice *choice,
			size_t element_bytes, size_t chunk_bytes, struct tt_error *err);
/* The pipeline of a dataset's creation property list (element_bytes = size of the file type,
 * chunk_bytes = of a full chunk).  Any filters are taken, also those we cannot run. */
int tti_pipeline_get(struct tti_pipeline *out, hid_t dcpl, size_t element_bytes,
		     size_t chunk_bytes, struct tt_error *err);
/* Put it into a creation property list (LZF gets registered first). */
int tti_pipeline_put(const struct tti_pipeline *pipeline, hid_t dcpl,
		     struct tt_error *err);

/* TT_OK when all filters that mask does not skip can be run here; else TT_E_UNSUPPORTED
 * naming the filter's id.  mask 0: all of them.  libhdf5 with a plugin may still do it. */
int tti_pipeline_supported(const struct tti_pipeline *pipeline, uint32_t mask,
			   struct tt_error *err);

/* Scratch of one thread: buffers grow to the chunk size and are reused. */
struct tti_codec;
int tti_codec_new(struct tti_codec **out, struct tt_error *err);
void tti_codec_free(struct tti_codec **codec);
#define tti_auto_codec TTI_CLEANUP(tti_codec_free) struct tti_codec

/* A chunk as it stands in the file. */
struct tti_encoded {
	const void *bytes;
	size_t n;
	uint32_t mask;
};

/* A full chunk (chunk_bytes, edge chunks padded) to what goes into the file.  out->bytes is
 * chunk itself when there is nothing to do, else in the codec, until its next call.
 * Optional filters that do not shrink the chunk are skipped and set in out->mask. */
int tti_pipeline_encode(const struct tti_pipeline *pipeline, struct tti_codec *codec,
			const void *chunk, struct tti_encoded *out, struct tt_error *err);

/* stored (as in the file) to exactly chunk_bytes at chunk.  TT_E_DAMAGED: the bytes are not
 * what the pipeline makes (too short, bad checksum, broken stream); TT_E_UNSUPPORTED. */
int tti_pipeline_decode(const struct tti_pipeline *pipeline, struct tti_codec *codec,
			const struct tti_encoded *stored, void *chunk,
			struct tt_error *err);

#endif
