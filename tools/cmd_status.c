/* SPDX-License-Identifier: Apache-2.0 */
/* status: does a ring or an archive do well? */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "json_doc.h"
#include "status.h"
#include "value.h"

static const struct cli_option options[] = {
	{ 0, "json", NULL, "one JSON document" },
	{ 0, "prometheus", NULL, "metrics in the text format of Prometheus" },
	{ 0, "sample", "S", "look twice, S seconds apart, for the rate (0.2)" },
	{ 0, "max-age", "S", "exit 1 without a writer or when the last row is older" },
	{ 0, NULL, NULL, NULL },
};

struct status {
	struct cli_ctx *ctx;
	const char *path;
	char *shown; /* the path as valid text */
	bool json, metrics;
	int64_t sample_ns, max_age_ns;
};

/* Paths are bytes; a terminal and a label want text. */
static char *show_path(const char *path)
{
	size_t n = strlen(path);
	char *text = malloc(4 * n + 1);

	if (text && cli_utf8_span(path, n) == n)
		memcpy(text, path, n + 1);
	else if (text)
		text[cli_escape_bytes((const unsigned char *)path, n, text)] = '\0';
	return text;
}

/* What print writes, to stdout. */
static int put_text(const struct status *s,
		    void print(FILE *, const char *, const void *), const void *look)
{
	struct cli_out out;
	char *text = NULL;
	size_t n = 0;
	FILE *memory = open_memstream(&text, &n);
	int status;

	if (!memory)
		return cli_fail_memory(s->ctx);
	print(memory, s->shown, look);
	if (fclose(memory) != 0) {
		free(text);
		return cli_fail_memory(s->ctx);
	}
	status = cli_out_open(&out, s->ctx, NULL);
	if (status == 0) {
		cli_out_put(&out, text, n);
		status = cli_out_close(&out);
	}
	free(text);
	return status;
}

static int too_old(const struct status *s, const char *what, int64_t age_ns)
{
	if (s->max_age_ns < 0 || (age_ns != TT_UNKNOWN_NS && age_ns <= s->max_age_ns))
		return 0;
	if (age_ns == TT_UNKNOWN_NS)
		return cli_fail(s->ctx, "%s: how old its %s is is not known", s->shown,
				what);
	return cli_fail(s->ctx, "%s: its %s is %s old, more than %s", s->shown, what,
			cli_human_ns(age_ns), cli_human_ns(s->max_age_ns));
}

/* ---- a ring ---- */

static void ring_text(FILE *out, const char *path, const void *look)
{
	cli_ring_text(out, path, look);
}

static void ring_metrics(FILE *out, const char *path, const void *look)
{
	cli_ring_metrics(out, path, look);
}

static int look_at_ring(const struct status *s, struct cli_ring_look *look)
{
	const struct timespec pause = { s->sample_ns / 1000000000,
					s->sample_ns % 1000000000 };
	struct tt_ring_status first;
	struct tt_error err;

	if (tt_ring_status(s->path, &first, &err) < 0)
		return cli_fail_error(s->ctx, &err);
	/* without a writer nothing comes; who scrapes metrics counts himself */
	if (s->sample_ns == 0 || s->metrics || first.writer == TT_WRITER_NONE) {
		look->now = first;
		look->rows_per_s = look->bytes_per_s =
			first.writer == TT_WRITER_NONE ? 0 : NAN;
		return 0;
	}
	nanosleep(&pause, NULL);
	if (tt_ring_status(s->path, &look->now, &err) < 0) {
		tt_ring_status_free(&first);
		return cli_fail_error(s->ctx, &err);
	}
	cli_look_rates(look, &first);
	tt_ring_status_free(&first);
	return 0;
}

/* What makes the exit status, said after the document. */
static int judge_ring(const struct status *s, const struct tt_ring_status *now)
{
	for (size_t i = 0; i < now->damage_count; i++)
		cli_fail(s->ctx, "%s/%s: %s", s->shown, now->damage[i].file_name,
			 now->damage[i].text);
	if (now->damage_count > 0)
		return CLI_EXIT_DAMAGE;
	if (s->max_age_ns >= 0 && now->writer == TT_WRITER_NONE)
		return cli_fail(s->ctx, "%s: no process writes it", s->shown);
	return too_old(s, "last row", cli_age_ns(now->now_ns, now->last_write_ns));
}

static int ring_status(const struct status *s)
{
	struct cli_ring_look look;
	int status = look_at_ring(s, &look);

	if (status)
		return status;
	if (s->json)
		status = cli_ring_json(s->ctx, &look);
	else
		status = put_text(s, s->metrics ? ring_metrics : ring_text, &look);
	if (status == 0)
		status = judge_ring(s, &look.now);
	tt_ring_status_free(&look.now);
	return status;
}

/* ---- an archive ---- */

static void archive_text(FILE *out, const char *path, const void *look)
{
	cli_archive_text(out, path, look);
}

static void archive_metrics(FILE *out, const char *path, const void *look)
{
	cli_archive_metrics(out, path, look);
}

