/* SPDX-License-Identifier: Apache-2.0 */
/* L1: what an append costs over the least that it could cost: a memcpy of a row's size, known
 * to the compiler, and a release store, into the same pages.
 *
 *	append_latency [--bytes N] [--repetitions N] [--case TEXT]
 *
 * Ours goes through the shared library.  The limit is there twice: behind a call through a
 * pointer with the arguments of an append, as ours is (the goal is about this one), and inlined
 * into the loop.  For reserve and publish the limit is two such calls with the copy between them:
 * in the program, in a shared library as ours is, and there with a look at the room.  "The calls
 * alone" is the loop with all of it inlined, and two calls into that library that do nothing: what
 * no library with two functions can be below.  All write
 * the same pages of the same file, in turn, populated before, and read the same rows with dirty
 * padding; ours zeroes it. */
#include <stdatomic.h>
#include <unistd.h>

#include "bench.h"
#include "split_limit.h"

enum { MAX_REPETITIONS = 999, BATCH = 16, MAX_ROW = 200 };

static double option_bytes = 4 << 20, option_repetitions = 31;
static const char *option_case = "";

/* ---- The limit ---- */

static _Alignas(128) _Atomic(uint64_t) limit_word[16];

typedef int limit_fn(struct limit *limit, const void *rows, uint64_t count);
typedef void inline_fn(struct limit *limit, const unsigned char *rows, uint64_t steps);

/* A function of append's shape for count rows of size bytes, and the loop with it inlined. */
#define LIMIT(size, count) \
	static BENCH_NOINLINE int limit_##size##_##count(struct limit *l, \
							 const void *rows, uint64_t n) \
	{ \
		(void)n; \
		memcpy(l->rows + l->end * (size), rows, (size_t)(size) * (count)); \
		l->end += (count); \
		atomic_store_explicit(l->word, l->end, memory_order_release); \
		return 0; \
	} \
	static BENCH_NOINLINE void inline_##size##_##count( \
		struct limit *l, const unsigned char *rows, uint64_t steps) \
	{ \
		for (uint64_t i = 0; i < steps; i++) { \
			memcpy(l->rows + l->end * (size), \
			       rows + ((count) == 1 ? i % BATCH * (size) : 0), \
			       (size_t)(size) * (count)); \
			l->end += (count); \
			atomic_store_explicit(l->word, l->end, memory_order_release); \
		} \
	}
SPLIT_LIMIT(static BENCH_NOINLINE, program)
LIMIT(16, 1)
LIMIT(24, 1)
LIMIT(25, 1)
LIMIT(32, 1)
LIMIT(32, 16)
LIMIT(64, 1)
LIMIT(200, 1)

/* ---- Rows ---- */

struct row {
	size_t bytes;
	const char *descr;
	bool align;
	limit_fn *call;
	inline_fn *inlined;
};
static const struct row rows_of[] = {
	{ 16, "ts:i8,px:f8", false, limit_16_1, inline_16_1 },
	{ 24, "ts:i8,sym:i4,qty:i4,px:f8", false, limit_24_1, inline_24_1 },
	{ 25, BENCH_TICK, false, limit_25_1, inline_25_1 },
	{ 32, BENCH_TICK, true, limit_32_1, inline_32_1 },
	{ 64, "ts:i8,px:f8[7]", false, limit_64_1, inline_64_1 },
	{ 200, "ts:i8,px:f8[24]", false, limit_200_1, inline_200_1 },
};
static const struct row *const tick = &rows_of[3];
static const struct row tick_batch = { 32, BENCH_TICK, true, limit_32_16, inline_32_16 };

/* ---- Ours ---- */

enum how { APPEND, RESERVE };

struct test {
	const char *name;
	const struct row *row;
	enum how how;
	uint64_t count; /* rows a step */
	bool ring, clean;
	int64_t wake_us;
	double goal;
};

