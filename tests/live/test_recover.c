/* SPDX-License-Identifier: Apache-2.0 */
/* Recovering files and rings: kinds of damage by places, and damage at random (TT_SEED replays,
 * TT_LONG=1 for the full count).  Afterwards verify finds nothing, a writer has nothing to
 * repair, each row that was kept is there once, and a second call does nothing. */
#include "live/ring_help.h"

#include "format/settings.h"
#include "format/tail.h"
#include "ticktail/recover.h"

#define ROWS 40
#define CAPACITY 64
#define ROW_BYTES 16
#define DATA_OFF 192
#define TAIL_OFF (DATA_OFF + CAPACITY * ROW_BYTES)

static struct tt_recover_report report;

/* ---- Damage ---- */

static void poke(const char *path, off_t at, const void *bytes, size_t n)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	if (at < 0)
		at += lseek(fd, 0, SEEK_END);
	ck_assert_int_eq(pwrite(fd, bytes, n, at), (ssize_t)n);
	close(fd);
}

static void zero(const char *path, off_t at, size_t n)
{
	void *zeros = calloc(n, 1);

	poke(path, at, zeros, n);
	free(zeros);
}

static off_t size_of(const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_size;
}

static void cut_to(const char *path, off_t bytes)
{
	ck_assert_int_eq(truncate(path, bytes), 0);
}

static void put_word(const char *path, unsigned word, uint64_t value)
{
	poke(path, (off_t)(8 * word) - 40, &value, 8);
}

static void break_descr(const char *path)
{
	char header[DATA_OFF];
	char *at;

	read_file(path, header, sizeof(header));
	at = memmem(header, sizeof(header), "'descr'", 7);
	ck_assert_ptr_nonnull(at);
	poke(path, at + 1 - header, "D\001", 2);
}

static void break_extent(const char *path, const char *digits)
{
	char header[DATA_OFF];
	char *at;

	read_file(path, header, sizeof(header));
	at = memmem(header, sizeof(header), "64,)", 4);
	ck_assert_ptr_nonnull(at);
	poke(path, at - header, digits, 2);
}

/* ---- Single files ---- */

static void make_file(const char *path)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct row rows[ROWS];

	for (int i = 0; i < ROWS; i++)
		rows[i] = (struct row){ i, i + 0.5 };
	opts.capacity = CAPACITY;
	opts.rows = rows;
	opts.row_count = ROWS;
	OK(tt_file_create(path, dtype, &opts, &err));
	ck_assert_int_eq(size_of(path), TAIL_OFF + 40);
	tt_dtype_unref(dtype);
}

static void damage_nothing(const char *path)
{
	(void)path;
}
static void damage_empty(const char *path)
{
	cut_to(path, 0);
}
static void damage_cut_magic(const char *path)
{
	cut_to(path, 5);
}
static void damage_cut_header(const char *path)
{
	cut_to(path, 77);
}
static void damage_cut_rows(const char *path)
{
	cut_to(path, DATA_OFF + 163);
}
static void damage_cut_at_tail(const char *path)
{
	cut_to(path, TAIL_OFF);
}
static void damage_cut_in_tail(const char *path)
{
	cut_to(path, TAIL_OFF + 20);
}
static void damage_cut_last(const char *path)
{
	cut_to(path, TAIL_OFF + 39);
}
static void damage_zero_tail(const char *path)
{
	zero(path, -40, 40);
}
static void damage_magic(const char *path)
{
	put_word(path, 4, 7);
}
static void damage_offset(const char *path)
{
	put_word(path, 3, 7);
}
static void damage_end(const char *path)
{
	put_word(path, 1, 1000);
}
static void damage_start(const char *path)
{
	put_word(path, 0, 100);
}
static void damage_prefix(const char *path)
{
	zero(path, 0, 10);
}
static void damage_length(const char *path)
{
	poke(path, 8, "\377\377", 2);
}
static void damage_descr(const char *path)
{
	break_descr(path);
}
static void damage_header(const char *path)
{
	zero(path, 0, DATA_OFF);
}
static void damage_extent(const char *path)
{
	break_extent(path, "32");
}
static void damage_extent_up(const char *path)
{
	break_extent(path, "96");
}
static void damage_garbage(const char *path)
{
	static const char garbage[] =
		"garbage that is not so short as a tail is, of 64 bytes..........";

	poke(path, size_of(path), garbage, 64);
}
static void damage_odd(const char *path)
{
	poke(path, size_of(path), "xyz", 3);
}
static void damage_hole(const char *path)
{
	zero(path, DATA_OFF + 160, 160);
}
static void damage_all(const char *path)
{
	zero(path, 0, (size_t)size_of(path));
}

