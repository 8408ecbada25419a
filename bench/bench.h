/* SPDX-License-Identifier: Apache-2.0 */
/* What the bench programs share: the clock, a histogram with log buckets, the JSON line of a
 * result, options, processors, children, rings to write to.
 *
 * Rule: both sides of a ratio are measured in one run of one program, in turn, so that a
 * machine that slows down slows both. */
#ifndef TICKTAIL_BENCH_H
#define TICKTAIL_BENCH_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include <ticktail/ticktail.h>

#define BENCH_NOINLINE __attribute__((noinline, aligned(64)))

static inline int64_t bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static inline void bench_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* ---- Histogram: 128 buckets an octave, a value is known to 1/128 ---- */

#define BENCH_SUB_BITS 7
#define BENCH_SUB (1 << BENCH_SUB_BITS)
#define BENCH_BUCKETS ((65 - BENCH_SUB_BITS) * BENCH_SUB)
struct bench_hist {
	uint64_t bucket[BENCH_BUCKETS];
	uint64_t count, max;
};

static inline unsigned bench_bucket(uint64_t value)
{
	unsigned shift;

	if (value < BENCH_SUB)
		return (unsigned)value;
	shift = 63 - (unsigned)__builtin_clzll(value) - BENCH_SUB_BITS;
	return (shift + 1) * BENCH_SUB + (unsigned)(value >> shift) - BENCH_SUB;
}

static inline void bench_add(struct bench_hist *hist, int64_t value)
{
	uint64_t v = value < 0 ? 0 : (uint64_t)value;

	hist->bucket[bench_bucket(v)]++;
	hist->count++;
	if (v > hist->max)
		hist->max = v;
}

void bench_merge(struct bench_hist *into, const struct bench_hist *from);
/* The value below which part (0..1) of all lie, at most max. */
uint64_t bench_quantile(const struct bench_hist *hist, double part);
double bench_median(double *values, size_t count);
/* Both sides as measured one right after the other. */
struct bench_pair {
	double ours, other;
};
/* The pair that has the median ratio; sorts. */
struct bench_pair bench_median_pair(struct bench_pair *pairs, size_t count);

/* ---- Results: one JSON line each ---- */

/* ours and other are in unit; the ratio says how many times better (at_least) or dearer ours
 * is, and is judged by goal; goal 0: shown only. */
struct bench_result {
	const char *bench, *name, *target, *unit, *against;
	double ours, other, goal;
	bool at_least;
	bool is_rate; /* more is better */
};

void bench_open(const struct bench_result *result); /* the line, its end left open */
void bench_number(const char *key, double value);
void bench_text(const char *key, const char *text);
void bench_quantiles(const char *key, const struct bench_hist *hist);
/* [[part above, value], ...] for a plot */
void bench_curve(const char *key, const struct bench_hist *hist);
void bench_close(void);
/* A line that says why a case is not there: {"bench":..., "case":..., "skipped": why}. */
void bench_skip(const char *bench, const char *name, const char *why);

/* ---- Options: --NAME VALUE ---- */

struct bench_option {
	const char *name; /* without the dashes */
	double *number;	  /* one of the two */
	const char **text;
	const char *help;
};
void bench_options(int argc, char **argv, const struct bench_option *options,
		   size_t count);
void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ---- Places ---- */

/* A private directory, removed at exit: below $BENCH_DIR, else /dev/shm (memory) or $TMPDIR or
 * the current directory. */
const char *bench_dir(bool memory);
const char *bench_fs(const char *dir); /* "ext4", ... */
void bench_remove_tree(const char *path);

/* ---- Processors, processes, threads ---- */

#define BENCH_WRITER 0
#define BENCH_READER 1
bool bench_has_two_cpus(void);
/* The calling thread to the processor of a role; with one processor all roles share it. */
void bench_pin(int role);
/* All other threads of this process: the library's own. */
void bench_pin_others(int role);
unsigned bench_others(void);		     /* how many there are */
int64_t bench_others_cpu_ns(void);	     /* processor time that they took */
const char *bench_pinned(const char *roles); /* "writer 0, readers 1, ..." for the line */

typedef int bench_child_fn(void *arg);
pid_t bench_spawn(bench_child_fn *fn, void *arg); /* dies with its parent */
void bench_wait(pid_t pid);			  /* dies when it failed */
void bench_stop(pid_t pid);			  /* SIGKILL and wait */
void *bench_shared(size_t bytes);		  /* zeroed, children share it */
void bench_sleep(double seconds);

/* ---- Rows and rings ---- */

struct bench_tick {
	int64_t ts;
	int32_t sym, qty;
	double px;
	uint8_t flags; /* and 7 bytes of padding */
};
#define BENCH_TICK "ts:i8,sym:i4,qty:i4,px:f8,flags:u1"

struct tt_dtype *bench_dtype(const char *descr, bool align);
struct bench_ring {
	const char *path, *descr;
	bool align;
	uint64_t capacity, keep;
	int64_t sync_ms;
};
void bench_make_ring(const struct bench_ring *ring);
struct tt_ring_writer *bench_ring_writer(const char *path, int64_t wake_us,
					 int64_t sync_ms, bool no_helper);
struct tt_file *bench_file_writer(const char *path, int64_t wake_us, bool clean_rows);
/* Remove what left the queue, but the newest spare files of it. */
void bench_prune(const char *path, size_t spare);
/* Populate the pages of [place, place + bytes) for writing. */
void bench_populate(void *place, size_t bytes);

#endif
