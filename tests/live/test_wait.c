/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting in each of its ways, for files and rings, whoever writes: a writer that wakes each
 * time, now and then or never, one that is killed, one that knows nothing of waking, none; and
 * where futexes are refused.  A reader in a process of its own must see every row in order;
 * nothing is timed but what must not come too early. */
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "lib/mp.h"
#include "live/ring_reader.h"
#include "ring_help.h"
#include "ticktail/file.h"

#define ROWS 24
#define DEADLINE 60 /* seconds */
#define DEADLINE_NS (DEADLINE * INT64_C(1000000000))
#define CAPACITY 8 /* of the files of a ring: it rolls now and then */

enum writes { BY_OURS, BY_FOREIGN };

struct scene {
	bool ring;
	enum tt_wait how;
	enum writes writes;
	int64_t wake_us;
	int reader_refused, writer_refused; /* errno of futex calls, 0: they work */
	int64_t rows, from;		    /* the writer's */
	bool stays;			    /* the writer does not end */
	bool wants_settings; /* the reader must have found a settings file at its end */
	struct mp_gate *ready, *half, *written;
};

#define MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			return 1; \
		} \
	} while (0)

/* Waits and wakes between processes fail from now on; those of this process, private ones,
 * work. */
static bool refuse_futexes(int code)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FUTEX_WAIT, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FUTEX_WAKE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	uint32_t word = 0;

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
	       syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0) < 0 &&
	       errno == code;
}

static int try_refuse(void *arg)
{
	(void)arg;
	return refuse_futexes(EPERM) ? 0 : 77;
}

/* ---- Readers ---- */

static int check_rows(const struct scene *scene, const struct tt_view *view,
		      int64_t *next)
{
	const struct row *rows = view->rows;

	for (uint64_t i = 0; i < view->count; i++) {
		MUST(rows[i].number == (*next)++);
		if (*next == ROWS / 2)
			mp_gate_add(scene->half);
	}
	return 0;
}

static int follow_ring(const struct scene *scene)
{
	struct tt_ring_reader *reader;
	struct tt_view view;
	int64_t next = 0;

	MUST(tt_ring_reader_open(&reader, "it", NULL, NULL) == 0);
	mp_gate_add(scene->ready);
	while (next < ROWS) {
		MUST(tt_ring_wait(reader, scene->how, DEADLINE_NS, &err) == 1);
		MUST(tt_ring_read(reader, 100, 0, &view, NULL, &err) == 1);
		MUST(check_rows(scene, &view, &next) == 0);
	}
	MUST(tt_ring_wait(reader, scene->how, 3000000, &err) == 0);
	MUST(tt_ring_reader_lost(reader) == 0);
	if (scene->wants_settings) {
		/* looked for each second at the latest */
		MUST(tt_ring_wait(reader, scene->how, 1500000000, &err) == 0);
		MUST(reader->ring.set.addr);
	}
	tt_ring_reader_close(reader);
	return 0;
}

static int follow_file(const struct scene *scene)
{
	struct tt_file *file;
	struct tt_view view;
	int64_t next = 0;

	MUST(tt_file_open(&file, "it", NULL, NULL) == 0);
	mp_gate_add(scene->ready);
	while (next < ROWS) {
		MUST(tt_file_wait(file, (uint64_t)next, scene->how, DEADLINE_NS) == 1);
		MUST(tt_file_view(file, (uint64_t)next, UINT64_MAX, &view) == 0);
		MUST(check_rows(scene, &view, &next) == 0);
	}
	MUST(tt_file_wait(file, ROWS, scene->how, 3000000) == 0);
	tt_file_close(file);
	return 0;
}

static int follow(void *arg)
{
	const struct scene *scene = arg;

	if (scene->reader_refused)
		MUST(refuse_futexes(scene->reader_refused));
	return scene->ring ? follow_ring(scene) : follow_file(scene);
}

/* ---- Writers ---- */

/* Mostly short; for sleepers once longer than the longest sleep. */
static void pause_before(const struct scene *scene, int64_t number)
{
	bool longs = scene->how == TT_WAIT_SLEEP && number == ROWS / 4;

	usleep(longs ? 130000 : number % 3 ? 300 : 0);
}

