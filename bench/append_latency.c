/* SPDX-License-Identifier: Apache-2.0 */
/* What an append costs over the least that it could cost: a memcpy of a row's size, known to
 * the compiler, and a release store, into the same pages.
 *
 *	append_latency [ROWS]
 *
 * Through the shared library, one row at a time, in batches of 16, and by reserve and publish.
 * Pages are populated before, so that faults are not in it; the rows go to a live file in the
 * current directory's $TMPDIR or /dev/shm. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include <ticktail/ticktail.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct tick {
	int64_t ts;
	int32_t sym, qty;
	double px;
	uint8_t flags;
};
static const char descr[] = "ts:i8,sym:i4,qty:i4,px:f8,flags:u1";

enum { REPETITIONS = 9, BATCH = 16 };

/* Where the limit publishes: a cache line of its own, as a file's tail is. */
static _Alignas(128) _Atomic(uint64_t) limit_end;

struct run {
	char path[256];
	uint64_t rows;
	struct tick batch[BATCH];
	struct bench_hist *hist; /* NULL: the whole run is timed, not each step */
};

typedef uint64_t step_fn(struct run *run, struct tt_file *file, struct tick *place,
			 uint64_t i);

static uint64_t step_limit(struct run *run, struct tt_file *file, struct tick *place,
			   uint64_t i)
{
	(void)file;
	memcpy(&place[i], &run->batch[i % BATCH], sizeof(struct tick));
	atomic_store_explicit(&limit_end, i + 1, memory_order_release);
	return 1;
}

static uint64_t step_limit_batch(struct run *run, struct tt_file *file,
				 struct tick *place, uint64_t i)
{
	(void)file;
	memcpy(&place[i], run->batch, sizeof(run->batch));
	atomic_store_explicit(&limit_end, i + BATCH, memory_order_release);
	return BATCH;
}

static uint64_t step_append(struct run *run, struct tt_file *file, struct tick *place,
			    uint64_t i)
{
	(void)place;
	return tt_file_append(file, &run->batch[i % BATCH], 1) == 0;
}

static uint64_t step_batch(struct run *run, struct tt_file *file, struct tick *place,
			   uint64_t i)
{
	(void)place;
	(void)i;
	return tt_file_append(file, run->batch, BATCH) == 0 ? BATCH : 0;
}

static uint64_t step_reserve(struct run *run, struct tt_file *file, struct tick *place,
			     uint64_t i)
{
	struct tick *tick = tt_file_reserve(file, 1);

	(void)place;
	if (!tick)
		return 0;
	memcpy(tick, &run->batch[i % BATCH], sizeof(*tick));
	return tt_file_publish(file, 1) == 0;
}

static void die(const char *what)
{
	fprintf(stderr, "append_latency: %s\n", what);
	exit(1);
}

static void *prepared(struct tt_file *file, uint64_t rows)
{
	char *place = tt_file_reserve(file, rows);
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from;

	if (!place)
		die("no room for the rows");
	from = (uintptr_t)place & ~(page - 1);
	if (madvise((void *)from, (uintptr_t)place + rows * sizeof(struct tick) - from,
		    MADV_POPULATE_WRITE) < 0)
		memset(place, 0, rows * sizeof(struct tick));
	return place;
}

/* ns a row of one run over the whole file. */
static inline double timed(struct run *run, step_fn *step)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_error err;
	struct tt_file *file;
	struct tick *place;
	int64_t begin, end;

	if (tt_file_clear(run->path, &err) < 0)
		die(err.text);
	opts.access = TT_WRITE;
	opts.wake_never = true; /* a wake-up is a system call, another question */
	if (tt_file_open(&file, run->path, &opts, &err) < 0)
		die(err.text);
	place = prepared(file, run->rows);
	begin = bench_now();
	for (uint64_t i = 0; i < run->rows;) {
		int64_t before = run->hist ? bench_now() : 0;
		uint64_t done = step(run, file, place, i);

		if (run->hist)
			bench_add(run->hist, bench_now() - before);
		if (done == 0)
			die("an append failed");
		i += done;
	}
	end = bench_now();
	tt_file_close(file);
	return (double)(end - begin) / (double)run->rows;
}

struct side {
	double ns[REPETITIONS];
	struct bench_hist hist;
};

/* Both sides in turn, then both again with each step timed. */
static void compare(struct run *run, const char *name, step_fn *ours, step_fn *limit,
		    double goal)
{
	static struct side a, b;
	double x, y;

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	run->hist = NULL;
	timed(run, ours); /* warm up */
	for (int i = 0; i < REPETITIONS; i++) {
		a.ns[i] = timed(run, ours);
		b.ns[i] = timed(run, limit);
	}
	run->hist = &a.hist;
	timed(run, ours);
	run->hist = &b.hist;
	timed(run, limit);
	x = bench_median(a.ns, REPETITIONS);
	y = bench_median(b.ns, REPETITIONS);
	bench_begin("append_latency", name);
	printf(",\"rows\":%" PRIu64
	       ",\"row_bytes\":%zu,\"repetitions\":%d,\"ns_per_row\":%.2f,"
	       "\"limit_ns_per_row\":%.2f,\"ratio\":%.2f,\"goal\":%.2f",
	       run->rows, sizeof(struct tick), REPETITIONS, x, y, x / y, goal);
	bench_quantiles("step_ns_with_clock", &a.hist);
	bench_quantiles("limit_step_ns_with_clock", &b.hist);
	printf("}\n");
}

static void make_file(struct run *run)
{
	const char *dir = getenv("TMPDIR");
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype;
	struct tt_error err;

	snprintf(run->path, sizeof(run->path), "%s/append_latency.%d.npy",
		 dir ? dir : "/dev/shm", (int)getpid());
	opts.capacity = run->rows;
	if (tt_dtype_parse(&dtype, descr, strlen(descr), true, &err) < 0 ||
	    tt_file_create(run->path, dtype, &opts, &err) < 0)
		die(err.text);
	tt_dtype_unref(dtype);
}

int main(int argc, char **argv)
{
	static struct run run;

	run.rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 1 << 20;
	run.rows -= run.rows % BATCH;
	if (run.rows == 0)
		die("ROWS must be at least 16");
	for (int i = 0; i < BATCH; i++) {
		memset(&run.batch[i], 0xff, sizeof(run.batch[i])); /* dirty padding */
		run.batch[i].ts = i;
		run.batch[i].px = 100.25;
	}
	make_file(&run);
	compare(&run, "append", step_append, step_limit, 1.5);
	compare(&run, "append of 16", step_batch, step_limit_batch, 1.25);
	compare(&run, "reserve and publish", step_reserve, step_limit, 1.25);
	unlink(run.path);
	return 0;
}
