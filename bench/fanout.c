/* SPDX-License-Identifier: Apache-2.0 */
/* L8: what sleeping readers cost the writer: append latency at a fixed rate, alone on its
 * processor, with and without readers that sleep on the other one.
 *
 *	fanout [--seconds S] [--rounds N] [--rate R] [--readers N]
 *
 * As in append_rate a row's latency runs from when it was due.  The sides take turns. */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

static double option_seconds = 10, option_rounds = 10, option_rate = 100000,
	      option_readers = 16;

enum { MAX_READERS = 64, MAX_ROUNDS = 1000 };

struct shared {
	_Atomic(uint32_t) ready, stop;
	_Atomic(uint64_t) rows_read;
	struct bench_hist hist;
};

struct run {
	char path[600];
	unsigned readers;
	double seconds;
	struct shared *shared;
	struct bench_hist sum; /* of the rounds so far */
};

static int reader_child(void *arg)
{
	const struct run *run = arg;
	struct tt_ring_reader *reader;
	struct tt_error err;
	struct tt_view view;
	uint64_t rows = 0;
	int rc;

	bench_pin(BENCH_READER);
	if (tt_ring_reader_open(&reader, run->path, NULL, &err) < 0)
		bench_die("%s", err.text);
	atomic_fetch_add_explicit(&run->shared->ready, 1, memory_order_release);
	while (!atomic_load_explicit(&run->shared->stop, memory_order_acquire)) {
		rc = tt_ring_wait(reader, TT_WAIT_SLEEP, 20000000, &err);
		while (rc >= 0 &&
		       (rc = tt_ring_read(reader, 65536, 0, &view, NULL, &err)) == 1)
			rows += view.count;
		if (rc < 0)
			bench_die("%s", err.text);
	}
	atomic_fetch_add_explicit(&run->shared->rows_read, rows, memory_order_relaxed);
	tt_ring_reader_close(reader);
	return 0;
}

static void append_all(struct tt_ring_writer *writer, double seconds,
		       struct bench_hist *hist)
{
	uint64_t count = (uint64_t)(option_rate * seconds);
	struct bench_tick row = { 0, 7, 100, 100.25, 1 };
	int64_t begin = bench_now() + 1000000;
	struct tt_error err;

	for (uint64_t i = 0; i < count; i++) {
		int64_t due = begin + (int64_t)((double)i * 1e9 / option_rate);

		while (bench_now() < due)
			bench_pause();
		row.ts = due;
		if (tt_ring_append(writer, &row, 1, NULL, &err) < 0)
			bench_die("%s", err.text);
		if (hist)
			bench_add(hist, bench_now() - due);
	}
}

static int writer_child(void *arg)
{
	const struct run *run = arg;
	struct tt_ring_writer *writer =
		bench_ring_writer(run->path, 250, TT_SYNC_NONE, false);

	bench_pin(BENCH_WRITER);
	bench_pin_others(BENCH_READER);
	while (atomic_load_explicit(&run->shared->ready, memory_order_acquire) <
	       run->readers)
		bench_sleep(0.001);
	append_all(writer, run->seconds / 10, NULL); /* warm up */
	append_all(writer, run->seconds, &run->shared->hist);
	atomic_store_explicit(&run->shared->stop, 1, memory_order_release);
	tt_ring_writer_close(writer);
	return 0;
}

static void run_once(struct run *run)
{
	pid_t pids[MAX_READERS], writer;

	snprintf(run->path, sizeof(run->path), "%s/ring", bench_dir(true));
	bench_make_ring(&(struct bench_ring){
		run->path, BENCH_TICK, true,
		(uint64_t)(option_rate * 1.2 * run->seconds) + 16, 2, TT_SYNC_NONE });
	atomic_store(&run->shared->ready, 0);
	atomic_store(&run->shared->stop, 0);
	for (unsigned i = 0; i < run->readers; i++)
		pids[i] = bench_spawn(reader_child, run);
	writer = bench_spawn(writer_child, run);
	bench_wait(writer);
	for (unsigned i = 0; i < run->readers; i++)
		bench_wait(pids[i]);
	bench_remove_tree(run->path);
}

/* A quantile of the pair of rounds that has the median ratio; the others are of all rounds: what
 * a neighbour takes for a moment is in one side of one round. */
static void emit(const char *name, struct bench_pair pair, const struct run *ours,
		 const struct run *other)
{
	const struct bench_hist *a = &ours->sum, *b = &other->sum;
	char words[96];

	snprintf(words, sizeof(words), "%u sleeping readers, %s", ours->readers, name);
	bench_open(&(struct bench_result){ "fanout", words, "L8", "ns", "no reader",
					   pair.ours, pair.other, 1.05, false, false });
	bench_number("rate", option_rate);
	bench_number("seconds", option_seconds);
	bench_number("rows_read", (double)atomic_load(&ours->shared->rows_read));
	bench_quantiles("latency_ns", a);
	bench_quantiles("other_latency_ns", b);
	bench_text("fs", bench_fs(bench_dir(true)));
	bench_text(
		"pinned",
		bench_pinned("writer first, readers and the library's threads second"));
	bench_close();
}

static struct bench_pair take(const struct run *ours, const struct run *other,
			      double part)
{
	return (struct bench_pair){ (double)bench_quantile(&ours->shared->hist, part),
				    (double)bench_quantile(&other->shared->hist, part) };
}

static void forget(struct run *run)
{
	bench_merge(&run->sum, &run->shared->hist);
	memset(&run->shared->hist, 0, sizeof(run->shared->hist));
}

int main(int argc, char **argv)
{
	static const struct bench_option options[] = {
		{ "seconds", &option_seconds, NULL, "of each side, over all rounds" },
		{ "rounds", &option_rounds, NULL, "in which the sides take turns" },
		{ "rate", &option_rate, NULL, "rows a second" },
		{ "readers", &option_readers, NULL, "that sleep" },
	};
	static struct bench_pair p50[MAX_ROUNDS], p99[MAX_ROUNDS];
	static struct run with, without;

	bench_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
	if (option_rounds < 1 || option_rounds > MAX_ROUNDS || option_seconds <= 0 ||
	    option_rate < 1 || option_readers < 1 || option_readers > MAX_READERS)
		bench_die(
			"all options must be positive, --readers at most %d, --rounds %d",
			MAX_READERS, MAX_ROUNDS);
	with.readers = (unsigned)option_readers;
	with.seconds = without.seconds = option_seconds / option_rounds;
	with.shared = bench_shared(sizeof(struct shared));
	without.shared = bench_shared(sizeof(struct shared));
	for (int round = 0; round < (int)option_rounds; round++) {
		run_once(round % 2 ? &with : &without);
		run_once(round % 2 ? &without : &with);
		p50[round] = take(&with, &without, 0.5);
		p99[round] = take(&with, &without, 0.99);
		forget(&with);
		forget(&without);
	}
	emit("p50", bench_median_pair(p50, (size_t)option_rounds), &with, &without);
	emit("p99", bench_median_pair(p99, (size_t)option_rounds), &with, &without);
	return 0;
}
