/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that fail, and how many pieces of memory are alive.  For a program that is linked
 * with --wrap for malloc, calloc, realloc and free. */
#ifndef TESTS_STAGED_FAILING_H
#define TESTS_STAGED_FAILING_H

#include <stdbool.h>

/* The n-th allocation from here fails; 0: none. */
void failing_arm(long n);
/* No more fails.  Whether one has; also when none was to. */
bool failing_disarm(void);
long failing_living(void);

#endif
