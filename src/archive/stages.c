/* SPDX-License-Identifier: Apache-2.0 */
/* Invariant: a stage reads one buffer and writes the other one (or the target), never both;
 * no stage writes past the room it was given, whatever the bytes say. */
#include "archive/stages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/num.h"

struct tti_codec {
	char *buffers[2];
	size_t room; /* of each */
	unsigned next;
	z_stream deflate, inflate;
	bool can_deflate, can_inflate;
	int level;
};

int tti_codec_new(struct tti_codec **out, struct tt_error *err)
{
	*out = calloc(1, sizeof(**out));
	return *out ? TT_OK : tti_fail(err, -ENOMEM, "filters: out of memory");
}

void tti_codec_free(struct tti_codec **codec)
{
	struct tti_codec *c = *codec;

	if (!c)
		return;
	if (c->can_deflate)
		deflateEnd(&c->deflate);
	if (c->can_inflate)
		inflateEnd(&c->inflate);
	free(c->buffers[0]);
	free(c->buffers[1]);
	free(c);
	*codec = NULL;
}

int tti_codec_grow(struct tti_codec *codec, size_t chunk_bytes, struct tt_error *err)
{
	/* deflate may lengthen what it cannot shrink, a checksum always does */
	uint64_t room = (uint64_t)compressBound(chunk_bytes) + 4 * TTI_MAX_FILTERS;

	if (room <= codec->room)
		return TT_OK;
	for (int i = 0; i < 2; i++) {
		void *grown = realloc(codec->buffers[i], room);

		if (!grown)
			return tti_fail(err, -ENOMEM, "filters: no memory for %llu bytes",
					(unsigned long long)room);
		codec->buffers[i] = grown;
	}
	codec->room = room;
	return TT_OK;
}

static char *next_buffer(struct tti_codec *codec)
{
	codec->next ^= 1;
	return codec->buffers[codec->next];
}

/* ---- shuffle: byte 0 of every element, then byte 1, ... ---- */

static size_t shuffle_width(const struct tti_stage *stage)
{
	return stage->filter->value_count > 0 ? stage->filter->values[0]
					      : stage->element_bytes;
}

#define SHUFFLE_BLOCK 1024 /* elements whose bytes stay in the first cache */

static void shuffle(const unsigned char *in, size_t n, size_t width, unsigned char *out)
{
	size_t count = n / width;

	for (size_t from = 0; from < count; from += SHUFFLE_BLOCK) {
		size_t to = from + SHUFFLE_BLOCK < count ? from + SHUFFLE_BLOCK : count;

		for (size_t j = 0; j < width; j++)
			for (size_t i = from; i < to; i++)
				out[j * count + i] = in[i * width + j];
	}
	memcpy(out + count * width, in + count * width, n - count * width);
}

static void unshuffle(const unsigned char *in, size_t n, size_t width, unsigned char *out)
{
	size_t count = n / width;

	for (size_t from = 0; from < count; from += SHUFFLE_BLOCK) {
		size_t to = from + SHUFFLE_BLOCK < count ? from + SHUFFLE_BLOCK : count;

		for (size_t j = 0; j < width; j++)
			for (size_t i = from; i < to; i++)
				out[i * width + j] = in[j * count + i];
	}
	memcpy(out + count * width, in + count * width, n - count * width);
}

/* ---- fletcher32: over big-endian 16-bit words, appended little-endian ---- */

static uint32_t fold(uint32_t sum)
{
	return (sum & 0xffff) + (sum >> 16);
}

static uint32_t fletcher32(const unsigned char *bytes, size_t n)
{
	uint32_t sum1 = 0, sum2 = 0;

	for (size_t words = n / 2; words > 0;) {
		/* 360 words cannot overflow 32 bits */
		size_t block = words < 360 ? words : 360;

		words -= block;
		for (; block > 0; block--, bytes += 2) {
			sum1 += (uint32_t)(bytes[0] << 8 | bytes[1]);
			sum2 += sum1;
		}
		sum1 = fold(sum1);
		sum2 = fold(sum2);
	}
	if (n & 1) {
		sum1 += (uint32_t)(bytes[0] << 8);
		sum2 += sum1;
		sum1 = fold(sum1);
		sum2 = fold(sum2);
	}
	return fold(sum2) << 16 | fold(sum1);
}

static int check_fletcher32(struct tti_stage *stage)
{
	const unsigned char *bytes = stage->in;
	uint32_t stored, sum, old;

	if (stage->n < 4)
		return TT_E_DAMAGED;
	memcpy(&stored, bytes + stage->n - 4, 4);
	sum = fletcher32(bytes, stage->n - 4);
	/* libhdf5 before 1.6.3 wrote the two bytes of each half the other way round */
	old = (sum & 0x00ff00ffu) << 8 | (sum >> 8 & 0x00ff00ffu);
	if (stored != sum && stored != old)
		return TT_E_DAMAGED;
	stage->out = stage->in;
	stage->out_n = stage->n - 4;
	return TT_OK;
}

static void add_fletcher32(struct tti_codec *codec, struct tti_stage *stage)
{
	char *out = next_buffer(codec);
	uint32_t sum = fletcher32(stage->in, stage->n);

	memcpy(out, stage->in, stage->n);
	memcpy(out + stage->n, &sum, 4);
	stage->out = out;
	stage->out_n = stage->n + 4;
}

