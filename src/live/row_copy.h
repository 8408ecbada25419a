/* SPDX-License-Identifier: Apache-2.0 */
/* Copying rows into the file, padding zeroed on the way.  How is chosen once, when a file is
 * opened, by the size of a row and whether it has padding; no size is special.
 *
 * A row of 8 to 64 bytes is moved by two or four loads and stores of one width that overlap in
 * the middle, so one branch serves all sizes of a class; padding is cleared in registers by a
 * mask of the row, which is all ones where nothing is to be cleared: an and costs less than a
 * branch.  Anything else is memcpy, and then the gaps are zeroed. */
#ifndef TTI_ROW_COPY_H
#define TTI_ROW_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/compiler.h"

#define TTI_ROW_MASK_BYTES 64

enum tti_row_class {
	TTI_ROW_ANY,  /* memcpy */
	TTI_ROW_TO16, /* 8 to 15 bytes */
	TTI_ROW_TO32, /* 16 to 32 */
	TTI_ROW_TO64, /* 33 to 64 */
};

static inline enum tti_row_class tti_row_class(uint64_t bytes)
{
	if (bytes < 8 || bytes > 64)
		return TTI_ROW_ANY;
	return bytes < 16 ? TTI_ROW_TO16 : bytes <= 32 ? TTI_ROW_TO32 : TTI_ROW_TO64;
}

typedef uint8_t tti_v16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t tti_v8 __attribute__((aligned(1), may_alias));

#define TTI_INLINE static inline __attribute__((always_inline))

TTI_INLINE tti_v16 tti_load16(const unsigned char *from)
{
	return *(const tti_v16 *)from;
}

TTI_INLINE void tti_store16(unsigned char *to, tti_v16 value)
{
	*(tti_v16 *)to = value;
}

/* n from 8 to 16. */
TTI_INLINE void tti_row_to16(unsigned char *to, const unsigned char *from, size_t n,
			     const unsigned char *mask)
{
	tti_v8 a = *(const tti_v8 *)from, b = *(const tti_v8 *)(from + n - 8);

	a &= *(const tti_v8 *)mask;
	b &= *(const tti_v8 *)(mask + n - 8);
	*(tti_v8 *)to = a;
	*(tti_v8 *)(to + n - 8) = b;
}

/* n from 16 to 32. */
TTI_INLINE void tti_row_to32(unsigned char *to, const unsigned char *from, size_t n,
			     const unsigned char *mask)
{
	tti_v16 a = tti_load16(from), b = tti_load16(from + n - 16);

	a &= tti_load16(mask);
	b &= tti_load16(mask + n - 16);
	tti_store16(to, a);
	tti_store16(to + n - 16, b);
}

/* n from 32 to 64. */
TTI_INLINE void tti_row_to64(unsigned char *to, const unsigned char *from, size_t n,
			     const unsigned char *mask)
{
	tti_v16 a = tti_load16(from), b = tti_load16(from + 16),
		c = tti_load16(from + n - 32), d = tti_load16(from + n - 16);

	a &= tti_load16(mask);
	b &= tti_load16(mask + 16);
	c &= tti_load16(mask + n - 32);
	d &= tti_load16(mask + n - 16);
	tti_store16(to, a);
	tti_store16(to + 16, b);
	tti_store16(to + n - 32, c);
	tti_store16(to + n - 16, d);
}

#endif
