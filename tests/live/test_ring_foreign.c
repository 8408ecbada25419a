/* SPDX-License-Identifier: Apache-2.0 */
/* Rings that npyt made and writes to beside us. */
#include "upkeep_help.h"

/* What npyt leaves: no settings file, no locks. */
static void make_foreign(const char *dir)
{
	char command[64];

	snprintf(command, sizeof(command), "rm %s/.ticktail %s/.writer", dir, dir);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(foreign_ring_is_read_and_taken_over)
{
	struct tt_ring_reader *reader;
	struct tt_ring_writer *writer;
	struct tt_ring_info info;
	static const uint8_t zero[16];
	int64_t next = 0;

	create_ring("r", 4, 3);
	fill_ring("r", 0, 18);
	make_foreign("r");
	info = ring_info("r");
	ck_assert(info.foreign);
	ck_assert_mem_eq(info.ring_id, zero, 16);
	ck_assert_int_eq(info.writer_pid, -1);
	ck_assert_uint_eq(info.capacity, 4);
	ck_assert_int_eq(info.files[0].first_row_ns, (int64_t)info.files[0].name);
	tt_ring_info_free(&info);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 18);
	check_whole("r");
	writer = open_writer("r");
	ck_assert_str_eq(tt_ring_writer_repaired(writer), ".ticktail was made");
	put_rows(writer, 18, 12);
	take_rows(reader, &next);
	ck_assert_int_eq(next, 30);
	info = ring_info("r");
	ck_assert(!info.foreign);
	ck_assert_mem_ne(info.ring_id, zero, 16);
	tt_ring_info_free(&info);
	tt_ring_writer_close(writer);
	tt_ring_reader_close(reader);
	check_whole("r");
}
END_TEST

static void take_one(struct tt_ring_reader *reader, int64_t *next)
{
	struct tt_view view;

	ck_assert_int_eq(tt_ring_read(reader, 1, 0, &view, NULL, &err), 1);
	ck_assert_int_eq(((const struct row *)view.rows)->number, (*next)++);
}

/* npyt cuts a file to its rows as it leaves the queue: header, tail, size.  A row is read
 * after each step. */
static void cut_as_npyt(const char *path, uint64_t rows, struct tt_ring_reader *reader,
			int64_t *next)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	struct tti_live_open args = {
		.dirfd = AT_FDCWD, .name = path, .path = path, .writable = true
	};
	struct tti_tail tail = { .words = 5, .end = rows };
	uint8_t words[TTI_TAIL_MAX_BYTES];
	uint64_t at;
	size_t n;

	OK(tti_live_open(&live, &args, &err));
	ck_assert_int_eq(tti_live_put_extent(&live, rows, false, &err), 1);
	take_one(reader, next);
	at = live.data_off + rows * live.row_bytes;
	tail.offset = live.data_off;
	n = tti_tail_format(words, &tail);
	OK(tti_pwrite_all(live.fd, words, n, at));
	take_one(reader, next);
	ck_assert_int_eq(ftruncate(live.fd, (off_t)(at + n)), 0);
	tti_live_close(&live);
}

/* A file of first rows that a reader knows, of rows it has not heard of yet, then cut; spare
 * is what is cut off, which may be less than a tail. */
static void check_cut(uint64_t spare)
{
	struct tt_ring_reader *reader;
	struct tt_ring_info info;
	struct tti_live live = TTI_LIVE_EMPTY;
	struct tti_live_open args = { .dirfd = AT_FDCWD, .path = "r", .writable = true };
	char path[64];
	int64_t next = 0;

	create_ring("r", 6 + spare, 3);
	for (int64_t i = 0; i < 4; i++) {
		fill_ring("r", 6 * i, 6);
		OK(tt_ring_seal("r", 10000000000, NULL, &err));
	}
	make_foreign("r");
	info = ring_info("r");
	snprintf(path, sizeof(path), "r/%s", info.files[0].file_name);
	tt_ring_info_free(&info);
	args.name = path;
	OK(tti_live_open(&live, &args, &err));
	OK(tti_live_publish(&live, 2));
	reader = open_reader("r");
	take_one(reader, &next);
	OK(tti_live_publish(&live, 6));
	tti_live_close(&live);
	cut_as_npyt(path, 6, reader, &next);
	take_rows(reader, &next);
	ck_assert_int_eq(next, 24);
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 0);
	tt_ring_reader_close(reader);
}

