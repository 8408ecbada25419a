/* SPDX-License-Identifier: Apache-2.0 */
/* append: rows from INPUT into a live file or a ring.
 *
 * Rows are published when the input pauses, at --batch at the latest, and before anything that
 * is wrong with the input is said: what is complete is in, whatever comes behind it. */
#include <stdio.h>
#include <stdlib.h>

#include "codec.h"
#include "commands.h"
#include "live.h"
#include "live_opts.h"
#include "progress.h"
#include "signals.h"

#define BATCH_ROWS 4096
#define BATCH_BYTES_MAX ((uint64_t)1 << 30)

static const struct cli_option options[] = {
	{ 0, "format", "F", "csv, jsonl, npy or raw" },
	{ 0, "columns", "a,b,-,c",
	  "the columns of CSV without a header line; - drops one" },
	{ 0, "batch", "ROWS", "publish so many rows at once at most (4096)" },
	{ 0, "grow", NULL, "a file without room grows" },
	{ 0, "skip-bad", NULL, "pass over malformed lines and say how many" },
	{ 0, "sync", "none|MS|each", "when rows are made durable" },
	{ 0, "wake", "each|US|never", "when sleeping readers are woken" },
	{ 0, "force-network-fs", NULL, "write also on a network file system" },
	{ 0, NULL, NULL, NULL },
};

struct append_job {
	struct cli_ctx *ctx;
	struct cli_live live;
	struct cli_in in;
	struct cli_reader *reader;
	void *rows;
	uint64_t batch, appended;
	bool full;
	int idle_status;
	struct cli_progress progress;
};

static void on_idle(void *arg)
{
	struct append_job *job = arg;
	int status = cli_live_idle(&job->live);

	if (status && !job->idle_status)
		job->idle_status = status;
	cli_progress_show(&job->progress, job->appended);
}

/* The file is full and count rows are at hand: how many more there are. */
static int say_rest(struct append_job *job, uint64_t count)
{
	uint64_t got = count, rest = count;

	while (job->in.regular && got > 0) {
		/* what is wrong further on is not to be appended either */
		if (cli_reader_next(job->reader, job->rows, job->batch, &got) != 0)
			break;
		rest += got;
	}
	return cli_fail(job->ctx, "%s: full: %s%llu rows did not fit; --grow makes room",
			job->live.path, job->in.regular ? "" : "at least ",
			(unsigned long long)rest);
}

static int append_batch(struct append_job *job, const char *rows, uint64_t count)
{
	while (count > 0) {
		uint64_t done;
		int status = cli_live_append(&job->live, rows, count, &done);

		job->appended += done;
		if (status)
			return status;
		if (done == 0)
			return say_rest(job, count);
		rows += done * job->live.type.bytes;
		count -= done;
	}
	return 0;
}

static int append_all(struct append_job *job)
{
	for (;;) {
		uint64_t got;
		int status = cli_reader_next(job->reader, job->rows, job->batch, &got);

		if (status == 0 && got > 0)
			status = append_batch(job, job->rows, got);
		if (status || job->idle_status)
			return status ? status : job->idle_status;
		if (got == 0)
			return 0;
		cli_progress_show(&job->progress, job->appended);
	}
}

static int say_appended(struct append_job *job)
{
	if (job->reader->skipped > 0)
		cli_note(job->ctx, "%llu malformed rows skipped",
			 (unsigned long long)job->reader->skipped);
	return cli_say(job->ctx, "appended %llu rows", (unsigned long long)job->appended);
}

static int append_rows(struct append_job *job, const struct cli_reader_opts *opts)
{
	int status = cli_in_open(&job->in, job->ctx,
				 job->ctx->arg_count > 1 ? job->ctx->args[1] : NULL);
	int said;

	job->in.idle = on_idle;
	job->in.idle_arg = job;
	if (status == 0)
		status = cli_reader_open(&job->reader, &job->in, &job->live.type, opts);
	if (status)
		return status;
	cli_progress_init(&job->progress, job->ctx, 0, "rows");
	cli_signals_catch();
	status = append_all(job);
	cli_progress_end(&job->progress, job->appended);
	if (status == 0 && job->live.file && job->live.opts.sync_ms >= 0 &&
	    job->live.dirty)
		status = cli_live_sync(&job->live);
	said = say_appended(job);
	return status ? status : said;
}

static int start(struct append_job *job, struct cli_live_opts *live,
		 struct cli_reader_opts *opts)
{
	struct cli_ctx *ctx = job->ctx;
	int status;

	if (!cli_format_option(ctx, &opts->format) ||
	    !cli_opt_sync(ctx, &live->sync_ms) || !cli_opt_wake(ctx, &live->wake_us) ||
	    !cli_opt_count(ctx, "batch", &job->batch))
		return CLI_EXIT_USAGE;
	if (job->batch == 0)
		return cli_usage(ctx, "--batch: 0 rows are no batch");
	opts->columns = cli_opt_text(ctx, "columns");
	opts->skip_bad = cli_opt_given(ctx, "skip-bad");
	live->grow = cli_opt_given(ctx, "grow");
	live->force_network_fs = cli_opt_given(ctx, "force-network-fs");
	if (opts->columns && opts->format != CLI_CSV)
		return cli_usage(ctx, "--columns is for csv");
	status = cli_live_open(&job->live, ctx, ctx->args[0], live);
	if (status)
		return status;
	if (job->batch > BATCH_BYTES_MAX / job->live.type.bytes + 1)
		job->batch = BATCH_BYTES_MAX / job->live.type.bytes + 1;
	job->rows = malloc((size_t)job->batch * job->live.type.bytes);
	return job->rows ? 0 : cli_fail_memory(ctx);
}

static int run(struct cli_ctx *ctx)
{
	struct append_job job = { .ctx = ctx, .batch = BATCH_ROWS };
	struct cli_live_opts live = { .sync_ms = INT64_MIN, .wake_us = 250 };
	struct cli_reader_opts opts = { 0 };
	int status = start(&job, &live, &opts);

	if (status == 0)
		status = append_rows(&job, &opts);
	cli_reader_close(job.reader);
	cli_in_close(&job.in);
	cli_live_close(&job.live);
	free(job.rows);
	/* whoever sent the signal learns that it ended us; the rows so far are in */
	cli_signals_die();
	return status;
}

const struct cli_cmd cli_cmd_append = {
	.name = "append",
	.args = "PATH [INPUT] [OPTIONS]",
	.brief = "append rows to a live file or a ring",
	.more = "Rows come from INPUT or stdin and are visible to readers as soon as the "
		"input\n"
		"pauses.  SIGINT and SIGTERM end it after the rows that are complete are "
		"in.",
	.options = options,
	.min_args = 1,
	.max_args = 2,
	.run = run,
};
