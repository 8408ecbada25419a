/* SPDX-License-Identifier: Apache-2.0 */
/* L2, L3: single rows, each visible to another process when the call returns, against stores
 * that promise the same: LMDB and SQLite (a transaction a row), the packet table of HDF5 (an
 * append and a flush a row), LMDB with 1,000 rows a transaction, and npyt (Python).
 *
 *	append_peers [--seconds S] [--rounds N] [--peers PYTHON]
 *
 * No side is durable.  Before anything is timed, a second process opens what each store has
 * written so far, after every one of three appends, and must find it. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peers.h"

static double option_seconds = 0.5, option_rounds = 5;
static const char *option_python, *option_read, *option_path;

enum { MAX_ROUNDS = 99, OURS_ROWS = 1 << 20 };
static struct bench_tick rows[1000];

/* ---- Ours, behind the interface of a peer ---- */

static uint64_t file_read_back(const char *path, int64_t *last_out)
{
	struct tt_file *file;
	struct tt_error err;
	const struct bench_tick *last;
	uint64_t count;

	if (tt_file_open(&file, path, NULL, &err) < 0)
		bench_die("%s", err.text);
	count = tt_file_size(file);
	last = tt_file_at(file, -1);
	*last_out = last ? last->ts : -1;
	tt_file_close(file);
	return count;
}

static struct tt_file *make_file(const char *path, int64_t wake_us)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = bench_dtype(BENCH_TICK, true);
	struct tt_error err;

	opts.capacity = OURS_ROWS;
	unlink(path);
	if (tt_file_create(path, dtype, &opts, &err) < 0)
		bench_die("%s", err.text);
	tt_dtype_unref(dtype);
	return bench_file_writer(path, wake_us, false);
}

static void *file_open(const char *path)
{
	return make_file(path, TT_WAKE_NEVER);
}

static void *file_open_default(const char *path)
{
	return make_file(path, 250);
}

static void *file_open_waking(const char *path)
{
	return make_file(path, TT_WAKE_EACH);
}

static void file_append(void *store, const struct bench_tick *row, uint64_t count)
{
	if (tt_file_append(store, row, count) < 0)
		bench_die("tt_file_append failed");
}

static void file_close(void *store)
{
	tt_file_close(store);
}

static void *ring_open(const char *path)
{
	bench_remove_tree(path);
	bench_make_ring(&(struct bench_ring){ path, BENCH_TICK, true, OURS_ROWS, 4,
					      TT_SYNC_NONE });
	return bench_ring_writer(path, 250, TT_SYNC_NONE, false);
}

static void ring_append(void *store, const struct bench_tick *row, uint64_t count)
{
	struct tt_error err;

	if (tt_ring_append(store, row, count, NULL, &err) < 0)
		bench_die("%s", err.text);
}

static void ring_close(void *store)
{
	tt_ring_writer_close(store);
}

static uint64_t ring_read_back(const char *path, int64_t *last_out)
{
	struct tt_ring_info info;
	struct tt_ring_reader *reader;
	struct tt_error err;
	struct tt_view view;
	uint64_t count;

	if (tt_ring_info(path, &info, &err) < 0 ||
	    tt_ring_reader_open(&reader, path, NULL, &err) < 0 ||
	    tt_ring_seek_tail(reader, 1, &err) < 0 ||
	    tt_ring_read(reader, 1, 0, &view, NULL, &err) != 1)
		bench_die("%s", err.text);
	*last_out = ((const struct bench_tick *)view.rows)->ts;
	count = info.rows;
	tt_ring_reader_close(reader);
	tt_ring_info_free(&info);
	return count;
}

static const struct peer ours_file = { "file, nobody sleeps", file_open, file_append,
				       file_close, file_read_back };
static const struct peer ours_default = { "file, default policy", file_open_default,
					  file_append, file_close, file_read_back };
static const struct peer ours_waking = { "file, each append wakes", file_open_waking,
					 file_append, file_close, file_read_back };
static const struct peer ours_ring = { "ring, default policy", ring_open, ring_append,
				       ring_close, ring_read_back };

/* ---- A second process that reads ---- */

static const struct peer *const all[] = {
	&peer_lmdb, &peer_sqlite,  &peer_hdf5,	 &peer_hdf5_swmr,
	&ours_file, &ours_default, &ours_waking, &ours_ring,
};

static int read_for_others(void)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i]->name, option_read) == 0) {
			int64_t last = -1;
			uint64_t count = all[i]->read_back(option_path, &last);

			printf("%" PRIu64 " %" PRId64 "\n", count, last);
			return 0;
		}
	bench_die("%s: no such store", option_read);
}

/* The output of a command, "" when it failed. */
static void output_of(const char *const argv[], char *out, size_t size)
{
	int ends[2], status = -1;
	size_t got = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(ends) < 0)
		bench_die("pipe: %s", strerror(errno));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(ends[1]);
	while ((n = read(ends[0], out + got, size - 1 - got)) > 0)
		got += (size_t)n;
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	out[status == 0 ? got : 0] = '\0';
}

