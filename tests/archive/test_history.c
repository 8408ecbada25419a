/* SPDX-License-Identifier: Apache-2.0 */
/* What counts as archived after others deleted versions, joined or cut files: each row once, in
 * one dataset.  Deleting is done as versioned_hdf5's `del` does it: the group is unlinked, and
 * children keep its name in their prev_version. */
#include <check.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/sources.h"
#include "ticktail/archive.h"
#include "work_dir.h"

#define ARCHIVE "a.h5"
#define VERSIONS "/_version_data/versions"

static struct tt_error err;
static struct tt_archive_result result;

#define OK(call) ck_assert_msg((call) == TT_OK, "%s: %s", #call, err.text)

static void write_current(const char *version)
{
	hid_t file = H5Fopen(ARCHIVE, H5F_ACC_RDWR, H5P_DEFAULT),
	      type = H5Tcopy(H5T_C_S1);
	hid_t group = H5Gopen2(file, VERSIONS, H5P_DEFAULT),
	      space = H5Screate(H5S_SCALAR);
	hid_t attr;

	ck_assert(H5Tset_size(type, H5T_VARIABLE) >= 0 &&
		  H5Tset_cset(type, H5T_CSET_UTF8) >= 0);
	ck_assert_int_ge(H5Adelete(group, "current_version"), 0);
	attr = H5Acreate2(group, "current_version", type, space, H5P_DEFAULT,
			  H5P_DEFAULT);
	ck_assert_int_ge(H5Awrite(attr, type, &version), 0);
	H5Aclose(attr);
	H5Sclose(space);
	H5Gclose(group);
	H5Tclose(type);
	ck_assert_int_ge(H5Fclose(file), 0);
}

static void unlink_version(const char *version)
{
	char path[128];
	hid_t file = H5Fopen(ARCHIVE, H5F_ACC_RDWR, H5P_DEFAULT);

	snprintf(path, sizeof(path), VERSIONS "/%s", version);
	ck_assert_int_ge(H5Ldelete(file, path, H5P_DEFAULT), 0);
	ck_assert_int_ge(H5Fclose(file), 0);
}

/* Rows first.. of one i8 each, in a file of that name. */
static void make_file(const char *path, int64_t first, uint64_t count)
{
	struct tt_file_create_opts create = TT_FILE_CREATE_OPTS_INIT;
	struct tt_file_open_opts open = TT_FILE_OPEN_OPTS_INIT;
	struct tt_dtype *dtype;
	struct tt_file *file;

	create.capacity = count + 1000;
	open.access = TT_WRITE;
	OK(tt_dtype_parse(&dtype, "i8", 2, false, &err));
	if (access(path, F_OK) < 0)
		OK(tt_file_create(path, dtype, &create, &err));
	OK(tt_file_open(&file, path, &open, &err));
	for (uint64_t i = 0; i < count; i++, first++)
		OK(tt_file_append(file, &first, 1));
	tt_file_close(file);
	tt_dtype_unref(dtype);
}

static uint64_t commit(const char *source, const char *dataset, const char *version,
		       const char *parent)
{
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;
	int64_t timestamp = 1700000000000000000;

	job.sources = &source;
	job.source_count = 1;
	job.dataset = dataset;
	job.version = version;
	job.timestamp_ns = &timestamp;
	job.parent = parent;
	job.chunk_rows = 64;
	OK(tt_archive_commit(ARCHIVE, &job, &result, &err));
	return result.rows;
}

/* The current version holds count rows in dataset, first and those behind it. */
static void holds(const char *dataset, int64_t first, uint64_t count)
{
	struct tt_archive *archive;
	struct tt_dataset *open;
	int64_t row;
	size_t at;

	OK(tt_archive_open(&archive, ARCHIVE, NULL, &err));
	OK(tt_archive_find_version(archive, NULL, &at, &err));
	OK(tt_dataset_open(&open, archive, at, dataset, &err));
	ck_assert_uint_eq(tt_dataset_info(open)->shape[0], count);
	for (uint64_t i = 0; i < count; i++) {
		OK(tt_dataset_read(open, i, 1, &row, &err));
		ck_assert_int_eq(row, first + (int64_t)i);
	}
	tt_dataset_close(open);
	tt_archive_close(archive);
}

START_TEST(a_version_unlinked_in_between_doubles_no_row)
{
	const char *names[] = { "v0", "v1", "v2", "v3" };

	for (int i = 0; i < 4; i++) {
		make_file("f.npy", i * 100, 100);
		ck_assert_uint_eq(commit("f.npy", NULL, names[i], NULL), 100);
	}
	unlink_version(names[_i]);
	if (_i == 3)
		write_current("v2");
	ck_assert_uint_eq(commit("f.npy", NULL, "w", NULL), _i == 3 ? 100 : 0);
	holds("f", 0, 400);
	make_file("f.npy", 400, 10);
	ck_assert_uint_eq(commit("f.npy", NULL, "x", NULL), 10);
	holds("f", 0, 410);
}
END_TEST

/* side and main both begin at base; base is gone, so nothing says which is above which. */
START_TEST(a_side_branch_does_not_count_when_the_chain_is_cut)
{
	make_file("base.npy", 0, 100);
	make_file("side.npy", 5000, 100);
	make_file("main.npy", 100, 100);
	commit("base.npy", "x", "base", NULL);
	commit("side.npy", "x", "side", NULL);
	commit("main.npy", "x", "main", "base");
	unlink_version("base");
	ck_assert_uint_eq(commit("main.npy", "x", "a", NULL), 0);
	ck_assert_uint_eq(commit("base.npy", "x", "b", NULL), 0);
	holds("x", 0, 200);
	ck_assert_uint_eq(commit("side.npy", "x", "c", NULL), 100);
}
END_TEST

