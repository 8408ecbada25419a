/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a lock of the archive, and words on who has it. */
#ifndef TTI_FLOCK_H
#define TTI_FLOCK_H

#include <stdint.h>
#include <sys/types.h>
#include "base/error.h"

/* TT_OK, TT_E_BUSY or a negated errno, without waiting. */
typedef int tti_lock_fn(int fd);
int tti_try_run_lock(int fd);
int tti_try_flock_shared(int fd);
int tti_try_flock_exclusive(int fd);

/* Until deadline_ns on the monotonic clock; at least one try. */
int tti_wait_for_lock(tti_lock_fn *try, int fd, int64_t deadline_ns);

/* Who runs on the file, 0 when that cannot be told. */
pid_t tti_run_pid(int fd);
/* TT_E_BUSY "path: being written by pid N". */
int tti_fail_busy(struct tt_error *err, const char *path, int fd);
/* TT_E_BUSY: readers, or another HDF5 program, have the file open. */
int tti_fail_in_use(struct tt_error *err, const char *path, int fd);

#endif
