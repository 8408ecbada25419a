/* SPDX-License-Identifier: Apache-2.0 */
/* Killed at every step: a child goes through all operations on live files and dies at one
 * named place; then everything must open, with every row that was acknowledged, and nothing
 * else must lie around.  Linked with the library that has the failpoints. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/npy.h"
#include "format/tail.h"
#include "lib/mp.h"
#include "lib/tmpdir.h"
#include "live/file_helpers.h"
#include "ticktail/file.h"

#define DEADLINE 120
#define PASSAGES 3 /* each place is met at its 1st, 2nd and 3rd passage */

/* What the child has been told is done, in memory that outlives it. */
struct record {
	int64_t appended; /* rows of a.npy */
	bool created, cleared, merged, backed_up;
};

struct crash {
	const char *name;
	int passage;
	struct record *record;
};

#define MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			return 1; \
		} \
	} while (0)

/* ---- The files before ---- */

static void save_plain(const char *path, bool room)
{
	const uint64_t shape = 5;
	struct tt_dtype *dtype = parse_dtype("i8");
	void *header = NULL;
	size_t len;
	char bytes[256];

	ck_assert_int_eq(tti_npy_format(&header, &len,
					&(struct tti_npy_form){ dtype, 1, &shape, false },
					NULL),
			 0);
	ck_assert_uint_eq(len, 128);
	memcpy(bytes, header, len);
	if (!room) { /* the dict moved behind all the spaces */
		size_t dict = strcspn(bytes + 10, "}") + 1;

		memmove(bytes + 127 - dict, bytes + 10, dict);
		memset(bytes + 10, ' ', 127 - dict - 10);
		bytes[127] = '\n';
	}
	for (int64_t i = 0; i < 5; i++)
		memcpy(bytes + 128 + 8 * i, &i, 8);
	spit(path, bytes, 128 + 40);
	free(header);
	tt_dtype_unref(dtype);
}

/* As a writer leaves it that died while growing and, before, while changing rows. */
static void break_tail(const char *path)
{
	const uint64_t stamp = UINT64_C(0x1122334455FFFF), magic = TTI_TAIL_SUPERSEDED;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END);

	ck_assert_int_eq(pwrite(fd, &stamp, 8, size - 24), 8);
	ck_assert_int_eq(pwrite(fd, &magic, 8, size - 8), 8);
	close(fd);
}

static void make_files(void)
{
	make_file("a.npy", "i8", 8);
	fill_file("changed.npy", 6);
	fill_file("cleared.npy", 6);
	fill_file("merged.npy", 8);
	fill_file("other.npy", 4);
	fill_file("broken.npy", 6);
	break_tail("broken.npy");
	save_plain("roomy.npy", true);
	save_plain("tight.npy", false);
}

/* ---- The child ---- */

static struct tt_file *open_write(const char *path)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;

	opts.access = TT_WRITE;
	return tt_file_open(&file, path, &opts, NULL) < 0 ? NULL : file;
}

static int append_and_grow(struct record *record)
{
	struct tt_file *file = open_write("a.npy");

	MUST(file);
	for (int64_t i = 0; i < 40; i++) {
		if (tt_file_room(file) == 0)
			MUST(tt_file_grow(file, 1, NULL) == 0);
		if (i % 4 == 3) {
			*(int64_t *)tt_file_reserve(file, 1) = i;
			MUST(tt_file_publish(file, 1) == 0);
		} else {
			MUST(tt_file_append(file, &i, 1) == 0);
		}
		record->appended = i + 1;
	}
	tt_file_close(file);
	return 0;
}

static int change(void)
{
	const int64_t rows[] = { -1, -2, -3 };
	struct tt_file *file = open_write("changed.npy");

	MUST(file);
	for (int i = 0; i < PASSAGES; i++)
		MUST(tt_file_update(file, 1, rows, 3, NULL) == 0);
	tt_file_close(file);
	return 0;
}

