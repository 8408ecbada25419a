/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of INPUT or stdin through a buffer, without waiting longer than the caller wants: rows
 * that are complete are published while the feed pauses. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "cmd.h"

enum cli_fill {
	CLI_FILL_MORE = 1,     /* there are new bytes */
	CLI_FILL_NONE = 0,     /* none for now */
	CLI_FILL_END = -1,     /* no more will come */
	CLI_FILL_STOPPED = -2, /* by a signal: what is held may be cut anywhere */
	CLI_FILL_FAILED = -3,  /* said */
};

struct cli_in {
	const struct cli_ctx *ctx;
	int fd;
	const char *name;
	bool regular;
	bool end;
	char *buf;
	size_t size, from, to; /* the bytes not yet used: buf[from..to) */
	/* called about every 100 ms while nothing comes; may be NULL */
	void (*idle)(void *arg);
	void *idle_arg;
};

/* path NULL or "-": stdin.  An exit status. */
int cli_in_open(struct cli_in *in, const struct cli_ctx *ctx, const char *path);
void cli_in_close(struct cli_in *in); /* accepts a zeroed one */
/* Read more bytes behind those that are there (the buffer grows when it is full of them). */
enum cli_fill cli_in_fill(struct cli_in *in, bool wait);
/* Wait until n bytes are held: MORE, or why they will not be. */
enum cli_fill cli_in_hold(struct cli_in *in, size_t n);
static inline size_t cli_in_held(const struct cli_in *in)
{
	return in->to - in->from;
}

#endif
