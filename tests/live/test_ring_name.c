/* SPDX-License-Identifier: Apache-2.0 */
/* The next file has its name before the roll: what a roll then asks of the kernel, what others
 * see meanwhile, and when the name goes back. */
#include <sys/syscall.h>

#include "lib/mp.h"
#include "lib/quiet_thread.h"
#include "lib/sanitizers.h"
#include "name_help.h"
#include "ticktail/recover.h"
#include "ticktail/status.h"

START_TEST(next_file_gets_its_name_before_the_roll)
{
	struct tt_ring_writer *writer;
	uint64_t name;
	char path[64];

	create_ring("r", ROWS, 3);
	writer = name_ahead("r", 1);
	name = writer->next->name;
	file_path(path, name);
	ck_assert_int_eq(access(path, F_OK), 0);
	ck_assert_int_ne(access("r/.next", F_OK), 0);
	ck_assert_str_eq(writer->next->live.path, path);
	put_rows(writer, ROWS - 1, 2);
	ck_assert_uint_eq(tt_ring_writer_pos(writer).file, name);
	ck_assert_uint_eq(tt_ring_writer_pos(writer).row, 1);
	go_on(writer);
	check_rows("r", ROWS + 1);
	ck_assert_uint_eq(files_there(), 2);
}
END_TEST

START_TEST(name_goes_back_when_no_roll_comes_and_comes_again_with_rows)
{
	struct tt_ring_writer *writer;

	create_ring("r", ROWS, 3);
	writer = open_with("r", TT_SYNC_NONE, 250);
	put_rows(writer, 0, ROWS - 3);
	UNTIL(has_name(writer));
	UNTIL(atomic_load(&writer->next_state) == TTI_NEXT_READY);
	ck_assert_uint_eq(writer->next->name, 0);
	ck_assert_int_eq(access("r/.next", F_OK), 0);
	ck_assert_uint_eq(files_there(), 1);
	for (int64_t row = ROWS - 3; row < ROWS; row++)
		put_rows(writer, row, 1); /* three within a window */
	UNTIL(has_name(writer));
	put_rows(writer, ROWS, 1);
	ck_assert_int_eq(tt_ring_writer_close(writer), TT_OK);
	check_rows("r", ROWS + 1);
	ck_assert_uint_eq(files_there(), 2);
}
END_TEST

START_TEST(close_takes_the_name_away)
{
	create_ring("r", ROWS, 3);
	go_on(name_ahead("r", 2));
	ck_assert_uint_eq(files_there(), 1);
	ck_assert_int_ne(access("r/.next", F_OK), 0);
	check_rows("r", ROWS - 2);
}
END_TEST

/* ---- What the roll asks of the kernel ---- */

/* The pulse does, and has to be woken. */
static bool sleeps(const struct tt_ring_writer *writer)
{
	return tti_attention(&writer->duty) & TTI_ATTEND_ASLEEP;
}

struct feed {
	struct tt_ring_writer *writer;
	int64_t rows;
	unsigned clean; /* rolls of which all is known */
	unsigned loud;	/* those that made a call */
	int last;	/* its number */
};

static void put_one(struct feed *feed)
{
	put_rows(feed->writer, feed->rows++, 1);
}

/* The last row of a file, and the first of the next.  The row before woke the pulse, which
 * stays awake for ten milliseconds; what took longer says nothing. */
static void roll_once(struct feed *feed, const struct quiet *quiet)
{
	struct row row = { 0, 0 };
	struct tt_error why;
	uint64_t before, calls;
	int64_t begin;
	bool known;
	int rc, last;

	while (tti_writer_live(feed->writer)->end < ROWS - 1)
		put_one(feed);
	UNTIL(has_name(feed->writer));
	put_one(feed);
	row.number = feed->rows;
	begin = tti_clock_monotonic_ns();
	known = has_name(feed->writer) && !sleeps(feed->writer);
	before = quiet_calls(quiet);
	rc = tt_ring_append(feed->writer, &row, 1, NULL, &why);
	calls = quiet_calls(quiet) - before;
	last = quiet_last(quiet);
	ck_assert_int_eq(rc, TT_OK);
	feed->rows++;
	if (!known || tti_clock_monotonic_ns() - begin > 5000000)
		return;
	feed->clean++;
	/* ThreadSanitizer's runtime maps memory for its history of the thread */
	if (calls == 0 || (UNDER_TSAN && calls == 1 && last == SYS_mmap))
		return;
	feed->loud++;
	feed->last = last;
}

