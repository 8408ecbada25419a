/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: what a commit changes, who is kept out meanwhile, what the dead leave.  With two words
 * it serves scripts instead. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "driver_help.h"

/* _i: the engine */
START_TEST(states_follow_each_other)
{
	struct model_opts opts = { .mode = TTI_DRIVER_CREATE,
				   .io = (enum tt_archive_io)_i };
	int state;

	for (int i = 1; i <= 4; i++) {
		state = model_commit("a.h5", &opts, &err);
		if (state == TT_E_UNSUPPORTED && _i == TT_IO_URING)
			return; /* test_io says so aloud */
		ck_assert_msg(state == i, "%s", err.text);
		check_state(i);
		ck_assert_int_eq(shell("test \"$(ls -A)\" = a.h5"), 0);
	}
}
END_TEST

START_TEST(closing_without_commit_leaves_every_byte)
{
	struct tti_driver *driver = NULL;
	int state;

	make_archive(2);
	ck_assert_int_eq(shell("cp -p a.h5 b.h5"), 0);
	ck_assert_int_eq(model_open(&driver, "a.h5", &writing, &state, &err), TT_OK);
	ck_assert_int_eq(model_write(driver, state, &err), TT_OK);
	ck_assert_int_ge(H5Fflush(tti_driver_file(driver), H5F_SCOPE_GLOBAL), 0);
	tti_driver_close(&driver);
	ck_assert_int_eq(shell("cmp a.h5 b.h5"), 0);
	check_state(2);
	/* of a new one nothing is left */
	ck_assert_int_eq(model_open(&driver, "new.h5", &creating, &state, &err), TT_OK);
	ck_assert_int_eq(model_write(driver, state, &err), TT_OK);
	tti_driver_close(&driver);
	ck_assert_int_eq(shell("test \"$(ls -A)\" = \"$(printf 'a.h5\\nb.h5')\""), 0);
}
END_TEST

START_TEST(open_identifiers_stop_the_commit_only)
{
	struct tti_driver *driver = NULL;
	hid_t left;
	int state;

	make_archive(1);
	ck_assert_int_eq(model_open(&driver, "a.h5", &writing, &state, &err), TT_OK);
	ck_assert_int_eq(model_write(driver, state, &err), TT_OK);
	left = H5Dopen2(tti_driver_file(driver), "x", H5P_DEFAULT);
	ck_assert_int_eq(tti_driver_commit(driver, &err), TT_E_MISUSE);
	ck_assert_ptr_nonnull(strstr(err.text, "1 HDF5 identifiers"));
	H5Dclose(left);
	ck_assert_int_eq(tti_driver_commit(driver, &err), TT_OK);
	ck_assert(tti_driver_is_applied(driver));
	ck_assert_int_eq(tti_driver_commit(driver, &err), TT_E_MISUSE);
	/* the committed state can be read, and only read */
	ck_assert_int_gt(H5Lexists(tti_driver_file(driver), "group2", H5P_DEFAULT), 0);
	{
		TTI_H5_QUIET;
		ck_assert_int_lt(H5Gcreate2(tti_driver_file(driver), "no", H5P_DEFAULT,
					    H5P_DEFAULT, H5P_DEFAULT),
				 0);
	}
	tti_driver_close(&driver);
	check_state(2);
}
END_TEST

/* A child that holds a run until its pipe closes. */
static pid_t hold_run(enum tti_driver_mode mode, int *pipe_out)
{
	int ready[2], go[2];
	char byte;
	pid_t child;

	ck_assert(pipe(ready) == 0 && pipe(go) == 0);
	child = fork();
	if (child == 0) {
		struct model_opts opts = { .mode = mode };
		struct tti_driver *driver = NULL;
		int state;

		close(go[1]);
		if (model_open(&driver, "a.h5", &opts, &state, &err) < 0 ||
		    write(ready[1], "r", 1) != 1)
			_exit(1);
		if (read(go[0], &byte, 1) != 0)
			_exit(2);
		if (mode == TTI_DRIVER_READ) {
			tti_driver_close(&driver);
			_exit(0);
		}
		if (model_write(driver, state, &err) < 0 ||
		    tti_driver_commit(driver, &err) < 0)
			_exit(3);
		tti_driver_close(&driver);
		_exit(0);
	}
	close(go[0]);
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*pipe_out = go[1];
	return child;
}

