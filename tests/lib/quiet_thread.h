/* SPDX-License-Identifier: Apache-2.0 */
/* A thread whose system calls are counted by the kernel, each before it is made.  So a test can
 * say that a stretch of code makes none, whatever it takes. */
#ifndef TEST_LIB_QUIET_THREAD_H
#define TEST_LIB_QUIET_THREAD_H

#include <stdbool.h>
#include <stdint.h>

struct quiet;

/* So far, by the thread that asks; without reading the clock, which on some machines is one. */
uint64_t quiet_calls(const struct quiet *quiet);
/* The number of the last one, for messages. */
int quiet_last(const struct quiet *quiet);
/* Run fn in such a thread and wait for its end.  false, and fn did not run: the kernel (older
 * than 5.5, or told not to) does not count. */
bool quiet_run(void (*fn)(const struct quiet *quiet, void *ctx), void *ctx);

#endif