enum { TOLD = 1 /* what a row is must be said */, IN_PLACE = 2 };
static const struct kind {
	const char *name;
	void (*damage)(const char *path);
	uint64_t kept, unproven, bytes_cut;
	int flags;
} kinds[] = {
	{ "empty", damage_empty, 0, 0, 0, TOLD },
	{ "cut in the magic", damage_cut_magic, 0, 0, 0, TOLD },
	{ "cut in the header", damage_cut_header, 0, 0, 0, TOLD },
	{ "cut in the rows", damage_cut_rows, 10, 10, 3, 0 },
	{ "cut at the tail", damage_cut_at_tail, ROWS, ROWS, 0, 0 },
	{ "cut in the tail", damage_cut_in_tail, ROWS, 0, 0, 0 },
	{ "cut by one byte", damage_cut_last, ROWS, 0, 0, 0 },
	{ "tail zeroed", damage_zero_tail, ROWS, ROWS, 0, 0 },
	{ "magic of the tail", damage_magic, ROWS, 0, 0, 0 },
	{ "offset of the tail", damage_offset, ROWS, 0, 0, 0 },
	{ "end out of range", damage_end, ROWS, ROWS, 0, 0 },
	{ "start past the end", damage_start, ROWS, 0, 0, 0 },
	{ "prefix zeroed", damage_prefix, ROWS, 0, 0, 0 },
	{ "header length", damage_length, ROWS, 0, 0, 0 },
	{ "descr", damage_descr, ROWS, 0, 0, TOLD },
	{ "header zeroed", damage_header, ROWS, 0, 0, TOLD },
	{ "extent too small", damage_extent, ROWS, 0, 0, IN_PLACE },
	{ "extent too large", damage_extent_up, ROWS, 0, 0, 0 },
	{ "garbage behind", damage_garbage, ROWS, 0, 64, 0 },
	{ "three bytes behind", damage_odd, ROWS, 0, 3, 0 },
	{ "all zeroed", damage_all, 0, 0, 0, TOLD },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void no_damage(const char *path)
{
	uint64_t found = 99;

	OK(tt_file_verify(path, NULL, NULL, &found, &err));
	ck_assert_uint_eq(found, 0);
}

static void expect_rows(const char *path, uint64_t count)
{
	struct tt_file *file;
	struct tt_view view;

	OK(tt_file_open(&file, path, NULL, &err));
	ck_assert_int_eq(tt_file_data(file, &view), 0);
	ck_assert_uint_eq(view.count, count);
	for (uint64_t i = 0; i < count; i++)
		ck_assert_int_eq(((const struct row *)view.rows)[i].number, (int64_t)i);
	tt_file_close(file);
}

static void goes_on(const char *path, uint64_t count)
{
	const struct row row = { (int64_t)count, 1.0 };
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;

	opts.access = TT_WRITE;
	OK(tt_file_open(&file, path, &opts, &err));
	ck_assert_str_eq(tt_file_repaired(file), "");
	if (tt_file_room(file) == 0)
		OK(tt_file_grow(file, 1, &err));
	ck_assert_int_eq(tt_file_append(file, &row, 1), 0);
	tt_file_close(file);
	expect_rows(path, count + 1);
}

static bool same_bytes(const char *a, const char *b)
{
	char command[128];

	snprintf(command, sizeof(command), "cmp -s %s %s", a, b);
	return system(command) == 0;
}

START_TEST(each_kind_of_damage_of_a_file)
{
	const struct kind *kind = &kinds[_i];
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	int rc;

	make_file("f.npy");
	kind->damage("f.npy");
	ck_assert_int_eq(system("cp f.npy damaged"), 0);
	rc = tt_file_recover("f.npy", &opts, &report, &err);
	if (kind->flags & TOLD) {
		ck_assert_msg(rc == TT_E_DAMAGED, "%s: %d", kind->name, rc);
		ck_assert_ptr_nonnull(strstr(err.text, "--dtype"));
		ck_assert(same_bytes("f.npy", "damaged"));
		opts.dtype = dtype;
		tt_recover_report_free(&report);
		rc = tt_file_recover("f.npy", &opts, &report, &err);
	}
	ck_assert_msg(rc == 0, "%s: %s", kind->name, err.text);
	ck_assert_msg(report.item_count == 1, "%s: %zu items", kind->name,
		      report.item_count);
	ck_assert_msg(report.rows_kept == kind->kept, "%s: kept %" PRIu64, kind->name,
		      report.rows_kept);
	ck_assert_msg(report.rows_unproven == kind->unproven, "%s: unproven %" PRIu64,
		      kind->name, report.rows_unproven);
	ck_assert_msg(report.bytes_cut == kind->bytes_cut, "%s: cut %" PRIu64, kind->name,
		      report.bytes_cut);
	ck_assert_str_gt(report.items[0].what, "");
	if (kind->flags & IN_PLACE) {
		ck_assert_int_eq(report.items[0].did, TT_RECOVER_MENDED);
	} else {
		ck_assert_int_eq(report.items[0].did, TT_RECOVER_REPLACED);
		ck_assert(same_bytes(report.items[0].aside, "damaged"));
	}
	tt_recover_report_free(&report);
	no_damage("f.npy");
	expect_rows("f.npy", kind->kept);
	OK(tt_file_recover("f.npy", NULL, &report, &err));
	ck_assert_uint_eq(report.item_count, 0);
	ck_assert_uint_eq(report.rows_kept, kind->kept);
	goes_on("f.npy", kind->kept);
	tt_dtype_unref(dtype);
}
END_TEST

START_TEST(whole_file_is_left_alone)
{
	make_file("f.npy");
	damage_nothing("f.npy");
	ck_assert_int_eq(system("cp f.npy before"), 0);
	OK(tt_file_recover("f.npy", NULL, &report, &err));
	ck_assert_uint_eq(report.item_count, 0);
	ck_assert_uint_eq(report.rows_kept, ROWS);
	ck_assert(same_bytes("f.npy", "before"));
	ck_assert_int_lt(access("f.npy.bad-1", F_OK), 0);
	damage_hole("f.npy"); /* zeros are rows like any others */
	OK(tt_file_recover("f.npy", NULL, &report, &err));
	ck_assert_uint_eq(report.item_count, 0);
}
END_TEST

START_TEST(dry_run_changes_nothing)
{
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;

	make_file("f.npy");
	damage_cut_rows("f.npy");
	ck_assert_int_eq(system("cp f.npy before"), 0);
	opts.dry_run = true;
	opts.keep_cut = "cut";
	OK(tt_file_recover("f.npy", &opts, &report, &err));
	ck_assert_uint_eq(report.item_count, 1);
	ck_assert_uint_eq(report.rows_kept, 10);
	ck_assert(same_bytes("f.npy", "before"));
	ck_assert_int_lt(access("cut", F_OK), 0);
	ck_assert_int_lt(access("f.npy.bad-1", F_OK), 0);
	tt_recover_report_free(&report);
}
END_TEST

START_TEST(cut_bytes_are_kept)
{
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;
	char bytes[64];

	make_file("f.npy");
	damage_garbage("f.npy");
	opts.keep_cut = "cut";
	OK(tt_file_recover("f.npy", &opts, &report, &err));
	ck_assert_int_eq(size_of("cut"), 64);
	read_file("cut", bytes, 64);
	ck_assert_int_eq(memcmp(bytes, "garbage that", 12), 0);
	tt_recover_report_free(&report);
	/* one that holds something else is not written over */
	damage_odd("f.npy");
	ck_assert_int_eq(tt_file_recover("f.npy", &opts, &report, &err), -EEXIST);
	tt_recover_report_free(&report);
	ck_assert_int_eq(size_of("cut"), 64);
	opts.keep_cut = "cut2";
	OK(tt_file_recover("f.npy", &opts, &report, &err));
	ck_assert_int_eq(access("f.npy.bad-2", F_OK), 0);
	tt_recover_report_free(&report);
	expect_rows("f.npy", ROWS);
}
END_TEST

START_TEST(unproven_rows_are_cut_on_demand)
{
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;

	make_file("f.npy");
	damage_zero_tail("f.npy");
	opts.cut_unproven = true;
	opts.keep_cut = "cut";
	OK(tt_file_recover("f.npy", &opts, &report, &err));
	ck_assert_uint_eq(report.rows_kept, 0);
	ck_assert_uint_eq(report.rows_cut, ROWS);
	ck_assert_int_eq(size_of("cut"), ROWS * ROW_BYTES);
	tt_recover_report_free(&report);
	goes_on("f.npy", 0);
}
END_TEST

START_TEST(file_that_is_written_is_refused)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;

	make_file("f.npy");
	opts.access = TT_WRITE;
	OK(tt_file_open(&file, "f.npy", &opts, &err));
	damage_magic("f.npy");
	ck_assert_int_eq(tt_file_recover("f.npy", NULL, &report, &err), TT_E_BUSY);
	tt_file_close(file);
}
END_TEST

