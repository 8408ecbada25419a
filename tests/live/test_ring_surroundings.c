/* SPDX-License-Identifier: Apache-2.0 */
/* A writer in a host that runs out of something, or whose clock is set: it goes on without
 * being opened again, and nothing is taken for damage. */
#include "lib/mp.h"
#include "lib/sanitizers.h"
#include "ring_help.h"
#include <sys/mman.h>
#include <sys/resource.h>
#include "live/ring_writer.h"

static int entries(void)
{
	/* a helper makes the next file ahead */
	FILE *out = popen("ls -A r | grep -vcx .next", "r");
	int count = 0;

	ck_assert_int_eq(fscanf(out, "%d", &count), 1);
	pclose(out);
	return count;
}

static void check_rows(int64_t rows)
{
	struct tt_ring_reader *reader = open_reader("r");
	uint64_t found = 1;
	int64_t next = 0;

	take_rows(reader, &next);
	ck_assert_int_eq(next, rows);
	tt_ring_reader_close(reader);
	OK(tt_ring_verify("r", NULL, NULL, &found, &err));
	ck_assert_uint_eq(found, 0);
}

static rlim_t limit(int resource, rlim_t value)
{
	struct rlimit old, now;

	ck_assert_int_eq(getrlimit(resource, &old), 0);
	now = old;
	now.rlim_cur = value;
	ck_assert_int_eq(setrlimit(resource, &now), 0);
	return old.rlim_cur;
}

/* Rows that are refused for want of something, and those behind once it is there again. */
static void check_writer(struct tt_ring_writer_opts opts, int resource, rlim_t little,
			 int code, const char *words)
{
	struct row rows[100] = { { 0 } };
	struct tt_ring_writer *writer;
	uint64_t done = 0;
	rlim_t old;
	int before, rc;

	for (int i = 0; i < 100; i++)
		rows[i].number = 10 + i;
	create_ring("r", 1000, 2);
	OK(tt_ring_writer_open(&writer, "r", &opts, &err));
	put_rows(writer, 0, 10);
	OK(tt_ring_roll(writer, &err));
	before = entries();
	old = limit(resource, little);
	OK(tt_ring_append(writer, rows, 10, &done, &err)); /* the newest file has room */
	rc = tt_ring_roll(writer, &err);
	limit(resource, old);
	if (rc != TT_OK || opts.no_helper) { /* else the helper was there before */
		ck_assert_int_eq(rc, code);
		ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
		ck_assert_int_eq(entries(), before); /* nothing half made */
	}
	put_rows(writer, 20, 30);
	OK(tt_ring_roll(writer, &err));
	put_rows(writer, 50, 10);
	tt_ring_writer_close(writer);
	check_rows(60);
}

static void check_goes_on(int resource, rlim_t little, int code, const char *words)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;

	check_writer(opts, resource, little, code, words);
	ck_assert_int_eq(system("rm -r r"), 0);
	opts.no_helper = true;
	check_writer(opts, resource, little, code, words);
}

START_TEST(a_limit_on_file_sizes_is_no_signal)
{
	check_goes_on(RLIMIT_FSIZE, 4096, -EFBIG, "ulimit -f");
}
END_TEST

START_TEST(a_roll_without_descriptors_is_tried_again)
{
	int fd = dup(0);

	close(fd); /* the first that is free */
	ck_assert_int_ge(fd, 0);
	check_goes_on(RLIMIT_NOFILE, 4, -EMFILE, "ulimit -n");
}
END_TEST

START_TEST(a_roll_without_address_space_is_tried_again)
{
	/* a sanitizer's shadow takes more than any limit leaves; an emulator has its own space */
	if (UNDER_ASAN || UNDER_TSAN || !mp_dontfork_works() ||
	    getenv("TT_NO_RLIMIT_AS")) {
		printf("# SKIP the address space cannot be limited here\n");
		return;
	}
	check_goes_on(RLIMIT_AS, 1 << 20, -ENOMEM, "ulimit -v");
}
END_TEST

