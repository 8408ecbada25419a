/* SPDX-License-Identifier: Apache-2.0 */
/* A path that rows are appended to: a live file or a ring, behind one face. */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H

#include "cmd.h"
#include "rowtype.h"

struct cli_live_opts {
	int64_t sync_ms; /* INT64_MIN: as the ring has it, none for a file */
	int64_t wake_us;
	bool grow; /* a full file grows */
	bool force_network_fs;
};

struct cli_live {
	const struct cli_ctx *ctx;
	const char *path;
	struct tt_file *file; /* one of the two */
	struct tt_ring_writer *ring;
	struct cli_rowtype type;
	struct cli_live_opts opts;
	/* A misaligned tail has no word that the library's threads could look at: between rows
	 * nobody else would sync the file in time. */
	bool syncs_itself, dirty;
	int64_t synced_ns;
};

/* An exit status. */
int cli_live_open(struct cli_live *live, const struct cli_ctx *ctx, const char *path,
		  const struct cli_live_opts *opts);
void cli_live_close(struct cli_live *live);
/* Append up to count rows; *done less than count: a file without room.  An exit status. */
int cli_live_append(struct cli_live *live, const void *rows, uint64_t count,
		    uint64_t *done);
/* What must happen in time although no row comes. */
int cli_live_idle(struct cli_live *live);
int cli_live_sync(struct cli_live *live);

#endif
