/* SPDX-License-Identifier: Apache-2.0 */
/* Checked arithmetic and strict number parsers.  Every size and offset that comes from a
 * file goes through these. */
#ifndef TTI_NUM_H
#define TTI_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* true on overflow; *out is then unspecified. */
static inline bool tti_mul_overflow(uint64_t a, uint64_t b, uint64_t *out)
{
	return __builtin_mul_overflow(a, b, out);
}

static inline bool tti_add_overflow(uint64_t a, uint64_t b, uint64_t *out)
{
	return __builtin_add_overflow(a, b, out);
}

static inline uint64_t tti_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t tti_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline int64_t tti_max_i64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline int64_t tti_min_i64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* n rounded up to a multiple of the power of two align; the caller excludes overflow. */
static inline uint64_t tti_round_up(uint64_t n, uint64_t align)
{
	return (n + align - 1) & ~(align - 1);
}

/* What a digit stands for in bases up to 16; 99 for any other byte. */
static inline int tti_digit_value(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* The whole of text[0..len) must be one decimal number; no sign for u64, optional sign for
 * i64, no spaces, no underscores.  false when it is not or does not fit. */
bool tti_parse_u64(const char *text, size_t len, uint64_t *out);
bool tti_parse_i64(const char *text, size_t len, int64_t *out);

#endif
