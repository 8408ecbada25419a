/* SPDX-License-Identifier: Apache-2.0 */
/* Recovering single files, by kinds of damage: each row that was kept is there once, verify finds
 * nothing, a writer has nothing to repair, and a second call does nothing. */
#include "recover_help.h"

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

static void add(TCase *tcase)
{
	tcase_add_loop_test(tcase, each_kind_of_damage_of_a_file, 0, (int)KINDS);
	tcase_add_test(tcase, whole_file_is_left_alone);
	tcase_add_test(tcase, dry_run_changes_nothing);
	tcase_add_test(tcase, cut_bytes_are_kept);
	tcase_add_test(tcase, unproven_rows_are_cut_on_demand);
	tcase_add_test(tcase, file_that_is_written_is_refused);
	tcase_add_test(tcase, plain_array_cut_short_stays_plain);
}

int main(void)
{
	return ring_suite_with("recover", add);
}