/* ---- gzip: a zlib stream ---- */

static int start_deflate(struct tti_codec *codec, int level)
{
	if (codec->can_deflate && codec->level == level)
		return deflateReset(&codec->deflate) == Z_OK ? TT_OK : -ENOMEM;
	if (codec->can_deflate)
		deflateEnd(&codec->deflate);
	memset(&codec->deflate, 0, sizeof(codec->deflate));
	codec->can_deflate = deflateInit(&codec->deflate, level) == Z_OK;
	codec->level = level;
	return codec->can_deflate ? TT_OK : -ENOMEM;
}

static int encode_gzip(struct tti_codec *codec, struct tti_stage *stage)
{
	int level = stage->filter->value_count > 0 ? (int)stage->filter->values[0] : 6;
	int rc = start_deflate(codec, level);
	char *out = codec->buffers[codec->next ^ 1];
	z_stream *z = &codec->deflate;

	if (rc < 0)
		return rc;
	z->next_in = (Bytef *)(uintptr_t)stage->in;
	z->avail_in = (uInt)stage->n;
	z->next_out = (Bytef *)out;
	z->avail_out = (uInt)stage->n; /* no more: it would not be a gain */
	if (deflate(z, Z_FINISH) != Z_STREAM_END || z->total_out >= stage->n)
		return TTI_STAGE_NO_GAIN;
	stage->out = next_buffer(codec);
	stage->out_n = z->total_out;
	return TT_OK;
}

static int decode_gzip(struct tti_codec *codec, const struct tti_stage *stage, char *out,
		       size_t room, size_t *len_out)
{
	z_stream *z = &codec->inflate;
	int rc;

	if (!codec->can_inflate && inflateInit(z) != Z_OK)
		return -ENOMEM;
	codec->can_inflate = true;
	if (stage->n > UINT32_MAX || inflateReset(z) != Z_OK)
		return TT_E_DAMAGED;
	z->next_in = (Bytef *)(uintptr_t)stage->in;
	z->avail_in = (uInt)stage->n;
	z->next_out = (Bytef *)out;
	z->avail_out = (uInt)tti_min_u64(room, UINT32_MAX);
	rc = inflate(z, Z_FINISH);
	*len_out = z->total_out;
	if (rc == Z_MEM_ERROR)
		return -ENOMEM;
	return rc == Z_STREAM_END ? TT_OK : TT_E_DAMAGED;
}

/* ---- one step ---- */

bool tti_stage_known(int filter)
{
	return filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_DEFLATE ||
	       filter == H5Z_FILTER_FLETCHER32 || filter == TTI_FILTER_LZF;
}

static int encode_lzf(struct tti_codec *codec, struct tti_stage *stage)
{
	char *out = codec->buffers[codec->next ^ 1];
	size_t len = tti_lzf_encode(stage->in, stage->n, out, stage->n);

	if (len == 0 || len >= stage->n)
		return TTI_STAGE_NO_GAIN;
	stage->out = next_buffer(codec);
	stage->out_n = len;
	return TT_OK;
}

int tti_stage_encode(struct tti_codec *codec, struct tti_stage *stage)
{
	size_t width = shuffle_width(stage);
	char *out;

	if (stage->n > UINT32_MAX)
		return -EOVERFLOW;
	switch (stage->filter->id) {
	case TTI_FILTER_LZF: return encode_lzf(codec, stage);
	case H5Z_FILTER_DEFLATE: return encode_gzip(codec, stage);
	case H5Z_FILTER_FLETCHER32: add_fletcher32(codec, stage); return TT_OK;
	default: break;
	}
	stage->out = stage->in;
	stage->out_n = stage->n;
	if (width > 1 && stage->n / width > 1) {
		stage->out = out = next_buffer(codec);
		shuffle(stage->in, stage->n, width, (unsigned char *)out);
	}
	return TT_OK;
}

static int decode_into(struct tti_codec *codec, struct tti_stage *stage, char *out,
		       size_t room)
{
	size_t width = shuffle_width(stage);
	int rc = TT_OK;

	stage->out = out;
	if (stage->filter->id == H5Z_FILTER_DEFLATE)
		return decode_gzip(codec, stage, out, room, &stage->out_n);
	if (stage->filter->id == TTI_FILTER_LZF) {
		stage->out_n = tti_lzf_decode(stage->in, stage->n, out, room);
		return stage->out_n > 0 ? TT_OK : TT_E_DAMAGED;
	}
	stage->out_n = stage->n;
	if (width <= 1 || stage->n / width <= 1)
		stage->out = stage->in;
	else if (stage->n > room)
		rc = TT_E_DAMAGED;
	else
		unshuffle(stage->in, stage->n, width, (unsigned char *)out);
	return rc;
}

int tti_stage_decode(struct tti_codec *codec, struct tti_stage *stage)
{
	if (stage->filter->id == H5Z_FILTER_FLETCHER32)
		return check_fletcher32(stage);
	if (stage->last)
		return decode_into(codec, stage, stage->target, stage->target_room);
	return decode_into(codec, stage, next_buffer(codec), codec->room);
}

const char *tti_stage_words(int code, int filter)
{
	if (code != TT_E_DAMAGED)
		return tt_strerror(code);
	if (filter == H5Z_FILTER_FLETCHER32)
		return "checksum does not match";
	return "not the stream of a chunk of this size";
}
