/* SPDX-License-Identifier: Apache-2.0 */
/* verify: every invariant of a file, ring or archive, and every digest of an archive. */
#include <string.h>
#include <ticktail/archive.h>

#include "commands.h"
#include "json_doc.h"

static const struct cli_option options[] = {
	{ 0, "json", NULL, "one JSON document" },
	{ 0, NULL, NULL, NULL },
};

struct verify_job {
	const struct cli_ctx *ctx;
	cli_json *damage;   /* with --json */
	struct cli_out out; /* without */
};

/* The path is told already. */
static const char *words_behind(const char *path, const char *what)
{
	size_t len = strlen(path);

	return strncmp(what, path, len) == 0 && strncmp(what + len, ": ", 2) == 0
		       ? what + len + 2
		       : what;
}

static void on_damage(void *arg, const struct tt_damage *damage)
{
	struct verify_job *job = arg;
	const char *path = damage->path ? damage->path : job->ctx->args[0];
	const char *what = words_behind(path, damage->what);
	cli_json *object;

	if (!job->damage) {
		cli_out_printf(&job->out, "%s", path);
		if (damage->version)
			cli_out_printf(&job->out, ": version %s", damage->version);
		if (damage->dataset)
			cli_out_printf(&job->out, ": dataset %s", damage->dataset);
		if (damage->chunk >= 0)
			cli_out_printf(&job->out, ": chunk %lld",
				       (long long)damage->chunk);
		if (damage->row >= 0)
			cli_out_printf(&job->out, ": rows %lld to %lld",
				       (long long)damage->row,
				       (long long)(damage->row + damage->row_count));
		cli_out_printf(&job->out, ": %s\n", what);
		return;
	}
	object = json_object_new_object();
	cli_json_text(object, "path", damage->path);
	cli_json_text(object, "version", damage->version);
	cli_json_text(object, "dataset", damage->dataset);
	if (damage->chunk >= 0)
		cli_json_i64(object, "chunk", damage->chunk);
	else
		cli_json_null(object, "chunk");
	if (damage->row >= 0) {
		uint64_t rows[2] = { (uint64_t)damage->row,
				     (uint64_t)(damage->row + damage->row_count) };

		cli_json_shape(object, "rows", rows, 2);
	} else {
		cli_json_null(object, "rows");
	}
	cli_json_text(object, "what", what);
	json_object_array_add(job->damage, object);
}

/* A path that cannot even be recognised because it is damaged is damage found, too. */
static int check(struct verify_job *job, uint64_t *found, struct tt_error *err)
{
	const char *path = job->ctx->args[0];
	enum tt_path_kind kind;
	int rc = tt_path_kind(path, &kind, err);

	if (rc == TT_OK && kind == TT_PATH_NPY8)
		rc = tt_ring_verify(path, on_damage, job, found, err);
	else if (rc == TT_OK && kind == TT_PATH_ARCHIVE)
		rc = tt_archive_verify(path, on_damage, job, found, err);
	else if (rc == TT_OK)
		rc = tt_file_verify(path, on_damage, job, found, err);
	if (rc == TT_E_DAMAGED) {
		struct tt_damage damage = {
			.path = path, .chunk = -1, .row = -1, .what = err->text
		};

		on_damage(job, &damage);
		++*found;
		rc = TT_OK;
	}
	return rc;
}

static int run(struct cli_ctx *ctx)
{
	bool json = cli_opt_given(ctx, "json");
	struct verify_job job = { .ctx = ctx };
	uint64_t found = 0;
	struct tt_error err;
	int rc, status;

	if (json)
		job.damage = json_object_new_array();
	else if ((status = cli_out_open(&job.out, ctx, NULL)))
		return status;
	rc = check(&job, &found, &err);
	if (json && rc == TT_OK) {
		cli_json *document = json_object_new_object();

		cli_json_bool(document, "ok", found == 0);
		json_object_object_add(document, "damage", job.damage);
		status = cli_json_print(ctx, document);
	} else if (json) {
		json_object_put(job.damage);
		status = 0;
	} else {
		if (rc == TT_OK && found == 0 && !ctx->quiet)
			cli_out_printf(&job.out, "%s: ok\n", ctx->args[0]);
		status = cli_out_close(&job.out);
	}
	if (rc < 0)
		return cli_fail_error(ctx, &err);
	if (found > 0)
		return CLI_EXIT_DAMAGE;
	return status;
}

const struct cli_cmd cli_cmd_verify = {
	.name = "verify",
	.args = "PATH [OPTIONS]",
	.brief = "check every invariant, and every digest of an archive",
	.more = "Exit status 3 when damage is found; each line says where and what.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
