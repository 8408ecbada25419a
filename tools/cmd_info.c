/* SPDX-License-Identifier: Apache-2.0 */
/* info: what a path is and holds. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <ticktail/archive.h>

#include "commands.h"
#include "json_doc.h"
#include "source.h"

static const struct cli_option options[] = {
	{ 0, "json", NULL, "one JSON document" },
	{ 0, NULL, NULL, NULL },
};

/* A word as "key value", the value taken from the JSON document: the two cannot disagree. */
static void print_pair(struct cli_out *out, const char *key, cli_json *value)
{
	const char *text =
		value && json_object_is_type(value, json_type_string)
			? json_object_get_string(value)
			: json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);

	cli_out_printf(out, "%-17s %s\n", key, text);
}

static void print_files(struct cli_out *out, cli_json *files)
{
	for (size_t i = 0; i < json_object_array_length(files); i++) {
		cli_json *file = json_object_array_get_idx(files, i);
		cli_json *name, *rows, *capacity, *sealed, *queued;

		json_object_object_get_ex(file, "name", &name);
		json_object_object_get_ex(file, "rows", &rows);
		json_object_object_get_ex(file, "capacity", &capacity);
		json_object_object_get_ex(file, "sealed", &sealed);
		json_object_object_get_ex(file, "queued", &queued);
		cli_out_printf(
			out, "  %-30s %s of %s rows%s%s\n", json_object_get_string(name),
			json_object_get_string(rows), json_object_get_string(capacity),
			json_object_get_boolean(sealed) ? ", sealed" : "",
			json_object_get_boolean(queued) ? "" : ", out of the queue");
	}
}

static int print_words(const struct cli_ctx *ctx, cli_json *document)
{
	struct cli_out out;
	int status = cli_out_open(&out, ctx, NULL);

	if (status == 0) {
		json_object_object_foreach(document, key, value)
		{
			if (strcmp(key, "files") == 0) {
				cli_out_printf(&out, "files\n");
				print_files(&out, value);
			} else {
				print_pair(&out, key, value);
			}
		}
		status = cli_out_close(&out);
	}
	json_object_put(document);
	return status;
}

/* 0: there is no writer; null: there is one, who cannot be told. */
static void put_pid(cli_json *document, int64_t pid)
{
	if (pid >= 0)
		cli_json_i64(document, "writer_pid", pid);
	else
		cli_json_null(document, "writer_pid");
}

static int file_document(const struct cli_ctx *ctx, cli_json *document)
{
	struct tt_file_info info;
	struct tt_file *file;
	struct tt_error err;
	bool live;

	if (cli_file_open(&file, &info, ctx->args[0], &err) < 0)
		return cli_fail_error(ctx, &err);
	live = info.tail_words > 0;
	cli_json_text(document, "kind", live ? "npyt" : "npy");
	cli_json_dtype(document, "dtype", info.dtype);
	cli_json_shape(document, "row_shape", info.row_shape, info.row_rank);
	cli_json_u64(document, "row_bytes", info.row_bytes);
	cli_json_u64(document, "capacity", info.capacity);
	cli_json_u64(document, "start", info.start);
	cli_json_u64(document, "end", info.end);
	if (live && info.tail_words == 5)
		cli_json_u64(document, "update_timestamp", info.update_timestamp);
	else if (live)
		cli_json_null(document, "update_timestamp");
	cli_json_u64(document, "data_offset", info.data_off);
	if (live) {
		cli_json_u64(document, "tail_words", info.tail_words);
		put_pid(document, info.writer_pid);
	} else {
		cli_json_bool(document, "fortran_order", info.fortran_order);
	}
	tt_file_close(file);
	return 0;
}

static cli_json *ring_file(const struct tt_ring_file *file)
{
	cli_json *object = json_object_new_object();

	cli_json_text(object, "name", file->file_name);
	cli_json_u64(object, "rows", file->end - file->start);
	cli_json_u64(object, "capacity", file->capacity);
	if (file->damaged)
		cli_json_bool(object, "damaged", true);
	cli_json_bool(object, "sealed", file->sealed);
	cli_json_bool(object, "queued", file->queued);
	return object;
}

/* As create --set takes them; null: not set. */
static void put_settings(cli_json *document, const struct tt_ring_opts *opts)
{
	char text[16];

	snprintf(text, sizeof(text), "%02d:%02d", opts->roll_at_s / 3600 % 24,
		 opts->roll_at_s / 60 % 60);
	cli_json_text(document, "roll_at", opts->roll_at_s < 0 ? NULL : text);
	cli_json_bool(document, "keep_batches_whole", opts->batches_whole);
	if (opts->max_bytes > 0)
		cli_json_u64(document, "max_bytes", opts->max_bytes);
	else
		cli_json_null(document, "max_bytes");
}

static int ring_document(const struct cli_ctx *ctx, cli_json *document)
{
	struct tt_ring_info info;
	struct tt_error err;
	cli_json *files = NULL;

	if (tt_ring_info(ctx->args[0], &info, &err) < 0)
		return cli_fail_error(ctx, &err);
	cli_json_text(document, "kind", "npy8");
	if (info.dtype) {
		cli_json_dtype(document, "dtype", info.dtype);
		cli_json_shape(document, "row_shape", info.row_shape, info.row_rank);
		cli_json_u64(document, "row_bytes", info.row_bytes);
	} else { /* no file yet, or none that is left */
		cli_json_null(document, "dtype");
		cli_json_null(document, "row_shape");
		cli_json_null(document, "row_bytes");
	}
	cli_json_u64(document, "capacity", info.capacity);
	cli_json_u64(document, "keep", info.keep);
	cli_json_u64(document, "rows", info.rows);
	put_pid(document, info.writer_pid);
	put_settings(document, &info.opts);
	files = json_object_new_array();
	for (size_t i = 0; i < info.file_count; i++)
		json_object_array_add(files, ring_file(&info.files[i]));
	json_object_object_add(document, "files", files);
	tt_ring_info_free(&info);
	return 0;
}

static int archive_document(const struct cli_ctx *ctx, cli_json *document)
{
	struct tt_archive *archive;
	struct tt_error err;
	cli_json *versions;
	int status = 0;

	if (tt_archive_open(&archive, ctx->args[0], NULL, &err) < 0)
		return cli_fail_error(ctx, &err);
	versions = cli_json_versions(ctx, archive, &status);
	cli_json_text(document, "kind", "archive");
	if (versions)
		json_object_object_add(document, "versions", versions);
	tt_archive_close(archive);
	return status;
}

static int run(struct cli_ctx *ctx)
{
	bool json = cli_opt_given(ctx, "json");
	enum tt_path_kind kind;
	struct tt_error err;
	cli_json *document;
	int status;

	if (tt_path_kind(ctx->args[0], &kind, &err) < 0)
		return cli_fail_error(ctx, &err);
	if (kind == TT_PATH_ARCHIVE && !json)
		return cli_cmd_versions.run(ctx);
	document = json_object_new_object();
	status = kind == TT_PATH_ARCHIVE ? archive_document(ctx, document)
		 : kind == TT_PATH_NPY8	 ? ring_document(ctx, document)
					 : file_document(ctx, document);
	if (status) {
		json_object_put(document);
		return status;
	}
	return json ? cli_json_print(ctx, document) : print_words(ctx, document);
}

const struct cli_cmd cli_cmd_info = {
	.name = "info",
	.args = "PATH [OPTIONS]",
	.brief = "say what a path is and holds",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
