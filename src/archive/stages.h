/* SPDX-License-Identifier: Apache-2.0 */
/* The single filters, each a step from one buffer to another of the same codec. */
#ifndef TTI_STAGES_H
#define TTI_STAGES_H

#include <stdbool.h>
#include "archive/filters.h"

#define TTI_STAGE_NO_GAIN 1 /* encoding: the result would not be smaller */

struct tti_stage {
	const struct tti_filter *filter;
	size_t element_bytes;
	const void *in; /* the chunk, or the codec's other buffer */
	size_t n;
	bool last;    /* decoding: the result belongs at target */
	void *target; /* of target_room bytes */
	size_t target_room;
	const void *out; /* result, may be in itself */
	size_t out_n;
};

bool tti_stage_known(int filter);
/* Room for every intermediate result of a chunk of this size. */
int tti_codec_grow(struct tti_codec *codec, size_t chunk_bytes, struct tt_error *err);
int tti_stage_encode(struct tti_codec *codec, struct tti_stage *stage);
/* TT_E_DAMAGED or -ENOMEM. */
int tti_stage_decode(struct tti_codec *codec, struct tti_stage *stage);
const char *tti_stage_words(int code, int filter);

#endif