static int write_ring(const struct scene *scene)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer;

	opts.wake_us = scene->wake_us;
	MUST(tt_ring_writer_open(&writer, "it", &opts, NULL) == 0);
	for (int64_t i = 0; i < scene->rows; i++) {
		struct row row = { scene->from + i, 0 };

		pause_before(scene, row.number);
		MUST(tt_ring_append(writer, &row, 1, NULL, NULL) == 0);
	}
	mp_gate_add(scene->written);
	if (scene->stays)
		pause();
	tt_ring_writer_close(writer);
	return 0;
}

static int write_file_ours(const struct scene *scene)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;

	opts.access = TT_WRITE;
	opts.wake_us = scene->wake_us;
	MUST(tt_file_open(&file, "it", &opts, NULL) == 0);
	for (int64_t i = 0; i < scene->rows; i++) {
		struct row row = { scene->from + i, 0 };

		pause_before(scene, row.number);
		MUST(tt_file_append(file, &row, 1) == 0);
	}
	mp_gate_add(scene->written);
	if (scene->stays)
		pause();
	tt_file_close(file);
	return 0;
}

/* Rows and end are stored, nobody is woken and no lock is held; of a ring the newest file. */
static int write_foreign(const struct scene *scene)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	struct tti_ring ring = TTI_RING_EMPTY;
	struct tti_live_open args = {
		.dirfd = AT_FDCWD, .name = "it", .path = "it", .writable = true
	};

	if (scene->ring) {
		MUST(tti_ring_open(&ring, "it", true, NULL) == 0);
		MUST(tti_ring_open_writable(&ring, tti_ring_newest(&ring), &live, NULL) ==
		     0);
	} else {
		MUST(tti_live_open(&live, &args, NULL) == 0);
	}
	for (int64_t i = 0; i < scene->rows; i++) {
		struct row row = { scene->from + i, 0 };

		pause_before(scene, row.number);
		MUST(tti_live_append(&live, &row, 1) == 0);
	}
	tti_live_close(&live);
	if (scene->ring)
		tti_ring_close(&ring);
	mp_gate_add(scene->written);
	return 0;
}

static int write_rows(void *arg)
{
	const struct scene *scene = arg;

	if (scene->writer_refused)
		MUST(refuse_futexes(scene->writer_refused));
	if (scene->writes == BY_FOREIGN)
		return write_foreign(scene);
	return scene->ring ? write_ring(scene) : write_file_ours(scene);
}

/* ---- Scenes: test i of six waits in way i % 3, on a file or (from 3 on) a ring ---- */

