/* SPDX-License-Identifier: Apache-2.0 */
/* Kills `recover --cut-unproven` of rings and files that no mark speaks for at every failpoint
 * that it passes.  Whatever stands then, no row is nowhere: recovering again leaves what one
 * run alone would have left, and a feed that comes first goes on.
 *
 * usage: crash_unproven NAME...   the failpoints of the cut; each must be passed */
#include <glob.h>

#include "crash_suite.h"
#include "reboot_help.h"
#include "ticktail/recover.h"

#define OLD_STAMP (UINT64_C(1) << 50) /* 1970 */
#define ROWS_MAX 64

static const char *const *wanted;
static int wanted_count;
static const char *path; /* what is recovered */

/* What a power loss left: rows 0 to proven - 1 are on disk for sure, and there are all. */
struct left {
	int64_t proven, all;
	int64_t gone; /* rows from here on are not in any file */
};
static struct left left;

/* ---- rings ---- */

/* A writer that does not sync dies with the machine. */
static int unsynced_feed(void *ctx)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer;
	const int64_t *rows = ctx;

	opts.sync_ms = TT_SYNC_NONE;
	opts.no_helper = true;
	OK(tt_ring_writer_open(&writer, "r", &opts, &err));
	put_rows(writer, rows[0], (uint64_t)rows[1]);
	return 0;
}

static void lose_unsynced(int64_t first, int64_t count)
{
	int64_t rows[2] = { first, count };

	ck_assert_int_eq(crash_run(unsynced_feed, rows), 0);
	ck_assert_int_gt(age_ring("r"), 0);
}

static void of_file(size_t i, char out[128])
{
	struct tt_ring_info info = ring_info("r");

	in_ring(out, info.files[i < info.file_count ? i : info.file_count - 1].name, "");
	tt_ring_info_free(&info);
}

static struct left never_synced(void)
{
	create_ring("r", 8, 3);
	lose_unsynced(0, 20);
	return (struct left){ 0, 20, 20 };
}

static struct left synced_before(void)
{
	struct tt_ring_writer *writer;

	create_synced(8, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 12);
	tt_ring_writer_close(writer);
	lose_unsynced(12, 9);
	return (struct left){ 12, 21, 21 };
}

/* Even the settings are gone: only the last store tells that there was a reboot. */
static struct left without_marks(void)
{
	uint64_t old = OLD_STAMP;
	char name[128];

	create_ring("r", 8, 3);
	lose_unsynced(0, 20);
	for (size_t i = 0; i < 3; i++) {
		of_file(i, name);
		put_bytes(name, &old, 8, tail_at(name, 2));
	}
	ck_assert_int_eq(unlink("r/.ticktail"), 0);
	return (struct left){ 0, 20, 20 };
}

static struct left newest_missing(void)
{
	char name[128];

	create_ring("r", 8, 3);
	lose_unsynced(0, 20);
	of_file(2, name);
	ck_assert_int_eq(unlink(name), 0);
	return (struct left){ 0, 20, 16 };
}

static struct left newest_torn(void)
{
	static const uint8_t zero[128];
	char name[128];

	create_ring("r", 8, 3);
	lose_unsynced(0, 20);
	of_file(2, name);
	put_bytes(name, zero, sizeof(zero), 0);
	return (struct left){ 0, 20, 16 };
}

/* Joined rows were synced when they were joined. */
static struct left joined(void)
{
	uint64_t merged;

	create_ring("r", 8, 2);
	lose_unsynced(0, 36);
	OK(tt_ring_merge("r", 0, NULL, NULL, &merged, &err));
	ck_assert_uint_eq(merged, 3);
	age_ring("r");
	return (struct left){ 24, 36, 36 };
}

/* ---- single files ---- */

static int put_file(void *ctx)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	const int64_t *rows = ctx;
	struct tt_file *file;

	opts.access = TT_WRITE;
	opts.sync_ms = rows[2];
	opts.no_helper = true;
	OK(tt_file_open(&file, "f.npy", &opts, &err));
	for (int64_t i = 0; i < rows[1]; i++) {
		struct row row = { rows[0] + i, 0.5 };

		ck_assert_int_eq(tt_file_append(file, &row, 1), 0);
	}
	if (opts.sync_ms > 0)
		OK(tt_file_sync(file, &err));
	return 0;
}

static void create_file(void)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();

	opts.capacity = ROWS_MAX;
	OK(tt_file_create("f.npy", dtype, &opts, &err));
	tt_dtype_unref(dtype);
}