static void feed_quietly(const struct quiet *quiet, void *ctx)
{
	struct feed *feed = ctx;
	int64_t until = tti_clock_monotonic_ns() + DEADLINE_NS;

	while (feed->clean < 20 && tti_clock_monotonic_ns() < until)
		roll_once(feed, quiet);
}

START_TEST(a_roll_to_a_named_file_makes_no_system_call)
{
	struct feed feed = { 0 };

	create_ring("r", ROWS, 3);
	feed.writer = open_with("r", 1000, 250);
	if (!quiet_run(feed_quietly, &feed)) {
		printf("# SKIP this kernel, or a sanitizer, does not let calls be "
		       "counted\n");
		tt_ring_writer_close(feed.writer);
		return;
	}
	ck_assert_uint_eq(feed.clean, 20);
	ck_assert_msg(feed.loud == 0, "%u of 20 made a call, such as %d", feed.loud,
		      feed.last);
	tt_ring_writer_close(feed.writer);
	check_rows("r", feed.rows);
}
END_TEST

/* The pulse wakes who sleeps.  The roll does it where no pulse would: each append wakes, or the
 * pulse sleeps itself. */
START_TEST(a_roll_wakes_where_no_pulse_does)
{
	struct tt_ring_writer *writer;
	struct tti_words *words;
	uint64_t wakes;
	uint32_t word;

	create_ring("r", ROWS, 3);
	writer = name_ahead("r", 1);
	words = tti_ring_words(&writer->ring);
	put_rows(writer, ROWS - 1, 1);
	tti_pulse_pause(true); /* awake, or woken by this */
	UNTIL(!sleeps(writer));
	wakes = counters("r").wakes;
	word = tti_wake_load(words);
	put_rows(writer, ROWS, 1);
	ck_assert_uint_ne(tti_wake_load(words), word);
	ck_assert_uint_eq(counters("r").wakes, wakes);
	tti_pulse_pause(false);
	UNTIL(counters("r").wakes > wakes);
	tti_helper_pause(false);
	UNTIL(sleeps(writer));
	wakes = counters("r").wakes;
	OK(tt_ring_roll(writer, &err));
	ck_assert_uint_gt(counters("r").wakes, wakes);
	tt_ring_writer_close(writer);

	writer = open_with("r", TT_SYNC_NONE, TT_WAKE_EACH);
	put_rows(writer, ROWS + 1, 1);
	wakes = counters("r").wakes;
	OK(tt_ring_roll(writer, &err));
	ck_assert_uint_gt(counters("r").wakes, wakes);
	tt_ring_writer_close(writer);
}
END_TEST

static void *wait_sealed(void *arg)
{
	return tt_ring_wait(arg, TT_WAIT_SLEEP, DEADLINE_NS, NULL) == 1 ? arg : NULL;
}

/* A reader of sealed files has nothing but the roll to wake it. */
START_TEST(a_roll_wakes_who_waits_for_it)
{
	static const int64_t policies[] = { TT_WAKE_EACH, 100, 250, TT_WAKE_NEVER };
	struct tt_ring_reader_opts opts = TT_RING_READER_OPTS_INIT;
	int64_t rows = 0;

	opts.seal_only = true;
	create_ring("r", ROWS, 20);
	for (size_t i = 0; i < TTI_LEN(policies); i++) {
		struct tt_ring_writer *writer = open_with("r", -1, policies[i]);
		struct tt_ring_reader *reader;
		pthread_t thread;
		int64_t next = 0;
		void *woken;

		OK(tt_ring_reader_open(&reader, "r", &opts, &err));
		take_rows(reader, &next);
		ck_assert_int_eq(pthread_create(&thread, NULL, wait_sealed, reader), 0);
		put_rows(writer, rows, ROWS + 1); /* a roll on the way */
		rows += ROWS + 1;
		pthread_join(thread, &woken);
		ck_assert_ptr_eq(woken, reader);
		tt_ring_reader_close(reader);
		tt_ring_writer_close(writer);
	}
	check_rows("r", rows);
}
END_TEST

