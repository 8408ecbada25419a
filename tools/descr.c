/* SPDX-License-Identifier: Apache-2.0 */
/* Element types as users give them.  @ARCHIVE/DATASET is found by trying the path as it stands,
 * then cut at each '/' from the right, so that names of datasets may hold slashes. */
#include "descr.h"

#include <stdlib.h>
#include <string.h>
#include <ticktail/archive.h>

#include "source.h"

static int from_dataset(const struct cli_ctx *ctx, struct tt_archive *archive,
			const char *path, const char *name, struct tt_dtype **out)
{
	struct tt_dataset *dataset = NULL;
	struct tt_error err;
	char **names = NULL;
	size_t version, count = 0;
	int rc = tt_archive_find_version(archive, NULL, &version, &err);

	if (rc == TT_OK && !name) {
		rc = tt_archive_datasets(archive, version, &names, &count, &err);
		if (rc == TT_OK && count != 1) {
			tt_archive_free_names(names, count);
			return cli_fail(ctx, "@%s: %zu datasets; name one: @%s/DATASET",
					path, count, path);
		}
		name = rc == TT_OK ? names[0] : NULL;
	}
	if (rc == TT_OK)
		rc = tt_dataset_open(&dataset, archive, version, name, &err);
	if (rc == TT_OK)
		*out = tt_dtype_ref(tt_dataset_info(dataset)->dtype);
	tt_dataset_close(dataset);
	tt_archive_free_names(names, count);
	return rc < 0 ? cli_fail_error(ctx, &err) : 0;
}

static int from_archive(const struct cli_ctx *ctx, const char *path, const char *name,
			struct tt_dtype **out)
{
	struct tt_archive *archive;
	struct tt_error err;
	int status;

	if (tt_archive_open(&archive, path, NULL, &err) < 0)
		return cli_fail_error(ctx, &err);
	status = from_dataset(ctx, archive, path, name, out);
	tt_archive_close(archive);
	return status;
}

static int from_file(const struct cli_ctx *ctx, const char *path, struct tt_dtype **out)
{
	struct tt_file_info info;
	struct tt_file *file;
	struct tt_error err;

	if (cli_file_open(&file, &info, path, &err) < 0)
		return cli_fail_error(ctx, &err);
	*out = tt_dtype_ref(info.dtype);
	tt_file_close(file);
	return 0;
}

static int from_ring(const struct cli_ctx *ctx, const char *path, struct tt_dtype **out)
{
	struct tt_ring_info info;
	struct tt_error err;

	if (tt_ring_info(path, &info, &err) < 0)
		return cli_fail_error(ctx, &err);
	*out = info.dtype ? tt_dtype_ref(info.dtype) : NULL;
	tt_ring_info_free(&info);
	return *out ? 0 : cli_fail(ctx, "%s: has no file yet, and so no dtype", path);
}

static int from_path(const struct cli_ctx *ctx, const char *path, const char *dataset,
		     enum tt_path_kind kind, struct tt_dtype **out)
{
	if (kind == TT_PATH_ARCHIVE)
		return from_archive(ctx, path, dataset, out);
	return kind == TT_PATH_NPY8 ? from_ring(ctx, path, out)
				    : from_file(ctx, path, out);
}

static int from_existing(const struct cli_ctx *ctx, const char *text,
			 struct tt_dtype **out)
{
	char *path = strdup(text), *cut;
	enum tt_path_kind kind;
	struct tt_error err, ignored;
	int status, rc;

	if (!path)
		return cli_fail_memory(ctx);
	rc = tt_path_kind(path, &kind, &err);
	if (rc == TT_OK) {
		status = from_path(ctx, path, NULL, kind, out);
		free(path);
		return status;
	}
	for (cut = strrchr(path, '/'); cut && cut > path; cut = strrchr(path, '/')) {
		*cut = '\0';
		if (tt_path_kind(path, &kind, &ignored) == TT_OK &&
		    kind == TT_PATH_ARCHIVE) {
			status = from_path(ctx, path, text + (cut - path) + 1, kind, out);
			free(path);
			return status;
		}
	}
	free(path);
	return cli_fail_error(ctx, &err);
}

int cli_descr(const struct cli_ctx *ctx, const char *text, bool align,
	      struct tt_dtype **out)
{
	struct tt_error err;
	int rc;

	*out = NULL;
	if (text[0] == '@')
		return from_existing(ctx, text + 1, out);
	rc = tt_dtype_parse(out, text, strlen(text), align, &err);
	if (rc < 0)
		return cli_fail(ctx, "--dtype %s: %s", text, err.text);
	return 0;
}

int cli_row_shape(const struct cli_ctx *ctx, const char *text, uint32_t *rank,
		  uint64_t shape[TT_MAX_RANK])
{
	char *copy = strdup(text), *at = copy, *next;

	*rank = 0;
	if (!at)
		return cli_fail_memory(ctx);
	for (; at; at = next) {
		next = strchr(at, ',');
		if (next)
			*next++ = '\0';
		if (*rank == TT_MAX_RANK - 1 || !cli_parse_count(at, &shape[*rank]) ||
		    shape[*rank] == 0) {
			free(copy);
			return cli_usage(
				ctx, "--row-shape: '%s' is no list of extents like 3,2",
				text);
		}
		++*rank;
	}
	free(copy);
	return 0;
}
