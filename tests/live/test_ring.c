/* SPDX-License-Identifier: Apache-2.0 */
/* Rings in one process: creation, appending across files, the queue, positions, readers, and
 * the faults of other writers of this format that are not repeated here. */
#include "lib/sanitizers.h"
#include "ring_help.h"

/* ---- Creating ---- */

START_TEST(new_ring_is_whole_and_empty)
{
	struct tt_ring_info info;
	struct stat st;

	create_ring("r", 4, 3);
	info = ring_info("r");
	ck_assert_uint_eq(info.keep, 3);
	ck_assert_uint_eq(info.capacity, 4);
	ck_assert_uint_eq(info.rows, 0);
	ck_assert_uint_eq(info.row_bytes, 16);
	ck_assert_uint_eq(info.file_count, 1);
	ck_assert(!info.files[0].sealed && info.files[0].queued);
	ck_assert(!info.foreign);
	ck_assert_int_eq(info.writer_pid, 0);
	ck_assert_int_eq(info.opts.sync_ms, TT_SYNC_NONE);
	tt_ring_info_free(&info);
	ck_assert_int_eq(stat("r/.writer", &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(stat("r/.lock", &st), 0);
	ck_assert_int_eq(st.st_size, 24);
}
END_TEST

START_TEST(capacity_is_rounded_unless_exact)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_ring_info info;

	opts.capacity = 5;
	opts.keep = 2;
	OK(tt_ring_create("r/", dtype, &opts, &err));
	info = ring_info("r");
	ck_assert_uint_eq(info.capacity, 8);
	ck_assert_uint_eq(info.files[0].capacity, 8);
	tt_ring_info_free(&info);
	tt_dtype_unref(dtype);
}
END_TEST

START_TEST(create_refuses_what_no_ring_can_be)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();

	opts.capacity = 4;
	opts.keep = 1;
	ck_assert_int_eq(tt_ring_create("r", dtype, &opts, &err), TT_E_RANGE);
	ck_assert_str_eq(err.text, "r: keep 1: from 2 to 1048576 files");
	opts.keep = 2;
	opts.capacity = 0;
	ck_assert_int_eq(tt_ring_create("r", dtype, &opts, &err), TT_E_RANGE);
	opts.capacity = UINT64_MAX / 8;
	ck_assert_int_lt(tt_ring_create("r", dtype, &opts, &err), 0);
	opts.capacity = 1000;
	opts.max_bytes = 40000;
	ck_assert_int_eq(tt_ring_create("r", dtype, &opts, &err), TT_E_RANGE);
	ck_assert_int_eq(access("r", F_OK), -1);
	opts.max_bytes = 0;
	OK(tt_ring_create("r", dtype, &opts, &err));
	ck_assert_int_eq(tt_ring_create("r", dtype, &opts, &err), -EEXIST);
	ck_assert_int_eq(tt_ring_create("none/r", dtype, &opts, &err), -ENOENT);
	ck_assert_int_eq(mkdir("empty", 0755), 0);
	ck_assert_int_eq(tt_ring_create("empty", dtype, &opts, &err), -EEXIST);
	ck_assert_int_eq(system("test $(ls -A | wc -l) = 2"), 0);
	tt_dtype_unref(dtype);
}
END_TEST

START_TEST(settings_are_replaced_and_keep_only_rises)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_ring_info info;
	uint8_t id[16];

	create_ring("r", 4, 3);
	info = ring_info("r");
	memcpy(id, info.ring_id, 16);
	tt_ring_info_free(&info);
	opts.keep = 2;
	ck_assert_int_eq(tt_ring_set("r", &opts, &err), TT_E_RANGE);
	opts.keep = 5;
	opts.capacity = 7;
	opts.exact = true;
	opts.sync_ms = 10;
	opts.roll_at_s = 3600;
	opts.batches_whole = true;
	OK(tt_ring_set("r", &opts, &err));
	info = ring_info("r");
	ck_assert_uint_eq(info.keep, 5);
	ck_assert_uint_eq(info.opts.keep, 5);
	ck_assert_uint_eq(info.opts.capacity, 7);
	ck_assert_int_eq(info.opts.sync_ms, 10);
	ck_assert_int_eq(info.opts.roll_at_s, 3600);
	ck_assert(info.opts.batches_whole);
	ck_assert_mem_eq(id, info.ring_id, 16);
	tt_ring_info_free(&info);
	writer = open_writer("r");
	ck_assert_int_eq(tt_ring_set("r", &opts, &err), TT_E_BUSY);
	tt_ring_writer_close(writer);
}
END_TEST

/* ---- Appending and reading ---- */

START_TEST(rows_come_back_in_order_across_files)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_ring_info info;
	int64_t next = 0, put = 0;

	create_ring("r", 4, 3);
	reader = open_reader("r");
	writer = open_writer("r");
	for (uint64_t batch = 0; batch < 14; batch++) {
		put_rows(writer, put, batch);
		put += (int64_t)batch;
		take_rows(reader, &next);
		ck_assert_int_eq(next, put);
	}
	info = ring_info("r");
	ck_assert_uint_eq(info.rows, (uint64_t)put);
	ck_assert_int_eq(info.writer_pid, getpid());
	for (size_t i = 0; i < info.file_count; i++) {
		ck_assert_int_eq(info.files[i].sealed, i + 1 < info.file_count);
		ck_assert_int_eq(info.files[i].queued, i + 3 >= info.file_count);
	}
	tt_ring_info_free(&info);
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 0);
	tt_ring_writer_close(writer);
	tt_ring_reader_close(reader);
}
END_TEST

