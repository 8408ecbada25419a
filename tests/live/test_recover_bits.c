/* SPDX-License-Identifier: Apache-2.0 */
/* Each bit of header and tail of a file turned over, one at a time: files of rings that were
 * closed, whose writer was killed, or whose machine lost power, and single files.  Whatever the
 * bit made of them, as possible as the right one or not, recover brings each row back and shows
 * none that was not written.  TT_LONG=1 takes every bit, else a share (TT_SEED replays it). */
#include "recover_ring_help.h"

#include <dirent.h>

#include "age_mark.h"

#define UNSYNCED 9 /* rows behind the last mark of a writer that was killed */
#define SHARE 25   /* bits of each test by default */
#define HEADER_BITS (8 * DATA_OFF)
#define TAIL_BITS (8 * 40)

enum left { CLOSED, KILLED, LOST_POWER, LEFT_COUNT };
static const char *const left_words[] = { "closed", "killed", "power lost" };

static uint64_t state;

static uint64_t random_below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

static void seed(void)
{
	const char *text = getenv("TT_SEED");

	state = text ? strtoull(text, NULL, 10) : (uint64_t)tti_clock_realtime_ns();
	state |= 1;
	printf("# TT_SEED=%" PRIu64 "\n", state);
	fflush(stdout);
}

/* Memory where there is some: each bit costs a dozen syncs. */
static void enter_memory(void)
{
	make_work_dir();
	if (access("/dev/shm", W_OK) != 0)
		return;
	drop_work_dir();
	strcpy(work_dir, "/dev/shm/tt-ring-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(work_dir));
	ck_assert_int_eq(chdir(work_dir), 0);
}

/* ---- What is put back before each bit, without a process for it ---- */

#define KEPT_MAX 32

struct kept {
	char path[96];
	uint8_t *bytes;
	size_t n;
	struct timespec times[2];
};
static struct kept kept[KEPT_MAX];
static size_t kept_count;

static void keep_file(const char *path)
{
	struct kept *one = &kept[kept_count++];
	struct stat st;

	ck_assert_uint_le(kept_count, KEPT_MAX);
	ck_assert_int_eq(stat(path, &st), 0);
	snprintf(one->path, sizeof(one->path), "%s", path);
	one->n = (size_t)st.st_size;
	one->times[0] = st.st_atim;
	one->times[1] = st.st_mtim;
	one->bytes = malloc(one->n + 1);
	ck_assert_ptr_nonnull(one->bytes);
	if (one->n > 0)
		read_file(path, one->bytes, one->n);
}

static void put_back_file(const struct kept *one)
{
	int fd = open(one->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, one->bytes, one->n), (ssize_t)one->n);
	ck_assert_int_eq(futimens(fd, one->times), 0);
	close(fd);
}

/* Calls fn for each file in a directory; its name and a path in it. */
static void each_name(const char *dirname, void (*fn)(const char *name, const char *path))
{
	DIR *dir = opendir(dirname);
	struct dirent *entry;
	char path[300];

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
			snprintf(path, sizeof(path), "%s/%s", dirname, entry->d_name);
			fn(entry->d_name, path);
		}
	closedir(dir);
}

static void keep_name(const char *name, const char *path)
{
	(void)name;
	keep_file(path);
}

static void remove_name(const char *name, const char *path)
{
	(void)name;
	ck_assert_int_eq(unlink(path), 0);
}

static void remove_bad(const char *name, const char *path)
{
	if (strncmp(name, "f.npy.bad-", 10) == 0)
		ck_assert_int_eq(unlink(path), 0);
}

static void flip(const char *path, off_t bit)
{
	uint8_t byte;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	off_t at = bit < HEADER_BITS ? bit / 8
				     : size_of(path) - 40 + (bit - HEADER_BITS) / 8;

	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= (uint8_t)(1u << (bit % 8));
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* The bits of one test, one by one: true while there are more. */
static bool next_bit(off_t *bit)
{
	static int taken;

	if (getenv("TT_LONG"))
		return ++*bit < HEADER_BITS + TAIL_BITS;
	if (taken++ == SHARE)
		return false;
	/* tails are short, and so is what matters of a header */
	*bit = random_below(3) == 0 ? HEADER_BITS + (off_t)random_below(TAIL_BITS)
				    : (off_t)random_below(8 * 110);
	return true;
}

/* ---- Rings ---- */

static int64_t shown; /* rows that must be there: those numbered 1 to this */

static void write_ring(enum left left, uint64_t keep)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_ring_writer_opts alone = TT_RING_WRITER_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_ring_writer *writer;

	opts.capacity = CAPACITY;
	opts.keep = keep;
	opts.exact = true;
	opts.sync_ms = 86400000;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	alone.no_helper = true;
	OK(tt_ring_writer_open(&writer, "r", &alone, &err));
	put_rows(writer, 1, (uint64_t)shown - UNSYNCED);
	OK(tt_ring_sync(writer, &err));
	put_rows(writer, shown - UNSYNCED + 1, UNSYNCED);
	if (left == CLOSED)
		tt_ring_writer_close(writer);
	else
		_exit(0);
}

