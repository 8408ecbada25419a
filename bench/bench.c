/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of bench.h that are not on a measured path: results, options, rows and rings. */
#include "bench.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void bench_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("bench: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

/* ---- Numbers ---- */

static uint64_t bucket_low(unsigned i)
{
	if (i < BENCH_SUB)
		return i;
	return (uint64_t)(i % BENCH_SUB + BENCH_SUB) << (i / BENCH_SUB - 1);
}

void bench_merge(struct bench_hist *into, const struct bench_hist *from)
{
	for (unsigned i = 0; i < BENCH_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
	into->count += from->count;
	if (from->max > into->max)
		into->max = from->max;
}

uint64_t bench_quantile(const struct bench_hist *hist, double part)
{
	uint64_t want = (uint64_t)(part * (double)hist->count), seen = 0;

	for (unsigned i = 0; i < BENCH_BUCKETS; i++) {
		seen += hist->bucket[i];
		if (seen > want)
			return bucket_low(i);
	}
	return hist->max;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

static int compare_ratios(const void *a, const void *b)
{
	const struct bench_pair *left = a, *right = b;
	double x = left->ours / left->other, y = right->ours / right->other;

	return (x > y) - (x < y);
}

struct bench_pair bench_median_pair(struct bench_pair *pairs, size_t count)
{
	qsort(pairs, count, sizeof(*pairs), compare_ratios);
	return pairs[count / 2];
}

/* ---- Results ---- */

/* The processor's name, or "". */
static void cpu_name(char *out, size_t size)
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

/* Six significant digits in plain notation, which every reader of JSON knows. */
static void print_number(double value)
{
	if (value != value || value > 1e300 || value < -1e300)
		fputs("null", stdout);
	else
		printf("%.6g", value);
}

void bench_open(const struct bench_result *r)
{
	double ratio =
		r->is_rate == r->at_least ? r->ours / r->other : r->other / r->ours;
	struct utsname system;
	double load = 0;
	char cpu[128];

	getloadavg(&load, 1);
	cpu_name(cpu, sizeof(cpu));
	uname(&system);
	printf("{\"bench\":\"%s\",\"case\":\"%s\",\"target\":\"%s\",\"unit\":\"%s\"",
	       r->bench, r->name, r->target, r->unit);
	bench_number("ours", r->ours);
	bench_number("other", r->other);
	bench_text("against", r->against);
	bench_number("ratio", ratio);
	if (r->goal > 0) {
		bool ok = r->at_least ? ratio >= r->goal : ratio <= r->goal;

		bench_number("goal", r->goal);
		bench_text("sense", r->at_least ? "at least" : "at most");
		printf(",\"ok\":%s", ok ? "true" : "false");
	}
	bench_text("cpu", cpu);
	bench_number("cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
	bench_number("load", load); /* of a minute: the program itself is up to 2 of it */
	bench_text("kernel", system.release);
	bench_text("version", tt_version());
}

void bench_number(const char *key, double value)
{
	printf(",\"%s\":", key);
	print_number(value);
}

void bench_text(const char *key, const char *text)
{
	printf(",\"%s\":\"%s\"", key, text);
}

void bench_quantiles(const char *key, const struct bench_hist *hist)
{
	static const struct {
		const char *name;
		double part;
	} parts[] = { { "p50", 0.5 },
		      { "p90", 0.9 },
		      { "p99", 0.99 },
		      { "p99.9", 0.999 },
		      { "p99.99", 0.9999 } };

	printf(",\"%s\":{", key);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		printf("\"%s\":%" PRIu64 ",", parts[i].name,
		       bench_quantile(hist, parts[i].part));
	printf("\"max\":%" PRIu64 ",\"count\":%" PRIu64 "}", hist->max, hist->count);
}

/* The first, the last, and points at least 5 % apart in value. */
void bench_curve(const char *key, const struct bench_hist *hist)
{
	uint64_t seen = 0, shown = 0;
	const char *comma = "";

	printf(",\"%s\":[", key);
	for (unsigned i = 0; i < BENCH_BUCKETS; i++) {
		uint64_t value = bucket_low(i), before = seen;

		seen += hist->bucket[i];
		if (hist->bucket[i] == 0 ||
		    (before > 0 && seen < hist->count && value < shown + shown / 20))
			continue;
		printf("%s[%.4g,%" PRIu64 "]", comma,
		       (double)(hist->count - before) / (double)hist->count, value);
		shown = value;
		comma = ",";
	}
	putchar(']');
}

void bench_close(void)
{
	puts("}");
	fflush(stdout);
}

void bench_skip(const char *bench, const char *name, const char *why)
{
	printf("{\"bench\":\"%s\",\"case\":\"%s\",\"skipped\":\"%s\"}\n", bench, name,
	       why);
	fflush(stdout);
	fprintf(stderr, "%s: %s skipped: %s\n", bench, name, why);
}

/* ---- Options ---- */

static void usage(const char *program, const struct bench_option *options, size_t count)
{
	fprintf(stderr, "usage: %s [--OPTION VALUE]...\n", program);
	for (size_t i = 0; i < count; i++) {
		char value[64] = "";

		if (options[i].number)
			snprintf(value, sizeof(value), "%g", *options[i].number);
		else if (*options[i].text)
			snprintf(value, sizeof(value), "%s", *options[i].text);
		fprintf(stderr, "  --%-12s %s (%s)\n", options[i].name, options[i].help,
			value);
	}
	exit(2);
}

void bench_options(int argc, char **argv, const struct bench_option *options,
		   size_t count)
{
	for (int i = 1; i < argc; i += 2) {
		const struct bench_option *option = NULL;
		char *end = NULL;

		for (size_t j = 0; j < count; j++)
			if (strncmp(argv[i], "--", 2) == 0 &&
			    strcmp(argv[i] + 2, options[j].name) == 0)
				option = &options[j];
		if (!option || i + 1 == argc)
			usage(argv[0], options, count);
		if (option->text) {
			*option->text = argv[i + 1];
			continue;
		}
		*option->number = strtod(argv[i + 1], &end);
		if (end == argv[i + 1] || *end || !(*option->number >= 0))
			usage(argv[0], options, count);
	}
}

/* ---- Rows and rings ---- */

struct tt_dtype *bench_dtype(const char *descr, bool align)
{
	struct tt_dtype *dtype;
	struct tt_error err;

	if (tt_dtype_parse(&dtype, descr, strlen(descr), align, &err) < 0)
		bench_die("%s", err.text);
	return dtype;
}

void bench_make_ring(const struct bench_ring *ring)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = bench_dtype(ring->descr, ring->align);
	struct tt_error err;

	opts.capacity = ring->capacity;
	opts.keep = ring->keep;
	opts.sync_ms = ring->sync_ms;
	if (tt_ring_create(ring->path, dtype, &opts, &err) < 0)
		bench_die("%s", err.text);
	tt_dtype_unref(dtype);
}

struct tt_file *bench_file_writer(const char *path, int64_t wake_us, bool clean_rows)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;
	struct tt_error err;

	opts.access = TT_WRITE;
	opts.clean_rows = clean_rows;
	opts.wake_us = wake_us;
	if (tt_file_open(&file, path, &opts, &err) < 0)
		bench_die("%s", err.text);
	return file;
}

struct tt_ring_writer *bench_ring_writer(const char *path, int64_t wake_us,
					 int64_t sync_ms, bool no_helper)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_error err;

	opts.wake_us = wake_us;
	opts.sync_ms = sync_ms;
	opts.no_helper = no_helper;
	if (tt_ring_writer_open(&writer, path, &opts, &err) < 0)
		bench_die("%s", err.text);
	return writer;
}

void bench_prune(const char *path, size_t spare)
{
	struct tt_ring_info info;
	struct tt_error err;
	size_t left = 0;

	if (tt_ring_info(path, &info, &err) < 0)
		bench_die("%s", err.text);
	while (left < info.file_count && !info.files[left].queued)
		left++;
	for (size_t i = 0; i + spare < left; i++)
		tt_ring_remove_file(path, info.files[i].name, NULL);
	tt_ring_info_free(&info);
}

void bench_populate(void *place, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)place & ~(page - 1);

	if (madvise((void *)from, (uintptr_t)place + bytes - from, MADV_POPULATE_WRITE) <
	    0)
		memset(place, 0, bytes);
}
