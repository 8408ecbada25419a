/* SPDX-License-Identifier: Apache-2.0 */
/* adopt: a file of np.save becomes a live file. */
#include "commands.h"
#include "kind.h"
#include "output.h"

static const struct cli_option options[] = {
	{ 0, "capacity", "ROWS", "rows that fit afterwards, at least" },
	{ 0, NULL, NULL, NULL },
};

static int run(struct cli_ctx *ctx)
{
	uint64_t capacity = 0;
	bool in_place;
	struct tt_error err;
	int status;

	if (!cli_opt_count(ctx, "capacity", &capacity))
		return CLI_EXIT_USAGE;
	status = cli_need_file(ctx, ctx->args[0], "it takes rows by 'ticktail append'");
	if (status)
		return status;
	if (tt_file_adopt(ctx->args[0], capacity, &in_place, &err) < 0)
		return cli_fail_error(ctx, &err);
	return cli_say(ctx, "%s: adopted %s", ctx->args[0],
		       in_place ? "in place"
				: "by copy: its header had no room, or no capacity "
				  "near gave an aligned tail");
}

const struct cli_cmd cli_cmd_adopt = {
	.name = "adopt",
	.args = "FILE [OPTIONS]",
	.brief = "make a file of np.save a live file",
	.more = "In place where its header has room and some capacity gives an aligned "
		"tail,\n"
		"else by copy and rename; says which.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
