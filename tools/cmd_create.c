/* SPDX-License-Identifier: Apache-2.0 */
/* create: a live file, or with --rolling a ring. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <ticktail/archive.h>
#include <ticktail/npy.h>

#include "commands.h"
#include "descr.h"
#include "live_opts.h"

static const struct cli_option options[] = {
	{ 0, "dtype", "DESCR",
	  "element type: <f8, ts:i8,px:f8,bid:f8[10], a NumPy descr, @FILE" },
	{ 0, "align", NULL, "the short form gets the layout of a C struct" },
	{ 0, "capacity", "ROWS", "rows that are reserved (of a ring: in each file)" },
	{ 0, "row-shape", "D1,D2", "extents of one row behind the first" },
	{ 0, "exact", NULL,
	  "keep the capacity although its tail may cross a cache line" },
	{ 0, "if-same", NULL, "an equal file that exists is fine" },
	{ 0, "tail", "WORDS", "5, or 4 as npyt 0.3 reads it" },
	{ 0, "rolling", NULL, "make a ring: a directory of files that never ends" },
	{ 0, "keep", "N", "files in the queue, at least 2" },
	{ 0, "roll-at", "HH:MM|none", "start a new file at this time of day (UTC)" },
	{ 0, "keep-batches-whole", NULL, "a batch that does not fit starts a new file" },
	{ 0, "no-keep-batches-whole", NULL, "with --set: batches are split again" },
	{ 0, "max-bytes", "N",
	  "each new file removes old ones out of the queue beyond this; 0: no "
	  "limit" },
	{ 0, "sync", "none|MS|each", "when rows are made durable" },
	{ 0, "set", NULL, "change a ring that exists; what is not given stays as it is" },
	{ 0, "force-network-fs", NULL, "write also on a network file system" },
	{ 0, NULL, NULL, NULL },
};

/* Options that only one of the two kinds has. */
static int check_kind(const struct cli_ctx *ctx, bool rolling)
{
	static const char *const ring_only[] = { "keep",
						 "roll-at",
						 "keep-batches-whole",
						 "no-keep-batches-whole",
						 "max-bytes",
						 "sync",
						 "set",
						 "force-network-fs" };
	static const char *const file_only[] = { "if-same", "tail" };

	for (size_t i = 0; !rolling && i < CLI_LEN(ring_only); i++)
		if (cli_opt_given(ctx, ring_only[i]))
			return cli_usage(ctx, "--%s needs --rolling", ring_only[i]);
	for (size_t i = 0; rolling && i < CLI_LEN(file_only); i++)
		if (cli_opt_given(ctx, file_only[i]))
			return cli_usage(ctx, "--%s is not for rings", file_only[i]);
	return 0;
}

static void warn_about(const struct cli_ctx *ctx, const struct tt_dtype *dtype,
		       uint32_t rank, const uint64_t *row_shape)
{
	uint64_t shape[TT_MAX_RANK] = { 0 };
	struct tt_error err;
	void *header;
	size_t len;

	if (rank + 1 <= TT_MAX_RANK) {
		if (rank > 0)
			memcpy(shape + 1, row_shape, rank * sizeof(*shape));
		if (tt_npy_header_format(&header, &len, dtype, rank + 1, shape, &err) ==
		    TT_OK) {
			if (len > 10000)
				cli_note(ctx,
					 "warning: the header is %zu bytes long: np.load "
					 "will need max_header_size=%zu",
					 len, len);
			free(header);
		}
	}
	if (tt_archive_accepts(dtype, &err) < 0)
		cli_note(ctx, "warning: %s", err.text);
}

static int create_file(const struct cli_ctx *ctx, const char *path,
		       const struct tt_dtype *dtype, struct tt_file_create_opts *opts)
{
	static const char *const words[] = { "4", "5", NULL };
	int tail = 1;
	struct tt_error err;

	if (!cli_opt_choice(ctx, "tail", words, &tail))
		return CLI_EXIT_USAGE;
	opts->tail_words = (uint32_t)tail + 4;
	opts->if_same = cli_opt_given(ctx, "if-same");
	if (tt_file_create(path, dtype, opts, &err) == TT_OK)
		return 0;
	if (err.code == -EEXIST && !opts->if_same)
		return cli_fail(ctx, "%s; --if-same accepts a live file of this type",
				err.text);
	return cli_fail_error(ctx, &err);
}

static int parse_roll_at(const struct cli_ctx *ctx, int32_t *out)
{
	const char *text = cli_opt_text(ctx, "roll-at");

	if (!text)
		return 0;
	if (strcmp(text, "none") == 0) {
		*out = -1;
		return 0;
	}
	if (strlen(text) == 5 && text[2] == ':' && strspn(text, "0123456789:") == 5 &&
	    strchr(text, ':') == text + 2 && strchr(text + 3, ':') == NULL) {
		int hour = (text[0] - '0') * 10 + text[1] - '0';
		int minute = (text[3] - '0') * 10 + text[4] - '0';

		if (hour < 24 && minute < 60) {
			*out = hour * 3600 + minute * 60;
			return 0;
		}
	}
	return cli_usage(ctx, "--roll-at: '%s' is neither a time of day HH:MM nor none",
			 text);
}

