/* SPDX-License-Identifier: Apache-2.0 */
/* L4: how long after it was due a row is visible, at a fixed rate, rolls inside the window.
 *
 *	append_rate [--seconds S] [--rounds N] [--rate R] [--rate2 R] [--ticktail PROGRAM]
 *
 * Row i is due at begin + i / rate, whatever happened to the rows before it; its latency runs
 * from then until its append has returned.  A stall thus counts for every row that it held up.
 *
 * Cases: the library with its threads, without them, with a sync each second, with an archiver
 * running beside it; and the baseline, a sparse file of this program's own that is mapped, copied
 * into and published, and replaced by the next when it is full.
 *
 * The sides take turns in windows.  A tail is what the machine takes away for a while, and how
 * much that is changes from one minute to the next: two sides are compared within each round, and
 * the round with the median ratio counts.  Quantiles and plots are of all windows. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { MAX_ROUNDS = 99 };

static double option_seconds = 90, option_rounds = 3, option_rate = 100000,
	      option_rate2 = 1000;
static const char *option_ticktail;

/* ---- Sides ---- */

enum {
	SPARSE,
	FLOOR,
	HELPER,
	NO_HELPER,
	HELPER_SYNC,
	NO_HELPER_SYNC,
	HELPER_ARCHIVE,
	SIDES
};
static const struct {
	const char *name;
	int64_t sync_ms;
	bool no_helper, archive;
} sides[SIDES] = {
	[SPARSE] = { "sparse file without helper", TT_SYNC_NONE, true, false },
	[FLOOR] = { "bare memcpy at the same rate", TT_SYNC_NONE, true, false },
	[HELPER] = { "no sync", TT_SYNC_NONE, false, false },
	[NO_HELPER] = { "no sync, no helper", TT_SYNC_NONE, true, false },
	[HELPER_SYNC] = { "sync 1 s", 1000, false, false },
	[NO_HELPER_SYNC] = { "sync 1 s, no helper", 1000, true, false },
	[HELPER_ARCHIVE] = { "sync 1 s, archiver beside it", 1000, false, true },
};

/* What a side did in one window; in all of them. */
struct result {
	struct bench_hist hist;
	uint64_t rolls;
	int64_t others_cpu_ns, spent_ns;
	unsigned threads;
};

struct load {
	double rate, seconds;
	uint64_t capacity; /* rows a file */
	const char *dir;
	bool no_helper, floor;
	int64_t sync_ms;
	struct result *result; /* shared with the parent */
};

/* ---- The floor ---- */

/* The same loop with a memcpy of a row into memory that is there: what is left of the tail is
 * the machine's, its hypervisor's and its clock's. */
static struct bench_tick floor_rows[64];

static BENCH_NOINLINE void floor_append(uint64_t number, const struct bench_tick *row)
{
	memcpy(&floor_rows[number % 64], row, sizeof(*row));
}

/* ---- The baseline ---- */

struct sparse {
	const char *dir;
	unsigned number;
	uint64_t capacity, end;
	struct bench_tick *rows;
	_Atomic(uint64_t) *word; /* on a page of its own after the rows */
	size_t bytes;
};

static void sparse_close(struct sparse *file)
{
	char path[600];

	if (!file->rows)
		return;
	munmap(file->rows, file->bytes);
	snprintf(path, sizeof(path), "%s/%u", file->dir, file->number);
	if (file->number >= 8) { /* as many are kept as the ring keeps */
		snprintf(path, sizeof(path), "%s/%u", file->dir, file->number - 8);
		unlink(path);
	}
}