START_TEST(plain_array_cut_short_stays_plain)
{
	static const char dict[] =
		"\x93NUMPY\x01\x00\x76\x00{'descr': '<i8', 'fortran_order': False, "
		"'shape': (9,), }";
	char bytes[128 + 72];
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;
	struct tt_file_info info;

	memset(bytes, ' ', 128);
	memcpy(bytes, dict, sizeof(dict) - 1);
	bytes[127] = '\n';
	for (int64_t i = 0; i < 9; i++)
		memcpy(bytes + 128 + 8 * i, &i, 8);
	write_file("p.npy", bytes, 128 + 44);
	OK(tt_file_recover("p.npy", NULL, &report, &err));
	ck_assert_uint_eq(report.rows_kept, 5);
	ck_assert_uint_eq(report.rows_lost, 4);
	ck_assert_uint_eq(report.bytes_cut, 4); /* half a row */
	tt_recover_report_free(&report);
	opts.plain = true;
	OK(tt_file_open(&file, "p.npy", &opts, &err));
	OK(tt_file_info(file, &info, &err));
	ck_assert_uint_eq(info.tail_words, 0);
	ck_assert_uint_eq(info.end, 5);
	tt_file_close(file);
}
END_TEST

/* ---- Rings ---- */

#define FILES 6
#define RING_ROWS (FILES * CAPACITY - 10)

