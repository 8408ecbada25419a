/* SPDX-License-Identifier: Apache-2.0 */
/* A status in words, a line a matter, the state first: a stream that stopped must not look
 * like one that runs. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "status.h"

#define LATELY_NS INT64_C(10000000000)

int64_t cli_age_ns(int64_t now_ns, int64_t then_ns)
{
	int64_t age;

	if (now_ns == TT_UNKNOWN_NS || then_ns == TT_UNKNOWN_NS ||
	    __builtin_sub_overflow(now_ns, then_ns, &age))
		return TT_UNKNOWN_NS;
	return age > 0 ? age : 0;
}

enum cli_state cli_ring_state(const struct tt_ring_status *status)
{
	int64_t age = cli_age_ns(status->now_ns, status->last_write_ns);

	if (status->writer == TT_WRITER_UNKNOWN)
		return CLI_STATE_UNKNOWN;
	if (status->writer == TT_WRITER_NONE)
		return CLI_STATE_STOPPED;
	if (status->error_code != 0 && status->rows_since_error == 0 &&
	    status->error_ns >= status->opened_ns)
		return CLI_STATE_FAILING;
	return age != TT_UNKNOWN_NS && age <= LATELY_NS ? CLI_STATE_RUNNING
							: CLI_STATE_IDLE;
}

const char *cli_state_word(enum cli_state state)
{
	static const char *const words[] = { "running", "idle", "failing", "stopped",
					     "unknown" };

	return words[state];
}

void cli_look_rates(struct cli_ring_look *look, const struct tt_ring_status *from)
{
	const struct tt_ring_status *now = &look->now;
	int64_t ns = cli_age_ns(now->now_ns, from->now_ns);
	bool total = now->rows_total != TT_UNKNOWN && from->rows_total != TT_UNKNOWN;
	uint64_t before = total ? from->rows_total : from->rows,
		 after = total ? now->rows_total : now->rows;

	look->rows_per_s = look->bytes_per_s = NAN;
	/* fewer: files were removed meanwhile, which tells nothing of those that came */
	if (ns <= 0 || after < before)
		return;
	look->rows_per_s = (double)(after - before) / ((double)ns / 1e9);
	if (now->row_bytes != TT_UNKNOWN)
		look->bytes_per_s = look->rows_per_s * (double)now->row_bytes;
}

/* ---- a ring ---- */

static double or_nan(uint64_t value)
{
	return value == TT_UNKNOWN ? NAN : (double)value;
}

static void print_state(FILE *out, const struct tt_ring_status *now)
{
	const char *age = cli_human_ns(cli_age_ns(now->now_ns, now->last_write_ns));
	bool rows = now->last_write_ns != TT_UNKNOWN_NS;

	fprintf(out, "%-17s ", "state");
	switch (cli_ring_state(now)) {
	case CLI_STATE_RUNNING: fprintf(out, "running\n"); break;
	case CLI_STATE_IDLE:
		fprintf(out, "idle: %s%s\n", rows ? "no row for " : "no row yet",
			rows ? age : "");
		break;
	case CLI_STATE_FAILING:
		fprintf(out, "FAILING: %s, and no row since\n", now->error_tag);
		break;
	case CLI_STATE_STOPPED:
		fprintf(out, "STOPPED: no writer%s%s\n", rows ? ", no row for " : "",
			rows ? age : "");
		break;
	case CLI_STATE_UNKNOWN:
		fprintf(out, "unknown: %s\n",
			now->settings_rc == TT_OK || now->settings_rc == -ENOENT
				? "another program writes it, and it keeps no counters"
				: tt_strerror(now->settings_rc));
		break;
	}
}

static void print_writer(FILE *out, const struct tt_ring_status *now)
{
	fprintf(out, "%-17s ", "writer");
	if (now->writer == TT_WRITER_UNKNOWN)
		fprintf(out, "unknown\n");
	else if (now->writer == TT_WRITER_NONE)
		fprintf(out, "none\n");
	else if (now->writer_pid > 0)
		fprintf(out, "pid %" PRId64 ", since %s\n", now->writer_pid,
			cli_human_time(now->opened_ns));
	else
		fprintf(out, "alive, pid unknown\n");
	if (now->last_write_ns == TT_UNKNOWN_NS)
		fprintf(out, "%-17s unknown\n", "last write");
	else
		fprintf(out, "%-17s %s, %s ago\n", "last write",
			cli_human_time(now->last_write_ns),
			cli_human_ns(cli_age_ns(now->now_ns, now->last_write_ns)));
}

