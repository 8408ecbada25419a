/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of marks that are lost after a power loss: whichever it is, and however much of it, the
 * mark that is left hides and cuts no row that was synced; recover says the doubt, mends the
 * slot, and --cut-unproven cuts by what is left.  Of rings and of FILE.mark. */
#include "reboot_help.h"

#include <glob.h>
#include "ticktail/file.h"
#include "live/ring_mark.h"
#include "ticktail/recover.h"

#define ROWS_FIRST 20 /* that the last mark but one covers */
#define ROWS 30	      /* that the last one covers */
#define MORE 7	      /* that none does */
#define SLOT(i) (TTI_MARKS_OFF + (i)*TTI_SETTINGS_STRIDE)

static struct tt_recover_report report;

/* ---- How it is lost ---- */

struct loss {
	const char *name;
	off_t at, in_file; /* of .ticktail; of FILE.mark, -1 none */
	size_t n, n_in_file;
	char byte;
};
static const struct loss losses[] = {
	{ "slot 0 zeroed", SLOT(0), 0, 64, 128, 0 },
	{ "slot 1 zeroed", SLOT(1), 512, 64, 128, 0 },
	{ "slot 0's first half", SLOT(0), 0, 32, 64, 0 },
	{ "slot 1's first half", SLOT(1), 512, 32, 64, 0 },
	{ "slot 0's last half", SLOT(0) + 32, 64, 32, 64, 0 },
	{ "slot 1's last half", SLOT(1) + 32, 576, 32, 64, 0 },
	{ "slot 0 garbage", SLOT(0), 0, 64, 128, 0x55 },
	{ "slot 1 garbage", SLOT(1), 512, 64, 128, 0x55 },
	{ "from before slot 0", SLOT(0) - 159, 0, 290, 200, 0 },
	{ "both", SLOT(0), 0, 576, 640, 0 },
	{ "both and what is before", SLOT(0) - 2000, 0, 4000, 1024, 0 },
	{ "settings and both", TTI_SETTINGS_OFF, -1, SLOT(1) + 64 - TTI_SETTINGS_OFF, 0,
	  0 },
	{ "settings and slot 0", TTI_SETTINGS_OFF, -1, SLOT(0) + 64 - TTI_SETTINGS_OFF, 0,
	  0 },
};
#define LOSSES ((int)(sizeof(losses) / sizeof(losses[0])))

static void lose(const char *path, const struct loss *loss, bool in_file)
{
	static char bytes[1 << 14];
	size_t n = in_file ? loss->n_in_file : loss->n;

	printf("# %s\n", loss->name);
	fflush(stdout);
	memset(bytes, loss->byte, n);
	put_bytes(path, bytes, n, in_file ? loss->in_file : loss->at);
}

static bool both_are_lost(const struct loss *loss)
{
	return strstr(loss->name, "both") != NULL;
}

static bool says(const char *words)
{
	for (size_t i = 0; i < report.item_count; i++)
		if (strstr(report.items[i].what, words))
			return true;
	return false;
}

/* ---- Rings ---- */

/* marks: 1 the file's first mark only, 2 or 3 so that the last one is in either slot. */
static void write_marked(int marks)
{
	struct tt_ring_writer *writer = open_alone("r");

	for (int64_t at = 0; at < ROWS; at += 10) {
		put_rows(writer, at, 10);
		if (at + 10 == ROWS || (at + 10 == ROWS_FIRST && marks > 1) ||
		    (at == 0 && marks > 2))
			OK(tt_ring_sync(writer, &err));
	}
	put_rows(writer, ROWS, MORE);
	_exit(0);
}

static void make_lost_ring(int marks)
{
	pid_t pid;
	int status = 0;

	create_synced(100, 3);
	pid = fork();
	if (pid == 0)
		write_marked(marks);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_gt(age_ring("r"), 1);
}

static void recover_ring(bool cut)
{
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();

	opts.cut_unproven = cut;
	opts.dtype = dtype;
	tt_recover_report_free(&report);
	OK(tt_ring_recover("r", &opts, &report, &err));
	for (size_t i = 0; i < report.item_count; i++)
		printf("# %s: %s\n", report.items[i].path, report.items[i].what);
	fflush(stdout);
	ck_assert_uint_eq(report.left, 0);
	tt_dtype_unref(dtype);
}

