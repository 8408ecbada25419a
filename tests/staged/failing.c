/* SPDX-License-Identifier: Apache-2.0 */
#include "staged/failing.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static _Atomic(long) until_failure; /* 0: none fails */
static long living;

/* What is alive of ours, by linear probing: check frees things that did not come from here. */
enum { PLACES = 1 << 16 };
static void *places[PLACES];

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t n);
void __real_free(void *memory);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t n);
void __wrap_free(void *memory);

static bool fails(void)
{
	return atomic_load(&until_failure) > 0 &&
	       atomic_fetch_sub(&until_failure, 1) == 1;
}

static size_t find(const void *memory)
{
	size_t at = ((uintptr_t)memory >> 4) * 0x9e3779b1u % PLACES;

	while (places[at] && places[at] != memory)
		at = (at + 1) % PLACES;
	return at;
}

static void *count(void *memory)
{
	if (memory) {
		places[find(memory)] = memory;
		living++;
	}
	return memory;
}

static void forget(void *memory)
{
	size_t at = find(memory);

	if (!memory || !places[at])
		return;
	places[at] = NULL;
	living--;
	/* those behind it may have stood there if they could */
	for (at = (at + 1) % PLACES; places[at]; at = (at + 1) % PLACES) {
		void *other_memory = places[at];

		places[at] = NULL;
		places[find(other_memory)] = other_memory;
	}
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : count(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : count(__real_calloc(n, size));
}

void *__wrap_realloc(void *old, size_t n)
{
	void *memory;

	if (fails())
		return NULL;
	memory = __real_realloc(old, n);
	if (memory)
		forget(old);
	return count(memory);
}

void __wrap_free(void *memory)
{
	forget(memory);
	__real_free(memory);
}

void failing_arm(long n)
{
	atomic_store(&until_failure, n);
}

bool failing_disarm(void)
{
	return atomic_exchange(&until_failure, 0) == 0;
}

long failing_living(void)
{
	return living;
}
