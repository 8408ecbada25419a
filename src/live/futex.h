/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping on a 32-bit word of a shared mapping.  Never PRIVATE: the waker is another
 * process.  Works on PROT_READ mappings. */
#ifndef TTI_FUTEX_H
#define TTI_FUTEX_H

#include <stdint.h>

/* Sleep while *word == seen, at most timeout_ns.  TT_OK when woken, when the word differs or
 * on a signal: look again; -ETIMEDOUT after the time; another negated errno when the kernel
 * refuses (it has then slept timeout_ns, at most 1 ms). */
int tti_futex_wait(const uint32_t *word, uint32_t seen, int64_t timeout_ns);

/* Wake all sleepers. */
void tti_futex_wake(const uint32_t *word);

#endif
