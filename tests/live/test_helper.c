/* SPDX-License-Identifier: Apache-2.0 */
/* The two threads of a process: what they do for the writers of rings, and that all is right
 * when they are late or stopped. */
#include <pthread.h>
#include <signal.h>

#include "helper_help.h"
#include "lib/mp.h"
#include "lib/sanitizers.h"

START_TEST(next_file_is_made_ahead_and_taken)
{
	struct tt_ring_writer *writer;
	struct tti_counters_seen seen;

	create_ring("r", 4, 3);
	writer = open_writer("r");
	for (int64_t i = 0; i < 40; i += 4) {
		put_rows(writer, i, 4);
		UNTIL(has_next(writer));
	}
	tt_ring_writer_close(writer);
	ck_assert_int_ne(access("r/.next", F_OK), 0);
	check_rows("r", 40);
	seen = counters("r");
	ck_assert_uint_eq(seen.rolls, 9);
	ck_assert_uint_eq(seen.prepared, 10);
	ck_assert_uint_eq(seen.rows, 40);
	ck_assert_uint_eq(seen.bytes, 40 * sizeof(struct row));
}
END_TEST

START_TEST(rows_are_right_while_the_helper_stands_still)
{
	struct tt_ring_writer *writer;

	create_ring("r", 4, 3);
	writer = open_with("r", 1, 250);
	tti_helper_pause(true);
	put_rows(writer, 0, 100);
	tti_pulse_pause(true);
	put_rows(writer, 100, 100);
	check_rows("r", 200);
	tti_pulse_pause(false);
	tti_helper_pause(false);
	put_rows(writer, 200, 3);
	ck_assert_int_eq(tt_ring_writer_close(writer), TT_OK);
	check_rows("r", 203);
}
END_TEST

START_TEST(rows_are_right_after_the_threads_ended)
{
	struct tt_ring_writer *writer, *other;

	create_ring("r", 4, 3);
	create_ring("s", 4, 3);
	writer = open_with("r", 1, 250);
	put_rows(writer, 0, 10);
	tti_helper_stop();
	put_rows(writer, 10, 20);
	OK(tt_ring_sync(writer, &err));
	other = open_writer("s"); /* starts them again */
	put_rows(other, 0, 10);
	put_rows(writer, 30, 1);
	tt_ring_writer_close(writer);
	tt_ring_writer_close(other);
	check_rows("r", 31);
	check_rows("s", 10);
}
END_TEST