static int64_t parse_version_time(const char *stored)
{
	char text[64];
	size_t len = strlen(stored);
	int64_t ns;

	if (len < 20 || len >= sizeof(text) || strcmp(stored + len - 5, "+0000") != 0)
		return TT_UNKNOWN_NS;
	memcpy(text, stored, len - 5);
	return tt_time_parse(text, len - 5, TT_UNIT_ns, 1, TT_TIME_EXACT, &ns) == TT_OK
		       ? ns
		       : TT_UNKNOWN_NS;
}

static int count_datasets(struct tt_archive *archive, size_t version,
			  struct cli_archive_look *look, struct tt_error *err)
{
	char **names;
	size_t count;
	int rc = tt_archive_datasets(archive, version, &names, &count, err);

	if (rc < 0)
		return rc;
	look->datasets = count;
	tt_archive_free_names(names, count);
	return TT_OK;
}

static int note_versions(struct tt_archive *archive, struct cli_archive_look *look,
			 struct tt_error *err)
{
	size_t count = tt_archive_version_count(archive);

	look->opened = true;
	look->versions = count;
	snprintf(look->notes, sizeof(look->notes), "%s", tt_archive_notes(archive));
	for (size_t i = 0; i < count; i++) {
		const struct tt_archive_version *version = tt_archive_version(archive, i);

		if (!version->current)
			continue;
		snprintf(look->current, sizeof(look->current), "%s", version->name);
		if (version->timestamp)
			look->current_ns = parse_version_time(version->timestamp);
		return version->committed ? count_datasets(archive, i, look, err) : TT_OK;
	}
	return TT_OK;
}

static int look_at_archive(const struct status *s, struct cli_archive_look *look)
{
	struct tt_archive_open_opts opts = TT_ARCHIVE_OPEN_OPTS_INIT;
	struct tt_archive *archive;
	struct timespec now;
	struct tt_error err;
	int rc;

	*look = (struct cli_archive_look){ .current_ns = TT_UNKNOWN_NS };
	clock_gettime(CLOCK_REALTIME, &now);
	look->now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	if (tt_archive_look(s->path, &look->state, &err) < 0)
		return cli_fail_error(s->ctx, &err);
	opts.apply_wait_ns = 0;
	opts.force_network_fs = true; /* to look is safe anywhere */
	rc = tt_archive_open(&archive, s->path, &opts, &err);
	if (rc == TT_E_BUSY) { /* a commit runs: that is a state too */
		look->state.writing = true;
		return 0;
	}
	if (rc < 0)
		return cli_fail_error(s->ctx, &err);
	rc = note_versions(archive, look, &err);
	tt_archive_close(archive);
	return rc < 0 ? cli_fail_error(s->ctx, &err) : 0;
}

static int archive_status(const struct status *s)
{
	struct cli_archive_look look;
	int status = look_at_archive(s, &look);

	if (status)
		return status;
	if (s->json)
		status = cli_archive_json(s->ctx, &look);
	else
		status = put_text(s, s->metrics ? archive_metrics : archive_text, &look);
	if (status == 0 && look.state.journal == TT_JOURNAL_DAMAGED) {
		cli_fail(s->ctx, "%s: its journal is damaged", s->shown);
		return CLI_EXIT_DAMAGE;
	}
	return status ? status
		      : too_old(s, "current version",
				cli_age_ns(look.now_ns, look.current_ns));
}

static int run(struct cli_ctx *ctx)
{
	struct status s = { .ctx = ctx,
			    .path = ctx->args[0],
			    .json = cli_opt_given(ctx, "json"),
			    .metrics = cli_opt_given(ctx, "prometheus"),
			    .sample_ns = 200000000,
			    .max_age_ns = -1 };
	enum tt_path_kind kind;
	struct tt_error err;
	int status;

	if (s.json && s.metrics)
		return cli_usage(ctx, "--json or --prometheus, not both");
	if (!cli_opt_seconds(ctx, "sample", &s.sample_ns) ||
	    !cli_opt_seconds(ctx, "max-age", &s.max_age_ns))
		return CLI_EXIT_USAGE;
	if (tt_path_kind(s.path, &kind, &err) < 0)
		return cli_fail_error(ctx, &err);
	if (kind != TT_PATH_NPY8 && kind != TT_PATH_ARCHIVE)
		return cli_fail(ctx,
				"%s: is a single file; 'ticktail info' tells what there "
				"is to tell",
				s.path);
	s.shown = show_path(s.path);
	if (!s.shown)
		return cli_fail_memory(ctx);
	status = kind == TT_PATH_NPY8 ? ring_status(&s) : archive_status(&s);
	free(s.shown);
	return status;
}

const struct cli_cmd cli_cmd_status = {
	.name = "status",
	.args = "DIR|ARCHIVE [OPTIONS]",
	.brief = "say whether a ring or an archive does well",
	.more = "Needs read permission only.  Exit status 3: damage; 1 with --max-age: a "
		"stream\nthat stopped.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
