/* SPDX-License-Identifier: Apache-2.0 */
/* Damage in a ring keeps nobody from starting: a writer goes on in a new file, and what is
 * damaged is left or kept aside. */
#include "live/ring_help.h"

static struct tt_ring_info before; /* of the ring as made */

/* Three full files and a half full newest one, of 8 rows each. */
static void make_ring(void)
{
	struct tt_ring_writer *writer;

	create_ring("r", 8, 4);
	writer = open_writer("r");
	put_rows(writer, 0, 28);
	tt_ring_writer_close(writer);
	before = ring_info("r");
	ck_assert_uint_eq(before.file_count, 4);
}

static void drop_ring(void)
{
	tt_ring_info_free(&before);
	ck_assert_int_eq(system("rm -rf r"), 0);
}

static char *path_of(size_t i)
{
	static char path[64];

	snprintf(path, sizeof(path), "r/%s", before.files[i].file_name);
	return path;
}

static void poke(const char *path, off_t at, const void *bytes, size_t n)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	if (at < 0)
		at += lseek(fd, 0, SEEK_END);
	ck_assert_int_eq(pwrite(fd, bytes, n, at), (ssize_t)n);
	close(fd);
}

/* The writer starts, in a file newer than before, and says so; the next one has nothing to
 * say. */
static void goes_on(const char *words)
{
	struct tt_ring_writer *writer = open_writer("r");
	struct tt_ring_reader *reader;
	struct tt_view view;

	ck_assert_msg(strstr(tt_ring_writer_repaired(writer), words), "'%s' not in '%s'",
		      words, tt_ring_writer_repaired(writer));
	ck_assert_uint_gt(tt_ring_writer_pos(writer).file, before.files[3].name);
	put_rows(writer, 1000, 3);
	tt_ring_writer_close(writer);
	writer = open_writer("r");
	ck_assert_str_eq(tt_ring_writer_repaired(writer), "");
	tt_ring_writer_close(writer);
	reader = open_reader("r");
	OK(tt_ring_seek_tail(reader, 3, &err));
	ck_assert_int_eq(tt_ring_read(reader, 10, 0, &view, NULL, &err), 1);
	ck_assert_uint_eq(view.count, 3);
	ck_assert_int_eq(((const struct row *)view.rows)->number, 1000);
	tt_ring_reader_close(reader);
}

START_TEST(newest_of_an_unknown_type)
{
	make_ring();
	poke(path_of(3), 24, "z", 1); /* within the descr */
	goes_on("is damaged; rows go on in");
	drop_ring();
}
END_TEST

START_TEST(newest_of_another_type_than_the_rest)
{
	uint8_t header[128];
	uint8_t *at;

	make_ring();
	read_file(path_of(3), header, sizeof(header));
	at = memmem(header, sizeof(header), "<f8", 3);
	ck_assert_ptr_nonnull(at);
	poke(path_of(3), at - header, "<i8", 3);
	goes_on("is damaged; rows go on in");
	drop_ring();
}
END_TEST

START_TEST(newest_and_settings_at_once)
{
	static const char zeros[4096];

	make_ring();
	poke(path_of(3), -8, zeros, 8);
	poke("r/.ticktail", 0, zeros, sizeof(zeros));
	goes_on(".ticktail was damaged and was made again");
	drop_ring();
}
END_TEST

START_TEST(every_tail_gone)
{
	static const char zeros[40];

	make_ring();
	for (size_t i = 0; i < 4; i++)
		poke(path_of(i), -40, zeros, 40);
	{
		struct tt_ring_writer *writer = open_writer("r");

		ck_assert_ptr_nonnull(strstr(tt_ring_writer_repaired(writer),
					     "is damaged; rows go on in"));
		tt_ring_writer_close(writer);
	}
	drop_ring();
}
END_TEST

START_TEST(manifest_leaves_a_file_out)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	uint64_t slots[4];
	int64_t next = 0;

	make_ring();
	read_file("r/.lock", slots, sizeof(slots));
	slots[1] = slots[0]; /* as if the second had never been */
	poke("r/.lock", 0, slots, sizeof(slots));
	writer = open_writer("r");
	ck_assert_ptr_nonnull(
		strstr(tt_ring_writer_repaired(writer), ".lock was damaged"));
	tt_ring_writer_close(writer);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 28);
	tt_ring_reader_close(reader);
	drop_ring();
}
END_TEST

START_TEST(manifest_with_garbage_behind)
{
	uint64_t garbage[9] = { 5, 4, 3, 2, 1, 9, 8, 7, 6 };
	struct tt_ring_writer *writer;
	struct stat st;

	make_ring();
	poke("r/.lock", 32, garbage, sizeof(garbage));
	writer = open_writer("r");
	tt_ring_writer_close(writer);
	ck_assert_int_eq(stat("r/.lock", &st), 0);
	ck_assert_int_eq(st.st_size, 32); /* the queue did not become longer by it */
	drop_ring();
}
END_TEST

START_TEST(manifest_longer_than_any)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0;

	make_ring();
	ck_assert_int_eq(truncate("r/.lock", 64 << 20), 0);
	writer = open_writer("r");
	put_rows(writer, 28, 10);
	tt_ring_writer_close(writer);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 38);
	tt_ring_reader_close(reader);
	drop_ring();
}
END_TEST

static uint64_t sum_views(struct tt_view *views, size_t n)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < n; i++)
		rows += views[i].count;
	free(views);
	return rows;
}

START_TEST(all_rows_of_a_file_that_begins_late)
{
	static const uint64_t counts[] = { 25, 26, UINT64_MAX - 2, UINT64_MAX };
	const uint64_t start = 3;
	struct tt_ring_reader *reader;

	make_ring();
	poke(path_of(0), -40, &start, sizeof(start));
	reader = open_reader("r");
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		struct tt_view *views;
		size_t n;

		OK(tt_ring_tail(reader, counts[i], &views, &n, &err));
		ck_assert_uint_eq(((const struct row *)views[0].rows)->number, 3);
		ck_assert_uint_eq(sum_views(views, n), 25);
		OK(tt_ring_head(reader, counts[i], &views, &n, &err));
		ck_assert_uint_eq(sum_views(views, n), 25);
		OK(tt_ring_seek_tail(reader, counts[i], &err));
		ck_assert_uint_eq(tt_ring_tell(reader).row, 3);
	}
	tt_ring_reader_close(reader);
	drop_ring();
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_test(tcase, newest_of_an_unknown_type);
	tcase_add_test(tcase, newest_of_another_type_than_the_rest);
	tcase_add_test(tcase, newest_and_settings_at_once);
	tcase_add_test(tcase, all_rows_of_a_file_that_begins_late);
	tcase_add_test(tcase, every_tail_gone);
	tcase_add_test(tcase, manifest_leaves_a_file_out);
	tcase_add_test(tcase, manifest_with_garbage_behind);
	tcase_add_test(tcase, manifest_longer_than_any);
}

int main(void)
{
	return ring_suite_with("ring damage", add);
}