static void prove(const struct peer *peer, const char *path)
{
	void *store = peer->open(path);

	for (int64_t i = 1; i <= 3; i++) {
		const char *argv[] = { "/proc/self/exe", "--read", peer->name,
				       "--path",	 path,	   NULL };
		char words[64], want[64];

		rows[0].ts = i;
		peer->append(store, rows, 1);
		output_of(argv, words, sizeof(words));
		snprintf(want, sizeof(want), "%" PRId64 " %" PRId64 "\n", i, i);
		if (strcmp(words, want) != 0)
			bench_die("%s: another process sees \"%s\" after row %" PRId64,
				  peer->name, words, i);
	}
	peer->close(store);
	bench_remove_tree(path);
}

/* ---- Rates ---- */

struct side {
	const struct peer *peer;
	uint64_t batch;
	bool prepared; /* ours: one file's pages populated before the clock starts */
	double rate[MAX_ROUNDS];
	double median;
};

/* A file's threads start with its first append, or reserve; then they can be pinned. */
static void prepare(const struct side *side, void *store)
{
	uint64_t got = OURS_ROWS;
	void *place = NULL;

	if (side->prepared && side->peer->append == ring_append)
		place = tt_ring_reserve(store, OURS_ROWS, &got, NULL);
	else if (side->prepared)
		place = tt_file_reserve(store, OURS_ROWS);
	else if (side->peer->append == file_append)
		tt_file_reserve(store, 1);
	if (side->prepared && (!place || got != OURS_ROWS))
		bench_die("no room for the rows");
	if (side->prepared)
		bench_populate(place, OURS_ROWS * sizeof(rows[0]));
	bench_pin_others(BENCH_READER);
}

/* Rows into a fresh store until end, or until a file of ours is full, or the pages that are
 * ready are; the time that took. */
static int64_t measure_one(const struct side *side, const char *path, int64_t budget,
			   uint64_t *done_out)
{
	void *store = side->peer->open(path);
	bool ends = side->prepared || side->peer->append == file_append;
	int64_t begin, now;
	uint64_t done = 0;

	prepare(side, store);
	begin = now = bench_now();
	while (now - begin < budget && (!ends || done + 1000 <= OURS_ROWS)) {
		uint64_t steps = side->batch == 1 ? 100 : 1;

		for (uint64_t i = 0; i < steps; i++) {
			rows[0].ts = (int64_t)done;
			side->peer->append(store, rows, side->batch);
			done += side->batch;
		}
		now = bench_now();
	}
	side->peer->close(store);
	bench_remove_tree(path);
	*done_out += done;
	return now - begin;
}

/* Rows a second over option_seconds of appends; a file that is full is left for a new one, which
 * is not in the time. */
static double measure(const struct side *side, const char *path)
{
	int64_t budget = (int64_t)(option_seconds * 1e9), spent = 0;
	uint64_t done = 0;

	while (spent < budget)
		spent += measure_one(side, path, budget - spent, &done);
	return (double)done / ((double)spent / 1e9);
}

static void emit(const struct side *ours, const struct side *other, const char *target,
		 double goal)
{
	char name[160], against[160];

	snprintf(name, sizeof(name), "%s%s", ours->peer->name,
		 ours->prepared ? ", pages ready" : ", fresh pages");
	snprintf(against, sizeof(against), "%s%s", other->peer->name,
		 other->batch > 1      ? ", 1,000 rows a transaction"
		 : other->peer->append ? ", one row a transaction"
				       : "");
	bench_open(&(struct bench_result){ "append_peers", name, target, "rows/s",
					   against, ours->median, other->median, goal,
					   true, true });
	bench_number("rounds", option_rounds);
	bench_number("seconds", option_seconds);
	bench_text("fs", bench_fs(bench_dir(false)));
	bench_text("visible", "a second process read each row back");
	bench_text("pinned", bench_pinned("writer first, the library's threads second"));
	bench_close();
}

/* ---- npyt ---- */

static const char npyt_code[] =
	"import sys, time, numpy as np\n"
	"from npyt import NPYT\n"
	"path, seconds, capacity = sys.argv[1], float(sys.argv[2]), 1 << 20\n"
	"dtype = np.dtype([('ts', 'i8'), ('sym', 'i4'), ('qty', 'i4'), ('px', 'f8'),\n"
	"                  ('flags', 'u1')], align=True)\n"
	"row = np.zeros(1, dtype)\n"
	"file = NPYT(path, dtype=dtype).save(row, capacity=capacity).load('r+')\n"
	"append, clock = file.append, time.perf_counter\n"
	"done, begin = 0, clock()\n"
	"end = begin + seconds\n"
	"while clock() < end and done + 200 < capacity:\n"
	"    for _ in range(100):\n"
	"        append(row)\n"
	"    done += 100\n"
	"print(done / (clock() - begin))\n";

static double npyt_rate(const char *dir)
{
	char seconds[32], out[64], path[600];
	const char *argv[] = { option_python, "-c", npyt_code, path, seconds, NULL };

	snprintf(path, sizeof(path), "%s/npyt.npy", dir);
	snprintf(seconds, sizeof(seconds), "%f", option_seconds);
	output_of(argv, out, sizeof(out));
	unlink(path);
	if (!(strtod(out, NULL) > 0))
		bench_die("npyt did not say its rate");
	return strtod(out, NULL);
}