/* ---- Names ---- */

START_TEST(a_step_of_the_clock_is_counted_once_with_a_name_ahead)
{
	const int64_t day = INT64_C(86400000000000);
	struct tt_ring_writer *writer;
	uint64_t first, second;
	int64_t now;

	create_ring("r", ROWS, 9);
	fake_now = now = tti_clock_realtime_ns();
	writer = open_writer("r");
	tti_ring_writer_set_clock(writer, fake_clock);
	put_rows(writer, 0, ROWS);
	UNTIL(has_name(writer));
	first = writer->next->name;
	ck_assert_uint_eq(first, (uint64_t)now);
	fake_now = now - day;
	put_rows(writer, ROWS, ROWS);
	ck_assert_uint_eq(tt_ring_writer_pos(writer).file, first);
	UNTIL(has_name(writer)); /* the clock is behind all names now */
	second = writer->next->name;
	ck_assert_uint_eq(second, first + 1);
	fake_now = now + day;
	put_rows(writer, 2 * ROWS, ROWS);
	ck_assert_uint_eq(tt_ring_writer_pos(writer).file, second);
	put_rows(writer, 3 * ROWS, 1);
	ck_assert_uint_ge(tt_ring_writer_pos(writer).file, second + 1);
	tt_ring_writer_close(writer);
	ck_assert_uint_eq(counters("r").clock_steps, 1);
	check_rows("r", 3 * ROWS + 1);
}
END_TEST

/* Whatever lies under names that would be given is left there; later ones are given, also
 * where the clock is behind all names and would give the same again. */
static void pass_over_taken_names(bool helped)
{
	struct tt_ring_writer *writer;
	uint64_t name;
	char path[64];

	create_ring("r", ROWS, 3);
	fake_now = 7; /* the first file's name is later than that */
	writer = helped ? open_writer("r") : open_alone("r");
	tti_ring_writer_set_clock(writer, fake_clock);
	name = tt_ring_writer_pos(writer).file;
	file_path(path, name + 1);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	file_path(path, name + 2);
	ck_assert_int_eq(symlink("nowhere", path), 0);
	file_path(path, name + 3);
	write_file(path, "mine", 4);
	put_rows(writer, 0, ROWS);
	if (helped)
		UNTIL(has_name(writer));
	put_rows(writer, ROWS, 1 + ROWS);
	ck_assert_uint_eq(tt_ring_writer_pos(writer).file, name + 5);
	tt_ring_writer_close(writer);
	ck_assert_uint_eq(counters("r").errors, 0);
	ck_assert_int_eq(unlink(path), 0);
	file_path(path, name + 2);
	ck_assert_int_eq(unlink(path), 0);
	file_path(path, name + 1);
	ck_assert_int_eq(rmdir(path), 0);
	check_rows("r", 2 * ROWS + 1);
	check_verified("r");
}

START_TEST(names_that_are_taken_are_passed_over_by_the_helper)
{
	pass_over_taken_names(true);
}
END_TEST

START_TEST(names_that_are_taken_are_passed_over_by_the_roll)
{
	pass_over_taken_names(false);
}
END_TEST

