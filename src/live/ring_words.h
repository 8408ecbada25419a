/* SPDX-License-Identifier: Apache-2.0 */
/* The words that processes share in a ring: manifest slots, and wake, request, answer and the
 * entries of its settings file.  Nothing else in the tree touches them in a mapping.
 *
 * Ordering (docs/CONCURRENCY.md):
 *  - tti_slot_store() releases everything that was stored before a file was named: its header
 *    and entry, and the last end of the file before it; tti_slot_load() acquires it.
 *  - tti_wake_bump() releases rows, end and manifest; tti_wake_load() acquires them, so a
 *    reader that loads wake, finds nothing and then sleeps on that value misses no event.
 *  - tti_answer_store() releases the roll that it reports; tti_answer_load() acquires it.
 *  - tti_entry_name_store() releases the entry's fields; tti_entry_name() acquires them. */
#ifndef TTI_RING_WORDS_H
#define TTI_RING_WORDS_H

#include <stdatomic.h>
#include "format/settings.h"
#include "live/words.h"

/* ---- the manifest ---- */

static inline uint64_t tti_slot_load(const tti_word *slots, uint64_t i)
{
	return atomic_load_explicit(&slots[i], memory_order_acquire);
}

static inline void tti_slot_store(tti_word *slots, uint64_t i, uint64_t name)
{
	atomic_store_explicit(&slots[i], name, memory_order_release);
}

/* ---- waking ---- */

static inline uint32_t tti_wake_load(const struct tti_words *words)
{
	return atomic_load_explicit(&words->wake, memory_order_acquire);
}

/* The writer's thread and the pulse may do it at once. */
static inline void tti_wake_bump(struct tti_words *words)
{
	atomic_fetch_add_explicit(&words->wake, 1, memory_order_release);
}

static inline const uint32_t *tti_wake_futex(const struct tti_words *words)
{
	return (const uint32_t *)(const void *)&words->wake;
}

/* Advice to readers how long to sleep; orders nothing. */
static inline uint32_t tti_wake_policy(const struct tti_words *words)
{
	return atomic_load_explicit(&words->wake_policy, memory_order_relaxed);
}

static inline void tti_wake_policy_store(struct tti_words *words, uint32_t policy)
{
	atomic_store_explicit(&words->wake_policy, policy, memory_order_relaxed);
}

/* ---- the writer's pid: for messages only ---- */

static inline uint32_t tti_pid_load(const struct tti_words *words)
{
	return atomic_load_explicit(&words->writer_pid, memory_order_relaxed);
}

static inline void tti_pid_store(struct tti_words *words, uint32_t pid)
{
	atomic_store_explicit(&words->writer_pid, pid, memory_order_relaxed);
}

/* ---- sealing on request ---- */

/* The value that answers this request. */
static inline uint64_t tti_request_add(struct tti_words *words)
{
	return atomic_fetch_add_explicit(&words->request, 1, memory_order_acq_rel) + 1;
}

/* The writer's look at each append; the roll it leads to is ordered by the answer. */
static inline uint64_t tti_request_peek(const struct tti_words *words)
{
	return atomic_load_explicit(&words->request, memory_order_relaxed);
}

static inline void tti_answer_store(struct tti_words *words, uint64_t served)
{
	atomic_store_explicit(&words->answer, served, memory_order_release);
}

static inline uint64_t tti_answer_load(const struct tti_words *words)
{
	return atomic_load_explicit(&words->answer, memory_order_acquire);
}

/* ---- entries ---- */

static inline uint64_t tti_entry_name(const struct tti_entry *entry)
{
	return atomic_load_explicit(&entry->name, memory_order_acquire);
}

static inline void tti_entry_name_store(struct tti_entry *entry, uint64_t name)
{
	atomic_store_explicit(&entry->name, name, memory_order_release);
}

/* Two maintainers may want the same entry; the one whose swap works has it. */
static inline bool tti_entry_claim(struct tti_entry *entry, uint64_t who)
{
	uint64_t expected = 0;

	return atomic_compare_exchange_strong_explicit(&entry->claim, &expected, who,
						       memory_order_acq_rel,
						       memory_order_relaxed);
}

/* Take an entry over from a file that is gone; it is then empty and ours. */
static inline bool tti_entry_take(struct tti_entry *entry, uint64_t name)
{
	return atomic_compare_exchange_strong_explicit(
		&entry->name, &name, 0, memory_order_acq_rel, memory_order_relaxed);
}

static inline uint64_t tti_entry_claimed_by(const struct tti_entry *entry)
{
	return atomic_load_explicit(&entry->claim, memory_order_relaxed);
}

static inline void tti_entry_release(struct tti_entry *entry)
{
	atomic_store_explicit(&entry->name, 0, memory_order_release);
	atomic_store_explicit(&entry->claim, 0, memory_order_release);
}

/* A field of an entry: relaxed, ordered by the name, a manifest slot or merged_into. */
#define tti_field_load(field) atomic_load_explicit((field), memory_order_relaxed)
#define tti_field_store(field, value) \
	atomic_store_explicit((field), (value), memory_order_relaxed)

/* Pairs with tti_entry_merged_store(): who sees the name sees rows and merged_row. */
static inline uint64_t tti_entry_merged(const struct tti_entry *entry)
{
	return atomic_load_explicit(&entry->merged_into, memory_order_acquire);
}

static inline void tti_entry_merged_store(struct tti_entry *entry, uint64_t into)
{
	atomic_store_explicit(&entry->merged_into, into, memory_order_release);
}

#endif
