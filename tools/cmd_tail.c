/* SPDX-License-Identifier: Apache-2.0 */
/* tail: the last rows of a file or ring, and those that come. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands.h"
#include "progress.h"
#include "signals.h"
#include "tail.h"

static const struct cli_option options[] = {
	{ 'n', "lines", "N", "the last N rows (10)" },
	{ 'f', "follow", NULL, "go on with what comes" },
	{ 0, "from-start", NULL, "begin with the oldest row there is" },
	{ 0, "resume", "FILE", "keep the position in FILE and go on from it" },
	{ 0, "wait", "spin|yield|sleep", "how to wait for rows (sleep)" },
	{ 0, "timeout", "S", "end after S seconds without a new row" },
	{ 0, "fields", "a,b", "only these fields, in this order" },
	{ 0, "format", "F", "csv, jsonl or raw; npy without -f" },
	{ 0, "queued", NULL, "of a ring only the files in the queue" },
	{ 0, "register", "[=NAME]", "be seen by status, under NAME (ticktail)" },
	{ 0, NULL, NULL, NULL },
};

/* What another program has begun to make: nothing of it can be told yet. */
static bool is_unfinished(const char *path)
{
	char *lock = NULL;
	struct stat st;
	bool unfinished;

	if (stat(path, &st) < 0)
		return errno == ENOENT;
	if (!S_ISDIR(st.st_mode))
		return S_ISREG(st.st_mode) && st.st_size == 0;
	if (asprintf(&lock, "%s/.lock", path) < 0)
		return false;
	unfinished = access(lock, F_OK) < 0 && errno == ENOENT;
	free(lock);
	return unfinished;
}

/* Until the path is there; *kind what it is.  CLI_GO_ON, or the end with *status. */
static enum cli_next wait_for_path(struct cli_tail *tail, enum tt_path_kind *kind,
				   int *status)
{
	struct tt_error err;
	int64_t slice_ns;

	for (;;) {
		int rc = tt_path_kind(tail->path, kind, &err);

		if (rc == TT_OK)
			return CLI_GO_ON;
		if (!cli_tail_waits(tail) ||
		    (rc != -ENOENT && !is_unfinished(tail->path))) {
			*status = cli_fail_error(tail->ctx, &err);
			return CLI_END;
		}
		if (cli_tail_idle(tail, &slice_ns, status) != CLI_GO_ON)
			return CLI_END;
		cli_tail_nap(slice_ns < 20000000 ? slice_ns : 20000000);
	}
}

static int tail_path(struct cli_tail *tail)
{
	enum tt_path_kind kind;
	bool again = false;
	int64_t slice_ns;
	int status = 0;

	do {
		if (wait_for_path(tail, &kind, &status) != CLI_GO_ON)
			return status;
		if (kind == TT_PATH_ARCHIVE)
			return cli_fail(tail->ctx,
					"%s: is an archive; its rows are read by "
					"'ticktail read'",
					tail->path);
		status = kind == TT_PATH_NPY8 ? cli_tail_ring(tail, again)
					      : cli_tail_file(tail, again);
		again = tail->writer_open;
		if (status != CLI_TAIL_AGAIN)
			return status;
		cli_tail_nap(1000000);
	} while (cli_tail_idle(tail, &slice_ns, &status) == CLI_GO_ON);
	return status;
}

static int read_options(struct cli_tail *tail)
{
	static const char *const waits[] = { "spin", "yield", "sleep", NULL };
	struct cli_ctx *ctx = tail->ctx;
	int wait = TT_WAIT_SLEEP;

	if (!cli_opt_count(ctx, "lines", &tail->lines) ||
	    !cli_opt_choice(ctx, "wait", waits, &wait) ||
	    !cli_opt_seconds(ctx, "timeout", &tail->timeout_ns) ||
	    !cli_format_option(ctx, &tail->format))
		return CLI_EXIT_USAGE;
	tail->wait = (enum tt_wait)wait;
	tail->follow = cli_opt_given(ctx, "follow");
	tail->from_start = cli_opt_given(ctx, "from-start");
	tail->queued = cli_opt_given(ctx, "queued");
	tail->resume = cli_opt_text(ctx, "resume");
	tail->name = cli_opt_text(ctx, "register");
	tail->fields = cli_opt_text(ctx, "fields");
	if (tail->format == CLI_NPY && tail->follow)
		return cli_usage(ctx, "npy needs the number of rows first: not with -f");
	return 0;
}

static int start(struct cli_tail *tail)
{
	int status = read_options(tail), found;

	if (status)
		return status;
	if (tail->resume) {
		found = cli_position_load(tail->ctx, tail->resume, &tail->stored);
		if (found < 0)
			return CLI_EXIT_FAILED;
		tail->has_stored = found > 0;
	}
	status = cli_out_open(&tail->out, tail->ctx, NULL);
	tail->out_open = status == 0;
	tail->out.stoppable = true;
	tail->row_ns = tail->saved_ns = cli_now_ns();
	return status;
}

static int run(struct cli_ctx *ctx)
{
	struct cli_tail tail = {
		.ctx = ctx, .path = ctx->args[0], .lines = 10, .timeout_ns = -1
	};
	int status = start(&tail), closed = 0;

	if (status == 0) {
		cli_signals_catch();
		status = tail_path(&tail);
	}
	if (status == 0)
		status = cli_tail_end(&tail);
	if (tail.out_open)
		closed = cli_out_close(&tail.out);
	if (tail.out.stopped)
		status = closed = cli_tail_stop(&tail);
	if (tail.writer_open)
		cli_writer_close(&tail.writer);
	tt_file_close(tail.left);
	cli_recent_fini(&tail.recent);
	cli_pick_fini(&tail.pick);
	cli_rowtype_fini(&tail.type);
	free(tail.picked);
	return status ? status : closed;
}

const struct cli_cmd cli_cmd_tail = {
	.name = "tail",
	.args = "PATH [OPTIONS]",
	.brief = "print the last rows, and with -f those that come",
	.more = "With -f or --timeout it waits for PATH to appear.  SIGINT and SIGTERM "
		"end it\n"
		"with status 0 after the position is saved.",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
