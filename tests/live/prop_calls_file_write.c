/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer of the file calls.  Invariant: what it was told is in the model, and nothing
 * else. */
#include "prop_calls_file.h"

static uint64_t free_rows(const struct play *play)
{
	return play->most - play->now->count;
}

static void fill(struct play *play, unsigned char *rows, uint64_t count)
{
	for (uint64_t i = 0; i < count * play->type->bytes; i++)
		rows[i] = (unsigned char)some(play, 256);
}

static void open_to_write(struct play *play)
{
	static const int64_t wakes[] = { TT_WAKE_EACH, TT_WAKE_NEVER, TT_WAKE_DEFAULT,
					 1 };
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;

	CALL(play, "open to write");
	opts.access = TT_WRITE;
	opts.no_helper = some(play, 2);
	opts.sync_ms = play->sync_ms;
	opts.wake_us = wakes[some(play, 4)];
	MUST(play, tt_file_open(&play->writer, "f", &opts, &play->calls.err) == TT_OK);
	MUST(play, tt_file_size(play->writer) == play->now->count);
	MUST(play, *tt_file_repaired(play->writer) == '\0');
}

void close_writer(struct play *play)
{
	CALL(play, "close writer");
	MUST(play, tt_file_close(play->writer) == TT_OK);
	play->writer = NULL;
}

static void append(struct play *play)
{
	uint64_t count = some(play, 30), room = tt_file_room(play->writer);

	CALL(play, "append");
	if (some(play, 12) == 0) {
		count = room + 1 + (some(play, 2) ? 0 : odd(play, 10));
		if (count <= room)
			count = UINT64_MAX;
	} else if (count > free_rows(play)) {
		return;
	} else {
		fill(play, play->buffer, count);
	}
	if (count > room) {
		MUST(play,
		     tt_file_append(play->writer, play->buffer, count) == TT_E_FULL);
		MUST(play, tt_file_size(play->writer) == play->now->count);
		return;
	}
	MUST(play, tt_file_append(play->writer, play->buffer, count) == TT_OK);
	remember(play, play->now->count, play->buffer, count);
}

static void update(struct play *play)
{
	uint64_t all = play->now->count, index = odd(play, all + 3),
		 count = odd(play, 20);
	int rc;

	CALL(play, "update");
	if (index > all || count > all - index) {
		rc = tt_file_update(play->writer, index, play->buffer, count,
				    &play->calls.err);
		MUST(play, rc == TT_E_RANGE);
		return;
	}
	if (count > FEW)
		return;
	fill(play, play->buffer, count);
	rc = tt_file_update(play->writer, index, play->buffer, count, &play->calls.err);
	MUST(play, rc == TT_OK);
	remember(play, index, play->buffer, count);
}

/* What may come between a reservation and its publication. */
static void disturb(struct play *play, unsigned char *place)
{
	switch (some(play, 6)) {
	case 0:
		CALL(play, "sync of a reservation");
		MUST(play, tt_file_sync(play->writer, &play->calls.err) == TT_OK);
		break;
	case 1: update(play); break;
	case 2:
		CALL(play, "publish too much");
		MUST(play, tt_file_publish(play->writer, tt_file_room(play->writer) +
								 1) == TT_E_MISUSE);
		MUST(play, tt_file_publish(play->writer, UINT64_MAX) == TT_E_MISUSE);
		break;
	case 3:
		CALL(play, "reserve again");
		MUST(play, tt_file_reserve(play->writer, 1) == place);
		break;
	case 4: close_writer(play); break;
	default: break;
	}
}

static void reserve(struct play *play)
{
	uint64_t count = some(play, 2) ? 1 + some(play, 9) : odd(play, 30);
	uint64_t room = tt_file_room(play->writer);
	unsigned char *place = tt_file_reserve(play->writer, count);

	CALL(play, "reserve");
	if (count > room) {
		MUST(play, !place);
		return;
	}
	MUST(play, place || count == 0);
	if (count == 0 || count > least(FEW, free_rows(play)))
		return;
	fill(play, play->buffer, count);
	memcpy(place, play->buffer, count * play->type->bytes);
	disturb(play, place);
	if (!play->writer)
		return;
	CALL(play, "publish");
	count = some(play, count + 1);
	memcpy(play->buffer, place, count * play->type->bytes); /* update() has used it */
	MUST(play, tt_file_publish(play->writer, count) == TT_OK);
	remember(play, play->now->count, play->buffer, count);
}

static void publish_nothing(struct play *play)
{
	CALL(play, "publish without a reservation");
	MUST(play, tt_file_publish(play->writer, 0) == TT_OK);
	MUST(play, tt_file_publish(play->writer, tt_file_room(play->writer) + 1) ==
			   TT_E_MISUSE);
}

static void grow(struct play *play)
{
	bool too_far = some(play, 4) == 0;
	uint64_t room = tt_file_room(play->writer), count;
	struct tt_view before;

	CALL(play, "grow");
	MUST(play, tt_file_data(play->writer, &before) == TT_OK);
	count = too_far ? UINT64_MAX / (1 + some(play, 20)) : some(play, 60);
	if (too_far) {
		MUST(play, tt_file_grow(play->writer, count, &play->calls.err) < 0);
		MUST(play, tt_file_room(play->writer) == room);
		MUST(play, !look_at_path(play));
		return;
	}
	MUST(play, tt_file_grow(play->writer, count, &play->calls.err) == TT_OK);
	MUST(play, tt_file_room(play->writer) >= count);
	MUST(play, look_at_path(play) == (count > room));
	shows(play, play->now, &before, 0); /* although the handle left that file */
}

static void read_by_writer(struct play *play)
{
	struct tt_view view;

	CALL(play, "rows of the writer's handle");
	MUST(play, tt_file_data(play->writer, &view) == TT_OK);
	MUST(play, view.count == play->now->count);
	shows(play, play->now, &view, 0);
}

void call_writer(struct play *play)
{
	if (!play->writer) {
		if (some(play, 4) == 0)
			open_to_write(play);
		return;
	}
	switch (some(play, 12)) {
	case 0:
	case 1:
	case 2:
	case 3: append(play); break;
	case 4:
	case 5: reserve(play); break;
	case 6: publish_nothing(play); break;
	case 7: update(play); break;
	case 8:
		CALL(play, "sync");
		MUST(play, tt_file_sync(play->writer, &play->calls.err) == TT_OK);
		break;
	case 9: grow(play); break;
	case 10: close_writer(play); break;
	default: read_by_writer(play);
	}
}
