/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a writer while its next file has its name already: forks, a second writer, a
 * death, a close, several rolls at once, a roll by time beside one of a full file. */
#include <sys/resource.h>

#include "lib/mp.h"
#include "lib/sanitizers.h"
#include "name_help.h"
#include "ticktail/status.h"

static void path_of_next(const struct tt_ring_writer *writer, char path[64])
{
	file_path(path, writer->next->name);
	ck_assert_int_eq(access(path, F_OK), 0);
}

/* ---- fork ---- */

/* AddressSanitizer forks with its allocator's locks as they are. */
static void calm_pulse(bool calm)
{
	if (UNDER_ASAN)
		tti_pulse_pause(calm);
}

static int run_in_child(int (*child_main)(struct tt_ring_writer *writer),
			struct tt_ring_writer *writer)
{
	int status;
	pid_t child;

	calm_pulse(true);
	child = fork();
	if (child == 0) {
		signal(SIGALRM, SIG_DFL); /* check's own kills the test without a word */
		alarm(20);
		_exit(child_main(writer));
	}
	calm_pulse(false);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int exit_at_once(struct tt_ring_writer *writer)
{
	(void)writer;
	return 0;
}

static int exec_something(struct tt_ring_writer *writer)
{
	(void)writer;
	execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
	return 1;
}

/* As destructors do that run in each process; then rows of its own. */
static int close_it(struct tt_ring_writer *writer)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *own = NULL;
	const struct row row = { 0, 0 };

	if (tt_ring_writer_close(writer) != TT_OK)
		return 1;
	opts.no_helper = true;
	if (tt_ring_writer_open(&own, "s", &opts, &err) < 0 ||
	    tt_ring_append(own, &row, 1, NULL, &err) < 0)
		return 2;
	if (run_in_child(exit_at_once, own) != 0)
		return 3;
	return tt_ring_writer_close(own) == TT_OK ? 0 : 4;
}

/* May do it, is not to: whatever becomes of the child, the ring is the parent's. */
static int append_to_it(struct tt_ring_writer *writer)
{
	const struct rlimit none = { 0, 0 };
	const struct row row = { -1, -1 };

	setrlimit(RLIMIT_CORE, &none);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	tt_ring_append(writer, &row, 1, NULL, &err);
	return 0;
}

START_TEST(what_a_child_does_leaves_the_named_file)
{
	static const struct {
		int (*child_main)(struct tt_ring_writer *writer);
		int ends;
	} kinds[] = { { exit_at_once, 0 },
		      { exec_something, 7 },
		      { close_it, 0 },
		      { append_to_it, 999 } };
	struct tt_ring_writer *writer;
	char path[64];

	create_ring("r", ROWS, 3);
	create_ring("s", ROWS, 3);
	writer = name_ahead("r", 2);
	path_of_next(writer, path);
	for (size_t i = 0; i < TTI_LEN(kinds); i++) {
		int ended;

		if (kinds[i].ends == 999 && !mp_dontfork_works())
			continue; /* an emulator: the child has the mapping */
		ended = run_in_child(kinds[i].child_main, writer);
		if (kinds[i].ends != 999)
			ck_assert_int_eq(ended, kinds[i].ends);
		ck_assert(has_name(writer));
		ck_assert_int_eq(access(path, F_OK), 0);
		check_rows("r", ROWS - 2);
		check_verified("r");
	}
	put_rows(writer, ROWS - 2, 5);
	ck_assert_int_eq(access(path, F_OK), 0);
	go_on(writer);
	check_rows("r", ROWS + 3);
	check_verified("r");
	check_rows("s", 1);
}
END_TEST

static int close_reader(struct tt_ring_reader *reader)
{
	tt_ring_reader_close(reader);
	return 0;
}

