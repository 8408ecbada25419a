/* SPDX-License-Identifier: Apache-2.0 */
/* The actors of a run.  Each checks what it sees against the numbers in the rows. */
#include "lib/mp.h"
#include "prop_ring.h"

uint64_t prop_any(struct actor *actor, uint64_t below)
{
	actor->random ^= actor->random << 13;
	actor->random ^= actor->random >> 7;
	actor->random ^= actor->random << 17;
	return actor->random % below;
}

static int off(const struct actor *actor, const char *what, int64_t is, int64_t wanted)
{
	printf("# actor %d: %s: %" PRId64 " where %" PRId64 " was expected\n",
	       actor->number, what, is, wanted);
	atomic_store(&actor->run->failed, 1);
	return 1;
}

#define TRY(call) \
	do { \
		if ((call) < 0) { \
			printf("# actor %d: %s: %s\n", actor->number, #call, \
			       actor->err.text); \
			return 1; \
		} \
	} while (0)

/* ---- The writer ---- */

int prop_count_rows(struct actor *actor, int64_t *out)
{
	struct tt_ring_reader *reader = NULL;
	struct tt_view *views;
	size_t n;

	TRY(tt_ring_reader_open(&reader, actor->run->dir, NULL, &actor->err));
	TRY(tt_ring_seek_last(reader, &actor->err));
	*out = (int64_t)tt_ring_tell_number(reader);
	TRY(tt_ring_tail(reader, 1, &views, &n, &actor->err));
	if (n == 1 && ((const struct row *)views[0].rows)->number != *out - 1)
		return off(actor, "the last row",
			   ((const struct row *)views[0].rows)->number, *out - 1);
	free(views);
	tt_ring_reader_close(reader);
	if (*out < atomic_load(&actor->run->total))
		return off(actor, "rows after a kill", *out,
			   atomic_load(&actor->run->total));
	return 0;
}

static int append_some(struct actor *actor, struct tt_ring_writer *writer, int64_t *total)
{
	struct row rows[40], *place;
	/* one row most often, a few, or more than a file holds */
	uint64_t count = 1 + prop_any(actor, prop_any(actor, 3) ? 3 : 39), got = 0;

	for (uint64_t i = 0; i < count; i++)
		rows[i] = (struct row){ *total + (int64_t)i, 0 };
	if (prop_any(actor, 4) == 0) {
		place = tt_ring_reserve(writer, count, &got, &actor->err);
		if (!place)
			return 1;
		memcpy(place, rows, got * sizeof(*rows));
		TRY(tt_ring_publish(writer, got));
		count = got;
	} else {
		TRY(tt_ring_append(writer, rows, count, NULL, &actor->err));
	}
	*total += (int64_t)count;
	atomic_store(&actor->run->total, *total);
	return 0;
}

int prop_write_rows(struct actor *actor)
{
	struct run *run = actor->run;
	struct tt_ring_writer *writer = NULL;
	uint64_t file;
	int64_t total = 0;

	TRY(tt_ring_writer_open(&writer, run->dir, NULL, &actor->err));
	if (prop_count_rows(actor, &total) != 0)
		return 1;
	file = tt_ring_writer_pos(writer).file;
	while (atomic_load(&run->rolled) < run->rolls && !atomic_load(&run->failed)) {
		uint64_t what = prop_any(actor, 100);

		if (append_some(actor, writer, &total) != 0)
			return 1;
		if (what < 5)
			TRY(tt_ring_roll(writer, &actor->err));
		if (what < 20)
			usleep((unsigned)prop_any(actor, 1500));
		if (what == 20) {
			tt_ring_writer_close(writer);
			TRY(tt_ring_writer_open(&writer, run->dir, NULL, &actor->err));
		}
		if (what > 90)
			TRY(tt_ring_writer_idle(writer, &actor->err));
		if (tt_ring_writer_pos(writer).file != file)
			atomic_fetch_add(&run->rolled, 1);
		file = tt_ring_writer_pos(writer).file;
	}
	tt_ring_writer_close(writer);
	return 0;
}

