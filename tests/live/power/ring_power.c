/* SPDX-License-Identifier: Apache-2.0 */
/* A ring that loses power: what a feed and its maintenance do. */
#include "live/power/ring_power.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "live/power/model.h"
#include "ticktail/recover.h"
#include "ticktail/status.h"

struct tt_ring_writer *power_writer;

static struct tt_dtype *dtype_new(void)
{
	struct tt_dtype *dtype = NULL;

	GOOD(tt_dtype_parse(&dtype, POWER_DTYPE, strlen(POWER_DTYPE), false, &power_err));
	return dtype;
}

/* Such that the files of the queue and the next fit. */
static void limit(struct tt_ring_opts *opts)
{
	if (rec->limited)
		opts->max_bytes = (opts->keep + 3) * 16384;
}

void power_ring_create(const char *dir)
{
	static const int64_t policies[] = { TT_SYNC_EACH, TT_SYNC_EACH, 1,
					    TT_SYNC_DEFAULT, TT_SYNC_NONE };
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = dtype_new();

	power_step = "create";
	opts.capacity = 10 + power_random(300);
	opts.keep = 2 + power_random(3);
	opts.exact = power_random(2) == 0;
	opts.batches_whole = power_random(4) == 0;
	opts.sync_ms = rec->sync_ms = policies[power_random(5)];
	rec->proves = rec->sync_ms != TT_SYNC_NONE;
	rec->limited = power_random(4) == 0;
	limit(&opts);
	GOOD(tt_ring_create(dir, dtype, &opts, &power_err));
	rec->made = true;
	tt_dtype_unref(dtype);
}

void power_ring_open(void)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;

	power_step = "open the writer";
	opts.no_helper = power_random(2) == 0;
	GOOD(tt_ring_writer_open(&power_writer, "r", &opts, &power_err));
}

/* Where the rows went that one append was given. */
static void note_places(struct tt_pos before, struct tt_pos after, int64_t first,
			int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		struct tt_pos *pos = &rec->pos[first + i];

		rec->gen_of[first + i] = (uint8_t)rec->gen;
		*pos = (struct tt_pos){ 0, 0 };
		if ((uint64_t)(count - i) <= after.row)
			*pos = (struct tt_pos){ after.file,
						after.row - (uint64_t)(count - i) };
		else if (after.file == before.file)
			*pos = (struct tt_pos){ before.file, before.row + (uint64_t)i };
	}
}

/* The oldest row of the queue: those before it may be deleted. */
static int64_t first_queued(void)
{
	struct tt_ring_reader_opts opts = TT_RING_READER_OPTS_INIT;
	struct tt_ring_reader *reader = NULL;
	int64_t first = rec->appended;
	struct tt_view view;
	int rc;

	opts.queued_only = true;
	GOOD(tt_ring_reader_open(&reader, "r", &opts, &power_err));
	rc = tt_ring_read(reader, 1, 0, &view, NULL, &power_err);
	GOOD(rc);
	if (rc == 1)
		first = ((const struct power_row *)view.rows)->number;
	tt_ring_reader_close(reader);
	return first;
}

static void may_remove_to(int64_t row)
{
	if (row > rec->removable)
		rec->removable = row;
}

static void appended(struct tt_pos before, int64_t count)
{
	note_places(before, tt_ring_writer_pos(power_writer), rec->appended, count);
	rec->appended = rec->attempted;
	if (rec->limited) /* a helper that is late looks at the queue as it is now */
		rec->removable = first_queued();
	if (rec->sync_ms == TT_SYNC_EACH)
		rec->synced = rec->appended;
}

/* What a look says to be on disk must be there after a loss: timed syncs promise too. */
static void wait_for_timed_sync(void)
{
	int64_t deadline = tti_deadline_ns(INT64_C(20000000000));

	if (rec->sync_ms <= 0 || rec->sync_ms > 10 || rec->appended == 0)
		return;
	power_step = "a timed sync";
	for (;;) {
		struct tt_ring_status status;
		uint64_t unsynced;

		GOOD(tt_ring_writer_idle(power_writer, &power_err));
		GOOD(tt_ring_status("r", &status, &power_err));
		unsynced = status.unsynced_rows;
		tt_ring_status_free(&status);
		if (unsynced == 0)
			break;
		NEED(tti_clock_monotonic_ns() < deadline);
		usleep(500);
	}
	rec->synced = rec->appended;
}

/* A limit deletes after each roll, by the helper or in the call. */
static void begin_to_append(int64_t count)
{
	rec->attempted = rec->appended + count;
	if (rec->limited)
		rec->removable = rec->attempted;
}