START_TEST(writer_goes_on_where_the_last_one_stopped)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_pos pos;
	int64_t next = 0;

	create_ring("r", 4, 2);
	for (int64_t i = 0; i < 30; i += 3) {
		writer = open_writer("r");
		ck_assert_str_eq(tt_ring_writer_repaired(writer), "");
		put_rows(writer, i, 3);
		pos = tt_ring_writer_pos(writer);
		tt_ring_writer_close(writer);
	}
	ck_assert_uint_eq(pos.row, 2);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 30);
	ck_assert_uint_eq(tt_ring_tell(reader).file, pos.file);
	ck_assert_uint_eq(tt_ring_tell(reader).row, pos.row);
	tt_ring_reader_close(reader);
}
END_TEST

START_TEST(reserved_rows_are_seen_when_published)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	uint64_t got;
	struct row *rows;
	int64_t next = 0;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	reader = open_reader("r");
	rows = tt_ring_reserve(writer, 3, &got, &err);
	ck_assert_uint_eq(got, 3);
	for (int64_t i = 0; i < 3; i++)
		rows[i] = (struct row){ i, 0 };
	take_rows(reader, &next);
	ck_assert_int_eq(next, 0);
	ck_assert_int_eq(tt_ring_publish(writer, 4), TT_E_MISUSE);
	ck_assert_int_eq(tt_ring_publish(writer, 2), TT_OK);
	take_rows(reader, &next);
	ck_assert_int_eq(next, 2);
	rows = tt_ring_reserve(writer, 3, &got, &err);
	ck_assert_uint_eq(got, 2);
	rows[0] = (struct row){ 2, 0 };
	rows[1] = (struct row){ 3, 0 };
	ck_assert_int_eq(tt_ring_publish(writer, 2), TT_OK);
	ck_assert_int_eq(tt_ring_publish(writer, 1), TT_E_MISUSE);
	rows = tt_ring_reserve(writer, 1, &got, &err); /* rolls */
	ck_assert_uint_eq(got, 1);
	rows[0] = (struct row){ 4, 0 };
	ck_assert_int_eq(tt_ring_publish(writer, 1), TT_OK);
	take_rows(reader, &next);
	ck_assert_int_eq(next, 5);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(prefetch_gives_rows_read_before)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_view view;
	struct tt_pos pos;

	create_ring("r", 8, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 12);
	reader = open_reader("r");
	ck_assert_int_eq(tt_ring_read(reader, 3, 5, &view, &pos, &err), 1);
	ck_assert_uint_eq(view.count, 3);
	ck_assert_int_eq(tt_ring_read(reader, 2, 2, &view, &pos, &err), 1);
	ck_assert_uint_eq(view.count, 4);
	ck_assert_uint_eq(pos.row, 1);
	ck_assert_int_eq(((const struct row *)view.rows)[0].number, 1);
	ck_assert_int_eq(tt_ring_read(reader, 100, 0, &view, &pos, &err), 1);
	ck_assert_uint_eq(view.count, 3); /* a read never spans two files */
	ck_assert_int_eq(tt_ring_read(reader, 100, 5, &view, &pos, &err), 1);
	ck_assert_uint_eq(view.count, 4);
	ck_assert_uint_eq(pos.row, 0);
	ck_assert_int_eq(tt_ring_read(reader, 1, 3, &view, &pos, &err), 0);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

static void check_looks(struct tt_ring_reader *reader, uint64_t count, bool tail,
			int64_t first, uint64_t rows, size_t files)
{
	struct tt_view *views;
	size_t n;
	uint64_t seen = 0;

	OK(tail ? tt_ring_tail(reader, count, &views, &n, &err)
		: tt_ring_head(reader, count, &views, &n, &err));
	ck_assert_uint_eq(n, files);
	for (size_t i = 0; i < n; i++)
		for (uint64_t k = 0; k < views[i].count; k++)
			ck_assert_int_eq(((const struct row *)views[i].rows)[k].number,
					 first + (int64_t)seen++);
	ck_assert_uint_eq(seen, rows);
	free(views);
}

