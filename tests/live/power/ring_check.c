/* SPDX-License-Identifier: Apache-2.0 */
/* A ring that lost power: what must be left, and that work goes on from there. */
#include "live/power/ring_power.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "live/power/model.h"

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
		power_ring_create("r"); /* nothing is in the way */
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
		check_verified(
			"r"); /* what waits for the next power_writer is no damage */
	check_copy();
	power_ring_open();
	if (tt_ring_writer_repaired(power_writer)[0] && getenv("TT_POWER_VERBOSE"))
		fprintf(stderr, "# %s\n", tt_ring_writer_repaired(power_writer));
	power_step = "a reader after the writer came";
	rows = read_all("r", rec->synced);
	NEED(rows >= rec->synced);
	if (rec->proves)
		NEED(rows == before);
	check_positions(&then);
	go_on(rows);
	power_ring_append(7);
	power_step = "roll after it";
	GOOD(tt_ring_roll(power_writer, &power_err));
	power_ring_append(3);
	power_ring_sync();
	if (rec->proves) { /* else what is unproven is counted as rows */
		check_positions(&then);
		check_positions(rec);
	}
	tt_ring_writer_close(power_writer);
	power_step = "all after it";
	known_rows = rows + 10;
	rows = read_all("r", rec->proves ? known_rows : then.synced);
	/* unproven rows behind a damaged file were not met before it was passed over */
	NEED(rec->proves ? rows == known_rows : rows >= known_rows);
	known_rows = 0;
	check_verified("r");
	power_ring_open();
	if (tt_ring_writer_repaired(power_writer)[0])
		snprintf(power_err.text, sizeof(power_err.text), "%.500s",
			 tt_ring_writer_repaired(power_writer));
	NEED(tt_ring_writer_repaired(power_writer)[0] == '\0');
	tt_ring_writer_close(power_writer);
}

const struct power_kind power_ring = { "ring", NULL, power_ring_work, check };
