/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/journal.h"
#include "archive/overlay.h"
#include "base/fs.h"
#include "commit_model.h"
#include "work_dir.h"

static struct tt_error err;
static const struct model_opts creating = { .mode = TTI_DRIVER_CREATE };
static const struct model_opts writing = { .mode = TTI_DRIVER_WRITE };

static int shell(const char *command)
{
	return system(command);
}

static void make_archive(int states)
{
	for (int i = 1; i <= states; i++)
		ck_assert_msg(model_commit("a.h5", &creating, &err) == i, "%s", err.text);
}

static void check_state(int wanted)
{
	int state = model_state("a.h5", NULL, &err);

	ck_assert_msg(state == wanted, "state %d, not %d: %s", state, wanted, err.text);
}

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

static void check_refused(const char *name, enum tti_driver_mode mode, int code,
			  const char *words)
{
	struct tti_driver *driver = NULL;
	struct tti_driver_opts opts = { .apply_wait_ns = 0 };
	int rc = tti_driver_open(&driver, name, mode, &opts, &err);

	ck_assert_msg(rc == code, "%s: %d, not %d: %s", name, rc, code, err.text);
	ck_assert_msg(strstr(err.text, words) && strstr(err.text, name), "%s", err.text);
}

START_TEST(what_is_no_archive_is_refused_and_left)
{
	make_archive(1);
	ck_assert_int_eq(
		shell("mkdir d; : > empty; head -c 3000 /dev/zero > zeros;"
		      "head -c 20000 a.h5 > cut; printf '\\211HDF\\r\\n\\032\\n' > bare;"
		      "printf '\\211HDF\\r\\n\\032\\n\\011' > version9; ln -s gone link;"
		      "cp a.h5 broken;"
		      "dd if=/dev/urandom of=broken bs=1 seek=96 count=400 conv=notrunc "
		      "2>/dev/null; mkdir -p w; cp -p empty zeros cut bare version9 "
		      "broken w"),
		0);
	for (int mode = TTI_DRIVER_READ; mode <= TTI_DRIVER_CREATE; mode++) {
		check_refused("d", mode, mode == TTI_DRIVER_READ ? TT_E_FORMAT : -EISDIR,
			      "directory");
		check_refused("empty", mode, TT_E_FORMAT, "not an HDF5 file");
		check_refused("zeros", mode, TT_E_FORMAT, "not an HDF5 file");
		check_refused("cut", mode, TT_E_DAMAGED, "truncated");
		check_refused("version9", mode, TT_E_FORMAT, "version 9");
		check_refused("link", mode, -ENOENT, "symbolic link to nothing");
		check_refused("empty/x", mode, -ENOTDIR, "empty/x");
		check_refused("gone/x", mode, -ENOENT, "gone/x");
	}
	ck_assert_int_eq(shell("for f in empty zeros cut bare version9 broken; do"
			       " cmp $f w/$f || exit 1; done"),
			 0);
	check_refused("missing", TTI_DRIVER_READ, -ENOENT, "no such archive");
	check_refused("missing", TTI_DRIVER_WRITE, -ENOENT, "no such archive");
}
END_TEST

