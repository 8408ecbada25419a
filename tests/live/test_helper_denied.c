/* SPDX-License-Identifier: Apache-2.0 */
/* The two threads of a process where they may not do what they should, and writers that go
 * without them. */
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "helper_help.h"
#include "lib/sanitizers.h"

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

static const char *const thread_names[] = { "tt-pulse", "tt-helper" };

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
	int cpu, helper_cpu;
	const char *skipped;
};

static void *real_time_main(void *arg)
{
	const struct sched_param param = { .sched_priority = 1 };
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
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
	opts.sync_ms = 5;
	opts.helper_cpu = feed->helper_cpu;
	OK(tt_ring_writer_open(&writer, "r", &opts, &err));
	put_rows(writer, 0, 3);
	for (size_t i = 0; i < TTI_LEN(thread_names); i++) {
		pid_t tid;

		UNTIL((tid = find_thread(thread_names[i])) != 0);
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
	/* any, and one that is not there */
	static const int helper_cpus[] = { -1, CPU_SETSIZE - 1 };
	struct real_time_feed feed = { some_cpu(), helper_cpus[_i], NULL };
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

START_TEST(threads_are_as_nice_as_asked)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	int before = getpriority(PRIO_PROCESS, 0);
	struct tt_ring_writer *writer;

	create_ring("r", 100, 3);
	opts.helper_nice = 7;
	OK(tt_ring_writer_open(&writer, "r", &opts, &err));
	put_rows(writer, 0, 3);
	for (size_t i = 0; i < TTI_LEN(thread_names); i++) {
		pid_t tid;

		UNTIL((tid = find_thread(thread_names[i])) != 0);
		UNTIL(getpriority(PRIO_PROCESS, (id_t)tid) == 7);
	}
	ck_assert_int_eq(getpriority(PRIO_PROCESS, 0), before);
	tt_ring_writer_close(writer);
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

static void add_tests(TCase *tcase)
{
	tcase_add_loop_test(tcase, no_space_for_the_next_file, 0, 2);
	tcase_add_loop_test(tcase, threads_do_not_inherit_a_real_time_feed, 0, 2);
	tcase_add_test(tcase, threads_are_as_nice_as_asked);
	tcase_add_test(tcase, all_is_right_without_membarrier);
	tcase_add_test(tcase, writer_alone_looks_now_and_then);
}

int main(void)
{
	return run_suite(&(struct suite){ .name = "denied helper",
					  .enter = make_work_dir,
					  .leave = drop_work_dir,
					  .timeout_s = 120,
					  .add = add_tests });
}
