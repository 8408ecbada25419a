/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting files that left the queue: by hand, by size, by age. */
#include "upkeep_help.h"

struct told {
	uint64_t files, rows, bytes, last;
};

static void tell(void *ctx, const struct tt_ring_file *file, uint64_t bytes)
{
	struct told *told = ctx;

	ck_assert_uint_gt(file->name, told->last); /* oldest first */
	told->last = file->name;
	told->files++;
	told->rows += file->end - file->start;
	told->bytes += bytes;
}

START_TEST(everything_outside_the_queue_goes)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	struct tt_ring_pruned pruned;
	struct told told = { 0 };

	create_ring("r", 4, 3);
	fill_ring("r", 0, 40); /* 10 files, 7 out of the queue */
	opts.deleted = tell;
	opts.ctx = &told;
	opts.dry_run = true;
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 7);
	ck_assert_uint_eq(pruned.rows, 28);
	ck_assert_uint_eq(count_files("r/*.npy"), 10);
	ck_assert_uint_eq(told.files, 7);
	opts.dry_run = false;
	told = (struct told){ 0 };
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 7);
	ck_assert_uint_eq(told.rows, 28);
	ck_assert_uint_eq(told.bytes, pruned.bytes);
	ck_assert_uint_eq(pruned.left_bytes, disk_bytes("r"));
	ck_assert_uint_eq(count_files("r/*.npy"), 3);
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 0);
	check_whole("r");
}
END_TEST

START_TEST(size_deletes_just_enough)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	struct tt_ring_pruned pruned;
	uint64_t before, each;

	create_ring("r", 1000, 2);
	fill_ring("r", 0, 8000);
	before = disk_bytes("r");
	each = before / 8;
	opts.keep_bytes = before;
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 0);
	opts.keep_bytes = before - each - 1; /* one is not enough */
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 2);
	ck_assert_uint_eq(pruned.bytes, 2 * each);
	opts.keep_bytes = 0; /* cannot be met: the queue stays */
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 4);
	ck_assert_uint_eq(pruned.left_bytes, 2 * each);
	check_whole("r");
}
END_TEST

/* ---- Age ---- */

START_TEST(age_is_that_of_the_next_file)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_ring_pruned pruned;
	const int64_t hour = INT64_C(3600) * 1000000000;
	int64_t start = tti_clock_realtime_ns() - 20 * hour;

	create_ring("r", 4, 2);
	/* the first file has the name that create gave it: now; take it out of the way */
	writer = open_writer("r");
	tti_ring_writer_set_clock(writer, fake_clock);
	fake_now = tti_clock_realtime_ns();
	put_rows(writer, 0, 4);
	tt_ring_writer_close(writer);
	opts.before_ns = start;
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 0);
	opts.before_ns = INT64_MAX;
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 0); /* in the queue */
	writer = open_writer("r");
	tti_ring_writer_set_clock(writer, fake_clock);
	for (int i = 1; i <= 6; i++) {
		fake_now += 1000000;
		put_rows(writer, 4 * i, 4);
	}
	tt_ring_writer_close(writer);
	opts.before_ns = fake_now - 2500000; /* three more files begun later */
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 3);
	ck_assert_uint_eq(count_files("r/*.npy"), 4);
}
END_TEST

/* ---- What stays ---- */

static bool refuse_second(void *ctx, const struct tt_ring_file *file)
{
	ck_assert(file->sealed && !file->queued);
	return ++*(int *)ctx != 2;
}

START_TEST(what_is_refused_stays)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	struct tt_ring_pruned pruned;
	int asked = 0;

	create_ring("r", 4, 2);
	fill_ring("r", 0, 24);
	opts.allow = refuse_second;
	opts.ctx = &asked;
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 3);
	ck_assert_uint_eq(pruned.refused, 1);
	ck_assert_uint_eq(count_files("r/*.npy"), 3);
	check_whole("r");
}
END_TEST

static void put_mark(uint64_t file, uint64_t end)
{
	struct tti_mark mark = { .sequence = 1000, .file = file, .end = end };
	int fd = open("r/.ticktail", O_RDWR);

	tti_mark_seal(&mark);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, &mark, sizeof(mark), TTI_MARKS_OFF), sizeof(mark));
	close(fd);
}