struct place {
	const struct test *test;
	char path[600];
	unsigned char batch[BATCH * MAX_ROW];
	uint64_t steps;
	unsigned char *rows; /* prepared */
	struct tt_file *file;
	struct tt_ring_writer *writer;
};

/* The functions are called through pointers that the compiler cannot look through, as the limit
 * is. */
typedef int file_append_fn(struct tt_file *, const void *, uint64_t);
typedef int ring_append_fn(struct tt_ring_writer *, const void *, uint64_t, uint64_t *,
			   struct tt_error *);
typedef void *file_reserve_fn(struct tt_file *, uint64_t);
typedef int file_publish_fn(struct tt_file *, uint64_t);
typedef void *ring_reserve_fn(struct tt_ring_writer *, uint64_t, uint64_t *,
			      struct tt_error *);
typedef int ring_publish_fn(struct tt_ring_writer *, uint64_t);

#define STEP(place, i) \
	((place)->batch + \
	 ((place)->test->count == 1 ? (i) % BATCH * (place)->test->row->bytes : 0))

static BENCH_NOINLINE uint64_t run_file_append(struct place *place,
					       struct bench_hist *hist)
{
	file_append_fn *volatile call = tt_file_append;
	file_append_fn *append = call;
	uint64_t count = place->test->count, bad = 0;

	for (uint64_t i = 0; i < place->steps; i++) {
		int64_t before = hist ? bench_now() : 0;

		bad += append(place->file, STEP(place, i), count) != 0;
		if (hist)
			bench_add(hist, bench_now() - before);
	}
	return bad;
}

static BENCH_NOINLINE uint64_t run_file_reserve(struct place *place)
{
	file_reserve_fn *volatile first = tt_file_reserve;
	file_publish_fn *volatile second = tt_file_publish;
	file_reserve_fn *reserve = first;
	file_publish_fn *publish = second;
	uint64_t count = place->test->count, bad = 0;

	for (uint64_t i = 0; i < place->steps; i++) {
		void *to = reserve(place->file, count);

		if (!to)
			return 1;
		if (count == 1)
			memcpy(to, STEP(place, i), sizeof(struct bench_tick));
		else
			memcpy(to, STEP(place, i), BATCH * sizeof(struct bench_tick));
		bad += publish(place->file, count) != 0;
	}
	return bad;
}

static BENCH_NOINLINE uint64_t run_ring_append(struct place *place,
					       struct bench_hist *hist)
{
	ring_append_fn *volatile call = tt_ring_append;
	ring_append_fn *append = call;
	uint64_t count = place->test->count, bad = 0;

	for (uint64_t i = 0; i < place->steps; i++) {
		int64_t before = hist ? bench_now() : 0;

		bad += append(place->writer, STEP(place, i), count, NULL, NULL) != 0;
		if (hist)
			bench_add(hist, bench_now() - before);
	}
	return bad;
}

static BENCH_NOINLINE uint64_t run_ring_reserve(struct place *place)
{
	ring_reserve_fn *volatile first = tt_ring_reserve;
	ring_publish_fn *volatile second = tt_ring_publish;
	ring_reserve_fn *reserve = first;
	ring_publish_fn *publish = second;
	uint64_t count = place->test->count, bad = 0, got;

	for (uint64_t i = 0; i < place->steps; i++) {
		struct tt_error err;
		void *to = reserve(place->writer, count, &got, &err);

		if (!to || got != count)
			return 1;
		if (count == 1)
			memcpy(to, STEP(place, i), sizeof(struct bench_tick));
		else
			memcpy(to, STEP(place, i), BATCH * sizeof(struct bench_tick));
		bad += publish(place->writer, count) != 0;
	}
	return bad;
}

static BENCH_NOINLINE void run_limit(struct place *place, struct bench_hist *hist)
{
	struct limit limit = { place->rows, 0, limit_word, 0 };
	limit_fn *volatile call = place->test->row->call;
	limit_fn *append = call;

	for (uint64_t i = 0; i < place->steps; i++) {
		int64_t before = hist ? bench_now() : 0;

		append(&limit, STEP(place, i), place->test->count);
		if (hist)
			bench_add(hist, bench_now() - before);
	}
}

