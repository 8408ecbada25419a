/* SPDX-License-Identifier: Apache-2.0 */
/* LZF as HDF5 filter 32000, the way h5py defines it: the bare stream of liblzf, three client
 * values {4, 0x0105, bytes of a chunk}, optional. */
#ifndef TTI_LZF_H
#define TTI_LZF_H

#include <stddef.h>
#include "base/error.h"

#define TTI_FILTER_LZF 32000
#define TTI_LZF_REVISION 4u
#define TTI_LZF_LIBRARY 0x0105u

/* Give libhdf5 the filter unless it has one; call before a dataset that uses it is opened or
 * made.  Cheap when done already. */
int tti_lzf_register(struct tt_error *err);

/* in[0..n) into out[0..room): the length, 0 when it does not fit (not compressible). */
size_t tti_lzf_encode(const void *in, size_t n, void *out, size_t room);
/* The length, 0 when the stream is damaged or does not fit. */
size_t tti_lzf_decode(const void *in, size_t n, void *out, size_t room);

#endif
