/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of other writers of this format, which are not repeated here. */
#include "ring_help.h"

START_TEST(fault_1_names_rise_though_the_clock_steps_back)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_ring_info info;
	int64_t next = 0;

	create_ring("r", 2, 3);
	writer = open_writer("r");
	tti_ring_writer_set_clock(writer, fake_clock);
	fake_now = 5;
	put_rows(writer, 0, 10);
	fake_now = INT64_MAX;
	put_rows(writer, 10, 2);
	fake_now = -1;
	put_rows(writer, 12, 8);
	info = ring_info("r");
	for (size_t i = 1; i < info.file_count; i++)
		ck_assert_uint_gt(info.files[i].name, info.files[i - 1].name);
	tt_ring_info_free(&info);
	tt_ring_writer_close(writer);
	writer = open_writer("r"); /* the newest name lies far ahead of the real clock */
	put_rows(writer, 20, 5);
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 25);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(fault_2_half_shifted_manifest_hides_no_file)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	uint64_t slots[4], half[4];
	int64_t next = 0;

	create_ring("r", 2, 4);
	writer = open_writer("r");
	put_rows(writer, 0, 8);
	tt_ring_writer_close(writer);
	read_file("r/.lock", slots, sizeof(slots));
	for (size_t done = 1; done < 4; done++) { /* a writer died after so many stores */
		memcpy(half, slots, sizeof(half));
		memmove(half, slots + 1, done * 8);
		write_file("r/.lock", half, sizeof(half));
		reader = open_reader("r");
		next = 0;
		take_rows(reader,
			  &next); /* the first file left the queue, not the disk */
		ck_assert_int_eq(next, 8);
		tt_ring_reader_close(reader);
	}
	memmove(half, slots + 1, 16);
	half[2] = slots[2];
	half[3] = slots[3];
	write_file("r/.lock", half, sizeof(half));
	writer = open_writer("r"); /* shifts on */
	put_rows(writer, 8, 1);
	read_file("r/.lock", half, sizeof(half));
	ck_assert_uint_eq(half[0], slots[1]);
	ck_assert_uint_eq(half[1], slots[2]);
	ck_assert_uint_eq(half[2], slots[3]);
	ck_assert_uint_eq(half[3], tt_ring_writer_pos(writer).file);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(fault_3_eviction_never_shortens_a_mapped_file)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_view view;
	struct stat before, after;
	struct tt_ring_info info;
	char path[64];

	create_ring("r", 1000, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 10);
	reader = open_reader("r");
	ck_assert_int_eq(tt_ring_read(reader, 10, 0, &view, NULL, &err), 1);
	info = ring_info("r");
	snprintf(path, sizeof(path), "r/%s", info.files[0].file_name);
	tt_ring_info_free(&info);
	ck_assert_int_eq(stat(path, &before), 0);
	for (int i = 0; i < 5; i++) {
		put_rows(writer, 0, 10);
		OK(tt_ring_roll(writer, &err));
	}
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_int_eq(before.st_size, after.st_size);
	ck_assert_int_eq(((const struct row *)view.rows)[9].number, 9);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(fault_4_head_sees_the_newest_file)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 3);
	reader = open_reader("r");
	look_shows(reader, 5, false, 0, 3, 1);
	put_rows(writer, 3, 3);
	look_shows(reader, 5, false, 0, 5, 2);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

/* Run in a child without privileges: 0 when all went as it should. */
static int read_as_nobody(int64_t rows)
{
	struct tt_ring_reader *reader;
	struct tt_view view;
	int64_t seen = 0;

	if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		return 1;
	if (open("r/.lock", O_RDWR | O_CLOEXEC) >= 0)
		return 2;
	if (tt_ring_reader_open(&reader, "r", NULL, &err) < 0)
		return 3;
	while (tt_ring_read(reader, 3, 0, &view, NULL, &err) == 1)
		seen += (int64_t)view.count;
	if (seen != rows || tt_ring_wait(reader, TT_WAIT_SLEEP, 1000000, &err) != 0)
		return 4;
	tt_ring_reader_close(reader);
	return 0;
}

static void check_nobody_reads(int64_t rows)
{
	int status;
	pid_t child;

	ck_assert_int_eq(system("chmod 555 r && chmod 444 r/*.npy r/.lock && "
				"{ test ! -e r/.ticktail || chmod 444 r/.ticktail; }"),
			 0);
	child = fork();
	if (child == 0)
		_exit(read_as_nobody(rows));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(system("chmod 755 r && chmod u+w r/*.npy r/.lock"), 0);
}

