/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line: rows, rate and time left, on a terminal or with --progress. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cmd.h"

struct cli_progress {
	bool on;
	int64_t started_ns, shown_ns;
	uint64_t total;	  /* 0: not known */
	const char *what; /* "rows" */
};

void cli_progress_init(struct cli_progress *p, const struct cli_ctx *ctx, uint64_t total,
		       const char *what);
void cli_progress_show(struct cli_progress *p, uint64_t done);
/* Take the line away, so that words can be printed in its place. */
void cli_progress_clear(void);
/* The last line stays when it was forced into something that is no terminal. */
void cli_progress_end(struct cli_progress *p, uint64_t done);

int64_t cli_now_ns(void); /* monotonic */

#endif
