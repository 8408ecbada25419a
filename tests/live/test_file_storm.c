/* SPDX-License-Identifier: Apache-2.0 */
/* A storm on one file: rows changed in place, rows appended, the file grown and trimmed, all at
 * random, under readers that spin, yield and sleep, as processes and as threads.  The model: a
 * row's words are all equal; the first BLOCK rows are always changed together, so one untorn
 * copy of them shows one generation, never an older one than the copy before; row i holds i
 * when it is appended, and changes by multiples of STEP only.
 *
 * TT_SEED replays a run's choices, TT_LONG=1 makes it long. */
#include <check.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "lib/mp.h"
#include "lib/suite.h"
#include "lib/tmpdir.h"
#include "live/file_helpers.h"
#include "ticktail/file.h"

#define WORDS 32 /* of a row */
#define BLOCK 4	 /* rows */
#define STEP 1000000
#define READERS 6 /* two of each way to wait */
#define DEADLINE 120
#define SECOND INT64_C(1000000000)

struct storm {
	uint64_t seed, rounds;
	_Atomic(uint64_t) rows, generation; /* what there was in the end; 0 until then */
	_Atomic(uint64_t) torn, copies, replaced;
	_Atomic(uint32_t) failed;
};

struct actor {
	struct storm *storm;
	int number;
	uint64_t random;
	struct tt_file *file;
	uint64_t seen, generation;
};

static uint64_t any(struct actor *actor, uint64_t below)
{
	actor->random ^= actor->random << 13;
	actor->random ^= actor->random >> 7;
	actor->random ^= actor->random << 17;
	return actor->random % below;
}

#define MUST(cond) \
	do { \
		if (!(cond)) { \
			printf("# actor %d, line %d: %s\n", actor->number, __LINE__, \
			       #cond); \
			fflush(stdout); \
			atomic_store(&actor->storm->failed, 1); \
			return 1; \
		} \
	} while (0)

/* ---- The writer ---- */

static void fill(uint64_t *row, uint64_t value)
{
	for (int i = 0; i < WORDS; i++)
		row[i] = value;
}

static int open_writer(struct actor *actor)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;

	opts.access = TT_WRITE;
	opts.wake_us = any(actor, 2) ? TT_WAKE_EACH : TT_WAKE_DEFAULT;
	MUST(tt_file_open(&actor->file, "a.npy", &opts, NULL) == 0);
	return 0;
}

static int append_one(struct actor *actor)
{
	uint64_t row[WORDS];
	int rc;

	fill(row, actor->seen);
	rc = tt_file_append(actor->file, row, 1);
	if (rc == TT_E_FULL) {
		MUST(tt_file_grow(actor->file, 1 + any(actor, 20), NULL) == 0);
		rc = tt_file_append(actor->file, row, 1);
	}
	MUST(rc == 0);
	actor->seen++;
	return 0;
}

static int change(struct actor *actor, uint64_t at, uint64_t count)
{
	uint64_t rows[BLOCK][WORDS];

	actor->generation++;
	for (uint64_t i = 0; i < count; i++)
		fill(rows[i], (at ? at + i : 0) + actor->generation * STEP);
	MUST(tt_file_update(actor->file, at, rows, count, NULL) == 0);
	return 0;
}

/* The block as one, or rows behind it. */
static int change_some(struct actor *actor)
{
	uint64_t at;

	if (any(actor, 2) || actor->seen <= 2 * BLOCK)
		return change(actor, 0, BLOCK);
	at = BLOCK + any(actor, actor->seen - 2 * BLOCK);
	return change(actor, at, 1 + any(actor, BLOCK));
}

static int write_storm(struct actor *actor)
{
	MUST(open_writer(actor) == 0);
	actor->seen = BLOCK;
	for (uint64_t i = 0; i < actor->storm->rounds; i++) {
		uint64_t what = any(actor, 1000);

		if (atomic_load(&actor->storm->failed))
			return 1;
		if (what < 500)
			MUST(change_some(actor) == 0);
		else
			MUST(append_one(actor) == 0);
		if (what % 50 == 7) { /* readers come to look between two changes */
			const struct timespec ts = { 0, (long)any(actor, 300000) };

			nanosleep(&ts, NULL);
		}
		if (what == 999) {
			tt_file_close(actor->file);
			MUST(tt_file_trim("a.npy", NULL) == 0);
			MUST(open_writer(actor) == 0);
		}
	}
	MUST(change(actor, 0, BLOCK) == 0);
	tt_file_close(actor->file);
	atomic_store(&actor->storm->generation, actor->generation);
	atomic_store(&actor->storm->rows, actor->seen);
	return 0;
}

/* ---- Readers ---- */

static int check_row(struct actor *actor, const uint64_t *row)
{
	for (int i = 1; i < WORDS; i++)
		MUST(row[i] == row[0]);
	return 0;
}

static int look_at_block(struct actor *actor)
{
	uint64_t rows[BLOCK][WORDS];
	int rc = tt_file_copy_untorn(actor->file, 0, BLOCK, rows, NULL);

	if (rc == TT_E_TORN) { /* the writer was faster, each time */
		atomic_fetch_add(&actor->storm->torn, 1);
		return 0;
	}
	MUST(rc == 0);
	atomic_fetch_add(&actor->storm->copies, 1);
	for (int i = 0; i < BLOCK; i++) {
		MUST(check_row(actor, rows[i]) == 0);
		MUST(rows[i][0] == rows[0][0]);
	}
	MUST(rows[0][0] / STEP >= actor->generation);
	actor->generation = rows[0][0] / STEP;
	return 0;
}