START_TEST(fault_5_reader_needs_read_permission_only)
{
	struct tt_ring_writer *writer;

	create_ring("r", 4, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 11);
	tt_ring_writer_close(writer);
	check_nobody_reads(11);
	ck_assert_int_eq(unlink("r/.ticktail"), 0); /* and no settings file */
	check_nobody_reads(11);
}
END_TEST

START_TEST(fault_6_files_are_filled_to_the_last_row)
{
	struct tt_ring_writer *writer;
	struct tt_ring_info info;

	create_ring("r", 4, 3);
	writer = open_writer("r");
	for (int64_t i = 0; i < 9; i += 3)
		put_rows(writer, i, 3);
	info = ring_info("r");
	ck_assert_uint_eq(info.file_count, 3);
	ck_assert_uint_eq(info.files[0].end, 4);
	ck_assert_uint_eq(info.files[1].end, 4);
	tt_ring_info_free(&info);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(fault_7_second_writer_is_refused_with_the_pid)
{
	struct tt_ring_writer *writer, *second;
	char expected[64];
	int status;
	pid_t child;

	create_ring("r", 4, 3);
	writer = open_writer("r");
	ck_assert_int_eq(tt_ring_writer_open(&second, "r", NULL, &err), TT_E_BUSY);
	snprintf(expected, sizeof(expected), "r: being written by process %d",
		 (int)getpid());
	ck_assert_str_eq(err.text, expected);
	child = fork();
	if (child == 0)
		_exit(tt_ring_writer_open(&second, "r", NULL, &err) == TT_E_BUSY &&
				      strcmp(err.text, expected) == 0
			      ? 0
			      : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	tt_ring_writer_close(writer);
	second = open_writer("r");
	tt_ring_writer_close(second);
}
END_TEST

START_TEST(name_without_file_is_made_by_the_next_writer)
{
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_ring_info info;
	uint64_t slots[3];
	int64_t next = 0;

	create_ring("r", 4, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 4);
	tt_ring_writer_close(writer);
	read_file("r/.lock", slots, sizeof(slots));
	slots[1] = slots[0] + 1000; /* npyt: the name first, then the file */
	write_file("r/.lock", slots, sizeof(slots));
	reader = open_reader("r");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 4);
	ck_assert_int_eq(tt_ring_wait(reader, TT_WAIT_SLEEP, 2000000, &err), 0);
	info = ring_info("r");
	ck_assert(info.foreign);
	ck_assert_uint_eq(info.rows, 4);
	tt_ring_info_free(&info);
	writer = open_writer("r");
	ck_assert_uint_eq(tt_ring_writer_pos(writer).file, slots[1]);
	put_rows(writer, 4, 2);
	take_rows(reader, &next);
	ck_assert_int_eq(next, 6);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(file_without_name_is_not_seen_and_removed)
{
	struct tt_ring_writer *writer;
	struct tt_ring_info info;
	char command[128];

	create_ring("r", 4, 3);
	writer = open_alone("r");
	put_rows(writer, 0, 4);
	tt_ring_writer_close(writer);
	create_ring("other", 4, 3);
	info = ring_info("other"); /* made later, so its name is larger */
	snprintf(command, sizeof(command), "mv other/%s r/ && touch r/.next",
		 info.files[0].file_name);
	ck_assert_int_eq(system(command), 0);
	tt_ring_info_free(&info);
	info = ring_info("r");
	ck_assert_uint_eq(info.file_count, 1);
	tt_ring_info_free(&info);
	writer = open_alone("r");
	ck_assert_ptr_nonnull(strstr(tt_ring_writer_repaired(writer), "not published"));
	ck_assert_int_eq(system("test $(ls r/*.npy | wc -l) = 1 && test ! -e r/.next"),
			 0);
	tt_ring_writer_close(writer);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		fault_1_names_rise_though_the_clock_steps_back,
		fault_2_half_shifted_manifest_hides_no_file,
		fault_3_eviction_never_shortens_a_mapped_file,
		fault_4_head_sees_the_newest_file,
		fault_5_reader_needs_read_permission_only,
		fault_6_files_are_filled_to_the_last_row,
		fault_7_second_writer_is_refused_with_the_pid,
		name_without_file_is_made_by_the_next_writer,
		file_without_name_is_not_seen_and_removed,
	};

	return ring_suite("faults of other writers", tests,
			  sizeof(tests) / sizeof(tests[0]));
}