/* Two calls, as reserve and publish. */
static BENCH_NOINLINE void run_split(struct place *place,
				     split_reserve_fn *volatile first,
				     split_publish_fn *volatile second)
{
	uint64_t count = place->test->count;
	struct limit limit = { place->rows, 0, limit_word, place->steps * count };
	split_reserve_fn *reserve = first;
	split_publish_fn *publish = second;

	for (uint64_t i = 0; i < place->steps; i++) {
		void *to = reserve(&limit, count);

		if (count == 1)
			memcpy(to, STEP(place, i), sizeof(struct bench_tick));
		else
			memcpy(to, STEP(place, i), BATCH * sizeof(struct bench_tick));
		publish(&limit, count);
	}
}

/* Two calls of what does nothing; the work is in the loop. */
static BENCH_NOINLINE void run_empty(struct place *place)
{
	struct limit limit = { place->rows, 0, limit_word, place->steps };
	split_reserve_fn *volatile first = library_empty_reserve;
	split_publish_fn *volatile second = library_empty_publish;
	split_reserve_fn *reserve = first;
	split_publish_fn *publish = second;

	for (uint64_t i = 0; i < place->steps; i++) {
		reserve(&limit, 1);
		memcpy(limit.rows + limit.end * sizeof(struct bench_tick), STEP(place, i),
		       sizeof(struct bench_tick));
		limit.end++;
		atomic_store_explicit(limit.word, limit.end, memory_order_release);
		publish(&limit, 1);
	}
}

/* ---- A file with its pages ready ---- */

static void make(struct place *place, const struct test *test)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	size_t bytes = test->row->bytes;
	struct tt_dtype *dtype;
	struct tt_error err;

	place->test = test;
	place->steps = (uint64_t)option_bytes / bytes / test->count;
	if (place->steps == 0)
		bench_die("--bytes must be at least %d", BATCH * MAX_ROW);
	if (test->wake_us == TT_WAKE_EACH) /* a system call a row */
		place->steps = (place->steps + 63) / 64;
	memset(place->batch, test->clean ? 0 : 0xff, sizeof(place->batch));
	for (size_t i = 0; i < BATCH; i++)
		memcpy(place->batch + i * bytes, &(int64_t){ (int64_t)i }, 8);
	snprintf(place->path, sizeof(place->path), "%s/%s", bench_dir(true),
		 test->ring ? "ring" : "file.npy");
	opts.capacity = place->steps * test->count;
	if (test->ring) {
		bench_make_ring(&(struct bench_ring){ place->path, test->row->descr,
						      test->row->align, opts.capacity, 2,
						      TT_SYNC_NONE });
		place->writer = bench_ring_writer(place->path, test->wake_us,
						  TT_SYNC_NONE, false);
		bench_pin_others(BENCH_READER);
		return;
	}
	dtype = bench_dtype(test->row->descr, test->row->align);
	if (tt_dtype_size(dtype) != bytes ||
	    tt_file_create(place->path, dtype, &opts, &err) < 0)
		bench_die("%s: rows of %zu bytes", place->path, tt_dtype_size(dtype));
	tt_dtype_unref(dtype);
}

static void prepare_file(struct place *place)
{
	struct tt_error err;

	tt_file_close(place->file);
	if (tt_file_clear(place->path, &err) < 0)
		bench_die("%s", err.text);
	place->file =
		bench_file_writer(place->path, place->test->wake_us, place->test->clean);
	place->rows = tt_file_reserve(place->file, place->steps * place->test->count);
	bench_pin_others(BENCH_READER);
}

static void prepare(struct place *place)
{
	uint64_t rows = place->steps * place->test->count, got = 0;
	struct tt_error err;

	if (!place->test->ring) {
		prepare_file(place);
		got = rows;
	} else {
		if (tt_ring_roll(place->writer, &err) < 0)
			bench_die("%s", err.text);
		bench_prune(place->path, 0);
		place->rows = tt_ring_reserve(place->writer, rows, &got, &err);
	}
	if (!place->rows || got != rows)
		bench_die("no room for the rows");
	bench_populate(place->rows, rows * place->test->row->bytes);
}

