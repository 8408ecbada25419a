/* SPDX-License-Identifier: Apache-2.0 */
/* Readers that want to be seen: exact lag, places that are free again after any death, and
 * slots that hold anything. */
#include <pthread.h>

#include "lib/mp.h"
#include "live/ring_register.h"
#include "status_help.h"

/* The only reader of r. */
static struct tt_status_reader only(void)
{
	struct tt_ring_status status = look("r");
	struct tt_status_reader reader;

	ck_assert_uint_eq(status.reader_count, 1);
	reader = status.readers[0];
	tt_ring_status_free(&status);
	return reader;
}

static uint64_t read_rows(struct tt_ring_reader *reader, uint64_t count)
{
	struct tt_view view;
	int rc = tt_ring_read(reader, count, 0, &view, NULL, &err);

	ck_assert_msg(rc >= 0, "%s", err.text);
	return rc == 1 ? view.count : 0;
}

START_TEST(lag_is_exact_across_files)
{
	struct tt_status_reader seen;
	struct tt_ring_reader *reader;
	struct tt_ring_writer *writer;

	create_ring("r", 8, 4);
	writer = open_writer("r");
	put_rows(writer, 0, 20);
	reader = open_reader("r");
	OK(tt_ring_reader_register(reader, "strategy", &err));
	seen = only();
	ck_assert_str_eq(seen.name, "strategy");
	ck_assert_uint_eq(seen.pid, (uint32_t)getpid());
	ck_assert(seen.alive);
	ck_assert_uint_eq(seen.lag_rows, 20);
	ck_assert_int_gt(seen.lag_ns, 0); /* its file's first row came before it */
	ck_assert_uint_eq(seen.lost, 0);
	ck_assert_int_gt(seen.seen_ns, 0);
	ck_assert_uint_eq(read_rows(reader, 5), 5);
	seen = only();
	ck_assert_uint_eq(seen.lag_rows, 15);
	ck_assert_uint_eq(seen.pos.file, tt_ring_tell(reader).file);
	ck_assert_uint_eq(seen.pos.row, 5);
	ck_assert_uint_eq(read_rows(reader, 100), 3);
	ck_assert_uint_eq(read_rows(reader, 7), 7);
	seen = only();
	ck_assert_uint_eq(seen.lag_rows, 5);
	ck_assert_uint_eq(seen.pos.row, 7);
	ck_assert_uint_eq(read_rows(reader, 7), 1);
	ck_assert_uint_eq(read_rows(reader, 7), 4);
	ck_assert_uint_eq(only().lag_rows, 0);
	ck_assert_int_eq(only().lag_ns, 0);
	ck_assert_uint_eq(read_rows(reader, 7), 0);
	put_rows(writer, 20, 100);
	seen = only();
	ck_assert_uint_eq(seen.lag_rows, 100);
	ck_assert_int_ge(seen.lag_ns, 0);
	ck_assert_int_lt(seen.lag_ns, INT64_C(60000000000));
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(a_wait_says_that_all_was_read)
{
	struct tt_ring_reader *reader;
	struct tti_slot_seen seen;
	struct tti_ring ring;

	create_ring("r", 8, 4);
	reader = open_reader("r");
	OK(tt_ring_reader_register(reader, NULL, &err));
	OK(tti_ring_open(&ring, "r", false, &err));
	tti_slot_load_all(tti_ring_slot(&ring.set, 0), &seen);
	ck_assert_str_eq(seen.name, program_invocation_short_name);
	ck_assert_int_eq(seen.all_read_ns, 0);
	ck_assert_int_eq(tt_ring_wait(reader, TT_WAIT_SLEEP, 1000, &err), 0);
	tti_slot_load_all(tti_ring_slot(&ring.set, 0), &seen);
	ck_assert_int_gt(seen.all_read_ns, 0);
	tti_ring_close(&ring);
	tt_ring_reader_close(reader);
}
END_TEST

START_TEST(lag_counts_rows_that_are_gone_and_lost_is_told)
{
	struct tt_status_reader seen;
	struct tt_ring_reader *reader;
	struct tt_ring_writer *writer;
	struct tt_ring_info info;

	create_ring("r", 8, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 4);
	reader = open_reader("r");
	OK(tt_ring_reader_register(reader, "slow", &err));
	ck_assert_uint_eq(read_rows(reader, 4), 4);
	put_rows(writer, 4, 40);
	info = ring_info("r");
	for (int i = 0; i < 3; i++)
		OK(tt_ring_remove_file("r", info.files[i].name, &err));
	tt_ring_info_free(&info);
	ck_assert_uint_eq(only().lag_rows, 40);
	ck_assert_uint_eq(read_rows(reader, 100),
			  4); /* the open file's rows are still there */
	ck_assert_uint_eq(read_rows(reader, 100), 8);
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 16);
	seen = only();
	ck_assert_uint_eq(seen.lost, 16);
	ck_assert_uint_eq(seen.lag_rows, 12);
	ck_assert_uint_eq(tt_ring_reader_lost(reader), 0);
	ck_assert_uint_eq(only().lost, 16);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(lag_is_exact_inside_merged_files)
{
	struct tt_ring_reader *reader, *other;
	struct tt_ring_writer *writer;
	struct tt_ring_status status;
	uint64_t merged;

	create_ring("r", 8, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 44);
	reader = open_reader("r");
	OK(tt_ring_reader_register(reader, "in a joined file", &err));
	ck_assert_uint_eq(read_rows(reader, 100), 8);
	ck_assert_uint_eq(read_rows(reader, 3), 3);
	OK(tt_ring_merge("r", 4, NULL, NULL, &merged, &err));
	ck_assert_uint_eq(merged, 4);
	ck_assert_uint_eq(only().lag_rows, 33);
	other = open_reader("r");
	OK(tt_ring_reader_register(other, "in the merged one", &err));
	ck_assert_uint_eq(read_rows(other, 20), 20);
	status = look("r");
	ck_assert_uint_eq(status.reader_count, 2);
	ck_assert_str_eq(status.readers[1].name, "in the merged one");
	ck_assert_uint_eq(status.readers[1].lag_rows, 24);
	tt_ring_status_free(&status);
	tt_ring_reader_close(other);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(there_are_64_places_and_each_comes_back)
{
	struct tt_ring_reader *readers[TTI_READER_SLOTS + 1];
	struct tt_ring_status status;
	char name[32];

	create_ring("r", 8, 2);
	for (int i = 0; i <= TTI_READER_SLOTS; i++)
		readers[i] = open_reader("r");
	for (int i = 0; i < TTI_READER_SLOTS; i++) {
		snprintf(name, sizeof(name), "reader %d", i);
		OK(tt_ring_reader_register(readers[i], name, &err));
	}
	ck_assert_int_eq(tt_ring_reader_register(readers[TTI_READER_SLOTS], "late", &err),
			 TT_E_RANGE);
	ck_assert_ptr_nonnull(strstr(err.text, "all 64 places"));
	read_rows(readers[TTI_READER_SLOTS], 1); /* it reads on */
	status = look("r");
	ck_assert_uint_eq(status.reader_count, TTI_READER_SLOTS);
	ck_assert_str_eq(status.readers[63].name, "reader 63");
	tt_ring_status_free(&status);
	tt_ring_reader_unregister(readers[20]);
	OK(tt_ring_reader_register(readers[TTI_READER_SLOTS], "late", &err));
	status = look("r");
	ck_assert_str_eq(status.readers[20].name, "late");
	tt_ring_status_free(&status);
	/* another name takes the place again */
	OK(tt_ring_reader_register(readers[TTI_READER_SLOTS], "later", &err));
	status = look("r");
	ck_assert_str_eq(status.readers[20].name, "later");
	tt_ring_status_free(&status);
	for (int i = 0; i <= TTI_READER_SLOTS; i++)
		tt_ring_reader_close(readers[i]);
	status = look("r");
	ck_assert_uint_eq(status.reader_count, 0);
	tt_ring_status_free(&status);
}
END_TEST

static int open_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

START_TEST(ten_thousand_readers_come_and_go)
{
	int before;

	create_ring("r", 8, 2);
	before = open_descriptors();
	for (int i = 0; i < 10000; i++) {
		struct tt_ring_reader *reader = open_reader("r");

		OK(tt_ring_reader_register(reader, "guest", &err));
		tt_ring_reader_close(reader);
	}
	ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

static int stay(void *arg)
{
	struct mp_gate *gate = arg;
	struct tt_ring_reader *reader = open_reader("r");

	OK(tt_ring_reader_register(reader, "victim", &err));
	read_rows(reader, 3);
	mp_gate_add(gate);
	for (;;)
		pause();
	return 0;
}

START_TEST(a_killed_readers_place_is_free_at_once)
{
	struct mp_gate *gate = mp_gate_new();
	pid_t pids[TTI_READER_SLOTS];
	struct tt_ring_reader *reader;
	struct tt_ring_writer *writer;
	struct tt_ring_status status;

	create_ring("r", 8, 2);
	writer = open_writer("r");
	put_rows(writer, 0, 5);
	for (int i = 0; i < TTI_READER_SLOTS; i++)
		pids[i] = mp_spawn(stay, gate);
	ck_assert(mp_gate_wait(gate, TTI_READER_SLOTS, 60));
	status = look("r");
	ck_assert_uint_eq(status.reader_count, TTI_READER_SLOTS);
	for (size_t i = 0; i < status.reader_count; i++) {
		ck_assert(status.readers[i].alive);
		ck_assert_uint_eq(status.readers[i].lag_rows, 2);
		for (size_t j = 0; j < i; j++) /* nobody shares a place */
			ck_assert_uint_ne(status.readers[j].pid, status.readers[i].pid);
	}
	tt_ring_status_free(&status);
	reader = open_reader("r");
	ck_assert_int_eq(tt_ring_reader_register(reader, "heir", &err), TT_E_RANGE);
	for (int i = 0; i < TTI_READER_SLOTS; i++) {
		kill(pids[i], SIGKILL);
		ck_assert_int_eq(mp_wait(pids[i], 20), -SIGKILL);
	}
	status = look("r");
	ck_assert_uint_eq(status.reader_count, TTI_READER_SLOTS);
	ck_assert(!status.readers[7].alive);
	tt_ring_status_free(&status);
	OK(tt_ring_reader_register(reader, "heir", &err));
	status = look("r");
	ck_assert_str_eq(status.readers[0].name, "heir");
	ck_assert(status.readers[0].alive);
	tt_ring_status_free(&status);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(who_comes_back_takes_its_own_place)
{
	struct mp_gate *gate = mp_gate_new();
	struct tt_ring_reader *reader;
	pid_t pid;

	create_ring("r", 8, 2);
	pid = mp_spawn(stay, gate);
	ck_assert(mp_gate_wait(gate, 1, 20));
	kill(pid, SIGKILL);
	ck_assert_int_eq(mp_wait(pid, 20), -SIGKILL);
	reader = open_reader("r");
	OK(tt_ring_reader_register(reader, "victim", &err));
	ck_assert_uint_eq(only().pid,
			  (uint32_t)getpid()); /* nothing left of the dead one */
	tt_ring_reader_close(reader);
}
END_TEST

static void outlive(void *arg)
{
	mp_gate_add(arg);
	for (;;)
		pause();
}

static int fork_and_die(void *arg)
{
	struct mp_gate *gate = arg;
	struct tt_ring_reader *reader = open_reader("r");
	pid_t pid;

	OK(tt_ring_reader_register(reader, "parent", &err));
	pid = fork();
	if (pid == 0)
		outlive(gate);
	if (!mp_gate_wait(gate, 1, 20))
		return -1;
	*(pid_t *)((char *)gate + 64) = pid;
	raise(SIGKILL);
	return 0;
}

START_TEST(a_forked_child_keeps_no_place)
{
	struct mp_gate *gate = mp_shared(4096);

	if (!mp_dontfork_works()) {
		printf("# SKIP mappings are inherited here whatever they ask for\n");
		return;
	}
	create_ring("r", 8, 2);
	ck_assert_int_eq(mp_wait(mp_spawn(fork_and_die, gate), 20), -SIGKILL);
	ck_assert(!only().alive);
	kill(*(pid_t *)((char *)gate + 64), SIGKILL);
}
END_TEST

START_TEST(names_that_are_no_text_are_refused)
{
	struct tt_ring_reader *reader;
	char longest[65];

	create_ring("r", 8, 2);
	reader = open_reader("r");
	memset(longest, 'x', 64);
	longest[64] = '\0';
	ck_assert_int_eq(tt_ring_reader_register(reader, longest, &err), TT_E_RANGE);
	ck_assert_int_eq(tt_ring_reader_register(reader, "", &err), TT_E_RANGE);
	ck_assert_int_eq(tt_ring_reader_register(reader, "a\nb", &err), TT_E_RANGE);
	ck_assert_int_eq(tt_ring_reader_register(reader, "\xff", &err), TT_E_RANGE);
	longest[63] = '\0';
	OK(tt_ring_reader_register(reader, longest, &err));
	ck_assert_str_eq(only().name, longest);
	OK(tt_ring_reader_register(reader, "h\xc3\xb6rer", &err));
	ck_assert_str_eq(only().name, "h\xc3\xb6rer");
	tt_ring_reader_close(reader);
}
END_TEST

static int register_only(void *arg)
{
	struct tt_ring_reader *reader;

	(void)arg;
	if (!mp_drop_root())
		return 77;
	if (tt_ring_reader_open(&reader, "r", NULL, &err) < 0)
		return 1;
	if (tt_ring_reader_register(reader, "x", &err) != -EACCES)
		return 2;
	tt_ring_reader_close(reader);
	return 0;
}

START_TEST(who_may_only_read_is_refused_and_reads_on)
{
	int rc;

	create_ring("r", 8, 2);
	rc = mp_wait(mp_spawn(register_only, NULL), 20);
	if (rc != 77)
		ck_assert_int_eq(rc, 0);
}
END_TEST

START_TEST(without_a_settings_file_there_is_no_place)
{
	struct tt_ring_reader *reader;

	create_ring("r", 8, 2);
	ck_assert_int_eq(unlink("r/.ticktail"), 0);
	reader = open_reader("r");
	ck_assert_int_eq(tt_ring_reader_register(reader, "x", &err), TT_E_UNSUPPORTED);
	tt_ring_reader_unregister(reader);
	tt_ring_reader_close(reader);
}
END_TEST

START_TEST(hostile_slots_are_shown_and_trusted_in_nothing)
{
	struct tti_reader_slot *slot;
	struct tt_ring_reader *reader;
	struct tt_ring_status status;
	struct tti_ring ring;

	create_ring("r", 8, 2);
	OK(tti_ring_open(&ring, "r", true, &err));
	for (unsigned i = 0; i < TTI_READER_SLOTS; i++)
		memset(tti_ring_slot(&ring.set, i), 0xff, sizeof(*slot));
	slot = tti_ring_slot(&ring.set, 1);
	atomic_store(&slot->file, tti_ring_newest(&ring));
	memset(slot->name, 0x1b, sizeof(slot->name));
	status = look("r");
	ck_assert_uint_eq(status.reader_count, TTI_READER_SLOTS);
	ck_assert_uint_eq(strlen(status.readers[0].name), 256);
	ck_assert(!status.readers[0].alive);
	ck_assert_uint_eq(status.readers[0].lag_rows, TT_UNKNOWN);
	ck_assert_uint_eq(status.readers[0].pid, UINT32_MAX);
	ck_assert_uint_eq(status.readers[1].lag_rows, 0); /* past the end */
	tt_ring_status_free(&status);
	reader = open_reader("r");
	OK(tt_ring_reader_register(reader, "x", &err)); /* nobody holds their locks */
	tt_ring_reader_close(reader);
	tti_ring_close(&ring);
}
END_TEST

/* ---- between threads, so that a thread sanitizer sees the words ---- */

struct pair {
	struct tt_ring_reader *reader;
	_Atomic(bool) done;
};

static void *move(void *arg)
{
	struct pair *pair = arg;

	/* file n has row 1000 n: a row of another file is seen to be one */
	for (uint64_t i = 1; i <= 200000; i++)
		tti_registered_pos(pair->reader->registered,
				   (struct tt_pos){ i / 2 + 1, (i / 2 + 1) * 1000 },
				   i % 64 == 0);
	atomic_store(&pair->done, true);
	return NULL;
}

START_TEST(file_and_row_belong_together)
{
	struct pair pair = { 0 };
	struct tti_slot_seen seen;
	struct tti_ring ring;
	pthread_t thread;

	create_ring("r", 8, 2);
	pair.reader = open_reader("r");
	OK(tt_ring_reader_register(pair.reader, "mover", &err));
	OK(tti_ring_open(&ring, "r", false, &err));
	tti_registered_pos(pair.reader->registered, (struct tt_pos){ 1, 1000 }, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, move, &pair), 0);
	do {
		tti_slot_load_all(tti_ring_slot(&ring.set, 0), &seen);
		ck_assert_str_eq(seen.name, "mover");
		ck_assert_uint_eq(seen.pos.row, seen.pos.file * 1000);
	} while (!atomic_load(&pair.done));
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	tti_ring_close(&ring);
	tt_ring_reader_close(pair.reader);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		lag_is_exact_across_files,
		a_wait_says_that_all_was_read,
		lag_counts_rows_that_are_gone_and_lost_is_told,
		lag_is_exact_inside_merged_files,
		there_are_64_places_and_each_comes_back,
		ten_thousand_readers_come_and_go,
		a_killed_readers_place_is_free_at_once,
		who_comes_back_takes_its_own_place,
		a_forked_child_keeps_no_place,
		names_that_are_no_text_are_refused,
		who_may_only_read_is_refused_and_reads_on,
		without_a_settings_file_there_is_no_place,
		hostile_slots_are_shown_and_trusted_in_nothing,
		file_and_row_belong_together,
	};

	return ring_suite("register", tests, sizeof(tests) / sizeof(tests[0]));
}