static struct tt_ring_info before;

/* Files 0 and 1 left the queue, 2 to 4 are sealed, 5 takes rows. */
static void make_ring(void)
{
	struct tt_ring_writer *writer;

	create_ring("r", CAPACITY, 4);
	writer = open_writer("r");
	put_rows(writer, 1, RING_ROWS);
	tt_ring_writer_close(writer);
	before = ring_info("r");
	ck_assert_uint_eq(before.file_count, FILES);
}

static const char *file_path(size_t i)
{
	static char path[96];

	snprintf(path, sizeof(path), "r/%s", before.files[i].file_name);
	return path;
}

static void tell(void *ctx, const struct tt_damage *damage)
{
	(void)ctx;
	printf("# %s: %s\n", damage->path, damage->what);
	fflush(stdout);
}

static void ring_is_clean(void)
{
	uint64_t found = 99;

	OK(tt_ring_verify("r", tell, NULL, &found, &err));
	ck_assert_uint_eq(found, 0);
}

static void print_report(const char *when)
{
	for (size_t i = 0; i < report.item_count; i++)
		printf("# %s: %s: %s (kept %" PRIu64 ", lost %" PRIu64 ")\n", when,
		       report.items[i].path, report.items[i].what,
		       report.items[i].rows_kept, report.items[i].rows_lost);
	fflush(stdout);
}

/* Places ascend, each comes at most once; seen[i] says whether row i came (random damage may
 * have changed a row's number to another one's).  The number lost. */
static uint64_t read_ring(bool seen[RING_ROWS])
{
	struct tt_pos pos, last = { 0, 0 };
	struct tt_ring_reader *reader = open_reader("r");
	struct tt_view view;
	uint64_t lost;
	int rc;

	memset(seen, 0, RING_ROWS);
	while ((rc = tt_ring_read(reader, 1000, 0, &view, &pos, &err)) == 1) {
		ck_assert(pos.file > last.file ||
			  (pos.file == last.file && pos.row >= last.row));
		last = (struct tt_pos){ pos.file, pos.row + view.count };
		for (uint64_t i = 0; i < view.count; i++) {
			int64_t number = ((const struct row *)view.rows)[i].number;

			if (number > 0 && number <= RING_ROWS)
				seen[number - 1] = true;
		}
	}
	ck_assert_msg(rc == 0, "%s", err.text);
	lost = tt_ring_reader_lost(reader);
	tt_ring_reader_close(reader);
	return lost;
}