static void let_finish(pid_t child, int pipe_end)
{
	int status;

	close(pipe_end);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

START_TEST(a_run_keeps_all_others_out_by_name)
{
	struct tti_driver *driver = NULL;
	char wanted[64];
	int go, state, fd;
	pid_t child;

	make_archive(1);
	child = hold_run(TTI_DRIVER_WRITE, &go);
	snprintf(wanted, sizeof(wanted), "a.h5: being written by pid %d", (int)child);
	ck_assert_int_eq(model_open(&driver, "a.h5", &writing, &state, &err), TT_E_BUSY);
	ck_assert_msg(strstr(err.text, wanted), "%s", err.text);
	ck_assert_int_eq(
		tti_driver_open(&driver, "a.h5", TTI_DRIVER_READ,
				&(struct tti_driver_opts){ .apply_wait_ns = 1000000 },
				&err),
		TT_E_BUSY);
	ck_assert_msg(strstr(err.text, wanted), "%s", err.text);
	/* what stock HDF5 does */
	fd = open("a.h5", O_RDONLY);
	ck_assert(flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK);
	close(fd);
	let_finish(child, go);
	check_state(2);
}
END_TEST

START_TEST(readers_wait_for_a_run_to_end)
{
	struct tti_driver_opts opts = { .apply_wait_ns = 20000000000 };
	struct tti_driver *driver = NULL;
	int go;
	pid_t child, closer;

	make_archive(1);
	child = hold_run(TTI_DRIVER_WRITE, &go);
	closer = fork();
	if (closer == 0) {
		usleep(50000);
		_exit(0); /* drops its copy of the pipe */
	}
	close(go);
	ck_assert_int_eq(tti_driver_open(&driver, "a.h5", TTI_DRIVER_READ, &opts, &err),
			 TT_OK);
	tti_driver_close(&driver);
	waitpid(closer, NULL, 0);
	waitpid(child, NULL, 0);
	check_state(2);
}
END_TEST

START_TEST(a_run_is_refused_while_someone_reads)
{
	struct tti_driver *driver = NULL;
	char wanted[32];
	int go, state;
	pid_t child;

	make_archive(1);
	child = hold_run(TTI_DRIVER_READ, &go);
	snprintf(wanted, sizeof(wanted), "pid %d", (int)child);
	ck_assert_int_eq(model_open(&driver, "a.h5", &writing, &state, &err), TT_E_BUSY);
	ck_assert_msg(strstr(err.text, "open in"), "%s", err.text);
	check_state(1); /* readers share */
	let_finish(child, go);
	ck_assert_int_eq(model_commit("a.h5", &writing, &err), 2);
}
END_TEST

START_TEST(of_two_makers_the_second_starts_over)
{
	struct tti_driver *driver = NULL;
	int go, state;
	pid_t child = hold_run(TTI_DRIVER_CREATE, &go);

	ck_assert_int_eq(model_open(&driver, "a.h5", &creating, &state, &err), TT_OK);
	ck_assert(tti_driver_is_new(driver));
	ck_assert_int_eq(model_write(driver, state, &err), TT_OK);
	let_finish(child, go);
	ck_assert_int_eq(tti_driver_commit(driver, &err), -EEXIST);
	ck_assert_ptr_nonnull(strstr(err.text, "made by another process"));
	tti_driver_close(&driver);
	ck_assert_int_eq(shell("test \"$(ls -A)\" = a.h5"), 0);
	check_state(1);
	ck_assert_int_eq(model_commit("a.h5", &creating, &err), 2);
}
END_TEST

START_TEST(what_dead_makers_left_is_swept)
{
	ck_assert_int_eq(shell("touch .a.h5.1.tmp .a.h5.x.tmp .b.h5.1.tmp"), 0);
	make_archive(1);
	ck_assert_int_eq(access(".a.h5.1.tmp", F_OK), -1);
	ck_assert_int_eq(access(".a.h5.x.tmp", F_OK), 0);
	ck_assert_int_eq(access(".b.h5.1.tmp", F_OK), 0);
}
END_TEST

/* For scripts: print the state of PATH, commit the next one, or hold a run until the input
 * ends and then commit. */
static int serve(const char *how, const char *path)
{
	struct model_opts opts = { .mode = TTI_DRIVER_CREATE };
	struct tti_driver *driver = NULL;
	char byte;
	int rc;

	if (strcmp(how, "state") == 0)
		rc = model_state(path, NULL, &err);
	else if (strcmp(how, "commit") == 0)
		rc = model_commit(path, &opts, &err);
	else
		rc = model_open(&driver, path, &opts, &(int){ 0 }, &err);
	if (rc < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	if (!driver) {
		printf("%d\n", rc);
		return 0;
	}
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	rc = model_write(driver, 1, &err);
	if (rc == TT_OK)
		rc = tti_driver_commit(driver, &err);
	tti_driver_close(&driver);
	return rc < 0;
}

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, states_follow_each_other, TT_IO_AUTO, TT_IO_THREADS + 1);
	tcase_add_test(tc, closing_without_commit_leaves_every_byte);
	tcase_add_test(tc, open_identifiers_stop_the_commit_only);
	tcase_add_test(tc, a_run_keeps_all_others_out_by_name);
	tcase_add_test(tc, readers_wait_for_a_run_to_end);
	tcase_add_test(tc, a_run_is_refused_while_someone_reads);
	tcase_add_test(tc, of_two_makers_the_second_starts_over);
	tcase_add_test(tc, what_dead_makers_left_is_swept);
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return serve(argv[1], argv[2]);
	return work_dir_suite("driver", add);
}
