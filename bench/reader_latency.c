/* SPDX-License-Identifier: Apache-2.0 */
/* L6, L7: how long after the writer stamped a row another process has read it.
 *
 *	reader_latency [--seconds S] [--rounds N] [--readers N]
 *
 * L6, readers that spin, against one cache line that the same two processes hand over with the
 * stamp in it.  L7, readers that sleep, against a bare futex: store, wake.  Both sides are the
 * same loops; only how a stamp is sent and received differs.  Then what the library's threads
 * cost while rows come and while none does. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

static double option_seconds = 2, option_rounds = 3, option_readers = 16;

enum { MAX_READERS = 64, PERIOD_US = 250, SLACK_US = 60 };
#define LAST INT64_C(-1) /* the stamp that ends a run */

enum how { BARE_SPIN, BARE_FUTEX, RING_SPIN, RING_POLL, RING_SLEEP };

struct line {
	_Alignas(128) _Atomic(uint64_t) number;
	_Atomic(int64_t) stamp;
	_Atomic(uint32_t) word; /* slept on */
	_Alignas(128) char end;
};

struct shared {
	struct line line;
	_Atomic(uint32_t) ready;
	_Atomic(uint32_t) started; /* readers that recorded something */
	int64_t threads_cpu_ns, spent_ns, idle_cpu_ns, idle_ns;
	uint32_t threads;
	struct bench_hist hist[MAX_READERS];
};

struct run {
	enum how how;
	unsigned readers;
	int64_t wake_us;
	double interval_ns, seconds;
	double idle_seconds; /* afterwards */
	char path[600];	     /* of the ring */
	struct shared *shared;
};

struct reader {
	const struct run *run;
	unsigned number;
};

/* ---- Sending ---- */

