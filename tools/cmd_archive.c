/* SPDX-License-Identifier: Apache-2.0 */
/* archive: commit rows that were not archived before as one new version. */
#include <string.h>
#include <ticktail/archive.h>

#include "commands.h"
#include "json_doc.h"
#include "progress.h"
#include "signals.h"

static const struct cli_option options[] = {
	{ 'o', "output", "ARCHIVE", "the archive; made when it is not there" },
	{ 0, "dataset", "NAME",
	  "dataset name; strftime fields and {name} are filled in" },
	{ 0, "version", "NAME", "name of the version (the UTC time)" },
	{ 0, "timestamp", "T", "time stamp of the version (now)" },
	{ 0, "parent", "V", "build on this version (the current one)" },
	{ 0, "chunk", "ROWS", "rows a chunk, for new datasets" },
	{ 0, "filter", "none|lzf|gzip:N", "how chunks are compressed, for new datasets" },
	{ 0, "shuffle", NULL, "bytes of one place side by side before compression" },
	{ 0, "threads", "N", "threads that hash (one a core)" },
	{ 0, "io", "auto|uring|threads", "how chunks are written" },
	{ 0, "seal", NULL, "ask the rings to seal their newest file first" },
	{ 0, "delete-archived", NULL,
	  "then remove what is archived and out of the queue" },
	{ 0, "force-network-fs", NULL, "write also on a network file system" },
	{ 0, "json", NULL, "one JSON document" },
	{ 0, NULL, NULL, NULL },
};

struct archive_run {
	const struct cli_ctx *ctx;
	struct cli_progress progress;
	uint64_t done;
};

static bool on_progress(void *arg, uint64_t done, uint64_t total)
{
	struct archive_run *job = arg;

	job->progress.total = total;
	job->done = done;
	cli_progress_show(&job->progress, done);
	return cli_signals_seen() == 0;
}

static void on_warning(void *arg, const char *text)
{
	const struct archive_run *job = arg;

	cli_note(job->ctx, "warning: %s", text);
}

static bool read_filter(const struct cli_ctx *ctx, struct tt_archive_job *job)
{
	const char *text = cli_opt_text(ctx, "filter");

	if (!text || strcmp(text, "none") == 0)
		return true;
	if (strcmp(text, "lzf") == 0) {
		job->filter = TT_FILTER_LZF;
		return true;
	}
	if (strncmp(text, "gzip:", 5) == 0 && text[5] >= '0' && text[5] <= '9' &&
	    !text[6]) {
		job->filter = TT_FILTER_GZIP;
		job->gzip_level = text[5] - '0';
		return true;
	}
	cli_usage(ctx, "--filter: '%s' is none of none, lzf, gzip:0 to gzip:9", text);
	return false;
}

static bool read_timestamp(const struct cli_ctx *ctx, struct tt_archive_job *job,
			   int64_t *ns)
{
	const char *text = cli_opt_text(ctx, "timestamp");
	size_t len = text ? strlen(text) : 0;

	if (!text)
		return true;
	if (!cli_parse_signed(text, len, ns) &&
	    (tt_time_parse(text, len, TT_UNIT_ns, 1, TT_TIME_ROUND_DOWN, ns) < 0 ||
	     *ns == TT_NAT)) {
		cli_usage(
			ctx,
			"--timestamp: '%s' is no time (RFC 3339, or integer nanoseconds)",
			text);
		return false;
	}
	job->timestamp_ns = ns;
	return true;
}

static bool read_numbers(const struct cli_ctx *ctx, struct tt_archive_job *job)
{
	static const char *const engines[] = { "auto", "uring", "threads", NULL };
	uint64_t threads = 0;
	int io = TT_IO_AUTO;

	if (!cli_opt_count(ctx, "chunk", &job->chunk_rows) ||
	    !cli_opt_count(ctx, "threads", &threads) ||
	    !cli_opt_choice(ctx, "io", engines, &io))
		return false;
	if (cli_opt_given(ctx, "chunk") && job->chunk_rows == 0) {
		cli_usage(ctx, "--chunk: 0 rows are no chunk");
		return false;
	}
	if (cli_opt_given(ctx, "threads") && (threads == 0 || threads > 1024)) {
		cli_usage(ctx, "--threads: 1 to 1024");
		return false;
	}
	job->threads = (unsigned)threads;
	job->io = (enum tt_archive_io)io;
	return true;
}

