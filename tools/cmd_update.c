/* SPDX-License-Identifier: Apache-2.0 */
/* update: overwrite rows that are published already.  All of the input is read before the first
 * row changes, so that a malformed line changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "commands.h"
#include "kind.h"

static const struct cli_option options[] = {
	{ 0, "format", "F", "csv, jsonl, npy or raw" },
	{ 0, "columns", "a,b,-,c",
	  "the columns of CSV without a header line; - drops one" },
	{ 0, "force-network-fs", NULL, "write also on a network file system" },
	{ 0, NULL, NULL, NULL },
};

struct update_job {
	struct cli_ctx *ctx;
	struct tt_file *file;
	struct cli_rowtype type;
	struct cli_in in;
	char *rows;
	uint64_t count, room;
};

static int read_rows(struct update_job *job, struct cli_reader *reader)
{
	for (;;) {
		uint64_t got;
		int status;

		if (job->count == job->room) {
			uint64_t room = job->room ? 2 * job->room : 1024;
			char *grown = realloc(job->rows, (size_t)room * job->type.bytes);

			if (!grown)
				return cli_fail_memory(job->ctx);
			job->rows = grown;
			job->room = room;
		}
		status = cli_reader_next(reader, job->rows + job->count * job->type.bytes,
					 job->room - job->count, &got);
		job->count += got;
		if (status || got == 0)
			return status;
	}
}

static int read_input(struct update_job *job)
{
	struct cli_reader_opts opts = { .columns = cli_opt_text(job->ctx, "columns") };
	struct cli_reader *reader;
	int status;

	if (!cli_format_option(job->ctx, &opts.format))
		return CLI_EXIT_USAGE;
	status = cli_in_open(&job->in, job->ctx,
			     job->ctx->arg_count > 2 ? job->ctx->args[2] : NULL);
	if (status == 0)
		status = cli_reader_open(&reader, &job->in, &job->type, &opts);
	if (status)
		return status;
	status = read_rows(job, reader);
	cli_reader_close(reader);
	return status;
}

static int update(struct update_job *job, uint64_t index)
{
	uint64_t size = tt_file_size(job->file);
	struct tt_error err;

	if (index > size || job->count > size - index)
		return cli_fail(job->ctx, "%s: rows %llu to %llu: the file has %llu",
				job->ctx->args[0], (unsigned long long)index,
				(unsigned long long)(index + job->count),
				(unsigned long long)size);
	if (job->count > 0 &&
	    tt_file_update(job->file, index, job->rows, job->count, &err) < 0)
		return cli_fail_error(job->ctx, &err);
	return cli_say(job->ctx, "updated %llu rows", (unsigned long long)job->count);
}

static int open_file(struct update_job *job)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	const char *path = job->ctx->args[0];
	enum tt_path_kind kind;
	struct tt_file_info info;
	struct tt_error err;

	int status = cli_need_file(job->ctx, path, "name the file in it");

	if (status)
		return status;
	if (tt_path_kind(path, &kind, &err) < 0)
		return cli_fail_error(job->ctx, &err);
	if (kind == TT_PATH_NPY)
		return cli_fail(job->ctx,
				"%s: a plain .npy file; 'ticktail adopt %s' makes it a "
				"live file",
				path, path);
	opts.access = TT_WRITE;
	opts.in_ring = true;
	opts.force_network_fs = cli_opt_given(job->ctx, "force-network-fs");
	if (tt_file_open(&job->file, path, &opts, &err) < 0 ||
	    tt_file_info(job->file, &info, &err) < 0 ||
	    cli_rowtype_init(&job->type, info.dtype, info.row_rank, info.row_shape,
			     &err) < 0)
		return cli_fail_error(job->ctx, &err);
	return 0;
}

static int run(struct cli_ctx *ctx)
{
	struct update_job job = { .ctx = ctx };
	uint64_t index;
	int status;

	if (!cli_parse_count(ctx->args[1], &index))
		return cli_usage(ctx, "INDEX: '%s' is no row number", ctx->args[1]);
	status = open_file(&job);
	if (status == 0)
		status = read_input(&job);
	if (status == 0)
		status = update(&job, index);
	cli_in_close(&job.in);
	tt_file_close(job.file);
	cli_rowtype_fini(&job.type);
	free(job.rows);
	return status;
}

const struct cli_cmd cli_cmd_update = {
	.name = "update",
	.args = "FILE INDEX [INPUT] [OPTIONS]",
	.brief = "overwrite published rows from INDEX on",
	.more = "INDEX counts from the first published row.  Readers see the time stamp "
		"of the\n"
		"file change.",
	.options = options,
	.min_args = 2,
	.max_args = 3,
	.run = run,
};