static int feed_in_a_closed_directory(void *arg)
{
	const struct row row = { ROWS, 0 };
	struct tt_ring_writer *writer;
	uint64_t errors;

	(void)arg;
	if (!mp_drop_root() && getuid() == 0)
		return 77;
	create_ring("r", ROWS, 3);
	writer = open_with("r", TT_SYNC_NONE, 250);
	put_rows(writer, 0, 4);
	UNTIL(has_next(writer));
	ck_assert_int_eq(chmod("r", 0555), 0);
	for (int64_t i = 4; i < ROWS; i++)
		put_rows(writer, i, 1);
	UNTIL(atomic_load(&writer->name_retry_ns) != 0);
	tti_helper_pause(true);
	ck_assert(!has_name(writer));
	ck_assert_uint_eq(counters("r").errors, 0); /* nobody was refused */
	for (errors = 0; errors < 3;) {
		ck_assert_int_eq(tt_ring_append(writer, &row, 1, NULL, &err), -EACCES);
		ck_assert_msg(strstr(err.text, "r/"), "%s", err.text);
		ck_assert_uint_eq(counters("r").errors, ++errors);
	}
	check_rows("r", ROWS);
	tti_helper_pause(false);
	ck_assert_int_eq(chmod("r", 0755), 0);
	put_rows(writer, ROWS, 3 * ROWS);
	UNTIL(has_next(writer));
	tt_ring_writer_close(writer);
	ck_assert_int_ne(access("r/.next", F_OK), 0);
	check_rows("r", 4 * ROWS);
	check_verified("r");
	return 0;
}

/* Naming ahead fails and says nothing; the roll is refused, and told; nothing is lost. */
START_TEST(a_name_that_cannot_be_given_is_told_by_the_roll)
{
	int rc;

	ck_assert_int_eq(mkdir("home", 0755), 0);
	ck_assert_int_eq(chmod("home", 0777), 0);
	ck_assert_int_eq(chdir("home"), 0);
	rc = mp_wait(mp_spawn(feed_in_a_closed_directory, NULL), 30);
	if (rc == 77)
		printf("# SKIP root cannot become somebody else here\n");
	else
		ck_assert_int_eq(rc, 0);
}
END_TEST

/* ---- What others do meanwhile ---- */

static void check_looks(const char *dir, uint64_t files, uint64_t rows)
{
	struct tt_ring_status status;
	struct tt_ring_reader *reader = open_reader(dir);
	struct tt_ring_info info = ring_info(dir);
	int64_t next = 0;

	ck_assert_uint_eq(info.file_count, files);
	ck_assert_uint_eq(info.rows, rows);
	tt_ring_info_free(&info);
	OK(tt_ring_status(dir, &status, &err));
	ck_assert_uint_eq(status.files_queued + status.files_left, files);
	ck_assert_uint_eq(status.rows, rows);
	tt_ring_status_free(&status);
	take_rows(reader, &next);
	ck_assert_uint_eq(next, rows);
	ck_assert_int_eq(tt_ring_wait(reader, TT_WAIT_SLEEP, 5000000, &err), 0);
	look_shows(reader, 1, true, (int64_t)rows - 1, 1, 1);
	tt_ring_reader_close(reader);
	check_verified(dir);
}

START_TEST(a_named_file_is_passed_over_by_all)
{
	struct tt_ring_prune_opts prune = TT_RING_PRUNE_OPTS_INIT;
	struct tt_recover_report report;
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0;
	uint64_t merged = 0, name;
	char path[64];

	create_ring("r", ROWS, 2);
	writer = open_with("r", TT_SYNC_NONE, 250);
	put_rows(writer, 0, 6 * ROWS - 2);
	UNTIL(has_name(writer));
	tti_helper_pause(true);
	ck_assert(has_name(writer));
	name = writer->next->name;
	file_path(path, name);
	reader = open_reader("r");
	check_looks("r", 6, 6 * ROWS - 2);
	OK(tt_ring_backup("r", "copy", &err));
	check_looks("copy", 6, 6 * ROWS - 2);
	ck_assert_int_eq(tt_ring_recover("r", NULL, &report, &err), TT_E_BUSY);
	ck_assert_int_lt(tt_ring_remove_file("r", name, &err), 0);
	OK(tt_ring_merge("r", 0, NULL, NULL, &merged, &err));
	ck_assert_uint_eq(merged, 4);
	check_looks("r", 3, 6 * ROWS - 2);
	take_rows(reader, &next);
	prune.keep_bytes = 0;
	OK(tt_ring_prune("r", &prune, NULL, &err));
	ck_assert_int_eq(access(path, F_OK), 0);
	put_rows(writer, 6 * ROWS - 2, 3);
	ck_assert_uint_eq(tt_ring_writer_pos(writer).file, name);
	take_rows(reader, &next);
	ck_assert_int_eq(next, 6 * ROWS + 1);
	tt_ring_reader_close(reader);
	go_on(writer);
	check_verified("r");
}
END_TEST