START_TEST(tail_and_head_give_a_view_a_file)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	reader = open_reader("r");
	check_looks(reader, 10, true, 0, 0, 0);
	put_rows(writer, 0, 10);
	check_looks(reader, 3, true, 7, 3, 2);
	check_looks(reader, 2, true, 8, 2, 1);
	check_looks(reader, 100, true, 0, 10, 3);
	check_looks(reader, 0, true, 0, 0, 0);
	check_looks(reader, 5, false, 0, 5, 2);
	check_looks(reader, 100, false, 0, 10, 3);
	OK(tt_ring_roll(writer, &err)); /* an empty newest file */
	check_looks(reader, 3, true, 7, 3, 2);
	check_looks(reader, UINT64_MAX, true, 0, 10, 3);
	check_looks(reader, UINT64_MAX, false, 0, 10, 3);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(positions_survive_rolls)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_pos pos, gone;
	int64_t next;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 6);
	reader = open_reader("r");
	OK(tt_ring_seek_tail(reader, 3, &err));
	next = 3;
	pos = tt_ring_tell(reader);
	take_rows(reader, &next);
	put_rows(writer, 6, 30);
	take_rows(reader, &next);
	ck_assert_int_eq(next, 36);
	OK(tt_ring_seek(reader, pos, &err)); /* left the queue, is still there */
	next = 3;
	take_rows(reader, &next);
	ck_assert_int_eq(next, 36);
	OK(tt_ring_seek_last(reader, &err));
	ck_assert_int_eq(tt_ring_wait(reader, TT_WAIT_SLEEP, 0, &err), 0);
	OK(tt_ring_seek_first(reader, &err));
	next = 0;
	take_rows(reader, &next);
	gone = pos;
	gone.row = 5;
	ck_assert_int_eq(tt_ring_seek(reader, gone, &err), TT_E_RANGE);
	gone = tt_ring_writer_pos(writer);
	gone.file++;
	ck_assert_int_eq(tt_ring_seek(reader, gone, &err), TT_E_RANGE);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

static void unlink_file(const struct tt_ring_info *info, size_t i)
{
	char path[64];

	snprintf(path, sizeof(path), "r/%s", info->files[i].file_name);
	ck_assert_int_eq(unlink(path), 0);
}

START_TEST(lost_rows_are_counted_exactly)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader, *stored;
	struct tt_ring_info info;
	struct tt_view view;
	struct tt_pos pos;
	int64_t next = 0;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 3);
	reader = open_reader("r");
	take_rows(reader, &next);
	pos = tt_ring_tell(reader);
	put_rows(writer, 3, 27); /* 8 files */
	info = ring_info("r");
	ck_assert_uint_eq(info.file_count, 8);
	for (size_t i = 0; i < 4; i++)
		unlink_file(&info, i);
	tt_ring_info_free(&info);
	/* its file is gone and still mapped: row 3 comes, rows 4 to 15 do not */
	ck_assert_int_eq(tt_ring_read(reader, 9, 0, &view, NULL, &err), 1);
	ck_assert_uint_eq(view.count, 1);
	ck_assert_int_eq(((const struct row *)view.rows)->number, 3);
	next = 16;
	take_rows(reader, &next);
	ck_assert_int_eq(next, 30);
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 12);
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 0);
	tt_ring_reader_close(reader);
	/* a reader that comes back with its stored position never had the file mapped */
	stored = open_reader("r");
	OK(tt_ring_seek(stored, pos, &err));
	next = 16;
	take_rows(stored, &next);
	ck_assert_int_eq(next, 30);
	ck_assert_uint_eq(tt_ring_reader_lost(stored), 13);
	tt_ring_reader_close(stored);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(queued_only_readers_skip_with_a_count)
{
	struct tt_ring_reader_opts opts = TT_RING_READER_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	opts.queued_only = true;
	put_rows(writer, 0, 4);
	OK(tt_ring_reader_open(&reader, "r", &opts, &err));
	take_rows(reader, &next);
	put_rows(writer, 4, 16);
	next = 12;
	take_rows(reader, &next);
	ck_assert_int_eq(next, 20);
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 8);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(sealed_only_readers_leave_the_newest_file)
{
	struct tt_ring_reader_opts opts = TT_RING_READER_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	opts.seal_only = true;
	put_rows(writer, 0, 6);
	OK(tt_ring_reader_open(&reader, "r", &opts, &err));
	take_rows(reader, &next);
	ck_assert_int_eq(next, 4);
	OK(tt_ring_roll(writer, &err));
	take_rows(reader, &next);
	ck_assert_int_eq(next, 6);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(views_stay_until_two_files_later)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_view first, view;

	create_ring("r", 2, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 6);
	reader = open_reader("r");
	ck_assert_int_eq(tt_ring_read(reader, 9, 0, &first, NULL, &err), 1);
	ck_assert_int_eq(tt_ring_read(reader, 9, 0, &view, NULL, &err), 1);
	ck_assert_int_eq(tt_ring_read(reader, 9, 0, &view, NULL, &err), 1);
	ck_assert_int_eq(((const struct row *)first.rows)[1].number, 1);
	ck_assert_int_eq(((const struct row *)view.rows)[1].number, 5);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

/* ---- Days, times, limits ---- */

static int64_t fake_now;
static int64_t fake_clock(void)
{
	return fake_now;
}

#define DAY INT64_C(86400000000000)

START_TEST(roll_at_a_time_of_day)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_ring_writer *writer;
	struct tt_ring_info info;

	opts.capacity = 100;
	opts.keep = 4;
	opts.roll_at_s = 22 * 3600;
	opts.sync_ms = TT_SYNC_NONE;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	writer = open_alone("r");
	tti_ring_writer_set_clock(writer, fake_clock);
	fake_now = 30000 * DAY + 21 * 3600 * INT64_C(1000000000);
	OK(tt_ring_writer_idle(writer, &err)); /* empty: nothing to roll */
	put_rows(writer, 0, 1);
	fake_now += 3599 * INT64_C(1000000000);
	put_rows(writer, 1, 1);
	fake_now += INT64_C(1000000000);
	put_rows(writer, 2, 1); /* the first append past the time */
	fake_now += DAY;
	OK(tt_ring_writer_idle(writer, &err)); /* or when idle */
	OK(tt_ring_writer_idle(writer, &err));
	put_rows(writer, 3, 1);
	info = ring_info("r");
	ck_assert_uint_eq(info.file_count, 3);
	ck_assert_uint_eq(info.files[0].end, 2);
	ck_assert_uint_eq(info.files[1].end, 1);
	ck_assert_int_eq(info.files[0].first_row_ns,
			 30000 * DAY + 21 * 3600 * INT64_C(1000000000));
	ck_assert_int_eq(info.files[2].first_row_ns, fake_now);
	tt_ring_info_free(&info);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(batches_stay_whole_when_asked)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_ring_writer *writer;
	struct tt_ring_info info;

	opts.capacity = 4;
	opts.keep = 4;
	opts.batches_whole = true;
	opts.sync_ms = TT_SYNC_NONE;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	writer = open_writer("r");
	for (int64_t i = 0; i < 9; i += 3)
		put_rows(writer, i, 3);
	put_rows(writer, 9, 6); /* more than a file holds: split */
	info = ring_info("r");
	ck_assert_uint_eq(info.files[0].end, 3);
	ck_assert_uint_eq(info.files[1].end, 3);
	ck_assert_uint_eq(info.rows, 15);
	tt_ring_info_free(&info);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(limit_removes_old_files_outside_the_queue_only)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_ring_writer *writer;
	struct tt_ring_info info;
	uint64_t bytes = 0;

	opts.capacity = 1024;
	opts.keep = 2;
	opts.max_bytes = 100000;
	opts.sync_ms = TT_SYNC_NONE;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	writer = open_writer("r");
	for (int64_t i = 0; i < 20; i++)
		put_rows(writer, i * 1024, 1024);
	info = ring_info("r");
	for (size_t i = 0; i < info.file_count; i++) {
		char path[64];
		struct stat st;

		snprintf(path, sizeof(path), "r/%s", info.files[i].file_name);
		ck_assert_int_eq(stat(path, &st), 0);
		bytes += (uint64_t)st.st_blocks * 512;
	}
	ck_assert_uint_le(bytes, 100000);
	ck_assert_uint_ge(info.file_count, 3);
	ck_assert(info.files[info.file_count - 2].queued);
	tt_ring_info_free(&info);
	tt_ring_writer_close(writer);
}
END_TEST

