/* SPDX-License-Identifier: Apache-2.0 */
/* Rings in one process: creation, appending across files, the queue, positions, readers. */
#include <dirent.h>

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

/* The next file is named behind what a reader has mapped of the manifest. */
START_TEST(a_reader_that_polls_follows_into_a_longer_queue)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0;

	create_ring("r", 4, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 12);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 12);
	tt_ring_writer_close(writer);
	opts.keep = 5;
	opts.capacity = 4;
	opts.exact = true;
	OK(tt_ring_set("r", &opts, &err));
	take_rows(reader, &next);
	ck_assert_int_eq(next, 12);
	writer = open_writer("r");
	put_rows(writer, 12, 5); /* no name moves to another slot */
	take_rows(reader, &next);
	ck_assert_int_eq(next, 17);
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
	ck_assert_ptr_null(tt_ring_reserve(writer, 0, &got, &err));
	ck_assert_int_eq(err.code, TT_E_RANGE);
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

START_TEST(tail_and_head_give_a_view_a_file)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	reader = open_reader("r");
	look_shows(reader, 10, true, 0, 0, 0);
	put_rows(writer, 0, 10);
	look_shows(reader, 3, true, 7, 3, 2);
	look_shows(reader, 2, true, 8, 2, 1);
	look_shows(reader, 100, true, 0, 10, 3);
	look_shows(reader, 0, true, 0, 0, 0);
	look_shows(reader, 5, false, 0, 5, 2);
	look_shows(reader, 100, false, 0, 10, 3);
	OK(tt_ring_roll(writer, &err)); /* an empty newest file */
	look_shows(reader, 3, true, 7, 3, 2);
	look_shows(reader, UINT64_MAX, true, 0, 10, 3);
	look_shows(reader, UINT64_MAX, false, 0, 10, 3);
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

/* A ring of two files of 4 rows, its writer after the first rows, and a reader of it. */
static struct tt_ring_reader *open_beside(struct tt_ring_writer **writer_out,
					  const struct tt_ring_reader_opts *opts,
					  int64_t rows)
{
	struct tt_ring_reader *reader;

	create_ring("r", 4, 2);
	*writer_out = open_writer("r");
	put_rows(*writer_out, 0, rows);
	OK(tt_ring_reader_open(&reader, "r", opts, &err));
	return reader;
}

START_TEST(queued_only_readers_skip_with_a_count)
{
	struct tt_ring_reader_opts opts = TT_RING_READER_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0;

	opts.queued_only = true;
	reader = open_beside(&writer, &opts, 4);
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

	opts.seal_only = true;
	reader = open_beside(&writer, &opts, 6);
	take_rows(reader, &next);
	ck_assert_int_eq(next, 4);
	OK(tt_ring_roll(writer, &err));
	take_rows(reader, &next);
	ck_assert_int_eq(next, 6);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static int count_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	int count = 0;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, ".npy") != NULL;
	fclose(maps);
	return count;
}

/* Three files a reader; a writer its newest, the next, and for a moment the one that is full. */
START_TEST(rolls_use_up_neither_descriptors_nor_maps)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_view view;
	int before = count_fds();

	create_ring("r", 2, 2);
	writer = open_writer("r");
	reader = open_reader("r");
	for (int64_t i = 0; i < 300; i += 2) {
		put_rows(writer, i, 2);
		while (tt_ring_read(reader, 9, 0, &view, NULL, &err) == 1)
			;
		ck_assert_int_le(count_fds() - before, 6 + 7);
		ck_assert_int_le(count_maps(), 3 + 3);
	}
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

int main(void)
{
	const TTest *const tests[] = {
		new_ring_is_whole_and_empty,
		capacity_is_rounded_unless_exact,
		create_refuses_what_no_ring_can_be,
		settings_are_replaced_and_keep_only_rises,
		rows_come_back_in_order_across_files,
		a_reader_that_polls_follows_into_a_longer_queue,
		writer_goes_on_where_the_last_one_stopped,
		reserved_rows_are_seen_when_published,
		prefetch_gives_rows_read_before,
		tail_and_head_give_a_view_a_file,
		positions_survive_rolls,
		lost_rows_are_counted_exactly,
		queued_only_readers_skip_with_a_count,
		sealed_only_readers_leave_the_newest_file,
		rolls_use_up_neither_descriptors_nor_maps,
		views_stay_until_two_files_later,
	};

	return ring_suite("ring", tests, sizeof(tests) / sizeof(tests[0]));
}