static void print_rows(FILE *out, const struct cli_ring_look *look)
{
	const struct tt_ring_status *now = &look->now;

	if (isnan(look->rows_per_s))
		fprintf(out, "%-17s unknown\n", "rate");
	else
		fprintf(out, "%-17s %.0f rows/s, %s/s\n", "rate", look->rows_per_s,
			cli_human_bytes(look->bytes_per_s));
	fprintf(out, "%-17s %s on disk, %s in all\n", "rows", cli_human_count(now->rows),
		cli_human_count(now->rows_total));
	fprintf(out, "%-17s %s of %s rows in %" PRIu64 ".npy\n", "newest file",
		cli_human_count(now->newest_rows), cli_human_count(now->newest_capacity),
		now->newest);
	fprintf(out,
		"%-17s %" PRIu64 " in the queue of %s, %" PRIu64 " that left it, %" PRIu64
		" of them merged; %s\n",
		"files", now->files_queued, cli_human_count(now->keep), now->files_left,
		now->files_merged, cli_human_bytes((double)now->bytes));
}

static void print_space(FILE *out, const struct tt_ring_status *now)
{
	fprintf(out, "%-17s %s free of %s", "disk", cli_human_bytes(or_nan(now->fs_free)),
		cli_human_bytes(or_nan(now->fs_bytes)));
	if (now->limit_holds)
		fprintf(out, "; the ring stays within its limit of %s",
			cli_human_bytes((double)now->max_bytes));
	else if (!isnan(now->days_left))
		fprintf(out, "; %.*f days left at %s a day", now->days_left < 10 ? 1 : 0,
			now->days_left, cli_human_bytes(now->bytes_per_day));
	fputc('\n', out);
}

static void print_sync(FILE *out, const struct tt_ring_status *now)
{
	fprintf(out, "%-17s ", "not on disk yet");
	if (now->unsynced_rows == TT_UNKNOWN)
		fprintf(out, "unknown");
	else if (now->unsynced_rows == 0)
		fprintf(out, "nothing");
	else
		fprintf(out, "%" PRIu64 " rows, %s", now->unsynced_rows,
			cli_human_ns(now->unsynced_ns));
	if (now->sync_ms == TT_SYNC_NONE)
		fprintf(out, "; never synced by ticktail\n");
	else if (now->sync_ms == TT_SYNC_EACH)
		fprintf(out, "; synced at each append\n");
	else if (now->sync_ms > 0)
		fprintf(out, "; synced every %" PRId64 " ms\n", now->sync_ms);
	else
		fputc('\n', out);
}

static void print_hist(FILE *out, const char *name, uint64_t count,
		       const struct tt_status_hist *hist)
{
	if (count == TT_UNKNOWN)
		return;
	fprintf(out, "%-17s %" PRIu64, name, count);
	if (hist->count > 0)
		fprintf(out,
			"; %" PRIu64 " timed: half within %s, 99%% %s, 99.9%% %s, all %s",
			hist->count, cli_human_ns(hist->p50_ns),
			cli_human_ns(hist->p99_ns), cli_human_ns(hist->p999_ns),
			cli_human_ns(hist->max_ns));
	fputc('\n', out);
}

static void print_troubles(FILE *out, const struct tt_ring_status *now)
{
	if (now->errors == TT_UNKNOWN)
		return;
	fprintf(out, "%-17s %" PRIu64, "clock steps", now->clock_steps);
	if (now->clock_steps > 0)
		fprintf(out, ", the last by %s", cli_human_ns(now->clock_step_ns));
	fprintf(out, "\n%-17s %" PRIu64 "\n", "repairs", now->repairs);
	fprintf(out, "%-17s %" PRIu64 "; %" PRIu64 " syncs failed\n", "errors",
		now->errors, now->sync_failures);
	if (now->error_code != 0)
		fprintf(out, "%-17s %s %s ago: %s\n", "last error", now->error_tag,
			cli_human_ns(cli_age_ns(now->now_ns, now->error_ns)),
			now->error_text);
}

