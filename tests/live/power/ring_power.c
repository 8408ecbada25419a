/* SPDX-License-Identifier: Apache-2.0 */
/* A ring that loses power: what a feed and its maintenance do, and what must be left. */
#include "live/power/power.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "live/power/model.h"
#include "ticktail/recover.h"
#include "ticktail/status.h"

/* ---- Work ---- */

static struct tt_ring_writer *writer;

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

static void create(const char *dir)
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

static void open_writer(void)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;

	power_step = "open the writer";
	opts.no_helper = power_random(2) == 0;
	GOOD(tt_ring_writer_open(&writer, "r", &opts, &power_err));
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
	note_places(before, tt_ring_writer_pos(writer), rec->appended, count);
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

		GOOD(tt_ring_writer_idle(writer, &power_err));
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

static void append(int64_t count)
{
	struct tt_pos before = tt_ring_writer_pos(writer);
	static struct power_row rows[POWER_ROWS];

	if (rec->appended + count > POWER_ROWS - 64)
		return;
	power_step = "append";
	for (int64_t i = 0; i < count; i++)
		power_fill(&rows[i], rec->appended + i, rec->gen);
	begin_to_append(count);
	GOOD(tt_ring_append(writer, rows, (uint64_t)count, NULL, &power_err));
	appended(before, count);
}

/* Rows stored by the caller, with a loss between two of them. */
static void fill_in_place(int64_t count)
{
	struct tt_pos before = tt_ring_writer_pos(writer);
	struct power_row *rows;
	uint64_t got;

	if (rec->appended + count > POWER_ROWS - 64)
		return;
	power_step = "reserve";
	rows = tt_ring_reserve(writer, (uint64_t)count, &got, &power_err);
	NEED(rows && got > 0);
	begin_to_append((int64_t)got);
	for (uint64_t i = 0; i < got; i++) {
		power_fill(&rows[i], rec->appended + (int64_t)i, rec->gen);
		if (i == got / 2)
			model_place("test.half_filled");
	}
	GOOD(tt_ring_publish(writer, got));
	appended(before, (int64_t)got);
}

static void sync_now(void)
{
	power_step = "sync";
	GOOD(tt_ring_sync(writer, &power_err));
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

	tt_ring_writer_close(writer);
	writer = NULL;
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
	open_writer();
}

static void do_one_thing(void)
{
	switch (power_random(23)) {
	case 0:
		power_step = "roll";
		GOOD(tt_ring_roll(writer, &power_err));
		break;
	case 1:
	case 2: sync_now(); break;
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
		GOOD(tt_ring_writer_idle(writer, &power_err));
		break;
	case 10:
	case 11: wait_for_timed_sync(); break;
	case 12: prune(); break;
	case 8:
	case 9: fill_in_place(1 + (int64_t)power_random(20)); break;
	default: append(1 + (int64_t)power_random(power_random(4) == 0 ? 120 : 12));
	}
}

static void work(void)
{
	rec->copied = rec->copying = -1;
	create("r");
	open_writer();
	for (uint64_t left = 20 + power_random(60); left > 0; left--)
		do_one_thing();
	power_step = "close";
	tt_ring_writer_close(writer);
}

/* ---- Check ---- */

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* A row that the work wrote, where it must be. */
static void check_row(const struct power_row *row, int64_t number, bool strict)
{
	bool mine = power_is_row(row);

	if (!mine && !strict)
		return;
	NEED(mine);
	if (number >= 0 && row->number != number)
		NEED(rec->sync_ms == TT_SYNC_NONE); /* a file between may be gone */
	NEED((row->number < rec->attempted && row->number >= 0) ||
	     rec->sync_ms == TT_SYNC_NONE);
	if (row->number < rec->appended && row->number >= 0)
		NEED(row->gen == rec->gen_of[row->number] || !rec->proves);
	else
		NEED(row->gen <= rec->gen);
}