static struct scene make_scene(int i)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct scene scene = { .ring = i >= 3,
			       .how = (enum tt_wait)(i % 3),
			       .wake_us = TT_WAKE_DEFAULT,
			       .rows = ROWS,
			       .ready = mp_gate_new(),
			       .half = mp_gate_new(),
			       .written = mp_gate_new() };
	struct tt_dtype *dtype;

	if (scene.ring) {
		create_ring("it", CAPACITY, 4);
		return scene;
	}
	dtype = row_dtype();
	opts.capacity = 4 * ROWS;
	OK(tt_file_create("it", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	return scene;
}

/* A ring as npyt makes it: rows of one file, no settings. */
static void make_foreign(const struct scene *scene)
{
	if (!scene->ring)
		return;
	ck_assert_int_eq(system("rm -rf it"), 0);
	create_ring("it", 4 * ROWS, 4);
	ck_assert_int_eq(unlink("it/.ticktail"), 0);
}

static void play(struct scene *scene)
{
	pid_t reader = mp_spawn(follow, scene), writer;

	ck_assert(mp_gate_wait(scene->ready, 1, DEADLINE));
	writer = mp_spawn(write_rows, scene);
	ck_assert_int_eq(mp_wait(reader, DEADLINE), 0);
	ck_assert_int_eq(mp_wait(writer, DEADLINE), 0);
}

START_TEST(without_a_writer_time_passes)
{
	struct scene scene = make_scene(_i);
	int64_t before = tti_clock_monotonic_ns();
	struct tt_ring_reader *reader;
	struct tt_file *file;

	if (scene.ring) {
		reader = open_reader("it");
		ck_assert_int_eq(tt_ring_wait(reader, scene.how, 120000000, &err), 0);
		tt_ring_reader_close(reader);
	} else {
		OK(tt_file_open(&file, "it", NULL, &err));
		ck_assert_int_eq(tt_file_wait(file, 0, scene.how, 120000000), 0);
		tt_file_close(file);
	}
	ck_assert_int_ge(tti_clock_monotonic_ns() - before, 120000000);
}
END_TEST

START_TEST(a_writer_wakes_each_time)
{
	struct scene scene = make_scene(_i);

	scene.wake_us = TT_WAKE_EACH;
	play(&scene);
}
END_TEST

START_TEST(a_writer_wakes_by_period)
{
	struct scene scene = make_scene(_i);

	play(&scene);
}
END_TEST

START_TEST(a_writer_never_wakes)
{
	struct scene scene = make_scene(_i);

	scene.wake_us = TT_WAKE_NEVER;
	play(&scene);
}
END_TEST

START_TEST(another_program_writes)
{
	struct scene scene = make_scene(_i);

	scene.writes = BY_FOREIGN;
	make_foreign(&scene);
	play(&scene);
}
END_TEST

static char state_of(pid_t pid)
{
	char path[64], line[512] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	file = fopen(path, "re");
	if (!file)
		return '?';
	if (!fgets(line, sizeof(line), file) || !strrchr(line, ')'))
		line[0] = '\0';
	fclose(file);
	return line[0] ? strrchr(line, ')')[2] : '?';
}

START_TEST(a_writer_is_killed_while_the_reader_waits)
{
	struct scene first = make_scene(_i), second;
	int64_t deadline = tti_deadline_ns(DEADLINE_NS);
	pid_t reader, writer;

	first.rows = ROWS / 2;
	first.stays = true;
	reader = mp_spawn(follow, &first);
	ck_assert(mp_gate_wait(first.ready, 1, DEADLINE));
	writer = mp_spawn(write_rows, &first);
	ck_assert(mp_gate_wait(first.half, 1, DEADLINE));
	ck_assert(mp_gate_wait(first.written, 1, DEADLINE));
	while (first.how == TT_WAIT_SLEEP && state_of(reader) != 'S')
		ck_assert_int_lt(tti_clock_monotonic_ns(), deadline);
	kill(writer, SIGKILL);
	ck_assert_int_eq(mp_wait(writer, DEADLINE), -SIGKILL);
	second = first;
	second.from = first.rows;
	second.rows = ROWS - first.rows;
	second.stays = false;
	second.wake_us = TT_WAKE_NEVER;
	writer = mp_spawn(write_rows, &second);
	ck_assert_int_eq(mp_wait(reader, DEADLINE), 0);
	ck_assert_int_eq(mp_wait(writer, DEADLINE), 0);
}
END_TEST

START_TEST(a_settings_file_comes_later)
{
	struct scene scene = make_scene(_i + 3);

	make_foreign(&scene);
	scene.wants_settings = true; /* the writer of ours makes it */
	play(&scene);
}
END_TEST

static void play_refused(int i, int reader, int writer)
{
	struct scene scene = make_scene(i);

	if (mp_wait(mp_spawn(try_refuse, NULL), DEADLINE) != 0) {
		printf("# SKIP no system call can be refused here\n");
		return;
	}
	scene.reader_refused = reader;
	scene.writer_refused = writer;
	play(&scene);
}

START_TEST(a_reader_may_not_sleep_on_words)
{
	play_refused(_i, EPERM, 0);
}
END_TEST

START_TEST(a_writer_may_not_wake)
{
	play_refused(_i, 0, EPERM);
}
END_TEST

START_TEST(there_are_no_futexes)
{
	play_refused(_i, ENOSYS, ENOSYS);
}
END_TEST

static void add_tests(TCase *tcase)
{
	tcase_add_loop_test(tcase, without_a_writer_time_passes, 0, 6);
	tcase_add_loop_test(tcase, a_writer_wakes_each_time, 0, 6);
	tcase_add_loop_test(tcase, a_writer_wakes_by_period, 0, 6);
	tcase_add_loop_test(tcase, a_writer_never_wakes, 0, 6);
	tcase_add_loop_test(tcase, another_program_writes, 0, 6);
	tcase_add_loop_test(tcase, a_writer_is_killed_while_the_reader_waits, 0, 6);
	tcase_add_loop_test(tcase, a_settings_file_comes_later, 0, 3);
	tcase_add_loop_test(tcase, a_reader_may_not_sleep_on_words, 0, 6);
	tcase_add_loop_test(tcase, a_writer_may_not_wake, 0, 6);
	tcase_add_loop_test(tcase, there_are_no_futexes, 0, 6);
}

int main(void)
{
	return run_suite(&(struct suite){ .name = "wait",
					  .enter = make_work_dir,
					  .leave = drop_work_dir,
					  .timeout_s = 4 * DEADLINE,
					  .add = add_tests });
}
