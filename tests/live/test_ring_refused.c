/* SPDX-License-Identifier: Apache-2.0 */
/* The file system makes the next file of a ring but refuses it its name: a full directory, a
 * quota, an error of the disk, a mount that became read-only.  The feed is told what, stands at
 * the row that has no room, and goes on with it when the cause is gone. */
#include <sys/syscall.h>

#include "lib/until.h"
#include "live/file_helpers.h"
#include "name_help.h"
#include "ticktail/status.h"

/* ---- Names that are refused, in the place of the system's calls ---- */

static _Atomic(int) refused_with; /* errno; 0: not at all */
static _Atomic(unsigned) refusals;

/* Of a ring or a file of rows: no temporary name is refused. */
static bool is_refused(const char *to)
{
	size_t len = strlen(to);
	int error = atomic_load(&refused_with);

	if (error == 0 || *to == '.' ||
	    (strcmp(to, "r") != 0 && (len < 5 || strcmp(to + len - 4, ".npy") != 0)))
		return false;
	atomic_fetch_add(&refusals, 1);
	errno = error;
	return true;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to,
	      unsigned int flags)
{
	if (is_refused(to))
		return -1;
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return renameat2(from_dir, from, to_dir, to, 0);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	if (is_refused(to))
		return -1;
	return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

/* ---- What a writer may be ---- */

static const struct {
	int error;
	const char *tag, *what, *remedy;
} causes[] = {
	{ ENOSPC, "DISK_FULL", "No space left", "prune" },
	{ EDQUOT, "DISK_FULL", "quota", "remove files" },
	{ EIO, "IO_ERROR", "Input/output error", "kernel's log" },
	{ EROFS, "READ_ONLY", "Read-only file system", "mount" },
	{ EACCES, "PERMISSION", "Permission denied", "mode" },
};

static const struct {
	bool alone;
	int64_t sync_ms, wake_us;
} writers[] = {
	{ false, TT_SYNC_NONE, 250 }, { false, 20, 250 },
	{ false, TT_SYNC_EACH, 250 }, { true, TT_SYNC_NONE, TT_WAKE_NEVER },
	{ true, 20, TT_WAKE_EACH },
};

static struct tt_ring_writer *open_kind(int kind)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer;

	opts.no_helper = writers[kind].alone;
	opts.sync_ms = writers[kind].sync_ms;
	opts.wake_us = writers[kind].wake_us;
	OK(tt_ring_writer_open(&writer, "r", &opts, &err));
	return writer;
}

static void check_told(const char *text, int cause)
{
	ck_assert_msg(text[0] == 'r' && (text[1] == '/' || text[1] == ':'), "no path: %s",
		      text);
	ck_assert_msg(strstr(text, causes[cause].what), "no reason: %s", text);
	ck_assert_msg(strstr(text, causes[cause].remedy), "not what to do: %s", text);
}

static void check_status(uint64_t errors, int cause, int64_t rows, uint64_t since)
{
	struct tt_ring_status status;

	OK(tt_ring_status("r", &status, &err));
	ck_assert_uint_eq(status.errors, errors);
	ck_assert_int_eq(status.error_code, -causes[cause].error);
	ck_assert_str_eq(status.error_tag, causes[cause].tag);
	ck_assert_ptr_nonnull(strstr(status.error_text, causes[cause].what));
	ck_assert_uint_eq(status.rows, (uint64_t)rows);
	ck_assert_uint_eq(status.rows_since_error, since);
	ck_assert_int_gt(status.error_ns, 0);
	tt_ring_status_free(&status);
}

/* ---- The feed ---- */

/* A full file, and no name for the next one: each append is refused, and counted once. */
static void stand(struct tt_ring_writer *writer, int cause, int64_t rows)
{
	const struct row row = { rows, 0 };
	uint64_t errors = counters("r").errors, done;

	for (int i = 1; i <= 3; i++) {
		done = 77;
		ck_assert_int_eq(tt_ring_append(writer, &row, 1, &done, &err),
				 -causes[cause].error);
		ck_assert_uint_eq(done, 0);
		check_told(err.text, cause);
		check_status(errors + (uint64_t)i, cause, rows, 0);
		ck_assert_uint_eq(files_told("r"), 1);
	}
	check_rows("r", rows);
	check_verified("r");
}

