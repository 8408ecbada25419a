/* SPDX-License-Identifier: Apache-2.0 */
/* Where results go: stdout, or a file that is there whole or not at all. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cmd.h"

struct cli_out {
	const struct cli_ctx *ctx;
	int fd;
	const char *name; /* for messages */
	char *buf;
	size_t used;
	uint64_t written;	 /* bytes before those */
	int status;		 /* once a write failed, nothing more is tried */
	bool stoppable, stopped; /* by a caught signal, when the reader takes nothing */
	char *tmp;		 /* renamed to path by close; NULL: written in place */
	char *path;
};

/* path NULL or "-": stdout.  A regular file, or one that is not there yet, appears under its
 * name only at cli_out_close(); pipes and devices are written as they are.  An exit status. */
int cli_out_open(struct cli_out *out, const struct cli_ctx *ctx, const char *path);
void cli_out_put(struct cli_out *out, const void *bytes, size_t n);
void cli_out_printf(struct cli_out *out, const char *fmt, ...) CLI_PRINTF(2, 3);
/* Room for n bytes in the buffer itself, of which cli_out_took() says how many were filled;
 * n is at most CLI_OUT_ROOM. */
#define CLI_OUT_ROOM 65536
char *cli_out_room(struct cli_out *out, size_t n);
static inline void cli_out_took(struct cli_out *out, size_t n)
{
	out->used += n;
}
int cli_out_flush(struct cli_out *out); /* the exit status so far */
/* Flush, sync and rename; 1 after a failed write was said. */
int cli_out_close(struct cli_out *out);
void cli_out_abort(
	struct cli_out *out); /* forget the file; after close it does nothing */

/* All of it into a descriptor, whatever interrupts; 0 or a negative errno. */
int cli_write_all(int fd, const void *bytes, size_t n);

/* One line on stdout, unless -q: what a command did.  An exit status. */
int cli_say(const struct cli_ctx *ctx, const char *fmt, ...) CLI_PRINTF(2, 3);
/* One line of --help. */
void cli_help_option(struct cli_out *out, const struct cli_option *option);

#endif
