/* SPDX-License-Identifier: Apache-2.0 */
/* A status as metrics, in the text format 0.0.4 of Prometheus.  What is not known has no
 * sample.  Histograms are untyped: a typed one must tell the sum of its times, which nobody
 * keeps; histogram_quantile() takes the buckets as they are. */
#include <inttypes.h>
#include <math.h>

#include "status.h"

struct metrics {
	FILE *out;
	const char *kind, *path; /* the label of every sample */
};

/* A label's value: backslash, quote and line feed are escaped. */
static void put_label(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			fputc('\\', out);
		if (*value == '\n')
			fputs("\\n", out);
		else
			fputc(*value, out);
	}
	fputc('"', out);
}

static void begin(const struct metrics *m, const char *name, const char *type,
		  const char *help)
{
	fprintf(m->out, "# HELP ticktail_%s %s\n# TYPE ticktail_%s %s\n", name, help,
		name, type);
}

static void put_name(const struct metrics *m, const char *name)
{
	fprintf(m->out, "ticktail_%s{", name);
	put_label(m->out, m->kind, m->path);
}

static void put_u64(const struct metrics *m, const char *name, const char *type,
		    const char *help, uint64_t value)
{
	if (value == TT_UNKNOWN)
		return;
	begin(m, name, type, help);
	put_name(m, name);
	fprintf(m->out, "} %" PRIu64 "\n", value);
}

static void put_double(const struct metrics *m, const char *name, const char *help,
		       double value)
{
	if (!isfinite(value))
		return;
	begin(m, name, "gauge", help);
	put_name(m, name);
	fprintf(m->out, "} %.17g\n", value);
}

static double seconds(int64_t ns)
{
	return ns == TT_UNKNOWN_NS ? NAN : (double)ns / 1e9;
}

/* ---- a ring ---- */

static void put_writer(const struct metrics *m, const struct tt_ring_status *now)
{
	if (now->writer != TT_WRITER_UNKNOWN)
		put_u64(m, "writer_alive", "gauge",
			"1 while a process holds the writer lock.",
			now->writer == TT_WRITER_ALIVE);
	put_double(m, "opened_timestamp_seconds", "When the last writer opened.",
		   seconds(now->opened_ns));
	put_double(m, "last_write_timestamp_seconds", "When the last row came.",
		   seconds(now->last_write_ns));
	put_double(m, "last_write_age_seconds", "How long ago that was.",
		   seconds(cli_age_ns(now->now_ns, now->last_write_ns)));
}

static void put_rows(const struct metrics *m, const struct tt_ring_status *now)
{
	put_u64(m, "rows", "gauge", "Rows on disk.", now->rows);
	put_u64(m, "rows_total", "counter", "Rows that the ring ever had.",
		now->rows_total);
	put_u64(m, "row_bytes", "gauge", "Bytes of a row.", now->row_bytes);
	put_u64(m, "newest_file_rows", "gauge", "Rows in the file that takes rows.",
		now->newest_rows);
	put_u64(m, "newest_file_capacity_rows", "gauge", "Rows that fit that file.",
		now->newest_capacity);
	begin(m, "files", "gauge", "Files of the ring.");
	put_name(m, "files");
	fprintf(m->out, ",state=\"queued\"} %" PRIu64 "\n", now->files_queued);
	put_name(m, "files");
	fprintf(m->out, ",state=\"left\"} %" PRIu64 "\n",
		now->files_left - now->files_merged);
	put_name(m, "files");
	fprintf(m->out, ",state=\"merged\"} %" PRIu64 "\n", now->files_merged);
}

static void put_space(const struct metrics *m, const struct tt_ring_status *now)
{
	put_u64(m, "bytes", "gauge", "Bytes that the files take on disk.", now->bytes);
	if (now->max_bytes > 0)
		put_u64(m, "limit_bytes", "gauge", "The limit of the ring.",
			now->max_bytes);
	put_u64(m, "disk_bytes", "gauge", "Size of the file system.", now->fs_bytes);
	put_u64(m, "disk_free_bytes", "gauge", "Free on it for its users.", now->fs_free);
	put_double(m, "growth_bytes_per_second", "Growth by the files of the last week.",
		   now->bytes_per_day / 86400);
	put_double(m, "disk_left_seconds", "Until the file system is full at that rate.",
		   now->days_left * 86400);
}

