/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of one byte on a file, held by an open file description: they die with the process,
 * are not lost when another descriptor of the file is closed, and conflict inside a process
 * too.  The bytes lie far past any data so that no reader or writer of rows meets them. */
#ifndef TTI_LOCK_H
#define TTI_LOCK_H

#include <stdint.h>
#include <sys/types.h>

#define TTI_LOCK_WRITER ((int64_t)1 << 62)	     /* who may append */
#define TTI_LOCK_PID (((int64_t)1 << 62) + 1)	     /* POSIX lock, tells the pid */
#define TTI_LOCK_MAINTAINER (((int64_t)1 << 62) + 2) /* merge, prune, recover */

/* Take the exclusive lock without waiting: TT_OK, TT_E_BUSY or a negated errno. */
int tti_lock_try(int fd, int64_t byte);
void tti_lock_drop(int fd, int64_t byte);

/* 1 when somebody holds it (another description), 0 when free, or a negated errno.  Needs
 * read permission only. */
int tti_lock_is_held(int fd, int64_t byte);

/* The POSIX lock that tells a pid: set it, and ask who has it (0 when nobody does). */
int tti_lock_put_pid(int fd);
pid_t tti_lock_get_pid(int fd);

#endif
