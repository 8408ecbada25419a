/* SPDX-License-Identifier: Apache-2.0 */
/* One live file, several real processes. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "lib/mp.h"
#include "lib/suite.h"
#include "lib/tmpdir.h"
#include "live/file_helpers.h"
#include "ticktail/file.h"

#define DEADLINE 120 /* seconds; nothing here takes more than a few */
#define SECOND INT64_C(1000000000)

struct job {
	const char *path;
	enum tt_wait how;
	int64_t rows;
	bool grow, drop_root;
	struct mp_gate *ready, *go;
	pid_t writer;
};

/* An actor's assertion: its line number is its exit status. */
#define MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			return 1; \
		} \
	} while (0)

static struct tt_file *open_write(const char *path)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;

	opts.access = TT_WRITE;
	return tt_file_open(&file, path, &opts, NULL) < 0 ? NULL : file;
}

/* Follow the file, through growing, until rows rows were seen; row i holds i. */
static int tail_rows(void *arg)
{
	const struct job *job = arg;
	struct tt_file *file = NULL;
	int64_t seen = 0;

	if (job->drop_root)
		MUST(mp_drop_root());
	MUST(tt_file_open(&file, job->path, NULL, NULL) == 0);
	mp_gate_add(job->ready);
	while (seen < job->rows) {
		struct tt_view view;
		int rc = tt_file_wait(file, (uint64_t)seen, job->how, DEADLINE * SECOND);

		if (rc == TT_E_SUPERSEDED) {
			tt_file_close(file);
			MUST(tt_file_open(&file, job->path, NULL, NULL) == 0);
			continue;
		}
		MUST(rc == 1);
		MUST(tt_file_view(file, (uint64_t)seen, UINT64_MAX, &view) == 0);
		MUST(view.count > 0);
		for (uint64_t i = 0; i < view.count; i++)
			MUST(((const int64_t *)view.rows)[i] == seen++);
	}
	tt_file_close(file);
	return 0;
}

static int write_rows(void *arg)
{
	const struct job *job = arg;
	struct tt_file *file = open_write(job->path);

	MUST(file);
	MUST(mp_gate_wait(job->go, 1, DEADLINE));
	for (int64_t i = 0; i < job->rows; i++) {
		int rc = tt_file_append(file, &i, 1);

		if (rc == TT_E_FULL && job->grow) {
			MUST(tt_file_grow(file, 1, NULL) == 0);
			rc = tt_file_append(file, &i, 1);
		}
		MUST(rc == 0);
	}
	tt_file_close(file);
	return 0;
}

static void follow(struct job job, int readers)
{
	pid_t pids[4];

	job.ready = mp_gate_new();
	job.go = mp_gate_new();
	for (int i = 0; i < readers; i++)
		pids[i] = mp_spawn(tail_rows, &job);
	pids[readers] = mp_spawn(write_rows, &job);
	ck_assert(mp_gate_wait(job.ready, (uint32_t)readers, DEADLINE));
	mp_gate_add(job.go);
	for (int i = readers; i >= 0; i--)
		ck_assert_int_eq(mp_wait(pids[i], DEADLINE), 0);
}

START_TEST(readers_see_every_row_in_order)
{
	make_file("a.npy", "i8", 100000);
	follow((struct job){ .path = "a.npy", .how = (enum tt_wait)_i, .rows = 100000 },
	       3);
}
END_TEST

START_TEST(readers_follow_a_growing_file)
{
	make_file("a.npy", "i8", 8);
	follow((struct job){ .path = "a.npy",
			     .how = (enum tt_wait)_i,
			     .rows = 5000,
			     .grow = true },
	       3);
	ck_assert_int_eq(count_entries("."), 1);
}
END_TEST

START_TEST(reader_needs_read_permission_only)
{
	if (geteuid() != 0) {
		fprintf(stderr, "# SKIP not root: cannot become a reader without write "
				"permission\n");
		return;
	}
	make_file("a.npy", "i8", 1000);
	ck_assert_int_eq(chmod("a.npy", 0644), 0);
	ck_assert_int_eq(chmod(".", 0711), 0); /* may be searched, not listed */
	follow((struct job){ .path = "a.npy",
			     .how = TT_WAIT_SLEEP,
			     .rows = 1000,
			     .drop_root = true },
	       2);
}
END_TEST

