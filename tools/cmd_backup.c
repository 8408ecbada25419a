/* SPDX-License-Identifier: Apache-2.0 */
/* backup: a consistent copy of a file, a ring or an archive that may be written meanwhile. */
#include <ticktail/archive.h>

#include <errno.h>

#include "commands.h"

static const struct cli_option options[] = { { 0, NULL, NULL, NULL } };

static int run(struct cli_ctx *ctx)
{
	const char *path = ctx->args[0], *dest = ctx->args[1];
	enum tt_path_kind kind;
	struct tt_error err;
	int rc = tt_path_kind(path, &kind, &err);

	if (rc == TT_OK && kind == TT_PATH_NPY8)
		rc = tt_ring_backup(path, dest, &err);
	else if (rc == TT_OK && kind == TT_PATH_ARCHIVE)
		rc = tt_archive_backup(path, dest, &err);
	else if (rc == TT_OK)
		rc = tt_file_backup(path, dest, &err);
	if (rc == -EEXIST)
		return cli_fail(ctx,
				"%s: is there already; a copy replaces nothing: name "
				"another, or remove it",
				dest);
	return rc < 0 ? cli_fail_error(ctx, &err) : 0;
}

const struct cli_cmd cli_cmd_backup = {
	.name = "backup",
	.args = "PATH DEST",
	.brief = "copy a file, ring or archive while it is written",
	.more = "DEST must not exist; it appears whole or not at all.",
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.run = run,
};
