/* SPDX-License-Identifier: Apache-2.0 */
/* One writer that is killed now and then, readers that start anywhere, stop, stall, fall behind
 * and come back, and a maintainer that merges and removes, killed too: every row once and in
 * order, or counted as lost, exactly.  The model is the rows' own numbers: a row holds how many
 * rows the ring had before it.
 *
 * TT_SEED replays a run's choices, TT_LONG=1 takes 10,000 rolls.  The same actors run as
 * threads, for sanitizers that see one process only. */
#include <pthread.h>
#include <signal.h>

#include "lib/mp.h"
#include "prop_ring.h"

static void start_actor(struct actor *actor, struct run *run, int number, uint64_t life)
{
	*actor = (struct actor){ .run = run,
				 .random = run->seed * 2654435761u +
					   (uint64_t)number * 977 + life * 131 + 1,
				 .number = number };
	for (int i = 0; i < 10; i++)
		prop_any(actor, 2);
}

static int act(void *arg)
{
	struct actor *actor = arg;
	int rc = actor->number == 0   ? prop_write_rows(actor)
		 : actor->number == 1 ? prop_maintain(actor)
				      : prop_read_rows(actor);

	if (rc != 0)
		atomic_store(&actor->run->failed, 1);
	return rc;
}

static void *act_as_thread(void *arg)
{
	return act(arg) == 0 ? NULL : arg;
}

/* Kill writer and maintainer at any instant, again and again; others take their place. */
static int writer_lives(struct run *run, struct actor *actors, pid_t *pids)
{
	struct actor chance;
	int64_t deadline = tti_deadline_ns(DEADLINE * INT64_C(1000000000));

	start_actor(&chance, run, 99, 0);
	for (uint64_t life = 1;; life++) {
		int victim = prop_any(&chance, 3) == 0, rc;

		usleep(2000 + (unsigned)prop_any(&chance, 60000));
		if (waitpid(pids[0], &rc, WNOHANG) == pids[0])
			return WIFEXITED(rc) ? WEXITSTATUS(rc) : 1;
		if (tti_clock_monotonic_ns() > deadline)
			return 1;
		kill(pids[victim], SIGKILL);
		rc = mp_wait(pids[victim], 10);
		if (rc != -SIGKILL) /* it had ended before */
			return rc;
		atomic_fetch_add(&run->kills, 1);
		start_actor(&actors[victim], run, victim, life);
		pids[victim] = mp_spawn(act, &actors[victim]);
	}
}

static int run_processes(struct run *run, struct actor *actors)
{
	pid_t pids[ACTORS];
	int rc;

	for (int i = 0; i < ACTORS; i++)
		pids[i] = mp_spawn(act, &actors[i]);
	rc = writer_lives(run, actors, pids);
	/* what was published in the moment of a kill is known to the ring alone */
	if (rc == 0) {
		struct actor *actor = &actors[0];
		int64_t total;

		rc = prop_count_rows(actor, &total);
		atomic_store(&run->total, total);
	}
	atomic_store(rc == 0 ? &run->done : &run->failed, 1);
	for (int i = 1; i < ACTORS; i++)
		rc |= mp_wait(pids[i], DEADLINE);
	return rc;
}

static int run_threads(struct run *run, struct actor *actors)
{
	pthread_t threads[ACTORS];
	void *out;
	int rc = 0;

	for (int i = 0; i < ACTORS; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, act_as_thread, &actors[i]), 0);
	for (int i = 0; i < ACTORS; i++) {
		pthread_join(threads[i], &out);
		rc |= out != NULL;
		if (i == 0)
			atomic_store(&run->done, 1);
	}
	return rc;
}

static void make_ring(const struct run *run)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();

	opts.capacity = 7;
	opts.keep = 3;
	opts.exact = true;
	opts.sync_ms = TT_SYNC_NONE;
	opts.batches_whole = run->seed % 2;
	opts.max_bytes = run->mode == LIMITED ? 12 * 4096 : 0;
	OK(tt_ring_create(run->dir, dtype, &opts, &err));
	tt_dtype_unref(dtype);
}

static void tell_damage(void *ctx, const struct tt_damage *damage)
{
	(void)ctx;
	printf("# damage: %s: %s\n", damage->path, damage->what);
	fflush(stdout);
}