/* ---- One writer ---- */

static int hold_file(void *arg)
{
	const struct job *job = arg;
	struct tt_file *file = open_write(job->path);

	MUST(file);
	mp_gate_add(job->ready);
	MUST(mp_gate_wait(job->go, 1, DEADLINE));
	tt_file_close(file);
	return 0;
}

START_TEST(second_writer_is_told_the_pid)
{
	struct job job = { .path = "a.npy", .ready = mp_gate_new(), .go = mp_gate_new() };
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;
	struct tt_file_info info;
	struct tt_error err;
	char pid_text[32];
	pid_t pid;

	fill_file("a.npy", 3);
	pid = mp_spawn(hold_file, &job);
	ck_assert(mp_gate_wait(job.ready, 1, DEADLINE));
	snprintf(pid_text, sizeof(pid_text), "process %ld", (long)pid);
	opts.access = TT_WRITE;
	ck_assert_int_eq(tt_file_open(&file, "a.npy", &opts, &err), TT_E_BUSY);
	ck_assert_msg(strstr(err.text, pid_text), "%s", err.text);
	ck_assert_int_eq(tt_file_adopt("a.npy", 0, NULL, &err), TT_E_BUSY);
	file = open_file("a.npy", TT_READ);
	ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
	ck_assert_int_eq(info.writer_pid, pid);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(mp_wait(pid, DEADLINE), -SIGKILL);
	ck_assert_int_eq(tt_file_info(file, &info, NULL), 0);
	ck_assert_int_eq(info.writer_pid, 0);
	tt_file_close(file);
	tt_file_close(open_file("a.npy", TT_WRITE));
}
END_TEST

static int sleep_for_ever(void *arg)
{
	mp_gate_add(arg);
	for (;;)
		pause();
	return 0;
}

/* A writer that forks, tells the child's pid and is killed. */
static int write_and_fork(void *arg)
{
	struct job *job = arg;
	struct tt_file *file = open_write(job->path);
	pid_t child;

	MUST(file);
	child = fork();
	if (child == 0)
		_exit(sleep_for_ever(job->ready));
	job->writer = child; /* in shared memory */
	MUST(mp_gate_wait(job->ready, 1, DEADLINE));
	kill(getpid(), SIGKILL);
	return 0;
}

START_TEST(forked_child_does_not_keep_the_lock)
{
	struct job *job = mp_shared(sizeof(*job));
	pid_t pid;

	if (!mp_dontfork_works()) {
		printf("# SKIP mappings are inherited here whatever they ask for\n");
		return;
	}
	fill_file("a.npy", 3);
	job->path = "a.npy";
	job->ready = mp_gate_new();
	pid = mp_spawn(write_and_fork, job);
	ck_assert_int_eq(mp_wait(pid, DEADLINE), -SIGKILL);
	ck_assert_int_eq(kill(job->writer, 0), 0); /* the child lives */
	tt_file_close(open_file("a.npy", TT_WRITE));
	kill(job->writer, SIGKILL);
}
END_TEST

/* ---- Rows changed in place ---- */

#define WORDS 64 /* of a row; all equal */
#define CHANGES 20000

static int change_rows(void *arg)
{
	const struct job *job = arg;
	struct tt_file *file = open_write(job->path);
	uint64_t row[WORDS];

	MUST(file);
	MUST(mp_gate_wait(job->ready, 2, DEADLINE));
	for (uint64_t n = 1; n <= CHANGES; n++) {
		for (int i = 0; i < WORDS; i++)
			row[i] = n;
		MUST(tt_file_update(file, 1, row, 1, NULL) == 0);
	}
	tt_file_close(file);
	return 0;
}

