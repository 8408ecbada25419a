/* SPDX-License-Identifier: Apache-2.0 */
/* Damage and hostile surroundings of a ring: what is refused, what is made again, what is kept
 * aside, and that what is whole is read meanwhile. */
#include "lib/sanitizers.h"
#include "ring_help.h"

/* A size that nobody could copy: it is moved, and its holes stay holes.  All entries that could
 * be in it are looked at: too slow for a thread sanitizer. */
#define HUGE_BYTES (INT64_C(1) << (UNDER_TSAN ? 24 : 40))

START_TEST(huge_damage_is_kept_aside_without_its_bytes)
{
	struct tt_ring_writer *writer;
	struct stat st;
	int64_t next = 0;
	struct tt_ring_reader *reader;

	create_ring("r", 4, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 6);
	tt_ring_writer_close(writer);
	write_file("r/9000000000000000000.npy", "x", 1);
	ck_assert_int_eq(truncate("r/9000000000000000000.npy", HUGE_BYTES), 0);
	write_file("r/.ticktail", "x", 1);
	ck_assert_int_eq(truncate("r/.ticktail", HUGE_BYTES), 0);
	writer = open_writer("r");
	ck_assert_ptr_nonnull(strstr(tt_ring_writer_repaired(writer), "unreadable"));
	put_rows(writer, 6, 6);
	tt_ring_writer_close(writer);
	ck_assert_int_eq(stat("r/.9000000000000000000.npy.bad-1", &st), 0);
	ck_assert_int_eq(st.st_size, HUGE_BYTES);
	ck_assert_int_eq(access("r/9000000000000000000.npy", F_OK), -1);
	ck_assert_int_eq(stat("r/.ticktail.bad-1", &st), 0);
	ck_assert_int_lt(st.st_blocks, 1000);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 12);
	tt_ring_reader_close(reader);
}
END_TEST

START_TEST(odd_things_in_the_directory_are_passed_over)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0;

	create_ring("r", 4, 3);
	ck_assert_int_eq(system("cd r && mkfifo 5.npy && ln -s /etc/passwd 6.npy && "
				"mkdir 7.npy && touch x.npy 01.npy .hidden 99.npyx"),
			 0);
	writer = open_writer("r");
	put_rows(writer, 0, 9);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 9);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
	ck_assert_int_eq(
		system("cd r && test -p 5.npy -a -L 6.npy -a -d 7.npy -a -e x.npy"), 0);
}
END_TEST

START_TEST(what_is_no_ring_is_refused)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_ring_info info;

	ck_assert_int_eq(mkdir("d", 0755), 0);
	write_file("f", "x", 1);
	ck_assert_int_eq(tt_ring_writer_open(&writer, "d", NULL, &err), TT_E_FORMAT);
	ck_assert_ptr_null(writer);
	ck_assert_int_eq(tt_ring_reader_open(&reader, "f", NULL, &err), TT_E_FORMAT);
	ck_assert_int_eq(tt_ring_info("none", &info, &err), -ENOENT);
}
END_TEST

static void check_mended(const char *what, uint64_t rows)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0;

	reader = open_reader("r"); /* readers need no repair */
	take_rows(reader, &next);
	ck_assert_int_eq(next, (int64_t)rows);
	tt_ring_reader_close(reader);
	writer = open_writer("r");
	ck_assert_msg(strstr(tt_ring_writer_repaired(writer), what), "%s",
		      tt_ring_writer_repaired(writer));
	put_rows(writer, next, 3);
	tt_ring_writer_close(writer);
	writer = open_writer("r");
	ck_assert_str_eq(tt_ring_writer_repaired(writer), "");
	tt_ring_writer_close(writer);
	reader = open_reader("r");
	next = 0;
	take_rows(reader, &next);
	ck_assert_int_eq(next, (int64_t)rows + 3);
	tt_ring_reader_close(reader);
}

