/* SPDX-License-Identifier: Apache-2.0 */
/* seal: all rows of a ring so far into sealed files. */
#include "commands.h"
#include "kind.h"
#include "output.h"

static const struct cli_option options[] = {
	{ 0, "timeout", "S", "wait so long for a live writer to do it (10)" },
	{ 0, "force-network-fs", NULL, "write also on a network file system" },
	{ 0, NULL, NULL, NULL },
};

static int run(struct cli_ctx *ctx)
{
	struct tt_ring_seal_opts opts = TT_RING_SEAL_OPTS_INIT;
	struct tt_error err;
	bool sealed;
	int status = cli_need_ring(ctx, ctx->args[0]);

	if (status)
		return status;
	if (!cli_opt_seconds(ctx, "timeout", &opts.timeout_ns))
		return CLI_EXIT_USAGE;
	opts.force_network_fs = cli_opt_given(ctx, "force-network-fs");
	if (tt_ring_seal_with(ctx->args[0], &opts, &sealed, &err) < 0)
		return cli_fail_error(ctx, &err);
	return cli_say(ctx, "%s: %s", ctx->args[0],
		       sealed ? "sealed" : "nothing to do: the newest file is empty");
}

const struct cli_cmd cli_cmd_seal = {
	.name = "seal",
	.args = "DIR [OPTIONS]",
	.brief = "start a new file of a ring now",
	.more = "A live writer is asked to; without one it is done here.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
