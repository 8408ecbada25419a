/* SPDX-License-Identifier: Apache-2.0 */
/* What makes moving fast is what is found out first: trailing axes that lie without gaps on both
 * sides are one run of bytes, boxes that continue each other are one box, and boxes side by side
 * are moved a line of all at a time, so that the side on which a line lies in one piece is gone
 * through once from end to end.
 *
 * Invariant: a convoy's boxes have the axes of its first; no byte is written twice while one
 *            is held back, unless boxes are moved singly. */
#include "staged/box.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* ---- Runs ---- */

/* Up to 16 bytes in two pieces of a size known to the compiler, which may overlap. */
static inline void copy_few(unsigned char *to, const unsigned char *from, size_t n)
{
	uint64_t a, b;
	uint32_t c, d;

	if (n >= 8) {
		memcpy(&a, from, 8);
		memcpy(&b, from + n - 8, 8);
		memcpy(to, &a, 8);
		memcpy(to + n - 8, &b, 8);
	} else if (n >= 4) {
		memcpy(&c, from, 4);
		memcpy(&d, from + n - 4, 4);
		memcpy(to, &c, 4);
		memcpy(to + n - 4, &d, 4);
	} else {
		for (size_t i = 0; i < n; i++)
			to[i] = from[i];
	}
}

static inline void copy_run(unsigned char *to, const unsigned char *from, size_t n)
{
	if (n > 16)
		memcpy(to, from, n);
	else
		copy_few(to, from, n);
}

#ifdef __SSE2__
enum { LINE = 64 };

static inline __m128i load_16(const unsigned char *from)
{
	return _mm_loadu_si128((const __m128i *)(const void *)from);
}

static inline void stream_line(unsigned char *to, const unsigned char *from)
{
	__m128i a = load_16(from), b = load_16(from + 16);
	__m128i c = load_16(from + 32), d = load_16(from + 48);

	_mm_stream_si128((__m128i *)(void *)to, a);
	_mm_stream_si128((__m128i *)(void *)(to + 16), b);
	_mm_stream_si128((__m128i *)(void *)(to + 32), c);
	_mm_stream_si128((__m128i *)(void *)(to + 48), d);
}

/* Where a stream has come to: of the line that ends it the first have bytes are kept back, to be
 * written with what follows.  They are the end of the first half of seam. */
struct tail {
	unsigned char *next;
	size_t have;
	unsigned char seam[2 * LINE];
};

static inline void flush_tail(struct tail *tail)
{
	if (tail->have == 0)
		return;
	memcpy(tail->next - tail->have, tail->seam + LINE - tail->have, tail->have);
	tail->have = 0;
}

/* Whole lines go past the caches: each is then written without being read first.  Half a line at
 * a time that way is slow, so one that is written in part is completed by the run that goes on
 * from there, or goes the usual way.  A run has at least a line, so that all but the way there is
 * copied in lines, wherever they begin. */
static inline void stream_run(struct tail *tail, unsigned char *to,
			      const unsigned char *from, size_t n)
{
	size_t head = (0 - (uintptr_t)to) & (LINE - 1);
	unsigned char *end = to + n;

	if (tail->have > 0 && tail->next == to) {
		memcpy(tail->seam + LINE, from, LINE);
		stream_line(to + head - LINE, tail->seam + head);
	} else {
		flush_tail(tail);
		memcpy(to, from, head);
	}
	for (to += head, from += head, n -= head; n >= LINE;
	     n -= LINE, to += LINE, from += LINE)
		stream_line(to, from);
	tail->next = end;
	tail->have = n;
	memcpy(tail->seam, from + n - LINE, LINE);
}
/* What was streamed is ordered like any store from here on. */
static void end_stream(void)
{
	_mm_sfence();
}
#else
struct tail {
	size_t have;
};
static inline void flush_tail(struct tail *tail)
{
	(void)tail;
}
static inline void stream_run(struct tail *tail, unsigned char *to,
			      const unsigned char *from, size_t n)
{
	(void)tail;
	memcpy(to, from, n);
}
static void end_stream(void)
{
}
#endif

/* ---- One box ---- */

enum { STREAM_RUN = 64 }; /* stream_run() needs it */

/* Make trailing axes without gaps part of the run. */
static inline void merge_axes(struct tti_box *box)
{
	while (box->rank > 0) {
		uint32_t axis = box->rank - 1;
		int64_t run = (int64_t)box->run;

		if (box->count[axis] != 1) {
			if (box->to_step[axis] != run || box->from_step[axis] != run)
				return;
			box->run *= box->count[axis];
		}
		box->rank = axis;
	}
}

/* The next place of the first axes axes, from at[] on; the place moves with it.  false: that was
 * the last. */
static inline bool next_place(struct tti_box *box, uint32_t axes, uint64_t *at)
{
	while (axes > 0) {
		uint32_t axis = axes - 1;

		if (++at[axis] < box->count[axis]) {
			box->to += box->to_step[axis];
			box->from += box->from_step[axis];
			return true;
		}
		box->to -= box->to_step[axis] * (int64_t)(box->count[axis] - 1);
		box->from -= box->from_step[axis] * (int64_t)(box->count[axis] - 1);
		at[axis] = 0;
		axes = axis;
	}
	return false;
}

#define STRIDED(bytes) \
	case bytes: \
		for (uint64_t i = 0; i < n; i++) \
			memcpy(to + (int64_t)i * to_step, from + (int64_t)i * from_step, \
			       bytes); \
		return;

