/* SPDX-License-Identifier: Apache-2.0 */
/* Buffered output.  Invariant: a failed write is said once, is remembered in status, and makes
 * the run fail however it ends; a file asked for by name is never seen half written. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "signals.h"

#define STOP_MS 500
#define BUFFER (2 * CLI_OUT_ROOM)

/* Results never take the place of a store: whoever has it open would go on in a file without
 * a name, and what it holds may be what is being read. */
static int refuse_store(const struct cli_out *out, const char *path)
{
	enum tt_path_kind kind;
	struct tt_error err;

	if (tt_path_kind(path, &kind, &err) < 0 || kind == TT_PATH_NPY)
		return 0;
	return cli_fail(
		out->ctx,
		"%s: is %s: results do not replace it; name another file, or remove "
		"it first",
		path, kind == TT_PATH_ARCHIVE ? "an archive" : "a live file");
}

static int open_file(struct cli_out *out, const char *path)
{
	struct stat st;
	bool there = stat(path, &st) == 0;

	if (there && S_ISDIR(st.st_mode))
		return cli_fail(out->ctx, "%s: is a directory: name a file in it", path);
	if (there && !S_ISREG(st.st_mode)) {
		out->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return out->fd < 0 ? cli_fail_output(out->ctx, path, -errno) : 0;
	}
	if (there && refuse_store(out, path))
		return CLI_EXIT_FAILED;
	out->path = there ? realpath(path, NULL) : strdup(path); /* a link stays a link */
	if (!out->path || asprintf(&out->tmp, "%s.XXXXXX", out->path) < 0) {
		out->tmp = NULL;
		return cli_fail_memory(out->ctx);
	}
	out->fd = mkostemp(out->tmp, O_CLOEXEC);
	if (out->fd < 0) {
		int code = -errno;

		free(out->tmp);
		out->tmp = NULL;
		return cli_fail_output(out->ctx, path, code);
	}
	if (!there) {
		mode_t mask = umask(0);

		umask(mask);
		st.st_mode = 0666 & ~mask;
	}
	return fchmod(out->fd, st.st_mode & 0777) < 0
		       ? cli_fail_code(out->ctx, path, -errno)
		       : 0;
}

int cli_out_open(struct cli_out *out, const struct cli_ctx *ctx, const char *path)
{
	int status = 0;

	*out = (struct cli_out){ .ctx = ctx, .fd = STDOUT_FILENO, .name = "stdout" };
	if (path && strcmp(path, "-") != 0) {
		out->name = path;
		out->fd = -1;
		status = open_file(out, path);
	}
	if (status == 0) {
		out->buf = malloc(BUFFER);
		if (!out->buf)
			status = cli_fail_memory(ctx);
	}
	if (status != 0)
		cli_out_abort(out);
	out->status = status;
	return status;
}

int cli_write_all(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n > 0) {
		ssize_t put = write(fd, at, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		at += put;
		n -= (size_t)put;
	}
	return 0;
}

/* As cli_write_all(), but once a signal was caught only what the reader takes without letting
 * us wait long; *stopped when that is not all. */
static int write_stoppable(struct cli_out *out, const char *at, size_t n)
{
	struct pollfd poller = { .fd = out->fd, .events = POLLOUT };

	while (n > 0) {
		bool seen = cli_signals_seen() != 0;
		ssize_t put;

		if (seen && poll(&poller, 1, STOP_MS) == 0) {
			out->stopped = true;
			return -EINTR;
		}
		/* a pipe that polls as ready takes so much at once */
		put = write(out->fd, at, seen && n > PIPE_BUF ? PIPE_BUF : n);
		if (put < 0 && errno != EINTR)
			return -errno;
		if (put > 0) {
			at += put;
			n -= (size_t)put;
		}
	}
	return 0;
}

static int fail_write(const struct cli_out *out, int code, size_t n)
{
	char *where;
	int status;

	if (code == -EBADF)
		return cli_fail(out->ctx, "%s: is closed", out->name);
	if (asprintf(&where, "%s: after %llu bytes", out->name,
		     (unsigned long long)out->written) < 0)
		return cli_fail_memory(out->ctx);
	status = cli_fail_space(out->ctx, code, out->written ? where : out->name, out->fd,
				n);
	free(where);
	return status;
}

static void write_out(struct cli_out *out, const char *at, size_t n)
{
	int rc = 0;

	if (out->status == 0)
		rc = out->stoppable ? write_stoppable(out, at, n)
				    : cli_write_all(out->fd, at, n);
	if (out->stopped) {
		out->status = CLI_EXIT_FAILED;
		return;
	}
	/* a reader that went away is no news */
	if (rc < 0)
		out->status = rc == -EPIPE ? CLI_EXIT_FAILED : fail_write(out, rc, n);
	else
		out->written += n;
}

int cli_out_flush(struct cli_out *out)
{
	size_t n = out->used;

	out->used = 0;
	write_out(out, out->buf, n);
	return out->status;
}

void cli_out_put(struct cli_out *out, const void *bytes, size_t n)
{
	if (n > BUFFER - out->used)
		cli_out_flush(out);
	if (n >= BUFFER) {
		write_out(out, bytes, n);
		return;
	}
	memcpy(out->buf + out->used, bytes, n);
	out->used += n;
}

char *cli_out_room(struct cli_out *out, size_t n)
{
	if (n > BUFFER - out->used)
		cli_out_flush(out);
	return out->buf + out->used;
}

void cli_out_printf(struct cli_out *out, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		out->status = cli_fail_memory(out->ctx);
		return;
	}
	cli_out_put(out, text, (size_t)n);
	free(text);
}

static void finish_file(struct cli_out *out)
{
	if (fsync(out->fd) < 0 && errno != EINVAL && errno != EROFS)
		out->status = cli_fail_code(out->ctx, out->name, -errno);
	if (out->status == 0 && rename(out->tmp, out->path) < 0)
		out->status = cli_fail_code(out->ctx, out->name, -errno);
	if (out->status == 0) {
		free(out->tmp);
		out->tmp = NULL;
	}
}

int cli_out_close(struct cli_out *out)
{
	int status;

	if (out->buf)
		cli_out_flush(out);
	if (out->status == 0 && out->tmp)
		finish_file(out);
	/* some file systems report a failed write only here */
	if (out->fd >= 0 && close(out->fd) < 0 && out->status == 0 && errno != EINTR)
		out->status = cli_fail_code(out->ctx, out->name, -errno);
	out->fd = -1;
	status = out->status;
	cli_out_abort(out);
	return status;
}

void cli_out_abort(struct cli_out *out)
{
	if (out->tmp)
		unlink(out->tmp);
	if (out->fd > STDERR_FILENO)
		close(out->fd);
	free(out->tmp);
	free(out->path);
	free(out->buf);
	out->fd = -1;
	out->tmp = out->path = out->buf = NULL;
}

int cli_say(const struct cli_ctx *ctx, const char *fmt, ...)
{
	struct cli_out out;
	char text[512];
	va_list ap;
	int status;

	if (ctx->quiet)
		return 0;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	status = cli_out_open(&out, ctx, NULL);
	if (status)
		return status;
	cli_out_printf(&out, "%s\n", text);
	return cli_out_close(&out);
}