static void unmake(struct place *place)
{
	tt_file_close(place->file);
	tt_ring_writer_close(place->writer);
	place->file = NULL;
	place->writer = NULL;
	bench_remove_tree(place->path);
}

/* ---- Sides ---- */

/* from SPLIT on in two calls, as reserve and publish */
enum { OURS, CALL, INLINED, SPLIT, LIBRARY, CHECKED, EMPTY, SIDES };

static double timed(struct place *place, int side, struct bench_hist *hist)
{
	const struct test *test = place->test;
	struct limit limit = { place->rows, 0, limit_word, 0 };
	int64_t begin = bench_now();
	uint64_t bad = 0;

	if (side == CALL)
		run_limit(place, hist);
	else if (side == SPLIT)
		run_split(place, program_reserve, program_publish);
	else if (side == LIBRARY)
		run_split(place, library_reserve, library_publish);
	else if (side == CHECKED)
		run_split(place, library_checked_reserve, library_checked_publish);
	else if (side == EMPTY)
		run_empty(place);
	else if (side == INLINED)
		test->row->inlined(&limit, place->batch, place->steps);
	else if (test->ring)
		bad = test->how == APPEND ? run_ring_append(place, hist)
					  : run_ring_reserve(place);
	else
		bad = test->how == APPEND ? run_file_append(place, hist)
					  : run_file_reserve(place);
	if (bad)
		bench_die("%s: an append failed", test->name);
	return (double)(bench_now() - begin) /
	       (double)(place->steps * place->test->count);
}

/* One more run of both sides, each step timed. */
static void emit_steps(struct place *place)
{
	static struct bench_hist ours, limit;

	memset(&ours, 0, sizeof(ours));
	memset(&limit, 0, sizeof(limit));
	prepare(place);
	timed(place, OURS, &ours);
	timed(place, CALL, &limit);
	bench_quantiles("step_ns_with_clock", &ours);
	bench_quantiles("other_step_ns_with_clock", &limit);
}

/* The line of ours, or of another side, against one; left open. */
static void open_line(const struct test *test, const char *name, const char *against,
		      double ours, double other, double goal)
{
	bench_open(&(struct bench_result){ "append_latency", name, "L1", "ns/row",
					   against, ours, other, goal, false, false });
	bench_number("row_bytes", (double)test->row->bytes);
	bench_number("rows_a_step", (double)test->count);
	bench_number("repetitions", option_repetitions);
	bench_text("pinned", bench_pinned("writer first, the library's threads second"));
}

static void emit_append(const double *median, struct place *place)
{
	const struct test *test = place->test;

	open_line(test, test->name,
		  "memcpy of a constant size and release store, behind a call",
		  median[OURS], median[CALL], test->goal);
	bench_number("inlined_limit", median[INLINED]);
	if (test->count == 1)
		emit_steps(place);
	bench_close();
}

static void emit_reserve(const double *median, const struct test *test)
{
	static const char in_program[] = "the same in two calls, the copy between them";
	char name[96];

	open_line(test, test->name, in_program, median[OURS], median[SPLIT], test->goal);
	bench_number("one_call_limit", median[CALL]);
	bench_number("inlined_limit", median[INLINED]);
	bench_close();
	snprintf(name, sizeof(name), "%s, both in libraries", test->name);
	open_line(test, name, "those two calls into a shared library", median[OURS],
		  median[LIBRARY], test->goal);
	bench_number("checked_limit", median[CHECKED]);
	bench_close();
	if (test->count > 1)
		return;
	snprintf(name, sizeof(name), "%s, the calls alone", test->name);
	open_line(test, name, in_program, median[EMPTY], median[SPLIT], 0);
	bench_close();
}