/* A place among the readers is the parent's too. */
START_TEST(a_child_closes_a_reader_that_can_be_seen)
{
	struct tt_ring_reader *reader;
	pid_t child;

	create_ring("r", ROWS, 3);
	reader = open_reader("r");
	OK(tt_ring_reader_register(reader, "seen", &err));
	child = fork();
	if (child == 0)
		_exit(close_reader(reader));
	ck_assert_int_eq(mp_wait(child, 20), 0);
	tt_ring_reader_close(reader);
}
END_TEST

/* ---- Two rings, two writers ---- */

START_TEST(two_rings_of_a_process_have_a_named_file_each)
{
	struct tt_ring_writer *one, *other;

	create_ring("r", ROWS, 3);
	create_ring("s", ROWS, 3);
	one = open_with("r", TT_SYNC_NONE, 250);
	other = open_with("s", TT_SYNC_NONE, 250);
	put_rows(one, 0, ROWS - 1);
	put_rows(other, 0, ROWS - 2);
	UNTIL(has_name(one) && has_name(other));
	tti_helper_pause(true);
	ck_assert_uint_eq(files_in("r"), 2);
	ck_assert_uint_eq(files_in("s"), 2);
	tti_helper_pause(false);
	ck_assert_int_eq(tt_ring_writer_close(one), TT_OK);
	ck_assert_uint_eq(files_in("r"), 1);
	put_rows(other, ROWS - 2, 3 * ROWS);
	ck_assert_int_eq(tt_ring_writer_close(other), TT_OK);
	check_rows("r", ROWS - 1);
	check_rows("s", 4 * ROWS - 2);
	check_verified("r");
	check_verified("s");
}
END_TEST

struct dying {
	struct mp_gate *gate;
	bool closes_one;
};

/* Never ends by itself. */
static int hold_names(void *arg)
{
	const struct dying *how = arg;
	struct tt_ring_writer *one = open_with("r", TT_SYNC_NONE, 250), *other;

	put_rows(one, 0, ROWS - 2);
	other = open_with("s", TT_SYNC_NONE, 250);
	put_rows(other, 0, ROWS - 2);
	UNTIL(has_name(one) && has_name(other));
	tti_helper_pause(true);
	ck_assert(has_name(one) && has_name(other));
	if (how->closes_one)
		tt_ring_writer_close(other);
	mp_gate_add(how->gate);
	for (;;)
		pause();
}

static void check_after_death(const char *dir, int64_t rows)
{
	struct tt_ring_writer *writer = open_with(dir, TT_SYNC_NONE, 250);

	ck_assert_uint_eq(files_in(dir), 1);
	put_rows(writer, rows, 3 * ROWS);
	tt_ring_writer_close(writer);
	check_rows(dir, rows + 3 * ROWS);
	check_verified(dir);
}

/* It is refused and touches nothing; right after the first one's death it goes on. */
START_TEST(a_second_writer_comes_before_and_after_the_death_of_the_first)
{
	struct dying how = { mp_gate_new(), _i == 1 };
	struct tt_ring_writer *second = NULL;
	pid_t child;

	create_ring("r", ROWS, 3);
	create_ring("s", ROWS, 3);
	child = mp_spawn(hold_names, &how);
	ck_assert(mp_gate_wait(how.gate, 1, 20));
	ck_assert_int_eq(tt_ring_writer_open(&second, "r", NULL, &err), TT_E_BUSY);
	ck_assert_uint_eq(files_in("r"), 2);
	ck_assert_uint_eq(files_in("s"), how.closes_one ? 1 : 2);
	check_verified("r");
	check_verified("s");
	kill(child, SIGKILL);
	second = open_with("r", TT_SYNC_NONE, 250); /* waits for one that is leaving */
	tt_ring_writer_close(second);
	ck_assert_int_eq(mp_wait(child, 20), -SIGKILL);
	check_after_death("r", ROWS - 2);
	check_after_death("s", ROWS - 2);
}
END_TEST

/* ---- Small files and large batches ---- */

