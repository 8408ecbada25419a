/* SPDX-License-Identifier: Apache-2.0 */
/* Commits that die, or are refused, at every single step: the archive is in the old state or in
 * the new one, whole, and the next open needs no help. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/journal.h"
#include "commit_model.h"
#include "work_dir.h"

static struct tt_error err;
static const struct model_opts creating = { .mode = TTI_DRIVER_CREATE };
static const enum tt_archive_io engines[] = { TT_IO_THREADS, TT_IO_URING };

static void shell(const char *command)
{
	ck_assert_msg(system(command) == 0, "%s", command);
}

/* state 2, as base.h5 */
static void make_base(void)
{
	for (int i = 1; i <= 2; i++)
		ck_assert_msg(model_commit("base.h5", &creating, &err) == i, "%s",
			      err.text);
}

#define OUTCOME_UNKNOWN 3 /* exit status of a child */

/* A commit in a child with one variable set; the wait status. */
static int commit_in_child(const char *path, enum tt_archive_io io, const char *variable,
			   const char *value)
{
	struct model_opts opts = { .mode = TTI_DRIVER_CREATE, .io = io };
	int status;
	pid_t child = fork();

	if (child < 0)
		abort(); /* also called outside a test */
	if (child == 0) {
		if (variable)
			setenv(variable, value, 1);
		if (model_commit(path, &opts, &err) > 0)
			_exit(0);
		_exit(strstr(err.text, "unknown") ? OUTCOME_UNKNOWN : 1);
	}
	if (waitpid(child, &status, 0) != child)
		abort();
	return status;
}

static bool has_engine(enum tt_archive_io io)
{
	struct model_opts opts = { .mode = TTI_DRIVER_CREATE, .io = io };
	bool has = model_commit("probe.h5", &opts, &err) > 0;

	unlink("probe.h5");
	if (!has) {
		printf("# SKIP one engine: %s\n", err.text);
		fflush(stdout);
	}
	return has;
}

static void check_whole(const char *path, int old, int step)
{
	int state = model_state(path, NULL, &err);

	ck_assert_msg(state == old || state == old + 1, "step %d: state %d: %s", step,
		      state, err.text);
	/* and it goes on from there */
	ck_assert_msg(model_commit(path, &creating, &err) == state + 1, "step %d: %s",
		      step, err.text);
	ck_assert_msg(model_state(path, NULL, &err) == state + 1, "step %d: %s", step,
		      err.text);
}

START_TEST(death_at_every_step_of_a_commit)
{
	int status = -1, step, new_states = 0, old_states = 0;
	char text[16];

	if (!has_engine(engines[_i]))
		return;
	make_base();
	for (step = 1; status != 0; step++) {
		shell("cp -p base.h5 a.h5");
		snprintf(text, sizeof(text), "%d", step);
		status = commit_in_child("a.h5", engines[_i], "TT_STEP_KILL", text);
		ck_assert_msg(status == 0 || WIFSIGNALED(status), "step %d: status %x",
			      step, (unsigned)status);
		if (model_state("a.h5", NULL, &err) == 3)
			new_states++;
		else
			old_states++;
		ck_assert_int_ne(access("a.h5-journal", F_OK), 0);
		check_whole("a.h5", 2, step);
		ck_assert_int_lt(step, 500);
		shell("test \"$(ls -A)\" = \"$(printf 'a.h5\\nbase.h5')\"");
	}
	/* both sides of the durable point were really met */
	ck_assert_int_gt(old_states, 10);
	ck_assert_int_gt(new_states, 10);
}
END_TEST

START_TEST(death_at_every_step_of_a_new_archive)
{
	int status = -1;
	char text[16];

	if (!has_engine(engines[_i]))
		return;
	for (int step = 1; status != 0; step++) {
		shell("rm -f a.h5");
		snprintf(text, sizeof(text), "%d", step);
		status = commit_in_child("a.h5", engines[_i], "TT_STEP_KILL", text);
		if (access("a.h5", F_OK) == 0)
			ck_assert_msg(model_state("a.h5", NULL, &err) == 1, "step %d: %s",
				      step, err.text);
		ck_assert_int_gt(model_commit("a.h5", &creating, &err), 0);
		ck_assert_int_lt(step, 500);
		if (access("a.h5", F_OK) == 0)
			shell("test \"$(ls -A)\" = a.h5 || { rm -f .a.h5.*.tmp; }");
	}
}
END_TEST

