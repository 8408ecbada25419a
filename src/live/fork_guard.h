/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that hold writer locks must not live on in a forked child: an open file
 * description keeps its lock until the last copy is closed, so a child would keep a killed
 * writer's file locked.  Each guarded descriptor is closed in the child of fork() (and set to
 * -1 there).  The list is the one piece of process-wide state in the library. */
#ifndef TTI_FORK_GUARD_H
#define TTI_FORK_GUARD_H

struct tti_fork_guard {
	struct tti_fork_guard *prev, *next;
	int *fd; /* NULL: not on the list */
};

/* guard and *fd stay where they are until tti_fork_guard_remove().  TT_OK or a negated
 * errno. */
int tti_fork_guard_add(struct tti_fork_guard *guard, int *fd);
void tti_fork_guard_remove(
	struct tti_fork_guard *guard); /* accepts one not on the list */

#endif