/* The last axis. */
static void copy_axis(const struct tti_box *box)
{
	uint32_t axis = box->rank - 1;
	uint64_t n = box->count[axis];
	int64_t to_step = box->to_step[axis], from_step = box->from_step[axis];
	unsigned char *to = box->to;
	const unsigned char *from = box->from;

	switch (box->run) {
		STRIDED(1)
		STRIDED(2)
		STRIDED(4)
		STRIDED(8)
		STRIDED(16)
	default:
		for (uint64_t i = 0; i < n; i++)
			copy_run(to + (int64_t)i * to_step, from + (int64_t)i * from_step,
				 box->run);
	}
}

/* Only as many axes as there are get a value: small chunks come by the ten thousand, and zeroing
 * 32 axes of each costs more than copying it. */
static inline void first_place(uint64_t *at, uint32_t axes)
{
	for (uint32_t i = 0; i < axes; i++)
		at[i] = 0;
}

static void stream_box(struct tti_box *box)
{
	uint64_t at[TT_MAX_RANK];
	struct tail tail;

	tail.have = 0;
	first_place(at, box->rank);
	do
		stream_run(&tail, box->to, box->from, box->run);
	while (next_place(box, box->rank, at));
	flush_tail(&tail);
}

/* Its trailing axes are merged. */
static void copy_box(struct tti_box *box, bool stream)
{
	uint64_t at[TT_MAX_RANK];

	if (stream && box->run >= STREAM_RUN) {
		stream_box(box);
	} else if (box->rank == 0) {
		copy_run(box->to, box->from, box->run);
	} else {
		first_place(at, box->rank - 1);
		do
			copy_axis(box);
		while (next_place(box, box->rank - 1, at));
	}
}

/* ---- Several ---- */

static inline bool alike(const struct tti_box *a, const struct tti_box *b)
{
	if (a->rank != b->rank)
		return false;
	for (uint32_t i = 0; i < a->rank; i++)
		if (a->count[i] != b->count[i] || a->to_step[i] != b->to_step[i] ||
		    a->from_step[i] != b->from_step[i])
			return false;
	return true;
}

/* The cars are the innermost axis. */
static void copy_line(const struct tti_car *cars, unsigned count, int64_t to,
		      int64_t from)
{
	for (unsigned i = 0; i < count; i++)
		copy_run(cars[i].to + to, cars[i].from + from, cars[i].run);
}

/* The last of a line of boxes may be narrower. */
static inline void stream_or_copy(struct tail *tail, unsigned char *to,
				  const unsigned char *from, size_t n)
{
	if (n >= STREAM_RUN)
		stream_run(tail, to, from, n);
	else
		copy_run(to, from, n);
}

/* Each car is a stream of its own. */
static void stream_line_of(const struct tti_car *cars, struct tail *tails, unsigned count,
			   int64_t to, int64_t from)
{
	for (unsigned i = 0; i < count; i++)
		stream_or_copy(&tails[i], cars[i].to + to, cars[i].from + from,
			       cars[i].run);
}

static void move_lines(struct tti_convoy *convoy)
{
	bool stream = convoy->manner.stream && convoy->cars[0].run >= STREAM_RUN;
	struct tti_box *place = &convoy->like;
	const unsigned char *to = place->to, *from = place->from;
	struct tail tails[TTI_CONVOY_MAX];
	uint64_t at[TT_MAX_RANK];

	for (unsigned i = 0; stream && i < convoy->count; i++)
		tails[i].have = 0;
	first_place(at, place->rank);
	do
		if (stream)
			stream_line_of(convoy->cars, tails, convoy->count, place->to - to,
				       place->from - from);
		else
			copy_line(convoy->cars, convoy->count, place->to - to,
				  place->from - from);
	while (next_place(place, place->rank, at));
	for (unsigned i = 0; stream && i < convoy->count; i++)
		flush_tail(&tails[i]);
}

static void move(struct tti_convoy *convoy)
{
	struct tti_box *like = &convoy->like;

	if (convoy->count == 1) {
		/* what continued it may have closed its gaps */
		like->run = convoy->cars[0].run;
		merge_axes(like);
		copy_box(like, convoy->manner.stream);
	} else if (convoy->count > 1) {
		move_lines(convoy);
	}
	convoy->count = 0;
}

/* A box is large, and most of it is axes that it does not have. */
static inline void take_axes(struct tti_box *like, const struct tti_box *box)
{
	like->rank = box->rank;
	like->to = box->to;
	like->from = box->from;
	like->run = box->run;
	for (uint32_t i = 0; i < box->rank; i++) {
		like->count[i] = box->count[i];
		like->to_step[i] = box->to_step[i];
		like->from_step[i] = box->from_step[i];
	}
}

void tti_convoy_add(struct tti_convoy *convoy, struct tti_box *box)
{
	struct tti_car *last;

	merge_axes(box);
	if (convoy->manner.order == TTI_SINGLY) {
		copy_box(box, convoy->manner.stream);
		return;
	}
	if (convoy->count > 0 && alike(&convoy->like, box)) {
		last = &convoy->cars[convoy->count - 1];
		if (box->to == last->to + last->run &&
		    box->from == last->from + last->run) {
			last->run += box->run;
			return;
		}
		if (convoy->manner.order == TTI_ABREAST && box->rank > 0 &&
		    convoy->count < TTI_CONVOY_MAX) {
			convoy->cars[convoy->count++] =
				(struct tti_car){ box->to, box->from, box->run };
			return;
		}
	}
	move(convoy);
	take_axes(&convoy->like, box);
	convoy->cars[convoy->count++] = (struct tti_car){ box->to, box->from, box->run };
}

void tti_convoy_end(struct tti_convoy *convoy)
{
	move(convoy);
	if (convoy->manner.stream)
		end_stream();
}
