/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/io.h"
#include "base/fs.h"

static char path[64];
static int fd;
static const enum tt_archive_io kinds[] = { TT_IO_URING, TT_IO_THREADS };
static bool have[2];

#define BLOCK 4096u
#define COUNT 64u
static char *memory; /* COUNT blocks and one, aligned */

static void setup(void)
{
	strcpy(path, "/var/tmp/tt-io-XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	memory = mmap(NULL, (COUNT + 1) * BLOCK, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	for (size_t i = 0; i < (COUNT + 1) * BLOCK; i++)
		memory[i] = (char)(i * 7 + i / BLOCK);
}

static void teardown(void)
{
	close(fd);
	unlink(path);
	munmap(memory, (COUNT + 1) * BLOCK);
}

static struct tti_io *open_io(int kind, bool direct, unsigned depth)
{
	struct tti_io_opts opts = { .kind = kinds[kind],
				    .depth = depth,
				    .direct = direct };
	struct tti_io *io = NULL;
	struct tt_error err = { .code = 0 };

	ck_assert_msg(tti_io_open(&io, fd, path, &opts, &err) == TT_OK, "%s", err.text);
	ck_assert_int_eq(tti_io_kind(io), kinds[kind]);
	return io;
}

static void count_done(void *ctx, int rc)
{
	int *counts = ctx;

	counts[rc == TT_OK ? 0 : 1]++;
}

static void check_file(size_t n)
{
	char *back = malloc(n);

	ck_assert_int_eq(tti_pread_all(fd, back, n, 0), TT_OK);
	ck_assert_mem_eq(back, memory, n);
	free(back);
}

/* _i: kind, direct or not, aligned or not */
START_TEST(blocks_arrive_whole_in_any_order)
{
	size_t n = _i & 4 ? BLOCK - 1 : BLOCK;
	int counts[2] = { 0 };
	tti_auto_io *io = NULL;

	if (!have[_i & 1])
		return;
	io = open_io(_i & 1, _i & 2, 3);
	for (size_t i = 0; i < COUNT; i++) {
		size_t at = (i * 37) % COUNT;
		struct tti_io_block block = { .bytes = memory + at * n,
					      .n = n,
					      .offset = at * n,
					      .done = count_done,
					      .ctx = counts };

		ck_assert_int_eq(tti_io_write(io, &block), TT_OK);
		ck_assert_uint_le(tti_io_in_flight(io), 3);
	}
	ck_assert_int_eq(tti_io_drain(io), TT_OK);
	ck_assert_uint_eq(tti_io_in_flight(io), 0);
	ck_assert_int_eq(counts[0], COUNT);
	ck_assert_int_eq(counts[1], 0);
	check_file(COUNT * n);
}
END_TEST

START_TEST(reads_give_what_is_there_and_say_where_it_ends)
{
	int counts[2] = { 0 };
	char *back;
	tti_auto_io *io = NULL;

	if (!have[_i & 1])
		return;
	io = open_io(_i & 1, _i & 2, 0);
	ck_assert_int_eq(tti_pwrite_all(fd, memory, COUNT * BLOCK, 0), TT_OK);
	back = mmap(NULL, COUNT * BLOCK, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < COUNT; i++) {
		struct tti_io_block block = { .bytes = back + i * BLOCK,
					      .n = BLOCK,
					      .offset = i * BLOCK,
					      .done = count_done,
					      .ctx = counts };

		ck_assert_int_eq(tti_io_read(io, &block), TT_OK);
	}
	while (tti_io_in_flight(io) > 0)
		ck_assert_int_ge(tti_io_reap(io, true), 1);
	ck_assert_int_eq(counts[0], COUNT);
	ck_assert_mem_eq(back, memory, COUNT * BLOCK);
	{
		struct tti_io_block past = { .bytes = back,
					     .n = 100,
					     .offset = COUNT * BLOCK - 50,
					     .done = count_done,
					     .ctx = counts };

		ck_assert_int_eq(tti_io_read(io, &past), TT_OK);
		ck_assert_int_eq(tti_io_drain(io),
				 TT_OK); /* reads leave no trace there */
		ck_assert_int_eq(counts[1], 1);
	}
	munmap(back, COUNT * BLOCK);
}
END_TEST

START_TEST(closing_waits_for_what_is_in_flight)
{
	int counts[2] = { 0 };
	struct tti_io *io;

	if (!have[_i])
		return;
	io = open_io(_i, true, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		struct tti_io_block block = { .bytes = memory + i * BLOCK,
					      .n = BLOCK,
					      .offset = i * BLOCK,
					      .done = count_done,
					      .ctx = counts };

		ck_assert_int_eq(tti_io_write(io, &block), TT_OK);
	}
	tti_io_close(&io);
	ck_assert_ptr_null(io);
	ck_assert_int_eq(counts[0], COUNT);
	check_file(COUNT * BLOCK);
	tti_io_close(&io);
}
END_TEST

/* The limit cuts a write short first and refuses the next: both must come out as one error. */
START_TEST(a_refused_write_is_told_and_stays)
{
	struct rlimit limit = { .rlim_cur = 10 * BLOCK + 100, .rlim_max = RLIM_INFINITY };
	struct tti_io_block block = { .bytes = memory, .n = 2 * BLOCK };
	int counts[2] = { 0 };
	int rc = TT_OK;
	struct tti_io *io;

	if (!have[_i & 1])
		return;
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	io = open_io(_i & 1, _i & 2, 2);
	block.done = count_done;
	block.ctx = counts;
	for (int i = 0; i < 10 && rc == TT_OK; i++) {
		block.offset = (uint64_t)i * block.n;
		rc = tti_io_write(io, &block);
	}
	ck_assert_int_eq(tti_io_drain(io), -EFBIG);
	ck_assert_int_eq(tti_io_write(io, &block), -EFBIG);
	ck_assert_int_eq(tti_io_drain(io), -EFBIG);
	ck_assert_int_ge(counts[1], 1);
	tti_io_close(&io);
}
END_TEST

struct chain {
	struct tti_io *io;
	int left;
};

static void submit_next(void *ctx, int rc)
{
	struct chain *chain = ctx;
	struct tti_io_block block = {
		.bytes = memory, .n = BLOCK, .done = submit_next, .ctx = chain
	};

	ck_assert_int_eq(rc, TT_OK);
	if (chain->left-- > 0)
		ck_assert_int_eq(tti_io_write(chain->io, &block), TT_OK);
}

START_TEST(a_callback_may_submit)
{
	struct chain chain = { .left = 20 };

	if (!have[_i])
		return;
	chain.io = open_io(_i, true, 1);
	submit_next(&chain, TT_OK);
	ck_assert_int_eq(tti_io_drain(chain.io), TT_OK);
	ck_assert_int_eq(chain.left, -1);
	tti_io_close(&chain.io);
}
END_TEST

static void on_alarm(int number)
{
	(void)number;
}

START_TEST(signals_do_not_disturb)
{
	struct sigaction action = { .sa_handler = on_alarm }; /* no SA_RESTART */
	int counts[2] = { 0 };
	pid_t parent = getpid(), child;
	struct tti_io *io;

	if (!have[_i])
		return;
	sigaction(SIGUSR1, &action, NULL);
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 2000; i++)
			if (kill(parent, SIGUSR1) < 0)
				break;
		_exit(0);
	}
	io = open_io(_i, true, 4);
	for (int round = 0; round < 20; round++)
		for (size_t i = 0; i < COUNT; i++) {
			struct tti_io_block block = { .bytes = memory + i * BLOCK,
						      .n = BLOCK,
						      .offset = i * BLOCK,
						      .done = count_done,
						      .ctx = counts };

			ck_assert_int_eq(tti_io_write(io, &block), TT_OK);
		}
	ck_assert_int_eq(tti_io_drain(io), TT_OK);
	ck_assert_int_eq(counts[0], 20 * COUNT);
	tti_io_close(&io);
	waitpid(child, NULL, 0);
	check_file(COUNT * BLOCK);
}
END_TEST