static void make_left_ring(enum left left, int64_t rows, uint64_t keep)
{
	int status = 0;
	pid_t pid;

	shown = rows;
	pid = fork();
	if (pid == 0) {
		write_ring(left, keep);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	if (left == LOST_POWER) {
		ck_assert_int_gt(age_ring("r"), 0);
		shown -= UNSYNCED;
	}
	before = ring_info("r");
	each_name("r", keep_name);
}

static void restore(void)
{
	each_name("r", remove_name);
	for (size_t i = 0; i < kept_count; i++)
		put_back_file(&kept[i]);
}

static void recover_once(bool typed)
{
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();

	opts.dtype = typed ? dtype : NULL;
	OK(tt_ring_recover("r", &opts, &report, &err));
	tt_dtype_unref(dtype);
}

/* Rows that must be there are missing, or others are there. */
static void count_rows(uint64_t *missing, uint64_t *others)
{
	static bool seen[RING_ROWS + 1];
	struct tt_ring_reader *reader = open_reader("r");
	struct tt_view view;
	int rc;

	memset(seen, 0, sizeof(seen));
	*missing = *others = 0;
	while ((rc = tt_ring_read(reader, 1000, 0, &view, NULL, &err)) == 1)
		for (uint64_t i = 0; i < view.count; i++) {
			int64_t number = ((const struct row *)view.rows)[i].number;

			if (number < 1 || number > shown || seen[number])
				++*others;
			else
				seen[number] = true;
		}
	ck_assert_msg(rc == 0, "%s", err.text);
	for (int64_t i = 1; i <= shown; i++)
		*missing += !seen[i];
	tt_ring_reader_close(reader);
}

/* Past the last mark of a writer that was killed nothing tells one end from another: rows behind
 * one may have been stored and not yet published, or are zeros that were. */
static bool is_end_undecided(enum left left, off_t bit)
{
	uint64_t end = (uint64_t)shown % CAPACITY, other;

	if (left != KILLED || bit < HEADER_BITS + 64 || bit >= HEADER_BITS + 128)
		return false;
	other = end ^ UINT64_C(1) << (bit - HEADER_BITS - 64);
	return other >= end - UNSYNCED;
}

/* A stamp that only another program stores: it wrote since the power came back, so nothing is
 * cut. */
static bool is_stamp_foreign(enum left left, off_t bit)
{
	return left == LOST_POWER && bit >= HEADER_BITS + 128 && bit < HEADER_BITS + 144;
}

static void check_ring(enum left left, off_t bit, size_t file, bool typed)
{
	uint64_t missing, others;
	bool newest = file + 1 == before.file_count;

	restore();
	flip(file_path(file), bit);
	recover_once(typed);
	count_rows(&missing, &others);
	if (missing || others || report.left)
		print_report("bits");
	ck_assert_msg(report.left == 0, "%s: bit %ld of file %zu: left", left_words[left],
		      (long)bit, file);
	if (!newest || !(is_end_undecided(left, bit) || is_stamp_foreign(left, bit))) {
		ck_assert_msg(missing == 0,
			      "%s: bit %ld of file %zu: %" PRIu64 " rows missing",
			      left_words[left], (long)bit, file, missing);
		ck_assert_msg(others == 0,
			      "%s: bit %ld of file %zu: %" PRIu64
			      " rows that nobody wrote",
			      left_words[left], (long)bit, file, others);
	}
	tt_recover_report_free(&report);
	recover_once(typed);
	print_report("again");
	ck_assert_msg(report.item_count == 0, "bit %ld of file %zu: again", (long)bit,
		      file);
	tt_recover_report_free(&report);
	ring_is_clean();
}

/* Files of a ring: left the queue, sealed, sealed last, newest. */
static const size_t places[] = { 0, 3, FILES - 2, FILES - 1 };

START_TEST(each_bit_of_a_file_of_a_ring)
{
	enum left left = (enum left)(_i / 4);
	off_t bit = -1;

	seed();
	make_left_ring(left, RING_ROWS, 4);
	ck_assert_uint_eq(before.file_count, FILES);
	while (next_bit(&bit))
		check_ring(left, bit, places[_i % 4], random_below(2));
	tt_ring_info_free(&before);
}
END_TEST

START_TEST(each_bit_of_the_only_file_of_a_ring)
{
	off_t bit = -1;

	seed();
	make_left_ring((enum left)_i, CAPACITY - 10, 4);
	while (next_bit(&bit))
		check_ring((enum left)_i, bit, 0, true);
	tt_ring_info_free(&before);
}
END_TEST

/* ---- Single files ---- */

static void write_left_file(bool killed)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct row rows[ROWS];
	struct tt_file *file;

	for (int i = 0; i < ROWS; i++)
		rows[i] = (struct row){ i, i + 0.5 };
	opts.access = TT_WRITE;
	opts.no_helper = true;
	opts.sync_ms = 86400000;
	OK(tt_file_open(&file, "f.npy", &opts, &err));
	OK(tt_file_append(file, rows, ROWS));
	OK(tt_file_sync(file, &err));
	if (killed)
		_exit(0);
	tt_file_close(file);
	_exit(0);
}