START_TEST(a_file_of_one_row_is_named_before_the_next_row)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0;

	create_ring("r", 1, 2);
	writer = open_with("r", _i == 0 ? TT_SYNC_NONE : 1, 250);
	reader = open_reader("r");
	for (int64_t row = 0; row < 40; row++) {
		uint64_t named = 0;

		if (row > 0) {
			UNTIL(has_name(writer));
			tti_helper_pause(true);
			named = has_name(writer) ? writer->next->name : 0;
		}
		put_rows(writer, row, 1);
		if (named)
			ck_assert_uint_eq(tt_ring_writer_pos(writer).file, named);
		tti_helper_pause(false);
		take_rows(reader, &next);
		ck_assert_int_eq(next, row + 1);
	}
	put_rows(writer, 40, 60); /* sixty rolls in one append */
	take_rows(reader, &next);
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 0);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
	check_rows("r", 100);
	ck_assert_uint_eq(files_there(), 100);
	check_verified("r");
}
END_TEST

/* npyt makes rings of one file; we keep two, and the manifest grows. */
START_TEST(a_ring_of_one_file_grows_its_queue)
{
	struct tt_ring_writer *writer;
	struct stat st;
	uint64_t slot;

	create_ring("r", ROWS, 2);
	writer = open_alone("r");
	put_rows(writer, 0, 3);
	slot = tt_ring_writer_pos(writer).file;
	tt_ring_writer_close(writer);
	ck_assert_int_eq(unlink("r/.ticktail"), 0);
	write_file("r/.lock", &slot, sizeof(slot));
	writer = open_with("r", TT_SYNC_NONE, 250);
	for (int64_t row = 3; row < 5 * ROWS; row++) {
		put_rows(writer, row, 1);
		if (tti_writer_live(writer)->end == ROWS)
			UNTIL(has_name(writer));
	}
	tt_ring_writer_close(writer);
	check_rows("r", 5 * ROWS);
	check_verified("r");
	ck_assert_int_eq(stat("r/.lock", &st), 0);
	ck_assert_int_eq(st.st_size, 2 * (off_t)sizeof(slot));
}
END_TEST

START_TEST(a_batch_of_several_files_begins_in_the_named_one)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_ring_writer *writer;
	struct tt_ring_info info;
	uint64_t name;
	char path[64];

	opts.capacity = ROWS;
	opts.keep = 3;
	opts.exact = true;
	opts.batches_whole = _i == 1;
	opts.sync_ms = TT_SYNC_NONE;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	writer = name_ahead("r", 2);
	name = writer->next->name;
	path_of_next(writer, path);
	put_rows(writer, ROWS - 2, 5 * ROWS + 3);
	ck_assert_uint_gt(tt_ring_writer_pos(writer).file, name);
	info = ring_info("r");
	ck_assert_uint_eq(info.files[1].name, name);
	tt_ring_info_free(&info);
	check_rows("r", 6 * ROWS + 1);
	tti_helper_pause(false);
	put_rows(writer, 6 * ROWS + 1, 7 * ROWS); /* beside the helper */
	go_on(writer);
	check_rows("r", 13 * ROWS + 1);
	ck_assert_uint_eq(files_there(), files_told("r"));
	check_verified("r");
}
END_TEST

/* ---- By time ---- */

static struct tt_ring_writer *timed_ring(int64_t *due_ns)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_ring_writer *writer;

	opts.capacity = ROWS;
	opts.keep = 3;
	opts.exact = true;
	opts.roll_at_s = 3600;
	opts.sync_ms = TT_SYNC_NONE;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	*due_ns = (tti_clock_realtime_ns() / INT64_C(86400000000000) + 1) *
			  INT64_C(86400000000000) +
		  INT64_C(3600000000000);
	fake_now = *due_ns - INT64_C(10000000); /* within a window of the hour */
	writer = open_with("r", TT_SYNC_NONE, 250);
	tti_ring_writer_set_clock(writer, fake_clock);
	return writer;
}