static struct left file_without_mark(void)
{
	int64_t rows[3] = { 0, 15, TT_SYNC_NONE };
	uint64_t old = OLD_STAMP;

	create_file();
	ck_assert_int_eq(crash_run(put_file, rows), 0);
	put_bytes("f.npy", &old, 8, tail_at("f.npy", 2));
	return (struct left){ 0, 15, 15 };
}

/* Its rows are not those that were synced: nobody knows which of the two is wrong. */
static struct left file_not_of_its_mark(void)
{
	int64_t rows[3] = { 0, 9, 86400000 };
	const double odd = -1;
	uint64_t end = 15;

	create_file();
	ck_assert_int_eq(crash_run(put_file, rows), 0);
	for (int64_t i = 9; i < 15; i++) {
		struct row row = { i, 0.5 };

		put_bytes("f.npy", &row, sizeof(row),
			  tail_at("f.npy", 0) - ((ROWS_MAX - i) * 16));
	}
	put_bytes("f.npy", &end, 8, tail_at("f.npy", 1));
	put_bytes("f.npy", &odd, 8, tail_at("f.npy", 0) - ((ROWS_MAX - 3) * 16 - 8));
	ck_assert_int_gt(age_file("f.npy"), 0);
	return (struct left){ 9, 15, 15 };
}

static const struct state {
	const char *path;
	struct left (*lose)(void);
} states[] = {
	{ "r", never_synced },		{ "r", synced_before },
	{ "r", without_marks },		{ "r", newest_missing },
	{ "r", newest_torn },		{ "r", joined },
	{ "f.npy", file_without_mark }, { "f.npy", file_not_of_its_mark },
};
#define STATES ((int)(sizeof(states) / sizeof(states[0])))

static bool is_ring(void)
{
	return path[0] == 'r';
}

static void begin(int state)
{
	ck_assert_int_eq(system("rm -rf r f.npy* .f.npy*"), 0);
	path = states[state].path;
	left = states[state].lose();
}

/* ---- what is killed ---- */

static uint64_t items; /* of the last report */

static int recover(void *unused)
{
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;
	struct tt_recover_report report;
	int rc;

	(void)unused;
	opts.cut_unproven = true;
	rc = is_ring() ? tt_ring_recover(path, &opts, &report, &err)
		       : tt_file_recover(path, &opts, &report, &err);
	items = report.item_count;
	tt_recover_report_free(&report);
	if (rc < 0)
		printf("# recover: %s\n", err.text);
	return rc < 0;
}

/* ---- what must be there ---- */

static unsigned seen[ROWS_MAX]; /* how often each row is somewhere */

static void see(const struct row *rows, uint64_t count, const char *where)
{
	for (uint64_t i = 0; i < count; i++) {
		ck_assert_msg(rows[i].number >= 0 && rows[i].number < ROWS_MAX,
			      "%s: row %" PRId64, where, rows[i].number);
		seen[rows[i].number]++;
	}
}

static uint64_t see_file(const char *name, const char *where)
{
	struct tt_file *file;
	struct tt_view view;
	uint64_t count;

	OK(tt_file_open(&file, name, NULL, &err));
	OK(tt_file_data(file, &view));
	see(view.rows, view.count, where);
	count = view.count;
	tt_file_close(file);
	return count;
}

/* Rows that a reader is shown: from 0 on without a gap up to where *next tells. */
static void see_shown(int64_t *next, const char *where)
{
	struct tt_ring_reader *reader;
	struct tt_view view;

	*next = 0;
	if (!is_ring()) {
		*next = (int64_t)see_file(path, where);
		return;
	}
	reader = open_reader("r");
	while (tt_ring_read(reader, 100, 0, &view, NULL, &err) == 1) {
		see(view.rows, view.count, where);
		*next += (int64_t)view.count;
	}
	tt_ring_reader_close(reader);
}

