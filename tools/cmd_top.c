/* SPDX-License-Identifier: Apache-2.0 */
/* top: the status of a ring, again and again.  On a terminal it rewrites the screen, which is
 * given back however it ends; elsewhere it prints a line a look. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "kind.h"
#include "output.h"
#include "signals.h"
#include "status.h"

static const struct cli_option options[] = {
	{ 0, "interval", "S", "seconds between two looks (1)" },
	{ 0, "count", "N", "end after N looks; 0: when it is ended (0)" },
	{ 0, NULL, NULL, NULL },
};

struct top {
	struct cli_ctx *ctx;
	const char *path;
	int64_t interval_ns;
	uint64_t count; /* 0: until it is ended */
	bool screen;
	struct cli_ring_look look;
	struct tt_ring_status before;
	bool has_before;
};

/* ---- lines ---- */

static void put_field(FILE *out, const char *name, uint64_t value)
{
	if (value == TT_UNKNOWN)
		fprintf(out, "  %s ?", name);
	else
		fprintf(out, "  %s %" PRIu64, name, value);
}

static void print_line(FILE *out, const struct cli_ring_look *look)
{
	const struct tt_ring_status *now = &look->now;
	uint64_t lag = 0;

	fprintf(out, "%s  %s", cli_human_time(now->now_ns),
		cli_state_word(cli_ring_state(now)));
	put_field(out, "rows",
		  now->rows_total == TT_UNKNOWN ? now->rows : now->rows_total);
	if (isnan(look->rows_per_s))
		fprintf(out, "  rate ?");
	else
		fprintf(out, "  rate %.0f rows/s", look->rows_per_s);
	fprintf(out, "  last row %s ago",
		cli_human_ns(cli_age_ns(now->now_ns, now->last_write_ns)));
	put_field(out, "unsynced", now->unsynced_rows);
	for (size_t i = 0; i < now->reader_count; i++)
		if (now->readers[i].alive && now->readers[i].lag_rows != TT_UNKNOWN &&
		    now->readers[i].lag_rows > lag)
			lag = now->readers[i].lag_rows;
	fprintf(out, "  readers %zu  lag %" PRIu64, now->reader_count, lag);
	put_field(out, "errors", now->errors);
	if (now->damage_count > 0)
		fprintf(out, "  DAMAGED %zu", now->damage_count);
	if (now->error_code != 0)
		fprintf(out, "  last %s %s ago", now->error_tag,
			cli_human_ns(cli_age_ns(now->now_ns, now->error_ns)));
	fputc('\n', out);
}

/* ---- the screen ---- */

/* 1049: the screen that was there comes back; 25: the cursor. */
static const char enter_screen[] = "\033[?1049h\033[?25l\033[H\033[2J";
static const char leave_screen[] = "\033[?25h\033[?1049l";

static void note_resize(int number)
{
	(void)number; /* it only ends the sleep */
}

static void catch_resize(void)
{
	struct sigaction action = { .sa_handler = note_resize };

	sigemptyset(&action.sa_mask);
	sigaction(SIGWINCH, &action, NULL);
}

/* Columns are counted as characters; wide ones may be cut late, never wrap the next line. */
static size_t bytes_that_fit(const char *line, size_t n, unsigned columns)
{
	size_t at = 0;

	while (at < n && columns > 0) {
		at++;
		while (at < n && ((unsigned char)line[at] & 0xc0) == 0x80)
			at++;
		columns--;
	}
	return at;
}

/* The text, cut to what the terminal has now. */
static void put_screen(struct cli_out *out, const char *text)
{
	struct winsize size = { 0 };
	unsigned rows, columns;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	rows = size.ws_row;
	columns = size.ws_col ? size.ws_col : 80;
	cli_out_put(out, "\033[H", 3);
	while (*text && rows-- > 0) {
		size_t n = strcspn(text, "\n");

		cli_out_put(out, text, bytes_that_fit(text, n, columns));
		cli_out_put(out, "\033[K", 3);
		text += n + (text[n] == '\n');
		if (rows > 0)
			cli_out_put(out, "\n", 1);
	}
	cli_out_put(out, "\033[J", 3);
}

/* ---- looking ---- */

static int show(struct top *top, struct cli_out *out)
{
	char *text = NULL;
	size_t n = 0;
	FILE *memory = open_memstream(&text, &n);

	if (!memory)
		return cli_fail_memory(top->ctx);
	if (top->screen)
		cli_ring_text(memory, top->path, &top->look);
	else
		print_line(memory, &top->look);
	if (fclose(memory) != 0) {
		free(text);
		return cli_fail_memory(top->ctx);
	}
	if (top->screen)
		put_screen(out, text);
	else
		cli_out_put(out, text, n);
	free(text);
	return cli_out_flush(out);
}

static int look(struct top *top, struct tt_error *err)
{
	int rc;

	if (top->has_before)
		tt_ring_status_free(&top->before);
	top->before = top->look.now;
	rc = tt_ring_status(top->path, &top->look.now, err);
	if (rc < 0)
		return rc;
	top->look.rows_per_s = top->look.bytes_per_s = NAN;
	if (top->has_before)
		cli_look_rates(&top->look, &top->before);
	top->has_before = true;
	return TT_OK;
}

/* A signal, that of a resize too, ends it early. */
static void pause_until_next(const struct top *top)
{
	const struct timespec pause = { top->interval_ns / 1000000000,
					top->interval_ns % 1000000000 };

	if (!cli_signals_seen())
		nanosleep(&pause, NULL);
}

static int watch(struct top *top, struct cli_out *out, struct tt_error *err)
{
	int status = 0;

	for (uint64_t i = 0; status == 0 && !cli_signals_seen(); i++) {
		if (top->count > 0 && i == top->count)
			break;
		if (i > 0)
			pause_until_next(top);
		if (cli_signals_seen())
			break;
		if (look(top, err) < 0)
			return -1;
		status = show(top, out);
	}
	return status;
}

static int run(struct cli_ctx *ctx)
{
	struct top top = { .ctx = ctx, .path = ctx->args[0], .interval_ns = 1000000000 };
	struct cli_out out;
	struct tt_error err;
	int status, closed;

	if (!cli_opt_seconds(ctx, "interval", &top.interval_ns) ||
	    !cli_opt_count(ctx, "count", &top.count))
		return CLI_EXIT_USAGE;
	if (top.interval_ns < 1000000)
		return cli_usage(ctx, "--interval: at least 0.001 seconds");
	status = cli_need_ring(ctx, top.path);
	if (status == 0)
		status = cli_out_open(&out, ctx, NULL);
	if (status)
		return status;
	top.screen = isatty(STDOUT_FILENO);
	cli_signals_catch();
	out.stoppable = true;
	if (top.screen) {
		catch_resize();
		cli_out_put(&out, enter_screen, sizeof(enter_screen) - 1);
	}
	status = watch(&top, &out, &err);
	if (top.screen)
		cli_out_put(&out, leave_screen, sizeof(leave_screen) - 1);
	closed = cli_out_close(&out);
	if (status < 0) /* said once the screen is back */
		status = cli_fail_error(ctx, &err);
	else if (out.stopped)
		status = closed = 0;
	if (top.has_before) {
		tt_ring_status_free(&top.before);
		tt_ring_status_free(&top.look.now);
	}
	return status ? status : closed;
}

const struct cli_cmd cli_cmd_top = {
	.name = "top",
	.args = "DIR [OPTIONS]",
	.brief = "watch a ring: its status again and again",
	.more = "On a terminal it rewrites the screen; elsewhere it prints a line a "
		"look.  "
		"SIGINT\nand SIGTERM end it with status 0.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