START_TEST(damaged_manifest_is_made_again_and_kept_aside)
{
	struct tt_ring_writer *writer;
	uint64_t slots[3];

	create_ring("r", 4, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 18);
	tt_ring_writer_close(writer);
	ck_assert_int_eq(unlink("r/.lock"), 0);
	check_mended(".lock was missing", 18);
	write_file("r/.lock", "odd", 3);
	check_mended(".lock was damaged", 21);
	ck_assert_int_eq(access("r/.lock.bad-1", F_OK), 0);
	read_file("r/.lock", slots, sizeof(slots));
	slots[0] = slots[1] + 1; /* does not ascend */
	slots[1]--;
	write_file("r/.lock", slots, sizeof(slots));
	writer = open_writer("r");
	ck_assert_ptr_nonnull(strstr(tt_ring_writer_repaired(writer), "damaged"));
	tt_ring_writer_close(writer);
	memset(slots, 0, sizeof(slots));
	write_file("r/.lock", slots, sizeof(slots));
	check_mended(".lock was damaged", 24);
}
END_TEST

static void count_damage(void *ctx, const struct tt_damage *damage)
{
	(void)damage;
	++*(int *)ctx;
}

/* What a reader sees must not hang on a manifest that says nothing. */
static void check_read_only(uint64_t rows)
{
	struct tt_ring_reader_opts opts = TT_RING_READER_OPTS_INIT;
	struct tt_ring_reader *reader = open_reader("r");
	struct tt_ring_info info = ring_info("r");
	int64_t next = 0;
	int found = 0;

	ck_assert_uint_eq(info.rows, rows);
	tt_ring_info_free(&info);
	take_rows(reader, &next);
	ck_assert_int_eq(next, (int64_t)rows);
	tt_ring_reader_close(reader);
	opts.seal_only = true;
	OK(tt_ring_reader_open(&reader, "r", &opts, &err));
	next = 0;
	take_rows(reader, &next);
	ck_assert_int_eq(next, 16);
	tt_ring_reader_close(reader);
	OK(tt_ring_verify("r", count_damage, &found, NULL, &err));
	ck_assert_int_ge(found, 1);
}

START_TEST(readers_go_by_the_directory_when_the_manifest_is_lost)
{
	struct tt_ring_writer *writer;
	uint64_t zeros[3] = { 0 };

	create_ring("r", 4, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 18);
	tt_ring_writer_close(writer);
	write_file("r/.lock", zeros, sizeof(zeros));
	check_read_only(18);
	write_file("r/.lock", zeros, 0);
	check_read_only(18);
	ck_assert_int_eq(unlink("r/.lock"), 0);
	check_read_only(18);
}
END_TEST

/* By looking alone, without a wait that looks again each second. */
START_TEST(manifest_may_grow_under_a_reader)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0;

	create_ring("r", 2, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 7);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 7);
	ck_assert_int_eq(truncate("r/.lock", 40), 0); /* a peer with a longer queue */
	put_rows(writer, 7, 8);
	take_rows(reader, &next);
	ck_assert_int_eq(next, 15);
	OK(tt_ring_roll(writer, &err));
	ck_assert_int_eq(truncate("r/.lock", 80), 0);
	for (int64_t i = 15; i < 40; i++) {
		put_rows(writer, i, 1);
		OK(tt_ring_roll(writer, &err));
		take_rows(reader, &next);
		ck_assert_int_eq(next, i + 1);
	}
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(damaged_settings_are_made_again_and_kept_aside)
{
	struct tt_ring_writer *writer;
	struct tt_ring_info info;
	uint8_t id[16];

	create_ring("r", 4, 3);
	info = ring_info("r");
	memcpy(id, info.ring_id, 16);
	tt_ring_info_free(&info);
	writer = open_writer("r");
	put_rows(writer, 0, 18);
	tt_ring_writer_close(writer);
	ck_assert_int_eq(
		system("printf XXXX | dd of=r/.ticktail conv=notrunc 2>/dev/null"), 0);
	check_mended(".ticktail was damaged", 18);
	info = ring_info("r"); /* the header was bad, the settings were not */
	ck_assert_mem_eq(id, info.ring_id, 16);
	ck_assert_int_eq(info.opts.sync_ms, TT_SYNC_NONE);
	tt_ring_info_free(&info);
	write_file("r/.ticktail", "short", 5);
	check_mended(".ticktail was damaged", 21);
	ck_assert_int_eq(access("r/.ticktail.bad-1", F_OK), 0);
	ck_assert_int_eq(access("r/.ticktail.bad-2", F_OK), 0);
	ck_assert_int_eq(unlink("r/.ticktail"), 0);
	check_mended(".ticktail was made", 24);
}
END_TEST

