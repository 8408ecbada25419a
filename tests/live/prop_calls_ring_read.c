/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader of the ring calls.  Invariant: the number of the row it stands before is what
 * the rows that it gets say. */
#include "prop_calls_ring.h"
#include "ticktail/status.h"

/* It shows all that is there, and what is there is known. */
static bool is_plain(const struct play *play, const struct reader *reader)
{
	return !reader->sealed_only && !reader->queued_only && !play->limited;
}

/* How many rows were before its place.  Unknown only where it stands in no file: no file is
 * sealed for who wants only those, or it was sent to one that nothing tells of any more. */
static uint64_t number_of(struct play *play, const struct reader *reader)
{
	uint64_t number = tt_ring_tell_number(reader->handle);

	if (number == TT_NUMBER_UNKNOWN)
		MUST(play,
		     reader->lost_number || (reader->sealed_only &&
					     tt_ring_tell(reader->handle).file == 0));
	else
		MUST(play, number <= play->total);
	return number;
}

static uint64_t some_count(struct play *play, uint64_t below)
{
	switch (some(play, 6)) {
	case 0: return 0;
	case 1: return UINT64_MAX;
	case 2: return 1;
	default: return some(play, below);
	}
}

static void open_reader(struct play *play, struct reader *reader)
{
	struct tt_ring_reader_opts opts = TT_RING_READER_OPTS_INIT;

	CALL(play, "open reader");
	opts.seal_only = some(play, 4) == 0;
	opts.queued_only = some(play, 4) == 0;
	*reader = (struct reader){ .sealed_only = opts.seal_only,
				   .queued_only = opts.queued_only };
	MUST(play, tt_ring_reader_open(&reader->handle, RING, &opts, &play->calls.err) ==
			   TT_OK);
}

void close_reader(struct play *play, struct reader *reader)
{
	CALL(play, "close reader");
	tt_ring_reader_close(reader->handle);
	*reader = (struct reader){ 0 };
}

/* Nothing in this play is damaged or cut. */
static void is_whole(struct play *play, struct reader *reader)
{
	MUST(play, *tt_ring_reader_passed(reader->handle) == '\0');
	MUST(play, tt_ring_reader_cut(reader->handle) == 0);
}

static void keep_place(struct play *play, struct reader *reader)
{
	uint64_t i =
		play->place_count < PLACES ? play->place_count++ : some(play, PLACES);

	play->places[i] = (struct place){ tt_ring_tell(reader->handle),
					  tt_ring_tell_number(reader->handle) };
}

static void read_on(struct play *play, struct reader *reader)
{
	uint64_t count = some_count(play, 30), lost, fresh, now;
	uint64_t before = some(play, 3) ? 0 : some(play, 3) ? some(play, 20) : UINT64_MAX;
	uint64_t from = number_of(play, reader);
	struct tt_view view = { NULL, 0 };
	struct tt_pos pos, at;
	bool more;
	int rc;

	CALL(play, "read");
	tt_ring_reader_lost(reader->handle);
	rc = tt_ring_read(reader->handle, count, before, &view, &pos, &play->calls.err);
	MUST(play, rc == 0 || rc == 1);
	more = tt_ring_reader_lost_more(reader->handle);
	lost = tt_ring_reader_lost(reader->handle);
	is_whole(play, reader);
	now = number_of(play, reader);
	MUST(play, more == (from == TT_NUMBER_UNKNOWN && lost > 0));
	if (rc == 0) {
		MUST(play, count == 0 || reader->sealed_only || now == play->total);
		return;
	}
	/* all are new, and perhaps not all before are told */
	if (from == TT_NUMBER_UNKNOWN)
		from = now - lost - view.count;
	MUST(play, now <= play->total && now >= from + lost);
	fresh = now - from - lost;
	MUST(play, fresh <= count && fresh <= view.count);
	MUST(play, (count == 0 || fresh > 0) && view.count - fresh <= before);
	at = tt_ring_tell(reader->handle);
	MUST(play, at.file == pos.file && at.row == pos.row + view.count);
	reader->lost_number = false;
	reader->view = view;
	reader->first = now - view.count;
	shows(play, &view, reader->first);
	keep_place(play, reader);
}

static void seek_end(struct play *play, struct reader *reader)
{
	CALL(play, "seek last");
	MUST(play, tt_ring_seek_last(reader->handle, &play->calls.err) == TT_OK);
	if (!reader->sealed_only)
		MUST(play, tt_ring_tell_number(reader->handle) == play->total);
}

static void seek_begin(struct play *play, struct reader *reader)
{
	CALL(play, "seek first");
	MUST(play, tt_ring_seek_first(reader->handle, &play->calls.err) == TT_OK);
	if (is_plain(play, reader))
		MUST(play, tt_ring_tell_number(reader->handle) == play->gone);
}