START_TEST(auto_takes_threads_where_nothing_is_direct)
{
	struct tti_io_opts opts = { .kind = TT_IO_AUTO, .direct = false };
	tti_auto_io *io = NULL;

	ck_assert_int_eq(tti_io_open(&io, fd, path, &opts, NULL), TT_OK);
	ck_assert_int_eq(tti_io_kind(io), TT_IO_THREADS);
}
END_TEST

START_TEST(impossible_offsets_are_refused)
{
	struct tti_io_block block = { .bytes = memory, .n = BLOCK, .offset = INT64_MAX };
	struct tti_io *io;

	if (!have[_i])
		return;
	io = open_io(_i, false, 1);
	ck_assert_int_eq(tti_io_write(io, &block), -EOVERFLOW);
	tti_io_close(&io);
}
END_TEST

/* An engine that cannot run here is said aloud, on stderr, which the driver shows. */
static void look_for_engines(void)
{
	for (int i = 0; i < 2; i++) {
		struct tti_io_opts opts = { .kind = kinds[i] };
		struct tti_io *io = NULL;
		struct tt_error err;

		have[i] = tti_io_open(&io, 0, "stdin", &opts, &err) == TT_OK;
		if (!have[i])
			printf("# SKIP one engine: %s\n", err.text);
		tti_io_close(&io);
	}
	fflush(stdout);
}

int main(void)
{
	Suite *suite = suite_create("io");
	TCase *tc = tcase_create("io");
	SRunner *runner;
	int failed;

	look_for_engines();
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, blocks_arrive_whole_in_any_order, 0, 8);
	tcase_add_loop_test(tc, reads_give_what_is_there_and_say_where_it_ends, 0, 4);
	tcase_add_loop_test(tc, closing_waits_for_what_is_in_flight, 0, 2);
	tcase_add_loop_test(tc, a_refused_write_is_told_and_stays, 0, 4);
	tcase_add_loop_test(tc, a_callback_may_submit, 0, 2);
	tcase_add_loop_test(tc, signals_do_not_disturb, 0, 2);
	tcase_add_test(tc, auto_takes_threads_where_nothing_is_direct);
	tcase_add_loop_test(tc, impossible_offsets_are_refused, 0, 2);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