START_TEST(file_cut_by_a_foreign_writer_loses_no_row)
{
	static const uint64_t spare[] = { 1, 2, 3, 100000 };

	check_cut(spare[_i]);
}
END_TEST

/* It died while it cut the file: said, not passed over. */
START_TEST(file_cut_short_for_good_is_damage)
{
	struct tt_ring_reader *reader;
	struct tt_ring_info info;
	struct tt_view view;
	char path[64];
	int64_t next = 0;
	int rc;

	create_ring("r", 100000, 3);
	for (int64_t i = 0; i < 4; i++) {
		fill_ring("r", 2 * i, 2);
		OK(tt_ring_seal("r", 10000000000, NULL, &err));
	}
	make_foreign("r");
	reader = open_reader("r");
	take_one(reader, &next);
	info = ring_info("r");
	snprintf(path, sizeof(path), "r/%s", info.files[0].file_name);
	ck_assert_int_eq(truncate(path, 256 + 32), 0);
	tt_ring_info_free(&info);
	take_one(reader, &next);
	while ((rc = tt_ring_read(reader, 5, 0, &view, NULL, &err)) == 0)
		usleep(10000);
	ck_assert_int_eq(rc, TT_E_DAMAGED);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	tt_ring_reader_close(reader);
}
END_TEST

START_TEST(foreign_ring_is_merged_with_its_positions)
{
	struct tt_ring_reader *reader;
	struct tt_ring_info info;
	struct tt_view view;
	uint64_t merged;
	int64_t next = 0;

	create_ring("r", 4, 2);
	fill_ring("r", 0, 20);
	make_foreign("r");
	info = ring_info("r");
	OK(tt_ring_merge("r", 0, NULL, NULL, &merged, &err));
	ck_assert_uint_eq(merged, 3);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 20);
	OK(tt_ring_seek(reader, (struct tt_pos){ info.files[1].name, 2 }, &err));
	ck_assert_int_eq(tt_ring_read(reader, 1, 0, &view, NULL, &err), 1);
	ck_assert_int_eq(((const struct row *)view.rows)->number, 6);
	tt_ring_info_free(&info);
	tt_ring_reader_close(reader);
	info = ring_info("r");
	ck_assert(info.foreign); /* its newest file has no entry */
	tt_ring_info_free(&info);
}
END_TEST

START_TEST(golden_ring_is_read_right)
{
	const char *shared = getenv("TT_SHARED");
	struct tt_ring_reader *reader;
	struct tt_ring_info info;
	struct tt_view view;
	char path[512];
	uint64_t rows = 0;
	int64_t last = INT64_MIN;

	snprintf(path, sizeof(path), "%s/golden/npy8/rolled", shared ? shared : "");
	if (!shared || access(path, R_OK) != 0) {
		printf("# golden_ring_is_read_right: skipped, TT_SHARED names no golden "
		       "files\n");
		return;
	}
	info = ring_info(path);
	ck_assert_uint_eq(info.file_count, 7);
	ck_assert_uint_eq(info.keep, 3);
	ck_assert_uint_eq(info.rows, 21);
	ck_assert_uint_eq(info.row_bytes, 32);
	tt_ring_info_free(&info);
	check_whole(path);
	OK(tt_ring_reader_open(&reader, path, NULL, &err));
	while (tt_ring_read(reader, 100, 0, &view, NULL, &err) == 1) {
		for (uint64_t i = 0; i < view.count; i++) {
			int64_t ts;

			memcpy(&ts, (const char *)view.rows + 32 * i, 8);
			ck_assert_int_ge(ts, last);
			last = ts;
		}
		rows += view.count;
	}
	ck_assert_uint_eq(rows, 21);
	tt_ring_reader_close(reader);
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_test(tcase, foreign_ring_is_read_and_taken_over);
	tcase_add_loop_test(tcase, file_cut_by_a_foreign_writer_loses_no_row, 0, 4);
	tcase_add_test(tcase, file_cut_short_for_good_is_damage);
	tcase_add_test(tcase, foreign_ring_is_merged_with_its_positions);
	tcase_add_test(tcase, golden_ring_is_read_right);
}

int main(void)
{
	return ring_suite_with("ring foreign", add);
}
