/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that serve one kind of path.  Exit statuses: 0, or what was said. */
#ifndef CLI_KIND_H
#define CLI_KIND_H

#include "cmd.h"

/* A single file, live or not; of_rings says what serves a ring in its place. */
int cli_need_file(const struct cli_ctx *ctx, const char *path, const char *of_rings);
int cli_need_ring(const struct cli_ctx *ctx, const char *path);

#endif
