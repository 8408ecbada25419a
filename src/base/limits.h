/* SPDX-License-Identifier: Apache-2.0 */
/* What the system refuses for want of something: which limit it is, where it stands, how it
 * is raised.  Only for the way to an error: costs a few system calls. */
#ifndef TTI_LIMITS_H
#define TTI_LIMITS_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

/* A mapping of bytes that failed: names vm.max_map_count or the limit on address space. */
int tti_fail_map(struct tt_error *err, int code, const char *path, uint64_t bytes);

/* What to do about EMFILE, ENFILE, EFBIG, EDQUOT, ENOSPC, EROFS, EACCES, EIO, ENOMEM for want of
 * mappings; "" for other codes. */
void tti_limit_words(int code, char *words, size_t size);

/* -EFBIG when this process may not make a file as long as offset + n.  Asked before, since
 * the kernel would send SIGXFSZ, which ends a program that does not know it. */
int tti_check_file_size(uint64_t offset, uint64_t n);

/* The directory at which the file system of fd is mounted, as far as fd's path tells; ""
 * when it does not. */
void tti_mount_point(int fd, char *out, size_t size);

#endif
