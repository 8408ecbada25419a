/* SPDX-License-Identifier: Apache-2.0 */
/* What status and top share: one look at a ring or an archive, and the ways of saying it. */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include <stdio.h>
#include <ticktail/archive.h>
#include <ticktail/status.h>

#include "cmd.h"

struct cli_ring_look {
	struct tt_ring_status now;
	double rows_per_s, bytes_per_s; /* NaN: not known */
};
/* from: an earlier look; rates are those between the two. */
void cli_look_rates(struct cli_ring_look *look, const struct tt_ring_status *from);

/* How a ring does, in one word. */
enum cli_state {
	CLI_STATE_RUNNING, /* a writer, and rows in the last seconds */
	CLI_STATE_IDLE,	   /* a writer, and no rows */
	CLI_STATE_FAILING, /* a writer, and an error since the last row */
	CLI_STATE_STOPPED, /* no writer */
	CLI_STATE_UNKNOWN,
};
enum cli_state cli_ring_state(const struct tt_ring_status *status);
const char *cli_state_word(enum cli_state state);

struct cli_archive_look {
	struct tt_archive_state state;
	int64_t now_ns;
	bool opened; /* what follows is known */
	uint64_t versions, datasets;
	char current[1024]; /* "" for none */
	int64_t current_ns; /* TT_UNKNOWN_NS: not known */
	char notes[1024];
};
const char *cli_journal_word(enum tt_archive_journal journal);

void cli_ring_text(FILE *out, const char *path, const struct cli_ring_look *look);
int cli_ring_json(const struct cli_ctx *ctx, const struct cli_ring_look *look);
void cli_ring_metrics(FILE *out, const char *path, const struct cli_ring_look *look);

void cli_archive_text(FILE *out, const char *path, const struct cli_archive_look *look);
int cli_archive_json(const struct cli_ctx *ctx, const struct cli_archive_look *look);
void cli_archive_metrics(FILE *out, const char *path,
			 const struct cli_archive_look *look);

/* ns since then, at least 0; TT_UNKNOWN_NS when one is not known. */
int64_t cli_age_ns(int64_t now_ns, int64_t then_ns);

/* For people: "1.2 MB", "3 min 20 s", "2026-11-30T01:02:03Z"; "unknown" for what is not
 * known.  In turn from a few buffers, so that a line can hold several. */
const char *cli_human_bytes(double bytes);
const char *cli_human_count(uint64_t count); /* 12_345_678 without the marks */
const char *cli_human_ns(int64_t ns);
const char *cli_human_time(int64_t wall_ns);

#endif