/* A file that its writer did not publish cannot be looked at: it stays what it is. */
START_TEST(want_is_not_damage)
{
	struct tt_ring_writer *writer;
	struct tt_ring_info info;
	char command[256];
	rlim_t old;
	int before, rc = 0;

	create_ring("r", 10, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 35);
	tt_ring_writer_close(writer);
	info = ring_info("r");
	snprintf(command, sizeof(command), "cp r/%s r/%" PRIu64 ".npy",
		 info.files[info.file_count - 1].file_name,
		 info.files[info.file_count - 1].name + 5);
	tt_ring_info_free(&info);
	ck_assert_int_eq(system(command), 0);
	before = entries();
	for (int room = 3; room < 24; room++) {
		old = limit(RLIMIT_NOFILE, (rlim_t)room);
		rc = tt_ring_writer_open(&writer, "r", NULL, &err);
		limit(RLIMIT_NOFILE, old);
		if (rc == TT_OK) {
			tt_ring_writer_close(writer);
			break;
		}
		ck_assert_int_eq(rc, -EMFILE);
		ck_assert_ptr_nonnull(strstr(err.text, "ulimit -n"));
		ck_assert_int_eq(entries(), before);
	}
	ck_assert_int_eq(rc, TT_OK);
	ck_assert_int_eq(entries(), before);
	info = ring_info("r");
	ck_assert_uint_eq(info.rows, 40); /* the copy has rows, so it was entered again */
	tt_ring_info_free(&info);
}
END_TEST

/* ---- Clocks ---- */

/* Nobody but the test moves it: without a helper. */
static struct tt_ring_writer *open_clocked(void)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer = NULL;

	opts.no_helper = true;
	OK(tt_ring_writer_open(&writer, "r", &opts, &err));
	tti_ring_writer_set_clock(writer, fake_clock);
	return writer;
}

#define DAY INT64_C(86400000000000)

START_TEST(names_grow_whatever_the_clock_does)
{
	static const int64_t steps[] = { 0,	    -DAY, 1,	    3 * DAY, -300 * DAY,
					 900 * DAY, 5,	  -2 * DAY, 1000,    -1 };
	struct tt_ring_writer *writer;
	struct tt_ring_info info;
	int64_t days[64] = { 0 };
	uint64_t last = 0;
	int rows = 0;

	create_ring("r", 4, 2);
	writer = open_clocked();
	fake_now = tti_clock_realtime_ns();
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		fake_now += steps[i];
		for (int k = 0; k < 2; k++) {
			uint64_t name;

			put_rows(writer, rows, 4);
			name = tt_ring_writer_pos(writer).file;
			ck_assert_uint_gt(name, last);
			last = name;
			days[rows / 4] = fake_now;
			rows += 4;
		}
	}
	tt_ring_writer_close(writer);
	info = ring_info("r");
	ck_assert_uint_eq(info.file_count, rows / 4);
	for (size_t i = 0; i < info.file_count; i++)
		ck_assert_int_eq(info.files[i].first_row_ns, days[i]);
	tt_ring_info_free(&info);
	ck_assert_uint_eq(counters("r").clock_steps, 4); /* each once */
	check_rows(rows);
}
END_TEST

START_TEST(a_name_of_the_year_2554_is_the_last)
{
	struct tt_ring_writer *writer;
	struct row row = { 0 };

	create_ring("r", 4, 2);
	writer = open_clocked();
	fake_now = INT64_MAX; /* 2262: the clock says no more, names may */
	for (int i = 0; i < 6; i++)
		put_rows(writer, 4 * i, 4);
	ck_assert_uint_gt(tt_ring_writer_pos(writer).file, (uint64_t)INT64_MAX);
	tti_writer_file(writer)->name = UINT64_MAX; /* as if it were of 2554 */
	ck_assert_int_eq(tt_ring_append(writer, &row, 1, NULL, &err), TT_E_RANGE);
	ck_assert_ptr_nonnull(strstr(err.text, "no name is left"));
	tt_ring_writer_close(writer);
	check_rows(24);
}
END_TEST

