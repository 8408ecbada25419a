/* SPDX-License-Identifier: Apache-2.0 */
/* The codec is liblzf's; here is what HDF5 needs around it. */
#include "archive/lzf.h"

#include <hdf5.h>
#include <limits.h>
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_LIBLZF_LZF_H
#include <liblzf/lzf.h>
#else
#include <lzf.h>
#endif

#include "archive/h5.h"

size_t tti_lzf_encode(const void *in, size_t n, void *out, size_t room)
{
	if (n == 0 || n > UINT_MAX || room == 0)
		return 0;
	return lzf_compress(in, (unsigned)n, out,
			    room > UINT_MAX ? UINT_MAX : (unsigned)room);
}

size_t tti_lzf_decode(const void *in, size_t n, void *out, size_t room)
{
	if (n == 0 || n > UINT_MAX || room == 0)
		return 0;
	return lzf_decompress(in, (unsigned)n, out,
			      room > UINT_MAX ? UINT_MAX : (unsigned)room);
}

/* A new dataset: revision, library version, and the bytes of a chunk, which the decoder takes
 * as its first guess. */
static herr_t set_local(hid_t dcpl, hid_t type, hid_t space)
{
	unsigned values[8] = { 0 }, flags = 0;
	size_t count = 8, bytes = H5Tget_size(type);
	hsize_t chunk[H5S_MAX_RANK];
	int rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk);

	(void)space;
	if (bytes == 0 || rank < 0 ||
	    H5Pget_filter_by_id2(dcpl, TTI_FILTER_LZF, &flags, &count, values, 0, NULL,
				 NULL) < 0)
		return -1;
	for (int i = 0; i < rank; i++)
		if (__builtin_mul_overflow(bytes, (size_t)chunk[i], &bytes))
			return -1;
	if (bytes > UINT_MAX)
		return -1;
	values[0] = values[0] ? values[0] : TTI_LZF_REVISION;
	values[1] = values[1] ? values[1] : TTI_LZF_LIBRARY;
	values[2] = (unsigned)bytes;
	return H5Pmodify_filter(dcpl, TTI_FILTER_LZF, flags, count > 3 ? count : 3,
				values);
}

static size_t encode(size_t n, size_t *room, void **buf)
{
	void *out = H5allocate_memory(n, false);
	size_t len = out ? tti_lzf_encode(*buf, n, out, n) : 0;

	if (len == 0) {
		H5free_memory(out);
		return 0; /* optional: libhdf5 stores the chunk as it is */
	}
	H5free_memory(*buf);
	*buf = out;
	*room = n;
	return len;
}

/* A stream of n bytes holds less than 100 n: LZF codes at most 264 bytes in 3. */
static size_t decode(size_t n, size_t guess, size_t *room, void **buf)
{
	size_t most = n * 100 + 64;

	for (size_t size = guess ? guess : n;; size *= 2) {
		void *out = H5allocate_memory(size, false);
		size_t len = out ? tti_lzf_decode(*buf, n, out, size) : 0;

		if (len > 0) {
			H5free_memory(*buf);
			*buf = out;
			*room = size;
			return len;
		}
		H5free_memory(out);
		if (!out || size > most)
			break;
	}
	H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_PLINE,
		 H5E_READERROR, "LZF stream of %zu bytes is damaged", n);
	return 0;
}

/* params: H5Z_func_t is HDF5's. */
static size_t run_filter(unsigned flags, size_t value_count, const unsigned values[],
			 size_t n, size_t *room, void **buf)
{
	if (!(flags & H5Z_FLAG_REVERSE))
		return encode(n, room, buf);
	return decode(n, value_count >= 3 ? values[2] : 0, room, buf);
}

int tti_lzf_register(struct tt_error *err)
{
	static const H5Z_class2_t lzf = {
		.version = H5Z_CLASS_T_VERS,
		.id = TTI_FILTER_LZF,
		.encoder_present = 1,
		.decoder_present = 1,
		.name = "lzf",
		.set_local = set_local,
		.filter = run_filter,
	};
	TTI_H5_QUIET;

	if (H5Zfilter_avail(TTI_FILTER_LZF) > 0)
		return TT_OK;
	H5Eclear2(H5E_DEFAULT);
	if (H5Zregister(&lzf) < 0)
		return tti_h5_fail(err, TT_E_UNSUPPORTED, NULL, "filter 32000 (LZF)");
	return TT_OK;
}
