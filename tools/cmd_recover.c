/* SPDX-License-Identifier: Apache-2.0 */
/* recover: bring a damaged or half-written file or ring back. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <ticktail/archive.h>
#include <ticktail/recover.h>

#include "commands.h"
#include "descr.h"
#include "json_doc.h"

static const struct cli_option options[] = {
	{ 0, "keep-cut", "FILE", "the bytes that are cut go to this new file" },
	{ 0, "dtype", "DESCR",
	  "what a row is, when no header tells: as of create, or @FILE" },
	{ 0, "align", NULL, "the short form of --dtype gets the layout of a C struct" },
	{ 0, "row-shape", "D1,D2", "extents of one row behind the first" },
	{ 0, "like", "FILE", "rows as in this file" },
	{ 0, "cut-unproven", NULL, "cut rows whose publication nothing proves" },
	{ 0, "dry-run", NULL, "say what would be done, exit 3 if there is something" },
	{ 0, "json", NULL, "one JSON document" },
	{ 0, NULL, NULL, NULL },
};

struct recover_job {
	struct cli_ctx *ctx;
	struct tt_recover_opts opts;
	struct tt_dtype *dtype; /* owned */
	uint64_t shape[TT_MAX_RANK];
	struct tt_recover_report report; /* owned */
	bool ring;
};

/* ---- What a row is ---- */

static int rows_of_file(struct recover_job *job, const char *path)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file_info info;
	struct tt_file *file;
	struct tt_error err;

	opts.plain = opts.by_pread = true;
	if (tt_file_open(&file, path, &opts, &err) < 0)
		return cli_fail_error(job->ctx, &err);
	if (tt_file_info(file, &info, &err) < 0) {
		tt_file_close(file);
		return cli_fail_error(job->ctx, &err);
	}
	job->dtype = tt_dtype_ref(info.dtype);
	job->opts.row_rank = info.row_rank;
	memcpy(job->shape, info.row_shape, info.row_rank * sizeof(*job->shape));
	tt_file_close(file);
	return 0;
}

static int rows_of_ring(struct recover_job *job, const char *path)
{
	struct tt_ring_info info;
	struct tt_error err;

	if (tt_ring_info(path, &info, &err) < 0)
		return cli_fail_error(job->ctx, &err);
	if (!info.dtype)
		return cli_fail(job->ctx, "%s: no file in it tells what a row is", path);
	job->dtype = tt_dtype_ref(info.dtype);
	job->opts.row_rank = info.row_rank;
	memcpy(job->shape, info.row_shape, info.row_rank * sizeof(*job->shape));
	tt_ring_info_free(&info);
	return 0;
}

static int read_rows(struct recover_job *job)
{
	const char *like = cli_opt_text(job->ctx, "like"),
		   *dtype = cli_opt_text(job->ctx, "dtype"),
		   *shape = cli_opt_text(job->ctx, "row-shape");
	enum tt_path_kind kind;
	struct tt_error err;
	int status = 0;

	if (like && (dtype || shape))
		return cli_usage(job->ctx,
				 "--like says what --dtype and --row-shape would");
	if (shape && !dtype)
		return cli_usage(job->ctx, "--row-shape needs --dtype");
	if (dtype)
		status = cli_descr(job->ctx, dtype, cli_opt_given(job->ctx, "align"),
				   &job->dtype);
	if (!status && shape)
		status = cli_row_shape(job->ctx, shape, &job->opts.row_rank, job->shape);
	if (like && tt_path_kind(like, &kind, &err) < 0)
		return cli_fail_error(job->ctx, &err);
	if (like)
		status = kind == TT_PATH_NPY8 ? rows_of_ring(job, like)
					      : rows_of_file(job, like);
	job->opts.dtype = job->dtype;
	job->opts.row_shape = job->shape;
	return status;
}

/* ---- The report ---- */

static const char *const did_words[] = {
	[TT_RECOVER_MENDED] = "mended",	     [TT_RECOVER_REPLACED] = "replaced",
	[TT_RECOVER_MADE] = "made",	     [TT_RECOVER_REMOVED] = "removed",
	[TT_RECOVER_LEFT] = "left as it is",
};

static void print_counts(struct cli_out *out, const struct tt_recover_item *item)
{
	cli_out_printf(out, ": kept %llu rows", (unsigned long long)item->rows_kept);
	if (item->rows_unproven)
		cli_out_printf(out, " (%llu unproven)",
			       (unsigned long long)item->rows_unproven);
	if (item->rows_lost)
		cli_out_printf(out, ", lost %llu", (unsigned long long)item->rows_lost);
	cli_out_printf(out, ", cut %llu rows, %llu bytes",
		       (unsigned long long)item->rows_cut,
		       (unsigned long long)item->bytes_cut);
}

static void print_item(const struct recover_job *job, struct cli_out *out,
		       const struct tt_recover_item *item)
{
	size_t len = strlen(item->path);
	const char *what = item->what;

	if (strncmp(what, item->path, len) == 0 && strncmp(what + len, ": ", 2) == 0)
		what += len + 2;
	cli_out_printf(out, "%s: %s%s", item->path, job->opts.dry_run ? "would be " : "",
		       did_words[item->did]);
	if (item->has_rows)
		print_counts(out, item);
	cli_out_printf(out, ": %s", what);
	if (item->aside)
		cli_out_printf(out, "; the damaged one is %s", item->aside);
	cli_out_printf(out, "\n");
}