START_TEST(timed_rolls_bear_a_clock_that_is_set)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_ring_writer *writer;
	struct tt_pos pos;

	opts.capacity = 1000;
	opts.keep = 3;
	opts.roll_at_s = 3600;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	writer = open_clocked();
	fake_now = tti_clock_realtime_ns() / DAY * DAY + DAY / 2; /* noon */
	put_rows(writer, 0, 1);
	pos = tt_ring_writer_pos(writer);
	fake_now -= 400 * DAY; /* nothing is due: the file goes on */
	put_rows(writer, 1, 1);
	OK(tt_ring_writer_idle(writer, &err));
	ck_assert_uint_eq(tt_ring_writer_pos(writer).file, pos.file);
	fake_now += 500 * DAY; /* long past: one roll, not a hundred */
	put_rows(writer, 2, 1);
	ck_assert_uint_gt(tt_ring_writer_pos(writer).file, pos.file);
	pos = tt_ring_writer_pos(writer);
	ck_assert_uint_eq(pos.row, 1);
	for (int i = 3; i < 10; i++)
		put_rows(writer, i, 1);
	ck_assert_uint_eq(tt_ring_writer_pos(writer).file, pos.file);
	tt_ring_writer_close(writer);
	check_rows(10);
}
END_TEST

/* ---- Others ---- */

START_TEST(a_second_writer_is_told_who_writes)
{
	struct tt_ring_writer *first, *second;
	char pid[32];

	create_ring("r", 4, 2);
	first = open_writer("r");
	snprintf(pid, sizeof(pid), "process %d", (int)getpid());
	ck_assert_int_eq(tt_ring_writer_open(&second, "r", NULL, &err), TT_E_BUSY);
	ck_assert_ptr_nonnull(strstr(err.text, pid));
	tt_ring_writer_close(first);
	tt_ring_writer_close(open_writer("r"));
}
END_TEST

enum { MOMENTS = 20 };
static struct mp_gate *held, *asked;

/* Has the lock for a moment, as who seals a ring without a writer. */
static int hold_for_moments(void *arg)
{
	(void)arg;
	for (uint32_t i = 1; i <= MOMENTS; i++) {
		struct tt_ring_writer *writer = NULL;

		while (tt_ring_writer_open(&writer, "r", NULL, NULL) == TT_E_BUSY)
			;
		if (!writer)
			return 1;
		mp_gate_add(held);
		if (!mp_gate_wait(asked, 2 * i - 1, 20))
			return 2;
		usleep(2000);
		tt_ring_writer_close(writer);
		if (!mp_gate_wait(asked, 2 * i, 20))
			return 3;
	}
	return 0;
}

/* Most of them: the machine may be busy for longer than anybody waits. */
START_TEST(a_writer_waits_for_one_that_is_leaving)
{
	unsigned opened = 0;
	pid_t pid;

	create_ring("r", 4, 2);
	held = mp_gate_new();
	asked = mp_gate_new();
	pid = mp_spawn(hold_for_moments, NULL);
	for (uint32_t i = 1; i <= MOMENTS; i++) {
		struct tt_ring_writer *writer;

		ck_assert(mp_gate_wait(held, i, 20));
		mp_gate_add(asked);
		if (tt_ring_writer_open(&writer, "r", NULL, &err) == TT_OK) {
			opened++;
			tt_ring_writer_close(writer);
		}
		mp_gate_add(asked);
	}
	ck_assert_int_eq(mp_wait(pid, 20), 0);
	ck_assert_uint_gt(opened, MOMENTS / 2);
}
END_TEST

START_TEST(a_writer_whose_directory_was_remade_writes_where_it_was)
{
	struct tt_ring_writer *writer;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 6);
	ck_assert_int_eq(rename("r", "old"), 0);
	create_ring("r", 4, 2);
	put_rows(writer, 6, 10);
	tt_ring_writer_close(writer);
	check_rows(0);
	ck_assert_int_eq(system("rm -r r && mv old r"), 0);
	check_rows(16);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_limit_on_file_sizes_is_no_signal,
		a_roll_without_descriptors_is_tried_again,
		a_roll_without_address_space_is_tried_again,
		want_is_not_damage,
		names_grow_whatever_the_clock_does,
		a_name_of_the_year_2554_is_the_last,
		timed_rolls_bear_a_clock_that_is_set,
		a_second_writer_is_told_who_writes,
		a_writer_waits_for_one_that_is_leaving,
		a_writer_whose_directory_was_remade_writes_where_it_was,
	};

	return ring_suite("surroundings", tests, TTI_LEN(tests));
}
