/* SPDX-License-Identifier: Apache-2.0 */
/* The two threads of a process: what they do for writers, and that all is right when they are
 * late, stopped or absent. */
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "live/file.h"
#include "live/ring_writer.h"
#include "lib/mp.h"
#include "lib/sanitizers.h"

#include "ring_help.h"

#define DEADLINE_NS INT64_C(20000000000)

/* Look until it is true; the deadline is for what never comes. */
#define UNTIL(condition) \
	do { \
		int64_t until_ns = tti_clock_monotonic_ns() + DEADLINE_NS; \
		while (!(condition)) { \
			ck_assert_msg(tti_clock_monotonic_ns() < until_ns, "never: %s", \
				      #condition); \
			usleep(200); \
		} \
	} while (0)

static struct tt_ring_writer *open_with(const char *dir, int64_t sync_ms, int64_t wake_us)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer = NULL;

	opts.sync_ms = sync_ms;
	opts.wake_us = wake_us;
	OK(tt_ring_writer_open(&writer, dir, &opts, &err));
	return writer;
}

static void check_rows(const char *dir, int64_t count)
{
	struct tt_ring_reader *reader = open_reader(dir);
	int64_t next = 0;

	take_rows(reader, &next);
	ck_assert_int_eq(next, count);
	tt_ring_reader_close(reader);
}

static bool has_next(const struct tt_ring_writer *writer)
{
	return atomic_load(&writer->next_state) == TTI_NEXT_READY;
}

static struct tti_counters_seen counters(const char *dir)
{
	struct tti_counters_seen seen;
	struct tti_ring ring;

	OK(tti_ring_open(&ring, dir, false, &err));
	tti_counters_read(&ring, &seen);
	tti_ring_close(&ring);
	return seen;
}

/* ---- Rings ---- */

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

/* ---- Single files ---- */

static struct tt_file *open_file(int64_t sync_ms, int64_t wake_us)
{
	struct tt_file_create_opts create = TT_FILE_CREATE_OPTS_INIT;
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_file *file = NULL;

	create.capacity = 1000;
	unlink("f.npy");
	OK(tt_file_create("f.npy", dtype, &create, &err));
	tt_dtype_unref(dtype);
	opts.access = TT_WRITE;
	opts.sync_ms = sync_ms;
	opts.wake_us = wake_us;
	OK(tt_file_open(&file, "f.npy", &opts, &err));
	return file;
}

static void *file_wait_main(void *arg)
{
	struct tt_file *file = NULL;
	int rc = tt_file_open(&file, "f.npy", NULL, NULL);

	if (rc == TT_OK)
		rc = tt_file_wait(file, 0, TT_WAIT_SLEEP, DEADLINE_NS);
	tt_file_close(file);
	return rc == 1 ? arg : NULL;
}

START_TEST(file_wakes_and_syncs_in_time)
{
	const struct row row = { 1, 2 };
	struct tt_file *file = open_file(5, 250);
	pthread_t thread;
	void *woken;

	ck_assert_int_eq(pthread_create(&thread, NULL, file_wait_main, file), 0);
	ck_assert_int_eq(tt_file_append(file, &row, 1), TT_OK);
	pthread_join(thread, &woken);
	ck_assert_ptr_eq(woken, file);
	UNTIL(atomic_load(&file->synced_end) == 1);
	/* the threads follow to a larger file */
	OK(tt_file_grow(file, 5000, &err));
	ck_assert_int_eq(tt_file_append(file, &row, 1), TT_OK);
	UNTIL(atomic_load(&file->synced_end) == 2);
	ck_assert_int_eq(tt_file_close(file), TT_OK);
}
END_TEST

