/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of committing share: files of numbered rows, one archive, a look at what it holds. */
#ifndef COMMIT_HELP_H
#define COMMIT_HELP_H

#include "ticktail/archive.h"
#include "work_dir.h"

#define ROW "ts:i8,n:i4,px:f8"
#define ARCHIVE "a.h5"

struct row {
	int64_t ts;
	int32_t n;
	double px;
} __attribute__((packed));

static struct tt_error err;
static struct tt_archive_result result;

#define OK(call) ck_assert_msg((call) == TT_OK, "%s: %s", #call, err.text)

static inline struct row row_at(uint64_t i)
{
	return (struct row){ .ts = (int64_t)i * 1000, .n = (int32_t)i, .px = i * 0.25 };
}

static inline struct tt_dtype *row_type(void)
{
	struct tt_dtype *dtype;

	OK(tt_dtype_parse(&dtype, ROW, strlen(ROW), false, &err));
	return dtype;
}

static inline void make_file(const char *path, uint64_t capacity)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = row_type();

	opts.capacity = capacity;
	OK(tt_file_create(path, dtype, &opts, &err));
	tt_dtype_unref(dtype);
}

static inline void grow_file(const char *path, uint64_t first, uint64_t count)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file;

	opts.access = TT_WRITE;
	OK(tt_file_open(&file, path, &opts, &err));
	for (uint64_t i = first; i < first + count; i++) {
		struct row row = row_at(i);

		OK(tt_file_append(file, &row, 1));
	}
	tt_file_close(file);
}

static inline int commit_job(struct tt_archive_job *job, const char *source)
{
	job->sources = &source;
	job->source_count = 1;
	return tt_archive_commit(ARCHIVE, job, &result, &err);
}

static inline int commit_as(const char *source, const char *dataset, uint64_t chunk)
{
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;

	job.dataset = dataset;
	job.chunk_rows = chunk;
	return commit_job(&job, source);
}

/* All rows of a dataset of the current version (version NULL); the caller frees. */
static inline void *read_all(const char *dataset, const char *version, uint64_t *count,
			     uint64_t *row_bytes)
{
	struct tt_archive *archive;
	struct tt_dataset *open;
	size_t at;
	void *rows;

	OK(tt_archive_open(&archive, ARCHIVE, NULL, &err));
	OK(tt_archive_find_version(archive, version, &at, &err));
	OK(tt_dataset_open(&open, archive, at, dataset, &err));
	*count = tt_dataset_info(open)->shape[0];
	*row_bytes = tt_dataset_info(open)->row_bytes;
	rows = calloc(*count + 1, *row_bytes);
	OK(tt_dataset_read(open, 0, *count, rows, &err));
	tt_dataset_close(open);
	tt_archive_close(archive);
	return rows;
}

/* The dataset holds rows first .. first + count, in order, each once. */
static inline void holds_rows(const char *dataset, const char *version, uint64_t first,
			      uint64_t count)
{
	uint64_t got, bytes;
	struct row *rows = read_all(dataset, version, &got, &bytes);

	ck_assert_uint_eq(got, count);
	ck_assert_uint_eq(bytes, sizeof(*rows));
	for (uint64_t i = 0; i < count; i++) {
		struct row want = row_at(first + i);

		ck_assert_msg(memcmp(&rows[i], &want, sizeof(want)) == 0, "row %llu",
			      (unsigned long long)i);
	}
	free(rows);
}

static inline uint64_t damage_count(void)
{
	uint64_t found = 99;

	OK(tt_archive_verify(ARCHIVE, NULL, NULL, &found, &err));
	return found;
}

#endif