START_TEST(rows_that_a_sync_must_reach_stay)
{
	struct tt_ring_opts set = TT_RING_OPTS_INIT;
	struct tt_ring_pruned pruned;
	struct tt_ring_info info;

	create_ring("r", 4, 2);
	fill_ring("r", 0, 32);		  /* 8 files */
	OK(tt_ring_set("r", &set, &err)); /* sync after 1 s */
	info = ring_info("r");
	put_mark(info.files[1].name, 2);
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 1);
	ck_assert_uint_eq(pruned.unsynced, 5);
	put_mark(info.files[1].name, 4);
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 1);
	ck_assert_uint_eq(pruned.unsynced, 4);
	put_mark(info.files[7].name, 0);
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 4);
	ck_assert_uint_eq(pruned.unsynced, 0);
	tt_ring_info_free(&info);
}
END_TEST

static bool but_one(void *ctx, const struct tt_ring_file *file)
{
	return file->name != *(const uint64_t *)ctx;
}

/* A merged file is on disk, whatever the mark says. */
START_TEST(what_lies_behind_such_rows_stays_too)
{
	struct tt_ring_pruned pruned;
	struct tt_ring_info info;
	uint64_t merged;

	create_ring("r", 4, 2);
	fill_ring("r", 0, 32); /* 8 files */
	info = ring_info("r");
	OK(tt_ring_merge("r", 0, but_one, &info.files[1].name, &merged, &err));
	ck_assert_uint_gt(merged, 0);
	put_mark(info.files[0].name, 4);
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.rows, 4);
	ck_assert_uint_eq(pruned.unsynced, 2);
	put_mark(info.files[7].name, 0);
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.rows, 20);
	ck_assert_uint_eq(pruned.unsynced, 0);
	tt_ring_info_free(&info);
}
END_TEST

/* The ring's policy is none; what counts is whether the last writer synced. */
START_TEST(without_syncs_nothing_is_waited_for)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_ring_pruned pruned;
	struct tt_ring_info info;

	create_ring("r", 4, 2);
	ck_assert_int_eq((info = ring_info("r")).opts.sync_ms, TT_SYNC_NONE);
	tt_ring_info_free(&info);
	fill_ring("r", 0, 32);
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 6);

	opts.sync_ms = 1000000;
	OK(tt_ring_writer_open(&writer, "r", &opts, &err));
	put_rows(writer, 32, 16);
	tt_ring_writer_close(writer);
	info = ring_info("r");
	put_mark(info.files[0].name, 4); /* as if it had been killed */
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 1);
	ck_assert_uint_gt(pruned.unsynced, 0);
	tt_ring_info_free(&info);

	tt_ring_writer_close(open_writer("r")); /* by the ring's policy */
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_gt(pruned.files, 0);
	ck_assert_uint_eq(pruned.unsynced, 0);
	check_whole("r");
}
END_TEST

/* ---- Beside others ---- */

START_TEST(readers_keep_their_rows_and_count_the_rest)
{
	struct tt_ring_reader *inside, *late;
	struct tt_pos pos;
	struct tt_view view;
	int64_t next;
	uint64_t lost;

	create_ring("r", 1000, 2);
	fill_ring("r", 0, 10000);
	inside = open_reader("r");
	ck_assert_int_eq(tt_ring_read(inside, 10, 0, &view, &pos, &err), 1);
	OK(tt_ring_prune("r", NULL, NULL, &err));
	/* the view is still there, and so is the rest of its file */
	ck_assert_int_eq(((const struct row *)view.rows)[9].number, 9);
	ck_assert_int_eq(tt_ring_read(inside, 5000, 0, &view, NULL, &err), 1);
	ck_assert_uint_eq(view.count, 990);
	ck_assert_int_eq(((const struct row *)view.rows)[989].number, 999);
	next = 8000;
	take_rows(inside, &next);
	ck_assert_int_eq(next, 10000);
	ck_assert_uint_eq(tt_ring_reader_lost(inside), 7000);
	tt_ring_reader_close(inside);
	late = open_reader("r");
	OK(tt_ring_seek(late, (struct tt_pos){ pos.file, 10 }, &err));
	next = 8000;
	take_rows(late, &next);
	lost = tt_ring_reader_lost(late);
	ck_assert_uint_eq(lost, 7990);
	tt_ring_reader_close(late);
}
END_TEST

