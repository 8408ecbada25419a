/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line on stderr.  Shown at most five times a second and not before half a
 * second has passed, so that short work shows nothing; one line is rewritten with CR. */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NS 500000000
#define EVERY_NS 200000000

static bool line_shown; /* stderr is one for the whole program, and so is its last line */

int64_t cli_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void cli_progress_init(struct cli_progress *p, const struct cli_ctx *ctx, uint64_t total,
		       const char *what)
{
	*p = (struct cli_progress){ .total = total, .what = what };
	p->on = ctx->progress || (!ctx->quiet && isatty(STDERR_FILENO));
	p->started_ns = cli_now_ns();
	p->shown_ns = p->started_ns + (ctx->progress ? -EVERY_NS : FIRST_NS - EVERY_NS);
}

static void print_line(struct cli_progress *p, uint64_t done, int64_t now_ns)
{
	double seconds = (double)(now_ns - p->started_ns) / 1e9;
	double rate = seconds > 0 ? (double)done / seconds : 0;

	fprintf(stderr, "\r\033[K%llu %s, %.0f/s", (unsigned long long)done, p->what,
		rate);
	if (p->total > 0 && rate > 0 && done <= p->total)
		fprintf(stderr, ", %.0f%%, %.0f s left",
			100.0 * (double)done / (double)p->total,
			(double)(p->total - done) / rate);
	fflush(stderr);
	line_shown = true;
}

void cli_progress_show(struct cli_progress *p, uint64_t done)
{
	int64_t now_ns;

	if (!p->on)
		return;
	now_ns = cli_now_ns();
	if (now_ns - p->shown_ns < EVERY_NS)
		return;
	p->shown_ns = now_ns;
	print_line(p, done, now_ns);
}

void cli_progress_clear(void)
{
	if (!line_shown)
		return;
	fputs("\r\033[K", stderr);
	line_shown = false;
}

void cli_progress_end(struct cli_progress *p, uint64_t done)
{
	if (!p->on || !line_shown)
		return;
	print_line(p, done, cli_now_ns());
	fputc('\n', stderr);
	line_shown = false;
}
