/* SPDX-License-Identifier: Apache-2.0 */
/* What the bench programs share: the clock, a histogram with log buckets, the median of
 * repetitions, and one JSON line a result.
 *
 * Rule: both sides of a ratio are measured in one run of one program, in turn, so that a
 * machine that slows down slows both. */
#ifndef TICKTAIL_BENCH_H
#define TICKTAIL_BENCH_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include <ticktail/error.h>

static inline int64_t bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* 16 buckets an octave: a value is known to 1/16. */
#define BENCH_SUB 16
#define BENCH_BUCKETS (60 * BENCH_SUB)
struct bench_hist {
	uint64_t bucket[BENCH_BUCKETS];
	uint64_t count, max;
};

static inline unsigned bench_bucket(uint64_t value)
{
	unsigned shift;

	if (value < BENCH_SUB)
		return (unsigned)value;
	shift = 63 - (unsigned)__builtin_clzll(value) - 4;
	return (shift + 1) * BENCH_SUB + (unsigned)(value >> shift) - BENCH_SUB;
}

static inline uint64_t bench_bucket_low(unsigned i)
{
	if (i < BENCH_SUB)
		return i;
	return (uint64_t)(i % BENCH_SUB + BENCH_SUB) << (i / BENCH_SUB - 1);
}

static inline void bench_add(struct bench_hist *hist, int64_t value)
{
	uint64_t v = value < 0 ? 0 : (uint64_t)value;

	hist->bucket[bench_bucket(v)]++;
	hist->count++;
	if (v > hist->max)
		hist->max = v;
}

/* The value below which part (0..1) of all lie. */
static inline uint64_t bench_quantile(const struct bench_hist *hist, double part)
{
	uint64_t want = (uint64_t)(part * (double)hist->count), seen = 0;

	for (unsigned i = 0; i < BENCH_BUCKETS; i++) {
		seen += hist->bucket[i];
		if (seen > want)
			return bench_bucket_low(i);
	}
	return hist->max;
}

static inline int bench_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline double bench_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), bench_by_value);
	return values[count / 2];
}

/* The processor's name, or "". */
static inline void bench_cpu(char *out, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	out[0] = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) == 0 && colon) {
			snprintf(out, size, "%.*s", (int)strcspn(colon + 2, "\n\""),
				 colon + 2);
			break;
		}
	}
	if (file)
		fclose(file);
}

/* Opens the JSON line of a result; the caller prints fields and "}\n". */
static inline void bench_begin(const char *bench, const char *name)
{
	struct utsname system;
	char cpu[128];

	bench_cpu(cpu, sizeof(cpu));
	uname(&system);
	printf("{\"bench\":\"%s\",\"case\":\"%s\",\"cpu\":\"%s\",\"kernel\":\"%s\","
	       "\"version\":\"%s\"",
	       bench, name, cpu, system.release, tt_version());
}

static inline void bench_quantiles(const char *name, const struct bench_hist *hist)
{
	printf(",\"%s\":{\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"p99.9\":%" PRIu64
	       ",\"max\":%" PRIu64 "}",
	       name, bench_quantile(hist, 0.5), bench_quantile(hist, 0.99),
	       bench_quantile(hist, 0.999), hist->max);
}

#endif
