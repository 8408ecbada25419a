/* SPDX-License-Identifier: Apache-2.0 */
/* L5: the append that meets a full file, prepared by the library's helper against inline.
 *
 *	roll_stall [--rolls N] [--rows N] [--interval MS]
 *
 * A file is filled in one batch; then, --interval later, one append is timed that finds it full.
 * The goal is about a feed whose files last longer than it takes to make the next: so the
 * interval begins when the ring's counter says that the helper has made it, and the side that
 * makes its files inline waits at the same place for the interval alone.  "back to back" are
 * rolls that come each --interval, made or not: they say how late the helper is, and are shown.
 * The sides take turns in blocks of 50 rolls. */
#include <sys/mman.h>

#include "bench.h"

static double option_rolls = 1000, option_rows = 32768, option_interval = 10;

enum { BLOCK = 50 };
enum { PREPARED, HURRIED, INLINE, PREPARED_SYNC, HURRIED_SYNC, INLINE_SYNC, SIDES };
static const struct {
	const char *name;
	bool no_helper, hurried;
	int64_t sync_ms;
} sides[SIDES] = {
	[PREPARED] = { "no sync", false, false, TT_SYNC_NONE },
	[HURRIED] = { "no sync, back to back", false, true, TT_SYNC_NONE },
	[INLINE] = { "no sync, inline", true, true, TT_SYNC_NONE },
	[PREPARED_SYNC] = { "sync 1 s", false, false, 1000 },
	[HURRIED_SYNC] = { "sync 1 s, back to back", false, true, 1000 },
	[INLINE_SYNC] = { "sync 1 s, inline", true, true, 1000 },
};

struct block {
	const char *path;
	int side;
	unsigned rolls;
	struct bench_hist *hist; /* shared */
};

static void fill(struct tt_ring_writer *writer)
{
	struct tt_error err;
	uint64_t got;
	struct bench_tick *rows = tt_ring_reserve(writer, UINT64_MAX, &got, &err);

	if (!rows)
		bench_die("%s", err.text);
	for (uint64_t i = 0; i < got; i++)
		rows[i] = (struct bench_tick){ (int64_t)i, 7, 100, 100.25, 1 };
	if (tt_ring_publish(writer, got) < 0)
		bench_die("tt_ring_publish failed");
}

static uint64_t count_prepared(const char *path)
{
	struct tt_ring_status status;
	struct tt_error err;
	uint64_t prepared;

	if (tt_ring_status(path, &status, &err) < 0)
		bench_die("%s", err.text);
	prepared = status.prepared;
	tt_ring_status_free(&status);
	return prepared;
}

/* Until the helper has made the file for the next roll. */
static void wait_prepared(const char *path, uint64_t before)
{
	int64_t begin = bench_now();

	while (count_prepared(path) <= before) {
		if (bench_now() - begin > INT64_C(60000000000))
			bench_die("no next file was made for a minute");
		bench_sleep(0.001);
	}
}

static int block_child(void *arg)
{
	const struct block *block = arg;
	struct bench_tick row = { 0, 7, 100, 100.25, 1 };
	struct tt_ring_writer *writer =
		bench_ring_writer(block->path, 250, sides[block->side].sync_ms,
				  sides[block->side].no_helper);
	struct tt_error err;

	bench_pin(BENCH_WRITER);
	bench_pin_others(BENCH_READER);
	for (unsigned i = 0; i < block->rolls; i++) {
		int64_t before;

		fill(writer);
		bench_prune(block->path, 0);
		/* each roll takes one, so before roll i, i were made and are gone */
		if (!sides[block->side].hurried)
			wait_prepared(block->path, i);
		bench_sleep(option_interval / 1e3);
		before = bench_now();
		if (tt_ring_append(writer, &row, 1, NULL, &err) < 0)
			bench_die("%s", err.text);
		bench_add(block->hist, bench_now() - before);
	}
	tt_ring_writer_close(writer);
	return 0;
}

static void run_block(int side, unsigned rolls, struct bench_hist *hist)
{
	char path[600];
	struct block block = { path, side, rolls, hist };

	snprintf(path, sizeof(path), "%s/ring", bench_dir(false));
	bench_make_ring(&(struct bench_ring){
		path, BENCH_TICK, true, (uint64_t)option_rows, 4, sides[side].sync_ms });
	bench_wait(bench_spawn(block_child, &block));
	bench_remove_tree(path);
}

static void emit(int ours, int other, double goal, struct bench_hist *hists)
{
	bench_open(&(struct bench_result){
		"roll_stall", sides[ours].name, "L5", "ns at p99", "a roll made inline",
		(double)bench_quantile(&hists[ours], 0.99),
		(double)bench_quantile(&hists[other], 0.99), goal, true, false });
	bench_number("rolls", (double)hists[ours].count);
	bench_number("rows_a_file", option_rows);
	bench_number("interval_ms", option_interval);
	bench_quantiles("stall_ns", &hists[ours]);
	bench_quantiles("other_stall_ns", &hists[other]);
	bench_text("fs", bench_fs(bench_dir(false)));
	bench_text("pinned", bench_pinned("writer first, the library's threads second"));
	bench_curve("curve", &hists[ours]);
	bench_curve("other_curve", &hists[other]);
	bench_close();
}

int main(int argc, char **argv)
{
	static const struct bench_option options[] = {
		{ "rolls", &option_rolls, NULL, "of each side" },
		{ "rows", &option_rows, NULL, "a file" },
		{ "interval", &option_interval, NULL, "ms before a roll" },
	};
	struct bench_hist *hists = bench_shared(sizeof(*hists) * SIDES);

	bench_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
	if (option_rolls < 1 || option_rows < 16)
		bench_die("--rolls must be at least 1, --rows at least 16");
	for (unsigned done = 0; done < (unsigned)option_rolls; done += BLOCK) {
		unsigned left = (unsigned)option_rolls - done;

		for (int side = 0; side < SIDES; side++)
			run_block(side, left < BLOCK ? left : BLOCK, &hists[side]);
	}
	emit(PREPARED, INLINE, 10, hists);
	emit(HURRIED, INLINE, 0, hists);
	emit(PREPARED_SYNC, INLINE_SYNC, 10, hists);
	emit(HURRIED_SYNC, INLINE_SYNC, 0, hists);
	munmap(hists, sizeof(*hists) * SIDES);
	return 0;
}
