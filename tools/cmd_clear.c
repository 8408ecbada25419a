/* SPDX-License-Identifier: Apache-2.0 */
/* clear: a live file without rows; its capacity stays. */
#include "commands.h"
#include "kind.h"

static const struct cli_option options[] = { { 0, NULL, NULL, NULL } };

static int run(struct cli_ctx *ctx)
{
	struct tt_error err;
	int status = cli_need_file(ctx, ctx->args[0],
				   "'ticktail prune' deletes what left its queue");

	if (status)
		return status;
	return tt_file_clear(ctx->args[0], &err) < 0 ? cli_fail_error(ctx, &err) : 0;
}

const struct cli_cmd cli_cmd_clear = {
	.name = "clear",
	.args = "FILE",
	.brief = "empty a live file",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