/* ---- Faults of other writers of this format ---- */

START_TEST(fault_1_names_rise_though_the_clock_steps_back)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_ring_info info;
	int64_t next = 0;

	create_ring("r", 2, 3);
	writer = open_writer("r");
	tti_ring_writer_set_clock(writer, fake_clock);
	fake_now = 5;
	put_rows(writer, 0, 10);
	fake_now = INT64_MAX;
	put_rows(writer, 10, 2);
	fake_now = -1;
	put_rows(writer, 12, 8);
	info = ring_info("r");
	for (size_t i = 1; i < info.file_count; i++)
		ck_assert_uint_gt(info.files[i].name, info.files[i - 1].name);
	tt_ring_info_free(&info);
	tt_ring_writer_close(writer);
	writer = open_writer("r"); /* the newest name lies far ahead of the real clock */
	put_rows(writer, 20, 5);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 25);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(fault_2_half_shifted_manifest_hides_no_file)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	uint64_t slots[4], half[4];
	int64_t next = 0;

	create_ring("r", 2, 4);
	writer = open_writer("r");
	put_rows(writer, 0, 8);
	tt_ring_writer_close(writer);
	read_file("r/.lock", slots, sizeof(slots));
	for (size_t done = 1; done < 4; done++) { /* a writer died after so many stores */
		memcpy(half, slots, sizeof(half));
		memmove(half, slots + 1, done * 8);
		write_file("r/.lock", half, sizeof(half));
		reader = open_reader("r");
		next = 0;
		take_rows(reader,
			  &next); /* the first file left the queue, not the disk */
		ck_assert_int_eq(next, 8);
		tt_ring_reader_close(reader);
	}
	memmove(half, slots + 1, 16);
	half[2] = slots[2];
	half[3] = slots[3];
	write_file("r/.lock", half, sizeof(half));
	writer = open_writer("r"); /* shifts on */
	put_rows(writer, 8, 1);
	read_file("r/.lock", half, sizeof(half));
	ck_assert_uint_eq(half[0], slots[1]);
	ck_assert_uint_eq(half[1], slots[2]);
	ck_assert_uint_eq(half[2], slots[3]);
	ck_assert_uint_eq(half[3], tt_ring_writer_pos(writer).file);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(fault_3_eviction_never_shortens_a_mapped_file)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_view view;
	struct stat before, after;
	struct tt_ring_info info;
	char path[64];

	create_ring("r", 1000, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 10);
	reader = open_reader("r");
	ck_assert_int_eq(tt_ring_read(reader, 10, 0, &view, NULL, &err), 1);
	info = ring_info("r");
	snprintf(path, sizeof(path), "r/%s", info.files[0].file_name);
	tt_ring_info_free(&info);
	ck_assert_int_eq(stat(path, &before), 0);
	for (int i = 0; i < 5; i++) {
		put_rows(writer, 0, 10);
		OK(tt_ring_roll(writer, &err));
	}
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_int_eq(before.st_size, after.st_size);
	ck_assert_int_eq(((const struct row *)view.rows)[9].number, 9);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(fault_4_head_sees_the_newest_file)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 3);
	reader = open_reader("r");
	check_looks(reader, 5, false, 0, 3, 1);
	put_rows(writer, 3, 3);
	check_looks(reader, 5, false, 0, 5, 2);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