/* Rows that came, and one of before. */
static int look_at_rows(struct actor *actor)
{
	uint64_t row[WORDS], size = tt_file_size(actor->file);

	while (actor->seen < size) {
		int rc = tt_file_copy_untorn(actor->file, actor->seen, 1, row, NULL);

		if (rc == TT_E_TORN)
			break;
		MUST(rc == 0);
		MUST(check_row(actor, row) == 0);
		MUST(row[0] % STEP == actor->seen);
		actor->seen++;
	}
	if (actor->seen > BLOCK) {
		uint64_t at = BLOCK + any(actor, actor->seen - BLOCK);
		int rc = tt_file_copy_untorn(actor->file, at, 1, row, NULL);

		MUST(rc == 0 || rc == TT_E_TORN);
		if (rc == 0) {
			MUST(check_row(actor, row) == 0);
			MUST(row[0] % STEP == at);
		}
	}
	return 0;
}

static bool is_over(struct actor *actor)
{
	uint64_t rows = atomic_load(&actor->storm->rows);

	return rows != 0 && actor->seen == rows &&
	       actor->generation == atomic_load(&actor->storm->generation);
}

static int read_storm(struct actor *actor)
{
	enum tt_wait how = (enum tt_wait)(actor->number % 3);
	int64_t deadline = tti_deadline_ns(DEADLINE * SECOND);

	MUST(tt_file_open(&actor->file, "a.npy", NULL, NULL) == 0);
	actor->seen = BLOCK;
	while (!is_over(actor) && !atomic_load(&actor->storm->failed)) {
		int rc = tt_file_wait(actor->file, actor->seen, how, SECOND / 500);

		MUST(tti_clock_monotonic_ns() < deadline);
		if (rc == TT_E_SUPERSEDED) {
			tt_file_close(actor->file);
			MUST(tt_file_open(&actor->file, "a.npy", NULL, NULL) == 0);
			MUST(tt_file_size(actor->file) >= actor->seen);
			atomic_fetch_add(&actor->storm->replaced, 1);
		} else {
			MUST(rc >= 0);
		}
		MUST(look_at_block(actor) == 0);
		MUST(look_at_rows(actor) == 0);
	}
	tt_file_close(actor->file);
	return 0;
}

/* ---- A run ---- */

static int act(void *arg)
{
	struct actor *actor = arg;

	return actor->number == READERS ? write_storm(actor) : read_storm(actor);
}

static void *act_as_thread(void *arg)
{
	return act(arg) == 0 ? NULL : arg;
}

static int run_processes(struct actor *actors)
{
	pid_t pids[READERS + 1];
	int rc = 0;

	for (int i = 0; i <= READERS; i++)
		pids[i] = mp_spawn(act, &actors[i]);
	for (int i = 0; i <= READERS; i++)
		rc |= mp_wait(pids[i], DEADLINE);
	return rc;
}

static int run_threads(struct actor *actors)
{
	pthread_t threads[READERS + 1];
	void *wrong;
	int rc = 0;

	for (int i = 0; i <= READERS; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, act_as_thread, &actors[i]), 0);
	for (int i = 0; i <= READERS; i++) {
		pthread_join(threads[i], &wrong);
		rc |= wrong != NULL;
	}
	return rc;
}

static uint64_t pick_seed(void)
{
	const char *given = getenv("TT_SEED");

	return given ? strtoull(given, NULL, 10)
		     : (uint64_t)tti_clock_realtime_ns() / 1000 % 1000000000;
}

static void run(bool threads)
{
	const char *longs = getenv("TT_LONG");
	struct storm *storm = mp_shared(sizeof(*storm));
	static const uint64_t rows[BLOCK][WORDS];
	static struct actor actors[READERS + 1];
	struct tt_file *file;
	int rc;

	*storm = (struct storm){ .seed = pick_seed(),
				 .rounds = longs && *longs == '1' ? 1000000 : 20000 };
	printf("# TT_SEED=%" PRIu64 " %s\n", storm->seed,
	       threads ? "threads" : "processes");
	make_file("a.npy", "v:u8[32]", BLOCK);
	file = open_file("a.npy", TT_WRITE);
	ck_assert_int_eq(tt_file_append(file, rows, BLOCK), 0);
	tt_file_close(file);
	for (int i = 0; i <= READERS; i++)
		actors[i] = (struct actor){ .storm = storm,
					    .number = i,
					    .random = storm->seed * 2654435761u +
						      (uint64_t)i * 977 + 1 };
	rc = threads ? run_threads(actors) : run_processes(actors);
	printf("# %" PRIu64 " rows, %" PRIu64 " changes, %" PRIu64
	       " untorn copies of the block, %" PRIu64 " refused, %" PRIu64
	       " times opened again\n",
	       atomic_load(&storm->rows), atomic_load(&storm->generation),
	       atomic_load(&storm->copies), atomic_load(&storm->torn),
	       atomic_load(&storm->replaced));
	fflush(stdout);
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(count_entries("."), 1);
}

START_TEST(processes_see_no_half_row)
{
	run(false);
}
END_TEST

START_TEST(threads_see_no_half_row)
{
	run(true);
}
END_TEST

static void add_tests(TCase *tcase)
{
	tcase_add_test(tcase, processes_see_no_half_row);
	tcase_add_test(tcase, threads_see_no_half_row);
}

int main(void)
{
	return run_suite(&(struct suite){ .name = "file_storm",
					  .enter = tmpdir_enter,
					  .leave = tmpdir_leave,
					  .timeout_s = 3600,
					  .add = add_tests });
}