static void ring_goes_on(void)
{
	struct tt_ring_writer *writer = open_writer("r");
	struct tt_ring_reader *reader;
	struct tt_view view;

	ck_assert_str_eq(tt_ring_writer_repaired(writer), "");
	reader = open_reader("r");
	OK(tt_ring_seek_last(reader, &err));
	put_rows(writer, RING_ROWS + 1, 100);
	for (int64_t next = RING_ROWS + 1; next <= RING_ROWS + 100;) {
		ck_assert_msg(tt_ring_read(reader, 1000, 0, &view, NULL, &err) == 1, "%s",
			      err.text);
		for (uint64_t i = 0; i < view.count; i++)
			ck_assert_int_eq(((const struct row *)view.rows)[i].number,
					 next++);
	}
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}

static void recover_ring(const char *when)
{
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();

	opts.dtype = dtype;
	OK(tt_ring_recover("r", &opts, &report, &err));
	print_report(when);
	ck_assert_uint_eq(report.left, 0);
	tt_recover_report_free(&report);
	ring_is_clean();
	OK(tt_ring_recover("r", &opts, &report, &err));
	print_report("again");
	ck_assert_uint_eq(report.item_count, 0);
	tt_recover_report_free(&report);
	ring_is_clean();
	tt_dtype_unref(dtype);
}

static const struct ring_kind {
	const char *name;
	void (*damage)(const char *path);
	uint64_t lost; /* of the full file 3 */
} ring_kinds[] = {
	{ "empty", damage_empty, CAPACITY },
	{ "cut in the header", damage_cut_header, CAPACITY },
	{ "cut in the rows", damage_cut_rows, CAPACITY - 10 },
	{ "cut at the tail", damage_cut_at_tail, 0 },
	{ "cut in the tail", damage_cut_in_tail, 0 },
	{ "tail zeroed", damage_zero_tail, 0 },
	{ "magic of the tail", damage_magic, 0 },
	{ "end out of range", damage_end, 0 },
	{ "start past the end", damage_start, 0 },
	{ "prefix zeroed", damage_prefix, 0 },
	{ "descr", damage_descr, 0 },
	{ "header zeroed", damage_header, 0 },
	{ "extent too small", damage_extent, 0 },
	{ "extent too large", damage_extent_up, 0 },
	{ "garbage behind", damage_garbage, 0 },
	{ "all zeroed", damage_all, 0 },
};
#define RING_KINDS (sizeof(ring_kinds) / sizeof(ring_kinds[0]))

/* A sealed file: all is known of it. */
START_TEST(each_kind_of_damage_of_a_sealed_file)
{
	const struct ring_kind *kind = &ring_kinds[_i];
	static bool seen[RING_ROWS];
	bool zeroed = kind->damage == damage_all;

	for (size_t at = 0; at <= 3; at += 3) {
		uint64_t lost;

		make_ring();
		kind->damage(file_path(at));
		recover_ring(kind->name);
		lost = read_ring(seen);
		ck_assert_msg(lost == kind->lost, "%s: lost %" PRIu64, kind->name, lost);
		for (size_t i = 0; i < RING_ROWS; i++) {
			size_t row = i - at * CAPACITY;
			bool there = row >= CAPACITY ||
				     (!zeroed && row < CAPACITY - kind->lost);

			ck_assert_msg(seen[i] == there, "%s: row %zu", kind->name, i);
		}
		ring_goes_on();
		ring_is_clean();
		tt_ring_info_free(&before);
		ck_assert_int_eq(system("rm -rf r"), 0);
	}
}
END_TEST

START_TEST(each_kind_of_damage_of_the_newest_file)
{
	const struct ring_kind *kind = &ring_kinds[_i];
	static bool seen[RING_ROWS];

	make_ring();
	kind->damage(file_path(FILES - 1));
	recover_ring(kind->name);
	read_ring(seen);
	for (size_t i = 0; i < RING_ROWS; i++) {
		size_t row = i - (FILES - 1) * CAPACITY;
		bool gone = row < CAPACITY &&
			    (kind->damage == damage_all || row >= CAPACITY - kind->lost);

		ck_assert_msg(seen[i] == !gone, "%s: row %zu", kind->name, i);
	}
	ring_goes_on();
	ring_is_clean();
	tt_ring_info_free(&before);
}
END_TEST

START_TEST(damaged_merged_file)
{
	static bool seen[RING_ROWS];
	uint64_t merged = 0, lost;
	char path[128];

	make_ring();
	OK(tt_ring_merge("r", 2, NULL, NULL, &merged, &err));
	ck_assert_uint_eq(merged, 2);
	snprintf(path, sizeof(path), "%s_", file_path(0));
	cut_to(path, DATA_OFF + 100 * ROW_BYTES);
	recover_ring("merged");
	lost = read_ring(seen);
	ck_assert_uint_eq(lost, 2 * CAPACITY - 100);
	for (size_t i = 0; i < RING_ROWS; i++)
		ck_assert_int_eq(seen[i], i < 100 || i >= 2 * CAPACITY);
	ring_goes_on();
	tt_ring_info_free(&before);
}
END_TEST

