/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of datasets: one, or all that a prefix or a glob names, in the order of their names.
 * Only one is open at a time; that all of them give rows of one type is checked before the
 * first row. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <ticktail/archive.h>

#include "source.h"

struct part {
	char *name;
	uint64_t before, rows;
};

struct archive_source {
	struct cli_source head;
	struct tt_archive *archive;
	size_t version;
	struct part *parts;
	size_t part_count;
	struct tt_dataset *dataset; /* of parts[at] */
	size_t at;
	struct cli_rowtype type; /* of parts[at] */
	uint64_t chunk_rows;
	char *buf;
	size_t buf_bytes;
};

static const char *version_name(const struct archive_source *a)
{
	return tt_archive_version(a->archive, a->version)->name;
}

/* ---- Which version, which datasets ---- */

static int find_version(struct archive_source *a, const struct cli_source_opts *opts)
{
	const struct cli_ctx *ctx = a->head.ctx;
	struct tt_error err;
	int64_t t_ns;
	int rc;

	if (opts->as_of) {
		size_t len = strlen(opts->as_of);

		if (opts->version)
			return cli_usage(ctx, "--version and --as-of exclude each other");
		if (!cli_parse_signed(opts->as_of, len, &t_ns) &&
		    tt_time_parse(opts->as_of, len, TT_UNIT_ns, 1, TT_TIME_ROUND_DOWN,
				  &t_ns) < 0)
			return cli_usage(ctx,
					 "--as-of: '%s' is no time (RFC 3339, or integer "
					 "nanoseconds)",
					 opts->as_of);
		rc = tt_archive_version_as_of(a->archive, t_ns, &a->version, &err);
	} else {
		rc = tt_archive_find_version(a->archive, opts->version, &a->version,
					     &err);
	}
	return rc < 0 ? cli_fail_error(ctx, &err) : 0;
}

enum match { EXACT, GLOB, FOLDER, PREFIX };

static bool name_matches(const char *name, const char *wanted, enum match how)
{
	size_t len = strlen(wanted);

	switch (how) {
	case EXACT: return strcmp(name, wanted) == 0;
	case GLOB: return strpbrk(wanted, "*?[") && fnmatch(wanted, name, 0) == 0;
	case FOLDER: /* "trades" means trades/..., not trades2/... */
		return strncmp(name, wanted, len) == 0 &&
		       (name[len] == '/' || (len > 0 && wanted[len - 1] == '/'));
	default: return strncmp(name, wanted, len) == 0;
	}
}

static int choose_parts(struct archive_source *a, const char *wanted)
{
	struct tt_error err;
	char **names;
	size_t count;

	if (tt_archive_datasets(a->archive, a->version, &names, &count, &err) < 0)
		return cli_fail_error(a->head.ctx, &err);
	a->parts = calloc(count + 1, sizeof(*a->parts));
	for (enum match how = EXACT; how <= PREFIX && a->parts && a->part_count == 0;
	     how++)
		for (size_t i = 0; i < count; i++)
			if (name_matches(names[i], wanted, how)) {
				a->parts[a->part_count].name = names[i];
				a->part_count++;
				names[i] = NULL;
			}
	tt_archive_free_names(names, count);
	if (!a->parts)
		return cli_fail_memory(a->head.ctx);
	if (a->part_count == 0)
		return cli_fail(a->head.ctx, "%s: no dataset '%s' in version %s",
				a->head.path, wanted, version_name(a));
	return 0;
}

/* ---- Types and sizes ---- */

static int open_part(struct archive_source *a, size_t at)
{
	const struct tt_dataset_info *info;
	struct tt_error err;
	uint64_t batch;

	tt_dataset_close(a->dataset);
	a->dataset = NULL;
	if (tt_dataset_open(&a->dataset, a->archive, a->version, a->parts[at].name,
			    &err) < 0)
		return cli_fail_error(a->head.ctx, &err);
	info = tt_dataset_info(a->dataset);
	if (info->vlen_strings)
		return cli_fail(
			a->head.ctx,
			"%s: dataset %s holds strings of variable length, not rows of a "
			"fixed size",
			a->head.path, info->name);
	if (info->rank == 0)
		return cli_fail(a->head.ctx, "%s: dataset %s is a single value, not rows",
				a->head.path, info->name);
	cli_rowtype_fini(&a->type);
	if (cli_rowtype_init(&a->type, info->dtype, info->rank - 1, info->shape + 1,
			     &err) < 0)
		return cli_fail_error(a->head.ctx, &err);
	a->head.type = &a->type;
	a->head.serial++;
	a->chunk_rows = info->chunk && info->chunk[0] ? info->chunk[0] : 1;
	/* whole chunks, so that none is decoded twice */
	batch = CLI_BATCH_BYTES / a->type.bytes + 1;
	a->head.batch_rows =
		batch < a->chunk_rows ? a->chunk_rows : batch - batch % a->chunk_rows;
	a->parts[at].rows = info->shape[0];
	a->at = at;
	return 0;
}

