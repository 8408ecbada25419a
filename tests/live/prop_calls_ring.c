/* SPDX-License-Identifier: Apache-2.0 */
/* Calls at random, legal and not, on one ring by a writer, readers that come and go and whoever
 * keeps it; each is judged by a model.
 *
 * The model: how many rows were ever published, and how many of the oldest are gone.  A row
 * says how many were before it, so every row that is shown must be the one of its number; a
 * reader gets each once and in order, or is told exactly how many it lost, up to the last; what
 * it was given stays as it is, whatever becomes of the files.  A call that is not allowed says
 * so by the right code, and changes nothing. */
#include "lib/tmpdir.h"
#include "live/file_helpers.h"
#include "prop_calls_ring.h"

/* ---- The model ---- */

static unsigned char row_byte(uint64_t number, size_t i)
{
	return (unsigned char)((number * UINT64_C(0x9E3779B97F4A7C15) >> 8 * (i % 8)) +
			       i);
}

void fill_rows(const struct play *play, unsigned char *rows, uint64_t number,
	       uint64_t count)
{
	for (uint64_t row = 0; row < count; row++)
		for (size_t i = 0; i < play->type->bytes; i++)
			*rows++ = row_byte(number + row, i);
}

/* Padding is not stored, whatever it was. */
static unsigned char stored_byte(const struct play *play, uint64_t number, size_t i)
{
	bool is_padding = i < 64 && (play->type->padding >> i & 1);

	return is_padding ? 0 : row_byte(number, i);
}

void shows(struct play *play, const struct tt_view *view, uint64_t number)
{
	const unsigned char *at = view->rows;

	MUST(play, number <= play->total && view->count <= play->total - number);
	for (uint64_t row = 0; row < view->count; row++)
		for (size_t i = 0; i < play->type->bytes; i++)
			MUST(play, *at++ == stored_byte(play, number + row, i));
}

size_t look_at_ring(struct play *play)
{
	struct tt_ring_info info;
	uint64_t rows = 0;
	size_t files;

	MUST(play, tt_ring_info(RING, &info, &play->calls.err) == TT_OK);
	files = info.file_count;
	for (size_t i = 0; i < files; i++)
		rows += info.files[i].end - info.files[i].start;
	MUST(play, rows == info.rows);
	MUST(play, play->limited ? rows <= play->total - play->gone
				 : rows == play->total - play->gone);
	play->gone = play->total - rows;
	tt_ring_info_free(&info);
	return files;
}

/* ---- The play ---- */

static void make_it(struct play *play)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype;

	play->type = any_row_type(&play->calls);
	play->capacity = 1 + some(play, some(play, 3) ? 20 : 3);
	play->limited = some(play, 6) == 0;
	play->buffer = calloc(FEW, play->type->bytes);
	opts.capacity = play->capacity;
	opts.keep = 2 + some(play, 4);
	opts.max_bytes = play->limited ? 400000 : 0;
	opts.exact = some(play, 2);
	opts.batches_whole = some(play, 3) == 0;
	opts.sync_ms = some(play, 2) ? TT_SYNC_NONE : some(play, 3) ? 1000 : TT_SYNC_EACH;
	if (some(play, 4) == 0)
		opts.roll_at_s = (int32_t)some(play, 86400);
	printf("# TT_SEED=%" PRIu64 ": %s, capacity %" PRIu64 "%s, keep %" PRIu64
	       "%s%s, sync %" PRId64 "\n",
	       play->calls.seed, play->type->descr, opts.capacity,
	       opts.exact ? " exactly" : "", opts.keep, play->limited ? ", limited" : "",
	       opts.batches_whole ? ", batches whole" : "", opts.sync_ms);
	fflush(stdout);
	dtype = parse_dtype(play->type->descr);
	MUST(play, tt_ring_create(RING, dtype, &opts, &play->calls.err) == TT_OK);
	tt_dtype_unref(dtype);
}

static void run(uint64_t seed, uint64_t steps)
{
	struct play play = { 0 };

	calls_begin(&play.calls, seed);
	make_it(&play);
	open_writer(&play);
	for (play.calls.step = 0; play.calls.step < steps; play.calls.step++) {
		uint64_t who = some(&play, 40);

		if (who < 20)
			call_writer(&play);
		else if (who < 38)
			call_reader(&play, &play.readers[some(&play, READERS)]);
		else
			call_keeper(&play);
	}
	for (int i = 0; i < READERS; i++)
		if (play.readers[i].handle)
			close_reader(&play, &play.readers[i]);
	if (play.writer)
		close_writer(&play);
	free(play.buffer);
}

START_TEST(every_call_on_a_ring_is_right)
{
	calls_run(run, 4);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { every_call_on_a_ring_is_right };

	return run_suite(&(struct suite){ .name = "calls on a ring",
					  .enter = tmpdir_enter_memory,
					  .leave = tmpdir_leave,
					  .timeout_s = 3600,
					  .tests = tests,
					  .count = 1 });
}