/* A name tells when it was given, not when the file before got its last row. */
START_TEST(rows_after_the_name_are_not_pruned_as_older)
{
	struct tt_ring_prune_opts prune = TT_RING_PRUNE_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_ring_pruned pruned;

	create_ring("r", ROWS, 2);
	writer = name_ahead("r", 1);
	prune.before_ns = tti_clock_realtime_ns();
	put_rows(writer, ROWS - 1, 1 + 2 * ROWS);
	OK(tt_ring_prune("r", &prune, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 0);
	check_looks("r", 3, 3 * ROWS);
	prune.before_ns = tti_clock_realtime_ns();
	OK(tt_ring_prune("r", &prune, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 1);
	go_on(writer);
}
END_TEST

/* Nor does that of a file that never got a row: it was left empty, or has none yet. */
START_TEST(an_empty_file_does_not_tell_how_old_rows_are)
{
	struct tt_ring_prune_opts prune = TT_RING_PRUNE_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_ring_pruned pruned;
	struct tti_ring ring;
	uint64_t newest;

	create_ring("r", ROWS, 2);
	writer = name_ahead("r", 2);
	OK(tti_ring_open(&ring, "r", true, &err));
	OK(tti_ring_publish_name(&ring, writer->next->name, &err));
	tti_ring_close(&ring);
	prune.before_ns = tti_clock_realtime_ns();
	put_rows(writer, ROWS - 2, 3);
	OK(tt_ring_prune("r", &prune, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 0);
	go_on(writer);
	check_looks("r", 3, ROWS + 1);

	/* a queue of one file, as npyt has them, with none in it */
	writer = open_writer("r");
	put_rows(writer, ROWS + 1, 1);
	OK(tt_ring_roll(writer, &err));
	newest = tt_ring_writer_pos(writer).file;
	tt_ring_writer_close(writer);
	write_file("r/.lock", &newest, sizeof(newest));
	prune.dry_run = true;
	OK(tt_ring_prune("r", &prune, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 0);
	prune.before_ns = tti_clock_realtime_ns() + INT64_C(3600000000000);
	OK(tt_ring_prune("r", &prune, &pruned, &err));
	ck_assert_uint_eq(pruned.rows, ROWS);
}
END_TEST

/* Without a manifest the directory tells: not that a file is there in which rows will be. */
START_TEST(a_named_file_is_passed_over_without_a_manifest)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0;

	create_ring("r", ROWS, 3);
	writer = name_ahead("r", 2);
	ck_assert_int_eq(unlink("r/.lock"), 0);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, ROWS - 2);
	put_rows(writer, ROWS - 2, 2);
	take_rows(reader, &next);
	ck_assert_int_eq(next, ROWS);
	tt_ring_reader_close(reader);
	go_on(writer);
}
END_TEST

static int die_with_a_name(void)
{
	struct tt_ring_writer *writer = name_ahead("r", 2);

	kill(getpid(), SIGKILL);
	return writer != NULL;
}

static void kill_with_a_name(void)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(die_with_a_name());
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	ck_assert_uint_eq(files_there(), 2);
}

START_TEST(what_a_killed_writer_named_is_removed)
{
	struct tt_ring_writer *writer;

	create_ring("r", ROWS, 3);
	kill_with_a_name();
	check_looks("r", 1, ROWS - 2);
	writer = open_alone("r");
	ck_assert_uint_eq(files_there(), 1);
	put_rows(writer, ROWS - 2, 3);
	tt_ring_writer_close(writer);
	check_looks("r", 2, ROWS + 1);
}
END_TEST

START_TEST(what_a_killed_writer_named_is_no_damage_for_recover)
{
	struct tt_recover_report report;

	create_ring("r", ROWS, 3);
	kill_with_a_name();
	OK(tt_ring_recover("r", NULL, &report, &err));
	ck_assert_uint_eq(report.left, 0);
	ck_assert_uint_eq(report.rows_lost, 0);
	tt_recover_report_free(&report);
	ck_assert_uint_eq(files_there(), 1);
	check_looks("r", 1, ROWS - 2);
}
END_TEST

START_TEST(what_a_killed_writer_named_is_not_entered_by_a_rebuild)
{
	static const uint8_t garbage[24] = { 1, 2, 3 };

	create_ring("r", ROWS, 3);
	kill_with_a_name();
	write_file("r/.lock", garbage, sizeof(garbage));
	OK(tt_ring_rebuild("r", 0, &err));
	check_looks("r", 1, ROWS - 2);
	tt_ring_writer_close(open_alone("r"));
	ck_assert_uint_eq(files_there(), 1);
	check_looks("r", 1, ROWS - 2);
}
END_TEST

/* npyt goes on in a file of its own, and leaves the empty one where it is. */
START_TEST(what_a_killed_writer_named_is_no_damage_between_names)
{
	struct tt_ring_writer *writer;
	uint64_t first, name = 0;
	struct tti_items items;
	struct tti_ring ring;
	char command[200];

	create_ring("r", ROWS, 4);
	kill_with_a_name();
	OK(tti_ring_open(&ring, "r", true, &err));
	OK(tti_ring_list(&ring, &items, &err));
	first = items.at[0].name;
	name = items.at[1].name;
	tti_items_free(&items);
	snprintf(command, sizeof(command), "cp r/%" PRIu64 ".npy r/%" PRIu64 ".npy",
		 first, name + 1000);
	ck_assert_int_eq(system(command), 0);
	OK(tti_ring_publish_name(&ring, name + 1000, &err));
	tti_ring_close(&ring);
	check_verified("r");
	writer = open_alone("r");
	ck_assert_uint_eq(tt_ring_writer_pos(writer).file, name + 1000);
	tt_ring_writer_close(writer);
	check_verified("r");
}
END_TEST

/* npyt makes a manifest again from all files that there are.  A reader stays where rows come. */
START_TEST(a_name_that_somebody_published_is_left_to_its_file)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tti_ring ring;
	int64_t next = 0;
	uint64_t name;

	create_ring("r", ROWS, 4);
	writer = name_ahead("r", 2);
	name = writer->next->name;
	OK(tti_ring_open(&ring, "r", true, &err));
	OK(tti_ring_publish_name(&ring, name, &err));
	tti_ring_close(&ring);
	reader = open_reader("r");
	for (int64_t rows = ROWS - 2; rows < ROWS; rows++) {
		take_rows(reader, &next);
		ck_assert_int_eq(next, rows);
		ck_assert_int_eq(tt_ring_wait(reader, TT_WAIT_SLEEP, 1000000, &err), 0);
		put_rows(writer, rows, 1);
	}
	put_rows(writer, ROWS, 3);
	take_rows(reader, &next);
	ck_assert_int_eq(next, ROWS + 3);
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 0);
	tt_ring_reader_close(reader);
	ck_assert_uint_gt(tt_ring_writer_pos(writer).file, name);
	go_on(writer);
	check_looks("r", 3, ROWS + 3);
}
END_TEST

