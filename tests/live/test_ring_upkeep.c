/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying, copying and rebuilding rings. */
#include "upkeep_help.h"

/* ---- Verifying ---- */

START_TEST(verify_names_each_damage)
{
	struct tt_ring_info info;
	char last[512], path[64], command[128];
	uint64_t slots[3], wrong[3];

	create_ring("r", 4, 3);
	fill_ring("r", 0, 14);
	check_whole("r");
	info = ring_info("r");
	read_file("r/.lock", slots, sizeof(slots));
	wrong[0] = slots[1], wrong[1] = slots[0], wrong[2] = slots[2];
	write_file("r/.lock", wrong, sizeof(wrong));
	ck_assert_uint_eq(verify("r", last), 1);
	ck_assert_ptr_nonnull(strstr(last, "must ascend"));
	wrong[0] = slots[0], wrong[1] = slots[1] - 1, wrong[2] = slots[2];
	write_file("r/.lock", wrong, sizeof(wrong));
	ck_assert_uint_eq(verify("r", last), 1);
	ck_assert_ptr_nonnull(strstr(last, "is not there"));
	write_file("r/.lock", slots, sizeof(slots));
	check_whole("r");
	ck_assert_int_eq(system("printf X | dd of=r/.ticktail bs=1 seek=600 conv=notrunc "
				"2>/dev/null"),
			 0);
	ck_assert_uint_eq(verify("r", last),
			  1); /* a copy no longer valid, the other empty */
	ck_assert_int_eq(unlink("r/.ticktail"), 0);
	check_whole("r"); /* a ring of another program: legal */
	snprintf(path, sizeof(path), "r/%s", info.files[1].file_name);
	snprintf(command, sizeof(command),
		 "printf X | dd of=%s bs=1 seek=2 conv=notrunc "
		 "2>/dev/null",
		 path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_uint_eq(verify("r", last), 1);
	ck_assert_int_eq(strncmp(last, path, strlen(path)), 0);
	tt_ring_info_free(&info);
}
END_TEST

START_TEST(file_with_more_rows_than_at_seal_is_damage)
{
	struct tt_ring_info info;
	struct tti_live live;
	struct tti_ring ring;
	char last[512];

	create_ring("r", 4, 3);
	fill_ring("r", 0, 3);
	OK(tt_ring_seal("r", 1000000000, NULL, &err));
	info = ring_info("r");
	OK(tti_ring_open(&ring, "r", true, &err));
	OK(tti_ring_open_writable(&ring, info.files[0].name, &live, &err));
	ck_assert_int_eq(tti_live_publish(&live, 4), TT_OK);
	tti_live_close(&live);
	tti_ring_close(&ring);
	tt_ring_info_free(&info);
	ck_assert_uint_eq(verify("r", last), 1);
	ck_assert_ptr_nonnull(strstr(last, "has 4 rows, its entry says 3"));
}
END_TEST

/* ---- Copying ---- */

START_TEST(copy_is_a_ring_with_the_same_rows)
{
	struct tt_ring_reader *reader;
	struct tt_ring_writer *writer;
	struct tt_ring_info info, copy;
	int64_t next = 0;

	create_ring("r", 4, 3);
	writer = open_writer("r");
	put_rows(writer, 0, 30);
	OK(tt_ring_merge("r", 2, NULL, NULL, NULL, &err));
	OK(tt_ring_backup("r", "copy", &err));
	put_rows(writer, 30, 5); /* not in the copy */
	tt_ring_writer_close(writer);
	info = ring_info("r");
	copy = ring_info("copy");
	ck_assert_mem_eq(info.ring_id, copy.ring_id, 16);
	ck_assert_uint_eq(copy.rows, 30);
	ck_assert_uint_eq(copy.keep, 3);
	tt_ring_info_free(&info);
	tt_ring_info_free(&copy);
	check_whole("copy");
	writer = open_writer("copy");
	ck_assert_str_eq(tt_ring_writer_repaired(writer), "");
	put_rows(writer, 30, 7);
	tt_ring_writer_close(writer);
	reader = open_reader("copy");
	take_rows(reader, &next);
	ck_assert_int_eq(next, 37);
	tt_ring_reader_close(reader);
	ck_assert_int_eq(tt_ring_backup("r", "copy", &err), -EEXIST);
	ck_assert_uint_eq(count_files(". -A"), 2);
}
END_TEST

START_TEST(copies_of_a_feeding_ring_are_whole)
{
	int ready[2], stop[2], status;
	char byte;
	pid_t child;

	create_ring("r", 256, 3);
	fill_ring("r", 0, 3);
	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_int_eq(pipe(stop), 0);
	child = fork();
	if (child == 0)
		_exit(feed("r", ready[1], stop[0], false));
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	for (int i = 0; i < 4; i++) {
		struct tt_ring_reader *reader;
		char dest[16];
		int64_t next = 0;

		snprintf(dest, sizeof(dest), "copy%d", i);
		usleep(5000);
		OK(tt_ring_backup("r", dest, &err));
		check_whole(dest);
		reader = open_reader(dest);
		take_rows(reader, &next);
		ck_assert_int_ge(next, 3);
		tt_ring_reader_close(reader);
	}
	ck_assert_int_eq(write(stop[1], "x", 1), 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- Rebuilding ---- */

START_TEST(rebuilt_manifest_names_the_newest_files)
{
	struct tt_ring_info info;
	uint64_t before[3], after[3];

	create_ring("r", 4, 3);
	fill_ring("r", 0, 24);
	read_file("r/.lock", before, sizeof(before));
	write_file("r/.lock", "garbage!garbage!garbage!", 24);
	OK(tt_ring_rebuild("r", 0, &err));
	read_file("r/.lock", after, sizeof(after));
	ck_assert_mem_eq(before, after, sizeof(before));
	ck_assert_int_eq(access("r/.lock.bad-1", F_OK), 0);
	OK(tt_ring_rebuild("r", 5, &err));
	info = ring_info("r");
	ck_assert_uint_eq(info.keep, 5);
	ck_assert(info.files[1].queued);
	tt_ring_info_free(&info);
	check_whole("r");
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		verify_names_each_damage,
		file_with_more_rows_than_at_seal_is_damage,
		copy_is_a_ring_with_the_same_rows,
		copies_of_a_feeding_ring_are_whole,
		rebuilt_manifest_names_the_newest_files,
	};

	return ring_suite("ring upkeep", tests, sizeof(tests) / sizeof(tests[0]));
}
