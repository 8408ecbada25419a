/* SPDX-License-Identifier: Apache-2.0 */
/* The live words of an NPYT tail.  Nothing else in the tree touches them in a mapping.
 *
 * tail points at word 0 in a mapping and is 8-byte aligned; words is 5 or 4.
 *   5 words: start end update_timestamp offset magic
 *   4 words: start end offset magic
 *
 * Ordering (docs/CONCURRENCY.md):
 *  - tti_end_publish() releases the rows below end; tti_end_load() acquires them.
 *  - tti_stamp_*(): update_timestamp is the sequence word of rows changed in place.
 *  - tti_word_store() of the magic releases the last end of a superseded file;
 *    tti_magic_load() acquires it, so a reader that sees SUPERSEDED sees every row that will
 *    ever be there.
 * The words of rows changed in place are stored and loaded by live_write.c and live_read.c. */
#ifndef TTI_WORDS_H
#define TTI_WORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/num.h"
#include "format/tail.h"

typedef _Atomic(uint64_t) tti_word;

_Static_assert(sizeof(tti_word) == 8 && ATOMIC_LLONG_LOCK_FREE == 2,
	       "readers map PROT_READ: loads must be plain 8-byte loads");

/* start moves only in clear; no rows hang on it. */
static inline uint64_t tti_start_load(const tti_word *tail)
{
	return atomic_load_explicit(&tail[0], memory_order_relaxed);
}

/* Pairs with tti_end_publish(): who sees end sees the rows below it. */
static inline uint64_t tti_end_load(const tti_word *tail)
{
	return atomic_load_explicit(&tail[1], memory_order_acquire);
}

/* Make rows [.., end) visible.  Pairs with tti_end_load(). */
static inline void tti_end_publish(tti_word *tail, uint64_t end)
{
	atomic_store_explicit(&tail[1], end, memory_order_release);
}

/* What sleepers on a single file wait on: the low half of end (little-endian). */
static inline const uint32_t *tti_end_futex(const tti_word *tail)
{
	return (const uint32_t *)(const void *)&tail[1];
}

/* ---- update_timestamp, 5-word tails only ---- */

#define TTI_STAMP_STEP UINT64_C(0x10000)
#define TTI_STAMP_MASK UINT64_C(0xFFFF)

/* Rows are being overwritten.  A value of another writer's clock counts as stable unless it
 * ends in exactly this pattern. */
static inline bool tti_stamp_is_changing(uint64_t stamp)
{
	return (stamp & TTI_STAMP_MASK) == TTI_STAMP_MASK;
}

/* The stable value after old, at the time now_ns: it always differs from old. */
static inline uint64_t tti_stamp_next(uint64_t old, uint64_t now_ns)
{
	return tti_max_u64(old + TTI_STAMP_STEP, now_ns) & ~TTI_STAMP_MASK;
}

/* Reader, before copying: pairs with tti_stamp_settle(). */
static inline uint64_t tti_stamp_load(const tti_word *tail)
{
	return atomic_load_explicit(&tail[2], memory_order_acquire);
}

/* Writer only: the value it stored last. */
static inline uint64_t tti_stamp_peek(const tti_word *tail)
{
	return atomic_load_explicit(&tail[2], memory_order_relaxed);
}

/* Writer: rows are whole again.  Pairs with tti_stamp_load(). */
static inline void tti_stamp_settle(tti_word *tail, uint64_t stable)
{
	atomic_store_explicit(&tail[2], stable, memory_order_release);
}

/* ---- any word, by number ---- */

/* start (clear, before end), update_timestamp before and after rows change (pairs with
 * tti_stamp_load()), magic (pairs with tti_magic_load()).  Row stores that follow the changing
 * stamp are release stores themselves, so who sees one of them sees the stamp too. */
static inline void tti_word_store(tti_word *tail, uint32_t index, uint64_t value)
{
	atomic_store_explicit(&tail[index], value, memory_order_release);
}

/* ---- magic, the last word ---- */

static inline uint64_t tti_magic_load(const tti_word *tail, uint32_t words)
{
	return atomic_load_explicit(&tail[words - 1], memory_order_acquire);
}

#endif