static void run_once(enum mode mode, bool threads, uint64_t rolls, uint64_t seed)
{
	static const char *const words[] = { "merging", "removing", "limited" };
	static struct actor actors[ACTORS];
	struct run *run = mp_shared(sizeof(*run));
	char dir[128];
	uint64_t damage = 0;
	int rc;

	snprintf(dir, sizeof(dir), "%s-%s-%" PRIu64, words[mode],
		 threads ? "threads" : "processes", seed);
	*run = (struct run){
		.seed = seed, .rolls = rolls, .mode = mode, .threads = threads, .dir = dir
	};
	printf("# TT_SEED=%" PRIu64 " %s %s\n", seed, words[mode],
	       threads ? "threads" : "processes");
	fflush(stdout);
	make_ring(run);
	for (int i = 0; i < ACTORS; i++)
		start_actor(&actors[i], run, i, 0);
	rc = threads ? run_threads(run, actors) : run_processes(run, actors);
	printf("# %" PRIu64 " rolls, %" PRId64 " rows, %" PRIu64
	       " lost by readers, %" PRIu64 " resumed, %" PRIu64 " merged, %" PRIu64
	       " removed, %" PRIu64 " killed\n",
	       atomic_load(&run->rolled), atomic_load(&run->total),
	       atomic_load(&run->lost), atomic_load(&run->resumed),
	       atomic_load(&run->merged), atomic_load(&run->removed),
	       atomic_load(&run->kills));
	ck_assert_msg(rc == 0, "failed with TT_SEED=%" PRIu64, seed);
	OK(tt_ring_verify(dir, tell_damage, NULL, &damage, &err));
	ck_assert_uint_eq(damage, 0);
	munmap(run, sizeof(*run));
}

static bool is_long(void)
{
	return getenv("TT_LONG") != NULL;
}

/* Rolls in rings of a few hundred: in one ring nothing that is removed stays. */
static void run_many(enum mode mode, bool threads, uint64_t rolls, uint64_t each)
{
	const char *seed = getenv("TT_SEED");
	uint64_t first =
		seed ? strtoull(seed, NULL, 10) : (uint64_t)tti_clock_realtime_ns();

	for (uint64_t done = 0; done < rolls; done += each)
		run_once(mode, threads, each, first + done / each);
}

START_TEST(every_row_once_in_order_beside_merges)
{
	run_many(MERGING, false, is_long() ? 3000 : 40, is_long() ? 250 : 40);
}
END_TEST

START_TEST(rows_of_removed_files_are_counted_exactly)
{
	run_many(REMOVING, false, is_long() ? 4000 : 40, is_long() ? 4000 : 40);
}
END_TEST

START_TEST(rows_over_the_limit_are_counted_exactly)
{
	run_many(LIMITED, false, is_long() ? 3000 : 40, is_long() ? 3000 : 40);
}
END_TEST

START_TEST(threads_see_the_same)
{
	for (enum mode mode = MERGING; mode <= LIMITED; mode++)
		run_many(mode, true, is_long() ? 500 : 15, is_long() ? 500 : 15);
}
END_TEST

/* Small files in memory: the disk would be most of the time. */
static void make_dir(void)
{
	strcpy(work_dir, "/dev/shm/tt-prop-XXXXXX");
	if (!mkdtemp(work_dir)) {
		strcpy(work_dir, "/tmp/tt-prop-XXXXXX");
		ck_assert_ptr_nonnull(mkdtemp(work_dir));
	}
	ck_assert_int_eq(chmod(work_dir, 0755), 0);
	ck_assert_int_eq(chdir(work_dir), 0);
}

int main(void)
{
	Suite *suite = suite_create("property of rings");
	TCase *tcase = tcase_create("many");
	SRunner *runner = srunner_create(suite);
	int failed;

	setvbuf(stdout, NULL, _IOLBF, 0);
	tcase_set_timeout(tcase, 3600);
	tcase_add_checked_fixture(tcase, make_dir, drop_work_dir);
	tcase_add_test(tcase, every_row_once_in_order_beside_merges);
	tcase_add_test(tcase, rows_of_removed_files_are_counted_exactly);
	tcase_add_test(tcase, rows_over_the_limit_are_counted_exactly);
	tcase_add_test(tcase, threads_see_the_same);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