static void send_bare(const struct run *run, int64_t stamp)
{
	struct line *line = &run->shared->line;

	atomic_store_explicit(&line->stamp, stamp, memory_order_relaxed);
	atomic_store_explicit(&line->number,
			      atomic_load_explicit(&line->number, memory_order_relaxed) +
				      1,
			      memory_order_release);
	if (run->how != BARE_FUTEX)
		return;
	atomic_fetch_add_explicit(&line->word, 1, memory_order_release);
	syscall(SYS_futex, &line->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void send_stamp(const struct run *run, struct tt_ring_writer *writer,
		       int64_t stamp)
{
	struct bench_tick row = { stamp, 7, 100, 100.25, 1 };
	struct tt_error err;

	if (!writer)
		send_bare(run, stamp);
	else if (tt_ring_append(writer, &row, 1, NULL, &err) < 0)
		bench_die("%s", err.text);
}

/* Intervals from half to one and a half of the mean, so that nothing keeps step with a timer. */
static int64_t next_interval(const struct run *run, uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(run->interval_ns * (0.5 + (double)(*seed >> 40) / 0x1p24));
}

static void send_all(const struct run *run, struct tt_ring_writer *writer)
{
	int64_t due = bench_now(), end = due + (int64_t)(run->seconds * 1e9);
	uint64_t seed = 1;

	while (due < end) {
		due += next_interval(run, &seed);
		while (bench_now() < due)
			bench_pause();
		send_stamp(run, writer, bench_now());
	}
	/* a reader that had no processor until now sees one at least */
	while (atomic_load_explicit(&run->shared->started, memory_order_acquire) <
	       run->readers) {
		if (bench_now() - end > INT64_C(60000000000))
			bench_die("a reader has seen no row for a minute");
		send_stamp(run, writer, bench_now());
		bench_sleep(0.001);
	}
}

static void wait_ready(const struct run *run)
{
	while (atomic_load_explicit(&run->shared->ready, memory_order_acquire) <
	       run->readers)
		bench_sleep(0.001);
	bench_sleep(0.01);
}

static int writer_child(void *arg)
{
	const struct run *run = arg;
	struct shared *shared = run->shared;
	struct tt_ring_writer *writer = NULL;
	int64_t cpu, begin;

	if (run->how != BARE_SPIN && run->how != BARE_FUTEX)
		writer = bench_ring_writer(run->path, run->wake_us, TT_SYNC_NONE, false);
	bench_pin(BENCH_WRITER);
	bench_pin_others(BENCH_READER);
	wait_ready(run);
	shared->threads = bench_others();
	cpu = bench_others_cpu_ns();
	begin = bench_now();
	send_all(run, writer);
	shared->threads_cpu_ns += bench_others_cpu_ns() - cpu;
	shared->spent_ns += bench_now() - begin;
	if (run->idle_seconds > 0) {
		bench_sleep(0.1); /* threads that are to fall asleep do so */
		cpu = bench_others_cpu_ns();
		begin = bench_now();
		bench_sleep(run->idle_seconds);
		shared->idle_cpu_ns += bench_others_cpu_ns() - cpu;
		shared->idle_ns += bench_now() - begin;
	}
	for (unsigned i = 0; i < run->readers || i == 0; i++) {
		send_stamp(run, writer, LAST);
		bench_sleep(0.002);
	}
	tt_ring_writer_close(writer);
	return 0;
}

/* ---- Receiving ---- */

static inline void record(const struct run *run, struct bench_hist *hist, int64_t ns)
{
	static bool told; /* each reader is a process, made for one run */

	if (!told)
		atomic_fetch_add_explicit(&run->shared->started, 1, memory_order_release);
	told = true;
	bench_add(hist, ns);
}

static int receive_bare(const struct run *run, struct bench_hist *hist)
{
	struct line *line = &run->shared->line;
	uint64_t seen = 0;

	for (;;) {
		uint32_t word = atomic_load_explicit(&line->word, memory_order_acquire);
		uint64_t number =
			atomic_load_explicit(&line->number, memory_order_acquire);
		int64_t stamp, now;

		if (number == seen) {
			struct timespec limit = { 0, 100000000 };

			if (run->how == BARE_SPIN)
				bench_pause();
			else
				syscall(SYS_futex, &line->word, FUTEX_WAIT, word, &limit,
					NULL, 0);
			continue;
		}
		stamp = atomic_load_explicit(&line->stamp, memory_order_relaxed);
		now = bench_now();
		if (stamp == LAST)
			return 0;
		record(run, hist, now - stamp);
		seen = number;
	}
}

/* Records the rows of a view; true when the last was among them. */
static bool take(const struct run *run, const struct tt_view *view,
		 struct bench_hist *hist)
{
	const struct bench_tick *rows = view->rows;
	int64_t stamp = *(const volatile int64_t *)&rows[view->count - 1].ts;
	int64_t now = bench_now();

	for (uint64_t i = 0; i < view->count; i++) {
		stamp = rows[i].ts;
		if (stamp == LAST)
			return true;
		record(run, hist, now - stamp);
	}
	return false;
}

static int receive_ring(const struct run *run, struct tt_ring_reader *reader,
			struct bench_hist *hist)
{
	enum tt_wait how = run->how == RING_SLEEP ? TT_WAIT_SLEEP : TT_WAIT_SPIN;
	struct tt_error err;
	struct tt_view view;

	for (;;) {
		int rc = tt_ring_read(reader, 1024, 0, &view, NULL, &err);

		if (rc == 1 && take(run, &view, hist))
			return 0;
		if (rc == 0 && run->how == RING_POLL)
			bench_pause();
		else if (rc == 0)
			rc = tt_ring_wait(reader, how, 1000000000, &err);
		if (rc < 0)
			bench_die("%s", err.text);
	}
}

static int reader_child(void *arg)
{
	const struct reader *self = arg;
	const struct run *run = self->run;
	struct bench_hist *hist = &run->shared->hist[self->number];
	struct tt_ring_reader *reader = NULL;
	struct tt_error err;
	int rc;

	bench_pin(BENCH_READER);
	if (run->how != BARE_SPIN && run->how != BARE_FUTEX &&
	    (tt_ring_reader_open(&reader, run->path, NULL, &err) < 0 ||
	     tt_ring_seek_last(reader, &err) < 0))
		bench_die("%s", err.text);
	atomic_fetch_add_explicit(&run->shared->ready, 1, memory_order_release);
	rc = reader ? receive_ring(run, reader, hist) : receive_bare(run, hist);
	tt_ring_reader_close(reader);
	return rc;
}

/* ---- Runs ---- */

static void run_once(struct run *run)
{
	struct reader readers[MAX_READERS];
	pid_t pids[MAX_READERS], writer;
	uint64_t rows = (uint64_t)(run->seconds * 1e9 / run->interval_ns * 1.6) + 1000;

	snprintf(run->path, sizeof(run->path), "%s/ring", bench_dir(true));
	bench_make_ring(&(struct bench_ring){ run->path, BENCH_TICK, true, rows, 2,
					      TT_SYNC_NONE });
	atomic_store(&run->shared->ready, 0);
	atomic_store(&run->shared->started, 0);
	atomic_store(&run->shared->line.number, 0);
	for (unsigned i = 0; i < run->readers; i++) {
		readers[i] = (struct reader){ run, i };
		pids[i] = bench_spawn(reader_child, &readers[i]);
	}
	writer = bench_spawn(writer_child, run);
	bench_wait(writer);
	for (unsigned i = 0; i < run->readers; i++)
		bench_wait(pids[i]);
	bench_remove_tree(run->path);
}

static struct run make_run(enum how how, unsigned readers, int64_t wake_us,
			   double interval_us)
{
	return (struct run){ .how = how,
			     .readers = readers,
			     .wake_us = wake_us,
			     .interval_ns = interval_us * 1000,
			     .seconds = option_seconds / option_rounds,
			     .shared = bench_shared(sizeof(struct shared)) };
}

/* All readers in one histogram. */
static struct bench_hist *all_readers(const struct run *run)
{
	struct bench_hist *sum = calloc(1, sizeof(*sum));

	if (!sum)
		bench_die("out of memory");
	for (unsigned i = 0; i < run->readers; i++)
		bench_merge(sum, &run->shared->hist[i]);
	return sum;
}

struct line_of {
	const char *name, *target, *against;
	double goal;
	double other_ns; /* in place of the other side's p50, when > 0 */
};

/* ours_ns: in place of our p50, when > 0 */
static void emit(const struct line_of *what, double ours_ns, const struct run *run,
		 const struct run *other)
{
	struct bench_hist *ours = all_readers(run), *bare = all_readers(other);

	bench_open(&(struct bench_result){
		"reader_latency", what->name, what->target, "ns at p50", what->against,
		ours_ns > 0 ? ours_ns : (double)bench_quantile(ours, 0.5),
		what->other_ns > 0 ? what->other_ns : (double)bench_quantile(bare, 0.5),
		what->goal, false, false });
	bench_number("readers", run->readers);
	bench_number("interval_us", run->interval_ns / 1e3);
	bench_quantiles("latency_ns", ours);
	bench_quantiles("other_latency_ns", bare);
	bench_number("library_threads", run->shared->threads);
	bench_number("library_cpu_percent", 100 * (double)run->shared->threads_cpu_ns /
						    (double)(run->shared->spent_ns + 1));
	if (run->readers > 1 && run->how != RING_SLEEP)
		bench_text("note", "more spinning readers than processors for them");
	bench_text("fs", bench_fs(bench_dir(true)));
	bench_text(
		"pinned",
		bench_pinned("writer first, readers and the library's threads second"));
	bench_curve("curve", ours);
	bench_curve("other_curve", bare);
	bench_close();
	free(ours);
	free(bare);
}

/* Ours and the bare side in turn. */
static void compare(const struct line_of *what, struct run *run, struct run *bare)
{
	for (int round = 0; round < (int)option_rounds; round++) {
		run_once(run);
		run_once(bare);
	}
	emit(what, 0, run, bare);
	munmap(run->shared, sizeof(*run->shared));
	munmap(bare->shared, sizeof(*bare->shared));
}

/* Of a round: where the host puts the two processors changes within seconds, and two sides of
 * different placements cannot be compared. */
#define SLICES 10

/* Its p50; all its latencies go to sum. */
static double run_slice(struct run *run, struct bench_hist *sum)
{
	memset(run->shared->hist, 0, sizeof(run->shared->hist));
	run_once(run);
	bench_merge(sum, &run->shared->hist[0]);
	return (double)bench_quantile(&run->shared->hist[0], 0.5);
}

/* One reader.  The line is the pair of neighbouring slices that has the median ratio; quantiles
 * and curves are of all of them. */
static void compare_by_slices(struct line_of what, struct run *run, struct run *bare)
{
	size_t count = (size_t)option_rounds * SLICES;
	struct bench_pair *slices = calloc(count, sizeof(*slices)), median;
	struct bench_hist *sums = calloc(2, sizeof(*sums));

	if (!slices || !sums)
		bench_die("out of memory");
	run->seconds /= SLICES;
	bare->seconds /= SLICES;
	for (size_t i = 0; i < count; i++) {
		slices[i].ours = run_slice(run, &sums[0]);
		slices[i].other = run_slice(bare, &sums[1]);
	}
	median = bench_median_pair(slices, count);
	what.other_ns = median.other;
	run->shared->hist[0] = sums[0];
	bare->shared->hist[0] = sums[1];
	emit(&what, median.ours, run, bare);
	munmap(run->shared, sizeof(*run->shared));
	munmap(bare->shared, sizeof(*bare->shared));
	free(slices);
	free(sums);
}

static void spinning(void)
{
	static const char against[] =
		"a cache line handed over between the same processes";
	struct run wait = make_run(RING_SPIN, 1, PERIOD_US, 20);
	struct run poll = make_run(RING_POLL, 1, PERIOD_US, 20);
	struct run bare = make_run(BARE_SPIN, 1, 0, 20);
	struct run again = make_run(BARE_SPIN, 1, 0, 20);

	compare_by_slices((struct line_of){ .name = "1 reader spins in tt_ring_wait",
					    .target = "L6",
					    .against = against,
					    .goal = 1.5 },
			  &wait, &bare);
	compare_by_slices((struct line_of){ .name = "1 reader polls tt_ring_read",
					    .target = "L6",
					    .against = against,
					    .goal = 1.5 },
			  &poll, &again);
}

static void sleeping(void)
{
	static const char futex[] = "a bare futex wake";
	struct run each = make_run(RING_SLEEP, 1, TT_WAKE_EACH, 1000);
	struct run period = make_run(RING_SLEEP, 1, PERIOD_US, 1000);
	struct run bare = make_run(BARE_FUTEX, 1, 0, 1000);
	struct run again = make_run(BARE_FUTEX, 1, 0, 1000);

	compare(&(struct line_of){ "1 reader sleeps, wake each", "L7", futex, 1.3, 0 },
		&each, &bare);
	compare(&(struct line_of){ "1 reader sleeps, default policy", "L7",
				   "the period of 250 us and 60 us", 1,
				   (PERIOD_US + SLACK_US) * 1000.0 },
		&period, &again);
}

static void many(unsigned readers)
{
	char name[4][80];
	struct run spin = make_run(RING_SPIN, readers, PERIOD_US, 1000);
	struct run bare_spin = make_run(BARE_SPIN, readers, 0, 1000);
	struct run each = make_run(RING_SLEEP, readers, TT_WAKE_EACH, 1000);
	struct run bare_each = make_run(BARE_FUTEX, readers, 0, 1000);
	struct run period = make_run(RING_SLEEP, readers, PERIOD_US, 1000);
	struct run bare_period = make_run(BARE_FUTEX, readers, 0, 1000);

	snprintf(name[0], sizeof(name[0]), "%u readers spin in tt_ring_wait", readers);
	snprintf(name[1], sizeof(name[1]), "%u readers sleep, wake each", readers);
	snprintf(name[2], sizeof(name[2]), "%u readers sleep, default policy", readers);
	compare(&(struct line_of){ name[0], "L6", "as many on one cache line", 0, 0 },
		&spin, &bare_spin);
	compare(&(struct line_of){ name[1], "L7", "as many on a bare futex", 0, 0 },
		&each, &bare_each);
	compare(&(struct line_of){ name[2], "L7", "as many on a bare futex", 0, 0 },
		&period, &bare_period);
}

/* ---- What the library's threads cost ---- */

static void emit_cost(const char *name, double percent, double limit,
		      const struct run *run)
{
	bench_open(&(struct bench_result){ "reader_latency", name, "L7", "% of a core",
					   limit > 1 ? "8 % of a core"
						     : "nothing: 0.1 % of a core",
					   percent, limit, 1, false, false });
	bench_number("library_threads", run->shared->threads);
	bench_number("seconds", (double)run->shared->spent_ns / 1e9);
	bench_close();
}

static void costs(void)
{
	struct run full = make_run(RING_SLEEP, 1, PERIOD_US, 10);
	struct run slow = make_run(RING_SLEEP, 1, PERIOD_US, 1000);
	struct shared *shared = full.shared;

	full.seconds = slow.seconds = option_seconds;
	full.idle_seconds = option_seconds;
	run_once(&full);
	run_once(&slow);
	emit_cost("library's threads at 100 k rows/s",
		  100 * (double)shared->threads_cpu_ns / (double)shared->spent_ns, 8,
		  &full);
	emit_cost("library's threads at 1 k rows/s",
		  100 * (double)slow.shared->threads_cpu_ns /
			  (double)slow.shared->spent_ns,
		  8, &slow);
	emit_cost("library's threads, no rows",
		  100 * (double)shared->idle_cpu_ns / (double)shared->idle_ns, 0.1,
		  &full);
}

int main(int argc, char **argv)
{
	static const struct bench_option options[] = {
		{ "seconds", &option_seconds, NULL, "of each side, over all rounds" },
		{ "rounds", &option_rounds, NULL, "in which the sides take turns" },
		{ "readers", &option_readers, NULL, "most readers, after 1 and 4" },
	};

	bench_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
	if (option_rounds < 1 || option_seconds <= 0 || option_readers < 1 ||
	    option_readers > MAX_READERS)
		bench_die("--rounds and --seconds must be positive, --readers 1 to %d",
			  MAX_READERS);
	spinning();
	sleeping();
	if (option_readers > 4)
		many(4);
	if (option_readers > 1)
		many((unsigned)option_readers);
	costs();
	return 0;
}