static void seek_tail(struct play *play, struct reader *reader)
{
	uint64_t count = some_count(play, 60), now;

	CALL(play, "seek tail");
	MUST(play, tt_ring_seek_tail(reader->handle, count, &play->calls.err) == TT_OK);
	now = number_of(play, reader);
	if (is_plain(play, reader))
		MUST(play, play->total - now == least(count, play->total - play->gone));
	else if (!reader->sealed_only)
		MUST(play, play->total - now <= count);
}

/* Where some reader stood; files may be gone since. */
static void seek_place(struct play *play, struct reader *reader)
{
	const struct place *place;
	bool with_number = some(play, 2), more;
	uint64_t lost, now;
	int rc;

	CALL(play, with_number ? "seek a place and its number" : "seek a place");
	if (play->place_count == 0)
		return;
	place = &play->places[some(play, play->place_count)];
	tt_ring_reader_lost(reader->handle);
	rc = with_number ? tt_ring_seek_number(reader->handle, place->pos, place->number,
					       &play->calls.err)
			 : tt_ring_seek(reader->handle, place->pos, &play->calls.err);
	if (reader->sealed_only && rc == TT_E_RANGE)
		return;
	MUST(play, rc == TT_OK);
	reader->lost_number = !with_number;
	now = number_of(play, reader);
	more = tt_ring_reader_lost_more(reader->handle);
	lost = tt_ring_reader_lost(reader->handle);
	is_whole(play, reader);
	if (with_number)
		MUST(play, now == place->number + lost && !more);
	else
		MUST(play, now >= place->number + lost);
}

/* Where nobody ever stood. */
static void seek_nowhere(struct play *play, struct reader *reader)
{
	struct tt_pos pos = tt_ring_tell(reader->handle);
	uint64_t number = some(play, 2) ? TT_NUMBER_UNKNOWN : some(play, play->total + 5);
	int rc;

	CALL(play, "seek nowhere");
	if (some(play, 3))
		pos.file = any_odd(&play->calls, UINT64_MAX, play->type->bytes);
	pos.row = any_odd(&play->calls, 70, play->type->bytes);
	rc = tt_ring_seek_number(reader->handle, pos, number, &play->calls.err);
	MUST(play, rc == TT_OK || rc == TT_E_RANGE);
	is_whole(play, reader);
	if (some(play, 2))
		seek_begin(play, reader);
	else
		seek_end(play, reader);
}

static void look(struct play *play, struct reader *reader)
{
	bool tail = some(play, 2);
	uint64_t count = some_count(play, 80), rows = 0, at;
	struct tt_view *views = NULL;
	size_t n = 0;

	CALL(play, tail ? "tail" : "head");
	MUST(play,
	     (tail ? tt_ring_tail(reader->handle, count, &views, &n, &play->calls.err)
		   : tt_ring_head(reader->handle, count, &views, &n, &play->calls.err)) ==
		     TT_OK);
	for (size_t i = 0; i < n; i++)
		rows += views[i].count;
	MUST(play, rows <= count && rows <= play->total);
	if (is_plain(play, reader))
		MUST(play, rows == least(count, play->total - play->gone));
	at = tail ? play->total - rows : play->gone;
	for (size_t i = 0; i < n && is_plain(play, reader); at += views[i++].count)
		shows(play, &views[i], at);
	free(views);
}

static void wait_for_more(struct play *play, struct reader *reader)
{
	int64_t timeout = some(play, 2) ? 0 : (int64_t)some(play, 2000);
	int rc = tt_ring_wait(reader->handle, (enum tt_wait)some(play, 3), timeout,
			      &play->calls.err);

	CALL(play, "wait");
	MUST(play, rc == 0 || rc == 1);
}

static void be_seen(struct play *play, struct reader *reader)
{
	CALL(play, "register");
	MUST(play, tt_ring_reader_register(reader->handle, some(play, 2) ? "x" : NULL,
					   &play->calls.err) == TT_OK);
	if (some(play, 2))
		tt_ring_reader_unregister(reader->handle);
}

void call_reader(struct play *play, struct reader *reader)
{
	CALL(play, "what was read before");
	shows(play, &reader->view, reader->first);
	reader->view.count = 0;
	if (!reader->handle) {
		open_reader(play, reader);
		return;
	}
	switch (some(play, 20)) {
	case 0:
		if (some(play, 4) == 0)
			close_reader(play, reader);
		break;
	case 1: seek_begin(play, reader); break;
	case 2: seek_end(play, reader); break;
	case 3: seek_tail(play, reader); break;
	case 4: seek_place(play, reader); break;
	case 5: seek_nowhere(play, reader); break;
	case 6:
	case 7: look(play, reader); break;
	case 8: wait_for_more(play, reader); break;
	case 9: be_seen(play, reader); break;
	default: read_on(play, reader);
	}
}
