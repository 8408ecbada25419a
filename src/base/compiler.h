/* SPDX-License-Identifier: Apache-2.0 */
/* What the two compilers offer, under one name each. */
#ifndef TTI_COMPILER_H
#define TTI_COMPILER_H

#include <stdlib.h>
#include <string.h>

#define TTI_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define TTI_CLEANUP(fn) __attribute__((cleanup(fn)))
#define TTI_LIKELY(x) __builtin_expect(!!(x), 1)
#define TTI_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* What runs once a row: from the beginning of a cache line on, since how a function lies in its
 * lines is a tenth of a row's time. */
#define TTI_ROW_PATH __attribute__((aligned(64)))
#define TTI_LEN(array) (sizeof(array) / sizeof((array)[0]))

static inline void tti_free_ptr(void *p)
{
	free(*(void **)p);
	*(void **)p = NULL;
}
#define tti_auto_free TTI_CLEANUP(tti_free_ptr)

/* Take the value out of an owning variable, leaving it empty. */
static inline void *tti_steal_ptr(void *p)
{
	void *taken = *(void **)p;

	*(void **)p = NULL;
	return taken;
}

/* Zeroed memory that begins at a pair of cache lines; free() takes it. */
static inline void *tti_calloc_lines(size_t bytes)
{
	size_t rounded = (bytes + 127) / 128 * 128;
	void *memory = aligned_alloc(128, rounded);

	return memory ? memset(memory, 0, rounded) : NULL;
}

#endif
