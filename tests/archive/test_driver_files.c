/* SPDX-License-Identifier: Apache-2.0 */
/* Runs over files of any kind: foreign ones, short ones, full disks, names that are long. */
#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "archive/journal.h"
#include "driver_help.h"

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

static void add(TCase *tc)
{
	tcase_add_test(tc, what_is_no_archive_is_refused_and_left);
	tcase_add_loop_test(tc, files_of_other_kinds_are_extended, 0, 8);
	tcase_add_test(tc, a_shrinking_file_ends_where_hdf5_says);
	tcase_add_test(tc, chunks_may_be_replaced);
	tcase_add_test(tc, leftovers_past_the_end_are_nobodys);
	tcase_add_test(tc, a_limit_on_file_size_aborts_cleanly);
	tcase_add_test(tc, a_full_disk_aborts_cleanly);
	tcase_add_test(tc, the_callers_error_printer_stays);
	tcase_add_test(tc, long_names_have_journals_of_their_own);
}

int main(void)
{
	return work_dir_suite("driver's files", add);
}
