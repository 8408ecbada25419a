/* SPDX-License-Identifier: Apache-2.0 */
/* Every system call by which a run changes what lies on disk goes through here, so that the
 * crash tests can stop at each of them.
 *
 * In the test build (TTI_FAILPOINTS) TT_STEP_KILL=K does half of the K-th step (of a write:
 * half its sectors) and sends SIGKILL; TT_STEP_FAIL=K:ERRNO makes it return that error
 * number.  Otherwise the functions are the system calls. */
#ifndef TTI_STEP_H
#define TTI_STEP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* All return TT_OK or a negated errno; EINTR and short writes are dealt with. */
int tti_step_pwrite(int fd, const void *bytes, size_t n, uint64_t offset);
int tti_step_fdatasync(int fd);
int tti_step_fsync(int fd);
int tti_step_fsync_dir(int dir);
int tti_step_truncate(int fd, uint64_t size);
int tti_step_rename(int dir, const char *from, const char *to);
/* Without replacing: -EEXIST when to is there. */
int tti_step_put_in_place(int dir, const char *from, const char *to);
int tti_step_unlink(int dir, const char *name);

/* For writes that the kernel does later: before they are handed over. */
int tti_step_submit(int fd, const void *bytes, size_t n, uint64_t offset);

#endif