static void make_left_file(bool killed)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	int status;
	pid_t pid;

	opts.capacity = CAPACITY;
	OK(tt_file_create("f.npy", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	pid = fork();
	if (pid == 0)
		write_left_file(killed);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* In place: a mark speaks of its inode. */
static void put_back(const void *bytes, size_t n)
{
	each_name(".", remove_bad);
	ck_assert_int_eq(rename("held", "f.npy"), 0);
	unlink("held"); /* still there where both are one */
	unlink("f.npy.mark");
	put_back_file(&kept[0]);
	poke("f.npy", 0, bytes, n);
}

static bool is_file_row(const struct tt_view *view, uint64_t i)
{
	return ((const struct row *)view->rows)[i].number == (int64_t)i;
}

/* Of a file alone nothing tells a start or, past a mark, an end from one that somebody stored. */
static bool is_believed(off_t bit, bool killed)
{
	uint64_t end;

	if (bit >= HEADER_BITS && bit < HEADER_BITS + 64)
		return true;
	if (!killed || bit < HEADER_BITS + 64 || bit >= HEADER_BITS + 128)
		return false;
	end = ROWS ^ UINT64_C(1) << (bit - HEADER_BITS - 64);
	return end > ROWS && end <= CAPACITY;
}

static void check_file(off_t bit, bool killed)
{
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_file *file;
	struct tt_file_info info;
	struct tt_view view;
	uint64_t found = 1, wrong = 0;

	flip("f.npy", bit);
	opts.dtype = dtype;
	OK(tt_file_recover("f.npy", &opts, &report, &err));
	OK(tt_file_open(&file, "f.npy", NULL, &err));
	OK(tt_file_data(file, &view));
	OK(tt_file_info(file, &info, &err));
	ck_assert(tt_dtype_equal(info.dtype, dtype));
	for (uint64_t i = 0; i < view.count; i++)
		wrong += !is_file_row(&view, i);
	if (!is_believed(bit, killed)) {
		ck_assert_msg(wrong == 0, "bit %ld: %" PRIu64 " rows that nobody wrote",
			      (long)bit, wrong);
		ck_assert_msg(view.count == ROWS, "bit %ld: %" PRIu64 " rows", (long)bit,
			      view.count);
	}
	tt_file_close(file);
	tt_recover_report_free(&report);
	OK(tt_file_recover("f.npy", &opts, &report, &err));
	print_report("again");
	ck_assert_msg(report.item_count == 0, "bit %ld: again", (long)bit);
	tt_recover_report_free(&report);
	OK(tt_file_verify("f.npy", tell, NULL, &found, &err));
	ck_assert_msg(found == 0, "bit %ld", (long)bit);
	tt_dtype_unref(dtype);
}

START_TEST(each_bit_of_a_single_file)
{
	static char bytes[TAIL_OFF + 40];
	bool killed = _i;
	off_t bit = -1;

	seed();
	make_left_file(killed);
	read_file("f.npy", bytes, sizeof(bytes));
	keep_file("f.npy.mark");
	while (next_bit(&bit)) {
		ck_assert_int_eq(link("f.npy", "held"), 0);
		check_file(bit, killed);
		put_back(bytes, sizeof(bytes));
	}
}
END_TEST

static void add_tests(TCase *tcase)
{
	tcase_add_loop_test(tcase, each_bit_of_a_file_of_a_ring, 0, 4 * LEFT_COUNT);
	tcase_add_loop_test(tcase, each_bit_of_the_only_file_of_a_ring, 0, LEFT_COUNT);
	tcase_add_loop_test(tcase, each_bit_of_a_single_file, 0, 2);
}

int main(void)
{
	return run_suite(&(struct suite){ .name = "recover bits",
					  .enter = enter_memory,
					  .leave = drop_work_dir,
					  .timeout_s = 600,
					  .add = add_tests });
}