static int read_untorn(void *arg)
{
	const struct job *job = arg;
	struct tt_file *file;
	uint64_t row[WORDS] = { 0 }, last = 0;

	MUST(tt_file_open(&file, job->path, NULL, NULL) == 0);
	mp_gate_add(job->ready);
	while (last < CHANGES) {
		int rc = tt_file_copy_untorn(file, 1, 1, row, NULL);

		if (rc == TT_E_TORN) /* legal when the changer is always faster */
			continue;
		MUST(rc == 0);
		for (int i = 1; i < WORDS; i++)
			MUST(row[i] == row[0]);
		MUST(row[0] >= last);
		last = row[0];
	}
	tt_file_close(file);
	return 0;
}

START_TEST(untorn_read_never_sees_half_an_update)
{
	struct job job = { .path = "a.npy", .ready = mp_gate_new() };
	static const uint64_t rows[3][WORDS];
	struct tt_file *file;
	pid_t pids[3];

	make_file("a.npy", "v:u8[64]", 3);
	file = open_file("a.npy", TT_WRITE);
	ck_assert_int_eq(tt_file_append(file, rows, 3), 0);
	tt_file_close(file);
	pids[0] = mp_spawn(read_untorn, &job);
	pids[1] = mp_spawn(read_untorn, &job);
	pids[2] = mp_spawn(change_rows, &job);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(mp_wait(pids[i], DEADLINE), 0);
}
END_TEST

/* ---- Nobody dies of SIGBUS ---- */

/* Read every byte of the mapping again and again while the file is replaced. */
static int touch_mapping(void *arg)
{
	const struct job *job = arg;
	struct tt_file *file;
	struct tt_view view;
	uint64_t sum = 0;

	MUST(tt_file_open(&file, job->path, NULL, NULL) == 0);
	MUST(tt_file_data(file, &view) == 0);
	mp_gate_add(job->ready);
	for (int round = 0; !mp_gate_wait(job->go, 1, 0) || round == 0; round++) {
		sum = 0;
		for (uint64_t i = 0; i < view.count; i++)
			sum += (uint64_t)((const int64_t *)view.rows)[i];
		MUST(sum == view.count * (view.count - 1) / 2);
	}
	tt_file_close(file);
	return 0;
}

START_TEST(resizing_kills_no_reader)
{
	struct job job = { .path = "a.npy", .ready = mp_gate_new(), .go = mp_gate_new() };
	pid_t pid;

	make_file("a.npy", "i8", 100000);
	follow((struct job){ .path = "a.npy", .how = TT_WAIT_SPIN, .rows = 10000 }, 1);
	pid = mp_spawn(touch_mapping, &job);
	ck_assert(mp_gate_wait(job.ready, 1, DEADLINE));
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(tt_file_trim("a.npy", NULL), 0);
		ck_assert_int_eq(tt_file_resize("a.npy", 50000, NULL), 0);
	}
	ck_assert_int_eq(tt_file_clear("a.npy", NULL), 0); /* another inode by now */
	mp_gate_add(job.go);
	ck_assert_int_eq(mp_wait(pid, DEADLINE), 0);
}
END_TEST

/* A file system of 1 MiB of its own. */
static bool tiny_disk(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mkdir("t", 0777) == 0 && mount("none", "t", "tmpfs", 0, "size=1m") == 0 &&
	       chdir("t") == 0;
}

