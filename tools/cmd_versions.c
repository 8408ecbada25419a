/* SPDX-License-Identifier: Apache-2.0 */
/* versions: the versions of an archive, oldest first, and their datasets. */
#include <string.h>
#include <ticktail/archive.h>

#include "commands.h"
#include "json_doc.h"

static const struct cli_option options[] = {
	{ 0, "json", NULL, "one JSON document" },
	{ 0, NULL, NULL, NULL },
};

/* "2013-10-08 14:00:00.000000+0000" -> RFC 3339 with Z; as stored when it is another form. */
static void put_timestamp(cli_json *object, const char *stored)
{
	char text[64];
	size_t len = stored ? strlen(stored) : 0;

	if (len < 20 || len >= sizeof(text) || strcmp(stored + len - 5, "+0000") != 0) {
		cli_json_text(object, "timestamp", stored);
		return;
	}
	memcpy(text, stored, len - 5);
	text[10] = 'T';
	text[len - 5] = 'Z';
	text[len - 4] = '\0';
	cli_json_text(object, "timestamp", text);
}

static cli_json *dataset_object(struct tt_dataset *dataset)
{
	const struct tt_dataset_info *info = tt_dataset_info(dataset);
	cli_json *object = json_object_new_object();

	cli_json_text(object, "name", info->name);
	cli_json_shape(object, "shape", info->shape, info->rank);
	if (info->dtype)
		cli_json_dtype(object, "dtype", info->dtype);
	else
		cli_json_null(object, "dtype");
	cli_json_shape(object, "chunk", info->chunk, info->rank);
	cli_json_u64(object, "chunks", info->chunks);
	return object;
}

static int add_datasets(const struct cli_ctx *ctx, struct tt_archive *archive,
			size_t version, cli_json *datasets)
{
	struct tt_dataset *dataset;
	struct tt_error err;
	char **names;
	size_t count;
	int rc = tt_archive_datasets(archive, version, &names, &count, &err);

	if (rc < 0)
		return cli_fail_error(ctx, &err);
	for (size_t i = 0; i < count && rc == TT_OK; i++) {
		rc = tt_dataset_open(&dataset, archive, version, names[i], &err);
		if (rc < 0)
			break;
		json_object_array_add(datasets, dataset_object(dataset));
		tt_dataset_close(dataset);
	}
	tt_archive_free_names(names, count);
	return rc < 0 ? cli_fail_error(ctx, &err) : 0;
}

cli_json *cli_json_versions(const struct cli_ctx *ctx, struct tt_archive *archive,
			    int *status)
{
	cli_json *array = json_object_new_array();

	*status = 0;
	for (size_t i = 0; i < tt_archive_version_count(archive) && *status == 0; i++) {
		const struct tt_archive_version *version = tt_archive_version(archive, i);
		cli_json *object = json_object_new_object();
		cli_json *datasets = json_object_new_array();

		cli_json_text(object, "name", version->name);
		cli_json_text(object, "prev", version->prev);
		put_timestamp(object, version->timestamp);
		cli_json_bool(object, "committed", version->committed);
		cli_json_bool(object, "current", version->current);
		*status = add_datasets(ctx, archive, i, datasets);
		json_object_object_add(object, "datasets", datasets);
		json_object_array_add(array, object);
	}
	if (*status == 0)
		return array;
	json_object_put(array);
	return NULL;
}

static const char *text_of(cli_json *object, const char *key)
{
	cli_json *value;

	if (!json_object_object_get_ex(object, key, &value) || !value)
		return "-";
	return json_object_is_type(value, json_type_string)
		       ? json_object_get_string(value)
		       : json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
}

static bool is_true(cli_json *object, const char *key)
{
	cli_json *value;

	return json_object_object_get_ex(object, key, &value) &&
	       json_object_get_boolean(value);
}

static int print_words(const struct cli_ctx *ctx, cli_json *versions)
{
	struct cli_out out;
	int status = cli_out_open(&out, ctx, NULL);

	if (status)
		return status;
	for (size_t i = 0; i < json_object_array_length(versions); i++) {
		cli_json *version = json_object_array_get_idx(versions, i), *datasets;

		cli_out_printf(&out, "%s  %s  prev %s%s%s\n", text_of(version, "name"),
			       text_of(version, "timestamp"), text_of(version, "prev"),
			       is_true(version, "current") ? "  current" : "",
			       is_true(version, "committed") ? "" : "  not committed");
		json_object_object_get_ex(version, "datasets", &datasets);
		for (size_t d = 0; d < json_object_array_length(datasets); d++) {
			cli_json *dataset = json_object_array_get_idx(datasets, d);

			cli_out_printf(
				&out, "  %s  shape %s  chunk %s  %s chunks\n",
				text_of(dataset, "name"), text_of(dataset, "shape"),
				text_of(dataset, "chunk"), text_of(dataset, "chunks"));
		}
	}
	return cli_out_close(&out);
}

static int fail_open(const struct cli_ctx *ctx, const struct tt_error *err)
{
	const char *path = ctx->args[0];
	enum tt_path_kind kind;

	if (tt_path_kind(path, &kind, NULL) == TT_OK && kind == TT_PATH_NPY8)
		return cli_fail(
			ctx,
			"%s: is a ring, which has no versions; 'ticktail info %s' "
			"describes it",
			path, path);
	return cli_fail_error(ctx, err);
}

static int run(struct cli_ctx *ctx)
{
	struct tt_archive *archive;
	struct tt_error err;
	cli_json *versions;
	int status;

	if (tt_archive_open(&archive, ctx->args[0], NULL, &err) < 0)
		return fail_open(ctx, &err);
	if (*tt_archive_notes(archive))
		cli_note(ctx, "%s", tt_archive_notes(archive));
	versions = cli_json_versions(ctx, archive, &status);
	if (versions && cli_opt_given(ctx, "json")) {
		status = cli_json_print(ctx, versions);
	} else if (versions) {
		status = print_words(ctx, versions);
		json_object_put(versions);
	}
	tt_archive_close(archive);
	return status;
}

const struct cli_cmd cli_cmd_versions = {
	.name = "versions",
	.args = "ARCHIVE [OPTIONS]",
	.brief = "list the versions of an archive, oldest first",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
