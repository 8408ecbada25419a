/* SPDX-License-Identifier: Apache-2.0 */
/* A single file after the machine went down under its writer: with a sync policy what was
 * synced is there and the rest is cut and kept; without one there is no mark. */
#include <dirent.h>
#include <sys/mman.h>

#include "age_mark.h"
#include "ring_help.h"

static struct tt_file *open_sync(int64_t sync_ms)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;

	opts.access = TT_WRITE;
	opts.sync_ms = sync_ms;
	OK(tt_file_open(&file, "f.npy", &opts, &err));
	return file;
}

static void create(void)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();

	opts.capacity = 100;
	OK(tt_file_create("f.npy", dtype, &opts, &err));
	tt_dtype_unref(dtype);
}

static void put(struct tt_file *file, int64_t first, int64_t count)
{
	for (int64_t i = first; i < first + count; i++) {
		struct row row = { i, 0.5 };

		ck_assert_int_eq(tt_file_append(file, &row, 1), 0);
	}
}

static uint64_t entries(void)
{
	DIR *dir = opendir(".");
	uint64_t count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* In a process that does not come to its end. */
#define DIES(...) \
	do { \
		pid_t pid_ = fork(); \
		int status_ = 0; \
\
		if (pid_ == 0) { \
			__VA_ARGS__; \
			_exit(0); \
		} \
		ck_assert_int_eq(waitpid(pid_, &status_, 0), pid_); \
		ck_assert_int_eq(status_, 0); \
	} while (0)

#define DAY 86400000
static void write_and_sync(int64_t synced, int64_t more)
{
	struct tt_file *file = open_sync(DAY);

	put(file, 0, synced);
	OK(tt_file_sync(file, &err));
	put(file, synced, more);
}

static void lose_power(int64_t synced, int64_t more)
{
	DIES(write_and_sync(synced, more));
	ck_assert_int_gt(age_file("f.npy"), 0);
}

/* Rows 0 to count of path, numbered on from first. */
static void holds(const char *path, int64_t first, uint64_t count)
{
	struct tt_file *file;
	struct tt_view view;

	OK(tt_file_open(&file, path, NULL, &err));
	OK(tt_file_data(file, &view));
	ck_assert_uint_eq(view.count, count);
	for (uint64_t i = 0; i < count; i++)
		ck_assert_int_eq(((const struct row *)view.rows)[i].number,
				 first + (int64_t)i);
	ck_assert_ptr_null(tt_file_reserve(file, 1)); /* whatever is shown of it */
	ck_assert_int_eq(tt_file_publish(file, 1), TT_E_MISUSE);
	tt_file_close(file);
}

static void repaired(const struct tt_file *file, const char *words)
{
	ck_assert_msg(*words ? strstr(tt_file_repaired(file), words) != NULL
			     : !*tt_file_repaired(file),
		      "\"%s\" not in \"%s\"", words, tt_file_repaired(file));
}

START_TEST(without_a_policy_there_is_no_mark)
{
	struct tt_file *file;

	create();
	file = open_sync(TT_SYNC_NONE);
	put(file, 0, 5);
	OK(tt_file_sync(file, &err));
	OK(tt_file_grow(file, 200, &err));
	put(file, 5, 5);
	ck_assert_uint_eq(entries(), 1);
	tt_file_close(file);
	ck_assert_uint_eq(entries(), 1);
	holds("f.npy", 0, 10);
}
END_TEST

START_TEST(unsynced_rows_are_cut_and_kept)
{
	struct tt_file *file;
	struct row row;

	create();
	lose_power(7, 5);
	holds("f.npy", 0, 7); /* before any writer */
	OK(tt_file_open(&file, "f.npy", NULL, &err));
	ck_assert_int_eq(tt_file_copy(file, 7, 1, &row, &err), TT_E_RANGE);
	ck_assert_int_eq(tt_file_copy(file, 6, 2, &row, &err), TT_E_RANGE);
	tt_file_close(file);
	file = open_sync(_i ? DAY : TT_SYNC_NONE);
	repaired(file, "5 rows that were not synced before the power loss were cut, now "
		       "f.npy.cut");
	holds("f.npy.cut", 7, 5);
	holds("f.npy", 0, 7);
	put(file, 7, 2);
	tt_file_close(file);
	holds("f.npy", 0, 9);
	ck_assert_int_eq(is_there("f.npy.mark"), _i != 0);
	file = open_sync(_i ? DAY : TT_SYNC_NONE);
	repaired(file, "");
	tt_file_close(file);
	ck_assert_uint_eq(entries(), _i ? 3 : 2);
}
END_TEST

START_TEST(killed_writer_loses_nothing_in_the_same_boot)
{
	struct tt_file *file;

	create();
	DIES(write_and_sync(7, 5));
	holds("f.npy", 0, 12);
	file = open_sync(DAY);
	repaired(file, "");
	tt_file_close(file);
	holds("f.npy", 0, 12);
	ck_assert_int_ge(age_file("f.npy"), 0);
	holds("f.npy", 0, 12); /* closed: holds in every boot */
	file = open_sync(DAY);
	repaired(file, "");
	tt_file_close(file);
	holds("f.npy", 0, 12);
}
END_TEST

START_TEST(each_append_is_marked)
{
	create();
	DIES({
		struct tt_file *file = open_sync(TT_SYNC_EACH);

		put(file, 0, 9);
	});
	ck_assert_int_gt(age_file("f.npy"), 0);
	holds("f.npy", 0, 9);
	tt_file_close(open_sync(DAY));
	holds("f.npy", 0, 9);
}
END_TEST

START_TEST(readers_go_on_with_the_next_writer)
{
	struct tt_file *reader, *file;
	struct tt_view view;

	create();
	lose_power(3, 4);
	OK(tt_file_open(&reader, "f.npy", NULL, &err));
	ck_assert_uint_eq(tt_file_size(reader), 3);
	ck_assert_int_eq(tt_file_wait(reader, 3, TT_WAIT_SLEEP, 3000000), 0);
	file = open_sync(_i ? DAY : TT_SYNC_NONE);
	ck_assert_uint_eq(tt_file_size(reader), 3);
	put(file, 3, 2);
	ck_assert_int_eq(tt_file_wait(reader, 3, TT_WAIT_SLEEP, 1000000000), 1);
	OK(tt_file_data(reader, &view));
	ck_assert_uint_eq(view.count, 5);
	ck_assert_int_eq(((const struct row *)view.rows)[4].number, 4);
	tt_file_close(file);
	tt_file_close(reader);
}
END_TEST

static void copy_bytes(const char *from, const char *to, bool in_place)
{
	static char bytes[1 << 16];
	int in = open(from, O_RDONLY), out;
	ssize_t n = read(in, bytes, sizeof(bytes));

	if (!in_place)
		unlink(to);
	out = open(to, O_WRONLY | O_CREAT | (in_place ? 0 : O_EXCL), 0644);
	ck_assert_int_gt(n, 0);
	ck_assert_int_lt(n, (ssize_t)sizeof(bytes));
	ck_assert_int_eq(write(out, bytes, (size_t)n), n);
	close(in);
	close(out);
}

/* Another file under the name, or other bytes in its place. */
START_TEST(mark_of_another_file_cuts_nothing)
{
	struct tt_file *file;

	create();
	file = open_sync(TT_SYNC_NONE);
	put(file, 50, 20);
	tt_file_close(file);
	ck_assert_int_eq(rename("f.npy", "other.npy"), 0);
	create();
	lose_power(3, 4);
	copy_bytes("other.npy", "f.npy", _i == 1);
	holds("f.npy", 50, 20);
	file = open_sync(DAY);
	ck_assert_ptr_null(strstr(tt_file_repaired(file), "cut"));
	tt_file_close(file);
	holds("f.npy", 50, 20);
	ck_assert(!is_there("f.npy.cut"));
}
END_TEST

static void grow_and_write(void)
{
	struct tt_file *file = open_sync(DAY);

	put(file, 0, 5);
	OK(tt_file_grow(file, 300, &err));
	put(file, 5, 5);
}

START_TEST(mark_follows_a_file_that_grows)
{
	struct tt_file *file;

	create();
	DIES(grow_and_write());
	ck_assert_int_gt(age_file("f.npy"), 0);
	holds("f.npy", 0, 5);
	file = open_sync(DAY);
	repaired(file, "5 rows");
	tt_file_close(file);
	holds("f.npy", 0, 5);
}
END_TEST

static void write_and_update(void)
{
	struct tt_file *file = open_sync(DAY);
	struct row row = { 1, 0.5 };

	put(file, 0, 5);
	OK(tt_file_sync(file, &err));
	row.number = 77;
	OK(tt_file_update(file, 1, &row, 1, &err));
	put(file, 5, 3);
}

START_TEST(updated_rows_are_no_damage)
{
	struct tt_file *file;
	struct row row;

	create();
	DIES(write_and_update());
	ck_assert_int_gt(age_file("f.npy"), 0);
	file = open_sync(DAY);
	repaired(file, "3 rows");
	ck_assert_uint_eq(tt_file_size(file), 5);
	OK(tt_file_copy(file, 1, 1, &row, &err));
	ck_assert_int_eq(row.number, 77);
	tt_file_close(file);
}
END_TEST

START_TEST(tail_behind_its_mark_is_raised)
{
	struct tt_file *file;
	struct stat st;
	uint64_t end = 2;
	int fd;

	create();
	lose_power(5, 0);
	fd = open("f.npy", O_RDWR);
	fstat(fd, &st);
	ck_assert_int_eq(pwrite(fd, &end, 8, st.st_size - 32), 8);
	close(fd);
	holds("f.npy", 0, 2);
	file = open_sync(DAY);
	repaired(file, "set to 5");
	tt_file_close(file);
	holds("f.npy", 0, 5);
}
END_TEST

START_TEST(mark_goes_with_the_name)
{
	create();
	lose_power(3, 4);
	OK(tt_file_rename("f.npy", "g.npy", &err));
	ck_assert(!is_there("f.npy.mark"));
	holds("g.npy", 0, 3);
	OK(tt_file_remove("g.npy", &err));
	ck_assert_uint_eq(entries(), 0);
	create();
	lose_power(3, 4);
	OK(tt_file_clear("f.npy", &err));
	holds("f.npy", 0, 0);
	ck_assert(!is_there("f.npy.mark"));
	holds("f.npy.cut", 3, 4);
}
END_TEST

START_TEST(what_is_not_ours_is_left_alone)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;
	FILE *out;

	create();
	out = fopen("f.npy.mark", "w");
	fputs("a note of somebody", out);
	fclose(out);
	tt_file_close(open_sync(TT_SYNC_NONE));
	ck_assert(is_there("f.npy.mark"));
	opts.access = TT_WRITE;
	opts.sync_ms = DAY;
	ck_assert_int_eq(tt_file_open(&file, "f.npy", &opts, &err), TT_E_FORMAT);
	OK(tt_file_remove("f.npy", &err));
	ck_assert(is_there("f.npy.mark"));
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_test(tcase, without_a_policy_there_is_no_mark);
	tcase_add_loop_test(tcase, unsynced_rows_are_cut_and_kept, 0, 2);
	tcase_add_test(tcase, killed_writer_loses_nothing_in_the_same_boot);
	tcase_add_test(tcase, each_append_is_marked);
	tcase_add_loop_test(tcase, readers_go_on_with_the_next_writer, 0, 2);
	tcase_add_loop_test(tcase, mark_of_another_file_cuts_nothing, 0, 2);
	tcase_add_test(tcase, mark_follows_a_file_that_grows);
	tcase_add_test(tcase, updated_rows_are_no_damage);
	tcase_add_test(tcase, tail_behind_its_mark_is_raised);
	tcase_add_test(tcase, mark_goes_with_the_name);
	tcase_add_test(tcase, what_is_not_ours_is_left_alone);
}

int main(void)
{
	return ring_suite_with("marks of files", add);
}
