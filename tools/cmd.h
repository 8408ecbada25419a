/* SPDX-License-Identifier: Apache-2.0 */
/* A command of the program: its words, its option table and the function that runs it.  The
 * parser, --help and --long-options all work from the table, so they cannot disagree. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ticktail/ticktail.h>

#define CLI_MAX_OPTIONS 32
#define CLI_LEN(array) (sizeof(array) / sizeof((array)[0]))
#define CLI_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

enum { CLI_EXIT_DONE = 0, CLI_EXIT_FAILED = 1, CLI_EXIT_USAGE = 2, CLI_EXIT_DAMAGE = 3 };

struct cli_option {
	char letter; /* '\0': no short form */
	const char *name;
	/* what --help calls the value; NULL: a flag; "[=NAME]": may be left out, and is then
	 * "" */
	const char *arg;
	const char *help;
};

struct cli_ctx;

struct cli_cmd {
	const char *name;
	const char *args;		  /* as --help shows them */
	const char *brief;		  /* one line, for the list of commands */
	const char *more;		  /* further lines of its own --help, or NULL */
	const struct cli_option *options; /* ends with name NULL */
	int min_args, max_args;
	int (*run)(struct cli_ctx *ctx); /* the exit status */
};

/* One run of one command. */
struct cli_ctx {
	const struct cli_cmd *cmd; /* NULL while the program's own options are read */
	const char
		*values[CLI_MAX_OPTIONS]; /* by place in cmd->options; a flag's is "" */
	char **args;			  /* what is no option */
	int arg_count;
	bool quiet, progress;
};

extern const struct cli_cmd *const cli_commands[]; /* sorted by name, ends with NULL */

/* The values of options.  A name that is not in the table is a bug (assert). */
bool cli_opt_given(const struct cli_ctx *ctx, const char *name);
const char *cli_opt_text(const struct cli_ctx *ctx,
			 const char *name); /* NULL: not given */
/* Each leaves *out alone when the option is not given, and returns false after it has said
 * what is wrong with the value: the caller exits with CLI_EXIT_USAGE. */
bool cli_opt_count(const struct cli_ctx *ctx, const char *name, uint64_t *out);
bool cli_opt_seconds(const struct cli_ctx *ctx, const char *name, int64_t *ns_out);
bool cli_opt_age(const struct cli_ctx *ctx, const char *name, int64_t *ns_out);
/* *out becomes the place of the value in words (ends with NULL). */
bool cli_opt_choice(const struct cli_ctx *ctx, const char *name, const char *const *words,
		    int *out);

/* Numbers with '_' between digits and one of k M G Ki Mi Gi behind. */
bool cli_parse_count(const char *text, uint64_t *out);
bool cli_parse_signed(const char *text, size_t len, int64_t *out);

/* Read the options of a command; true, or false with *status_out to exit with (also for
 * --help). */
bool cli_options_read(struct cli_ctx *ctx, char **args, int count, int *status_out);
/* The options that every command has. */
extern const struct cli_option cli_common_options[];

/* The word of words (ends with NULL) most like text, or NULL when none is near. */
const char *cli_nearest(const char *text, const char *const *words);

/* "ticktail: COMMAND: ..." on stderr.  note is silent with -q. */
void cli_note(const struct cli_ctx *ctx, const char *fmt, ...) CLI_PRINTF(2, 3);
int cli_fail(const struct cli_ctx *ctx, const char *fmt, ...) CLI_PRINTF(2, 3);	 /* 1 */
int cli_usage(const struct cli_ctx *ctx, const char *fmt, ...) CLI_PRINTF(2, 3); /* 2 */
int cli_fail_error(const struct cli_ctx *ctx,
		   const struct tt_error *err); /* 3 for damage */
int cli_fail_code(const struct cli_ctx *ctx, const char *path, int code);
/* The same of a file to be made: what is missing may be its directory. */
int cli_fail_output(const struct cli_ctx *ctx, const char *path, int code);
/* The same after needed more bytes could not be written to fd. */
int cli_fail_space(const struct cli_ctx *ctx, int code, const char *path, int fd,
		   uint64_t needed);
int cli_fail_memory(const struct cli_ctx *ctx);

#endif