/* Asleep, the pulse looks at nothing until an append. */
START_TEST(pulse_of_an_idle_file_sleeps)
{
	const struct row row = { 1, 2 };
	struct tt_file *file = open_file(TT_SYNC_NONE, 250);
	uint64_t looks;

	ck_assert_int_eq(tt_file_append(file, &row, 1), TT_OK);
	UNTIL(atomic_load(&file->duty.attention) & TTI_ATTEND_ASLEEP);
	looks = tti_pulse_looks();
	usleep(100000); /* 400 periods */
	ck_assert_uint_le(tti_pulse_looks(), looks + 2);
	ck_assert_int_eq(tt_file_append(file, &row, 1), TT_OK);
	UNTIL(tti_pulse_looks() > looks + 2);
	tt_file_close(file);
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

/* ---- Where the threads cannot do what they should ---- */

static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* No space for the next file: the feed goes on to the end of its own, gets an error that names
 * it, and goes on once there is space. */
START_TEST(no_space_for_the_next_file)
{
	struct tt_ring_writer *writer;
	const struct row row = { 40000, 0 };
	uint64_t done = 1;

	create_ring("r", 40000, 3);
	writer = open_with("r", _i ? 50 : TT_SYNC_NONE, 250);
	signal(SIGXFSZ, SIG_IGN);
	limit_file_size(400000); /* the test's own notes need some */
	put_rows(writer, 0, 1);
	UNTIL(counters("r").errors > 0);
	for (int64_t i = 1; i < 40000; i += 13333)
		put_rows(writer, i, 13333);
	for (int i = 0; i < 3; i++) {
		err.text[0] = 0;
		ck_assert_int_lt(tt_ring_append(writer, &row, 1, &done, &err), 0);
		ck_assert_uint_eq(done, 0);
		ck_assert_ptr_nonnull(strstr(err.text, "r/"));
	}
	ck_assert_uint_eq(tt_ring_writer_pos(writer).row, 40000);
	limit_file_size(RLIM_INFINITY);
	put_rows(writer, 40000, 40001); /* and the next one is made ahead again */
	UNTIL(has_next(writer));
	tt_ring_writer_close(writer);
	check_rows("r", 80001);
}
END_TEST

/* The thread of ours with that name; 0: there is none (yet). */
static pid_t find_thread(const char *name)
{
	DIR *dir = opendir("/proc/self/task");
	pid_t found = 0;

	for (struct dirent *one; dir && !found && (one = readdir(dir));) {
		char path[300], comm[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", one->d_name);
		file = fopen(path, "r");
		if (file && fgets(comm, sizeof(comm), file) &&
		    strncmp(comm, name, strlen(name)) == 0)
			found = (pid_t)atoi(one->d_name);
		if (file)
			fclose(file);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* A processor of several that we may use; -1: there is only one. */
static int some_cpu(void)
{
	cpu_set_t all;
	int last = -1;

	CPU_ZERO(&all);
	sched_getaffinity(0, sizeof(all), &all);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all))
			last = i;
	return CPU_COUNT(&all) > 1 ? last : -1;
}

struct real_time_feed {
	int cpu;
	const char *skipped;
};

static void *real_time_main(void *arg)
{
	static const char *const names[] = { "tt-pulse", "tt-helper" };
	const struct sched_param param = { .sched_priority = 1 };
	struct real_time_feed *feed = arg;
	struct tt_ring_writer *writer;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(feed->cpu, &cpus);
	ck_assert_int_eq(pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus), 0);
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) != 0) {
		feed->skipped = "no permission for SCHED_FIFO";
		return NULL;
	}
	writer = open_with("r", 5, 250);
	put_rows(writer, 0, 3);
	for (size_t i = 0; i < TTI_LEN(names); i++) {
		pid_t tid;

		UNTIL((tid = find_thread(names[i])) != 0);
		ck_assert_int_eq(sched_getscheduler(tid), SCHED_OTHER);
		ck_assert_int_eq(sched_getaffinity(tid, sizeof(cpus), &cpus), 0);
		ck_assert(!CPU_ISSET(feed->cpu, &cpus));
	}
	UNTIL(atomic_load(&writer->synced_end) == 3); /* they get to run */
	tt_ring_writer_close(writer);
	return NULL;
}

START_TEST(threads_do_not_inherit_a_real_time_feed)
{
	struct real_time_feed feed = { some_cpu(), NULL };
	pthread_t thread;

	if (feed.cpu < 0)
		feed.skipped = "there is one processor";
	create_ring("r", 100, 3);
	if (!feed.skipped) {
		ck_assert_int_eq(pthread_create(&thread, NULL, real_time_main, &feed), 0);
		pthread_join(thread, NULL);
	}
	if (feed.skipped)
		printf("# threads_do_not_inherit_a_real_time_feed: skipped, %s\n",
		       feed.skipped);
}
END_TEST

