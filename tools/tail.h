/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways of tail share: where rows go, what is remembered, when to end. */
#ifndef CLI_TAIL_H
#define CLI_TAIL_H

#include <sys/stat.h>

#include "codec.h"

/* A place that can be stored: of a ring (file name, row from 0 of the file), of a single file
 * the row alone. */
struct cli_position {
	bool in_ring;
	uint64_t file, row;
};

/* 1 read, 0 there is no such file, < 0 said (exit 1). */
int cli_position_load(const struct cli_ctx *ctx, const char *path,
		      struct cli_position *out);
/* Replaces the file atomically; an exit status. */
int cli_position_save(const struct cli_ctx *ctx, const char *path,
		      const struct cli_position *position);

struct cli_tail {
	struct cli_ctx *ctx;
	const char *path;
	uint64_t lines;
	bool follow, from_start, queued;
	const char *resume;
	const char *name; /* to be seen by; "": the program's; NULL: not to be seen */
	enum tt_wait wait;
	int64_t timeout_ns; /* -1: none */
	const char *fields;
	enum cli_format format;

	struct cli_position stored; /* from --resume */
	bool has_stored;
	struct cli_position position; /* behind the rows written last */
	struct cli_position written;  /* behind the rows that have left us */
	bool moved;		      /* since it was saved */
	bool ended;		      /* no more rows will be written */
	struct tt_file *left; /* the single file that is gone from the path, or NULL */
	struct stat left_st;
	int64_t saved_ns, row_ns; /* monotonic: last save, last row (or the start) */

	struct cli_out out;
	bool out_open;
	struct cli_writer writer;
	bool writer_open;
	struct cli_rowtype type; /* of the rows that come */
	struct cli_pick pick;
	char *picked;
	uint64_t picked_rows;
};

/* What to do next: go on, or end with tail->status. */
enum cli_next { CLI_GO_ON = 0, CLI_END = 1, CLI_END_FAILED = 2 };

/* The type of the rows is known: the header line.  The same type again is fine, another one is
 * not.  An exit status. */
int cli_tail_type(struct cli_tail *tail, const struct tt_dtype *dtype, uint32_t rank,
		  const uint64_t *shape);
/* Where the rows to come begin. */
void cli_tail_start(struct cli_tail *tail, struct cli_position position);
/* Write rows; position is behind them.  An exit status. */
int cli_tail_rows(struct cli_tail *tail, const void *rows, uint64_t count,
		  struct cli_position position);
void cli_tail_lost(struct cli_tail *tail, uint64_t count);
/* Whether what is not there yet is waited for. */
bool cli_tail_waits(const struct cli_tail *tail);
/* Nothing new: flush, save when it is time, look at signals and the time-out.  *slice_ns is how
 * long to wait before the next call. */
enum cli_next cli_tail_idle(struct cli_tail *tail, int64_t *slice_ns, int *status);
/* All rows that are there are written: without -f the end, else as cli_tail_idle(). */
enum cli_next cli_tail_drained(struct cli_tail *tail, int64_t *slice_ns, int *status);
/* While rows come without a pause: the same, but cheap and without waiting. */
enum cli_next cli_tail_busy(struct cli_tail *tail, int *status);
/* After the last row: what must follow it, and the position.  An exit status. */
int cli_tail_end(struct cli_tail *tail);
/* Instead of that, when a signal ended it while nobody took the output. */
int cli_tail_stop(struct cli_tail *tail);
/* Sleep for a slice where there is no word to wait on. */
void cli_tail_nap(int64_t ns);

/* CLI_TAIL_AGAIN: the path is something else now; look again what it is. */
#define CLI_TAIL_AGAIN (-1)
int cli_tail_file(struct cli_tail *tail, bool again);
int cli_tail_ring(struct cli_tail *tail, bool again);

#endif
