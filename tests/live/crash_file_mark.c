/* SPDX-License-Identifier: Apache-2.0 */
/* Kills a writer that keeps a mark, and the one that cuts by it after a power loss, at every
 * failpoint of marks; then the machine is off, or not, and the file must hold what was synced.
 *
 * usage: crash_file_mark NAME...   the failpoints; each must be passed */
#include "age_mark.h"
#include "crash_suite.h"
#include "ring_help.h"

#define DAY 86400000

static const char *const *wanted;
static int wanted_count;

/* In memory that outlives the child. */
static struct record {
	int64_t synced, attempted;
} * rec;

static struct tt_file *open_sync(int64_t sync_ms)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;

	opts.access = TT_WRITE;
	opts.sync_ms = sync_ms;
	opts.no_helper = true;
	OK(tt_file_open(&file, "f.npy", &opts, &err));
	return file;
}

static void put(struct tt_file *file, int64_t count)
{
	for (; count > 0; count--) {
		struct row row = { rec->attempted, 0.5 };

		rec->attempted++;
		ck_assert_int_eq(tt_file_append(file, &row, 1), 0);
	}
}

static void sync_now(struct tt_file *file)
{
	OK(tt_file_sync(file, &err));
	rec->synced = rec->attempted;
}

/* ---- what is killed ---- */

static void session(void)
{
	struct tt_file *file = open_sync(DAY);
	struct row row = { 1, 0.5 };

	put(file, 5);
	sync_now(file);
	OK(tt_file_update(file, 1, &row, 1, &err));
	put(file, 3);
	OK(tt_file_grow(file, 300, &err));
	rec->synced = rec->attempted; /* the copy is on disk before it has the name */
	put(file, 3);
	sync_now(file);
	put(file, 3);
	tt_file_close(file);
	rec->synced = rec->attempted;
	file = open_sync(TT_SYNC_NONE);
	tt_file_close(file);
}

static void recovery(void)
{
	open_sync(DAY);
}

static void recovery_without(void)
{
	open_sync(TT_SYNC_NONE);
}

typedef void run_fn(void);
static run_fn *const runs[] = { session, recovery, recovery_without };
#define RUNS ((int)(sizeof(runs) / sizeof(runs[0])))

static void before(int run)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	int status;
	pid_t pid;

	ck_assert_int_eq(system("rm -f f.npy* .f.npy* .ticktail*"), 0);
	*rec = (struct record){ 0, 0 };
	opts.capacity = 10;
	OK(tt_file_create("f.npy", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	if (runs[run] == session)
		return;
	pid = fork();
	if (pid == 0) {
		struct tt_file *file = open_sync(DAY);

		put(file, 4);
		sync_now(file);
		put(file, 3);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_gt(age_file("f.npy"), 0);
}

static int run_at(void *run)
{
	runs[*(const int *)run]();
	return 0;
}

/* ---- what must be there ---- */

static int64_t count_rows(const char *where)
{
	struct tt_file *file;
	struct tt_view view;
	int64_t count;

	OK(tt_file_open(&file, "f.npy", NULL, &err));
	OK(tt_file_data(file, &view));
	count = (int64_t)view.count;
	for (int64_t i = 0; i < count; i++)
		ck_assert_msg(((const struct row *)view.rows)[i].number == i,
			      "%s: row %" PRId64, where, i);
	tt_file_close(file);
	return count;
}

static void check(int run, bool aged, const char *where)
{
	int64_t rows = count_rows(where);
	struct tt_file *file;

	ck_assert_msg(rows >= rec->synced && rows <= rec->attempted,
		      "%s: %" PRId64 " rows of %" PRId64 " to %" PRId64, where, rows,
		      rec->synced, rec->attempted);
	if (runs[run] != session && aged)
		ck_assert_int_eq(rows, rec->synced);
	file = open_sync(DAY);
	ck_assert_int_eq((int64_t)tt_file_size(file), rows);
	rec->attempted = rows;
	put(file, 3);
	tt_file_close(file);
	ck_assert_int_eq(count_rows(where), rows + 3);
	if (runs[run] != session) { /* what was cut is kept, once */
		struct tt_view view;

		OK(tt_file_open(&file, "f.npy.cut", NULL, &err));
		OK(tt_file_data(file, &view));
		ck_assert_uint_eq(view.count, 3);
		ck_assert_int_eq(((const struct row *)view.rows)[0].number, 4);
		tt_file_close(file);
		ck_assert_int_ne(access("f.npy.cut-2", F_OK), 0);
		ck_assert_int_ne(access(".f.npy.cut.tmp", F_OK), 0);
	}
}

static void kill_at(int run, const char *name, unsigned nth)
{
	char failpoint[96];

	snprintf(failpoint, sizeof(failpoint), "%s:%u", name, nth);
	for (int aged = 0; aged < 2; aged++) {
		before(run);
		ck_assert_msg(crash_kill(run_at, &run, name, nth), "%s", failpoint);
		if (aged)
			age_file("f.npy");
		check(run, aged, failpoint);
	}
}

START_TEST(killed_anywhere)
{
	before(_i);
	ck_assert_int_eq(crash_run_logged(run_at, &_i), 0);
	for (int k = 0; k < wanted_count; k++) {
		unsigned count = crash_passages(wanted[k]);

		for (unsigned n = 1; n <= count; n++)
			kill_at(_i, wanted[k], n);
	}
}
END_TEST

START_TEST(every_failpoint_is_passed)
{
	for (int run = 0; run < RUNS; run++) {
		before(run);
		ck_assert_int_eq(crash_run_logged(run_at, &run), 0);
	}
	crash_need_passed(wanted, wanted_count);
}
END_TEST

int main(int argc, char **argv)
{
	wanted = (const char *const *)argv + 1;
	wanted_count = argc - 1;
	rec = crash_record(sizeof(*rec));
	return rec ? crash_suite("killed marks", killed_anywhere, RUNS,
				 every_failpoint_is_passed)
		   : EXIT_FAILURE;
}