static int print_json(const struct cli_ctx *ctx, const struct tt_archive_result *result)
{
	cli_json *document = json_object_new_object();

	cli_json_text(document, "version", *result->version ? result->version : NULL);
	cli_json_u64(document, "rows", result->rows);
	cli_json_u64(document, "chunks", result->chunks);
	cli_json_u64(document, "chunks_new", result->chunks_new);
	cli_json_u64(document, "chunks_reused", result->chunks_reused);
	cli_json_u64(document, "bytes", result->bytes);
	json_object_object_add(document, "seconds",
			       *result->version ? json_object_new_double(result->seconds)
						: json_object_new_int(0));
	return cli_json_print(ctx, document);
}

static int print_words(const struct cli_ctx *ctx, const struct tt_archive_result *result)
{
	if (!*result->version)
		return cli_say(ctx, "nothing new: no version was made");
	return cli_say(
		ctx,
		"version %s: %llu rows, %llu chunks (%llu new, %llu reused), %llu bytes "
		"written in %.2f s",
		result->version, (unsigned long long)result->rows,
		(unsigned long long)result->chunks,
		(unsigned long long)result->chunks_new,
		(unsigned long long)result->chunks_reused,
		(unsigned long long)result->bytes, result->seconds);
}

static int commit(struct archive_run *run, const struct tt_archive_job *job)
{
	const struct cli_ctx *ctx = run->ctx;
	struct tt_archive_result result = { 0 };
	struct tt_error err;
	int rc;

	cli_signals_catch();
	cli_progress_init(&run->progress, ctx, 0, "rows");
	rc = tt_archive_commit(cli_opt_text(ctx, "output"), job, &result, &err);
	cli_progress_end(&run->progress, run->done);
	if (rc < 0) {
		int status = cli_fail_error(ctx, &err);

		cli_signals_die();
		return status;
	}
	return cli_opt_given(ctx, "json") ? print_json(ctx, &result)
					  : print_words(ctx, &result);
}

static int run(struct cli_ctx *ctx)
{
	struct archive_run state = { .ctx = ctx };
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;
	int64_t timestamp_ns;

	if (!cli_opt_given(ctx, "output"))
		return cli_usage(ctx, "-o ARCHIVE is needed");
	if (!read_filter(ctx, &job) || !read_timestamp(ctx, &job, &timestamp_ns) ||
	    !read_numbers(ctx, &job))
		return CLI_EXIT_USAGE;
	job.sources = (const char *const *)ctx->args;
	job.source_count = (size_t)ctx->arg_count;
	job.dataset = cli_opt_text(ctx, "dataset");
	job.version = cli_opt_text(ctx, "version");
	job.parent = cli_opt_text(ctx, "parent");
	job.shuffle = cli_opt_given(ctx, "shuffle");
	job.seal = cli_opt_given(ctx, "seal");
	job.delete_archived = cli_opt_given(ctx, "delete-archived");
	job.force_network_fs = cli_opt_given(ctx, "force-network-fs");
	job.progress = on_progress;
	job.warn = on_warning;
	job.ctx = &state;
	if (job.version && !*job.version)
		return cli_usage(ctx, "--version: an empty name");
	return commit(&state, &job);
}

const struct cli_cmd cli_cmd_archive = {
	.name = "archive",
	.args = "SRC... -o ARCHIVE [OPTIONS]",
	.brief = "commit rows not archived before as one new version",
	.more = "SRC: rings (their sealed files), live files or plain .npy files.  "
		"Datasets are\n"
		"named {name}/%Y-%m-%d for rings (the day of each file) and {name} for "
		"files,\n"
		"where {name} is the last part of the real path without .npy.",
	.options = options,
	.min_args = 1,
	.max_args = -1,
	.run = run,
};