static int create(struct record *record)
{
	static const int64_t rows[] = { 0, 1, 2 };
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype;

	MUST(tt_dtype_parse(&dtype, "i8", 2, false, NULL) == 0);
	opts.capacity = 8;
	opts.rows = rows;
	opts.row_count = 3;
	MUST(tt_file_create("created.npy", dtype, &opts, NULL) == 0);
	record->created = true;
	tt_dtype_unref(dtype);
	return 0;
}

static int go_through_all(void *arg)
{
	const struct crash *crash = arg;
	struct record *record = crash->record;
	char place[128];

	if (crash->name) {
		snprintf(place, sizeof(place), "%s:%d", crash->name, crash->passage);
		setenv("TT_FAILPOINT", place, 1);
	}
	MUST(create(record) == 0);
	MUST(append_and_grow(record) == 0);
	MUST(change() == 0);
	MUST(tt_file_clear("cleared.npy", NULL) == 0);
	record->cleared = true;
	MUST(tt_file_merge("merged.npy", "other.npy", NULL) == 0);
	record->merged = true;
	MUST(tt_file_adopt("roomy.npy", 100, NULL, NULL) == 0);
	MUST(tt_file_adopt("tight.npy", 100, NULL, NULL) == 0);
	MUST(tt_file_backup("merged.npy", "backup.npy", NULL) == 0);
	record->backed_up = true;
	tt_file_close(open_write("broken.npy"));
	return 0;
}

/* ---- What must hold afterwards ---- */

static void check_counting(struct tt_file *file, int64_t rows)
{
	ck_assert_uint_eq(tt_file_size(file), (uint64_t)rows);
	for (int64_t i = 0; i < rows; i++)
		ck_assert_int_eq(*(const int64_t *)tt_file_at(file, i), i);
}

static void check_verified(const char *path)
{
	uint64_t found = 99;

	ck_assert_int_eq(tt_file_verify(path, NULL, NULL, &found, NULL), 0);
	ck_assert_msg(found == 0, "%s: damaged", path);
}

/* Opens for writing, still takes a row, and is sound. */
static struct tt_file *reopen(const char *path)
{
	return open_file(path, TT_WRITE);
}

static void check_appended(const struct record *record)
{
	struct tt_file *file = reopen("a.npy");
	int64_t rows = (int64_t)tt_file_size(file);

	ck_assert_int_ge(rows, record->appended);
	ck_assert_int_le(rows, record->appended + 1);
	check_counting(file, rows);
	ck_assert_int_eq(tt_file_grow(file, 1000, NULL), 0);
	ck_assert_int_eq(tt_file_append(file, &rows, 1), 0);
	check_counting(file, rows + 1);
	tt_file_close(file);
}

/* All old, all new, or said to be in between. */
static void check_changed(void)
{
	struct tt_file *file = reopen("changed.npy");
	int64_t rows[3];
	bool told = strstr(tt_file_repaired(file), "update") != NULL;
	bool old, new;

	ck_assert_int_eq(tt_file_copy_untorn(file, 1, 3, rows, NULL), 0);
	old = rows[0] == 1 && rows[1] == 2 && rows[2] == 3;
	new = rows[0] == -1 && rows[1] == -2 && rows[2] == -3;
	ck_assert(old || new || told);
	ck_assert_int_eq(*(const int64_t *)tt_file_at(file, 0), 0);
	ck_assert_int_eq(*(const int64_t *)tt_file_at(file, 4), 4);
	tt_file_close(file);
}

static void check_cleared(const struct record *record)
{
	struct tt_file *file = reopen("cleared.npy");
	uint64_t rows = tt_file_size(file);

	ck_assert(rows == 0 || (rows == 6 && !record->cleared));
	tt_file_close(file);
}

