/* SPDX-License-Identifier: Apache-2.0 */
/* For the scripts that test committing, beside the program and before it:
 *	archive -o ARCHIVE [options] SRC...     commit, print the result
 *	feed RING COUNT CAPACITY KEEP FIRST     rows FIRST.. into a ring, made when missing
 *	rows ARCHIVE DATASET [VERSION]          raw rows to stdout
 * Rows are {ts:i8,n:i4,px:f8} made from their number. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ticktail/archive.h"

#define ROW "ts:i8,n:i4,px:f8"

struct row {
	int64_t ts;
	int32_t n;
	double px;
} __attribute__((packed));

static int failed(int rc, const struct tt_error *err)
{
	fprintf(stderr, "error %d: %s\n", rc, err->text);
	return 1;
}

static void warn(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "warning: %s\n", text);
}

static bool take_option(struct tt_archive_job *job, const char **out, int c)
{
	static int64_t timestamp;

	switch (c) {
	case 'o': *out = optarg; break;
	case 'd': job->dataset = optarg; break;
	case 'v': job->version = optarg; break;
	case 'p': job->parent = optarg; break;
	case 'c': job->chunk_rows = strtoull(optarg, NULL, 10); break;
	case 'f': job->filter = (enum tt_archive_filter)atoi(optarg); break;
	case 's': job->shuffle = true; break;
	case 't': job->threads = (unsigned)atoi(optarg); break;
	case 'i': job->io = (enum tt_archive_io)atoi(optarg); break;
	case 'S': job->seal = true; break;
	case 'D': job->delete_archived = true; break;
	case 'T':
		timestamp = strtoll(optarg, NULL, 10);
		job->timestamp_ns = &timestamp;
		break;
	default: return false;
	}
	return true;
}

static int archive(int argc, char **argv)
{
	struct tt_archive_job job = TT_ARCHIVE_JOB_INIT;
	struct tt_archive_result result;
	struct tt_error err;
	const char *out = NULL;
	int c, rc;

	job.warn = warn;
	while ((c = getopt(argc, argv, "o:d:v:p:c:f:st:i:SDT:")) != -1)
		if (!take_option(&job, &out, c))
			return 2;
	job.sources = (const char *const *)argv + optind;
	job.source_count = (size_t)(argc - optind);
	rc = tt_archive_commit(out, &job, &result, &err);
	if (rc < 0)
		return failed(rc, &err);
	printf("version='%s' rows=%" PRIu64 " chunks=%" PRIu64 " new=%" PRIu64
	       " reused=%" PRIu64 "\n",
	       result.version, result.rows, result.chunks, result.chunks_new,
	       result.chunks_reused);
	return 0;
}

static int make_ring(const char *dir, const char *capacity, const char *keep,
		     struct tt_error *err)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype;
	struct stat st;
	int rc;

	if (stat(dir, &st) == 0)
		return TT_OK;
	rc = tt_dtype_parse(&dtype, ROW, strlen(ROW), false, err);
	if (rc < 0)
		return rc;
	opts.capacity = strtoull(capacity, NULL, 10);
	opts.keep = strtoull(keep, NULL, 10);
	opts.sync_ms = TT_SYNC_NONE;
	opts.exact = true;
	rc = tt_ring_create(dir, dtype, &opts, err);
	tt_dtype_unref(dtype);
	return rc;
}

static int feed(char **argv)
{
	uint64_t count = strtoull(argv[1], NULL, 10), first = strtoull(argv[4], NULL, 10);
	struct tt_ring_writer *writer;
	struct tt_error err;
	int rc = make_ring(argv[0], argv[2], argv[3], &err);

	if (rc == TT_OK)
		rc = tt_ring_writer_open(&writer, argv[0], NULL, &err);
	if (rc < 0)
		return failed(rc, &err);
	for (uint64_t i = first; rc == TT_OK && i < first + count; i++) {
		struct row row = { .ts = (int64_t)i * 1000,
				   .n = (int32_t)i,
				   .px = i * 0.25 };

		rc = tt_ring_append(writer, &row, 1, NULL, &err);
	}
	tt_ring_writer_close(writer);
	return rc < 0 ? failed(rc, &err) : 0;
}

static int print_rows(struct tt_dataset *dataset, struct tt_error *err)
{
	const struct tt_dataset_info *info = tt_dataset_info(dataset);
	uint64_t step = 4096;
	char *rows = malloc(step * info->row_bytes + 1);
	int rc = TT_OK;

	for (uint64_t at = 0; rc == TT_OK && rows && at < info->shape[0]; at += step) {
		uint64_t n = info->shape[0] - at < step ? info->shape[0] - at : step;

		rc = tt_dataset_read(dataset, at, n, rows, err);
		if (rc == TT_OK && fwrite(rows, info->row_bytes, n, stdout) != n)
			return 1;
	}
	free(rows);
	return rc;
}

static int rows(char **argv)
{
	struct tt_archive *archive;
	struct tt_dataset *dataset;
	struct tt_error err;
	size_t version;
	int rc = tt_archive_open(&archive, argv[0], NULL, &err);

	if (rc < 0)
		return failed(rc, &err);
	rc = tt_archive_find_version(archive, argv[2], &version, &err);
	if (rc == TT_OK)
		rc = tt_dataset_open(&dataset, archive, version, argv[1], &err);
	if (rc == TT_OK) {
		rc = print_rows(dataset, &err);
		tt_dataset_close(dataset);
	}
	tt_archive_close(archive);
	return rc < 0 ? failed(rc, &err) : 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "archive") == 0)
		return archive(argc - 1, argv + 1);
	if (argc == 7 && strcmp(argv[1], "feed") == 0)
		return feed(argv + 2);
	if (argc >= 4 && strcmp(argv[1], "rows") == 0)
		return rows(argv + 2);
	fprintf(stderr, "usage: see the source\n");
	return 2;
}