/* Manifest and settings. */
static void lose_manifest(void)
{
	ck_assert_int_eq(unlink("r/.lock"), 0);
}
static void zero_manifest(void)
{
	zero("r/.lock", 0, 32);
}
static void odd_manifest(void)
{
	cut_to("r/.lock", 13);
}
static void fall_manifest(void)
{
	zero("r/.lock", 16, 8);
	poke("r/.lock", 8, "\1\0\0\0\0\0\0\0", 8);
}
static void wrong_newest(void)
{
	uint64_t name = before.files[FILES - 1].name - 1;

	poke("r/.lock", 24, &name, 8);
}
static void lose_settings(void)
{
	ck_assert_int_eq(unlink("r/.ticktail"), 0);
}
static void zero_settings(void)
{
	zero("r/.ticktail", 0, (size_t)size_of("r/.ticktail"));
}
static void settings_header(void)
{
	poke("r/.ticktail", 3, "?", 1);
}
static void settings_copy(void)
{
	poke("r/.ticktail", 0x230, "?", 1);
}
static void settings_dirt(void)
{
	poke("r/.ticktail", 0x900, "?", 1);
}
static void settings_words(void)
{
	poke("r/.ticktail", 0x1080, "????????", 8);
}
static void settings_marks(void)
{
	poke("r/.ticktail", 0x2000, "????????", 8);
}
static void cut_settings(void)
{
	cut_to("r/.ticktail", 0x5000 + 150);
}
static void entry_word(unsigned entry, unsigned word, uint64_t value)
{
	poke("r/.ticktail", 0x5000 + 128 * entry + 8 * word, &value, 8);
}
static void entry_rows(void)
{
	entry_word(2, 2, 9);
}
static void entry_rows_huge(void)
{
	entry_word(2, 2, UINT64_MAX - 1);
}
static void entry_base(void)
{
	entry_word(2, 8, UINT64_C(1) << 40);
}
static void entry_base_low(void)
{
	entry_word(3, 8, 1);
}
static void entry_claim(void)
{
	entry_word(1, 9, 0);
}
static void entry_merged(void)
{
	entry_word(1, 6, 12345);
}
static void entry_twice(void)
{
	char entry[128];
	int fd = open("r/.ticktail", O_RDWR | O_CLOEXEC);

	ck_assert_int_eq(pread(fd, entry, 128, 0x5000 + 128), 128);
	ck_assert_int_eq(pwrite(fd, entry, 128, 0x5000 + 20 * 128), 128);
	close(fd);
}
static void leftovers(void)
{
	write_file("r/.next", "half", 4);
	write_file("r/.merge", "half", 4);
	write_file("r/.ticktail.new", "half", 4);
	write_file("r/.ticktail-1a2b.new", "half", 4);
}

static void (*const shared_damage[])(void) = {
	lose_manifest,	zero_manifest,	 odd_manifest,	fall_manifest, lose_settings,
	zero_settings,	settings_header, settings_copy, settings_dirt, settings_words,
	settings_marks, cut_settings,	 entry_rows,	entry_base,    entry_base_low,
	entry_claim,	entry_merged,	 entry_twice,	leftovers,     entry_rows_huge,
	wrong_newest,
};
#define SHARED (sizeof(shared_damage) / sizeof(shared_damage[0]))

START_TEST(each_kind_of_damage_of_what_is_shared)
{
	static bool seen[RING_ROWS];

	make_ring();
	shared_damage[_i]();
	recover_ring("shared");
	ck_assert_uint_eq(read_ring(seen), 0);
	for (size_t i = 0; i < RING_ROWS; i++)
		ck_assert_msg(seen[i], "row %zu", i);
	ring_goes_on();
	ring_is_clean();
	ck_assert_int_lt(access("r/.ticktail-1a2b.new", F_OK), 0);
	tt_ring_info_free(&before);
}
END_TEST

