/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that serve one kind of path: what they say about the others.  Invariant: only what
 * was looked at and is of another kind is refused here; the rest is for the library to judge. */
#include "kind.h"

static int refuse_archive(const struct cli_ctx *ctx, const char *path, const char *what)
{
	return cli_fail(ctx,
			"%s: is an archive, %s serves %s; 'ticktail versions %s' tells "
			"what is in it",
			path, ctx->cmd->name, what, path);
}

int cli_need_file(const struct cli_ctx *ctx, const char *path, const char *of_rings)
{
	enum tt_path_kind kind;
	struct tt_error err;

	if (tt_path_kind(path, &kind, &err) < 0)
		return cli_fail_error(ctx, &err);
	if (kind == TT_PATH_NPY8)
		return cli_fail(ctx, "%s: is a ring, %s serves single files; %s", path,
				ctx->cmd->name, of_rings);
	if (kind == TT_PATH_ARCHIVE)
		return refuse_archive(ctx, path, "single files");
	return 0;
}

int cli_need_ring(const struct cli_ctx *ctx, const char *path)
{
	enum tt_path_kind kind;

	/* what a ring lacks to be told as one may be just what the command is for */
	if (tt_path_kind(path, &kind, NULL) < 0 || kind == TT_PATH_NPY8)
		return 0;
	if (kind == TT_PATH_ARCHIVE)
		return refuse_archive(ctx, path, "rings");
	return cli_fail(ctx,
			"%s: is a single file, %s serves rings, which 'ticktail create "
			"--rolling' makes",
			path, ctx->cmd->name);
}