static off_t size_of(const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_size;
}

/* However often it is tried, and whatever was made for it. */
static void leave_nothing(struct tt_ring_writer *writer)
{
	const struct row row = { ROWS, 0 };
	off_t bytes = size_of("r/.ticktail");

	for (int i = writer->sync_ms == TT_SYNC_NONE ? 0 : 190; i < 200; i++) {
		ck_assert_int_lt(tt_ring_append(writer, &row, 1, NULL, &err), 0);
		if (writer->no_helper) /* who may be making the next one */
			ck_assert_int_ne(access("r/.next", F_OK), 0);
	}
	ck_assert_int_eq(size_of("r/.ticktail"), bytes);
	ck_assert_uint_eq(files_there(), 1);
}

static void refuse_names(int cause, int kind)
{
	struct tt_ring_writer *writer;
	struct row *place;
	uint64_t got;

	create_ring("r", ROWS, 3);
	writer = open_kind(kind);
	atomic_store(&refused_with, causes[cause].error);
	for (int64_t i = 0; i < ROWS; i++)
		put_rows(writer, i, 1);
	stand(writer, cause, ROWS);
	leave_nothing(writer);
	ck_assert_ptr_null(tt_ring_reserve(writer, 1, &got, &err));
	check_told(err.text, cause);
	ck_assert_int_eq(tt_ring_roll(writer, &err), -causes[cause].error);
	check_told(err.text, cause);
	ck_assert_uint_gt(atomic_load(&refusals), 0);

	atomic_store(&refused_with, 0);
	place = tt_ring_reserve(writer, 1, &got, &err);
	ck_assert_msg(place, "%s", err.text);
	*place = (struct row){ ROWS, 0 };
	OK(tt_ring_publish(writer, 1));
	UNTIL(counters("r").rows == ROWS + 1);
	check_status(counters("r").errors, cause, ROWS + 1, 1);
	put_rows(writer, ROWS + 1, 2 * ROWS);
	OK(tt_ring_writer_close(writer));
	check_rows("r", 3 * ROWS + 1);
	check_verified("r");
	ck_assert_uint_eq(files_there(), files_told("r"));
	ck_assert_int_ne(access("r/.next", F_OK), 0);
}

START_TEST(a_name_that_is_refused_is_told_and_loses_nothing)
{
	for (int kind = 0; kind < (int)TTI_LEN(writers); kind++) {
		refuse_names(_i, kind);
		ck_assert_int_eq(system("rm -rf r"), 0);
	}
}
END_TEST

/* A batch: what found room is in, and counted. */
START_TEST(rows_of_a_batch_before_the_refusal_are_in)
{
	struct tt_ring_writer *writer;
	struct row rows[3 * ROWS];
	uint64_t done = 0;

	for (int64_t i = 0; i < 3 * ROWS; i++)
		rows[i] = (struct row){ i, 0 };
	create_ring("r", ROWS, 3);
	writer = open_kind(_i);
	put_rows(writer, 0, 5);
	atomic_store(&refused_with, ENOSPC);
	ck_assert_int_eq(tt_ring_append(writer, rows + 5, 3 * ROWS - 5, &done, &err),
			 -ENOSPC);
	ck_assert_uint_eq(done, ROWS - 5);
	check_rows("r", ROWS);
	atomic_store(&refused_with, 0);
	OK(tt_ring_append(writer, rows + 5 + done, 3 * ROWS - 5 - done, &done, &err));
	ck_assert_uint_eq(done, 2 * ROWS);
	OK(tt_ring_writer_close(writer));
	ck_assert_uint_eq(counters("r").rows, 3 * ROWS);
	check_rows("r", 3 * ROWS);
	check_verified("r");
}
END_TEST