START_TEST(merge_without_its_entries)
{
	static bool seen[RING_ROWS];
	uint64_t merged;

	make_ring();
	ck_assert_int_eq(system("cp -a r keep"), 0);
	OK(tt_ring_merge("r", 2, NULL, NULL, &merged, &err));
	/* as if it had died before it removed what it joined, and the entries were lost */
	ck_assert_int_eq(system("cp -an keep/*.npy r/"), 0);
	lose_settings();
	recover_ring("merge");
	ck_assert_uint_eq(read_ring(seen), 0);
	for (size_t i = 0; i < RING_ROWS; i++)
		ck_assert_msg(seen[i], "row %zu", i);
	tt_ring_info_free(&before);
	before = ring_info("r");
	ck_assert_uint_eq(before.rows, RING_ROWS);
	tt_ring_info_free(&before);
}
END_TEST

START_TEST(merge_whose_file_is_damaged_is_taken_back)
{
	static bool seen[RING_ROWS];
	char path[128];
	uint64_t merged;

	make_ring();
	ck_assert_int_eq(system("cp -a r keep"), 0);
	OK(tt_ring_merge("r", 2, NULL, NULL, &merged, &err));
	ck_assert_int_eq(system("cp -an keep/*.npy r/"), 0);
	snprintf(path, sizeof(path), "%s_", file_path(0));
	cut_to(path, 300);
	recover_ring("merge");
	ck_assert_uint_eq(read_ring(seen), 0);
	for (size_t i = 0; i < RING_ROWS; i++)
		ck_assert_msg(seen[i], "row %zu", i);
	ring_goes_on();
	tt_ring_info_free(&before);
}
END_TEST

START_TEST(ring_that_is_written_is_refused)
{
	struct tt_ring_writer *writer;

	make_ring();
	writer = open_writer("r");
	ck_assert_int_eq(tt_ring_recover("r", NULL, &report, &err), TT_E_BUSY);
	ck_assert_int_eq(tt_file_recover(file_path(1), NULL, &report, &err),
			 TT_E_UNSUPPORTED);
	tt_ring_writer_close(writer);
	tt_ring_info_free(&before);
}
END_TEST

static off_t entry_off(uint64_t name)
{
	int fd = open("r/.ticktail", O_RDONLY | O_CLOEXEC);
	off_t at = TTI_ENTRIES_OFF;
	uint64_t found = 0;

	while (pread(fd, &found, 8, at) == 8 && found != name)
		at += 128;
	close(fd);
	ck_assert_uint_eq(found, name);
	return at;
}

/* An entry that says so, wherever in the file, keeps readers from what stands behind it: the
 * feed goes on in another file, and no row of it is passed over. */
START_TEST(newest_file_that_is_said_to_be_cut)
{
	static const uint64_t cuts[] = { 0, 10, CAPACITY, UINT64_C(1) << 60 };
	uint64_t newest;
	off_t entry;

	make_ring();
	newest = before.files[FILES - 1].name;
	entry = entry_off(newest);
	poke("r/.ticktail", entry + (off_t)offsetof(struct tti_entry, cut_at), &cuts[_i],
	     8);
	ring_goes_on();
	ring_is_clean();
	tt_ring_info_free(&before);
}
END_TEST

START_TEST(stored_positions_stay_true)
{
	struct tt_ring_reader *reader;
	struct tt_view view;
	struct tt_pos pos;

	make_ring();
	damage_cut_rows(file_path(3));
	recover_ring("positions");
	reader = open_reader("r");
	pos = (struct tt_pos){ before.files[3].name, 7 };
	OK(tt_ring_seek(reader, pos, &err));
	ck_assert_int_eq(tt_ring_read(reader, 1, 0, &view, NULL, &err), 1);
	ck_assert_int_eq(((const struct row *)view.rows)->number, 3 * CAPACITY + 8);
	tt_ring_reader_close(reader);
	tt_ring_info_free(&before);
}
END_TEST

/* ---- At random ---- */

static uint64_t state;

static uint64_t random_below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? state % n : 0;
}

#define SETTINGS_USED (0x5000 + 128 * (FILES + 2))

static void damage_at_random(const char *path)
{
	off_t size = size_of(path), at = (off_t)random_below((uint64_t)size + 1);
	uint8_t byte;

	if (size == 0)
		return;
	/* most of a settings file is room: half of the blows go where something stands */
	if (size > SETTINGS_USED && random_below(2))
		at = (off_t)random_below(SETTINGS_USED);
	if (at == size)
		at--;
	switch (random_below(4)) {
	case 0:
		read_file(path, &byte, 1);
		byte = (uint8_t)random_below(256);
		poke(path, at, &byte, 1);
		break;
	case 1: zero(path, at, (size_t)random_below((uint64_t)(size - at) + 1)); break;
	case 2: cut_to(path, at); break;
	default: poke(path, size, "some garbage", random_below(13)); break;
	}
}