static int print_words(const struct recover_job *job)
{
	const struct tt_recover_report *report = &job->report;
	struct cli_out out;
	int status = cli_out_open(&out, job->ctx, NULL);

	if (status)
		return status;
	for (size_t i = 0; i < report->item_count; i++)
		print_item(job, &out, &report->items[i]);
	if (report->item_count == 0)
		cli_out_printf(&out, "%s: nothing to recover, %llu rows\n",
			       job->ctx->args[0], (unsigned long long)report->rows_kept);
	else
		cli_out_printf(&out,
			       "%s: %llu rows, lost %llu, cut %llu rows, %llu bytes\n",
			       job->ctx->args[0], (unsigned long long)report->rows_kept,
			       (unsigned long long)report->rows_lost,
			       (unsigned long long)report->rows_cut,
			       (unsigned long long)report->bytes_cut);
	return cli_out_close(&out);
}

static void put_counts(cli_json *object, const struct tt_recover_item *item)
{
	cli_json_u64(object, "rows_kept", item->rows_kept);
	cli_json_u64(object, "rows_unproven", item->rows_unproven);
	cli_json_u64(object, "rows_lost", item->rows_lost);
	cli_json_u64(object, "rows_cut", item->rows_cut);
	cli_json_u64(object, "bytes_cut", item->bytes_cut);
}

static int print_json(const struct recover_job *job)
{
	const struct tt_recover_report *report = &job->report;
	cli_json *document = json_object_new_object(), *items = json_object_new_array();

	cli_json_text(document, "path", job->ctx->args[0]);
	cli_json_text(document, "kind", job->ring ? "npy8" : "npyt");
	cli_json_bool(document, "dry_run", job->opts.dry_run);
	cli_json_u64(document, "rows_kept", report->rows_kept);
	cli_json_u64(document, "rows_unproven", report->rows_unproven);
	cli_json_u64(document, "rows_lost", report->rows_lost);
	cli_json_u64(document, "rows_cut", report->rows_cut);
	cli_json_u64(document, "bytes_cut", report->bytes_cut);
	for (size_t i = 0; i < report->item_count; i++) {
		const struct tt_recover_item *item = &report->items[i];
		cli_json *object = json_object_new_object();

		cli_json_text(object, "path", item->path);
		cli_json_text(object, "did", did_words[item->did]);
		cli_json_text(object, "what", item->what);
		cli_json_text(object, "aside", item->aside);
		if (item->has_rows)
			put_counts(object, item);
		json_object_array_add(items, object);
	}
	json_object_object_add(document, "items", items);
	return cli_json_print(job->ctx, document);
}

/* ---- Which ---- */

/* Recovered by its name's kind: what lies inside may be too damaged to tell. */
static int recover(struct recover_job *job, struct tt_error *err)
{
	const char *path = job->ctx->args[0];
	enum tt_path_kind kind;
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		job->ring = true;
		return tt_ring_recover(path, &job->opts, &job->report, err);
	}
	if (tt_path_kind(path, &kind, NULL) == TT_OK && kind == TT_PATH_ARCHIVE)
		return 1;
	return tt_file_recover(path, &job->opts, &job->report, err);
}

/* An archive heals itself when it is opened: a commit that died is finished or dropped. */
static int recover_archive(struct recover_job *job)
{
	const char *path = job->ctx->args[0];
	uint64_t found = 0;
	struct tt_error err;

	if (tt_archive_verify(path, NULL, NULL, &found, &err) < 0)
		return cli_fail_error(job->ctx, &err);
	if (found > 0) {
		cli_fail(job->ctx,
			 "%s: an archive with %llu damaged places: 'ticktail verify %s' "
			 "names them, rebuild_hashtables() of versioned_hdf5 mends hash "
			 "tables",
			 path, (unsigned long long)found, path);
		return CLI_EXIT_DAMAGE;
	}
	return cli_say(job->ctx,
		       "%s: an archive, and whole: an interrupted commit is finished or "
		       "dropped by whatever opens it",
		       path);
}

static int report(const struct recover_job *job)
{
	bool json = cli_opt_given(job->ctx, "json");
	int status = json ? print_json(job) : job->ctx->quiet ? 0 : print_words(job);

	if (status)
		return status;
	if (job->report.left > 0 || (job->opts.dry_run && job->report.item_count > 0))
		return CLI_EXIT_DAMAGE;
	return 0;
}

static int run(struct cli_ctx *ctx)
{
	struct recover_job job = { .ctx = ctx, .opts = TT_RECOVER_OPTS_INIT };
	struct tt_error err;
	int status = read_rows(&job), rc = 0;

	job.opts.keep_cut = cli_opt_text(ctx, "keep-cut");
	job.opts.dry_run = cli_opt_given(ctx, "dry-run");
	job.opts.cut_unproven = cli_opt_given(ctx, "cut-unproven");
	if (!status) {
		rc = recover(&job, &err);
		if (rc == 1)
			status = recover_archive(&job);
		else if (rc < 0 && job.report.item_count == 0)
			status = cli_fail_error(ctx, &err);
		else
			status = report(&job); /* also what was done before an error */
		if (rc < 0 && job.report.item_count > 0)
			status = cli_fail_error(ctx, &err);
	}
	tt_recover_report_free(&job.report);
	tt_dtype_unref(job.dtype);
	return status;
}

const struct cli_cmd cli_cmd_recover = {
	.name = "recover",
	.args = "PATH [OPTIONS]",
	.brief = "bring a damaged or half-written file or ring back",
	.more = "Says what was kept and what was cut.  The damaged file stays beside the "
		"mended one\nas NAME.bad-N.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
