/* SPDX-License-Identifier: Apache-2.0 */
/* A status as one JSON document: what is not known is null, times are RFC 3339, durations
 * seconds. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "json_doc.h"
#include "status.h"

static void put_u64(cli_json *object, const char *key, uint64_t value)
{
	if (value == TT_UNKNOWN)
		cli_json_null(object, key);
	else
		cli_json_u64(object, key, value);
}

static void put_double(cli_json *object, const char *key, double value)
{
	char text[32];

	/* nine digits: what a clock gives, without the noise of binary fractions */
	snprintf(text, sizeof(text), "%.9g", value);
	json_object_object_add(object, key,
			       isfinite(value) ? json_object_new_double_s(value, text)
					       : NULL);
}

static void put_seconds(cli_json *object, const char *key, int64_t ns)
{
	put_double(object, key, ns == TT_UNKNOWN_NS ? NAN : (double)ns / 1e9);
}

static void put_time(cli_json *object, const char *key, int64_t wall_ns)
{
	char text[TT_TIME_TEXT];

	if (wall_ns == TT_UNKNOWN_NS) {
		cli_json_null(object, key);
		return;
	}
	tt_time_format(text, wall_ns, TT_UNIT_ns, 1);
	cli_json_text(object, key, text);
}

static void add(cli_json *object, const char *key, cli_json *value)
{
	json_object_object_add(object, key, value);
}

/* 0: there is no writer; null: one who cannot be told, as in info. */
static void put_writer(cli_json *document, const struct tt_ring_status *now)
{
	cli_json_text(document, "state", cli_state_word(cli_ring_state(now)));
	if (now->writer == TT_WRITER_UNKNOWN)
		cli_json_null(document, "writer_alive");
	else
		cli_json_bool(document, "writer_alive", now->writer == TT_WRITER_ALIVE);
	if (now->writer == TT_WRITER_NONE || now->writer_pid > 0)
		cli_json_i64(document, "writer_pid", now->writer_pid);
	else
		cli_json_null(document, "writer_pid");
	put_time(document, "opened", now->opened_ns);
	put_time(document, "last_write", now->last_write_ns);
	put_seconds(document, "last_write_age_s",
		    cli_age_ns(now->now_ns, now->last_write_ns));
}

static cli_json *newest_object(const struct tt_ring_status *now)
{
	cli_json *object = json_object_new_object();
	char name
		[32]; /* as info says it: readers of JSON round numbers as large as this */

	snprintf(name, sizeof(name), "%llu.npy", (unsigned long long)now->newest);
	if (now->newest)
		cli_json_text(object, "name", name);
	else
		cli_json_null(object, "name");
	put_u64(object, "rows", now->newest_rows);
	put_u64(object, "capacity", now->newest_capacity);
	return object;
}

/* Counts of a status that stand in an object of their own, in this order. */
struct count {
	const char *key;
	size_t offset;
};
#define COUNT(key, field) \
	{ \
		key, offsetof(struct tt_ring_status, field) \
	}

static cli_json *counts_object(const struct tt_ring_status *now,
			       const struct count *counts, size_t n)
{
	cli_json *object = json_object_new_object();

	for (size_t i = 0; i < n; i++) {
		uint64_t value;

		memcpy(&value, (const char *)now + counts[i].offset, sizeof(value));
		put_u64(object, counts[i].key, value);
	}
	return object;
}

static cli_json *files_object(const struct tt_ring_status *now)
{
	static const struct count counts[] = {
		COUNT("queued", files_queued),
		COUNT("left", files_left),
		COUNT("merged", files_merged),
	};

	return counts_object(now, counts, CLI_LEN(counts));
}

static cli_json *counters_object(const struct tt_ring_status *now)
{
	static const struct count counts[] = {
		COUNT("rows", count_rows),
		COUNT("bytes", count_bytes),
		COUNT("appends", count_appends),
		COUNT("rolls", rolls),
		COUNT("wakes", wakes),
		COUNT("syncs", syncs),
		COUNT("sync_failures", sync_failures),
		COUNT("prepared", prepared),
		COUNT("repairs", repairs),
		COUNT("errors", errors),
	};

	return counts_object(now, counts, CLI_LEN(counts));
}