/* Run in a child without privileges: 0 when all went as it should. */
static int read_as_nobody(int64_t rows)
{
	struct tt_ring_reader *reader;
	struct tt_view view;
	int64_t seen = 0;

	if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		return 1;
	if (open("r/.lock", O_RDWR | O_CLOEXEC) >= 0)
		return 2;
	if (tt_ring_reader_open(&reader, "r", NULL, &err) < 0)
		return 3;
	while (tt_ring_read(reader, 3, 0, &view, NULL, &err) == 1)
		seen += (int64_t)view.count;
	if (seen != rows || tt_ring_wait(reader, TT_WAIT_SLEEP, 1000000, &err) != 0)
		return 4;
	tt_ring_reader_close(reader);
	return 0;
}

static void check_nobody_reads(int64_t rows)
{
	int status;
	pid_t child;

	ck_assert_int_eq(system("chmod 555 r && chmod 444 r/*.npy r/.lock && "
				"{ test ! -e r/.ticktail || chmod 444 r/.ticktail; }"),
			 0);
	child = fork();
	if (child == 0)
		_exit(read_as_nobody(rows));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(system("chmod 755 r && chmod u+w r/*.npy r/.lock"), 0);
}

START_TEST(fault_5_reader_needs_read_permission_only)
{
	struct tt_ring_writer *writer;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 11);
	tt_ring_writer_close(writer);
	check_nobody_reads(11);
	ck_assert_int_eq(unlink("r/.ticktail"), 0); /* and no settings file */
	check_nobody_reads(11);
}
END_TEST

START_TEST(fault_6_files_are_filled_to_the_last_row)
{
	struct tt_ring_writer *writer;
	struct tt_ring_info info;

	create_ring("r", 4, 3);
	writer = open_writer("r");
	for (int64_t i = 0; i < 9; i += 3)
		put_rows(writer, i, 3);
	info = ring_info("r");
	ck_assert_uint_eq(info.file_count, 3);
	ck_assert_uint_eq(info.files[0].end, 4);
	ck_assert_uint_eq(info.files[1].end, 4);
	tt_ring_info_free(&info);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(fault_7_second_writer_is_refused_with_the_pid)
{
	struct tt_ring_writer *writer, *second;
	char expected[64];
	int status;
	pid_t child;

	create_ring("r", 4, 3);
	writer = open_writer("r");
	ck_assert_int_eq(tt_ring_writer_open(&second, "r", NULL, &err), TT_E_BUSY);
	snprintf(expected, sizeof(expected), "r: being written by process %d",
		 (int)getpid());
	ck_assert_str_eq(err.text, expected);
	child = fork();
	if (child == 0)
		_exit(tt_ring_writer_open(&second, "r", NULL, &err) == TT_E_BUSY &&
				      strcmp(err.text, expected) == 0
			      ? 0
			      : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	tt_ring_writer_close(writer);
	second = open_writer("r");
	tt_ring_writer_close(second);
}
END_TEST

START_TEST(name_without_file_is_made_by_the_next_writer)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_ring_info info;
	uint64_t slots[3];
	int64_t next = 0;

	create_ring("r", 4, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 4);
	tt_ring_writer_close(writer);
	read_file("r/.lock", slots, sizeof(slots));
	slots[1] = slots[0] + 1000; /* npyt: the name first, then the file */
	write_file("r/.lock", slots, sizeof(slots));
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 4);
	ck_assert_int_eq(tt_ring_wait(reader, TT_WAIT_SLEEP, 2000000, &err), 0);
	info = ring_info("r");
	ck_assert(info.foreign);
	ck_assert_uint_eq(info.rows, 4);
	tt_ring_info_free(&info);
	writer = open_writer("r");
	ck_assert_uint_eq(tt_ring_writer_pos(writer).file, slots[1]);
	put_rows(writer, 4, 2);
	take_rows(reader, &next);
	ck_assert_int_eq(next, 6);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(file_without_name_is_not_seen_and_removed)
{
	struct tt_ring_writer *writer;
	struct tt_ring_info info;
	char command[128];

	create_ring("r", 4, 3);
	writer = open_alone("r");
	put_rows(writer, 0, 4);
	tt_ring_writer_close(writer);
	create_ring("other", 4, 3);
	info = ring_info("other"); /* made later, so its name is larger */
	snprintf(command, sizeof(command), "mv other/%s r/ && touch r/.next",
		 info.files[0].file_name);
	ck_assert_int_eq(system(command), 0);
	tt_ring_info_free(&info);
	info = ring_info("r");
	ck_assert_uint_eq(info.file_count, 1);
	tt_ring_info_free(&info);
	writer = open_alone("r");
	ck_assert_ptr_nonnull(strstr(tt_ring_writer_repaired(writer), "not published"));
	ck_assert_int_eq(system("test $(ls r/*.npy | wc -l) = 1 && test ! -e r/.next"),
			 0);
	tt_ring_writer_close(writer);
}
END_TEST

/* ---- Damage and hostile surroundings ---- */

/* A size that nobody could copy: it is moved, and its holes stay holes.  All entries that could
 * be in it are looked at: too slow for a thread sanitizer. */
#define HUGE_BYTES (INT64_C(1) << (UNDER_TSAN ? 24 : 40))

START_TEST(huge_damage_is_kept_aside_without_its_bytes)
{
	struct tt_ring_writer *writer;
	struct stat st;
	int64_t next = 0;
	struct tt_ring_reader *reader;

	create_ring("r", 4, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 6);
	tt_ring_writer_close(writer);
	write_file("r/9000000000000000000.npy", "x", 1);
	ck_assert_int_eq(truncate("r/9000000000000000000.npy", HUGE_BYTES), 0);
	write_file("r/.ticktail", "x", 1);
	ck_assert_int_eq(truncate("r/.ticktail", HUGE_BYTES), 0);
	writer = open_writer("r");
	ck_assert_ptr_nonnull(strstr(tt_ring_writer_repaired(writer), "unreadable"));
	put_rows(writer, 6, 6);
	tt_ring_writer_close(writer);
	ck_assert_int_eq(stat("r/.9000000000000000000.npy.bad-1", &st), 0);
	ck_assert_int_eq(st.st_size, HUGE_BYTES);
	ck_assert_int_eq(access("r/9000000000000000000.npy", F_OK), -1);
	ck_assert_int_eq(stat("r/.ticktail.bad-1", &st), 0);
	ck_assert_int_lt(st.st_blocks, 1000);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 12);
	tt_ring_reader_close(reader);
}
END_TEST