static uint8_t gen_seen[POWER_ROWS]; /* of each row that read_all() met last */
/* Rows that are known to be there: a reader looks at a damaged file for a while before it passes
 * it, and has "nothing new" meanwhile.  0: not known. */
static int64_t known_rows;

static int read_more(struct tt_ring_reader *reader, int64_t next, struct tt_view *view)
{
	int rc = tt_ring_read(reader, 1000, 0, view, NULL, &power_err);

	if (rc != 0 || known_rows == 0 || next >= known_rows)
		return rc;
	rc = tt_ring_wait(reader, TT_WAIT_SLEEP, 5000000000, &power_err);
	return rc <= 0 ? rc : tt_ring_read(reader, 1000, 0, view, NULL, &power_err);
}

/* All rows, from the oldest on; the number after the last.  Past must the rows of a ring that
 * proves nothing may be anything. */
static int64_t read_all(const char *dir, int64_t must)
{
	struct tt_ring_reader *reader = NULL;
	struct tt_view view;
	int64_t next = -1;
	int rc;

	rc = tt_ring_reader_open(&reader, dir, NULL, &power_err);
	if (rc < 0 && rec->sync_ms == TT_SYNC_NONE)
		_exit(0); /* the only file on disk was pruned: see DECISIONS */
	GOOD(rc);
	while ((rc = read_more(reader, next, &view)) == 1)
		for (uint64_t i = 0; i < view.count; i++) {
			const struct power_row *row =
				(const struct power_row *)view.rows + i;
			bool strict = rec->proves || (next < 0 ? 0 : next) < must;

			check_row(row, next, strict);
			if (next < 0)
				NEED(!strict || row->number <= rec->removable);
			if (next < 0)
				next = power_is_row(row) ? row->number : 0;
			NEED(next < POWER_ROWS);
			gen_seen[next++] = (uint8_t)row->gen;
		}
	if (rc < 0 && rec->sync_ms == TT_SYNC_NONE)
		_exit(0); /* nothing was asked for: a whole file may be missing */
	NEED(rc == 0);
	tt_ring_reader_close(reader);
	return next < 0 ? 0 : next;
}

/* A position that was stored before the loss: that row, or said to be gone, never another. */
static void check_position(struct tt_ring_reader *reader, int64_t number,
			   const struct power_record *then)
{
	struct tt_pos pos = then->pos[number], got;
	uint64_t gen = then->gen_of[number];
	const struct power_row *row;
	struct tt_view view;
	int rc;

	if (pos.file == 0)
		return;
	rc = tt_ring_seek(reader, pos, &power_err);
	if (rc < 0) {
		NEED(number >= then->synced || number < rec->removable);
		return;
	}
	rc = tt_ring_read(reader, 1, 0, &view, &got, &power_err);
	GOOD(rc);
	if (rc == 0) {
		NEED(number >= then->synced);
		return;
	}
	row = view.rows;
	if (got.file == pos.file && got.row == pos.row) {
		if (rec->proves || number < then->synced)
			NEED(power_is_row(row) && row->number == number &&
			     row->gen == gen);
	} else if (power_is_row(row) && row->number == number && row->gen == gen) {
		return; /* in a merged file */
	} else {
		NEED(number >= then->synced || number < rec->removable);
	}
}

static void check_positions(const struct power_record *then)
{
	int64_t until = then->attempted < POWER_ROWS ? then->attempted : POWER_ROWS;
	struct tt_ring_reader *reader = NULL;

	power_step = "positions";
	GOOD(tt_ring_reader_open(&reader, "r", NULL, &power_err));
	for (int64_t i = 0; i < 60 && until > 0; i++)
		check_position(reader, (int64_t)power_random((uint64_t)until), then);
	for (int64_t i = rec->synced - 3; i < rec->synced + 3; i++)
		if (i >= 0 && i < until)
			check_position(reader, i, then);
	tt_ring_reader_close(reader);
}