static void ring_goes_on(int64_t first)
{
	struct tt_ring_writer *writer = open_alone("r");

	put_rows(writer, first, 5);
	tt_ring_writer_close(writer);
	ck_assert_uint_eq(count_damage(), 0);
}

#define MARKS(i) ((i) / LOSSES + 1)
#define LOSS(i) (&losses[(i) % LOSSES])

START_TEST(a_ring_is_recovered)
{
	const struct loss *loss = LOSS(_i);

	make_lost_ring(MARKS(_i));
	lose("r/.ticktail", loss, false);
	shows(ROWS + MORE);
	ck_assert_uint_gt(count_damage() + both_are_lost(loss), 0);
	recover_ring(false);
	shows(ROWS + MORE);
	ck_assert_uint_eq(count_damage(), 0);
	if (!both_are_lost(loss)) { /* no mark, and a last store of this boot: no doubt */
		ck_assert(says("unproven after a reboot"));
		ck_assert(says("of the marks was damaged"));
		recover_ring(false);
		ck_assert_uint_eq(report.item_count, 1);
		ck_assert(says("unproven after a reboot"));
	}
	recover_ring(true);
	ck_assert_uint_eq(count_damage(), 0);
	ck_assert_uint_eq(ring_rows() + report.rows_cut, ROWS + MORE);
	if (!both_are_lost(loss))
		ck_assert_uint_ge(report.rows_cut, MORE);
	recover_ring(true);
	ck_assert_uint_eq(report.item_count, 0);
	ring_goes_on(100);
	tt_recover_report_free(&report);
}
END_TEST

START_TEST(a_feed_goes_on)
{
	make_lost_ring(MARKS(_i));
	lose("r/.ticktail", LOSS(_i), false);
	ring_goes_on(ROWS + MORE);
	shows(ROWS + MORE + 5);
	/* its marks count again: nothing is in doubt in the next boot */
	ck_assert_int_ge(age_ring("r"), 0);
	recover_ring(false);
	ck_assert_uint_eq(report.item_count, 0);
	shows(ROWS + MORE + 5);
	tt_recover_report_free(&report);
}
END_TEST

/* Closed cleanly, in this boot or before another: there is no doubt. */
START_TEST(a_closed_ring_is_not_doubted)
{
	struct tt_ring_writer *writer;

	create_synced(100, 3);
	writer = open_alone("r");
	put_rows(writer, 0, 10);
	OK(tt_ring_sync(writer, &err));
	if (_i >= LOSSES)
		OK(tt_ring_sync(writer, &err));
	tt_ring_writer_close(writer);
	ck_assert_int_ge(age_ring("r"), 0);
	lose("r/.ticktail", LOSS(_i), false);
	shows(10);
	recover_ring(false);
	shows(10);
	ck_assert_uint_eq(count_damage(), 0);
	recover_ring(true);
	shows(10);
	ring_goes_on(10);
	tt_recover_report_free(&report);
}
END_TEST

/* What takes a checksum back does not make a mark that stands alone count again. */
START_TEST(a_change_does_not_pair_a_mark)
{
	struct tti_ring ring;
	struct tti_mark mark;
	bool sure;

	make_lost_ring(3);
	lose("r/.ticktail", LOSS(_i), false);
	OK(tti_ring_open(&ring, "r", true, &err));
	ck_assert_int_eq(tti_ring_mark_load_sure(&ring, &mark, &sure), 1);
	ck_assert(!sure);
	OK(tti_ring_mark_changing(&ring, mark.file, 0, &err));
	ck_assert_int_eq(tti_ring_mark_load_sure(&ring, &mark, &sure), 1);
	ck_assert(!sure);
	ck_assert_uint_eq(mark.from, mark.end);
	tti_ring_close(&ring);
	shows(ROWS + MORE);
}
END_TEST

/* ---- Single files ---- */

static void write_marked_file(int marks)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct row row = { 0 };
	struct tt_file *file;

	opts.access = TT_WRITE;
	opts.no_helper = true;
	opts.sync_ms = 86400000;
	OK(tt_file_open(&file, "f.npy", &opts, &err));
	for (row.number = 0; row.number < ROWS + MORE; row.number++) {
		if (row.number == ROWS || (row.number == ROWS_FIRST && marks > 1) ||
		    (row.number == 10 && marks > 2))
			OK(tt_file_sync(file, &err));
		OK(tt_file_append(file, &row, 1));
	}
	_exit(0);
}