START_TEST(merged_files_go_with_all_their_parts)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	struct tt_ring_pruned pruned;
	struct tt_ring_reader *late;
	struct tt_pos pos[2];
	struct tt_view view;
	int64_t next = 16;

	create_ring("r", 4, 2);
	fill_ring("r", 0, 24);
	late = open_reader("r");
	ck_assert_int_eq(tt_ring_read(late, 1, 0, &view, &pos[0], &err), 1);
	OK(tt_ring_merge("r", 0, NULL, NULL, NULL, &err));
	ck_assert_uint_eq(count_files("r/*.npy_"), 1);
	OK(tt_ring_prune("r", &opts, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 1);
	ck_assert_uint_eq(pruned.rows, 16);
	OK(tt_ring_seek(late, (struct tt_pos){ pos[0].file, 1 }, &err));
	take_rows(late, &next);
	ck_assert_int_eq(next, 24);
	ck_assert_uint_eq(tt_ring_reader_lost(late), 15);
	tt_ring_reader_close(late);
	check_whole("r");
}
END_TEST

START_TEST(maintainers_do_not_meet_but_the_feed_goes_on)
{
	struct tt_ring_writer *writer;
	struct tti_ring_lock lock;
	struct tt_ring_pruned pruned;
	struct tti_ring ring;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 24);
	OK(tt_ring_prune("r", NULL, &pruned, &err));
	ck_assert_uint_eq(pruned.files, 4);
	put_rows(writer, 24, 24);
	OK(tti_ring_open(&ring, "r", true, &err));
	OK(tti_ring_lock(&lock, &ring, TTI_LOCK_MAINTAINER, &err));
	ck_assert_int_eq(tt_ring_prune("r", NULL, &pruned, &err), TT_E_BUSY);
	tti_ring_unlock(&lock);
	tti_ring_close(&ring);
	tt_ring_writer_close(writer);
	check_whole("r");
}
END_TEST

START_TEST(nothing_is_made)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	struct stat before, after;

	create_ring("r", 4, 2);
	fill_ring("r", 0, 24);
	ck_assert_int_eq(unlink("r/.ticktail"), 0); /* as of npyt */
	ck_assert_int_eq(unlink("r/.writer"), 0);
	ck_assert_int_eq(stat("r/.lock", &before), 0);
	opts.dry_run = true;
	OK(tt_ring_prune("r", &opts, NULL, &err));
	ck_assert_int_ne(access("r/.writer", F_OK), 0);
	OK(tt_ring_prune("r", NULL, NULL, &err));
	ck_assert_int_ne(access("r/.ticktail", F_OK), 0);
	ck_assert_int_eq(stat("r/.lock", &after), 0);
	ck_assert_int_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	ck_assert_uint_eq(count_files("r/*.npy"), 2);
}
END_TEST

START_TEST(without_a_manifest_nothing_is_deleted)
{
	create_ring("r", 4, 2);
	fill_ring("r", 0, 24);
	ck_assert_int_eq(truncate("r/.lock", 7), 0);
	ck_assert_int_eq(tt_ring_prune("r", NULL, NULL, &err), TT_E_DAMAGED);
	ck_assert_ptr_nonnull(strstr(err.text, "r/.lock: missing or damaged"));
	ck_assert_uint_eq(count_files("r/*.npy"), 6);
}
END_TEST

/* Maintainers map the settings file before they have their lock: entries that a feed made
 * meanwhile lie behind what is mapped, and a second one must not be made for the same file. */
START_TEST(a_list_has_the_entries_of_all_its_files)
{
	tti_auto_items items = { 0 };
	struct tti_ring ring;

	create_ring("r", 1, 2);
	fill_ring("r", 0, TTI_ENTRIES_FIRST / 2);
	OK(tti_ring_open(&ring, "r", true, &err));
	fill_ring("r", TTI_ENTRIES_FIRST / 2, TTI_ENTRIES_FIRST);
	OK(tti_ring_list_entered(&ring, &items, &err));
	ck_assert_uint_gt(items.count, TTI_ENTRIES_FIRST);
	for (size_t i = 0; i < items.count; i++)
		ck_assert_uint_ne(tti_ring_find_entry(&ring, items.at[i].name),
				  TTI_NO_ENTRY);
	tti_ring_close(&ring);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		everything_outside_the_queue_goes,
		size_deletes_just_enough,
		age_is_that_of_the_next_file,
		what_is_refused_stays,
		rows_that_a_sync_must_reach_stay,
		what_lies_behind_such_rows_stays_too,
		without_syncs_nothing_is_waited_for,
		readers_keep_their_rows_and_count_the_rest,
		merged_files_go_with_all_their_parts,
		maintainers_do_not_meet_but_the_feed_goes_on,
		nothing_is_made,
		without_a_manifest_nothing_is_deleted,
		a_list_has_the_entries_of_all_its_files,
	};

	return ring_suite("prune", tests, sizeof(tests) / sizeof(tests[0]));
}