static cli_json *space_object(const struct tt_ring_status *now)
{
	cli_json *object = json_object_new_object();

	cli_json_u64(object, "bytes", now->bytes);
	put_u64(object, "max_bytes", now->max_bytes);
	put_u64(object, "disk_bytes", now->fs_bytes);
	put_u64(object, "disk_free", now->fs_free);
	put_double(object, "bytes_per_day", now->bytes_per_day);
	put_double(object, "days_left", now->days_left);
	cli_json_bool(object, "limit_holds", now->limit_holds);
	return object;
}

static cli_json *sync_object(const struct tt_ring_status *now)
{
	cli_json *object = json_object_new_object();

	if (now->sync_ms == TT_UNKNOWN_NS)
		cli_json_null(object, "policy");
	else if (now->sync_ms == TT_SYNC_NONE)
		cli_json_text(object, "policy", "none");
	else if (now->sync_ms == TT_SYNC_EACH)
		cli_json_text(object, "policy", "each");
	else
		cli_json_i64(object, "policy", now->sync_ms);
	put_time(object, "last", now->last_sync_ns);
	put_u64(object, "unsynced_rows", now->unsynced_rows);
	put_seconds(object, "unsynced_s", now->unsynced_ns);
	return object;
}

/* Buckets that hold something: their upper bound in seconds and how many. */
static cli_json *hist_object(const struct tt_status_hist *hist)
{
	cli_json *object = json_object_new_object(), *buckets = json_object_new_array();

	cli_json_u64(object, "count", hist->count);
	put_seconds(object, "p50_s", hist->p50_ns); /* unknown when nothing was timed */
	put_seconds(object, "p99_s", hist->p99_ns);
	put_seconds(object, "p999_s", hist->p999_ns);
	put_seconds(object, "max_s", hist->max_ns);
	for (unsigned i = 0; i < 64; i++) {
		cli_json *bucket;

		if (hist->bucket[i] == 0)
			continue;
		bucket = json_object_new_object();
		put_double(bucket, "below_s", ldexp(1, (int)i + 1) / 1e9);
		cli_json_u64(bucket, "count", hist->bucket[i]);
		json_object_array_add(buckets, bucket);
	}
	add(object, "buckets", buckets);
	return object;
}

static cli_json *hists_object(const struct tt_ring_status *now)
{
	cli_json *object = json_object_new_object();

	add(object, "append", hist_object(&now->append));
	add(object, "roll", hist_object(&now->roll));
	add(object, "sync", hist_object(&now->sync));
	add(object, "wake", hist_object(&now->wake));
	return object;
}

static cli_json *clock_object(const struct tt_ring_status *now)
{
	cli_json *object = json_object_new_object();

	put_u64(object, "count", now->clock_steps);
	put_seconds(object, "last_s", now->clock_step_ns);
	return object;
}

static cli_json *error_object(const struct tt_ring_status *now)
{
	cli_json *object;

	if (now->error_code == 0)
		return NULL;
	object = json_object_new_object();
	cli_json_text(object, "tag", now->error_tag);
	cli_json_i64(object, "code", now->error_code);
	put_time(object, "time", now->error_ns);
	put_seconds(object, "age_s", cli_age_ns(now->now_ns, now->error_ns));
	cli_json_text(object, "text", now->error_text);
	put_u64(object, "rows_since", now->rows_since_error);
	return object;
}