void power_ring_append(int64_t count)
{
	struct tt_pos before = tt_ring_writer_pos(power_writer);
	static struct power_row rows[POWER_ROWS];

	if (rec->appended + count > POWER_ROWS - 64)
		return;
	power_step = "append";
	for (int64_t i = 0; i < count; i++)
		power_fill(&rows[i], rec->appended + i, rec->gen);
	begin_to_append(count);
	GOOD(tt_ring_append(power_writer, rows, (uint64_t)count, NULL, &power_err));
	appended(before, count);
}

/* Rows stored by the caller, with a loss between two of them. */
static void fill_in_place(int64_t count)
{
	struct tt_pos before = tt_ring_writer_pos(power_writer);
	struct power_row *rows;
	uint64_t got;

	if (rec->appended + count > POWER_ROWS - 64)
		return;
	power_step = "reserve";
	rows = tt_ring_reserve(power_writer, (uint64_t)count, &got, &power_err);
	NEED(rows && got > 0);
	begin_to_append((int64_t)got);
	for (uint64_t i = 0; i < got; i++) {
		power_fill(&rows[i], rec->appended + (int64_t)i, rec->gen);
		if (i == got / 2)
			model_place("test.half_filled");
	}
	GOOD(tt_ring_publish(power_writer, got));
	appended(before, (int64_t)got);
}

void power_ring_sync(void)
{
	power_step = "sync";
	GOOD(tt_ring_sync(power_writer, &power_err));
	if (rec->sync_ms != TT_SYNC_NONE)
		rec->synced = rec->appended;
}

static void back_up(void)
{
	if (rec->copied >= 0)
		return;
	power_step = "backup";
	rec->copying = rec->appended;
	GOOD(tt_ring_backup("r", "copy", &power_err));
	rec->copied = rec->appended;
}

static void remove_oldest(void)
{
	struct tt_ring_info info;

	power_step = "remove";
	GOOD(tt_ring_info("r", &info, &power_err));
	if (!info.files[0].queued) {
		if (info.files[0].end > info.files[0].start) {
			struct tt_ring_reader *reader = NULL;
			struct tt_view view;

			GOOD(tt_ring_reader_open(&reader, "r", NULL, &power_err));
			NEED(tt_ring_read(reader, 1, 0, &view, NULL, &power_err) == 1);
			rec->removable = ((const struct power_row *)view.rows)->number +
					 (int64_t)info.files[0].end;
			tt_ring_reader_close(reader);
		}
		GOOD(tt_ring_remove_file("r", info.files[0].name, &power_err));
	}
	tt_ring_info_free(&info);
}

static void prune(void)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;

	power_step = "prune";
	may_remove_to(first_queued());
	if (power_random(2) == 0)
		opts.keep_bytes = power_random(10) * 8192;
	GOOD(tt_ring_prune("r", &opts, NULL, &power_err));
}

static void recover(void)
{
	struct tt_recover_report report = { 0 };

	power_step = "recover";
	GOOD(tt_ring_recover("r", NULL, &report, &power_err));
	NEED(report.left == 0 && report.rows_lost == 0);
	tt_recover_report_free(&report);
}

static void reopen(void)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_ring_info info;

	tt_ring_writer_close(power_writer);
	power_writer = NULL;
	if (power_random(3) == 0) {
		power_step = "set";
		GOOD(tt_ring_info("r", &info, &power_err));
		opts = info.opts;
		tt_ring_info_free(&info);
		opts.keep += power_random(3);
		limit(&opts);
		GOOD(tt_ring_set("r", &opts, &power_err));
	}
	if (power_random(3) == 0)
		recover();
	if (power_random(3) == 0) {
		power_step = "seal";
		GOOD(tt_ring_seal("r", 0, NULL, &power_err));
	}
	power_ring_open();
}

static void do_one_thing(void)
{
	switch (power_random(23)) {
	case 0:
		power_step = "roll";
		GOOD(tt_ring_roll(power_writer, &power_err));
		break;
	case 1:
	case 2: power_ring_sync(); break;
	case 3: reopen(); break;
	case 4:
		power_step = "merge";
		GOOD(tt_ring_merge("r", power_random(2) * 3, NULL, NULL, NULL,
				   &power_err));
		break;
	case 5: back_up(); break;
	case 6: remove_oldest(); break;
	case 7:
		power_step = "idle";
		GOOD(tt_ring_writer_idle(power_writer, &power_err));
		break;
	case 10:
	case 11: wait_for_timed_sync(); break;
	case 12: prune(); break;
	case 8:
	case 9: fill_in_place(1 + (int64_t)power_random(20)); break;
	default:
		power_ring_append(1 +
				  (int64_t)power_random(power_random(4) == 0 ? 120 : 12));
	}
}

void power_ring_work(void)
{
	rec->copied = rec->copying = -1;
	power_ring_create("r");
	power_ring_open();
	for (uint64_t left = 20 + power_random(60); left > 0; left--)
		do_one_thing();
	power_step = "close";
	tt_ring_writer_close(power_writer);
}