static void check_merged(const char *path, bool must)
{
	struct tt_file *file = reopen(path);
	uint64_t rows = tt_file_size(file);

	ck_assert(rows == 12 || (rows == 8 && !must));
	for (int64_t i = 0; i < (int64_t)rows; i++)
		ck_assert_int_eq(*(const int64_t *)tt_file_at(file, i),
				 i < 8 ? i : i - 8);
	tt_file_close(file);
}

static void check_adopted(const char *path)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;
	int rc;

	opts.plain = true; /* plain still, or live already: five rows */
	ck_assert_int_eq(tt_file_open(&file, path, &opts, NULL), 0);
	check_counting(file, 5);
	tt_file_close(file);
	rc = tt_file_adopt(path, 100, NULL, NULL); /* run again: done, or done before */
	ck_assert(rc == 0 || rc == TT_E_MISMATCH);
	file = reopen(path);
	check_counting(file, 5);
	ck_assert_uint_ge(tt_file_room(file), 95);
	tt_file_close(file);
}

static void check_created(const struct record *record)
{
	struct tt_file *file;

	if (access("created.npy", F_OK) < 0) {
		ck_assert(!record->created);
		return;
	}
	file = reopen("created.npy");
	check_counting(file, 3);
	tt_file_close(file);
}

/* Every entry is a file we know, and sound. */
static void check_directory(void)
{
	DIR *dir = opendir(".");

	for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
		if (e->d_name[0] == '.') {
			ck_assert_msg(strlen(e->d_name) <= 2, "left over: %s", e->d_name);
			continue;
		}
		check_verified(e->d_name);
	}
	closedir(dir);
}

static void check_all(const struct record *record)
{
	check_created(record);
	check_appended(record);
	check_changed();
	check_cleared(record);
	check_merged("merged.npy", record->merged);
	if (access("backup.npy", F_OK) == 0)
		check_merged("backup.npy", true);
	else
		ck_assert(!record->backed_up);
	check_adopted("roomy.npy");
	check_adopted("tight.npy");
	tt_file_close(reopen("broken.npy"));
	tt_file_close(reopen("other.npy"));
	check_directory();
}

/* ---- The names ---- */

static char names[128][64];
static int name_count;

static void load_names(void)
{
	const char *dir = getenv("top_srcdir");
	char path[4096];
	FILE *list;

	snprintf(path, sizeof(path), "%s/tests/live/crash_file.names", dir ? dir : "..");
	list = fopen(path, "r");
	if (!list) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(99);
	}
	while (name_count < 128 && fgets(names[name_count], sizeof(names[0]), list)) {
		names[name_count][strcspn(names[name_count], "\n")] = '\0';
		name_count++;
	}
	fclose(list);
}

START_TEST(nothing_is_lost_or_left_when_killed)
{
	struct crash crash = { .name = names[_i / PASSAGES],
			       .passage = _i % PASSAGES + 1,
			       .record = mp_shared(sizeof(struct record)) };
	int rc;

	make_files();
	rc = mp_wait(mp_spawn(go_through_all, &crash), DEADLINE);
	if (crash.passage == 1) /* every place is really there */
		ck_assert_msg(rc == -SIGKILL, "%s is never passed", crash.name);
	else
		ck_assert(rc == -SIGKILL || rc == 0);
	check_all(crash.record);
}
END_TEST

START_TEST(all_is_done_when_nobody_is_killed)
{
	struct crash crash = { .record = mp_shared(sizeof(struct record)) };

	make_files();
	ck_assert_int_eq(mp_wait(mp_spawn(go_through_all, &crash), DEADLINE), 0);
	check_all(crash.record);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("crash_file");
	TCase *tc = tcase_create("crash_file");
	SRunner *runner;
	int failed;

	load_names();
	tcase_add_checked_fixture(tc, tmpdir_enter, tmpdir_leave);
	tcase_set_timeout(tc, 600);
	tcase_add_test(tc, all_is_done_when_nobody_is_killed);
	tcase_add_loop_test(tc, nothing_is_lost_or_left_when_killed, 0,
			    name_count * PASSAGES);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