static void say_damage(void *ctx, const struct tt_damage *damage)
{
	(void)ctx;
	fprintf(stderr, "# %s: %s\n", damage->path, damage->what);
}

static void check_verified(const char *dir)
{
	uint64_t found = 1;

	power_step = "verify";
	GOOD(tt_ring_verify(dir, rec->sync_ms == TT_SYNC_NONE ? NULL : say_damage, NULL,
			    &found, &power_err));
	NEED(found == 0 || rec->sync_ms == TT_SYNC_NONE);
}

static void check_copy(void)
{
	int64_t rows;

	power_step = "the copy";
	if (!is_there("copy")) {
		NEED(rec->copied < 0);
		return;
	}
	rows = read_all("copy", rec->copied < 0 ? 0 : rec->copied);
	NEED(rows >= rec->copied && (!rec->proves || rows <= rec->copying));
	check_verified("copy");
}

/* The rows that are left are the ring's rows now; new ones get their numbers. */
static void go_on(int64_t rows)
{
	model_lock();
	if (!rec->proves)
		model_on_place(NULL,
			       NULL); /* no second loss: nothing could be told apart */
	rec->gen++;
	memcpy(rec->gen_of, gen_seen, (size_t)rows);
	rec->appended = rec->attempted = rows;
	model_unlock();
	model_place("test.gone_on");
}

/* A longer queue is in the settings before the manifest has room for it; that is said. */
static bool is_half_set(void)
{
	struct tt_ring_info info;
	struct stat st;
	bool half;

	GOOD(tt_ring_info("r", &info, &power_err));
	NEED(stat("r/.lock", &st) == 0);
	half = (uint64_t)st.st_size < info.opts.keep * 8;
	tt_ring_info_free(&info);
	return half;
}

static void check(void)
{
	static struct power_record then;
	int64_t before, rows;

	power_step = "is it there";
	if (!is_there("r")) {
		NEED(!rec->made);
		create("r"); /* nothing is in the way */
		rec->synced = rec->appended = rec->attempted = 0;
	}
	rec->made = true;
	then = *rec;
	power_step = "a reader before any writer";
	before = read_all("r", rec->synced);
	if (getenv("TT_POWER_VERBOSE"))
		fprintf(stderr, "# %lld rows; synced %lld, appended %lld, sync %lld ms\n",
			(long long)before, (long long)rec->synced,
			(long long)rec->appended, (long long)rec->sync_ms);
	NEED(before >= rec->synced);
	if (rec->proves && !is_half_set())
		check_verified("r"); /* what waits for the next writer is no damage */
	check_copy();
	open_writer();
	if (tt_ring_writer_repaired(writer)[0] && getenv("TT_POWER_VERBOSE"))
		fprintf(stderr, "# %s\n", tt_ring_writer_repaired(writer));
	power_step = "a reader after the writer came";
	rows = read_all("r", rec->synced);
	NEED(rows >= rec->synced);
	if (rec->proves)
		NEED(rows == before);
	check_positions(&then);
	go_on(rows);
	append(7);
	power_step = "roll after it";
	GOOD(tt_ring_roll(writer, &power_err));
	append(3);
	sync_now();
	if (rec->proves) { /* else what is unproven is counted as rows */
		check_positions(&then);
		check_positions(rec);
	}
	tt_ring_writer_close(writer);
	power_step = "all after it";
	known_rows = rows + 10;
	rows = read_all("r", rec->proves ? known_rows : then.synced);
	/* unproven rows behind a damaged file were not met before it was passed over */
	NEED(rec->proves ? rows == known_rows : rows >= known_rows);
	known_rows = 0;
	check_verified("r");
	open_writer();
	if (tt_ring_writer_repaired(writer)[0])
		snprintf(power_err.text, sizeof(power_err.text), "%.500s",
			 tt_ring_writer_repaired(writer));
	NEED(tt_ring_writer_repaired(writer)[0] == '\0');
	tt_ring_writer_close(writer);
}

const struct power_kind power_ring = { "ring", NULL, work, check };