START_TEST(a_name_that_somebody_published_survives_the_close)
{
	struct tt_ring_writer *writer;
	struct tti_ring ring;
	uint64_t name;

	create_ring("r", ROWS, 4);
	writer = name_ahead("r", 2);
	name = writer->next->name;
	OK(tti_ring_open(&ring, "r", true, &err));
	OK(tti_ring_publish_name(&ring, name, &err));
	tti_ring_close(&ring);
	go_on(writer);
	writer = open_writer("r");
	ck_assert_str_eq(tt_ring_writer_repaired(writer), "");
	ck_assert_uint_eq(tt_ring_writer_pos(writer).file, name);
	put_rows(writer, ROWS - 2, 3);
	tt_ring_writer_close(writer);
	check_looks("r", 2, ROWS + 1);
}
END_TEST

/* A later name was published: ours would lie before it, so another one is given. */
START_TEST(a_name_that_was_overtaken_is_given_anew)
{
	struct tt_ring_writer *writer;
	struct tti_ring ring;
	uint64_t name, other;
	char command[200], path[64];

	create_ring("r", ROWS, 4);
	writer = name_ahead("r", 2);
	name = writer->next->name;
	other = name + 1000;
	file_path(path, name);
	snprintf(command, sizeof(command), "cp %s r/%" PRIu64 ".npy", path, other);
	ck_assert_int_eq(system(command), 0);
	OK(tti_ring_open(&ring, "r", true, &err));
	OK(tti_ring_publish_name(&ring, other, &err));
	tti_ring_close(&ring);
	put_rows(writer, ROWS - 2, 5);
	ck_assert_uint_gt(tt_ring_writer_pos(writer).file, other);
	ck_assert_int_ne(access(path, F_OK), 0);
	go_on(writer);
	check_verified("r");
	check_rows("r", ROWS + 3);
}
END_TEST