static bool has_npyt(void)
{
	char out[8];
	const char *argv[] = { option_python, "-c", "import npyt, numpy; print(1)",
			       NULL };

	if (!option_python || !*option_python)
		return false;
	output_of(argv, out, sizeof(out));
	return strcmp(out, "1\n") == 0;
}

/* ---- All ---- */

enum { FILE_READY, FILE_FRESH, FILE_DEFAULT, FILE_WAKING, RING_READY, RING_FRESH, OURS };
static struct side ours[OURS] = {
	[FILE_READY] = { &ours_file, 1, true, { 0 }, 0 },
	[FILE_FRESH] = { &ours_file, 1, false, { 0 }, 0 },
	[FILE_DEFAULT] = { &ours_default, 1, false, { 0 }, 0 },
	[FILE_WAKING] = { &ours_waking, 1, true, { 0 }, 0 },
	[RING_READY] = { &ours_ring, 1, true, { 0 }, 0 },
	[RING_FRESH] = { &ours_ring, 1, false, { 0 }, 0 },
};
enum { LMDB, SQLITE, HDF5, HDF5_SWMR, LMDB_1000, NPYT, OTHERS };
static struct side others[OTHERS] = {
	[LMDB] = { &peer_lmdb, 1, false, { 0 }, 0 },
	[SQLITE] = { &peer_sqlite, 1, false, { 0 }, 0 },
	[HDF5] = { &peer_hdf5, 1, false, { 0 }, 0 },
	[HDF5_SWMR] = { &peer_hdf5_swmr, 1, false, { 0 }, 0 },
	[LMDB_1000] = { &peer_lmdb, 1000, false, { 0 }, 0 },
	[NPYT] = { &(const struct peer){ .name = "npyt" }, 1, false, { 0 }, 0 },
};

static void measure_all(bool npyt)
{
	char path[600];
	int rounds = (int)option_rounds;

	snprintf(path, sizeof(path), "%s/store", bench_dir(false));
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i]->open)
			prove(all[i], path);
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < OURS; i++)
			ours[i].rate[round] = measure(&ours[i], path);
		for (int i = 0; i < OTHERS; i++)
			if (others[i].peer->open)
				others[i].rate[round] = measure(&others[i], path);
		if (npyt)
			others[NPYT].rate[round] = npyt_rate(bench_dir(false));
	}
	for (int i = 0; i < OURS; i++)
		ours[i].median = bench_median(ours[i].rate, (size_t)rounds);
	for (int i = 0; i < OTHERS; i++)
		others[i].median = bench_median(others[i].rate, (size_t)rounds);
}

/* The goals are about pages that are ready, and readers that look by themselves. */
static bool has_goal(int i)
{
	return i == FILE_READY || i == RING_READY;
}

static void emit_peers(void)
{
	const struct side *best = NULL;

	for (int i = LMDB; i <= HDF5_SWMR; i++) {
		const struct side *other = &others[i];

		if (!other->peer->open) {
			bench_skip("append_peers", other->peer->name, "built without it");
			continue;
		}
		if (!best || other->median > best->median)
			best = other;
	}
	for (int i = LMDB; i <= HDF5_SWMR; i++)
		if (others[i].peer->open)
			for (int j = 0; j < OURS; j++)
				emit(&ours[j], &others[i], "L3",
				     &others[i] == best && has_goal(j) ? 20 : 0);
	if (others[LMDB_1000].peer->open)
		for (int j = 0; j < OURS; j++)
			emit(&ours[j], &others[LMDB_1000], "L3", has_goal(j) ? 10 : 0);
}

int main(int argc, char **argv)
{
	static const struct bench_option options[] = {
		{ "seconds", &option_seconds, NULL, "of each measurement" },
		{ "rounds", &option_rounds, NULL, "of which the median counts" },
		{ "peers", NULL, &option_python, "a python that has npyt" },
		{ "read", NULL, &option_read, "(inner) the store to read back" },
		{ "path", NULL, &option_path, "(inner) where it is" },
	};
	bool npyt;

	option_python = getenv("TT_PEERS");
	bench_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
	if (option_read && option_path)
		return read_for_others();
	if (option_rounds < 1 || option_rounds > MAX_ROUNDS)
		bench_die("--rounds must be 1 to %d", MAX_ROUNDS);
	npyt = has_npyt();
	if (!npyt)
		bench_skip("append_peers", "npyt",
			   "no python with npyt: give --peers PYTHON or TT_PEERS");
	for (size_t i = 0; i < 1000; i++)
		rows[i] = (struct bench_tick){ (int64_t)i, 7, 100, 100.25, 1 };
	bench_pin(BENCH_WRITER);
	measure_all(npyt);
	emit_peers();
	if (npyt) {
		emit(&ours[FILE_READY], &others[NPYT], "L2", 200);
		emit(&ours[RING_READY], &others[NPYT], "L2", 200);
	}
	return 0;
}