/* The helper could not name the file ahead: nothing is wrong before the roll has to. */
START_TEST(a_helper_that_is_refused_says_nothing_while_there_is_room)
{
	struct tt_ring_writer *writer;

	create_ring("r", ROWS, 3);
	writer = open_kind(0);
	atomic_store(&refusals, 0);
	atomic_store(&refused_with, ENOSPC);
	put_rows(writer, 0, ROWS - 1);
	UNTIL(atomic_load(&refusals) > 0);
	ck_assert_uint_eq(counters("r").errors, 0);
	atomic_store(&refused_with, 0);
	put_rows(writer, ROWS - 1, 3);
	ck_assert_uint_eq(counters("r").errors, 0);
	OK(tt_ring_writer_close(writer));
	check_rows("r", ROWS + 2);
}
END_TEST

/* Who asks a writer for a seal waits until it can. */
START_TEST(a_seal_request_waits_for_the_name)
{
	struct tt_ring_writer *writer;

	create_ring("r", ROWS, 3);
	writer = open_kind(0);
	put_rows(writer, 0, 3);
	atomic_store(&refused_with, ENOSPC);
	ck_assert_int_eq(tt_ring_seal("r", 50000000, NULL, &err), TT_E_TIMEOUT);
	ck_assert_ptr_nonnull(strstr(err.text, "r: "));
	UNTIL(counters("r").errors > 0); /* a pulse that slept looks after the timeout */
	check_status(counters("r").errors, 0, 3, 0);
	put_rows(writer, 3, 1); /* there is room */
	atomic_store(&refused_with, 0);
	/* the first request may be answered before this one is made */
	OK(tt_ring_seal("r", DEADLINE_NS, NULL, &err));
	ck_assert_uint_eq(files_told("r"), 2);
	OK(tt_ring_writer_close(writer));
	check_rows("r", 4);
	check_verified("r");
}
END_TEST

/* Nobody writes: the one who seals rolls, and is told. */
START_TEST(a_seal_without_a_writer_is_refused_with_the_cause)
{
	struct tt_ring_writer *writer;

	create_ring("r", ROWS, 3);
	writer = open_kind(3);
	put_rows(writer, 0, 3);
	OK(tt_ring_writer_close(writer));
	atomic_store(&refused_with, causes[_i].error);
	ck_assert_int_eq(tt_ring_seal("r", DEADLINE_NS, NULL, &err), -causes[_i].error);
	check_told(err.text, _i);
	check_status(1, _i, 3, 0);
	ck_assert_uint_eq(files_there(), 1);
	atomic_store(&refused_with, 0);
	OK(tt_ring_seal("r", DEADLINE_NS, NULL, &err));
	check_rows("r", 3);
	check_verified("r");
}
END_TEST

/* Nothing is left of it. */
START_TEST(a_ring_whose_name_is_refused_is_not_made)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	const int entries = count_entries(".");

	opts.capacity = ROWS;
	opts.keep = 2;
	atomic_store(&refused_with, causes[_i].error);
	ck_assert_int_eq(tt_ring_create("r", dtype, &opts, &err), -causes[_i].error);
	check_told(err.text, _i);
	ck_assert_int_eq(count_entries("."), entries);
	atomic_store(&refused_with, 0);
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	check_verified("r");
}
END_TEST

static void add_tests(TCase *tcase)
{
	tcase_add_loop_test(tcase, a_name_that_is_refused_is_told_and_loses_nothing, 0,
			    TTI_LEN(causes));
	tcase_add_loop_test(tcase, rows_of_a_batch_before_the_refusal_are_in, 0,
			    TTI_LEN(writers));
	tcase_add_test(tcase, a_helper_that_is_refused_says_nothing_while_there_is_room);
	tcase_add_test(tcase, a_seal_request_waits_for_the_name);
	tcase_add_loop_test(tcase, a_seal_without_a_writer_is_refused_with_the_cause, 0,
			    TTI_LEN(causes));
	tcase_add_loop_test(tcase, a_ring_whose_name_is_refused_is_not_made, 0,
			    TTI_LEN(causes));
}

int main(void)
{
	return ring_suite_with("refused names", add_tests);
}