static void put_counters(const struct metrics *m, const struct tt_ring_status *now)
{
	put_double(m, "last_sync_timestamp_seconds", "When rows were synced last.",
		   seconds(now->last_sync_ns));
	put_u64(m, "unsynced_rows", "gauge", "Rows that power loss may take.",
		now->unsynced_rows);
	put_double(m, "unsynced_seconds", "How old the oldest of them may be.",
		   seconds(now->unsynced_ns));
	put_u64(m, "written_rows_total", "counter", "Rows appended by ticktail.",
		now->count_rows);
	put_u64(m, "written_bytes_total", "counter", "Bytes of them.", now->count_bytes);
	put_u64(m, "appends_total", "counter", "Calls of append.", now->count_appends);
	put_u64(m, "rolls_total", "counter", "Files begun.", now->rolls);
	put_u64(m, "wakes_total", "counter", "Wake-ups of readers.", now->wakes);
	put_u64(m, "syncs_total", "counter", "Syncs that worked.", now->syncs);
	put_u64(m, "sync_failures_total", "counter", "Syncs that failed.",
		now->sync_failures);
	put_u64(m, "prepared_files_total", "counter", "Next files made ahead.",
		now->prepared);
	put_u64(m, "clock_steps_total", "counter", "Times the clock was set back.",
		now->clock_steps);
	put_u64(m, "repairs_total", "counter", "Opens that found something half done.",
		now->repairs);
	put_u64(m, "errors_total", "counter", "Failures of the writer.", now->errors);
	if (now->error_code == 0)
		return;
	put_u64(m, "rows_since_last_error", "gauge",
		"Rows that came since it failed last.", now->rows_since_error);
	begin(m, "last_error_timestamp_seconds", "gauge",
	      "When it failed last, and how.");
	put_name(m, "last_error_timestamp_seconds");
	fputc(',', m->out);
	put_label(m->out, "tag", now->error_tag);
	fprintf(m->out, "} %.17g\n", seconds(now->error_ns));
}

static void put_damage(const struct metrics *m, const struct tt_ring_status *now)
{
	put_u64(m, "damaged_files", "gauge", "Files that cannot be read.",
		now->damage_count);
	if (now->damage_count == 0)
		return;
	begin(m, "damaged", "gauge", "1 for each of them.");
	for (size_t i = 0; i < now->damage_count; i++) {
		put_name(m, "damaged");
		fputc(',', m->out);
		put_label(m->out, "file", now->damage[i].file_name);
		fputs("} 1\n", m->out);
	}
}

static void put_hist(const struct metrics *m, const char *name, const char *help,
		     const struct tt_status_hist *hist)
{
	uint64_t sum = 0;
	char bucket[64];
	unsigned last = 64;

	while (last > 0 && hist->bucket[last - 1] == 0)
		last--;
	snprintf(bucket, sizeof(bucket), "%s_seconds_bucket", name);
	begin(m, bucket, "untyped", help);
	for (unsigned i = 0; i < last; i++) {
		if (__builtin_add_overflow(sum, hist->bucket[i], &sum))
			sum = UINT64_MAX;
		put_name(m, bucket);
		fprintf(m->out, ",le=\"%.10g\"} %" PRIu64 "\n",
			ldexp(1, (int)i + 1) / 1e9, sum);
	}
	put_name(m, bucket);
	fprintf(m->out, ",le=\"+Inf\"} %" PRIu64 "\n", sum);
}

/* ---- readers ---- */

static void reader_name(const struct metrics *m, const char *name,
			const struct tt_status_reader *reader)
{
	put_name(m, name);
	fputc(',', m->out);
	put_label(m->out, "reader", reader->name);
	fprintf(m->out, ",pid=\"%u\",slot=\"%u\"} ", reader->pid, reader->slot);
}