static void make_lost_file(int marks)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	int status = 0;
	pid_t pid;

	opts.capacity = 100;
	OK(tt_file_create("f.npy", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	pid = fork();
	if (pid == 0)
		write_marked_file(marks);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_gt(age_file("f.npy"), 0);
}

static uint64_t file_rows(void)
{
	struct tt_file *file;
	struct tt_view view;

	OK(tt_file_open(&file, "f.npy", NULL, &err));
	OK(tt_file_data(file, &view));
	for (uint64_t i = 0; i < view.count; i++)
		ck_assert_int_eq(((const struct row *)view.rows)[i].number, (int64_t)i);
	tt_file_close(file);
	return view.count;
}

static void recover_file(bool cut)
{
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;

	opts.cut_unproven = cut;
	tt_recover_report_free(&report);
	OK(tt_file_recover("f.npy", &opts, &report, &err));
	for (size_t i = 0; i < report.item_count; i++)
		printf("# %s: %s\n", report.items[i].path, report.items[i].what);
	fflush(stdout);
}

static uint64_t file_damage(void)
{
	uint64_t found = 0;

	OK(tt_file_verify("f.npy", NULL, NULL, &found, &err));
	return found;
}

START_TEST(a_file_is_recovered)
{
	const struct loss *loss = LOSS(_i);
	uint64_t rows;

	if (loss->in_file < 0)
		return;
	make_lost_file(MARKS(_i));
	lose("f.npy.mark", loss, true);
	ck_assert_uint_eq(file_rows(), ROWS + MORE);
	recover_file(false);
	ck_assert_uint_eq(file_rows(), ROWS + MORE);
	if (both_are_lost(loss)) {
		ck_assert_uint_eq(file_damage(), 0);
	} else { /* it stays until somebody chooses */
		ck_assert_uint_gt(report.left, 0);
		ck_assert(says("--cut-unproven"));
		ck_assert_uint_gt(file_damage(), 0);
	}
	recover_file(true);
	ck_assert_uint_eq(report.left, 0);
	rows = file_rows();
	ck_assert_uint_eq(rows + report.rows_cut, ROWS + MORE);
	if (!both_are_lost(loss))
		ck_assert_uint_ge(report.rows_cut, MORE);
	ck_assert_uint_eq(file_damage(), 0);
	recover_file(true);
	ck_assert_uint_eq(report.item_count, 0);
	tt_recover_report_free(&report);
}
END_TEST

START_TEST(a_files_writer_goes_on)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	const struct row row = { .number = ROWS + MORE };
	struct tt_file *file;

	if (LOSS(_i)->in_file < 0)
		return;
	make_lost_file(MARKS(_i));
	lose("f.npy.mark", LOSS(_i), true);
	opts.access = TT_WRITE;
	opts.no_helper = true;
	opts.sync_ms = 86400000;
	OK(tt_file_open(&file, "f.npy", &opts, &err));
	ck_assert_int_eq(both_are_lost(LOSS(_i)),
			 strstr(tt_file_repaired(file), "unproven") == NULL);
	OK(tt_file_append(file, &row, 1));
	tt_file_close(file);
	ck_assert_uint_eq(file_damage(), 0);
	ck_assert_int_ge(age_file("f.npy"), 0);
	ck_assert_uint_eq(file_rows(), ROWS + MORE + 1);
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_loop_test(tcase, a_ring_is_recovered, 0, 3 * LOSSES);
	tcase_add_loop_test(tcase, a_feed_goes_on, 0, 3 * LOSSES);
	tcase_add_loop_test(tcase, a_closed_ring_is_not_doubted, 0, 2 * LOSSES);
	tcase_add_loop_test(tcase, a_change_does_not_pair_a_mark, 0, 9);
	tcase_add_loop_test(tcase, a_file_is_recovered, 0, 3 * LOSSES);
	tcase_add_loop_test(tcase, a_files_writer_goes_on, 0, 3 * LOSSES);
}

int main(void)
{
	return ring_suite_with("lost marks", add);
}