/* From now on membarrier() fails, as on a kernel without. */
static bool take_membarrier_away(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { TTI_LEN(code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The pulse never sleeps for long and sees rows by itself; the writer is never claimed, so that
 * who asks for a seal is answered by the next append or idle call. */
START_TEST(all_is_right_without_membarrier)
{
	struct tt_ring_writer *writer;
	struct tti_words *words;
	uint64_t before;

	if (!take_membarrier_away()) {
		puts("# all_is_right_without_membarrier: skipped, no seccomp filters");
		return;
	}
	create_ring("r", 100, 5);
	writer = open_with("r", TT_SYNC_NONE, 250);
	words = tti_ring_words(&writer->ring);
	for (int64_t i = 0; i < 3; i++) {
		uint32_t seen = tti_wake_load(words);

		before = tti_pulse_looks();
		UNTIL(tti_pulse_looks() > before + 20); /* longer than it takes to doze */
		ck_assert(!(tti_attention(&writer->duty) & TTI_ATTEND_ASLEEP));
		put_rows(writer, i, 1);
		UNTIL(tti_wake_load(words) != seen);
	}
	for (uint64_t i = 1; i <= 2; i++) {
		tti_request_add(words);
		UNTIL(tti_attention(&writer->duty) & TTI_ATTEND_ROLL);
		before = tti_pulse_looks();
		UNTIL(tti_pulse_looks() > before + 100);
		ck_assert_uint_eq(tti_answer_load(words), i - 1);
		if (i == 1)
			put_rows(writer, 3, 1);
		else
			OK(tt_ring_writer_idle(writer, &err));
		ck_assert_uint_eq(tti_answer_load(words), i);
	}
	tt_ring_writer_close(writer);
	check_rows("r", 4);
}
END_TEST

/* ---- Alone by choice ---- */

/* Nobody is woken, nothing is synced: appends are quick up to a number of rows. */
START_TEST(writer_alone_looks_now_and_then)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer;
	int64_t next = 0;

	opts.no_helper = true;
	opts.wake_us = TT_WAKE_NEVER;
	opts.sync_ms = TT_SYNC_NONE;
	create_ring("r", 1000, 20);
	OK(tt_ring_writer_open(&writer, "r", &opts, &err));
	put_rows(writer, next++, 1);
	ck_assert_uint_eq(tti_attention(&writer->duty), 0);
	tti_request_add(tti_ring_words(&writer->ring));
	while (tti_answer_load(tti_ring_words(&writer->ring)) == 0) {
		ck_assert_int_lt(next, 70);
		put_rows(writer, next++, 1);
	}
	put_rows(writer, next, 2500);
	next += 2500;
	put_rows(writer, next++, 1);
	OK(tt_ring_writer_idle(writer, &err));
	ck_assert_uint_eq(counters("r").rows, (uint64_t)next);
	tti_request_add(tti_ring_words(&writer->ring));
	OK(tt_ring_writer_idle(writer, &err));
	ck_assert_uint_eq(tti_answer_load(tti_ring_words(&writer->ring)), 2);
	tt_ring_writer_close(writer);
	check_rows("r", next);
}
END_TEST

START_TEST(file_alone_is_stamped)
{
	struct tt_file_create_opts create = TT_FILE_CREATE_OPTS_INIT;
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_file *file, *reader;
	struct tt_file_info info;
	uint64_t stamp = 0;

	create.capacity = 10000;
	OK(tt_file_create("f.npy", dtype, &create, &err));
	tt_dtype_unref(dtype);
	opts.access = TT_WRITE;
	opts.no_helper = true;
	opts.wake_us = TT_WAKE_NEVER;
	OK(tt_file_open(&file, "f.npy", &opts, &err));
	OK(tt_file_open(&reader, "f.npy", NULL, &err));
	for (int64_t i = 0; i < 1000; i++) {
		const struct row row = { i, 0 };

		ck_assert_int_eq(tt_file_append(file, &row, 1), TT_OK);
		if (i % 250 == 0)
			usleep(20000); /* the coarse clock goes on */
		if (i % 250 != 100)
			continue;
		OK(tt_file_info(reader, &info, &err));
		ck_assert_uint_gt(info.update_timestamp, stamp);
		stamp = info.update_timestamp;
	}
	ck_assert_uint_eq(tt_file_size(reader), 1000);
	ck_assert_int_eq(tt_file_sync(reader, &err), TT_E_MISUSE);
	OK(tt_file_sync(file, &err));
	tt_file_close(reader);
	tt_file_close(file);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("helper");
	TCase *tcase = tcase_create("helper");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, make_work_dir, drop_work_dir);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, next_file_is_made_ahead_and_taken);
	tcase_add_test(tcase, rows_are_right_while_the_helper_stands_still);
	tcase_add_test(tcase, rows_are_right_after_the_threads_ended);
	tcase_add_test(tcase, timed_sync_comes_without_an_append);
	tcase_add_test(tcase, seal_is_answered_while_nothing_comes);
	tcase_add_test(tcase, seal_is_answered_while_rows_come);
	tcase_add_test(tcase, reserve_is_not_rolled_away);
	tcase_add_test(tcase, timed_roll_comes_without_an_append);
	tcase_add_test(tcase, rolls_come_faster_than_the_helper);
	tcase_add_test(tcase, close_while_the_helper_works);
	tcase_add_test(tcase, many_writers_in_one_process);
	tcase_add_test(tcase, fork_while_the_threads_run);
	tcase_add_test(tcase, sleeping_readers_are_woken_by_each_policy);
	tcase_add_test(tcase, failed_sync_stays_failed);
	tcase_add_test(tcase, file_wakes_and_syncs_in_time);
	tcase_add_test(tcase, pulse_of_an_idle_file_sleeps);
	tcase_add_test(tcase, pulse_of_an_idle_ring_sleeps);
	tcase_add_loop_test(tcase, no_space_for_the_next_file, 0, 2);
	tcase_add_test(tcase, threads_do_not_inherit_a_real_time_feed);
	tcase_add_test(tcase, all_is_right_without_membarrier);
	tcase_add_test(tcase, writer_alone_looks_now_and_then);
	tcase_add_test(tcase, file_alone_is_stamped);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