/* Each repetition has new pages, and another side goes first on them. */
static void compare(const struct test *test)
{
	static double ns[SIDES][MAX_REPETITIONS];
	static struct place place;
	int repetitions = (int)option_repetitions;
	int sides = test->how == APPEND ? SPLIT : test->count > 1 ? EMPTY : SIDES;
	double median[SIDES];

	make(&place, test);
	for (int i = -1; i < repetitions; i++) { /* the first warms up */
		prepare(&place);
		for (int j = 0; j < sides; j++) {
			int side = (i + 1 + j) % sides;

			ns[side][i < 0 ? 0 : i] = timed(&place, side, NULL);
		}
	}
	for (int side = 0; side < sides; side++)
		median[side] = bench_median(ns[side], (size_t)repetitions);
	if (test->how == APPEND)
		emit_append(median, &place);
	else
		emit_reserve(median, test);
	unmake(&place);
}

int main(int argc, char **argv)
{
	static const struct bench_option options[] = {
		{ "bytes", &option_bytes, NULL, "bytes of rows a repetition" },
		{ "repetitions", &option_repetitions, NULL,
		  "of which the median counts" },
		{ "case", NULL, &option_case, "only those with this in their names" },
	};
	static const struct test tests[] = {
		{ "file append", tick, APPEND, 1, false, false, TT_WAKE_NEVER, 1.5 },
		{ "file append, padding clean", tick, APPEND, 1, false, true,
		  TT_WAKE_NEVER, 1.5 },
		{ "file append of 16", &tick_batch, APPEND, 16, false, false,
		  TT_WAKE_NEVER, 1.25 },
		{ "file reserve and publish", tick, RESERVE, 1, false, false,
		  TT_WAKE_NEVER, 1.25 },
		{ "file reserve and publish of 16", &tick_batch, RESERVE, 16, false,
		  false, TT_WAKE_NEVER, 1.25 },
		{ "file reserve and publish, padding clean", tick, RESERVE, 1, false,
		  true, TT_WAKE_NEVER, 1.25 },
		{ "file reserve and publish of 16, padding clean", &tick_batch, RESERVE,
		  16, false, true, TT_WAKE_NEVER, 1.25 },
		{ "file append, default policy", tick, APPEND, 1, false, false, 250,
		  1.5 },
		{ "file append, wake each", tick, APPEND, 1, false, false, TT_WAKE_EACH,
		  0 },
		{ "ring append, wake never", tick, APPEND, 1, true, false, TT_WAKE_NEVER,
		  1.5 },
		{ "ring append, default policy", tick, APPEND, 1, true, false, 250, 1.5 },
		{ "ring append of 16", &tick_batch, APPEND, 16, true, false, 250, 1.25 },
		{ "ring reserve and publish", tick, RESERVE, 1, true, false, 250, 1.25 },
		{ "ring append, wake each", tick, APPEND, 1, true, false, TT_WAKE_EACH,
		  0 },
		{ "file append, rows of 16 B", &rows_of[0], APPEND, 1, false, false,
		  TT_WAKE_NEVER, 1.5 },
		{ "file append, rows of 24 B", &rows_of[1], APPEND, 1, false, false,
		  TT_WAKE_NEVER, 1.5 },
		{ "file append, rows of 25 B", &rows_of[2], APPEND, 1, false, false,
		  TT_WAKE_NEVER, 1.5 },
		{ "file append, rows of 64 B", &rows_of[4], APPEND, 1, false, false,
		  TT_WAKE_NEVER, 1.5 },
		{ "file append, rows of 200 B", &rows_of[5], APPEND, 1, false, false,
		  TT_WAKE_NEVER, 1.5 },
	};

	bench_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
	if (option_repetitions < 1 || option_repetitions > MAX_REPETITIONS)
		bench_die("--repetitions must be 1 to %d", MAX_REPETITIONS);
	bench_pin(BENCH_WRITER);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (strstr(tests[i].name, option_case))
			compare(&tests[i]);
	return 0;
}