START_TEST(timed_sync_comes_without_an_append)
{
	struct tt_ring_writer *writer;
	uint64_t end;

	create_ring("r", 100, 3);
	writer = open_with("r", 5, 250);
	put_rows(writer, 0, 10);
	UNTIL(atomic_load(&writer->synced_end) == 10);
	put_rows(writer, 10, 1);
	UNTIL((end = atomic_load(&writer->synced_end)) == 11);
	ck_assert_uint_ge(counters("r").syncs, 2);
	ck_assert_uint_eq(counters("r").synced_end, end);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(timed_sync_comes_not_before_its_time)
{
	struct tt_ring_writer *writer;

	create_ring("r", 100, 3);
	writer = open_with("r", half_of_uptime_ms(), 250);
	put_rows(writer, 0, 10);
	UNTIL(atomic_load(&writer->duty.attention) & TTI_ATTEND_ASLEEP);
	tti_upkeep_lock(writer); /* what the helper began is done */
	ck_assert_uint_eq(counters("r").syncs, 0);
	tti_upkeep_unlock(writer);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(seal_is_answered_while_nothing_comes)
{
	struct tt_ring_writer *writer;
	bool sealed;

	create_ring("r", 100, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 3);
	for (int64_t i = 3; i < 6; i++) {
		OK(tt_ring_seal("r", DEADLINE_NS, &sealed, &err));
		ck_assert(sealed);
		ck_assert_uint_eq(tt_ring_writer_pos(writer).row, 0);
		put_rows(writer, i, 1);
	}
	tt_ring_writer_close(writer);
	check_rows("r", 6);
}
END_TEST

struct feed {
	struct tt_ring_writer *writer;
	_Atomic(bool) stop;
	int64_t rows;
};

static void *feed_main(void *arg)
{
	struct feed *feed = arg;
	struct tt_error why;

	while (!atomic_load(&feed->stop)) {
		const struct row row = { feed->rows, 0 };

		if (tt_ring_append(feed->writer, &row, 1, NULL, &why) < 0)
			return feed;
		feed->rows++;
		if (feed->rows % 64 == 0)
			sched_yield();
	}
	return NULL;
}

START_TEST(seal_is_answered_while_rows_come)
{
	struct feed feed = { 0 };
	struct tt_ring_reader *reader;
	pthread_t thread;
	int64_t next = 0;
	void *said;

	create_ring("r", 100000, 50);
	feed.writer = open_writer("r");
	reader = open_reader("r");
	ck_assert_int_eq(pthread_create(&thread, NULL, feed_main, &feed), 0);
	for (int i = 0; i < 10; i++) {
		OK(tt_ring_seal("r", DEADLINE_NS, NULL, &err));
		take_rows(reader, &next);
	}
	atomic_store(&feed.stop, true);
	pthread_join(thread, &said);
	ck_assert_msg(said == NULL, "an append failed");
	take_rows(reader, &next);
	ck_assert_int_eq(next, feed.rows);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(feed.writer);
}
END_TEST

/* The place of a reserve stays: whoever asks waits for the publish. */
START_TEST(reserve_is_not_rolled_away)
{
	struct tt_ring_writer *writer;
	struct row *place;
	uint64_t got, before;

	create_ring("r", 100, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 2);
	place = tt_ring_reserve(writer, 1, &got, &err);
	ck_assert_ptr_nonnull(place);
	tti_request_add(tti_ring_words(&writer->ring));
	before = tti_pulse_looks();
	UNTIL(tti_pulse_looks() > before + 2); /* it was looked at */
	ck_assert_uint_eq(tti_answer_load(tti_ring_words(&writer->ring)), 0);
	*place = (struct row){ 2, 0 };
	ck_assert_int_eq(tt_ring_publish(writer, 1), TT_OK);
	UNTIL(tti_answer_load(tti_ring_words(&writer->ring)) == 1);
	tt_ring_writer_close(writer);
	check_rows("r", 3);
}
END_TEST

START_TEST(timed_roll_comes_without_an_append)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_ring_writer *writer;
	const int64_t hour = INT64_C(3600) * 1000000000;

	opts.capacity = 100;
	opts.keep = 4;
	opts.roll_at_s = 22 * 3600;
	opts.sync_ms = TT_SYNC_NONE;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	writer = open_writer("r");
	atomic_store(&fake_now, 24 * hour * 30000 + 21 * hour);
	tti_ring_writer_set_clock(writer, fake_clock);
	put_rows(writer, 0, 2);
	atomic_store(&fake_now, 24 * hour * 30000 + 22 * hour);
	UNTIL(tt_ring_writer_pos(writer).row == 0);
	tt_ring_writer_close(writer);
	check_rows("r", 2);
}
END_TEST

START_TEST(rolls_come_faster_than_the_helper)
{
	struct tt_ring_writer *writer;

	create_ring("r", 4, 3);
	writer = open_writer("r");
	for (int64_t i = 0; i < 4000; i += 8)
		put_rows(writer, i, 8);
	tt_ring_writer_close(writer);
	check_rows("r", 4000);
}
END_TEST

START_TEST(close_while_the_helper_works)
{
	create_ring("r", 4, 3);
	for (int64_t i = 0; i < 60; i++) {
		struct tt_ring_writer *writer = open_with("r", i % 3 ? 1 : -1, 100);

		put_rows(writer, 3 * i, 3);
		tt_ring_writer_close(writer);
	}
	ck_assert_int_ne(access("r/.next", F_OK), 0);
	check_rows("r", 180);
}
END_TEST

#define MANY 100

START_TEST(many_writers_in_one_process)
{
	struct tt_ring_writer *writers[MANY];
	char dir[16];

	for (int i = 0; i < MANY; i++) {
		snprintf(dir, sizeof(dir), "r%d", i);
		create_ring(dir, 4, 2);
		writers[i] = open_writer(dir);
	}
	for (int64_t row = 0; row < 9; row++)
		for (int i = 0; i < MANY; i++)
			put_rows(writers[i], row, 1);
	for (int i = 0; i < MANY; i++) {
		tt_ring_writer_close(writers[i]);
		snprintf(dir, sizeof(dir), "r%d", i);
		check_rows(dir, 9);
	}
}
END_TEST

/* AddressSanitizer forks with its allocator's locks as they are: a child that got one which a
 * thread of the parent held would wait for ever. */
static void calm_before_fork(struct tt_ring_writer *writer, bool calm)
{
	if (!UNDER_ASAN)
		return;
	if (calm)
		UNTIL(tti_pulse_looks() > 0 && has_next(writer));
	tti_helper_pause(calm);
	tti_pulse_pause(calm);
}

static int append_in_child(const struct row *row)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *own = NULL;

	signal(SIGALRM, SIG_DFL); /* check's own kills the test without a word */
	alarm(20);
	opts.no_helper = UNDER_TSAN; /* it cannot start threads after a fork */
	if (tt_ring_writer_open(&own, "s", &opts, &err) < 0 ||
	    tt_ring_append(own, row, 1, NULL, &err) < 0)
		return 1;
	tt_ring_writer_close(own);
	return 0;
}

