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
	cli_fail(ctx, "%s", err->text);
	return err->code == TT_E_DAMAGED ? CLI_EXIT_DAMAGE : CLI_EXIT_FAILED;
}

int cli_fail_code(const struct cli_ctx *ctx, const char *path, int code)
{
	cli_fail(ctx, "%s: %s", path, tt_strerror(code));
	return code == TT_E_DAMAGED ? CLI_EXIT_DAMAGE : CLI_EXIT_FAILED;
}

int cli_fail_memory(const struct cli_ctx *ctx)
{
	return cli_fail(ctx, "%s", tt_strerror(-ENOMEM));
}