/* Leave a durable journal that is not applied. */
static void make_pending(void)
{
	make_base();
	shell("mv base.h5 a.h5");
	commit_in_child("a.h5", TT_IO_THREADS, "TT_FAILPOINT", "archive.journal.durable");
	ck_assert_int_eq(access("a.h5-journal", F_OK), 0);
}

/* The replay itself may die, as often as it likes. */
START_TEST(death_at_every_step_of_a_replay)
{
	char text[16];
	int status = -1;

	make_pending();
	for (int step = 1; status != 0; step++) {
		pid_t child = fork();

		if (child == 0) {
			snprintf(text, sizeof(text), "%d", step);
			setenv("TT_STEP_KILL", text, 1);
			_exit(model_state("a.h5", NULL, &err) == 3 ? 0 : 1);
		}
		waitpid(child, &status, 0);
		ck_assert_msg(status == 0 || WIFSIGNALED(status), "step %d: %x", step,
			      (unsigned)status);
		ck_assert_int_lt(step, 500);
	}
	check_whole("a.h5", 2, 0);
}
END_TEST

/* How many steps a commit on base.h5 takes. */
static int count_steps(void)
{
	int low = 0, high = 1024; /* passed, not reached */
	char text[16];

	while (high - low > 1) {
		int step = (low + high) / 2;

		shell("cp -p base.h5 a.h5");
		snprintf(text, sizeof(text), "%d", step);
		if (commit_in_child("a.h5", TT_IO_THREADS, "TT_STEP_KILL", text) == 0)
			high = step;
		else
			low = step;
		shell("rm -f a.h5-journal*");
	}
	return low;
}

/* A refused step: the commit says so and the old state is there, or it succeeded. */
START_TEST(an_error_at_every_step_of_a_commit)
{
	int status, steps;
	char text[16];

	make_base();
	steps = count_steps();
	ck_assert_int_gt(steps, 20);
	for (int step = 1; step <= steps; step++) {
		shell("cp -p base.h5 a.h5");
		snprintf(text, sizeof(text), "%d:%d", step, _i ? EIO : ENOSPC);
		status = commit_in_child("a.h5", TT_IO_THREADS, "TT_STEP_FAIL", text);
		ck_assert_msg(WIFEXITED(status), "step %d: %x", step, (unsigned)status);
		if (WEXITSTATUS(status) == 1) {
			shell("cmp a.h5 base.h5");
			shell("test \"$(ls -A)\" = \"$(printf 'a.h5\\nbase.h5')\"");
		}
		if (WEXITSTATUS(status) == 0)
			ck_assert_int_eq(model_state("a.h5", NULL, &err), 3);
		check_whole("a.h5", 2, step);
		ck_assert_int_ne(access("a.h5-journal", F_OK), 0);
	}
}
END_TEST

START_TEST(a_reader_completes_what_it_may_write)
{
	char notes[512];

	make_pending();
	ck_assert_msg(model_state("a.h5", notes, &err) == 3, "%s", err.text);
	ck_assert_ptr_nonnull(strstr(notes, "was completed"));
	ck_assert_int_ne(access("a.h5-journal", F_OK), 0);
}
END_TEST