START_TEST(manifest_may_grow_under_the_writer)
{
	struct tt_ring_writer *writer;
	struct tt_ring_info info;

	create_ring("r", 2, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 8);
	ck_assert_int_eq(truncate("r/.lock", 40), 0); /* a peer with a longer queue */
	put_rows(writer, 8, 8);
	info = ring_info("r");
	ck_assert_uint_eq(info.keep, 5);
	ck_assert(info.files[info.file_count - 5].queued);
	ck_assert(!info.files[info.file_count - 6].queued);
	tt_ring_info_free(&info);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(entries_grow_with_the_files)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct stat st;
	int64_t next = 0;

	create_ring("r", 1, 2);
	writer = open_writer("r");
	reader = open_reader("r");
	for (int64_t i = 0; i < 200; i++) {
		put_rows(writer, i, 1);
		if (i % 50 == 0)
			take_rows(reader, &next);
	}
	take_rows(reader, &next);
	ck_assert_int_eq(next, 200);
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 0);
	ck_assert_int_eq(stat("r/.ticktail", &st), 0);
	ck_assert_int_eq(st.st_size, TTI_ENTRIES_OFF + 256 * 128);
	ck_assert_int_eq(system("rm $(ls r/*.npy | head -n 190)"), 0);
	for (int64_t i = 200; i < 400; i++)
		put_rows(writer, i, 1);
	ck_assert_int_eq(stat("r/.ticktail", &st), 0);
	ck_assert_int_le(st.st_size,
			 TTI_ENTRIES_OFF + 320 * 128); /* entries are used again */
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(child_of_a_killed_writer_keeps_no_lock)
{
	int ready[2], status;
	pid_t child, grandchild = 0;
	int64_t deadline = tti_deadline_ns(10000000000);
	struct tt_ring_writer *writer;

	create_ring("r", 4, 2);
	ck_assert_int_eq(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		writer = open_writer("r");
		grandchild = fork();
		if (grandchild == 0) {
			pause();
			_exit(0);
		}
		if (write(ready[1], &grandchild, sizeof(grandchild)) !=
		    sizeof(grandchild))
			_exit(1);
		pause();
		_exit(writer ? 0 : 1);
	}
	ck_assert_int_eq(read(ready[0], &grandchild, sizeof(grandchild)),
			 sizeof(grandchild));
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	/* the grandchild may not have come to close its copies yet */
	while (tt_ring_writer_open(&writer, "r", NULL, &err) == TT_E_BUSY)
		ck_assert_int_lt(tti_clock_monotonic_ns(), deadline);
	ck_assert_ptr_nonnull(writer);
	tt_ring_writer_close(writer);
	kill(grandchild, SIGKILL);
}
END_TEST

static void note_damage(void *ctx, const struct tt_damage *damage)
{
	snprintf(ctx, 512, "%s: %s", damage->path, damage->what);
}

static uint64_t found_in(const char *dir, char what[512])
{
	uint64_t found = 99;

	what[0] = '\0';
	OK(tt_ring_verify(dir, note_damage, what, &found, &err));
	return found;
}

static uint64_t keep_of(const char *dir)
{
	struct tt_ring_info info = ring_info(dir);
	uint64_t keep = info.opts.keep;

	tt_ring_info_free(&info);
	return keep;
}

