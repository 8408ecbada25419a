/* SPDX-License-Identifier: Apache-2.0 */
/* Input.  A caught SIGINT or SIGTERM ends it too, but not as its own end does: the last line
 * may be cut. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "signals.h"

#define FIRST_BYTES 262144
#define IDLE_MS 100

int cli_in_open(struct cli_in *in, const struct cli_ctx *ctx, const char *path)
{
	struct stat st;

	*in = (struct cli_in){ .ctx = ctx, .fd = STDIN_FILENO, .name = "stdin" };
	if (path && strcmp(path, "-") != 0) {
		in->name = path;
		in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (in->fd < 0)
			return cli_fail_code(ctx, path, -errno);
	}
	if (fstat(in->fd, &st) < 0)
		return cli_fail_code(ctx, in->name, -errno);
	if (S_ISDIR(st.st_mode))
		return cli_fail(ctx, "%s: is a directory, not rows to read", in->name);
	in->regular = S_ISREG(st.st_mode);
	in->size = FIRST_BYTES;
	in->buf = malloc(in->size);
	return in->buf ? 0 : cli_fail_memory(ctx);
}

void cli_in_close(struct cli_in *in)
{
	free(in->buf);
	if (in->fd > STDERR_FILENO)
		close(in->fd);
	*in = (struct cli_in){ .fd = -1 };
}

/* Free room behind the bytes held. */
static bool make_room(struct cli_in *in)
{
	if (in->from == in->to)
		in->from = in->to = 0;
	if (in->to < in->size)
		return true;
	if (in->from > in->size / 2) {
		memmove(in->buf, in->buf + in->from, cli_in_held(in));
		in->to -= in->from;
		in->from = 0;
		return true;
	}
	if (in->size <= SIZE_MAX / 2) {
		char *grown = realloc(in->buf, in->size * 2);

		if (grown) {
			in->buf = grown;
			in->size *= 2;
			return true;
		}
	}
	cli_fail_code(in->ctx, in->name, -ENOMEM);
	return false;
}

static enum cli_fill fail(struct cli_in *in, int code)
{
	cli_fail_code(in->ctx, in->name, code);
	in->end = true;
	return CLI_FILL_FAILED;
}

/* Until there is something to read (also the end): MORE; NONE only when !wait. */
static enum cli_fill wait_readable(struct cli_in *in, bool wait)
{
	struct pollfd poller = { .fd = in->fd, .events = POLLIN };

	for (;;) {
		int rc = poll(&poller, 1, wait ? IDLE_MS : 0);

		if (cli_signals_seen())
			return CLI_FILL_STOPPED;
		if (rc < 0 && errno != EINTR)
			return fail(in, -errno);
		if (rc > 0)
			return CLI_FILL_MORE;
		if (!wait)
			return CLI_FILL_NONE;
		if (in->idle)
			in->idle(in->idle_arg);
	}
}

enum cli_fill cli_in_fill(struct cli_in *in, bool wait)
{
	ssize_t got;

	if (cli_signals_seen())
		return CLI_FILL_STOPPED;
	if (in->end)
		return CLI_FILL_END;
	if (!make_room(in))
		return CLI_FILL_FAILED;
	do {
		enum cli_fill ready =
			in->regular ? CLI_FILL_MORE : wait_readable(in, wait);

		if (ready != CLI_FILL_MORE)
			return ready;
		got = read(in->fd, in->buf + in->to, in->size - in->to);
	} while (got < 0 && (errno == EINTR || (errno == EAGAIN && wait)));
	if (got < 0 && errno == EAGAIN)
		return CLI_FILL_NONE;
	if (got < 0)
		return fail(in, -errno);
	if (got == 0) {
		in->end = true;
		return CLI_FILL_END;
	}
	in->to += (size_t)got;
	return CLI_FILL_MORE;
}

enum cli_fill cli_in_hold(struct cli_in *in, size_t n)
{
	enum cli_fill fill = CLI_FILL_MORE;

	while (cli_in_held(in) < n && fill == CLI_FILL_MORE)
		fill = cli_in_fill(in, true);
	return cli_in_held(in) >= n ? CLI_FILL_MORE : fill;
}
