/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer of the ring calls.  Invariant: total counts what it was told is published, and
 * nothing else. */
#include "prop_calls_ring.h"

void open_writer(struct play *play)
{
	static const int64_t wakes[] = { TT_WAKE_EACH, TT_WAKE_NEVER, TT_WAKE_DEFAULT,
					 1 };
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;

	CALL(play, "open writer");
	opts.no_helper = some(play, 2);
	opts.wake_us = wakes[some(play, 4)];
	MUST(play,
	     tt_ring_writer_open(&play->writer, RING, &opts, &play->calls.err) == TT_OK);
	MUST(play, *tt_ring_writer_repaired(play->writer) == '\0');
}

void close_writer(struct play *play)
{
	CALL(play, "close writer");
	MUST(play, tt_ring_writer_close(play->writer) == TT_OK);
	play->writer = NULL;
}

/* A quarter of a second each. */
static void open_second(struct play *play)
{
	struct tt_ring_writer *second = play->writer;

	CALL(play, "open writer, twice");
	MUST(play,
	     tt_ring_writer_open(&second, RING, NULL, &play->calls.err) == TT_E_BUSY);
	MUST(play, !second);
}

static void append(struct play *play)
{
	uint64_t count =
		some(play, some(play, 5) ? 4 : least(FEW, 6 * play->capacity + 3));
	uint64_t done = UINT64_MAX;
	bool tell = some(play, 3), words = some(play, 2);

	CALL(play, "append");
	fill_rows(play, play->buffer, play->total, count);
	MUST(play, tt_ring_append(play->writer, play->buffer, count, tell ? &done : NULL,
				  words ? &play->calls.err : NULL) == TT_OK);
	MUST(play, !tell || done == count);
	play->total += count;
}

static void roll(struct play *play)
{
	CALL(play, "roll");
	MUST(play, tt_ring_roll(play->writer, &play->calls.err) == TT_OK);
}

static void sync_rows(struct play *play)
{
	CALL(play, "sync");
	MUST(play, tt_ring_sync(play->writer, &play->calls.err) == TT_OK);
}

static void idle(struct play *play)
{
	CALL(play, "idle");
	MUST(play, tt_ring_writer_idle(play->writer, &play->calls.err) == TT_OK);
}

static void no_more_reserved(struct play *play)
{
	CALL(play, "publish what is not reserved");
	MUST(play, tt_ring_publish(play->writer, 1) == TT_E_MISUSE);
}

/* What may come between a reservation and its publication: true when it ends the reservation. */
static bool disturb(struct play *play, uint64_t got)
{
	switch (some(play, 8)) {
	case 0: append(play); return true;
	case 1: roll(play); return true;
	case 2: sync_rows(play); return false;
	case 3: idle(play); return false;
	case 4: close_writer(play); return true;
	case 5:
		CALL(play, "publish too much");
		MUST(play, tt_ring_publish(play->writer, got + 1) == TT_E_MISUSE);
		MUST(play, tt_ring_publish(play->writer, UINT64_MAX) == TT_E_MISUSE);
		return false;
	case 6: tt_ring_writer_pos(play->writer); return false;
	default: return false;
	}
}

static void reserve(struct play *play)
{
	uint64_t count = any_odd(&play->calls, 40, play->type->bytes), got = UINT64_MAX;
	void *place;

	CALL(play, "reserve");
	place = tt_ring_reserve(play->writer, count, &got, &play->calls.err);
	if (count == 0) {
		MUST(play, !place && got == 0);
		no_more_reserved(play);
		return;
	}
	MUST(play, place && got > 0 && got <= count);
	if (some(play, 3) == 0) {
		CALL(play, "reserve again");
		count = 1 + some(play, 30);
		place = tt_ring_reserve(play->writer, count, &got, &play->calls.err);
		MUST(play, place && got > 0 && got <= count);
	}
	count = some(play, 3) ? some(play, got + 1) : got;
	fill_rows(play, place, play->total, count);
	if (disturb(play, got)) {
		if (play->writer)
			no_more_reserved(play);
		return;
	}
	CALL(play, "publish");
	MUST(play, tt_ring_publish(play->writer, count) == TT_OK);
	play->total += count;
	no_more_reserved(play);
}

void call_writer(struct play *play)
{
	if (!play->writer) {
		if (some(play, 3) == 0)
			open_writer(play);
		return;
	}
	switch (some(play, 16)) {
	case 0: roll(play); break;
	case 1: sync_rows(play); break;
	case 2: idle(play); break;
	case 3:
		if (some(play, 3) == 0)
			close_writer(play);
		else if (some(play, 60) == 0)
			open_second(play);
		break;
	case 4:
	case 5:
	case 6:
	case 7: reserve(play); break;
	default: append(play);
	}
}