START_TEST(odd_things_in_the_directory_are_passed_over)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0;

	create_ring("r", 4, 3);
	ck_assert_int_eq(system("cd r && mkfifo 5.npy && ln -s /etc/passwd 6.npy && "
				"mkdir 7.npy && touch x.npy 01.npy .hidden 99.npyx"),
			 0);
	writer = open_writer("r");
	put_rows(writer, 0, 9);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 9);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
	ck_assert_int_eq(
		system("cd r && test -p 5.npy -a -L 6.npy -a -d 7.npy -a -e x.npy"), 0);
}
END_TEST

START_TEST(what_is_no_ring_is_refused)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_ring_info info;

	ck_assert_int_eq(mkdir("d", 0755), 0);
	write_file("f", "x", 1);
	ck_assert_int_eq(tt_ring_writer_open(&writer, "d", NULL, &err), TT_E_FORMAT);
	ck_assert_ptr_null(writer);
	ck_assert_int_eq(tt_ring_reader_open(&reader, "f", NULL, &err), TT_E_FORMAT);
	ck_assert_int_eq(tt_ring_info("none", &info, &err), -ENOENT);
}
END_TEST

static void check_mended(const char *what, uint64_t rows)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0;

	reader = open_reader("r"); /* readers need no repair */
	take_rows(reader, &next);
	ck_assert_int_eq(next, (int64_t)rows);
	tt_ring_reader_close(reader);
	writer = open_writer("r");
	ck_assert_msg(strstr(tt_ring_writer_repaired(writer), what), "%s",
		      tt_ring_writer_repaired(writer));
	put_rows(writer, next, 3);
	tt_ring_writer_close(writer);
	writer = open_writer("r");
	ck_assert_str_eq(tt_ring_writer_repaired(writer), "");
	tt_ring_writer_close(writer);
	reader = open_reader("r");
	next = 0;
	take_rows(reader, &next);
	ck_assert_int_eq(next, (int64_t)rows + 3);
	tt_ring_reader_close(reader);
}

START_TEST(damaged_manifest_is_made_again_and_kept_aside)
{
	struct tt_ring_writer *writer;
	uint64_t slots[3];

	create_ring("r", 4, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 18);
	tt_ring_writer_close(writer);
	ck_assert_int_eq(unlink("r/.lock"), 0);
	check_mended(".lock was missing", 18);
	write_file("r/.lock", "odd", 3);
	check_mended(".lock was damaged", 21);
	ck_assert_int_eq(access("r/.lock.bad-1", F_OK), 0);
	read_file("r/.lock", slots, sizeof(slots));
	slots[0] = slots[1] + 1; /* does not ascend */
	slots[1]--;
	write_file("r/.lock", slots, sizeof(slots));
	writer = open_writer("r");
	ck_assert_ptr_nonnull(strstr(tt_ring_writer_repaired(writer), "damaged"));
	tt_ring_writer_close(writer);
	memset(slots, 0, sizeof(slots));
	write_file("r/.lock", slots, sizeof(slots));
	check_mended(".lock was damaged", 24);
}
END_TEST

static void count_damage(void *ctx, const struct tt_damage *damage)
{
	(void)damage;
	++*(int *)ctx;
}