/* The type of what is asked for, of the part that is open. */
static int asked_type(struct archive_source *a, const char *fields, struct tt_dtype **out)
{
	struct cli_pick pick;
	struct tt_error err;

	if (!fields) {
		*out = tt_dtype_ref(a->type.row);
		return 0;
	}
	if (cli_pick_init(&pick, &a->type, fields, &err) < 0)
		return cli_fail(a->head.ctx, "%s: dataset %s: %s", a->head.path,
				a->parts[a->at].name, err.text);
	*out = tt_dtype_ref(pick.type.row);
	cli_pick_fini(&pick);
	return 0;
}

static int check_parts(struct archive_source *a, const char *fields)
{
	struct tt_dtype *first = NULL, *type = NULL;
	int status = 0;

	for (size_t i = 0; i < a->part_count && status == 0; i++) {
		a->parts[i].before = a->head.total;
		status = open_part(a, i);
		if (status == 0)
			status = asked_type(a, fields, &type);
		if (status)
			break;
		a->head.total += a->parts[i].rows;
		if (!first)
			first = tt_dtype_ref(type);
		if (!tt_dtype_equal(first, type))
			status = cli_fail(
				a->head.ctx,
				"%s: dataset %s has dtype %s, %s has %s; --fields picks "
				"what they share",
				a->head.path, a->parts[i].name, tt_dtype_descr(type),
				a->parts[0].name, tt_dtype_descr(first));
		tt_dtype_unref(type);
	}
	tt_dtype_unref(first);
	return status;
}

/* ---- Rows ---- */

static int archive_get(struct cli_source *source, uint64_t first, uint64_t max,
		       const void **rows, uint64_t *count)
{
	struct archive_source *a = (struct archive_source *)source;
	struct tt_error err;
	uint64_t from, n;
	size_t at = first < a->parts[a->at].before ? 0 : a->at, bytes;
	int status;

	while (first >= a->parts[at].before + a->parts[at].rows)
		at++;
	if (at != a->at) {
		status = open_part(a, at);
		if (status)
			return status;
	}
	from = first - a->parts[at].before;
	n = source->batch_rows - from % a->chunk_rows;
	if (n > a->parts[at].rows - from)
		n = a->parts[at].rows - from;
	*count = n < max ? n : max;
	bytes = (size_t)*count * a->type.bytes;
	if (bytes > a->buf_bytes) {
		free(a->buf);
		a->buf = malloc(bytes);
		a->buf_bytes = a->buf ? bytes : 0;
	}
	if (!a->buf)
		return cli_fail_memory(source->ctx);
	*rows = a->buf;
	return tt_dataset_read(a->dataset, from, *count, a->buf, &err) < 0
		       ? cli_fail_error(source->ctx, &err)
		       : 0;
}

static void archive_close(struct cli_source *source)
{
	struct archive_source *a = (struct archive_source *)source;

	for (size_t i = 0; i < a->part_count; i++)
		free(a->parts[i].name);
	free(a->parts);
	tt_dataset_close(a->dataset);
	tt_archive_close(a->archive);
	cli_rowtype_fini(&a->type);
	free(a->buf);
	free(a);
}

static const struct cli_source_ops archive_ops = { archive_get, archive_close };

static int archive_start(struct archive_source *a, const struct cli_source_opts *opts)
{
	struct tt_error err;
	int status;

	if (!opts->dataset)
		return cli_usage(
			a->head.ctx,
			"%s is an archive: which DATASET? 'ticktail versions %s' "
			"lists them",
			a->head.path, a->head.path);
	if (tt_archive_open(&a->archive, a->head.path, NULL, &err) < 0)
		return cli_fail_error(a->head.ctx, &err);
	if (*tt_archive_notes(a->archive))
		cli_note(a->head.ctx, "%s", tt_archive_notes(a->archive));
	status = find_version(a, opts);
	if (status == 0)
		status = choose_parts(a, opts->dataset);
	if (status == 0)
		status = check_parts(a, opts->fields);
	return status ? status : open_part(a, 0);
}

int cli_archive_source(struct cli_source **out, const struct cli_source *head,
		       const struct cli_source_opts *opts)
{
	struct archive_source *a = calloc(1, sizeof(*a));
	int status;

	if (!a)
		return cli_fail_memory(head->ctx);
	a->head = *head;
	a->head.ops = &archive_ops;
	status = archive_start(a, opts);
	if (status)
		archive_close(&a->head);
	else
		*out = &a->head;
	return status;
}