static void zero_copy(unsigned which)
{
	const struct tti_settings empty = { 0 };
	int fd = open("r/.ticktail", O_WRONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, &empty, sizeof(empty),
				TTI_SETTINGS_OFF + which * TTI_SETTINGS_STRIDE),
			 sizeof(empty));
	close(fd);
}

/* The newer copy of the settings is zeroed, as by a lost sector: the older one counts, verify
 * tells, and the next writer stores it again and tells. */
static void lose_a_copy(unsigned which, uint64_t keep)
{
	struct tt_ring_writer *writer;
	char what[512];

	zero_copy(which);
	ck_assert_uint_eq(found_in("r", what), 1);
	ck_assert_msg(strstr(what, ".ticktail: a copy of the settings"), "%s", what);
	ck_assert_uint_eq(keep_of("r"), keep);
	writer = open_writer("r");
	ck_assert_msg(strstr(tt_ring_writer_repaired(writer), "a copy of the settings"),
		      "%s", tt_ring_writer_repaired(writer));
	tt_ring_writer_close(writer);
	ck_assert_msg(found_in("r", what) == 0, "%s", what);
	ck_assert_uint_eq(keep_of("r"), keep);
	writer = open_writer("r");
	ck_assert_str_eq(tt_ring_writer_repaired(writer), "");
	tt_ring_writer_close(writer);
}

START_TEST(a_lost_copy_of_the_settings_is_told_and_stored_again)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	char what[512];

	create_ring("r", 8, 2);
	ck_assert_uint_eq(found_in("r", what), 0);
	lose_a_copy(0, 2); /* of a new ring: both say the same */
	lose_a_copy(1, 2);
	opts.keep = 5;
	opts.capacity = 8;
	OK(tt_ring_set("r", &opts, &err));
	ck_assert_uint_eq(found_in("r", what), 0);
	ck_assert_uint_eq(keep_of("r"), 5);
}
END_TEST

START_TEST(a_lost_change_of_the_settings_is_told)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;

	create_ring("r", 8, 2);
	opts.keep = 5;
	opts.capacity = 8;
	OK(tt_ring_set("r", &opts, &err));
	lose_a_copy(1, 2); /* the first change goes over copy 1 */
}
END_TEST

/* The first mark of a ring that is synced says nothing.  Byte for byte; never to change. */
START_TEST(the_first_mark_is_silent)
{
	static const uint8_t silent[64] = "\1\0\0\0\0\0\0\0"
					  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
					  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
					  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
					  "\0\0\0\0"
					  "\x65\x04\xc6\x77";
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer = NULL;
	uint8_t bytes[TTI_READERS_OFF];
	uint64_t second[2];

	create_ring("r", 8, 2);
	opts.sync_ms = 1000;
	opts.no_helper = true;
	OK(tt_ring_writer_open(&writer, "r", &opts, &err));
	read_file("r/.ticktail", bytes, sizeof(bytes));
	ck_assert_mem_eq(bytes + TTI_MARKS_OFF + TTI_SETTINGS_STRIDE, silent, 64);
	memcpy(second, bytes + TTI_MARKS_OFF, sizeof(second));
	ck_assert_uint_eq(second[0], 2);
	ck_assert_uint_eq(second[1], tt_ring_writer_pos(writer).file);
	tt_ring_writer_close(writer);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		huge_damage_is_kept_aside_without_its_bytes,
		odd_things_in_the_directory_are_passed_over,
		what_is_no_ring_is_refused,
		damaged_manifest_is_made_again_and_kept_aside,
		damaged_settings_are_made_again_and_kept_aside,
		manifest_may_grow_under_the_writer,
		manifest_may_grow_under_a_reader,
		readers_go_by_the_directory_when_the_manifest_is_lost,
		entries_grow_with_the_files,
		child_of_a_killed_writer_keeps_no_lock,
		a_lost_copy_of_the_settings_is_told_and_stored_again,
		a_lost_change_of_the_settings_is_told,
		the_first_mark_is_silent,
	};

	return ring_suite("mended rings", tests, sizeof(tests) / sizeof(tests[0]));
}
