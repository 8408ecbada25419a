/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests that kill at failpoints share: children that are killed, what they leave in
 * memory, how often a failpoint was passed, a directory where a sync costs nothing.
 *
 * TT_FAILPOINT and TT_FAILPOINT_LOG are set in children only, so that what the test itself does
 * is neither killed nor counted. */
#ifndef CRASH_HELP_H
#define CRASH_HELP_H

#include <stdbool.h>
#include <stddef.h>

/* In memory where there is some: a kill loses nothing either way.  Becomes the working
 * directory; leave removes it.  False: it cannot be made, or not removed. */
bool crash_dir_enter(void);
bool crash_dir_leave(void);

/* Zeroed memory that children share and outlives them; NULL: none is left. */
void *crash_record(size_t bytes);

/* The status that a child ended with: what fn returned, or the signal. */
int crash_run(int (*fn)(void *), void *ctx);
/* The same, killed at the nth passage of a failpoint.  False: it was not, and why was told. */
bool crash_kill(int (*fn)(void *), void *ctx, const char *name, unsigned nth);
/* The same, to its end; for each passage of a failpoint a line is added to the file log. */
int crash_run_logged(int (*fn)(void *), void *ctx);

/* A failpoint and how often it was passed. */
struct crash_passage {
	char name[64];
	unsigned count;
};
#define CRASH_NAMES_MAX 128
/* Those of the log, in the order in which each came first: how many.  0: also without a log. */
size_t crash_passed(struct crash_passage out[CRASH_NAMES_MAX]);
/* How often the log has the failpoint. */
unsigned crash_passages(const char *name);

#endif
