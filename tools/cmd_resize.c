/* SPDX-License-Identifier: Apache-2.0 */
/* resize: a live file of another capacity; its rows stay. */
#include "commands.h"
#include "kind.h"

static const struct cli_option options[] = {
	{ 0, "capacity", "ROWS", "grow to so many rows" },
	{ 0, "trim", NULL, "give back the space that no row uses" },
	{ 0, NULL, NULL, NULL },
};

static int run(struct cli_ctx *ctx)
{
	bool trim = cli_opt_given(ctx, "trim");
	const char *path = ctx->args[0];
	uint64_t capacity = 0;
	struct tt_error err;
	int rc, status;

	if (trim == cli_opt_given(ctx, "capacity"))
		return cli_usage(ctx, "one of --capacity and --trim is needed");
	if (!cli_opt_count(ctx, "capacity", &capacity))
		return CLI_EXIT_USAGE;
	if (!trim && capacity == 0)
		return cli_usage(ctx, "--capacity: 0 rows are no file");
	status = cli_need_file(ctx, path,
			       "'ticktail create DIR --rolling --set --capacity ROWS' "
			       "is for the files to come");
	if (status)
		return status;
	rc = trim ? tt_file_trim(path, &err) : tt_file_resize(path, capacity, &err);
	return rc < 0 ? cli_fail_error(ctx, &err) : 0;
}

const struct cli_cmd cli_cmd_resize = {
	.name = "resize",
	.args = "FILE (--capacity ROWS | --trim)",
	.brief = "grow a live file, or give back unused space",
	.more = "The file is replaced by a copy; readers go on in it at the same row.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
