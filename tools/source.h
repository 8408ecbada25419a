/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a PATH, whatever it is, counted from 0 at its oldest: a file, a ring across its
 * files, datasets of an archive's version one behind the other.  What is there at open is what
 * is read. */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include "cmd.h"
#include "rowtype.h"

struct cli_source_opts {
	const char *dataset; /* NULL unless given */
	const char *version, *as_of;
	bool queued; /* rings: only files in the queue */
	const char
		*fields; /* --fields, which types of several datasets need only share */
};

struct cli_source;
struct cli_source_ops {
	int (*get)(struct cli_source *source, uint64_t first, uint64_t max,
		   const void **rows, uint64_t *count);
	void (*close)(struct cli_source *source);
};

struct cli_source {
	const struct cli_source_ops *ops;
	const struct cli_ctx *ctx;
	const char *path;
	uint64_t total;
	/* of the rows given last, of the oldest ones before; datasets may differ in it */
	const struct cli_rowtype *type;
	unsigned serial;     /* changes when *type does */
	uint64_t batch_rows; /* rows that are best fetched at once */
};

/* An exit status. */
int cli_source_open(struct cli_source **out, const struct cli_ctx *ctx, const char *path,
		    const struct cli_source_opts *opts);
/* 1 to max rows from first on, which must be < total; *rows lives until the next call.  An exit
 * status. */
int cli_source_get(struct cli_source *source, uint64_t first, uint64_t max,
		   const void **rows, uint64_t *count);
void cli_source_close(struct cli_source *source); /* accepts NULL */

/* A live file or .npy as it is now, whoever may be writing it, and what it is.  A code with err;
 * *file is NULL after a failure. */
int cli_file_open(struct tt_file **file, struct tt_file_info *info, const char *path,
		  struct tt_error *err);

int cli_file_source(struct cli_source **out, const struct cli_source *head);
int cli_ring_source(struct cli_source **out, const struct cli_source *head, bool queued);
int cli_archive_source(struct cli_source **out, const struct cli_source *head,
		       const struct cli_source_opts *opts);

#define CLI_BATCH_BYTES ((size_t)1 << 20) /* rows are fetched in about so many bytes */

#endif
