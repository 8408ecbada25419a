/* SPDX-License-Identifier: Apache-2.0 */
/* L9: the sum of one column over a mapped ring against the same loop over a plain array.
 *
 *	scan [--rows N] [--files N] [--repetitions N] [--rounds N]
 *
 * Warm: everything was read once before.  The loop is one function for all sides.  A plain file
 * of the same file system, mapped and with space reserved as the ring's files are, is shown too:
 * what it costs over the array is its pages', not the library's.  Which pages one gets decides
 * more than a tenth, so each round makes all of them anew, in another order. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

static double option_rows = 1 << 21, option_files = 4, option_repetitions = 5,
	      option_rounds = 7;

enum { MAX_REPETITIONS = 99 };

/* Four sums, so that the additions do not wait for each other. */
static BENCH_NOINLINE double sum_px(const struct bench_tick *rows, uint64_t count)
{
	double sum[4] = { 0 };
	uint64_t i;

	for (i = 0; i + 4 <= count; i += 4)
		for (int j = 0; j < 4; j++)
			sum[j] += rows[i + (uint64_t)j].px;
	for (; i < count; i++)
		sum[0] += rows[i].px;
	return sum[0] + sum[1] + sum[2] + sum[3];
}

static void fill(struct bench_tick *rows, uint64_t from, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		rows[i] = (struct bench_tick){ (int64_t)(from + i), 7, 100,
					       (double)((from + i) % 100), 1 };
}

/* option_rows rows in option_files files. */
static void write_ring(const char *path)
{
	uint64_t left = (uint64_t)option_rows, got;
	struct tt_ring_writer *writer;
	struct tt_error err;

	bench_make_ring(&(struct bench_ring){
		path, BENCH_TICK, true,
		left / (uint64_t)option_files + (left % (uint64_t)option_files != 0),
		(uint64_t)option_files + 1, TT_SYNC_NONE });
	writer = bench_ring_writer(path, TT_WAKE_NEVER, TT_SYNC_NONE, false);
	for (uint64_t done = 0; left > 0; left -= got, done += got) {
		struct bench_tick *rows = tt_ring_reserve(writer, left, &got, &err);

		if (!rows)
			bench_die("%s", err.text);
		fill(rows, done, got);
		if (tt_ring_publish(writer, got) < 0)
			bench_die("tt_ring_publish failed");
	}
	tt_ring_writer_close(writer);
}

/* ---- Sides ---- */

enum { READ, VIEWS, MAPPED, PLAIN, SIDES };

struct data {
	struct tt_ring_reader *reader;
	struct tt_view *views; /* of all rows */
	size_t view_count;
	struct bench_tick *plain, *mapped;
};

static double sum_read(struct data *data)
{
	struct tt_error err;
	struct tt_view view;
	double sum = 0;
	int rc = tt_ring_seek_first(data->reader, &err);

	while (rc >= 0 &&
	       (rc = tt_ring_read(data->reader, UINT64_MAX, 0, &view, NULL, &err)) == 1)
		sum += sum_px(view.rows, view.count);
	if (rc < 0)
		bench_die("%s", err.text);
	return sum;
}

static double sum_views(const struct data *data)
{
	double sum = 0;

	for (size_t i = 0; i < data->view_count; i++)
		sum += sum_px(data->views[i].rows, data->views[i].count);
	return sum;
}

static double sum_side(struct data *data, int side)
{
	if (side == READ)
		return sum_read(data);
	if (side == VIEWS)
		return sum_views(data);
	return sum_px(side == PLAIN ? data->plain : data->mapped, (uint64_t)option_rows);
}

static void emit(const char *name, const char *against, const double *ms, double goal)
{
	double ours = ms[0], other = ms[1];

	bench_open(&(struct bench_result){ "scan", name, "L9", "ms", against, ours / 1e6,
					   other / 1e6, goal, false, false });
	bench_number("rows", option_rows);
	bench_number("files", option_files);
	bench_number("rows_per_s", option_rows / (ours / 1e9));
	bench_text("fs", bench_fs(bench_dir(true)));
	bench_text("pinned", bench_pinned("the reader first"));
	bench_close();
}