static void extend_foreign(hid_t fcpl, hid_t fapl)
{
	hid_t file = H5Fcreate("f.h5", H5F_ACC_TRUNC, fcpl, fapl);
	hid_t group = H5Gcreate2(file, "theirs", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	struct tti_driver_opts opts = { .apply_wait_ns = 0 };
	struct tti_driver *driver = NULL;

	H5Gclose(group);
	H5Fclose(file);
	for (int i = 0; i < 3; i++) {
		char name[16];

		ck_assert_msg(tti_driver_open(&driver, "f.h5", TTI_DRIVER_WRITE, &opts,
					      &err) == TT_OK,
			      "%s", err.text);
		snprintf(name, sizeof(name), "ours%d", i);
		group = H5Gcreate2(tti_driver_file(driver), name, H5P_DEFAULT,
				   H5P_DEFAULT, H5P_DEFAULT);
		ck_assert_int_ge(group, 0);
		H5Gclose(group);
		ck_assert_msg(tti_driver_commit(driver, &err) == TT_OK, "%s", err.text);
		tti_driver_close(&driver);
		/* by stock HDF5 */
		file = H5Fopen("f.h5", H5F_ACC_RDWR, H5P_DEFAULT);
		ck_assert_int_ge(file, 0);
		ck_assert_int_gt(H5Lexists(file, "theirs", H5P_DEFAULT), 0);
		ck_assert_int_gt(H5Lexists(file, name, H5P_DEFAULT), 0);
		H5Fclose(file);
	}
	H5Pclose(fcpl);
	H5Pclose(fapl);
}

START_TEST(files_of_other_kinds_are_extended)
{
	hid_t fcpl = H5Pcreate(H5P_FILE_CREATE), fapl = H5Pcreate(H5P_FILE_ACCESS);

	/* a user block; the newest superblock, which marks files that are open for writing */
	if (_i & 1)
		H5Pset_userblock(fcpl, 4096);
	if (_i & 2)
		H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
	if (_i & 4)
		H5Pset_sizes(fcpl, 4, 4);
	extend_foreign(fcpl, fapl);
}
END_TEST

START_TEST(a_shrinking_file_ends_where_hdf5_says)
{
	struct tti_driver_opts opts = { .apply_wait_ns = 0 };
	struct tti_driver *driver = NULL;
	struct stat before, after;

	make_archive(3);
	stat("a.h5", &before);
	ck_assert_int_eq(tti_driver_open(&driver, "a.h5", TTI_DRIVER_WRITE, &opts, &err),
			 TT_OK);
	ck_assert_int_ge(H5Ldelete(tti_driver_file(driver), "x", H5P_DEFAULT), 0);
	ck_assert_int_ge(H5Ldelete(tti_driver_file(driver), "y", H5P_DEFAULT), 0);
	ck_assert_int_ge(H5Ldelete(tti_driver_file(driver), "table", H5P_DEFAULT), 0);
	ck_assert_msg(tti_driver_commit(driver, &err) == TT_OK, "%s", err.text);
	ck_assert_uint_eq(tti_driver_end(driver),
			  (stat("a.h5", &after), (uint64_t)after.st_size));
	tti_driver_close(&driver);
	ck_assert_int_lt(after.st_size, before.st_size);
	ck_assert_int_eq(tti_driver_open(&driver, "a.h5", TTI_DRIVER_READ, &opts, &err),
			 TT_OK);
	ck_assert_int_eq(H5Lexists(tti_driver_file(driver), "x", H5P_DEFAULT), 0);
	tti_driver_close(&driver);
}
END_TEST

/* A chunk that is written twice in one run, and one that takes the place of a freed one. */
START_TEST(chunks_may_be_replaced)
{
	hsize_t at[] = { 0 };
	struct tti_driver_opts opts = { .apply_wait_ns = 0 };
	struct tti_driver *driver = NULL;
	static char bytes[131072], back[131072];
	struct tti_driver_chunk chunk = { .offset = at,
					  .bytes = bytes,
					  .n = sizeof(bytes) };

	make_archive(1);
	for (int round = 0; round < 2; round++) {
		memset(bytes, 'a' + round, sizeof(bytes));
		ck_assert_int_eq(
			tti_driver_open(&driver, "a.h5", TTI_DRIVER_WRITE, &opts, &err),
			TT_OK);
		chunk.dataset = H5Dopen2(tti_driver_file(driver), "x", H5P_DEFAULT);
		ck_assert_int_eq(tti_driver_put_chunk(driver, &chunk, NULL, &err), TT_OK);
		ck_assert_int_eq(tti_driver_drain(driver, &err), TT_OK);
		bytes[5] = 'z';
		ck_assert_int_eq(tti_driver_put_chunk(driver, &chunk, NULL, &err), TT_OK);
		ck_assert_int_eq(tti_driver_drain(driver, &err), TT_OK);
		H5Dclose(chunk.dataset);
		ck_assert_int_eq(tti_driver_commit(driver, &err), TT_OK);
		chunk.dataset = H5Dopen2(tti_driver_file(driver), "x", H5P_DEFAULT);
		{
			struct tti_chunk_place place;

			ck_assert_int_eq(
				tti_driver_probe(driver, chunk.dataset, at, &place, &err),
				TT_OK);
			ck_assert_uint_eq(place.n, sizeof(bytes));
			ck_assert_int_eq(tti_driver_pread(driver, place.address, back,
							  sizeof(back), &err),
					 TT_OK);
			ck_assert_mem_eq(back, bytes, sizeof(back));
			ck_assert_int_eq(tti_driver_pread(driver,
							  tti_driver_end(driver) - 1,
							  back, 2, &err),
					 TT_E_DAMAGED);
		}
		H5Dclose(chunk.dataset);
		tti_driver_close(&driver);
	}
}
END_TEST

START_TEST(leftovers_past_the_end_are_nobodys)
{
	struct tti_driver_opts opts = { .apply_wait_ns = 0 };
	struct tti_driver *driver = NULL;
	struct stat clean, after;

	make_archive(1);
	stat("a.h5", &clean);
	ck_assert_int_eq(shell("head -c 300000 /dev/urandom >> a.h5"), 0);
	ck_assert_int_eq(tti_driver_open(&driver, "a.h5", TTI_DRIVER_READ, &opts, &err),
			 TT_OK);
	ck_assert_uint_eq(tti_driver_end(driver), (uint64_t)clean.st_size);
	tti_driver_close(&driver);
	ck_assert_int_eq(model_commit("a.h5", &writing, &err), 2);
	check_state(2);
	stat("a.h5", &after);
	ck_assert_int_eq(tti_driver_open(&driver, "a.h5", TTI_DRIVER_READ, &opts, &err),
			 TT_OK);
	ck_assert_uint_eq(tti_driver_end(driver), (uint64_t)after.st_size);
	tti_driver_close(&driver);
}
END_TEST

START_TEST(a_limit_on_file_size_aborts_cleanly)
{
	struct rlimit limit = { .rlim_cur = 0, .rlim_max = RLIM_INFINITY };
	struct stat st;
	int rc;

	make_archive(2);
	ck_assert_int_eq(shell("cp -p a.h5 b.h5"), 0);
	stat("a.h5", &st);
	signal(SIGXFSZ, SIG_IGN);
	for (int step = 0; step < 6; step++) {
		limit.rlim_cur = (rlim_t)st.st_size + (rlim_t)step * 90000;
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
		rc = model_commit("a.h5", &writing, &err);
		limit.rlim_cur = RLIM_INFINITY;
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
		if (rc > 0)
			break;
		ck_assert_msg(rc == -EFBIG, "%d %s", rc, err.text);
		ck_assert_int_eq(shell("cmp a.h5 b.h5 && test $(ls -A | wc -l) = 2"), 0);
	}
	check_state(rc > 0 ? 3 : 2);
}
END_TEST

static bool mount_small(const char *size)
{
	if (mkdir("small", 0755) == 0 && mount("tmpfs", "small", "tmpfs", 0, size) == 0)
		return true;
	rmdir("small");
	return false;
}

START_TEST(a_full_disk_aborts_cleanly)
{
	bool failed = false;

	if (!mount_small("size=1600k")) {
		printf("# SKIP a full disk: mounting a tmpfs is not allowed (%s)\n",
		       strerror(errno));
		fflush(stdout);
		return;
	}
	for (int i = 1; i < 10 && !failed; i++) {
		int rc = model_commit("small/a.h5", &creating, &err);

		failed = rc < 0;
		if (failed) {
			ck_assert_msg(rc == -ENOSPC, "%d %s", rc, err.text);
			ck_assert_int_eq(model_state("small/a.h5", NULL, &err), i - 1);
			ck_assert_int_eq(shell("test \"$(ls -A small)\" = a.h5"), 0);
			rc = model_commit("small/b.h5", &creating, &err);
			ck_assert_msg(rc == -ENOSPC, "%d %s", rc, err.text);
			ck_assert_int_eq(shell("test \"$(ls -A small)\" = a.h5"), 0);
		}
	}
	umount("small");
	ck_assert(failed);
}
END_TEST

/* A name that was cut short would let two archives share one journal. */
START_TEST(long_names_have_journals_of_their_own)
{
	struct tti_journal_place a = { .path = "a" }, b = { .path = "b" };
	char one[256], other[256];

	memset(one, 'x', sizeof(one));
	one[221] = '\0';
	memcpy(other, one, sizeof(other));
	other[220] = 'y';
	ck_assert_int_eq(tti_journal_name(&a, one, NULL), TT_OK);
	ck_assert_int_eq(tti_journal_name(&b, other, NULL), TT_OK);
	ck_assert_str_ne(a.name, b.name);
	ck_assert_str_ne(a.temporary, b.temporary);
	one[221] = 'x';
	one[222] = '\0';
	ck_assert_int_eq(tti_journal_name(&a, one, NULL), -ENAMETOOLONG);
}
END_TEST

START_TEST(the_callers_error_printer_stays)
{
	H5E_auto2_t before, after;
	void *data_before, *data_after;

	H5Eget_auto2(H5E_DEFAULT, &before, &data_before);
	make_archive(1);
	check_refused("gone", TTI_DRIVER_READ, -ENOENT, "gone");
	H5Eget_auto2(H5E_DEFAULT, &after, &data_after);
	ck_assert(before == after && data_before == data_after);
}
END_TEST

/* Random writes, uncovers and reads against a plain array. */
START_TEST(the_overlay_agrees_with_a_plain_model)
{
	enum { ROOM = 5 * TTI_PAGE };
	static unsigned char below[ROOM], model[ROOM], got[ROOM], bytes[ROOM];
	struct tti_overlay overlay = { .room = 0 };
	const char *given = getenv("TT_SEED");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)getpid();

	printf("# TT_SEED=%u\n", seed);
	fflush(stdout);
	for (size_t i = 0; i < ROOM; i++)
		below[i] = model[i] = (unsigned char)i;
	for (int step = 0; step < 20000; step++) {
		size_t at = (size_t)rand_r(&seed) % ROOM;
		size_t n = (size_t)rand_r(&seed) % (rand_r(&seed) % 4 ? 200 : ROOM);

		n = n < ROOM - at ? n : ROOM - at;
		if (rand_r(&seed) % 3) {
			memset(bytes, rand_r(&seed), n);
			ck_assert_int_eq(
				tti_overlay_write(&overlay, at + 3 * TTI_PAGE, bytes, n),
				TT_OK);
			memcpy(model + at, bytes, n);
			ck_assert(n == 0 ||
				  tti_overlay_hides(&overlay, at + 3 * TTI_PAGE, n));
		} else {
			tti_overlay_uncover(&overlay, at + 3 * TTI_PAGE, n);
			memcpy(model + at, below + at, n);
			ck_assert(tti_overlay_is_clear(&overlay, at + 3 * TTI_PAGE, n));
		}
		at = (size_t)rand_r(&seed) % ROOM;
		n = (size_t)rand_r(&seed) % (ROOM - at);
		memcpy(got, below + at, n);
		tti_overlay_lay(&overlay, at + 3 * TTI_PAGE, got, n);
		ck_assert_mem_eq(got, model + at, n);
	}
	tti_overlay_clear(&overlay);
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

int main(int argc, char **argv)
{
	Suite *suite;
	TCase *tc;
	SRunner *runner;
	int failed;

	if (argc == 3)
		return serve(argv[1], argv[2]);
	suite = suite_create("driver");
	tc = tcase_create("driver");
	tcase_add_checked_fixture(tc, work_dir_enter, work_dir_leave);
	tcase_add_loop_test(tc, states_follow_each_other, TT_IO_AUTO, TT_IO_THREADS + 1);
	tcase_add_test(tc, closing_without_commit_leaves_every_byte);
	tcase_add_test(tc, open_identifiers_stop_the_commit_only);
	tcase_add_test(tc, a_run_keeps_all_others_out_by_name);
	tcase_add_test(tc, readers_wait_for_a_run_to_end);
	tcase_add_test(tc, a_run_is_refused_while_someone_reads);
	tcase_add_test(tc, of_two_makers_the_second_starts_over);
	tcase_add_test(tc, what_dead_makers_left_is_swept);
	tcase_add_test(tc, what_is_no_archive_is_refused_and_left);
	tcase_add_loop_test(tc, files_of_other_kinds_are_extended, 0, 8);
	tcase_add_test(tc, a_shrinking_file_ends_where_hdf5_says);
	tcase_add_test(tc, chunks_may_be_replaced);
	tcase_add_test(tc, leftovers_past_the_end_are_nobodys);
	tcase_add_test(tc, a_limit_on_file_size_aborts_cleanly);
	tcase_add_test(tc, a_full_disk_aborts_cleanly);
	tcase_add_test(tc, long_names_have_journals_of_their_own);
	tcase_add_test(tc, the_callers_error_printer_stays);
	tcase_add_test(tc, the_overlay_agrees_with_a_plain_model);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