/* A child starts with no threads and takes no lock of the parent's. */
START_TEST(fork_while_the_threads_run)
{
	struct tt_ring_writer *writer;
	int status;

	if (!mp_dontfork_works()) {
		printf("# SKIP an emulator, whose children cannot start threads\n");
		return;
	}
	create_ring("r", 4, 3);
	create_ring("s", 4, 3);
	writer = open_with("r", 1, 100);
	for (int64_t i = 0; i < 20; i++) {
		const struct row row = { i, 0 };
		pid_t child;

		put_rows(writer, i, 1);
		calm_before_fork(writer, true);
		child = fork();
		/* what threads that are not here had in their hands is nobody's in the child: at
		 * an exit valgrind would call it a leak */
		if (child == 0 && append_in_child(&row) == 0)
			kill(getpid(), SIGKILL);
		if (child == 0)
			_exit(1);
		calm_before_fork(writer, false);
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	tt_ring_writer_close(writer);
	check_rows("r", 20);
	check_rows("s", 20);
}
END_TEST

static void *wait_main(void *arg)
{
	return tt_ring_wait(arg, TT_WAIT_SLEEP, DEADLINE_NS, NULL) == 1 ? arg : NULL;
}

START_TEST(sleeping_readers_are_woken_by_each_policy)
{
	static const int64_t policies[] = { TT_WAKE_EACH, 100, 250, TT_WAKE_NEVER };
	int64_t next = 0;

	create_ring("r", 100, 3);
	for (size_t i = 0; i < TTI_LEN(policies); i++) {
		struct tt_ring_writer *writer = open_with("r", -1, policies[i]);
		struct tt_ring_reader *reader = open_reader("r");
		int64_t read = 0;
		pthread_t thread;
		void *woken;

		take_rows(reader, &read);
		ck_assert_int_eq(pthread_create(&thread, NULL, wait_main, reader), 0);
		put_rows(writer, next++, 1);
		pthread_join(thread, &woken);
		ck_assert_ptr_eq(woken, reader);
		take_rows(reader, &read);
		ck_assert_int_eq(read, next);
		tt_ring_reader_close(reader);
		tt_ring_writer_close(writer);
	}
}
END_TEST

/* What the kernel could not write it drops, and the next call succeeds: ours does not. */
START_TEST(failed_sync_stays_failed)
{
	struct tt_ring_writer *writer;
	int fd, saved, ends[2];

	create_ring("r", 100, 3);
	writer = open_with("r", 60000, 250);
	put_rows(writer, 0, 1);
	fd = tti_writer_file(writer)->live.fd;
	saved = dup(fd);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(dup2(ends[0], fd), fd); /* cannot be synced */
	ck_assert_int_lt(tt_ring_sync(writer, &err), 0);
	ck_assert_int_eq(dup2(saved, fd), fd);
	ck_assert_int_eq(tt_ring_sync(writer, &err), -EIO);
	ck_assert_ptr_nonnull(strstr(err.text, "earlier fdatasync failed"));
	put_rows(writer, 1, 1);
	OK(tt_ring_roll(writer, &err)); /* the feed goes on */
	put_rows(writer, 2, 1);
	ck_assert_uint_ge(counters("r").sync_failures, 1);
	tt_ring_writer_close(writer);
	check_rows("r", 3);
	close(saved);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* The same of what makes a file findable: rows that are on disk are no use without it. */
START_TEST(names_that_were_not_synced_stay_so)
{
	static const char *const made[] = { "r", "s" };
	int saved, ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	for (int i = 0; i < 2; i++) {
		struct tt_ring_writer *writer;
		int fd, rc;

		create_ring(made[i], 100, 3);
		writer = open_with(made[i], 60000, 250);
		put_rows(writer, 0, 1);
		OK(tt_ring_roll(writer, &err)); /* the next mark has names to sync */
		put_rows(writer, 1, 1);
		fd = i == 0 ? writer->ring.lock_fd : writer->ring.set_fd;
		saved = dup(fd);
		ck_assert_int_eq(dup2(ends[0], fd), fd); /* cannot be synced */
		ck_assert_int_lt(tt_ring_sync(writer, &err), 0);
		ck_assert_int_eq(dup2(saved, fd), fd);
		ck_assert_int_eq(tt_ring_sync(writer, &err), -EIO);
		ck_assert_ptr_nonnull(strstr(err.text, "earlier fsync"));
		put_rows(writer, 2, 1);
		rc = tt_ring_roll(writer,
				  &err); /* may tell it too, and the feed goes on */
		ck_assert_msg(rc == TT_OK || rc == -EIO, "roll: %d", rc);
		put_rows(writer, 3, 1);
		ck_assert_int_eq(tt_ring_sync(writer, &err), -EIO);
		ck_assert_uint_ge(counters(made[i]).sync_failures, 1);
		tt_ring_writer_close(writer);
		close(saved);
		writer = open_with(made[i], 60000, 250);
		OK(tt_ring_sync(writer, &err));
		ck_assert_int_eq(tt_ring_writer_close(writer), TT_OK);
		check_rows(made[i], 4);
	}
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* And without a helper, where a roll syncs what it leaves: rows find files all the same. */
START_TEST(a_feed_rolls_on_after_names_were_not_synced)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer;
	int fd, saved, ends[2];

	create_ring("r", 8, 9);
	opts.no_helper = true;
	opts.sync_ms = 60000;
	OK(tt_ring_writer_open(&writer, "r", &opts, &err));
	put_rows(writer, 0, 9);
	fd = writer->ring.set_fd;
	saved = dup(fd);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(dup2(ends[0], fd), fd); /* cannot be synced */
	ck_assert_int_lt(tt_ring_sync(writer, &err), 0);
	ck_assert_int_eq(dup2(saved, fd), fd);
	put_rows(writer, 9, 40); /* rolls */
	ck_assert_int_eq(tt_ring_sync(writer, &err), -EIO);
	tt_ring_writer_close(writer);
	check_rows("r", 49);
	close(saved);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* Nor at a writer whose owner says again and again that there is nothing to do. */
START_TEST(pulse_of_an_idle_ring_sleeps)
{
	struct tt_ring_writer *writer;
	uint64_t looks;

	create_ring("r", 100, 2);
	writer = open_with("r", TT_SYNC_NONE, 250);
	put_rows(writer, 0, 1);
	UNTIL(atomic_load(&writer->duty.attention) & TTI_ATTEND_ASLEEP);
	looks = tti_pulse_looks();
	for (int i = 0; i < 10; i++) {
		OK(tt_ring_writer_idle(writer, &err));
		usleep(20000);
	}
	/* a few for what the helper does; one call used to be 40 */
	ck_assert_uint_le(tti_pulse_looks(), looks + 20);
	put_rows(writer, 1, 1);
	UNTIL(tti_pulse_looks() > looks + 22);
	ck_assert_int_eq(tt_ring_writer_close(writer), TT_OK);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		next_file_is_made_ahead_and_taken,
		rows_are_right_while_the_helper_stands_still,
		rows_are_right_after_the_threads_ended,
		timed_sync_comes_without_an_append,
		timed_sync_comes_not_before_its_time,
		seal_is_answered_while_nothing_comes,
		seal_is_answered_while_rows_come,
		reserve_is_not_rolled_away,
		timed_roll_comes_without_an_append,
		rolls_come_faster_than_the_helper,
		close_while_the_helper_works,
		many_writers_in_one_process,
		fork_while_the_threads_run,
		sleeping_readers_are_woken_by_each_policy,
		failed_sync_stays_failed,
		names_that_were_not_synced_stay_so,
		a_feed_rolls_on_after_names_were_not_synced,
		pulse_of_an_idle_ring_sleeps,
	};

	return ring_suite("helper", tests, sizeof(tests) / sizeof(tests[0]));
}
