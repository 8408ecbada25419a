/* SPDX-License-Identifier: Apache-2.0 */
/* L5: the append that meets a full file, prepared by the library's helper against inline.
 *
 *	roll_stall [--rolls N] [--rows N] [--interval MS]
 *
 * A file is filled in one batch but for its last rows; they come one by one, as from a feed that
 * runs, for --interval; the append after them, which finds the file full, is timed.  (After a
 * sleep of ten milliseconds any system call costs several times as much, on both sides.)
 *
 * The goal is about a feed whose files last longer than it takes to make the next: so the
 * interval begins when the ring's counter says that the helper has made it, and the side that
 * makes its files inline waits at the same place for the interval alone.  "back to back" are
 * rolls that come each --interval, made or not: they say how late the helper is, and are shown.
 * The sides take turns in blocks of 50 rolls. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

static double option_rolls = 1000, option_rows = 32768, option_interval = 10;

enum { BLOCK = 50, TRICKLE = 1000 /* rows of an interval */ };
enum { PREPARED, HURRIED, INLINE, PREPARED_SYNC, HURRIED_SYNC, INLINE_SYNC, BARE, SIDES };
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
	[BARE] = { "a bare rename at the same place", true, true, TT_SYNC_NONE },
};

struct block {
	const char *path;
	int side;
	unsigned rolls;
	struct bench_hist *hist; /* shared */
};

/* All but the last rows. */
static void fill(struct tt_ring_writer *writer)
{
	struct tt_error err;
	uint64_t got;
	struct bench_tick *rows = tt_ring_reserve(writer, UINT64_MAX, &got, &err);

	if (!rows)
		bench_die("%s", err.text);
	got = got > TRICKLE ? got - TRICKLE : 0;
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

static void append_one(struct tt_ring_writer *writer)
{
	struct bench_tick row = { bench_now(), 7, 100, 100.25, 1 };
	struct tt_error err;

	if (tt_ring_append(writer, &row, 1, NULL, &err) < 0)
		bench_die("%s", err.text);
}

static void trickle(struct tt_ring_writer *writer)
{
	int64_t begin = bench_now();

	for (int64_t i = 0; i < TRICKLE; i++) {
		int64_t due = begin + (int64_t)(option_interval * 1e6) * i / TRICKLE;

		while (bench_now() < due)
			bench_pause();
		append_one(writer);
	}
}

/* The system call that a file without a name ahead costs, after the same wait. */
static int bare_child(void *arg)
{
	const struct block *block = arg;
	char from[620], to[620];
	volatile uint64_t spun = 0;

	bench_pin(BENCH_WRITER);
	snprintf(from, sizeof(from), "%s/.bare", block->path);
	for (unsigned i = 0; i < block->rolls; i++) {
		int64_t before;

		close(open(from, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
		snprintf(to, sizeof(to), "%s/.bare-%u", block->path, i);
		before = bench_now();
		while (bench_now() - before < (int64_t)(option_interval * 1e6))
			spun++;
		before = bench_now();
		if (rename(from, to) < 0)
			bench_die("%s: %s", to, strerror(errno));
		bench_add(block->hist, bench_now() - before);
		unlink(to);
	}
	return 0;
}

static int block_child(void *arg)
{
	const struct block *block = arg;
	struct tt_ring_writer *writer =
		bench_ring_writer(block->path, 250, sides[block->side].sync_ms,
				  sides[block->side].no_helper);

	bench_pin(BENCH_WRITER);
	bench_pin_others(BENCH_READER);
	for (unsigned i = 0; i < block->rolls; i++) {
		int64_t before;

		fill(writer);
		bench_prune(block->path, 0);
		/* each roll takes one, so before roll i, i were made and are gone */
		if (!sides[block->side].hurried)
			wait_prepared(block->path, i);
		trickle(writer);
		before = bench_now();
		append_one(writer);
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
	bench_wait(bench_spawn(side == BARE ? bare_child : block_child, &block));
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
	if (option_rolls < 1 || option_rows <= TRICKLE)
		bench_die("--rolls must be at least 1, --rows more than %d", TRICKLE);
	for (unsigned done = 0; done < (unsigned)option_rolls; done += BLOCK) {
		unsigned left = (unsigned)option_rolls - done;

		for (int side = 0; side < SIDES; side++)
			run_block(side, left < BLOCK ? left : BLOCK, &hists[side]);
	}
	emit(PREPARED, INLINE, 10, hists);
	emit(HURRIED, INLINE, 0, hists);
	emit(BARE, INLINE, 0, hists);
	emit(PREPARED_SYNC, INLINE_SYNC, 10, hists);
	emit(HURRIED_SYNC, INLINE_SYNC, 0, hists);
	munmap(hists, sizeof(*hists) * SIDES);
	return 0;
}