/* Options that are given, over what is in opts. */
static int ring_options(const struct cli_ctx *ctx, struct tt_ring_opts *opts)
{
	int status = parse_roll_at(ctx, &opts->roll_at_s);

	if (status)
		return status;
	if (!cli_opt_count(ctx, "keep", &opts->keep) ||
	    !cli_opt_count(ctx, "max-bytes", &opts->max_bytes) ||
	    !cli_opt_sync(ctx, &opts->sync_ms))
		return CLI_EXIT_USAGE;
	if (cli_opt_given(ctx, "keep-batches-whole") &&
	    cli_opt_given(ctx, "no-keep-batches-whole"))
		return cli_usage(ctx, "--keep-batches-whole or --no-keep-batches-whole, "
				      "not both");
	if (cli_opt_given(ctx, "keep-batches-whole") ||
	    cli_opt_given(ctx, "no-keep-batches-whole"))
		opts->batches_whole = cli_opt_given(ctx, "keep-batches-whole");
	if (cli_opt_given(ctx, "exact"))
		opts->exact = true;
	opts->force_network_fs = cli_opt_given(ctx, "force-network-fs");
	if (opts->keep < 2)
		return cli_usage(ctx, "--keep: a ring keeps at least 2 files");
	return 0;
}

static int create_ring(const struct cli_ctx *ctx, const char *path,
		       const struct tt_dtype *dtype,
		       const struct tt_file_create_opts *file)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_error err;
	int status;

	if (!cli_opt_given(ctx, "keep"))
		return cli_usage(ctx, "--rolling needs --keep N");
	status = ring_options(ctx, &opts);
	if (status)
		return status;
	opts.capacity = file->capacity;
	opts.row_rank = file->row_rank;
	opts.row_shape = file->row_shape;
	if (tt_ring_create(path, dtype, &opts, &err) == TT_OK)
		return 0;
	if (err.code == -EEXIST)
		return cli_fail(ctx,
				"%s; --set changes a ring that is there, a new one "
				"needs another path",
				err.text);
	return cli_fail_error(ctx, &err);
}

static int set_ring(const struct cli_ctx *ctx, const char *path)
{
	struct tt_ring_info info;
	struct tt_error err;
	int status = 0;

	if (tt_ring_info(path, &info, &err) < 0)
		return cli_fail_error(ctx, &err);
	if (!info.dtype)
		status = cli_fail(ctx, "%s: has no file yet, and so no dtype", path);
	if (status == 0 && cli_opt_text(ctx, "dtype")) {
		struct tt_dtype *dtype;

		status = cli_descr(ctx, cli_opt_text(ctx, "dtype"),
				   cli_opt_given(ctx, "align"), &dtype);
		if (status == 0 && !tt_dtype_equal(dtype, info.dtype))
			status = cli_fail(
				ctx,
				"%s: has dtype %s, not %s; a ring's type is for "
				"ever",
				path, tt_dtype_descr(info.dtype), tt_dtype_descr(dtype));
		tt_dtype_unref(dtype);
	}
	info.opts.struct_size = sizeof(info.opts);
	info.opts.capacity = info.capacity;
	info.opts.keep = info.keep;
	info.opts.row_rank = info.row_rank;
	info.opts.row_shape = info.row_shape;
	if (status == 0 && !cli_opt_count(ctx, "capacity", &info.opts.capacity))
		status = CLI_EXIT_USAGE;
	if (status == 0 && info.opts.capacity == 0)
		status = cli_usage(ctx, "--capacity: 0 rows are no file");
	if (status == 0)
		status = ring_options(ctx, &info.opts);
	if (status == 0 && tt_ring_set(path, &info.opts, &err) < 0)
		status = cli_fail_error(ctx, &err);
	tt_ring_info_free(&info);
	return status;
}

static int create(struct cli_ctx *ctx, bool rolling, struct tt_file_create_opts *opts,
		  const struct tt_dtype *dtype)
{
	int status = rolling ? create_ring(ctx, ctx->args[0], dtype, opts)
			     : create_file(ctx, ctx->args[0], dtype, opts);

	if (status == 0)
		warn_about(ctx, dtype, opts->row_rank, opts->row_shape);
	return status;
}

static int run(struct cli_ctx *ctx)
{
	bool rolling = cli_opt_given(ctx, "rolling");
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	uint64_t shape[TT_MAX_RANK];
	struct tt_dtype *dtype;
	int status = check_kind(ctx, rolling);

	if (status)
		return status;
	if (rolling && cli_opt_given(ctx, "set"))
		return set_ring(ctx, ctx->args[0]);
	if (!cli_opt_text(ctx, "dtype") || !cli_opt_text(ctx, "capacity"))
		return cli_usage(ctx, "--dtype and --capacity are needed");
	if (!cli_opt_count(ctx, "capacity", &opts.capacity))
		return CLI_EXIT_USAGE;
	if (opts.capacity == 0)
		return cli_usage(ctx, "--capacity: 0 rows are no file");
	if (cli_opt_text(ctx, "row-shape"))
		status = cli_row_shape(ctx, cli_opt_text(ctx, "row-shape"),
				       &opts.row_rank, shape);
	opts.row_shape = shape;
	opts.exact = cli_opt_given(ctx, "exact");
	if (status == 0)
		status = cli_descr(ctx, cli_opt_text(ctx, "dtype"),
				   cli_opt_given(ctx, "align"), &dtype);
	if (status)
		return status;
	status = create(ctx, rolling, &opts, dtype);
	tt_dtype_unref(dtype);
	return status;
}

const struct cli_cmd cli_cmd_create = {
	.name = "create",
	.args = "FILE|DIR --dtype DESCR --capacity ROWS [OPTIONS]",
	.brief = "make a live file, or a ring of them",
	.more = "The capacity is rounded up until the file's tail lies in one cache "
		"line.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
