/* SPDX-License-Identifier: Apache-2.0 */
/* prune: delete files of a ring that left the queue. */
#include <ticktail/archive.h>
#include <time.h>

#include "commands.h"
#include "kind.h"
#include "output.h"

static const struct cli_option options[] = {
	{ 0, "keep-bytes", "N", "delete until the ring takes at most N bytes on disk" },
	{ 0, "older-than", "AGE",
	  "delete files all of whose rows are older: 7d, 36h, 90m, 30s" },
	{ 0, "archived-in", "ARCHIVE",
	  "delete only files whose rows are all archived there" },
	{ 0, "dry-run", NULL, "only say what would be deleted" },
	{ 0, NULL, NULL, NULL },
};

struct prune_job {
	const struct cli_ctx *ctx;
	struct tt_archive *archive; /* NULL: not asked for */
	struct cli_out out;
	bool dry_run;
	int status; /* of an answer that could not be had */
};

static bool allow(void *arg, const struct tt_ring_file *file)
{
	struct prune_job *job = arg;
	struct tt_error err;
	bool holds;

	if (job->status)
		return false;
	if (!job->archive)
		return true;
	if (tt_archive_holds(job->archive, job->ctx->args[0], file, &holds, &err) < 0) {
		job->status = cli_fail_error(job->ctx, &err);
		return false;
	}
	return holds;
}

static void deleted(void *arg, const struct tt_ring_file *file, uint64_t bytes)
{
	struct prune_job *job = arg;

	if (!job->ctx->quiet)
		cli_out_printf(&job->out, "%s %s: %llu rows, %llu bytes\n",
			       job->dry_run ? "would delete" : "deleted", file->file_name,
			       (unsigned long long)(file->end - file->start),
			       (unsigned long long)bytes);
}

static void failed(void *arg, const char *file_name, const struct tt_error *why)
{
	const struct prune_job *job = arg;

	(void)file_name; /* the text has it */
	cli_fail_error(job->ctx, why);
}

static bool read_limits(const struct cli_ctx *ctx, struct tt_ring_prune_opts *opts)
{
	struct timespec now;
	int64_t age_ns = 0;

	if (!cli_opt_count(ctx, "keep-bytes", &opts->keep_bytes) ||
	    !cli_opt_age(ctx, "older-than", &age_ns))
		return false;
	if (cli_opt_given(ctx, "older-than")) {
		clock_gettime(CLOCK_REALTIME, &now);
		opts->before_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - age_ns;
	}
	return true;
}

static void say_kept(const struct cli_ctx *ctx, const struct tt_ring_prune_opts *opts,
		     const struct tt_ring_pruned *pruned)
{
	if (pruned->refused)
		cli_note(ctx, "%llu files kept: not all of their rows are in %s",
			 (unsigned long long)pruned->refused,
			 cli_opt_text(ctx, "archived-in"));
	if (pruned->unsynced)
		cli_note(ctx, "%llu files kept: their rows are not synced yet",
			 (unsigned long long)pruned->unsynced);
	if (pruned->left_bytes > opts->keep_bytes)
		cli_note(ctx,
			 "%s: %llu bytes are left: the queue and what may not be deleted "
			 "take more than %llu",
			 ctx->args[0], (unsigned long long)pruned->left_bytes,
			 (unsigned long long)opts->keep_bytes);
}

static int prune(struct prune_job *job, struct tt_ring_prune_opts *opts)
{
	const struct cli_ctx *ctx = job->ctx;
	struct tt_ring_pruned pruned;
	struct tt_error err;
	int status = cli_out_open(&job->out, ctx, NULL), rc;

	if (status)
		return status;
	rc = tt_ring_prune(ctx->args[0], opts, &pruned, &err);
	if (!ctx->quiet && (rc == TT_OK || pruned.files))
		cli_out_printf(&job->out, "%s %llu files: %llu rows, %llu bytes\n",
			       job->dry_run ? "would delete" : "deleted",
			       (unsigned long long)pruned.files,
			       (unsigned long long)pruned.rows,
			       (unsigned long long)pruned.bytes);
	status = cli_out_close(&job->out);
	if (rc < 0 && pruned.failed)
		return cli_fail(ctx, "%s: %llu files deleted, %llu files could not be",
				ctx->args[0], (unsigned long long)pruned.files,
				(unsigned long long)pruned.failed);
	if (rc < 0)
		return cli_fail_error(ctx, &err);
	if (job->status)
		return job->status;
	say_kept(ctx, opts, &pruned);
	return status;
}

static int run(struct cli_ctx *ctx)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	struct prune_job job = { .ctx = ctx, .dry_run = cli_opt_given(ctx, "dry-run") };
	struct tt_error err;
	int status;

	if (!read_limits(ctx, &opts))
		return CLI_EXIT_USAGE;
	status = cli_need_ring(ctx, ctx->args[0]);
	if (status)
		return status;
	if (cli_opt_given(ctx, "archived-in") &&
	    tt_archive_open(&job.archive, cli_opt_text(ctx, "archived-in"), NULL, &err) <
		    0)
		return cli_fail_error(ctx, &err);
	opts.dry_run = job.dry_run;
	opts.allow = allow;
	opts.deleted = deleted;
	opts.failed = failed;
	opts.ctx = &job;
	status = prune(&job, &opts);
	tt_archive_close(job.archive);
	return status;
}

const struct cli_cmd cli_cmd_prune = {
	.name = "prune",
	.args = "DIR [OPTIONS]",
	.brief = "delete files that left the queue of a ring, oldest first",
	.more = "Without --keep-bytes and --older-than everything outside the queue "
		"goes; "
		"with both,\nwhat is over either.  The queue, rows that are not synced "
		"yet "
		"and, with\n--archived-in, rows that are not archived there always stay. "
		" "
		"Works with no free\nspace.  AGE is a number and s, m, h, d or w; a file "
		"is as old "
		"as the beginning of the\nnext one.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