/* What a reader sees must not hang on a manifest that says nothing. */
static void check_read_only(uint64_t rows)
{
	struct tt_ring_reader_opts opts = TT_RING_READER_OPTS_INIT;
	struct tt_ring_reader *reader = open_reader("r");
	struct tt_ring_info info = ring_info("r");
	int64_t next = 0;
	int found = 0;

	ck_assert_uint_eq(info.rows, rows);
	tt_ring_info_free(&info);
	take_rows(reader, &next);
	ck_assert_int_eq(next, (int64_t)rows);
	tt_ring_reader_close(reader);
	opts.seal_only = true;
	OK(tt_ring_reader_open(&reader, "r", &opts, &err));
	next = 0;
	take_rows(reader, &next);
	ck_assert_int_eq(next, 16);
	tt_ring_reader_close(reader);
	OK(tt_ring_verify("r", count_damage, &found, NULL, &err));
	ck_assert_int_ge(found, 1);
}

START_TEST(readers_go_by_the_directory_when_the_manifest_is_lost)
{
	struct tt_ring_writer *writer;
	uint64_t zeros[3] = { 0 };

	create_ring("r", 4, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 18);
	tt_ring_writer_close(writer);
	write_file("r/.lock", zeros, sizeof(zeros));
	check_read_only(18);
	write_file("r/.lock", zeros, 0);
	check_read_only(18);
	ck_assert_int_eq(unlink("r/.lock"), 0);
	check_read_only(18);
}
END_TEST

/* By looking alone, without a wait that looks again each second. */
START_TEST(manifest_may_grow_under_a_reader)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0;

	create_ring("r", 2, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 7);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 7);
	ck_assert_int_eq(truncate("r/.lock", 40), 0); /* a peer with a longer queue */
	put_rows(writer, 7, 8);
	take_rows(reader, &next);
	ck_assert_int_eq(next, 15);
	OK(tt_ring_roll(writer, &err));
	ck_assert_int_eq(truncate("r/.lock", 80), 0);
	for (int64_t i = 15; i < 40; i++) {
		put_rows(writer, i, 1);
		OK(tt_ring_roll(writer, &err));
		take_rows(reader, &next);
		ck_assert_int_eq(next, i + 1);
	}
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(damaged_settings_are_made_again_and_kept_aside)
{
	struct tt_ring_writer *writer;
	struct tt_ring_info info;
	uint8_t id[16];

	create_ring("r", 4, 3);
	info = ring_info("r");
	memcpy(id, info.ring_id, 16);
	tt_ring_info_free(&info);
	writer = open_writer("r");
	put_rows(writer, 0, 18);
	tt_ring_writer_close(writer);
	ck_assert_int_eq(
		system("printf XXXX | dd of=r/.ticktail conv=notrunc 2>/dev/null"), 0);
	check_mended(".ticktail was damaged", 18);
	info = ring_info("r"); /* the header was bad, the settings were not */
	ck_assert_mem_eq(id, info.ring_id, 16);
	ck_assert_int_eq(info.opts.sync_ms, TT_SYNC_NONE);
	tt_ring_info_free(&info);
	write_file("r/.ticktail", "short", 5);
	check_mended(".ticktail was damaged", 21);
	ck_assert_int_eq(access("r/.ticktail.bad-1", F_OK), 0);
	ck_assert_int_eq(access("r/.ticktail.bad-2", F_OK), 0);
	ck_assert_int_eq(unlink("r/.ticktail"), 0);
	check_mended(".ticktail was made", 24);
}
END_TEST

START_TEST(manifest_may_grow_under_the_writer)
{
	struct tt_ring_writer *writer;
	struct tt_ring_info info;

	create_ring("r", 2, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 8);
	ck_assert_int_eq(truncate("r/.lock", 40), 0); /* a peer with a longer queue */
	put_rows(writer, 8, 8);
	info = ring_info("r");
	ck_assert_uint_eq(info.keep, 5);
	ck_assert(info.files[info.file_count - 5].queued);
	ck_assert(!info.files[info.file_count - 6].queued);
	tt_ring_info_free(&info);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(entries_grow_with_the_files)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct stat st;
	int64_t next = 0;

	create_ring("r", 1, 2);
	writer = open_writer("r");
	reader = open_reader("r");
	for (int64_t i = 0; i < 200; i++) {
		put_rows(writer, i, 1);
		if (i % 50 == 0)
			take_rows(reader, &next);
	}
	take_rows(reader, &next);
	ck_assert_int_eq(next, 200);
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 0);
	ck_assert_int_eq(stat("r/.ticktail", &st), 0);
	ck_assert_int_eq(st.st_size, TTI_ENTRIES_OFF + 256 * 128);
	ck_assert_int_eq(system("rm $(ls r/*.npy | head -n 190)"), 0);
	for (int64_t i = 200; i < 400; i++)
		put_rows(writer, i, 1);
	ck_assert_int_eq(stat("r/.ticktail", &st), 0);
	ck_assert_int_le(st.st_size,
			 TTI_ENTRIES_OFF + 320 * 128); /* entries are used again */
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(child_of_a_killed_writer_keeps_no_lock)
{
	int ready[2], status;
	pid_t child, grandchild = 0;
	int64_t deadline = tti_deadline_ns(10000000000);
	struct tt_ring_writer *writer;

	create_ring("r", 4, 2);
	ck_assert_int_eq(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		writer = open_writer("r");
		grandchild = fork();
		if (grandchild == 0) {
			pause();
			_exit(0);
		}
		if (write(ready[1], &grandchild, sizeof(grandchild)) !=
		    sizeof(grandchild))
			_exit(1);
		pause();
		_exit(writer ? 0 : 1);
	}
	ck_assert_int_eq(read(ready[0], &grandchild, sizeof(grandchild)),
			 sizeof(grandchild));
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	/* the grandchild may not have come to close its copies yet */
	while (tt_ring_writer_open(&writer, "r", NULL, &err) == TT_E_BUSY)
		ck_assert_int_lt(tti_clock_monotonic_ns(), deadline);
	ck_assert_ptr_nonnull(writer);
	tt_ring_writer_close(writer);
	kill(grandchild, SIGKILL);
}
END_TEST