/* What a program without a library does when its file is full. */
static void sparse_next(struct sparse *file)
{
	char path[600];
	int fd;

	sparse_close(file);
	snprintf(path, sizeof(path), "%s/%u", file->dir, ++file->number);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	file->bytes =
		(file->capacity * sizeof(struct bench_tick) + 4095) / 4096 * 4096 + 4096;
	if (fd < 0 || ftruncate(fd, (off_t)file->bytes) < 0)
		bench_die("%s: %s", path, strerror(errno));
	file->rows = mmap(NULL, file->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (file->rows == MAP_FAILED)
		bench_die("%s: %s", path, strerror(errno));
	file->word = (void *)((char *)file->rows + file->bytes - 4096);
	file->end = 0;
}

static BENCH_NOINLINE void sparse_append(struct sparse *file,
					 const struct bench_tick *row)
{
	if (file->end == file->capacity)
		sparse_next(file);
	memcpy(&file->rows[file->end], row, sizeof(*row));
	atomic_store_explicit(file->word, ++file->end, memory_order_release);
}

/* ---- The load ---- */

struct target {
	struct sparse sparse;
	struct tt_ring_writer *writer; /* NULL: sparse, or the floor */
	bool floor;
};

static inline void append_one(struct target *target, const struct bench_tick *row)
{
	struct tt_error err;

	if (target->floor)
		floor_append((uint64_t)row->ts, row);
	else if (!target->writer)
		sparse_append(&target->sparse, row);
	else if (tt_ring_append(target->writer, row, 1, NULL, &err) < 0)
		bench_die("%s", err.text);
}

static void run_load(const struct load *load, struct target *target,
		     struct bench_hist *hist)
{
	uint64_t count = (uint64_t)(load->rate * load->seconds);
	int64_t begin = bench_now() + 1000000;
	struct bench_tick row = { 0, 7, 100, 100.25, 1 };

	for (uint64_t i = 0; i < count; i++) {
		int64_t due = begin + (int64_t)((double)i * 1e9 / load->rate);

		while (bench_now() < due)
			bench_pause();
		row.ts = due;
		append_one(target, &row);
		if (hist)
			bench_add(hist, bench_now() - due);
	}
}

static void open_target(const struct load *load, struct target *target)
{
	char ring[600];

	target->floor = load->floor;
	if (load->floor)
		return;
	if (load->sync_ms == INT64_MIN) {
		target->sparse =
			(struct sparse){ .dir = load->dir, .capacity = load->capacity };
		sparse_next(&target->sparse);
		return;
	}
	snprintf(ring, sizeof(ring), "%s/ring", load->dir);
	target->writer = bench_ring_writer(ring, 250, load->sync_ms, load->no_helper);
}

/* The child that writes: its library threads are on the other processor. */
static int writer_child(void *arg)
{
	const struct load *load = arg;
	struct load warm = *load;
	struct target target = { 0 };
	struct result *result = load->result;
	int64_t before, begin;

	open_target(load, &target);
	bench_pin(BENCH_WRITER);
	bench_pin_others(BENCH_READER);
	warm.seconds = load->seconds < 1 ? load->seconds / 10 : 0.1;
	run_load(&warm, &target, NULL);
	result->threads = bench_others();
	before = bench_others_cpu_ns();
	begin = bench_now();
	run_load(load, &target, &result->hist);
	result->spent_ns += bench_now() - begin;
	result->others_cpu_ns += bench_others_cpu_ns() - before;
	tt_ring_writer_close(target.writer);
	return 0;
}

/* ---- An archiver beside it ---- */

struct archiver {
	const char *ring, *archive;
};

/* Whatever is sealed, again and again. */
static int archiver_child(void *arg)
{
	const struct archiver *paths = arg;

	setpgid(0, 0);
	bench_pin(BENCH_READER);
	for (;;) {
		pid_t pid = fork();

		if (pid == 0) {
			int words = open("/dev/null", O_WRONLY | O_CLOEXEC);

			dup2(words, 1);
			dup2(words, 2);
			execlp(option_ticktail, option_ticktail, "archive", paths->ring,
			       "-o", paths->archive, (char *)NULL);
			_exit(127);
		}
		waitpid(pid, NULL, 0); /* that it wrote something is looked at later */
		bench_sleep(0.2);
	}
}

static uint64_t count_rolls(const char *ring)
{
	struct tt_ring_info info;
	struct tt_error err;
	uint64_t files;

	if (tt_ring_info(ring, &info, &err) < 0)
		bench_die("%s", err.text);
	files = info.file_count;
	tt_ring_info_free(&info);
	return files - 1;
}

static uint64_t archive_bytes(const char *path)
{
	FILE *file = fopen(path, "re");
	long bytes = 0;

	if (file && fseek(file, 0, SEEK_END) == 0)
		bytes = ftell(file);
	if (file)
		fclose(file);
	return bytes > 0 ? (uint64_t)bytes : 0;
}

/* One window of one side. */
static void run_side(int side, double rate, struct result *result)
{
	double seconds = option_seconds / option_rounds;
	char dir[560], ring[600], archive[600];
	struct archiver paths = { ring, archive };
	/* a roll each five seconds, in a short window four */
	double rows = rate * (seconds / 4 < 5 ? seconds / 4 : 5);
	struct load load = { rate,
			     seconds,
			     rows < 64 ? 64 : (uint64_t)rows,
			     dir,
			     sides[side].no_helper,
			     side == FLOOR,
			     side == SPARSE ? INT64_MIN : sides[side].sync_ms,
			     result };
	pid_t archiver = -1, writer;

	snprintf(dir, sizeof(dir), "%s/side", bench_dir(false));
	snprintf(ring, sizeof(ring), "%s/ring", dir);
	snprintf(archive, sizeof(archive), "%s/archive.h5", dir);
	if (mkdir(dir, 0755) < 0)
		bench_die("%s: %s", dir, strerror(errno));
	if (side != SPARSE && side != FLOOR)
		bench_make_ring(&(struct bench_ring){
			ring, BENCH_TICK, true, load.capacity, 8, sides[side].sync_ms });
	writer = bench_spawn(writer_child, &load);
	if (sides[side].archive)
		archiver = bench_spawn(archiver_child, &paths);
	bench_wait(writer);
	if (archiver > 0) {
		bench_stop(archiver);
		if (archive_bytes(archive) == 0)
			bench_die("the archiver wrote nothing: %s archive",
				  option_ticktail);
	}
	if (side == SPARSE)
		result->rolls += (uint64_t)(rate * seconds) / load.capacity;
	else if (side != FLOOR)
		result->rolls += count_rolls(ring);
	bench_remove_tree(dir);
}

/* ---- Results ---- */

struct pair {
	int ours, other;
	double goal;
	const char *against;
};

static struct result *at(struct result *windows, int round, int side)
{
	return &windows[round * SIDES + side];
}

/* All windows of one side. */
static struct result sum(struct result *windows, int side)
{
	struct result total;

	memset(&total, 0, sizeof(total));
	for (int round = 0; round < (int)option_rounds; round++) {
		const struct result *window = at(windows, round, side);

		bench_merge(&total.hist, &window->hist);
		total.rolls += window->rolls;
		total.others_cpu_ns += window->others_cpu_ns;
		total.spent_ns += window->spent_ns;
		total.threads = window->threads;
	}
	return total;
}

static double tail(struct result *windows, int round, int side)
{
	return (double)bench_quantile(&at(windows, round, side)->hist, 0.999);
}

static void emit(const struct pair *pair, double rate, struct result *windows)
{
	static struct result ours, other;
	struct bench_pair rounds[MAX_ROUNDS], median;
	char name[128];

	for (int i = 0; i < (int)option_rounds; i++)
		rounds[i] = (struct bench_pair){ tail(windows, i, pair->ours),
						 tail(windows, i, pair->other) };
	median = bench_median_pair(rounds, (size_t)option_rounds);
	ours = sum(windows, pair->ours);
	other = sum(windows, pair->other);
	snprintf(name, sizeof(name), "%.0f rows/s, %s", rate, sides[pair->ours].name);
	bench_open(&(struct bench_result){ "append_rate", name, "L4", "ns at p99.9",
					   pair->against, median.ours, median.other,
					   pair->goal, true, false });
	bench_number("seconds", option_seconds);
	bench_number("rounds", option_rounds);
	bench_number("rate", rate);
	bench_number("rolls", (double)ours.rolls);
	bench_quantiles("latency_ns", &ours.hist);
	bench_quantiles("other_latency_ns", &other.hist);
	bench_number("library_threads", ours.threads);
	bench_number("library_cpu_percent",
		     100 * (double)ours.others_cpu_ns / (double)(ours.spent_ns + 1));
	bench_text("fs", bench_fs(bench_dir(false)));
	bench_text("pinned",
		   bench_pinned("writer first, the library's threads and the archiver "
				"second"));
	bench_curve("curve", &ours.hist);
	bench_curve("other_curve", &other.hist);
	bench_close();
}

/* The tail over the middle of one side. */
static void emit_spread(double rate, struct result *windows, int side, double goal)
{
	struct bench_pair rounds[MAX_ROUNDS], median;
	char name[128];

	for (int i = 0; i < (int)option_rounds; i++)
		rounds[i] = (struct bench_pair){
			tail(windows, i, side),
			(double)bench_quantile(&at(windows, i, side)->hist, 0.5)
		};
	median = bench_median_pair(rounds, (size_t)option_rounds);
	snprintf(name, sizeof(name), "%.0f rows/s, %s: p99.9 over p50", rate,
		 sides[side].name);
	bench_open(&(struct bench_result){ "append_rate", name, "L4", "ns", "its own p50",
					   median.ours, median.other, goal, false,
					   false });
	bench_close();
}

static void run_rate(double rate, bool archive)
{
	static const struct pair pairs[] = {
		{ HELPER, SPARSE, 10, "sparse file without helper" },
		{ FLOOR, SPARSE, 0, "sparse file without helper" },
		{ NO_HELPER, SPARSE, 0, "sparse file without helper" },
		{ HELPER_SYNC, NO_HELPER_SYNC, 10, "the same without helper" },
		{ HELPER_ARCHIVE, HELPER_SYNC, 0, "the same without archiver" },
	};
	size_t bytes = sizeof(struct result) * SIDES * (size_t)option_rounds;
	size_t count = sizeof(pairs) / sizeof(pairs[0]) - !archive;
	struct result *windows = bench_shared(bytes);

	for (int round = 0; round < (int)option_rounds; round++)
		for (int side = 0; side < SIDES - !archive; side++)
			run_side(side, rate, at(windows, round, side));
	for (size_t i = 0; i < count; i++)
		emit(&pairs[i], rate, windows);
	emit_spread(rate, windows, HELPER, 20);
	emit_spread(rate, windows, FLOOR, 0);
	munmap(windows, bytes);
}

int main(int argc, char **argv)
{
	static const struct bench_option options[] = {
		{ "seconds", &option_seconds, NULL, "of each side, over all rounds" },
		{ "rounds", &option_rounds, NULL, "in which the sides take turns" },
		{ "rate", &option_rate, NULL, "rows a second" },
		{ "rate2", &option_rate2, NULL, "another, 0: none" },
		{ "ticktail", NULL, &option_ticktail, "the program, for the archiver" },
	};

	bench_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
	if (option_rounds < 1 || option_rounds > MAX_ROUNDS || option_seconds <= 0 ||
	    option_rate < 1)
		bench_die("--rounds must be 1 to %d, --seconds and --rate positive",
			  MAX_ROUNDS);
	if (!option_ticktail)
		bench_skip("append_rate", "archiver beside it", "no --ticktail PROGRAM");
	run_rate(option_rate, option_ticktail != NULL);
	if (option_rate2 >= 1)
		run_rate(option_rate2, option_ticktail != NULL);
	return 0;
}
