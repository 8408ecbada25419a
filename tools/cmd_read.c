/* SPDX-License-Identifier: Apache-2.0 */
/* read: rows of a file, a ring or an archive's version.
 *
 * --slice counts rows of the source; --head and --tail count rows of the time range, where one
 * is given.  Rows flow source -> range and step -> fields -> format, a batch at a time. */
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "commands.h"
#include "progress.h"
#include "range.h"
#include "signals.h"
#include "source.h"

static const struct cli_option options[] = {
	{ 0, "slice", "A:B[:S]",
	  "rows A up to B, every S-th; negative ones count from the end" },
	{ 0, "head", "N", "the first N rows" },
	{ 0, "tail", "N", "the last N rows" },
	{ 0, "from", "T", "rows from time T on (RFC 3339, or an integer as stored)" },
	{ 0, "to", "T", "rows before time T" },
	{ 0, "time-field", "F", "the field that --from and --to mean" },
	{ 0, "fields", "a,b", "only these fields, in this order" },
	{ 0, "format", "F", "csv, jsonl, npy or raw" },
	{ 0, "queued", NULL, "of a ring only the files in the queue" },
	{ 0, "version", "V", "of an archive this version" },
	{ 0, "as-of", "T", "of an archive the version that was the latest at T" },
	{ 'o', "output", "FILE", "write to FILE, which appears whole or not at all" },
	{ 0, NULL, NULL, NULL },
};

struct read_job {
	const struct cli_ctx *ctx;
	struct cli_source *source;
	const struct cli_rowtype *type; /* that the parts below were made for */
	unsigned serial;		/* of the source's type then */
	struct cli_range range;
	bool has_range;
	struct cli_pick pick;
	bool has_pick;
	uint64_t first, last, step; /* rows of the source */
	uint64_t skip, limit;	    /* of those in the range */
	char *kept, *picked;	    /* one batch each */
	uint64_t kept_rows;
	enum cli_format format;
};

/* ---- Which rows ---- */

static bool slice_number(const char *text, size_t len, int64_t missing, int64_t *out)
{
	*out = missing;
	return len == 0 || cli_parse_signed(text, len, out);
}

static uint64_t clamp(int64_t place, uint64_t total)
{
	if (place >= 0)
		return (uint64_t)place < total ? (uint64_t)place : total;
	return (uint64_t) - (place + 1) + 1 > total
		       ? 0
		       : total - ((uint64_t) - (place + 1) + 1);
}

static int parse_slice(struct read_job *job, const char *text)
{
	const char *second = strchr(text, ':');
	const char *third = second ? strchr(second + 1, ':') : NULL;
	const char *end = text + strlen(text);
	int64_t a, b, s = 1;

	if (!second || !slice_number(text, (size_t)(second - text), 0, &a) ||
	    !slice_number(second + 1, (size_t)((third ? third : end) - second - 1),
			  INT64_MAX, &b) ||
	    (third && !slice_number(third + 1, (size_t)(end - third - 1), 1, &s)))
		return cli_usage(job->ctx,
				 "--slice: '%s' is not of the form A:B or A:B:S", text);
	if (s < 1)
		return cli_usage(job->ctx, "--slice: the step of '%s' is not at least 1",
				 text);
	job->first = clamp(a, job->source->total);
	job->last = clamp(b, job->source->total);
	job->step = (uint64_t)s;
	return 0;
}

static uint64_t slice_count(const struct read_job *job)
{
	return job->first < job->last ? (job->last - job->first - 1) / job->step + 1 : 0;
}

/* ---- One batch ---- */

/* What depends on the type of the rows: made anew where a dataset differs from the one before. */
static int set_type(struct read_job *job)
{
	const char *fields = cli_opt_text(job->ctx, "fields");
	struct tt_error err;
	int status;

	status = cli_range_init(&job->range, job->ctx, job->source->type->row,
				&job->has_range);
	if (status)
		return status;
	cli_pick_fini(&job->pick);
	if (fields && cli_pick_init(&job->pick, job->source->type, fields, &err) < 0)
		return cli_fail(job->ctx, "%s: %s", job->source->path, err.text);
	job->has_pick = fields != NULL;
	job->type = job->source->type;
	job->serial = job->source->serial;
	if (job->source->batch_rows >
	    job->kept_rows) /* a batch may be at hand: never less */
		job->kept_rows = job->source->batch_rows;
	free(job->kept);
	free(job->picked);
	job->kept = malloc((size_t)job->kept_rows * job->type->bytes);
	job->picked = job->has_pick
			      ? malloc((size_t)job->kept_rows * job->pick.type.bytes)
			      : NULL;
	return job->kept && (job->picked || !job->has_pick) ? 0
							    : cli_fail_memory(job->ctx);
}

static const struct cli_rowtype *out_type(const struct read_job *job)
{
	return job->has_pick ? &job->pick.type : job->source->type;
}

static int write_rows(struct read_job *job, struct cli_writer *writer, const void *rows,
		      uint64_t count)
{
	if (count > job->limit)
		count = job->limit;
	job->limit -= count;
	if (!job->has_pick)
		return cli_writer_put(writer, rows, count);
	cli_pick_rows(&job->pick, rows, job->type->bytes, (size_t)count, job->picked);
	return cli_writer_put(writer, job->picked, count);
}

/* Rows of one batch that are wanted, side by side in job->kept; *from is the first row of the
 * batch to look at and becomes the first of the next one. */
