/* SPDX-License-Identifier: Apache-2.0 */
/* A play on one ring: the ring, the handles that are open, and the model that judges them. */
#ifndef PROP_CALLS_RING_H
#define PROP_CALLS_RING_H

#include "prop_calls.h"
#include "ticktail/ring.h"

#define RING "r"
#define FEW 64 /* rows that are written at once, at most */
#define READERS 6
#define PLACES 16
#define CALL(play, name) ((play)->calls.op = (name), (play)->calls.err.text[0] = 0)
#define MUST(play, condition) HOLDS(&(play)->calls, condition)

struct reader {
	struct tt_ring_reader *handle;
	bool sealed_only, queued_only;
	bool lost_number; /* it was sent to a place without saying how many were before it */
	struct tt_view view; /* that it was given last; the handle was not called since */
	uint64_t first;	     /* number of the view's row 0 */
};

/* Where a reader stood once. */
struct place {
	struct tt_pos pos;
	uint64_t number;
};

struct play {
	struct calls calls;
	const struct row_type *type;
	uint64_t capacity;
	uint64_t total; /* rows that were ever published */
	uint64_t
		gone; /* of these, the oldest, whose files went; of a limited ring those that
			 * are known to */
	bool limited; /* it removes files by itself */
	struct tt_ring_writer *writer;
	struct reader readers[READERS];
	struct place places[PLACES];
	uint64_t place_count;
	unsigned char *buffer; /* of FEW rows */
};

static inline uint64_t some(struct play *play, uint64_t below)
{
	return any(&play->calls, below);
}

static inline uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- The model ---- */

/* A row that is so many rows behind the first. */
void fill_rows(const struct play *play, unsigned char *rows, uint64_t number,
	       uint64_t count);
/* The view must be the rows from number on. */
void shows(struct play *play, const struct tt_view *view, uint64_t number);
/* What is on disk must be what the model says; how many files that is. */
size_t look_at_ring(struct play *play);

/* ---- One call each ---- */

void call_writer(struct play *play);
void open_writer(struct play *play);
void close_writer(struct play *play);
void call_reader(struct play *play, struct reader *reader);
void close_reader(struct play *play, struct reader *reader);
void call_keeper(struct play *play);

#endif