static void check_no_empty_file(int64_t rows)
{
	struct tt_ring_info info = ring_info("r");

	ck_assert_uint_eq(info.rows, (uint64_t)rows);
	for (size_t i = 0; i + 1 < info.file_count; i++)
		ck_assert_uint_gt(info.files[i].end, 0);
	tt_ring_info_free(&info);
	check_rows("r", rows);
	check_verified("r");
}

/* The hour comes when the file is full, or has room for one row: one roll, by whoever. */
START_TEST(a_roll_by_time_comes_with_that_of_a_full_file)
{
	struct tt_ring_writer *writer;
	uint64_t name;
	int64_t due;

	writer = timed_ring(&due);
	put_rows(writer, 0, _i);
	UNTIL(has_name(writer)); /* by the hour alone, when there is much room */
	tti_helper_pause(true);
	name = writer->next->name;
	fake_now = due;
	UNTIL(tti_attention(&writer->duty) & TTI_ATTEND_ROLL);
	put_rows(writer, _i, 1);
	ck_assert_uint_eq(tt_ring_writer_pos(writer).file, name);
	ck_assert_uint_eq(tt_ring_writer_pos(writer).row, 1);
	put_rows(writer, _i + 1, 2);
	ck_assert_uint_eq(tt_ring_writer_pos(writer).row, 3);
	go_on(writer);
	check_no_empty_file(_i + 3);
	ck_assert_uint_eq(files_there(), 2);
}
END_TEST

/* The same by chance: the helper claims the writer for the hour as rows fill the file. */
START_TEST(rolls_by_time_meet_full_files)
{
	struct tt_ring_writer *writer;
	int64_t due, rows = 0;

	writer = timed_ring(&due);
	for (int day = 0; day < 60; day++) {
		int64_t some = ROWS - 3 + (int64_t)(day % 4);

		fake_now = due - INT64_C(1000000);
		put_rows(writer, rows, (uint64_t)some);
		rows += some;
		if (day % 3 == 0)
			UNTIL(has_name(writer));
		fake_now = due;
		for (int i = 0; i < 4; i++) {
			usleep((useconds_t)(day * 7 % 300));
			put_rows(writer, rows++, 1);
		}
		due += INT64_C(86400000000000);
	}
	tt_ring_writer_close(writer);
	check_no_empty_file(rows);
}
END_TEST

/* ---- Close ---- */

START_TEST(a_close_comes_as_the_file_gets_its_name)
{
	create_ring("r", ROWS, 3);
	for (int64_t i = 0; i < 150; i++) {
		struct tt_ring_writer *writer =
			open_with("r", i % 2 ? TT_SYNC_NONE : 1, 250);

		put_rows(writer, i * (ROWS - 2), ROWS - 2);
		usleep((useconds_t)(i * 37 % 3000));
		ck_assert_int_eq(tt_ring_writer_close(writer), TT_OK);
		ck_assert_int_ne(access("r/.next", F_OK), 0);
	}
	check_no_empty_file(150 * (ROWS - 2));
	ck_assert_uint_eq(files_there(), files_told("r"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("while a file is named ahead");
	TCase *tc = tcase_create("while a file is named ahead");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tc, make_work_dir, drop_work_dir);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, what_a_child_does_leaves_the_named_file);
	tcase_add_test(tc, a_child_closes_a_reader_that_can_be_seen);
	tcase_add_test(tc, two_rings_of_a_process_have_a_named_file_each);
	tcase_add_loop_test(
		tc, a_second_writer_comes_before_and_after_the_death_of_the_first, 0, 2);
	tcase_add_loop_test(tc, a_file_of_one_row_is_named_before_the_next_row, 0, 2);
	tcase_add_test(tc, a_ring_of_one_file_grows_its_queue);
	tcase_add_loop_test(tc, a_batch_of_several_files_begins_in_the_named_one, 0, 2);
	tcase_add_loop_test(tc, a_roll_by_time_comes_with_that_of_a_full_file, ROWS - 4,
			    ROWS + 1);
	tcase_add_test(tc, rolls_by_time_meet_full_files);
	tcase_add_test(tc, a_close_comes_as_the_file_gets_its_name);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
