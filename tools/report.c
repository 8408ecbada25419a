/* SPDX-License-Identifier: Apache-2.0 */
/* What is said on stderr.  Every line begins with the program and the command, and the
 * function that says a failure returns the exit status that belongs to it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "progress.h"

static void say(const struct cli_ctx *ctx, const char *fmt, va_list ap) CLI_PRINTF(2, 0);
static void say(const struct cli_ctx *ctx, const char *fmt, va_list ap)
{
	cli_progress_clear();
	if (ctx->cmd)
		fprintf(stderr, "ticktail: %s: ", ctx->cmd->name);
	else
		fputs("ticktail: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void cli_note(const struct cli_ctx *ctx, const char *fmt, ...)
{
	va_list ap;

	if (ctx->quiet)
		return;
	va_start(ap, fmt);
	say(ctx, fmt, ap);
	va_end(ap);
}

int cli_fail(const struct cli_ctx *ctx, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(ctx, fmt, ap);
	va_end(ap);
	return CLI_EXIT_FAILED;
}

int cli_usage(const struct cli_ctx *ctx, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(ctx, fmt, ap);
	va_end(ap);
	fprintf(stderr, "Try 'ticktail %s%s--help'.\n", ctx->cmd ? ctx->cmd->name : "",
		ctx->cmd ? " " : "");
	return CLI_EXIT_USAGE;
}

int cli_fail_error(const struct cli_ctx *ctx, const struct tt_error *err)
{
	bool is_full = err->code == -ENOSPC && strstr(err->text, "no space left on");

	cli_fail(ctx, "%s%s", err->text,
		 is_full ? ": make room there (in rings by 'ticktail prune DIR')" : "");
	return err->code == TT_E_DAMAGED ? CLI_EXIT_DAMAGE : CLI_EXIT_FAILED;
}

int cli_fail_code(const struct cli_ctx *ctx, const char *path, int code)
{
	struct tt_error err;

	tt_error_system(&err, code, path, NULL);
	return cli_fail_error(ctx, &err);
}

int cli_fail_output(const struct cli_ctx *ctx, const char *path, int code)
{
	const char *slash = strrchr(path, '/');

	if (code == -ENOENT && slash)
		return cli_fail(ctx, "%s: there is no directory %.*s: make it first",
				path, (int)(slash - path), path);
	return cli_fail_code(ctx, path, code);
}

int cli_fail_space(const struct cli_ctx *ctx, int code, const char *path, int fd,
		   uint64_t needed)
{
	struct tt_error err;

	tt_error_space(&err, code, path, fd, needed);
	return cli_fail_error(ctx, &err);
}

int cli_fail_memory(const struct cli_ctx *ctx)
{
	struct tt_error err;

	tt_error_system(&err, -ENOMEM, ctx->arg_count ? ctx->args[0] : "this program",
			"out of memory");
	return cli_fail_error(ctx, &err);
}