/* ---- The maintainer ---- */

static int remove_some(struct actor *actor)
{
	struct run *run = actor->run;
	struct tt_ring_info info;
	int rc;

	TRY(tt_ring_info(run->dir, &info, &actor->err));
	for (size_t i = 0; i < info.file_count && !info.files[i].queued; i++) {
		if (prop_any(actor, 3) == 0)
			continue;
		rc = tt_ring_remove_file(run->dir, info.files[i].name, &actor->err);
		if (rc == -ENOENT || rc == TT_E_BUSY)
			continue; /* the writer was there before, or is at it */
		TRY(rc);
		atomic_fetch_add(&run->removed, 1);
	}
	tt_ring_info_free(&info);
	return 0;
}

int prop_maintain(struct actor *actor)
{
	struct run *run = actor->run;

	while (!atomic_load(&run->done) && !atomic_load(&run->failed)) {
		uint64_t merged = 0;
		int rc;

		usleep((unsigned)prop_any(actor, 20000));
		if (run->mode == REMOVING && prop_any(actor, 3) &&
		    remove_some(actor) != 0)
			return 1;
		rc = tt_ring_merge(run->dir, 2 + prop_any(actor, 4), NULL, NULL, &merged,
				   &actor->err);
		if (rc != TT_E_BUSY && (rc != -ENOENT || run->mode == MERGING))
			TRY(rc);
		atomic_fetch_add(&run->merged, merged);
	}
	return 0;
}

/* ---- Readers ---- */

struct place {
	struct tt_ring_reader *reader;
	int64_t next; /* number of the row that comes next, when all is well */
};

static int open_any(struct actor *actor, struct place *place)
{
	struct tt_ring_reader_opts opts = TT_RING_READER_OPTS_INIT;

	/* who sees the queue only loses more, but counts as exactly */
	opts.queued_only = actor->run->mode != MERGING && prop_any(actor, 4) == 0;
	TRY(tt_ring_reader_open(&place->reader, actor->run->dir, &opts, &actor->err));
	return 0;
}

/* Where it stands after it went somewhere. */
static void take_place(struct place *place)
{
	tt_ring_reader_lost(place->reader);
	place->next = (int64_t)tt_ring_tell_number(place->reader);
	if (place->next < 0) /* before the first row that is there */
		place->next = -1;
}

/* Stop, and go on from the stored place, as a process that was started again. */
static int come_back(struct actor *actor, struct place *place)
{
	struct tt_pos pos = tt_ring_tell(place->reader);
	uint64_t number = tt_ring_tell_number(place->reader);

	place->next += (int64_t)tt_ring_reader_lost(place->reader);
	if (place->next >= 0 && (int64_t)number != place->next)
		return off(actor, "number of the place", (int64_t)number, place->next);
	tt_ring_reader_close(place->reader);
	place->reader = NULL;
	if (prop_any(actor, 3) == 0)
		usleep((unsigned)prop_any(actor, 40000));
	if (open_any(actor, place) != 0)
		return 1;
	tt_ring_reader_lost(place->reader);
	TRY(tt_ring_seek_number(place->reader, pos, number, &actor->err));
	atomic_fetch_add(&actor->run->resumed, 1);
	return 0;
}

static int check_looks(struct actor *actor, struct place *place)
{
	bool tail = prop_any(actor, 2);
	struct tt_view *views;
	int64_t before = -1;
	size_t n;

	if (tail)
		TRY(tt_ring_tail(place->reader, 1 + prop_any(actor, 30), &views, &n,
				 &actor->err));
	else
		TRY(tt_ring_head(place->reader, 1 + prop_any(actor, 30), &views, &n,
				 &actor->err));
	for (size_t i = 0; i < n; i++) {
		const struct row *rows = views[i].rows;

		for (uint64_t k = 0; k < views[i].count; k++) {
			/* between removed files there may be a gap, never a step back */
			if (rows[k].number <= before ||
			    (k > 0 && rows[k].number != before + 1))
				return off(actor, "a row looked at", rows[k].number,
					   before + 1);
			before = rows[k].number;
		}
	}
	free(views);
	return 0;
}

