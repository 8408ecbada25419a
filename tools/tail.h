/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways of tail share: where rows go, what is remembered, when to end. */
#ifndef CLI_TAIL_H
#define CLI_TAIL_H

#include <sys/stat.h>

#include "codec.h"

/* A place that can be stored: of a ring (file name, row from 0 of the file), of a single file
 * the row alone.  The rest tells whether what lies there later is still the same. */
struct cli_position {
	bool in_ring;
	uint64_t file, row;
	uint64_t number; /* of a ring: of the row in the ring, TT_NUMBER_UNKNOWN */
	bool has_id;
	uint8_t id[16]; /* of the ring */
	uint64_t inode; /* of a single file, 0: not stored */
	int64_t born_ns;
	uint64_t seen_rows, digest; /* of the last rows before row */
};

/* The last rows of a single file that were read. */
#define CLI_RECENT_ROWS 64
struct cli_recent {
	unsigned char *bytes;
	uint64_t row_bytes, room, count;
};
int cli_recent_init(struct cli_recent *recent, uint64_t row_bytes); /* < 0: no memory */
void cli_recent_add(struct cli_recent *recent, const void *rows, uint64_t count);
uint64_t cli_recent_digest(const void *rows, uint64_t bytes);
void cli_recent_fini(struct cli_recent *recent);

/* 1 read, 0 there is no such file, < 0 said (exit 1). */
int cli_position_load(const struct cli_ctx *ctx, const char *path,
		      struct cli_position *out);
/* Replaces the file atomically; an exit status. */
int cli_position_save(const struct cli_ctx *ctx, const char *path,
		      const struct cli_position *position);

/* Whether rows before a stored place of a single file were cut after a power loss
 * (tail_cut.c). */
struct cli_cut_search {
	const char *path;
	const struct cli_position *stored; /* seen_rows at most CLI_RECENT_ROWS and row */
	uint64_t row_bytes;
	const unsigned char *live; /* what is at the rows before the place now, ... */
	uint64_t live_rows;	   /* ... as many as there are */
};
/* *cut_out: the first row that was cut.  *any_out: some were, of this file or one before. */
bool cli_find_cut(const struct cli_cut_search *search, uint64_t *cut_out, bool *any_out);

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
	bool left_cut; /* it was cut to nothing: whatever comes is another */
	struct cli_recent recent;
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
/* Rows that had been visible and were not on disk. */
void cli_tail_cut(struct cli_tail *tail, uint64_t count);
/* more: as many at least. */
void cli_tail_lost(struct cli_tail *tail, uint64_t count, bool more);
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