START_TEST(a_reader_without_permission_reads_through)
{
	char notes[512] = "";
	int status;
	pid_t child;

	make_pending();
	shell("chmod 444 a.h5; chmod 555 .; cksum a.h5 > /dev/null");
	child = fork();
	if (child == 0) {
		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(9);
		if (model_state("a.h5", notes, &err) != 3)
			_exit(1);
		_exit(strstr(notes, "read from its journal") ? 0 : 2);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	shell("chmod 755 .; chmod 644 a.h5");
	ck_assert_int_eq(access("a.h5-journal", F_OK), 0);
	check_whole("a.h5", 2, 0);
}
END_TEST

/* Someone who does not know of the journal changes what it would overwrite. */
static void commit_foreign(void)
{
	hid_t file = H5Fopen("a.h5", H5F_ACC_RDWR, H5P_DEFAULT);
	hid_t group;

	ck_assert_int_ge(file, 0);
	group = H5Gcreate2(file, "foreign", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	ck_assert_int_ge(group, 0);
	H5Gclose(group);
	H5Fclose(file);
}

START_TEST(a_stale_journal_is_set_aside_never_replayed)
{
	char notes[512];
	hid_t file;

	make_pending();
	commit_foreign();
	if (_i) { /* a run finds it */
		struct model_opts opts = { .mode = TTI_DRIVER_WRITE };
		struct tti_driver *driver = NULL;
		int state;

		ck_assert_int_eq(model_open(&driver, "a.h5", &opts, &state, &err), TT_OK);
		snprintf(notes, sizeof(notes), "%s", tti_driver_notes(driver));
		tti_driver_close(&driver);
		ck_assert_int_eq(state, 2);
	} else {
		ck_assert_msg(model_state("a.h5", notes, &err) == 2, "%s", err.text);
	}
	ck_assert_msg(strstr(notes, "a.h5-journal.stale-"), "%s", notes);
	ck_assert_int_ne(access("a.h5-journal", F_OK), 0);
	shell("test $(ls a.h5-journal.stale-* | wc -l) = 1");
	file = H5Fopen("a.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
	ck_assert_int_gt(H5Lexists(file, "foreign", H5P_DEFAULT), 0);
	H5Fclose(file);
	ck_assert_int_eq(model_commit("a.h5", &creating, &err), 3);
}
END_TEST

START_TEST(a_copy_in_the_place_of_the_archive_makes_it_stale)
{
	char notes[512];

	make_pending();
	shell("cp a.h5 b.h5; mv b.h5 a.h5"); /* equal bytes, another inode */
	ck_assert_int_eq(model_state("a.h5", notes, &err), 2);
	ck_assert_ptr_nonnull(strstr(notes, "stale-"));
}
END_TEST

START_TEST(a_damaged_journal_is_reported_and_left)
{
	struct tti_driver *driver = NULL;
	struct model_opts opts = { .mode = TTI_DRIVER_WRITE };
	struct stat st;
	int state, fd;
	char byte;

	make_pending();
	stat("a.h5-journal", &st);
	shell("cp a.h5-journal good; cp a.h5 before.h5");
	for (off_t at = 0; at < st.st_size; at += 1 + st.st_size / 40) {
		shell("cp good a.h5-journal");
		fd = open("a.h5-journal", O_RDWR);
		ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
		byte ^= 0x10;
		ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		state = model_state("a.h5", NULL, &err);
		ck_assert_msg(state == TT_E_DAMAGED || state == TT_E_FORMAT,
			      "byte %d: %d %s", (int)at, state, err.text);
		ck_assert_ptr_nonnull(strstr(err.text, "journal"));
		ck_assert_int_eq(model_open(&driver, "a.h5", &opts, &state, &err),
				 err.code);
		ck_assert_int_eq(access("a.h5-journal", F_OK), 0);
	}
	for (off_t cut = 0; cut < st.st_size; cut += 1 + st.st_size / 20) {
		shell("cp good a.h5-journal");
		ck_assert_int_eq(truncate("a.h5-journal", cut), 0);
		ck_assert_int_eq(model_state("a.h5", NULL, &err), TT_E_DAMAGED);
	}
	shell("cmp a.h5 before.h5; mv good a.h5-journal");
	check_whole("a.h5", 2, 0);
}
END_TEST

START_TEST(a_finished_journal_and_a_temporary_one_are_dropped)
{
	struct tti_journal_head zero = { .magic = 0 };
	int fd;

	make_pending();
	shell("cp a.h5-journal a.h5-journal.tmp");
	ck_assert_int_eq(model_state("a.h5", NULL, &err), 3);
	shell("mv a.h5-journal.tmp a.h5-journal; echo rubbish > a.h5-journal.tmp");
	fd = open("a.h5-journal", O_WRONLY);
	ck_assert_int_eq(pwrite(fd, &zero, sizeof(zero), 0), sizeof(zero));
	close(fd);
	ck_assert_int_eq(model_state("a.h5", NULL, &err), 3);
	ck_assert_int_ne(access("a.h5-journal", F_OK), 0);
	ck_assert_int_eq(model_commit("a.h5", &creating, &err), 4);
	shell("test \"$(ls -A)\" = a.h5");
}
END_TEST

START_TEST(the_journal_has_the_archives_mode)
{
	struct stat st;

	make_base();
	shell("mv base.h5 a.h5; chmod 640 a.h5");
	commit_in_child("a.h5", TT_IO_THREADS, "TT_FAILPOINT", "archive.journal.durable");
	ck_assert_int_eq(stat("a.h5-journal", &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0640);
}
END_TEST

static const char *const failpoints[] = {
	"archive.chunks.durable",  "archive.journal.before_rename",
	"archive.journal.durable", "archive.apply.page:3",
	"archive.applied",	   "archive.journal.zeroed",
};

START_TEST(death_at_every_failpoint)
{
	int status;

	make_base();
	shell("mv base.h5 a.h5");
	status = commit_in_child("a.h5", TT_IO_AUTO, "TT_FAILPOINT", failpoints[_i]);
	ck_assert_msg(WIFSIGNALED(status), "%s is never passed", failpoints[_i]);
	ck_assert_int_eq(model_state("a.h5", NULL, &err), _i < 2 ? 2 : 3);
	check_whole("a.h5", 2, 0);
}
END_TEST

/* For scripts: every step's outcome in DIR, replayed by a reader of ours ("crash"), or one
 * pending journal ("pending"). */
static int crash_for_others(const char *how)
{
	char path[32], text[16], name[64];
	int status = -1;

	for (int i = 0; i < 2; i++)
		if (model_commit("base.h5", &creating, &err) < 0)
			return 1;
	if (strcmp(how, "pending") == 0) {
		commit_in_child("base.h5", TT_IO_AUTO, "TT_FAILPOINT",
				"archive.journal.durable");
		return access("base.h5-journal", F_OK) < 0;
	}
	for (int step = 1; status != 0 && step < 500; step++) {
		snprintf(path, sizeof(path), "step%d.h5", step);
		snprintf(name, sizeof(name), "cp -p base.h5 %s", path);
		snprintf(text, sizeof(text), "%d", step);
		if (system(name) != 0)
			return 1;
		status = commit_in_child(path, TT_IO_AUTO, "TT_STEP_KILL", text);
		if (model_state(path, NULL, &err) < 2) {
			fprintf(stderr, "%s: %s\n", path, err.text);
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	Suite *suite;
	TCase *tc;
	SRunner *runner;
	int failed;

	if (argc == 3)
		return chdir(argv[2]) < 0 || crash_for_others(argv[1]);
	suite = suite_create("crash");
	tc = tcase_create("crash");
	tcase_add_checked_fixture(tc, work_dir_enter, work_dir_leave);
	tcase_add_loop_test(tc, death_at_every_step_of_a_commit, 0, 2);
	tcase_add_loop_test(tc, death_at_every_step_of_a_new_archive, 0, 2);
	tcase_add_test(tc, death_at_every_step_of_a_replay);
	tcase_add_loop_test(tc, an_error_at_every_step_of_a_commit, 0, 2);
	tcase_add_test(tc, a_reader_completes_what_it_may_write);
	tcase_add_test(tc, a_reader_without_permission_reads_through);
	tcase_add_loop_test(tc, a_stale_journal_is_set_aside_never_replayed, 0, 2);
	tcase_add_test(tc, a_copy_in_the_place_of_the_archive_makes_it_stale);
	tcase_add_test(tc, a_damaged_journal_is_reported_and_left);
	tcase_add_test(tc, a_finished_journal_and_a_temporary_one_are_dropped);
	tcase_add_test(tc, the_journal_has_the_archives_mode);
	tcase_add_loop_test(tc, death_at_every_failpoint, 0, 6);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
