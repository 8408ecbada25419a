/* SPDX-License-Identifier: Apache-2.0 */
/* merge: join files that left the queue of a ring. */
#include <ticktail/archive.h>

#include "commands.h"
#include "kind.h"
#include "output.h"

static const struct cli_option options[] = {
	{ 0, "batch", "N", "join so many files into one" },
	{ 0, "archived-in", "ARCHIVE",
	  "join only files that are all archived there, or all not" },
	{ 0, NULL, NULL, NULL },
};

struct merge_job {
	const struct cli_ctx *ctx;
	struct tt_archive *archive;
	bool wanted; /* the state of the files that this round joins */
	bool failed;
};

static bool allow(void *arg, const struct tt_ring_file *file)
{
	struct merge_job *job = arg;
	struct tt_error err;
	bool holds;

	if (job->failed)
		return false;
	if (tt_archive_holds(job->archive, job->ctx->args[0], file, &holds, &err) < 0) {
		cli_fail_error(job->ctx, &err);
		job->failed = true;
		return false;
	}
	return holds == job->wanted;
}

/* One round a state, so that no file that is archived is joined with one that is not. */
static int merge_by_state(struct merge_job *job, uint64_t batch, uint64_t *merged)
{
	const char *path = cli_opt_text(job->ctx, "archived-in");
	struct tt_error err;
	int status = 0;

	if (tt_archive_open(&job->archive, path, NULL, &err) < 0)
		return cli_fail_error(job->ctx, &err);
	for (int state = 1; state >= 0 && status == 0; state--) {
		uint64_t joined = 0;

		job->wanted = state;
		if (tt_ring_merge(job->ctx->args[0], batch, allow, job, &joined, &err) <
		    0)
			status = cli_fail_error(job->ctx, &err);
		*merged += joined;
		if (job->failed)
			status = CLI_EXIT_FAILED;
	}
	tt_archive_close(job->archive);
	return status;
}

static int run(struct cli_ctx *ctx)
{
	struct merge_job job = { .ctx = ctx };
	uint64_t batch = 0, merged = 0;
	struct tt_error err;
	int status;

	if (!cli_opt_count(ctx, "batch", &batch))
		return CLI_EXIT_USAGE;
	if (cli_opt_given(ctx, "batch") && batch < 2)
		return cli_usage(ctx, "--batch: at least 2 files are joined");
	status = cli_need_ring(ctx, ctx->args[0]);
	if (status)
		return status;
	if (cli_opt_given(ctx, "archived-in"))
		status = merge_by_state(&job, batch, &merged);
	else if (tt_ring_merge(ctx->args[0], batch, NULL, NULL, &merged, &err) < 0)
		status = cli_fail_error(ctx, &err);
	return status ? status
		      : cli_say(ctx, "merged %llu files", (unsigned long long)merged);
}

const struct cli_cmd cli_cmd_merge = {
	.name = "merge",
	.args = "DIR [OPTIONS]",
	.brief = "join files that left the queue of a ring",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
