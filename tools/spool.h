/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes kept aside in a temporary file without a name, which is gone with its descriptor. */
#ifndef CLI_SPOOL_H
#define CLI_SPOOL_H

#include "cmd.h"

/* Each gives an exit status.  *fd, in TMPDIR or /tmp, is the caller's to close. */
int cli_spool_open(const struct cli_ctx *ctx, int *fd);
int cli_spool_put(const struct cli_ctx *ctx, int fd, const void *bytes, size_t n);

#endif