/* The name and time of a deleted version, given again to one that holds other files. */
START_TEST(rows_of_a_namesake_do_not_count)
{
	make_file("f.npy", 0, 100);
	make_file("g.npy", 1000, 100);
	commit("f.npy", NULL, "day", NULL);
	unlink_version("day");
	write_current("__first_version__");
	ck_assert_uint_eq(commit("g.npy", _i ? "f" : NULL, "day", NULL), 100);
	ck_assert_uint_eq(commit("f.npy", NULL, "again", NULL), 100);
	ck_assert_uint_eq(commit("f.npy", NULL, "more", NULL), 0);
	ck_assert_uint_eq(commit("g.npy", _i ? "f" : NULL, "more", NULL), 0);
	if (!_i)
		holds("f", 0, 100);
}
END_TEST

/* A ring as npyt leaves it: files of 64 rows 0.., the last but one with 20. */
static void make_foreign_ring(uint64_t rows)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_dtype *dtype;

	opts.capacity = 64;
	opts.keep = 2;
	opts.exact = true;
	opts.sync_ms = TT_SYNC_NONE;
	OK(tt_dtype_parse(&dtype, "i8", 2, false, &err));
	OK(tt_ring_create("ring", dtype, &opts, &err));
	OK(tt_ring_writer_open(&writer, "ring", NULL, &err));
	for (uint64_t i = 0; i < rows; i++)
		OK(tt_ring_append(writer, &i, 1, NULL, &err));
	tt_ring_writer_close(writer);
	OK(tt_ring_seal("ring", 0, NULL, &err));
	ck_assert_int_eq(unlink("ring/.ticktail"), 0);
	tt_dtype_unref(dtype);
}

/* The first files as one, under the first one's name. */
static void join_files(uint64_t count)
{
	char path[128], joined[128];
	struct tt_ring_info info;

	OK(tt_ring_info("ring", &info, &err));
	make_file("joined.npy", 0, count * 64);
	for (uint64_t i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "ring/%s", info.files[i].file_name);
		ck_assert_int_eq(unlink(path), 0);
	}
	snprintf(joined, sizeof(joined), "ring/%s_", info.files[0].file_name);
	ck_assert_int_eq(rename("joined.npy", joined), 0);
	tt_ring_info_free(&info);
}

START_TEST(files_that_npyt_joined_are_not_archived_again)
{
	make_foreign_ring(6 * 64 + 20);
	ck_assert_uint_eq(commit("ring", "x", "one", NULL), 6 * 64 + 20);
	join_files(3);
	ck_assert_uint_eq(commit("ring", "x", "two", NULL), 0);
	ck_assert_int_eq(unlink(ARCHIVE), 0);
	ck_assert_uint_eq(commit("ring", "x", "one", NULL), 6 * 64 + 20);
	ck_assert_uint_eq(commit("ring", "x", "two", NULL), 0);
	holds("x", 0, 6 * 64 + 20);
}
END_TEST

/* As npyt does when a file leaves its queue: the tail behind the rows, another extent. */
static void cut_file(const char *path, uint64_t rows)
{
	int fd = open(path, O_RDWR);
	char head[128];
	uint64_t tail[5];
	struct stat st;
	char *extent;

	ck_assert(fd >= 0 && fstat(fd, &st) == 0);
	ck_assert_int_eq(pread(fd, head, sizeof(head), 0), sizeof(head));
	ck_assert_int_eq(pread(fd, tail, sizeof(tail), st.st_size - 40), 40);
	extent = memmem(head, sizeof(head), "64,", 3);
	ck_assert_ptr_nonnull(extent);
	memcpy(extent, "20,", 3);
	tail[2] += 1 << 16;
	ck_assert_int_eq(pwrite(fd, head, sizeof(head), 0), sizeof(head));
	ck_assert_int_eq(pwrite(fd, tail, 40, (off_t)(tail[3] + rows * 8)), 40);
	ck_assert_int_eq(ftruncate(fd, (off_t)(tail[3] + rows * 8 + 40)), 0);
	close(fd);
}

START_TEST(a_file_that_npyt_cuts_meanwhile_is_unchanged)
{
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;
	const char *source = "ring";
	struct tti_sources sources;
	struct tti_item *item;

	make_foreign_ring(64 + 20);
	job.sources = &source;
	job.source_count = 1;
	OK(tti_sources_find(&sources, &job, &err));
	ck_assert_uint_eq(sources.count, 2);
	item = sources.items[1];
	OK(tti_item_unchanged(item, &err));
	cut_file(item->path, 20);
	OK(tti_item_unchanged(item, &err));
	ck_assert_int_eq(unlink(item->path), 0);
	ck_assert_int_eq(tti_item_unchanged(item, &err), TT_E_CHANGED);
	tti_sources_fini(&sources);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, a_version_unlinked_in_between_doubles_no_row, 0, 4);
	tcase_add_test(tc, a_side_branch_does_not_count_when_the_chain_is_cut);
	tcase_add_loop_test(tc, rows_of_a_namesake_do_not_count, 0, 2);
	tcase_add_test(tc, files_that_npyt_joined_are_not_archived_again);
	tcase_add_test(tc, a_file_that_npyt_cuts_meanwhile_is_unchanged);
}

int main(void)
{
	return work_dir_suite("history", add);
}