/* What grew since the name was given is met by the next roll. */
START_TEST(the_manifest_grows_behind_a_name_ahead)
{
	struct tt_ring_writer *writer;
	uint64_t slots[6];

	create_ring("r", ROWS, 2);
	writer = name_ahead("r", 1);
	ck_assert_int_eq(truncate("r/.lock", sizeof(slots)), 0);
	put_rows(writer, ROWS - 1, 1 + ROWS);
	ck_assert_uint_eq(writer->ring.slots, 2);
	check_verified("r");
	tti_helper_pause(false);
	UNTIL(has_name(writer));
	for (int64_t i = 2; i < 7; i++)
		put_rows(writer, i * ROWS, ROWS);
	ck_assert_uint_eq(writer->ring.slots, 6);
	tt_ring_writer_close(writer);
	read_file("r/.lock", slots, sizeof(slots));
	for (size_t i = 1; i < TTI_LEN(slots); i++)
		ck_assert_uint_gt(slots[i], slots[i - 1]);
	check_looks("r", 7, 7 * ROWS);
}
END_TEST

/* A file that is made counts once in the limit, whatever its name. */
START_TEST(a_named_file_is_within_the_limit)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	struct tt_ring_writer *writer;

	opts.capacity = 1024; /* 20 KiB a file */
	opts.keep = 2;
	opts.exact = true;
	opts.max_bytes = 5 * 20480;
	opts.sync_ms = TT_SYNC_NONE;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	writer = open_writer("r");
	for (int64_t i = 0; i < 8; i++) {
		put_rows(writer, 1024 * i, 1024);
		UNTIL(has_name(writer));
	}
	tti_helper_pause(true);
	ck_assert_uint_eq(files_there(), 5);
	tti_upkeep_lock(writer);
	tti_upkeep_limit(writer);
	tti_upkeep_unlock(writer);
	ck_assert_uint_eq(files_there(), 5);
	go_on(writer);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		next_file_gets_its_name_before_the_roll,
		name_goes_back_when_no_roll_comes_and_comes_again_with_rows,
		close_takes_the_name_away,
		a_roll_to_a_named_file_makes_no_system_call,
		a_roll_wakes_where_no_pulse_does,
		a_roll_wakes_who_waits_for_it,
		a_step_of_the_clock_is_counted_once_with_a_name_ahead,
		names_that_are_taken_are_passed_over_by_the_helper,
		names_that_are_taken_are_passed_over_by_the_roll,
		a_name_that_cannot_be_given_is_told_by_the_roll,
		a_named_file_is_passed_over_by_all,
		rows_after_the_name_are_not_pruned_as_older,
		an_empty_file_does_not_tell_how_old_rows_are,
		a_named_file_is_passed_over_without_a_manifest,
		what_a_killed_writer_named_is_removed,
		what_a_killed_writer_named_is_no_damage_for_recover,
		what_a_killed_writer_named_is_not_entered_by_a_rebuild,
		what_a_killed_writer_named_is_no_damage_between_names,
		a_name_that_somebody_published_is_left_to_its_file,
		a_name_that_somebody_published_survives_the_close,
		a_name_that_was_overtaken_is_given_anew,
		the_manifest_grows_behind_a_name_ahead,
		a_named_file_is_within_the_limit,
	};

	return ring_suite("names ahead", tests, TTI_LEN(tests));
}