/* ---- Waiting ---- */

static void check_waits(enum tt_wait how)
{
	struct tt_ring_reader *reader;
	struct tt_ring_writer *writer;
	int status;
	int64_t next = 0, from = tti_clock_monotonic_ns();
	pid_t child;

	create_ring("r", 4, 2);
	reader = open_reader("r");
	ck_assert_int_eq(tt_ring_wait(reader, how, 5000000, &err), 0);
	ck_assert_int_ge(tti_clock_monotonic_ns() - from, 5000000);
	child = fork();
	if (child == 0) {
		writer = open_writer("r");
		for (int64_t i = 0; i < 50; i++) {
			usleep(500);
			put_rows(writer, i, 1);
		}
		tt_ring_writer_close(writer);
		_exit(0);
	}
	while (next < 50) {
		ck_assert_int_eq(tt_ring_wait(reader, how, 20000000000, &err), 1);
		take_rows(reader, &next);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	tt_ring_reader_close(reader);
}

START_TEST(sleeping_reader_is_woken)
{
	check_waits(TT_WAIT_SLEEP);
}
END_TEST

START_TEST(spinning_reader_sees_rows)
{
	check_waits(TT_WAIT_SPIN);
}
END_TEST

START_TEST(yielding_reader_sees_rows)
{
	check_waits(TT_WAIT_YIELD);
}
END_TEST

START_TEST(reader_is_told_that_the_ring_was_replaced)
{
	struct tt_ring_reader *reader;

	create_ring("r", 4, 2);
	reader = open_reader("r");
	ck_assert_int_eq(rename("r", "old"), 0);
	create_ring("r", 4, 2);
	ck_assert_int_eq(tt_ring_wait(reader, TT_WAIT_SLEEP, 5000000000, &err),
			 TT_E_SUPERSEDED);
	tt_ring_reader_close(reader);
}
END_TEST

static void add_tests(TCase *tcase, const TTest *const *tests, size_t count)
{
	for (size_t i = 0; i < count; i++)
		tcase_add_test(tcase, tests[i]);
}

int main(void)
{
	Suite *suite = suite_create("ring");
	TCase *tcase = tcase_create("ring");
	SRunner *runner = srunner_create(suite);
	const TTest *tests[] = {
		new_ring_is_whole_and_empty,
		capacity_is_rounded_unless_exact,
		create_refuses_what_no_ring_can_be,
		settings_are_replaced_and_keep_only_rises,
		rows_come_back_in_order_across_files,
		writer_goes_on_where_the_last_one_stopped,
		reserved_rows_are_seen_when_published,
		prefetch_gives_rows_read_before,
		tail_and_head_give_a_view_a_file,
		positions_survive_rolls,
		lost_rows_are_counted_exactly,
		queued_only_readers_skip_with_a_count,
		sealed_only_readers_leave_the_newest_file,
		views_stay_until_two_files_later,
		roll_at_a_time_of_day,
		batches_stay_whole_when_asked,
		limit_removes_old_files_outside_the_queue_only,
		fault_1_names_rise_though_the_clock_steps_back,
		fault_2_half_shifted_manifest_hides_no_file,
		fault_3_eviction_never_shortens_a_mapped_file,
		fault_4_head_sees_the_newest_file,
		fault_5_reader_needs_read_permission_only,
		fault_6_files_are_filled_to_the_last_row,
		fault_7_second_writer_is_refused_with_the_pid,
		name_without_file_is_made_by_the_next_writer,
		file_without_name_is_not_seen_and_removed,
		huge_damage_is_kept_aside_without_its_bytes,
		odd_things_in_the_directory_are_passed_over,
		what_is_no_ring_is_refused,
		damaged_manifest_is_made_again_and_kept_aside,
		damaged_settings_are_made_again_and_kept_aside,
		manifest_may_grow_under_the_writer,
		manifest_may_grow_under_a_reader,
		readers_go_by_the_directory_when_the_manifest_is_lost,
		entries_grow_with_the_files,
		child_of_a_killed_writer_keeps_no_lock,
		sleeping_reader_is_woken,
		spinning_reader_sees_rows,
		yielding_reader_sees_rows,
		reader_is_told_that_the_ring_was_replaced,
	};
	int failed;

	tcase_add_checked_fixture(tcase, make_work_dir, drop_work_dir);
	tcase_set_timeout(tcase, 60);
	add_tests(tcase, tests, sizeof(tests) / sizeof(tests[0]));
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
