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
#include "ring_help.h"

#define READERS 5
#define ACTORS (READERS + 2) /* and the writer, and the maintainer */
#define DEADLINE 240	     /* seconds of one run */

enum mode { MERGING, REMOVING, LIMITED };

struct run {
	uint64_t seed, rolls;
	enum mode mode;
	bool threads;
	const char *dir;
	_Atomic(int64_t) total; /* rows whose append returned */
	_Atomic(uint64_t) rolled, lost, resumed, merged, removed, kills;
	_Atomic(uint32_t) done, failed;
};

struct actor {
	struct run *run;
	uint64_t random;
	int number;
	struct tt_error err;
};

static uint64_t any(struct actor *actor, uint64_t below)
{
	actor->random ^= actor->random << 13;
	actor->random ^= actor->random >> 7;
	actor->random ^= actor->random << 17;
	return actor->random % below;
}

static int off(const struct actor *actor, const char *what, int64_t is, int64_t wanted)
{
	printf("# actor %d: %s: %" PRId64 " where %" PRId64 " was expected\n",
	       actor->number, what, is, wanted);
	atomic_store(&actor->run->failed, 1);
	return 1;
}

#define TRY(call) \
	do { \
		if ((call) < 0) { \
			printf("# actor %d: %s: %s\n", actor->number, #call, \
			       actor->err.text); \
			return 1; \
		} \
	} while (0)

/* ---- The writer ---- */

/* How many rows there are, by the ring itself: what a writer that died published counts. */
static int count_rows(struct actor *actor, int64_t *out)
{
	struct tt_ring_reader *reader = NULL;
	struct tt_view *views;
	size_t n;

	TRY(tt_ring_reader_open(&reader, actor->run->dir, NULL, &actor->err));
	TRY(tt_ring_seek_last(reader, &actor->err));
	*out = (int64_t)tt_ring_tell_number(reader);
	TRY(tt_ring_tail(reader, 1, &views, &n, &actor->err));
	if (n == 1 && ((const struct row *)views[0].rows)->number != *out - 1)
		return off(actor, "the last row",
			   ((const struct row *)views[0].rows)->number, *out - 1);
	free(views);
	tt_ring_reader_close(reader);
	if (*out < atomic_load(&actor->run->total))
		return off(actor, "rows after a kill", *out,
			   atomic_load(&actor->run->total));
	return 0;
}

static int append_some(struct actor *actor, struct tt_ring_writer *writer, int64_t *total)
{
	struct row rows[40], *place;
	/* one row most often, a few, or more than a file holds */
	uint64_t count = 1 + any(actor, any(actor, 3) ? 3 : 39), got = 0;

	for (uint64_t i = 0; i < count; i++)
		rows[i] = (struct row){ *total + (int64_t)i, 0 };
	if (any(actor, 4) == 0) {
		place = tt_ring_reserve(writer, count, &got, &actor->err);
		if (!place)
			return 1;
		memcpy(place, rows, got * sizeof(*rows));
		TRY(tt_ring_publish(writer, got));
		count = got;
	} else {
		TRY(tt_ring_append(writer, rows, count, NULL, &actor->err));
	}
	*total += (int64_t)count;
	atomic_store(&actor->run->total, *total);
	return 0;
}

static int write_rows(struct actor *actor)
{
	struct run *run = actor->run;
	struct tt_ring_writer *writer = NULL;
	uint64_t file;
	int64_t total = 0;

	TRY(tt_ring_writer_open(&writer, run->dir, NULL, &actor->err));
	if (count_rows(actor, &total) != 0)
		return 1;
	file = tt_ring_writer_pos(writer).file;
	while (atomic_load(&run->rolled) < run->rolls && !atomic_load(&run->failed)) {
		uint64_t what = any(actor, 100);

		if (append_some(actor, writer, &total) != 0)
			return 1;
		if (what < 5)
			TRY(tt_ring_roll(writer, &actor->err));
		if (what < 20)
			usleep((unsigned)any(actor, 1500));
		if (what == 20) {
			tt_ring_writer_close(writer);
			TRY(tt_ring_writer_open(&writer, run->dir, NULL, &actor->err));
		}
		if (what > 90)
			TRY(tt_ring_writer_idle(writer, &actor->err));
		if (tt_ring_writer_pos(writer).file != file)
			atomic_fetch_add(&run->rolled, 1);
		file = tt_ring_writer_pos(writer).file;
	}
	tt_ring_writer_close(writer);
	return 0;
}

