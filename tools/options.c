/* SPDX-License-Identifier: Apache-2.0 */
/* Options from their tables: parsing, the values' strict readers, --help.  Options may stand
 * before, between and behind the other arguments; "--" ends them.  Names are exact, so that an
 * option added later never changes what a script means. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "output.h"

const struct cli_option cli_common_options[] = {
	{ 'q', "quiet", NULL, "say nothing but errors" },
	{ 0, "progress", NULL, "show a progress line also where stderr is no terminal" },
	{ 'h', "help", NULL, "show this help" },
	{ 0, NULL, NULL, NULL },
};

static const struct cli_option *find_long(const struct cli_option *table,
					  const char *name, size_t len)
{
	for (; table->name; table++)
		if (strlen(table->name) == len && memcmp(table->name, name, len) == 0)
			return table;
	return NULL;
}

static const struct cli_option *find_short(const struct cli_option *table, char letter)
{
	for (; table->name; table++)
		if (table->letter == letter)
			return table;
	return NULL;
}

/* ---- Help ---- */

static bool may_be_left_out(const struct cli_option *option)
{
	return option->arg && option->arg[0] == '[';
}

void cli_help_option(struct cli_out *out, const struct cli_option *option)
{
	char left[64];
	int n = 0;

	if (option->letter)
		n = snprintf(left, sizeof(left), "  -%c, --%s", option->letter,
			     option->name);
	else
		n = snprintf(left, sizeof(left), "      --%s", option->name);
	if (option->arg)
		snprintf(left + n, sizeof(left) - (size_t)n, "%s%s",
			 may_be_left_out(option) ? "" : " ", option->arg);
	if (strlen(left) < 30)
		cli_out_printf(out, "%-30s %s\n", left, option->help);
	else
		cli_out_printf(out, "%s\n%-30s %s\n", left, "", option->help);
}

static int print_help(const struct cli_ctx *ctx)
{
	struct cli_out out;
	int status = cli_out_open(&out, ctx, NULL);

	if (status)
		return status;
	cli_out_printf(&out, "usage: ticktail %s %s\n\n%s.\n", ctx->cmd->name,
		       ctx->cmd->args, ctx->cmd->brief);
	if (ctx->cmd->more)
		cli_out_printf(&out, "\n%s\n", ctx->cmd->more);
	if (ctx->cmd->options[0].name)
		cli_out_printf(&out, "\noptions:\n");
	for (const struct cli_option *o = ctx->cmd->options; o->name; o++)
		cli_help_option(&out, o);
	cli_out_printf(&out,
		       "\nEvery command takes the options of 'ticktail --help' too.\n");
	return cli_out_close(&out);
}

/* One name a line, for shell completion and tests. */
static int print_long_options(const struct cli_ctx *ctx)
{
	struct cli_out out;
	int status = cli_out_open(&out, ctx, NULL);

	if (status)
		return status;
	for (const struct cli_option *o = ctx->cmd->options; o->name; o++)
		cli_out_printf(&out, "%s\n", o->name);
	for (const struct cli_option *o = cli_common_options; o->name; o++)
		cli_out_printf(&out, "%s\n", o->name);
	return cli_out_close(&out);
}

/* ---- Parsing ---- */

/* dashes are those it was given with: a letter came with one. */
static int unknown_option(const struct cli_ctx *ctx, const char *dashes, const char *name,
			  size_t len)
{
	const char *names[CLI_MAX_OPTIONS + 8];
	const char *near;
	char text[64];
	size_t n = 0;

	for (const struct cli_option *o = ctx->cmd->options; o->name; o++)
		names[n++] = o->name;
	for (const struct cli_option *o = cli_common_options; o->name; o++)
		names[n++] = o->name;
	names[n] = NULL;
	snprintf(text, sizeof(text), "%.*s", (int)len, name);
	near = cli_nearest(text, names);
	return cli_usage(ctx, "unknown option %s%.*s; the nearest one is --%s", dashes,
			 (int)len, name, near);
}

/* Note an option; *help is set by those that end the run. */
static void keep_value(struct cli_ctx *ctx, const struct cli_option *option,
		       const char *value, bool *help)
{
	const struct cli_option *table = ctx->cmd->options;
	size_t count = 0;

	while (table[count].name)
		count++;
	if (option >= table && option < table + count)
		ctx->values[option - table] = value;
	else if (option->letter == 'q')
		ctx->quiet = true;
	else if (option->letter == 'h')
		*help = true;
	else
		ctx->progress = true;
}