static void put_reader_u64(const struct metrics *m, const char *name,
			   const struct tt_status_reader *reader, uint64_t value)
{
	if (value == TT_UNKNOWN)
		return;
	reader_name(m, name, reader);
	fprintf(m->out, "%" PRIu64 "\n", value);
}

static void put_reader_ns(const struct metrics *m, const char *name,
			  const struct tt_status_reader *reader, int64_t ns)
{
	if (ns == TT_UNKNOWN_NS)
		return;
	reader_name(m, name, reader);
	fprintf(m->out, "%.17g\n", seconds(ns));
}

static void put_readers(const struct metrics *m, const struct tt_ring_status *now)
{
	const struct tt_status_reader *end = now->readers + now->reader_count, *r;

	if (now->reader_count == 0)
		return;
	begin(m, "reader_alive", "gauge", "1 while the reader's process lives.");
	for (r = now->readers; r < end; r++)
		put_reader_u64(m, "reader_alive", r, r->alive);
	begin(m, "reader_lag_rows", "gauge", "Rows it has not read.");
	for (r = now->readers; r < end; r++)
		put_reader_u64(m, "reader_lag_rows", r, r->lag_rows);
	begin(m, "reader_lag_seconds", "gauge", "No row it has not read is older.");
	for (r = now->readers; r < end; r++)
		put_reader_ns(m, "reader_lag_seconds", r, r->lag_ns);
	begin(m, "reader_lost_rows_total", "counter", "Rows it was told it lost.");
	for (r = now->readers; r < end; r++)
		put_reader_u64(m, "reader_lost_rows_total", r, r->lost);
	begin(m, "reader_seen_timestamp_seconds", "gauge", "When it said so last.");
	for (r = now->readers; r < end; r++)
		put_reader_ns(m, "reader_seen_timestamp_seconds", r, r->seen_ns);
}

void cli_ring_metrics(FILE *out, const char *path, const struct cli_ring_look *look)
{
	const struct tt_ring_status *now = &look->now;
	const struct metrics m = { out, "ring", path };

	put_writer(&m, now);
	put_rows(&m, now);
	put_space(&m, now);
	put_counters(&m, now);
	put_damage(&m, now);
	if (now->settings_rc == TT_OK) {
		put_hist(&m, "append", "Appends that did more than store rows.",
			 &now->append);
		put_hist(&m, "roll", "Rolls, by the time they took.", &now->roll);
		put_hist(&m, "sync", "Syncs, by the time they took.", &now->sync);
		put_hist(&m, "wake", "Wake-ups, by the time they took.", &now->wake);
	}
	put_readers(&m, now);
}

/* ---- an archive ---- */

void cli_archive_metrics(FILE *out, const char *path, const struct cli_archive_look *look)
{
	const struct tt_archive_state *state = &look->state;
	const struct metrics m = { out, "archive", path };

	put_u64(&m, "archive_writing", "gauge", "1 while a run holds the archive.",
		state->writing);
	put_u64(&m, "archive_bytes", "gauge", "Length of the file.", state->bytes);
	put_u64(&m, "archive_disk_bytes", "gauge", "Size of the file system.",
		state->fs_bytes ? state->fs_bytes : TT_UNKNOWN);
	put_u64(&m, "archive_disk_free_bytes", "gauge", "Free on it for its users.",
		state->fs_bytes ? state->fs_free : TT_UNKNOWN);
	put_u64(&m, "archive_journal_bytes", "gauge", "Length of the journal.",
		state->journal_bytes);
	begin(&m, "archive_journal", "gauge", "1 for the state of the journal.");
	for (int i = TT_JOURNAL_NONE; i <= TT_JOURNAL_DAMAGED; i++) {
		put_name(&m, "archive_journal");
		fprintf(out, ",state=\"%s\"} %d\n",
			cli_journal_word((enum tt_archive_journal)i),
			state->journal == (enum tt_archive_journal)i);
	}
	if (!look->opened)
		return;
	put_u64(&m, "archive_versions", "gauge", "Versions.", look->versions);
	put_u64(&m, "archive_datasets", "gauge", "Datasets of the current version.",
		look->datasets);
	put_double(&m, "archive_current_timestamp_seconds",
		   "Time of the current version.", seconds(look->current_ns));
}