static void print_damage(FILE *out, const struct tt_ring_status *now)
{
	for (size_t i = 0; i < now->damage_count; i++)
		fprintf(out, "%-17s %s: %s\n", i == 0 ? "DAMAGE" : "",
			now->damage[i].file_name, now->damage[i].text);
}

static void print_readers(FILE *out, const struct tt_ring_status *now)
{
	if (now->settings_rc != TT_OK)
		return;
	fprintf(out, "%-17s %zu\n", "readers", now->reader_count);
	for (size_t i = 0; i < now->reader_count; i++) {
		const struct tt_status_reader *reader = &now->readers[i];

		fprintf(out, "  %s  pid %u%s  ", reader->name, reader->pid,
			reader->alive ? "" : " (DEAD)");
		if (reader->lag_rows == 0)
			fprintf(out, "has read all");
		else
			fprintf(out, "%s rows behind, %s",
				cli_human_count(reader->lag_rows),
				cli_human_ns(reader->lag_ns));
		if (reader->lost > 0)
			fprintf(out, "  LOST %" PRIu64 " rows", reader->lost);
		if (!reader->alive)
			fprintf(out, "  last seen %s ago",
				cli_human_ns(cli_age_ns(now->now_ns, reader->seen_ns)));
		fputc('\n', out);
	}
}

void cli_ring_text(FILE *out, const char *path, const struct cli_ring_look *look)
{
	const struct tt_ring_status *now = &look->now;

	fprintf(out, "%-17s %s\n", "ring", path);
	print_state(out, now);
	print_writer(out, now);
	print_rows(out, look);
	print_space(out, now);
	print_sync(out, now);
	print_hist(out, "appends", now->count_appends, &now->append);
	print_hist(out, "rolls", now->rolls, &now->roll);
	print_hist(out, "syncs", now->syncs, &now->sync);
	print_hist(out, "wakes", now->wakes, &now->wake);
	print_troubles(out, now);
	print_damage(out, now);
	print_readers(out, now);
}

/* ---- an archive ---- */

const char *cli_journal_word(enum tt_archive_journal journal)
{
	static const char *const words[] = { "none", "finished", "pending", "stale",
					     "damaged" };

	return words[journal];
}

void cli_archive_text(FILE *out, const char *path, const struct cli_archive_look *look)
{
	const struct tt_archive_state *state = &look->state;

	fprintf(out, "%-17s %s\n", "archive", path);
	fprintf(out, "%-17s ", "writer");
	if (!state->writing)
		fprintf(out, "none\n");
	else if (state->writer_pid > 0)
		fprintf(out, "pid %" PRId64 "\n", state->writer_pid);
	else
		fprintf(out, "alive, pid unknown\n");
	if (look->opened) {
		fprintf(out, "%-17s %" PRIu64 "\n", "versions", look->versions);
		fprintf(out, "%-17s %s", "current",
			look->current[0] ? look->current : "none");
		if (look->current_ns != TT_UNKNOWN_NS)
			fprintf(out, ", of %s, %s old", cli_human_time(look->current_ns),
				cli_human_ns(cli_age_ns(look->now_ns, look->current_ns)));
		fprintf(out, "\n%-17s %" PRIu64 "\n", "datasets", look->datasets);
	} else {
		fprintf(out, "%-17s unknown while a commit runs\n", "versions");
	}
	fprintf(out, "%-17s %s\n", "bytes", cli_human_bytes((double)state->bytes));
	fprintf(out, "%-17s %s free of %s\n", "disk",
		cli_human_bytes((double)state->fs_free),
		cli_human_bytes((double)state->fs_bytes));
	fprintf(out, "%-17s %s", "journal", cli_journal_word(state->journal));
	if (state->journal_bytes > 0)
		fprintf(out, ", %s", cli_human_bytes((double)state->journal_bytes));
	fputc('\n', out);
	if (look->notes[0])
		fprintf(out, "%-17s %s\n", "note", look->notes);
}
