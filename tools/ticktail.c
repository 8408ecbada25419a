/* SPDX-License-Identifier: Apache-2.0 */
/* The program: the table of commands and what happens before one of them runs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "commands.h"
#include "output.h"

const struct cli_cmd *const cli_commands[] = {
	&cli_cmd_adopt,	 &cli_cmd_append,   &cli_cmd_archive,
	&cli_cmd_backup, &cli_cmd_clear,    &cli_cmd_create,
	&cli_cmd_gen,	 &cli_cmd_info,	    &cli_cmd_merge,
	&cli_cmd_prune,	 &cli_cmd_read,	    &cli_cmd_recover,
	&cli_cmd_resize, &cli_cmd_seal,	    &cli_cmd_status,
	&cli_cmd_tail,	 &cli_cmd_top,	    &cli_cmd_update,
	&cli_cmd_verify, &cli_cmd_versions, NULL,
};

static int print_help(const struct cli_ctx *ctx)
{
	struct cli_out out;
	int status = cli_out_open(&out, ctx, NULL);

	if (status)
		return status;
	cli_out_printf(&out,
		       "usage: ticktail COMMAND [OPTIONS] ARGUMENTS\n\n"
		       "Live tick files that other processes read without copying, and "
		       "an archive of\ntheir versions.\n\ncommands:\n");
	for (const struct cli_cmd *const *cmd = cli_commands; *cmd; cmd++)
		cli_out_printf(&out, "  %-10s %s\n", (*cmd)->name, (*cmd)->brief);
	cli_out_printf(&out, "\noptions of every command:\n");
	for (const struct cli_option *o = cli_common_options; o->name; o++)
		cli_help_option(&out, o);
	cli_out_printf(
		&out,
		"\n'ticktail COMMAND --help' tells more; ticktail(7) how a store is run "
		"day by day.\nExit status: 0 done, 1 failed, 2 wrong usage, 3 "
		"damage found.\n");
	return cli_out_close(&out);
}

static int print_version(const struct cli_ctx *ctx)
{
	struct cli_out out;
	int status = cli_out_open(&out, ctx, NULL);

	if (status)
		return status;
	cli_out_printf(&out, "ticktail %s\n", tt_version());
	return cli_out_close(&out);
}

static const struct cli_cmd *find_command(const char *name)
{
	for (const struct cli_cmd *const *cmd = cli_commands; *cmd; cmd++)
		if (strcmp((*cmd)->name, name) == 0)
			return *cmd;
	return NULL;
}

static int unknown_command(const struct cli_ctx *ctx, const char *name)
{
	const char *names[CLI_LEN(cli_commands)];
	size_t n = 0;

	for (const struct cli_cmd *const *cmd = cli_commands; *cmd; cmd++)
		names[n++] = (*cmd)->name;
	names[n] = NULL;
	return cli_usage(ctx, "unknown command '%s'; the nearest one is '%s'", name,
			 cli_nearest(name, names));
}

static int unknown_program_option(const struct cli_ctx *ctx, const char *text)
{
	static const char *const names[] = { "--help", "--progress", "--quiet",
					     "--version", NULL };

	return cli_usage(ctx, "unknown option %s; the nearest one is %s", text,
			 cli_nearest(text, names));
}

/* Without this a file opened later could become descriptor 1 and take the results. */
static void fill_standard_descriptors(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		while (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) <
			    0)
				_exit(CLI_EXIT_FAILED);
}

static bool is_either(const char *arg, const char *a, const char *b)
{
	return strcmp(arg, a) == 0 || strcmp(arg, b) == 0;
}

int main(int argc, char **argv)
{
	struct cli_ctx ctx = { 0 };
	int at = 1, status;

	fill_standard_descriptors();
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error like a full disk */
	for (; at < argc && argv[at][0] == '-'; at++) {
		if (is_either(argv[at], "--help", "-h"))
			return print_help(&ctx);
		if (strcmp(argv[at], "--version") == 0)
			return print_version(&ctx);
		if (is_either(argv[at], "--quiet", "-q"))
			ctx.quiet = true;
		else if (strcmp(argv[at], "--progress") == 0)
			ctx.progress = true;
		else
			return unknown_program_option(&ctx, argv[at]);
	}
	if (at == argc)
		return cli_usage(&ctx, "which command?");
	ctx.cmd = find_command(argv[at]);
	if (!ctx.cmd)
		return unknown_command(&ctx, argv[at]);
	if (!cli_options_read(&ctx, argv + at + 1, argc - at - 1, &status))
		return status;
	return ctx.cmd->run(&ctx);
}
