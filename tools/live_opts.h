/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several commands on live files share. */
#ifndef CLI_LIVE_OPTS_H
#define CLI_LIVE_OPTS_H

#include "cmd.h"

/* --sync none|MS|each; false: said. */
bool cli_opt_sync(const struct cli_ctx *ctx, int64_t *sync_ms);
/* --wake each|US|never */
bool cli_opt_wake(const struct cli_ctx *ctx, int64_t *wake_us);

#endif