static uint64_t keep_rows(struct read_job *job, const char *rows, uint64_t count,
			  uint64_t *from)
{
	size_t bytes = job->type->bytes;
	uint64_t kept = 0, at = *from;

	for (; at < count; at += job->step) {
		const char *row = rows + (size_t)at * bytes;

		if (job->has_range && !cli_range_holds(&job->range, row))
			continue;
		if (job->skip > 0) {
			job->skip--;
			continue;
		}
		memcpy(job->kept + (size_t)kept++ * bytes, row, bytes);
	}
	*from = at - count;
	return kept;
}

/* A writer of NULL only counts into *matches. */
static int walk(struct read_job *job, struct cli_writer *writer, uint64_t *matches)
{
	struct cli_progress progress;
	uint64_t from = 0, at = job->first;
	bool whole = job->step == 1;
	int status = 0;

	cli_progress_init(&progress, job->ctx, slice_count(job), "rows");
	while (at < job->last && job->limit > 0 && status == 0) {
		const void *rows;
		uint64_t most = job->last - at, count, kept;

		if (most > job->kept_rows)
			most = job->kept_rows;
		status = cli_source_get(job->source, at, most, &rows, &count);
		if (status == 0 && job->source->serial != job->serial)
			status = set_type(job);
		if (status)
			break;
		if (cli_signals_seen())
			status = CLI_EXIT_FAILED; /* a file half written is taken away */
		at += count;
		if (status)
			break;
		if (whole && !job->has_range) {
			status = write_rows(job, writer, rows, count);
		} else {
			kept = keep_rows(job, rows, count, &from);
			*matches += kept;
			if (writer)
				status = write_rows(job, writer, job->kept, kept);
		}
		cli_progress_show(&progress, (at - job->first) / job->step);
	}
	cli_progress_end(&progress, (at - job->first) / job->step);
	return status;
}

/* ---- The command ---- */

static int check_options(struct read_job *job)
{
	const struct cli_ctx *ctx = job->ctx;

	if (cli_opt_given(ctx, "slice") + cli_opt_given(ctx, "head") +
		    cli_opt_given(ctx, "tail") >
	    1)
		return cli_usage(ctx, "--slice, --head and --tail exclude each other");
	return cli_format_option(ctx, &job->format) ? 0 : CLI_EXIT_USAGE;
}

/* The last N of a range are found by counting it first. */
static int choose_rows(struct read_job *job)
{
	const struct cli_ctx *ctx = job->ctx;
	uint64_t head = UINT64_MAX, tail = UINT64_MAX, matches = 0;
	int status;

	job->last = job->source->total;
	job->step = 1;
	job->limit = UINT64_MAX;
	if (!cli_opt_count(ctx, "head", &head) || !cli_opt_count(ctx, "tail", &tail))
		return CLI_EXIT_USAGE;
	if (cli_opt_text(ctx, "slice"))
		return parse_slice(job, cli_opt_text(ctx, "slice"));
	job->limit = head;
	if (!job->has_range) {
		if (head < job->last)
			job->last = head;
		if (tail < job->last)
			job->first = job->last - tail;
		return 0;
	}
	if (tail == UINT64_MAX)
		return 0;
	status = walk(job, NULL, &matches);
	job->skip = matches > tail ? matches - tail : 0;
	return status;
}

static int write_all(struct read_job *job, struct cli_out *out)
{
	struct cli_writer writer;
	uint64_t total = job->has_range ? CLI_ROWS_UNKNOWN : slice_count(job),
		 matches = 0;
	struct cli_rowtype type = { 0 };
	struct tt_error err;
	int status;

	/* a copy: the parts that follow make their own */
	if (cli_rowtype_init(&type, out_type(job)->dtype, out_type(job)->rank,
			     out_type(job)->shape, &err) < 0)
		return cli_fail_error(job->ctx, &err);
	status = cli_writer_open(&writer, out, &type, job->format, total);
	if (status == 0)
		status = walk(job, &writer, &matches);
	if (status == 0)
		status = cli_writer_end(&writer);
	cli_writer_close(&writer);
	cli_rowtype_fini(&type);
	return status;
}

static int read_to(struct read_job *job)
{
	struct cli_out out;
	int status = set_type(job);

	if (status == 0)
		status = choose_rows(job);
	if (status == 0)
		status = cli_out_open(&out, job->ctx, cli_opt_text(job->ctx, "output"));
	if (status)
		return status;
	if (out.tmp)
		cli_signals_catch();
	status = write_all(job, &out);
	if (status == 0)
		return cli_out_close(&out);
	/* rows before a failure are given where they are seen as they come */
	if (!out.tmp)
		cli_out_flush(&out);
	cli_out_abort(&out);
	return status;
}

static int run(struct cli_ctx *ctx)
{
	struct read_job job = { .ctx = ctx };
	struct cli_source_opts opts = {
		.dataset = ctx->arg_count > 1 ? ctx->args[1] : NULL,
		.version = cli_opt_text(ctx, "version"),
		.as_of = cli_opt_text(ctx, "as-of"),
		.queued = cli_opt_given(ctx, "queued"),
		.fields = cli_opt_text(ctx, "fields"),
	};
	int status = check_options(&job);

	if (status == 0)
		status = cli_source_open(&job.source, ctx, ctx->args[0], &opts);
	if (status == 0)
		status = read_to(&job);
	cli_pick_fini(&job.pick);
	free(job.kept);
	free(job.picked);
	cli_source_close(job.source);
	cli_signals_die();
	return status;
}

const struct cli_cmd cli_cmd_read = {
	.name = "read",
	.args = "PATH [DATASET] [OPTIONS]",
	.brief = "print rows of a file, a ring or an archive",
	.more = "DATASET may be a prefix (trades/) or a glob: all days in the order of "
		"their "
		"names.\n--head and --tail count rows of the time range, where one is "
		"given.",
	.options = options,
	.min_args = 1,
	.max_args = 2,
	.run = run,
};