static int fill_tiny_disk(void *arg)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype;
	struct tt_file *file;
	struct tt_error err;
	int64_t row = 7;
	char plain[128 + 8];
	size_t len;
	void *bytes;

	(void)arg;
	if (!tiny_disk())
		return 77;
	MUST(tt_dtype_parse(&dtype, "i8", 2, false, NULL) == 0);
	opts.capacity = 1000000;
	MUST(tt_file_create("big.npy", dtype, &opts, &err) == -ENOSPC);
	MUST(strstr(err.text, "big.npy") && strstr(err.text, "needs 8000"));
	MUST(strstr(err.text, "are free"));
	MUST(count_entries(".") == 0);

	opts.capacity = 60000; /* 480 kB: fits once */
	MUST(tt_file_create("a.npy", dtype, &opts, &err) == 0);
	file = open_write("a.npy");
	MUST(file && tt_file_append(file, &row, 1) == 0);
	MUST(tt_file_grow(file, 100000, &err) == -ENOSPC);
	MUST(strstr(err.text, "a.npy") && strstr(err.text, "needs"));
	MUST(tt_file_append(file, &row, 1) == 0 && tt_file_size(file) == 2);
	tt_file_close(file);
	MUST(tt_file_resize("a.npy", 120000, &err) == -ENOSPC);
	MUST(tt_file_backup("a.npy", "b.npy", NULL) == 0);
	MUST(tt_file_backup("a.npy", "c.npy", &err) == -ENOSPC);
	MUST(count_entries(".") == 2);
	MUST(tt_file_remove("b.npy", NULL) == 0);

	memset(plain, ' ', sizeof(plain));
	bytes = slurp("a.npy", &len);
	memcpy(plain, bytes, 128);
	memcpy(memmem(plain, 128, "60000", 5), "    1", 5);
	spit("p.npy", plain, sizeof(plain));
	MUST(tt_file_adopt("p.npy", 500000, NULL, &err) == -ENOSPC);
	MUST(strstr(err.text, "p.npy"));
	free(bytes);
	bytes = slurp("p.npy", &len);
	MUST(len == sizeof(plain) && memcmp(bytes, plain, len) == 0);
	MUST(tt_file_adopt("p.npy", 1000, NULL, NULL) == 0);
	free(bytes);
	tt_dtype_unref(dtype);
	return 0;
}

START_TEST(full_disk_is_an_error_and_leaves_nothing)
{
	int rc = mp_wait(mp_spawn(fill_tiny_disk, NULL), DEADLINE);

	if (rc == 77)
		fprintf(stderr, "# SKIP a file system of its own needs root\n");
	else
		ck_assert_int_eq(rc, 0);
}
END_TEST

/* A file with holes, as others make them, on a disk without room for the rows. */
static int open_sparse(void *arg)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_file_open_opts oopts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_dtype *dtype;
	struct tt_file *file;
	struct tt_error err;
	int fd;

	(void)arg;
	if (!tiny_disk())
		return 77;
	MUST(tt_dtype_parse(&dtype, "i8", 2, false, NULL) == 0);
	opts.capacity = 100000;
	MUST(tt_file_create("a.npy", dtype, &opts, NULL) == 0);
	fd = open("a.npy", O_RDWR | O_CLOEXEC);
	MUST(fallocate(fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 4096, 700000) ==
	     0);
	MUST(fallocate(open("filler", O_RDWR | O_CREAT | O_CLOEXEC, 0666), 0, 0,
		       500000) == 0);
	oopts.access = TT_WRITE;
	MUST(tt_file_open(&file, "a.npy", &oopts, &err) == -ENOSPC);
	MUST(strstr(err.text, "a.npy"));
	MUST(unlink("filler") == 0);
	close(fd);
	tt_dtype_unref(dtype);
	return 0;
}

START_TEST(holes_on_a_full_disk_are_an_error_at_open)
{
	int rc = mp_wait(mp_spawn(open_sparse, NULL), DEADLINE);

	if (rc == 77)
		fprintf(stderr, "# SKIP a file system of its own needs root\n");
	else
		ck_assert_int_eq(rc, 0);
}
END_TEST

static void add_tests(TCase *tcase)
{
	tcase_add_loop_test(tcase, readers_see_every_row_in_order, 0, 3);
	tcase_add_loop_test(tcase, readers_follow_a_growing_file, 0, 3);
	tcase_add_test(tcase, reader_needs_read_permission_only);
	tcase_add_test(tcase, second_writer_is_told_the_pid);
	tcase_add_test(tcase, forked_child_does_not_keep_the_lock);
	tcase_add_test(tcase, untorn_read_never_sees_half_an_update);
	tcase_add_test(tcase, resizing_kills_no_reader);
	tcase_add_test(tcase, full_disk_is_an_error_and_leaves_nothing);
	tcase_add_test(tcase, holes_on_a_full_disk_are_an_error_at_open);
}

int main(void)
{
	return run_suite(&(struct suite){ .name = "file_mp",
					  .enter = tmpdir_enter,
					  .leave = tmpdir_leave,
					  .timeout_s = 600,
					  .add = add_tests });
}