/* ---- The maintainer ---- */

static int remove_some(struct actor *actor)
{
	struct run *run = actor->run;
	struct tt_ring_info info;
	int rc;

	TRY(tt_ring_info(run->dir, &info, &actor->err));
	for (size_t i = 0; i < info.file_count && !info.files[i].queued; i++) {
		if (any(actor, 3) == 0)
			continue;
		rc = tt_ring_remove_file(run->dir, info.files[i].name, &actor->err);
		if (rc == -ENOENT || rc == TT_E_BUSY)
			continue; /* the writer was there before, or is at it */
		TRY(rc);
		atomic_fetch_add(&run->removed, 1);
	}
	tt_ring_info_free(&info);
	return 0;
}

static int maintain(struct actor *actor)
{
	struct run *run = actor->run;

	while (!atomic_load(&run->done) && !atomic_load(&run->failed)) {
		uint64_t merged = 0;
		int rc;

		usleep((unsigned)any(actor, 20000));
		if (run->mode == REMOVING && any(actor, 3) && remove_some(actor) != 0)
			return 1;
		rc = tt_ring_merge(run->dir, 2 + any(actor, 4), NULL, NULL, &merged,
				   &actor->err);
		if (rc != TT_E_BUSY && (rc != -ENOENT || run->mode == MERGING))
			TRY(rc);
		atomic_fetch_add(&run->merged, merged);
	}
	return 0;
}

/* ---- Readers ---- */

struct place {
	struct tt_ring_reader *reader;
	int64_t next; /* number of the row that comes next, when all is well */
};

static int open_any(struct actor *actor, struct place *place)
{
	struct tt_ring_reader_opts opts = TT_RING_READER_OPTS_INIT;

	/* who sees the queue only loses more, but counts as exactly */
	opts.queued_only = actor->run->mode != MERGING && any(actor, 4) == 0;
	TRY(tt_ring_reader_open(&place->reader, actor->run->dir, &opts, &actor->err));
	return 0;
}

/* Where it stands after it went somewhere. */
static void take_place(struct place *place)
{
	tt_ring_reader_lost(place->reader);
	place->next = (int64_t)tt_ring_tell_number(place->reader);
	if (place->next < 0) /* before the first row that is there */
		place->next = -1;
}

/* Stop, and go on from the stored place, as a process that was started again. */
static int come_back(struct actor *actor, struct place *place)
{
	struct tt_pos pos = tt_ring_tell(place->reader);
	uint64_t number = tt_ring_tell_number(place->reader);

	place->next += (int64_t)tt_ring_reader_lost(place->reader);
	if (place->next >= 0 && (int64_t)number != place->next)
		return off(actor, "number of the place", (int64_t)number, place->next);
	tt_ring_reader_close(place->reader);
	place->reader = NULL;
	if (any(actor, 3) == 0)
		usleep((unsigned)any(actor, 40000));
	if (open_any(actor, place) != 0)
		return 1;
	tt_ring_reader_lost(place->reader);
	TRY(tt_ring_seek_number(place->reader, pos, number, &actor->err));
	atomic_fetch_add(&actor->run->resumed, 1);
	return 0;
}

static int check_looks(struct actor *actor, struct place *place)
{
	bool tail = any(actor, 2);
	struct tt_view *views;
	int64_t before = -1;
	size_t n;

	if (tail)
		TRY(tt_ring_tail(place->reader, 1 + any(actor, 30), &views, &n,
				 &actor->err));
	else
		TRY(tt_ring_head(place->reader, 1 + any(actor, 30), &views, &n,
				 &actor->err));
	for (size_t i = 0; i < n; i++) {
		const struct row *rows = views[i].rows;

		for (uint64_t k = 0; k < views[i].count; k++) {
			/* between removed files there may be a gap, never a step back */
			if (rows[k].number <= before ||
			    (k > 0 && rows[k].number != before + 1))
				return off(actor, "a row looked at", rows[k].number,
					   before + 1);
			before = rows[k].number;
		}
	}
	free(views);
	return 0;
}

static int go_somewhere(struct actor *actor, struct place *place)
{
	switch (any(actor, 4)) {
	case 0: TRY(tt_ring_seek_first(place->reader, &actor->err)); break;
	case 1: TRY(tt_ring_seek_last(place->reader, &actor->err)); break;
	default:
		TRY(tt_ring_seek_tail(place->reader, any(actor, 50), &actor->err));
		break;
	}
	take_place(place);
	return 0;
}