struct scan {
	struct cli_ctx *ctx;
	char **args;
	int count, at;
	bool help;
};

static bool read_long(struct scan *scan, const char *text, int *status)
{
	struct cli_ctx *ctx = scan->ctx;
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : strlen(text);
	const struct cli_option *option = find_long(ctx->cmd->options, text, len);
	const char *value = "";

	if (!option)
		option = find_long(cli_common_options, text, len);
	if (!option) {
		*status = unknown_option(ctx, "--", text, len);
		return false;
	}
	if (option->arg) {
		value = equals ? equals + 1 : may_be_left_out(option) ? "" : NULL;
		if (!value && scan->at < scan->count)
			value = scan->args[scan->at++];
		if (!value) {
			*status = cli_usage(ctx, "option --%s needs a value (%s)",
					    option->name, option->arg);
			return false;
		}
	} else if (equals) {
		*status = cli_usage(ctx, "option --%s takes no value", option->name);
		return false;
	}
	keep_value(ctx, option, value, &scan->help);
	return true;
}

static bool read_short(struct scan *scan, const char *letters, int *status)
{
	struct cli_ctx *ctx = scan->ctx;

	for (; *letters; letters++) {
		const struct cli_option *option = find_short(ctx->cmd->options, *letters);
		const char *value = "";

		if (!option)
			option = find_short(cli_common_options, *letters);
		if (!option) {
			char text[2] = { *letters, '\0' };

			*status = unknown_option(ctx, "-", text, 1);
			return false;
		}
		if (option->arg) {
			value = letters[1] ? letters + 1 : NULL;
			if (!value && scan->at < scan->count)
				value = scan->args[scan->at++];
			if (!value) {
				*status = cli_usage(ctx, "option -%c needs a value (%s)",
						    *letters, option->arg);
				return false;
			}
			keep_value(ctx, option, value, &scan->help);
			return true;
		}
		keep_value(ctx, option, value, &scan->help);
	}
	return true;
}

static bool check_arg_count(struct cli_ctx *ctx, int *status)
{
	if (ctx->arg_count < ctx->cmd->min_args) {
		*status = cli_usage(ctx, "too few arguments: usage: ticktail %s %s",
				    ctx->cmd->name, ctx->cmd->args);
		return false;
	}
	if (ctx->cmd->max_args >= 0 && ctx->arg_count > ctx->cmd->max_args) {
		*status = cli_usage(ctx, "unexpected argument '%s'",
				    ctx->args[ctx->cmd->max_args]);
		return false;
	}
	return true;
}

bool cli_options_read(struct cli_ctx *ctx, char **args, int count, int *status_out)
{
	struct scan scan = { .ctx = ctx, .args = args, .count = count };
	bool ended = false;

	if (count == 1 && strcmp(args[0], "--long-options") == 0) {
		*status_out = print_long_options(ctx);
		return false;
	}
	ctx->args = args; /* those kept never pass the place that is read */
	while (scan.at < count) {
		char *arg = args[scan.at++];

		if (ended || arg[0] != '-' || arg[1] == '\0')
			ctx->args[ctx->arg_count++] = arg;
		else if (strcmp(arg, "--") == 0)
			ended = true;
		else if (!(arg[1] == '-' ? read_long(&scan, arg + 2, status_out)
					 : read_short(&scan, arg + 1, status_out)))
			return false;
		if (scan.help) {
			*status_out = print_help(ctx);
			return false;
		}
	}
	return check_arg_count(ctx, status_out);
}

/* ---- Values ---- */

static const char *value_of(const struct cli_ctx *ctx, const char *name)
{
	const struct cli_option *option =
		find_long(ctx->cmd->options, name, strlen(name));

	assert(option);
	return ctx->values[option - ctx->cmd->options];
}

bool cli_opt_given(const struct cli_ctx *ctx, const char *name)
{
	return value_of(ctx, name) != NULL;
}

const char *cli_opt_text(const struct cli_ctx *ctx, const char *name)
{
	return value_of(ctx, name);
}