static cli_json *reader_object(const struct tt_status_reader *reader)
{
	cli_json *object = json_object_new_object(), *pos = json_object_new_object();

	cli_json_u64(object, "slot", reader->slot);
	cli_json_text(object, "name", reader->name);
	cli_json_u64(object, "pid", reader->pid);
	cli_json_bool(object, "alive", reader->alive);
	cli_json_u64(pos, "file", reader->pos.file);
	cli_json_u64(pos, "row", reader->pos.row);
	add(object, "position", pos);
	put_u64(object, "lag_rows", reader->lag_rows);
	put_seconds(object, "lag_s", reader->lag_ns);
	cli_json_u64(object, "lost", reader->lost);
	put_time(object, "seen", reader->seen_ns);
	return object;
}

static cli_json *readers_array(const struct tt_ring_status *now)
{
	cli_json *array = json_object_new_array();

	for (size_t i = 0; i < now->reader_count; i++)
		json_object_array_add(array, reader_object(&now->readers[i]));
	return array;
}

/* In the words of verify --json. */
static cli_json *damage_array(const struct cli_ring_look *look)
{
	cli_json *array = json_object_new_array();

	for (size_t i = 0; i < look->now.damage_count; i++) {
		cli_json *object = json_object_new_object();

		cli_json_text(object, "path", look->now.damage[i].file_name);
		cli_json_text(object, "what", look->now.damage[i].text);
		json_object_array_add(array, object);
	}
	return array;
}

int cli_ring_json(const struct cli_ctx *ctx, const struct cli_ring_look *look)
{
	const struct tt_ring_status *now = &look->now;
	cli_json *document = json_object_new_object();

	cli_json_text(document, "kind", "npy8");
	put_time(document, "time", now->now_ns);
	put_writer(document, now);
	put_double(document, "rows_per_s", look->rows_per_s);
	put_double(document, "bytes_per_s", look->bytes_per_s);
	cli_json_u64(document, "rows", now->rows);
	put_u64(document, "rows_total", now->rows_total);
	put_u64(document, "row_bytes", now->row_bytes);
	add(document, "newest", newest_object(now));
	put_u64(document, "keep", now->keep);
	add(document, "files", files_object(now));
	add(document, "space", space_object(now));
	add(document, "sync", sync_object(now));
	add(document, "clock_steps", clock_object(now));
	add(document, "last_error", error_object(now));
	add(document, "damage", damage_array(look));
	if (now->settings_rc == TT_OK) {
		add(document, "readers", readers_array(now));
		add(document, "counters", counters_object(now));
		add(document, "histograms", hists_object(now));
	} else {
		cli_json_null(document, "readers");
		cli_json_null(document, "counters");
		cli_json_null(document, "histograms");
	}
	cli_json_bool(document, "foreign", now->foreign);
	return cli_json_print(ctx, document);
}

int cli_archive_json(const struct cli_ctx *ctx, const struct cli_archive_look *look)
{
	const struct tt_archive_state *state = &look->state;
	cli_json *document = json_object_new_object();

	cli_json_text(document, "kind", "archive");
	put_time(document, "time", look->now_ns);
	cli_json_bool(document, "writer_alive", state->writing);
	if (!state->writing || state->writer_pid > 0)
		cli_json_i64(document, "writer_pid", state->writer_pid);
	else
		cli_json_null(document, "writer_pid");
	put_u64(document, "versions", look->opened ? look->versions : TT_UNKNOWN);
	cli_json_text(document, "current",
		      look->opened && look->current[0] ? look->current : NULL);
	put_time(document, "current_time", look->current_ns);
	put_seconds(document, "current_age_s",
		    cli_age_ns(look->now_ns, look->current_ns));
	put_u64(document, "datasets", look->opened ? look->datasets : TT_UNKNOWN);
	cli_json_u64(document, "bytes", state->bytes);
	put_u64(document, "disk_bytes", state->fs_bytes ? state->fs_bytes : TT_UNKNOWN);
	put_u64(document, "disk_free", state->fs_bytes ? state->fs_free : TT_UNKNOWN);
	cli_json_text(document, "journal", cli_journal_word(state->journal));
	cli_json_u64(document, "journal_bytes", state->journal_bytes);
	return cli_json_print(ctx, document);
}
