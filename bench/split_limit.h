/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of reserve and publish: where rows go, and the release store of the end, each behind
 * a call; the caller's copy lies between them.  The same text is compiled into the program and
 * into a shared library, as ours is in one: a call across costs something by itself. */
#ifndef BENCH_SPLIT_LIMIT_H
#define BENCH_SPLIT_LIMIT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { SPLIT_ROW_BYTES = 32 };

/* What an append knows: where rows go and where it publishes, a cache line of its own. */
struct limit {
	unsigned char *rows;
	uint64_t end;
	_Atomic(uint64_t) *word;
	uint64_t capacity; /* what the checked one looks at */
};

typedef void *split_reserve_fn(struct limit *limit, uint64_t count);
typedef int split_publish_fn(struct limit *limit, uint64_t count);

split_reserve_fn library_reserve, library_checked_reserve;
split_publish_fn library_publish, library_checked_publish;
/* Nothing: what the calls cost. */
split_reserve_fn library_empty_reserve;
split_publish_fn library_empty_publish;

#define SPLIT_LIMIT(linkage, where) \
	linkage void *where##_reserve(struct limit *l, uint64_t count) \
	{ \
		(void)count; \
		return l->rows + l->end * SPLIT_ROW_BYTES; \
	} \
	linkage int where##_publish(struct limit *l, uint64_t count) \
	{ \
		l->end += count; \
		atomic_store_explicit(l->word, l->end, memory_order_release); \
		return 0; \
	}

#endif