/* Digits with single '_' between them; the rest of the text, or NULL. */
static const char *take_digits(const char *text, uint64_t *out)
{
	uint64_t value = 0;

	if (*text < '0' || *text > '9')
		return NULL;
	for (; (*text >= '0' && *text <= '9') || *text == '_'; text++) {
		if (*text == '_') {
			if (text[1] < '0' || text[1] > '9')
				return NULL;
			continue;
		}
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return NULL;
	}
	*out = value;
	return text;
}

bool cli_parse_count(const char *text, uint64_t *out)
{
	static const struct {
		const char *suffix;
		uint64_t factor;
	} units[] = {
		{ "", 1 },	     { "k", 1000 },	 { "M", 1000000 },
		{ "G", 1000000000 }, { "Ki", 1u << 10 }, { "Mi", 1u << 20 },
		{ "Gi", 1u << 30 },
	};
	uint64_t value;
	const char *rest = take_digits(text, &value);

	for (size_t i = 0; rest && i < CLI_LEN(units); i++)
		if (strcmp(rest, units[i].suffix) == 0)
			return !__builtin_mul_overflow(value, units[i].factor, out);
	return false;
}

bool cli_parse_signed(const char *text, size_t len, int64_t *out)
{
	char copy[64];
	bool negative = len > 0 && text[0] == '-';
	size_t sign = len > 0 && (text[0] == '-' || text[0] == '+');
	uint64_t magnitude;

	if (len - sign >= sizeof(copy) || memchr(text, '\0', len))
		return false;
	memcpy(copy, text + sign, len - sign);
	copy[len - sign] = '\0';
	if (!cli_parse_count(copy, &magnitude) ||
	    magnitude > (uint64_t)INT64_MAX + negative)
		return false;
	*out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	return true;
}

bool cli_opt_count(const struct cli_ctx *ctx, const char *name, uint64_t *out)
{
	const char *text = value_of(ctx, name);

	if (!text || cli_parse_count(text, out))
		return true;
	cli_usage(ctx, "--%s: '%s' is no number (digits, '_', and k M G Ki Mi Gi behind)",
		  name, text);
	return false;
}

bool cli_opt_seconds(const struct cli_ctx *ctx, const char *name, int64_t *ns_out)
{
	const char *text = value_of(ctx, name);
	double seconds;
	char *end;

	if (!text)
		return true;
	seconds = strtod(text, &end);
	if (((*text >= '0' && *text <= '9') || *text == '.') && end > text &&
	    *end == '\0' && seconds <= 9e9) {
		*ns_out = (int64_t)(seconds * 1e9);
		return true;
	}
	cli_usage(ctx, "--%s: '%s' is no number of seconds", name, text);
	return false;
}

/* A number of units, each at least a second. */
bool cli_opt_age(const struct cli_ctx *ctx, const char *name, int64_t *ns_out)
{
	static const struct {
		char letter;
		int64_t seconds;
	} units[] = {
		{ 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 7 * 86400 }
	};
	const char *text = value_of(ctx, name);
	const char *rest;
	uint64_t count;
	int64_t ns;

	if (!text)
		return true;
	rest = take_digits(text, &count);
	for (size_t i = 0; rest && rest[0] && !rest[1] && i < CLI_LEN(units); i++)
		if (rest[0] == units[i].letter && count <= INT64_MAX &&
		    !__builtin_mul_overflow((int64_t)count, units[i].seconds * 1000000000,
					    &ns)) {
			*ns_out = ns;
			return true;
		}
	cli_usage(ctx, "--%s: '%s' is no age (digits, then s, m, h, d or w: 36h)", name,
		  text);
	return false;
}

/* What does not fit is left out. */
static void list_words(char *out, size_t room, const char *const *words)
{
	size_t at = 0;

	out[0] = '\0';
	for (int i = 0; words[i] && at + strlen(words[i]) + 3 <= room; i++)
		at += (size_t)snprintf(out + at, room - at, "%s%s", i ? ", " : "",
				       words[i]);
}

bool cli_opt_choice(const struct cli_ctx *ctx, const char *name, const char *const *words,
		    int *out)
{
	const char *text = value_of(ctx, name);
	char known[128];

	if (!text)
		return true;
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], text) == 0) {
			*out = i;
			return true;
		}
	list_words(known, sizeof(known), words);
	cli_usage(ctx, "--%s: '%s' is unknown; there are %s", name, text, known);
	return false;
}