static int check_view(struct actor *actor, struct place *place,
		      const struct tt_view *view)
{
	const struct row *rows = view->rows;
	int64_t first = place->next;

	if (first < 0)
		first = rows[0].number;
	/* rows that were read before come first: they end where the new ones begin */
	if (rows[0].number > first || rows[0].number + (int64_t)view->count <= first)
		return off(actor, "first row", rows[0].number, first);
	for (uint64_t i = 0; i < view->count; i++)
		if (rows[i].number != rows[0].number + (int64_t)i)
			return off(actor, "row", rows[i].number,
				   rows[0].number + (int64_t)i);
	place->next = rows[0].number + (int64_t)view->count;
	if ((int64_t)tt_ring_tell_number(place->reader) != place->next)
		return off(actor, "number behind a view",
			   (int64_t)tt_ring_tell_number(place->reader), place->next);
	return 0;
}

static int read_once(struct actor *actor, struct place *place)
{
	uint64_t count = 1 + any(actor, 12), lost,
		 prefetch = any(actor, 3) == 0 ? any(actor, 5) : 0;
	struct tt_view view;
	int rc;

	TRY(rc = tt_ring_read(place->reader, count, prefetch, &view, NULL, &actor->err));
	if (tt_ring_reader_lost_more(place->reader))
		return off(actor, "loss that is not exact", 1, 0);
	lost = tt_ring_reader_lost(place->reader);
	if (lost > 0 && actor->run->mode == MERGING)
		return off(actor, "rows lost though none was removed", (int64_t)lost, 0);
	if (place->next >= 0) {
		place->next += (int64_t)lost;
		atomic_fetch_add(&actor->run->lost, lost);
	}
	return rc == 0 ? 0 : check_view(actor, place, &view);
}

static int step(struct actor *actor, struct place *place)
{
	uint64_t what = any(actor, 200);

	if (what < 3)
		usleep((unsigned)any(actor, what == 0 ? 60000 : 8000)); /* stalls */
	if (what == 3)
		return come_back(actor, place);
	if (what == 4)
		return go_somewhere(actor, place);
	if (what == 5)
		return check_looks(actor, place);
	if (what > 150)
		TRY(tt_ring_wait(place->reader, what % 3, 2000000, &actor->err));
	return read_once(actor, place);
}

static int read_rows(struct actor *actor)
{
	struct run *run = actor->run;
	struct place place = { NULL, -1 };
	int64_t deadline = tti_deadline_ns(DEADLINE * INT64_C(1000000000));

	usleep((unsigned)any(actor, 20000)); /* it starts when it likes */
	if (!run->threads && actor->number == ACTORS - 1)
		mp_drop_root(); /* may read only */
	if (open_any(actor, &place) != 0)
		return 1;
	if (any(actor, 2))
		take_place(&place);
	while (!atomic_load(&run->done) || place.next != atomic_load(&run->total)) {
		if (atomic_load(&run->failed))
			return 1;
		if (tti_clock_monotonic_ns() > deadline)
			return off(actor, "stuck at row", place.next,
				   atomic_load(&run->total));
		if (step(actor, &place) != 0)
			return 1;
		/* nothing is lost or comes any more, so who began late knows by now */
		if (atomic_load(&run->done) && place.next < 0)
			take_place(&place);
	}
	tt_ring_reader_close(place.reader);
	return 0;
}

/* ---- A run ---- */

static void start_actor(struct actor *actor, struct run *run, int number, uint64_t life)
{
	*actor = (struct actor){ .run = run,
				 .random = run->seed * 2654435761u +
					   (uint64_t)number * 977 + life * 131 + 1,
				 .number = number };
	for (int i = 0; i < 10; i++)
		any(actor, 2);
}

static int act(void *arg)
{
	struct actor *actor = arg;
	int rc = actor->number == 0   ? write_rows(actor)
		 : actor->number == 1 ? maintain(actor)
				      : read_rows(actor);

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
		int victim = any(&chance, 3) == 0, rc;

		usleep(2000 + (unsigned)any(&chance, 60000));
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

		rc = count_rows(actor, &total);
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
	OK(tt_ring_verify(dir, NULL, NULL, &damage, &err));
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
