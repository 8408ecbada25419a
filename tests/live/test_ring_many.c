/* SPDX-License-Identifier: Apache-2.0 */
/* One writer, several readers that start, stop, stall and come back, and a maintainer that
 * merges or removes: every row once and in order, or counted as lost, exactly.
 * TT_SEED replays a run, TT_LONG=1 takes 10,000 rolls. */
#include "lib/mp.h"
#include "ring_help.h"

#define READERS 4

struct shared {
	uint64_t seed;
	_Atomic(int64_t) total; /* rows written; the last word when done */
	_Atomic(uint32_t) done;
	uint64_t rolls; /* wanted */
	bool removing;	/* else merging */
};

static struct shared *shared;

struct actor {
	uint64_t random;
	int number;
};

static uint64_t any(struct actor *actor, uint64_t below)
{
	actor->random ^= actor->random << 13;
	actor->random ^= actor->random >> 7;
	actor->random ^= actor->random << 17;
	return actor->random % below;
}

static struct actor start_actor(int number)
{
	struct actor actor = { .random = shared->seed * 2654435761u +
					 (uint64_t)number * 977 + 1,
			       .number = number };

	for (int i = 0; i < 10; i++)
		any(&actor, 2);
	return actor;
}

#define TRY(call) \
	do { \
		if ((call) < 0) { \
			printf("# %s: %s\n", #call, err.text); \
			return 1; \
		} \
	} while (0)

static int append_some(struct actor *actor, struct tt_ring_writer *writer, int64_t *total)
{
	struct row rows[20], *place;
	uint64_t count = any(actor, 20), got = 0;

	if (any(actor, 4) == 0 && count > 0) {
		place = tt_ring_reserve(writer, count, &got, &err);
		if (!place)
			return 1;
		for (uint64_t i = 0; i < got; i++)
			place[i] = (struct row){ *total + (int64_t)i, 0 };
		TRY(tt_ring_publish(writer, got));
		count = got;
	} else {
		for (uint64_t i = 0; i < count; i++)
			rows[i] = (struct row){ *total + (int64_t)i, 0 };
		TRY(tt_ring_append(writer, rows, count, NULL, &err));
	}
	*total += (int64_t)count;
	atomic_store(&shared->total, *total);
	return 0;
}

static int write_rows(void *arg)
{
	struct actor actor = start_actor(*(int *)arg);
	struct tt_ring_writer *writer = NULL;
	uint64_t rolls = 0, file = 0;
	int64_t total = 0;

	TRY(tt_ring_writer_open(&writer, "r", NULL, &err));
	while (rolls < shared->rolls) {
		uint64_t what = any(&actor, 200);

		if (append_some(&actor, writer, &total) != 0)
			return 1;
		if (what < 20)
			TRY(tt_ring_roll(writer, &err));
		if (what == 20)
			usleep((unsigned)any(&actor, 3000));
		if (what == 21) {
			tt_ring_writer_close(writer);
			TRY(tt_ring_writer_open(&writer, "r", NULL, &err));
		}
		if (what > 100 && what < 110)
			TRY(tt_ring_writer_idle(writer, &err));
		rolls += tt_ring_writer_pos(writer).file != file;
		file = tt_ring_writer_pos(writer).file;
	}
	tt_ring_writer_close(writer);
	atomic_store(&shared->done, 1);
	return 0;
}

/* Go on from a stored place, as a process that was started again. */
static int come_back(struct tt_ring_reader **reader)
{
	struct tt_pos pos = tt_ring_tell(*reader);
	uint64_t lost = tt_ring_reader_lost(*reader);

	tt_ring_reader_close(*reader);
	TRY(tt_ring_reader_open(reader, "r", NULL, &err));
	TRY(tt_ring_seek(*reader, pos, &err));
	return lost == 0 ? 0 : 1;
}

static int check_view(const struct tt_view *view, uint64_t before, int64_t *next)
{
	const struct row *rows = view->rows;

	for (uint64_t i = 0; i < before; i++)
		if (rows[i].number != *next - (int64_t)(before - i))
			return printf("# prefetched row %" PRId64 " before row %" PRId64
				      "\n",
				      rows[i].number, *next);
	for (uint64_t i = before; i < view->count; i++, ++*next)
		if (rows[i].number != *next)
			return printf("# row %" PRId64 " where %" PRId64
				      " was expected\n",
				      rows[i].number, *next);
	return 0;
}

static int read_once(struct actor *actor, struct tt_ring_reader *reader, int64_t *next)
{
	uint64_t count = 1 + any(actor, 12),
		 prefetch = any(actor, 3) == 0 ? any(actor, 5) : 0;
	struct tt_pos was = tt_ring_tell(reader), at;
	struct tt_view view;
	uint64_t before;
	int rc;

	TRY(rc = tt_ring_read(reader, count, prefetch, &view, &at, &err));
	if (rc == 0)
		return 0;
	*next += (int64_t)tt_ring_reader_lost(reader);
	/* rows of the file it stood in that were read before; none right after a move, unless
	 * the move led into a merged file */
	before = at.file == was.file && was.row > at.row ? was.row - at.row : 0;
	if (at.file != was.file && ((const struct row *)view.rows)->number < *next)
		before = (uint64_t)(*next - ((const struct row *)view.rows)->number);
	return check_view(&view, before, next);
}

static int read_rows(void *arg)
{
	struct actor actor = start_actor(*(int *)arg);
	struct tt_ring_reader *reader = NULL;
	int64_t next = 0, deadline = tti_deadline_ns(600000000000);

	usleep((unsigned)any(&actor, 20000)); /* it starts when it likes */
	TRY(tt_ring_reader_open(&reader, "r", NULL, &err));
	if (shared->removing) /* the first files may be gone: take the first row as it is */
		next = -1;
	while (!atomic_load(&shared->done) || next < atomic_load(&shared->total)) {
		uint64_t what = any(&actor, 100);

		if (next < 0) {
			struct tt_view view;
			int rc;

			TRY(rc = tt_ring_read(reader, 1, 0, &view, NULL, &err));
			if (rc == 1)
				next = ((const struct row *)view.rows)->number + 1;
			tt_ring_reader_lost(reader);
			continue;
		}
		if (tti_clock_monotonic_ns() > deadline)
			return printf("# reader %d stands at row %" PRId64 "\n",
				      actor.number, next);
		if (what < 2)
			usleep((unsigned)any(&actor, 20000)); /* stalls */
		if (what == 3 && !shared->removing && come_back(&reader) != 0)
			return 1;
		if (what > 50)
			TRY(tt_ring_wait(reader, what % 3, 2000000, &err));
		if (read_once(&actor, reader, &next) != 0)
			return 1;
	}
	tt_ring_reader_close(reader);
	return next == atomic_load(&shared->total) ? 0 : 1;
}

static int remove_some(struct actor *actor)
{
	struct tt_ring_info info;

	TRY(tt_ring_info("r", &info, &err));
	for (size_t i = 0; i < info.file_count && !info.files[i].queued; i++)
		if (any(actor, 2))
			TRY(tt_ring_remove_file("r", info.files[i].name, &err));
	tt_ring_info_free(&info);
	return 0;
}

static int maintain(void *arg)
{
	struct actor actor = start_actor(*(int *)arg);

	while (!atomic_load(&shared->done)) {
		usleep((unsigned)any(&actor, 30000));
		if (shared->removing) {
			if (remove_some(&actor) != 0)
				return 1;
		} else {
			TRY(tt_ring_merge("r", 2 + any(&actor, 4), NULL, NULL, NULL,
					  &err));
		}
	}
	return 0;
}

static void run_actors(bool removing)
{
	static int numbers[READERS + 2];
	pid_t pids[READERS + 2];
	const char *seed = getenv("TT_SEED");

	shared = mp_shared(sizeof(*shared));
	shared->seed =
		seed ? strtoull(seed, NULL, 10) : (uint64_t)tti_clock_realtime_ns();
	shared->rolls = getenv("TT_LONG") ? 10000 : 400;
	shared->removing = removing;
	printf("# TT_SEED=%" PRIu64 "\n", shared->seed);
	fflush(stdout);
	create_ring("r", 7, 3);
	for (int i = 0; i < READERS + 2; i++) {
		mp_actor *actor = i == 0 ? write_rows : i == 1 ? maintain : read_rows;

		numbers[i] = i;
		pids[i] = mp_spawn(actor, &numbers[i]);
	}
	for (int i = 0; i < READERS + 2; i++)
		ck_assert_msg(mp_wait(pids[i], 600) == 0,
			      "actor %d failed, TT_SEED=%" PRIu64, i, shared->seed);
}

START_TEST(every_row_once_in_order_beside_merges)
{
	run_actors(false);
}
END_TEST

START_TEST(rows_of_removed_files_are_counted_exactly)
{
	run_actors(true);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring with many");
	TCase *tcase = tcase_create("many");
	SRunner *runner = srunner_create(suite);
	int failed;

	setvbuf(stdout, NULL, _IOLBF, 0);
	tcase_set_timeout(tcase, 1300);
	tcase_add_checked_fixture(tcase, make_work_dir, drop_work_dir);
	tcase_add_test(tcase, every_row_once_in_order_beside_merges);
	tcase_add_test(tcase, rows_of_removed_files_are_counted_exactly);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