/* The middle of the repetitions of each side. */
static void measure(struct data *data, double *middle[SIDES])
{
	static double ns[SIDES][MAX_REPETITIONS];
	size_t count = (size_t)option_repetitions;
	double want = sum_side(data, PLAIN);

	for (int i = -1; i < (int)count; i++)
		for (int j = 0; j < SIDES; j++) {
			int side = (i + 1 + j) % SIDES;
			int64_t begin = bench_now();

			if (sum_side(data, side) != want)
				bench_die("the sides differ in their sums");
			ns[side][i < 0 ? 0 : i] = (double)(bench_now() - begin);
		}
	for (int side = 0; side < SIDES; side++)
		*middle[side]++ = bench_median(ns[side], count);
}

static void emit_all(double ns[SIDES][MAX_REPETITIONS])
{
	double middle[SIDES];

	for (int side = 0; side < SIDES; side++)
		middle[side] = bench_median(ns[side], (size_t)option_rounds);
	emit("tt_ring_read from the first row", "a plain array",
	     (double[]){ middle[READ], middle[PLAIN] }, 1.05);
	emit("views of tt_ring_tail", "a plain array",
	     (double[]){ middle[VIEWS], middle[PLAIN] }, 1.05);
	emit("views of tt_ring_tail", "a plain mapped file",
	     (double[]){ middle[VIEWS], middle[MAPPED] }, 0);
	emit("a plain mapped file", "a plain array",
	     (double[]){ middle[MAPPED], middle[PLAIN] }, 0);
}

static struct bench_tick *map_file(const char *path, size_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct bench_tick *rows;

	if (fd < 0 || (errno = posix_fallocate(fd, 0, (off_t)bytes)) != 0)
		bench_die("%s: %s", path, strerror(errno));
	rows = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	unlink(path);
	if (rows == MAP_FAILED)
		bench_die("%s: %s", path, strerror(errno));
	return rows;
}

static void make_array(struct data *data, size_t bytes)
{
	data->plain = malloc(bytes);
	if (!data->plain)
		bench_die("out of memory");
	fill(data->plain, 0, (uint64_t)option_rows);
}

static void make_mapped(struct data *data, size_t bytes)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/mapped", bench_dir(true));
	data->mapped = map_file(path, bytes);
	fill(data->mapped, 0, (uint64_t)option_rows);
}

static void run_round(int round, double *middle[SIDES])
{
	size_t bytes = (size_t)option_rows * sizeof(struct bench_tick);
	struct data data = { 0 };
	struct tt_error err;
	char path[600];

	snprintf(path, sizeof(path), "%s/ring", bench_dir(true));
	for (int i = 0; i < 3; i++)
		switch ((round + i) % 3) {
		case 0: write_ring(path); break;
		case 1: make_array(&data, bytes); break;
		default: make_mapped(&data, bytes);
		}
	if (tt_ring_reader_open(&data.reader, path, NULL, &err) < 0 ||
	    tt_ring_tail(data.reader, (uint64_t)option_rows, &data.views,
			 &data.view_count, &err) < 0)
		bench_die("%s", err.text);
	measure(&data, middle);
	free(data.views);
	free(data.plain);
	munmap(data.mapped, bytes);
	tt_ring_reader_close(data.reader);
	bench_remove_tree(path);
}

int main(int argc, char **argv)
{
	static const struct bench_option options[] = {
		{ "rows", &option_rows, NULL, "rows" },
		{ "files", &option_files, NULL, "files" },
		{ "repetitions", &option_repetitions, NULL,
		  "of which the median counts" },
		{ "rounds", &option_rounds, NULL, "with new pages each" },
	};
	static double ns[SIDES][MAX_REPETITIONS];
	double *middle[SIDES];

	bench_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
	if (option_rows < 16 || option_files < 1 || option_repetitions < 1 ||
	    option_repetitions > MAX_REPETITIONS || option_rounds < 1 ||
	    option_rounds > MAX_REPETITIONS)
		bench_die("--rows must be at least 16, --files 1, --repetitions and "
			  "--rounds 1 to %d",
			  MAX_REPETITIONS);
	bench_pin(BENCH_WRITER);
	for (int side = 0; side < SIDES; side++)
		middle[side] = ns[side];
	for (int round = 0; round < (int)option_rounds; round++)
		run_round(round, middle);
	emit_all(ns);
	return 0;
}
