/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of reserve and publish as a shared library: bare, with the least that keeps rows
 * within their file, and the calls alone. */
#include "split_limit.h"

#define ROW_PATH __attribute__((aligned(64)))

SPLIT_LIMIT(ROW_PATH, library)

ROW_PATH void *library_checked_reserve(struct limit *l, uint64_t count)
{
	if (count > l->capacity - l->end)
		return NULL;
	return l->rows + l->end * SPLIT_ROW_BYTES;
}

ROW_PATH int library_checked_publish(struct limit *l, uint64_t count)
{
	if (count > l->capacity - l->end)
		return -1;
	l->end += count;
	atomic_store_explicit(l->word, l->end, memory_order_release);
	return 0;
}

ROW_PATH void *library_empty_reserve(struct limit *l, uint64_t count)
{
	(void)count;
	return l;
}

ROW_PATH int library_empty_publish(struct limit *l, uint64_t count)
{
	(void)l;
	(void)count;
	return 0;
}