static int go_somewhere(struct actor *actor, struct place *place)
{
	switch (prop_any(actor, 4)) {
	case 0: TRY(tt_ring_seek_first(place->reader, &actor->err)); break;
	case 1: TRY(tt_ring_seek_last(place->reader, &actor->err)); break;
	default:
		TRY(tt_ring_seek_tail(place->reader, prop_any(actor, 50), &actor->err));
		break;
	}
	take_place(place);
	return 0;
}

static int check_view(struct actor *actor, struct place *place,
		      const struct tt_view *view)
{
	const struct row *rows = view->rows;
	int64_t first = place->next;

	if (first < 0)
		first = rows[0].number;
	/* rows that were read before come first: they end where the new ones begin */
	if (rows[0].number > first || rows[0].number + (int64_t)view->count <= first)
		return off(actor, "first row", rows[0].number, first);
	for (uint64_t i = 0; i < view->count; i++)
		if (rows[i].number != rows[0].number + (int64_t)i)
			return off(actor, "row", rows[i].number,
				   rows[0].number + (int64_t)i);
	place->next = rows[0].number + (int64_t)view->count;
	if ((int64_t)tt_ring_tell_number(place->reader) != place->next)
		return off(actor, "number behind a view",
			   (int64_t)tt_ring_tell_number(place->reader), place->next);
	return 0;
}

static int read_once(struct actor *actor, struct place *place)
{
	uint64_t count = 1 + prop_any(actor, 12), lost,
		 prefetch = prop_any(actor, 3) == 0 ? prop_any(actor, 5) : 0;
	struct tt_view view;
	int rc;

	TRY(rc = tt_ring_read(place->reader, count, prefetch, &view, NULL, &actor->err));
	if (tt_ring_reader_lost_more(place->reader))
		return off(actor, "loss that is not exact", 1, 0);
	lost = tt_ring_reader_lost(place->reader);
	if (lost > 0 && actor->run->mode == MERGING)
		return off(actor, "rows lost though none was removed", (int64_t)lost, 0);
	if (place->next >= 0) {
		place->next += (int64_t)lost;
		atomic_fetch_add(&actor->run->lost, lost);
	}
	return rc == 0 ? 0 : check_view(actor, place, &view);
}

static int step(struct actor *actor, struct place *place)
{
	uint64_t what = prop_any(actor, 200);

	if (what < 3)
		usleep((unsigned)prop_any(actor, what == 0 ? 60000 : 8000)); /* stalls */
	if (what == 3)
		return come_back(actor, place);
	if (what == 4)
		return go_somewhere(actor, place);
	if (what == 5)
		return check_looks(actor, place);
	if (what > 150)
		TRY(tt_ring_wait(place->reader, what % 3, 2000000, &actor->err));
	return read_once(actor, place);
}

int prop_read_rows(struct actor *actor)
{
	struct run *run = actor->run;
	struct place place = { NULL, -1 };
	int64_t deadline = tti_deadline_ns(DEADLINE * INT64_C(1000000000));

	usleep((unsigned)prop_any(actor, 20000)); /* it starts when it likes */
	if (!run->threads && actor->number == ACTORS - 1)
		mp_drop_root(); /* may read only */
	if (open_any(actor, &place) != 0)
		return 1;
	if (prop_any(actor, 2))
		take_place(&place);
	while (!atomic_load(&run->done) || place.next != atomic_load(&run->total)) {
		if (atomic_load(&run->failed))
			return 1;
		if (tti_clock_monotonic_ns() > deadline)
			return off(actor, "stuck at row", place.next,
				   atomic_load(&run->total));
		if (step(actor, &place) != 0)
			return 1;
		/* nothing is lost or comes any more, so who began late knows by now */
		if (atomic_load(&run->done) && place.next < 0)
			take_place(&place);
	}
	tt_ring_reader_close(place.reader);
	return 0;
}