static void see_cut(const char *where)
{
	glob_t found;

	if (glob(is_ring() ? "r/*.cut*" : "f.npy.cut*", 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		see_file(found.gl_pathv[i], where);
	globfree(&found);
}

static void is_whole(const char *where)
{
	uint64_t damage = 0;

	if (is_ring())
		OK(tt_ring_verify("r", NULL, NULL, &damage, &err));
	else
		OK(tt_file_verify("f.npy", NULL, NULL, &damage, &err));
	ck_assert_msg(damage == 0, "%s: damage", where);
}

/* Rows `first` and two more, of a feed that comes then. */
static void feed(int64_t first, const char *where)
{
	int64_t rows[3] = { first, 3, TT_SYNC_NONE };
	struct tt_ring_writer *writer;

	if (!is_ring()) {
		ck_assert_msg(crash_run(put_file, rows) == 0, "%s: the feed", where);
		return;
	}
	writer = open_writer("r");
	put_rows(writer, first, 3);
	tt_ring_writer_close(writer);
}

/* All rows that were there are in the ring or in .cut files. */
static void nothing_is_lost(bool once, const char *where)
{
	for (int64_t i = 0; i < left.gone; i++)
		ck_assert_msg(seen[i] >= 1 && (!once || seen[i] == 1),
			      "%s: row %" PRId64 " is there %u times", where, i, seen[i]);
}

static void check_recovered(const char *where)
{
	int64_t shown;

	recover(NULL);
	ck_assert_msg(recover(NULL) == 0 && items == 0,
		      "%s: a second run finds %" PRIu64 " things", where, items);
	memset(seen, 0, sizeof(seen));
	see_shown(&shown, where);
	ck_assert_msg(shown == left.proven, "%s: %" PRId64 " rows of %" PRId64, where,
		      shown, left.proven);
	see_cut(where);
	nothing_is_lost(true, where);
	is_whole(where);
	ck_assert_int_ne(access("r/.cut.tmp", F_OK), 0);
	ck_assert_int_ne(access(".f.npy.cut.tmp", F_OK), 0);
	feed(left.all, where);
	memset(seen, 0, sizeof(seen));
	see_shown(&shown, where);
	ck_assert_int_eq(shown, left.proven + 3);
	ck_assert_uint_eq(seen[left.all + 2], 1);
	is_whole(where);
}

/* A feed that knows nothing of it comes first: the doubt stays, as far as it was not cut. */
static void check_fed(const char *where)
{
	int64_t shown;

	feed(left.all, where);
	memset(seen, 0, sizeof(seen));
	see_shown(&shown, where);
	ck_assert_msg(shown >= left.proven + 3, "%s: %" PRId64 " rows", where, shown);
	for (int64_t i = 0; i < left.proven; i++)
		ck_assert_msg(seen[i] == 1, "%s: row %" PRId64, where, i);
	for (int64_t i = left.all; i < left.all + 3; i++)
		ck_assert_msg(seen[i] == 1, "%s: new row %" PRId64, where, i);
	see_cut(where);
	nothing_is_lost(false, where);
}

/* Three things may come next; by default each kill tries one, in turn. */
static void kill_at(int state, size_t turn, const char *name, unsigned nth)
{
	char where[96];

	snprintf(where, sizeof(where), "state %d, %s:%u", state, name, nth);
	for (int then = 0; then < 3; then++) {
		if (!getenv("TT_LONG") && then != (int)(turn + nth) % 3)
			continue;
		begin(state);
		ck_assert_msg(crash_kill(recover, NULL, name, nth), "%s", where);
		if (then == 1 && is_ring())
			age_ring(
				"r"); /* one more power loss, of which nothing was left */
		if (then < 2)
			check_recovered(where);
		else
			check_fed(where);
	}
}

START_TEST(killed_cuts_are_done_again)
{
	struct crash_passage passed[CRASH_NAMES_MAX];
	size_t count;

	begin(_i);
	ck_assert_int_eq(crash_run_logged(recover, NULL), 0);
	check_recovered("not killed");
	count = crash_passed(passed);
	for (size_t i = 0; i < count; i++) {
		unsigned last = passed[i].count;

		kill_at(_i, i + (size_t)_i, passed[i].name, 1);
		if (last > 1)
			kill_at(_i, i + (size_t)_i, passed[i].name, last);
		for (unsigned n = 2; getenv("TT_LONG") && n < last; n++)
			kill_at(_i, i + (size_t)_i, passed[i].name, n);
	}
}
END_TEST

START_TEST(every_failpoint_is_passed)
{
	for (int i = 0; i < STATES; i++) {
		begin(i);
		ck_assert_int_eq(crash_run_logged(recover, NULL), 0);
	}
	crash_need_passed(wanted, wanted_count);
}
END_TEST

int main(int argc, char **argv)
{
	wanted = (const char *const *)argv + 1;
	wanted_count = argc - 1;
	return crash_suite("killed cuts", killed_cuts_are_done_again, STATES,
			   every_failpoint_is_passed);
}