/* What once failed: a wrong name as the newest of the manifest, with a newer file there. */
static const uint64_t once_failed[] = {
	UINT64_C(14882259341274189635),
	UINT64_C(2146342493130489967),
	UINT64_C(13184764482403752503),
	UINT64_C(4257691000258107711),
};
#define ONCE_FAILED ((int)(sizeof(once_failed) / sizeof(once_failed[0])))

START_TEST(damage_at_random_places)
{
	static bool seen[RING_ROWS];
	const char *seed = getenv("TT_SEED");
	bool hit[FILES] = { false }, merged_hit = false, is_merged, entries_hit = false;
	int blows;
	uint64_t merged = 0;

	state = seed ? strtoull(seed, NULL, 10)
		     : (uint64_t)tti_clock_realtime_ns() * 2654435761u + (uint64_t)_i;
	if (_i < ONCE_FAILED && !seed)
		state = once_failed[_i];
	state |= 1;
	printf("# TT_SEED=%" PRIu64 "\n", state);
	fflush(stdout);
	make_ring();
	is_merged = random_below(3) == 0;
	if (is_merged)
		OK(tt_ring_merge("r", 2, NULL, NULL, &merged, &err));
	blows = 1 + (int)random_below(3);
	for (int i = 0; i < blows; i++) {
		uint64_t at = random_below(FILES + 2);
		char path[128];

		if (at < FILES) {
			snprintf(path, sizeof(path), "%s%s", file_path(at),
				 is_merged && at < 2 ? "_" : "");
			if (is_merged && at < 2) {
				snprintf(path, sizeof(path), "%s_", file_path(0));
				merged_hit = true;
			}
			hit[at] = true;
		} else {
			strcpy(path, at == FILES ? "r/.lock" : "r/.ticktail");
			entries_hit = entries_hit || at > FILES;
		}
		damage_at_random(path);
	}
	recover_ring("random");
	read_ring(seen);
	for (size_t i = 0; i < RING_ROWS; i++) {
		size_t file = i / CAPACITY;

		/* an entry may have been made to say that its file was cut */
		if (!hit[file] && !(merged_hit && file < 2) && !entries_hit)
			ck_assert_msg(seen[i], "row %zu of an unhurt file", i);
	}
	ring_goes_on();
	ring_is_clean();
	tt_ring_info_free(&before);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("recover");
	TCase *file = tcase_create("file"), *ring = tcase_create("ring"),
	      *random = tcase_create("random");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(file, 60);
	tcase_set_timeout(ring, 60);
	tcase_set_timeout(random, 60);
	tcase_add_checked_fixture(file, make_work_dir, drop_work_dir);
	tcase_add_checked_fixture(ring, make_work_dir, drop_work_dir);
	tcase_add_checked_fixture(random, make_work_dir, drop_work_dir);
	tcase_add_loop_test(file, each_kind_of_damage_of_a_file, 0, (int)KINDS);
	tcase_add_test(file, whole_file_is_left_alone);
	tcase_add_test(file, dry_run_changes_nothing);
	tcase_add_test(file, cut_bytes_are_kept);
	tcase_add_test(file, unproven_rows_are_cut_on_demand);
	tcase_add_test(file, file_that_is_written_is_refused);
	tcase_add_test(file, plain_array_cut_short_stays_plain);
	tcase_add_loop_test(ring, each_kind_of_damage_of_a_sealed_file, 0,
			    (int)RING_KINDS);
	tcase_add_loop_test(ring, each_kind_of_damage_of_the_newest_file, 0,
			    (int)RING_KINDS);
	tcase_add_test(ring, damaged_merged_file);
	tcase_add_loop_test(ring, each_kind_of_damage_of_what_is_shared, 0, (int)SHARED);
	tcase_add_test(ring, merge_without_its_entries);
	tcase_add_test(ring, merge_whose_file_is_damaged_is_taken_back);
	tcase_add_test(ring, ring_that_is_written_is_refused);
	tcase_add_loop_test(ring, newest_file_that_is_said_to_be_cut, 0, 4);
	tcase_add_test(ring, stored_positions_stay_true);
	tcase_add_loop_test(random, damage_at_random_places, 0,
			    getenv("TT_LONG") ? 2000 : 60);
	suite_add_tcase(suite, file);
	suite_add_tcase(suite, ring);
	suite_add_tcase(suite, random);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
