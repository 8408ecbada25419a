/* SPDX-License-Identifier: Apache-2.0 */
/* A run: from sources to one new version, all or nothing.
 *
 * Everything is done inside the driver's overlay, so that an error anywhere leaves the archive
 * as it was.  Sources are compared with what they were at the start right before the commit;
 * the ledger tells of the rows in that same commit. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "archive/deposit.h"
#include "archive/h5.h"
#include "archive/lzf.h"
#include "archive/removal.h"
#include "archive/versiongroup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/failpoint.h"

#define CREATE_TRIES 10 /* against others who make the same archive */
#define MOVED_TRIES 8	/* against merges of what is being archived */

struct run {
	const char *path;
	const struct tt_archive_job *job;
	struct tti_sources *sources;
	struct tti_driver *driver;
	struct tti_versions versions;
	struct tti_ledger ledger;
	struct tti_plan plan;
	struct tti_deposit_count count;
};

static void run_close(struct run *run)
{
	tti_plan_fini(&run->plan);
	tti_ledger_fini(&run->ledger);
	tti_versions_fini(&run->versions);
	tti_driver_close(&run->driver);
}

static void say(const struct run *run, const char *text)
{
	if (run->job->warn && text && *text)
		run->job->warn(run->job->ctx, text);
}

static int open_archive(struct run *run, struct tt_error *err)
{
	const struct tt_archive_job *job = run->job;
	struct tti_driver_opts opts = {
		.apply_wait_ns = job->apply_wait_ns,
		.force_network_fs = job->force_network_fs,
		.io = job->io,
	};
	int rc = tti_lzf_register(err);

	if (rc == TT_OK)
		rc = tti_driver_open(&run->driver, run->path, TTI_DRIVER_CREATE, &opts,
				     err);
	if (rc < 0)
		return rc;
	say(run, tti_driver_notes(run->driver));
	if (tti_driver_is_new(run->driver))
		return TT_OK;
	rc = tti_versions_read(&run->versions, tti_driver_file(run->driver),
			       tti_driver_path(run->driver), NULL, err);
	return rc < 0 ? rc : tti_ledger_load(&run->ledger, run->driver, err);
}

/* Digests of variable-length strings mean nothing in files of version 1, all others hold. */
static int check_data_version(struct run *run, struct tt_error *err)
{
	if (tti_driver_is_new(run->driver) ||
	    run->versions.data_version == TTI_DATA_VERSION)
		return TT_OK;
	if (tti_archive_has_strings(run->driver))
		return tti_fail(err, TT_E_UNSUPPORTED,
				"%s: data_version 1 with variable-length strings cannot "
				"be extended; "
				"let versioned_hdf5 run "
				"rebuild_object_dtype_hashtables() on it first",
				tti_driver_path(run->driver));
	return tti_archive_upgrade(run->driver, err);
}

static int deposit_all(struct run *run, hid_t group, struct tt_error *err)
{
	struct tti_deposit deposit = {
		.driver = run->driver,
		.job = run->job,
		.versions = &run->versions,
		.plan = &run->plan,
		.group = group,
		.count = &run->count,
	};
	tti_auto_crew *crew = NULL;
	int rc = tti_crew_new(&crew, run->job->threads, err);

	deposit.crew = crew;
	for (size_t i = 0; rc == TT_OK && i < run->plan.count; i++) {
		deposit.work = &run->plan.works[i];
		rc = tti_deposit(&deposit, err);
		TTI_FAILPOINT("archive.deposited");
	}
	return rc;
}

static int log_stretch(struct run *run, struct tti_hasher *hasher,
		       const struct tti_stretch *stretch, struct tt_error *err)
{
	struct tti_item *item = stretch->item;
	uint64_t block = tti_block_rows(stretch->rows, item->row_bytes);
	uint64_t first = stretch->file_row, end = first + stretch->rows;
	struct tti_ledger_row row = {
		.source = item->source_id,
		.file_row = stretch->file_row,
		.rows = stretch->rows,
		.block_rows = block,
		.first_row = stretch->first_row,
		.min_time = stretch->times.min,
		.max_time = stretch->times.max,
		.file = item->file,
		.dataset = item->dataset,
		.version = run->plan.version,
		.timestamp = run->plan.timestamp,
	};
	int rc = tti_item_open(item, err);

	if (rc == TT_OK)
		rc = tti_item_digest(item, hasher,
				     (struct tti_range){ first, first + block },
				     &row.first_digest, err);
	if (rc == TT_OK)
		rc = tti_item_digest(item, hasher, (struct tti_range){ end - block, end },
				     &row.last_digest, err);
	tti_item_close(item);
	return rc < 0 ? rc : tti_ledger_add(&run->ledger, &row, err);
}

static int log_all(struct run *run, struct tt_error *err)
{
	tti_auto_hasher *hasher = NULL;
	int rc = tti_hasher_new(&hasher, err);

	for (size_t i = 0; rc == TT_OK && i < run->plan.count; i++)
		for (size_t k = 0; rc == TT_OK && k < run->plan.works[i].count; k++)
			rc = log_stretch(run, hasher, &run->plan.works[i].stretches[k],
					 err);
	return rc < 0 ? rc : tti_ledger_store(&run->ledger, run->driver, err);
}

static bool is_own(void *ctx, const char *dataset)
{
	return tti_plan_find(ctx, dataset) != NULL;
}

static int make_version(struct run *run, struct tt_error *err)
{
	struct tti_new_version version = {
		.name = run->plan.version,
		.parent = run->plan.parent,
		.timestamp = run->plan.timestamp,
		.is_own = is_own,
		.ctx = &run->plan,
	};
	tti_auto_hid group = -1;
	int rc = TT_OK;

	if (tti_driver_is_new(run->driver))
		rc = tti_archive_make(run->driver, run->plan.timestamp, err);
	if (rc == TT_OK)
		rc = tti_version_begin(&group, run->driver, &version, err);
	if (rc == TT_OK)
		rc = deposit_all(run, group, err);
	if (rc == TT_OK)
		rc = log_all(run, err);
	if (rc == TT_OK)
		rc = tti_version_end(group, run->driver, &version, err);
	return rc == TT_OK ? tti_archive_watch(run->driver, err) : rc;
}

static int check_sources(struct run *run, struct tt_error *err)
{
	int rc = TT_OK;

	for (size_t i = 0; rc == TT_OK && i < run->plan.count; i++)
		for (size_t k = 0; rc == TT_OK && k < run->plan.works[i].count; k++)
			rc = tti_item_unchanged(run->plan.works[i].stretches[k].item,
						err);
	return rc;
}

static int commit(struct run *run, struct tt_error *err)
{
	int rc = make_version(run, err);

	TTI_FAILPOINT("archive.made");
	if (rc == TT_OK)
		rc = tti_driver_drain(run->driver, err);
	if (rc == TT_OK)
		rc = check_sources(run, err);
	if (rc == TT_OK)
		rc = tti_driver_commit(run->driver, err);
	TTI_FAILPOINT("archive.committed");
	return rc;
}

static void tell(const struct run *run, struct tt_archive_result *out)
{
	memcpy(out->version, run->plan.version, sizeof(out->version));
	out->rows = run->plan.rows;
	out->chunks = run->count.chunks;
	out->chunks_new = run->count.chunks_new;
	out->chunks_reused = run->count.chunks - run->count.chunks_new;
	out->bytes = run->count.bytes;
}

/* What one call asks for and is told, over all its runs. */
struct request {
	const char *path;
	struct tt_archive_job job;
	struct tti_sources sources;
	struct tt_archive_result *out;
	bool applied; /* the file itself has the rows, so that sources may go */
};

static int try_run(struct run *run, struct request *request, struct tt_error *err)
{
	struct tt_archive_result *out = request->out;
	struct tti_plan_input input = {
		.job = run->job,
		.versions = &run->versions,
		.ledger = &run->ledger,
		.sources = run->sources,
	};
	int rc = open_archive(run, err);

	input.driver = run->driver;
	if (rc == TT_OK)
		rc = tti_plan_make(&run->plan, &input, err);
	request->applied = true;
	if (rc < 0 || run->plan.rows == 0)
		return rc;
	rc = check_data_version(run, err);
	out->io = tti_driver_io_kind(run->driver);
	if (rc == TT_OK)
		rc = commit(run, err);
	if (rc < 0)
		return rc;
	tell(run, out);
	say(run, tti_driver_notes(run->driver));
	request->applied = tti_driver_is_applied(run->driver);
	return TT_OK;
}

static int run_all(struct request *request, struct tt_error *err)
{
	int rc = -EEXIST;

	for (int tries = 0; rc == -EEXIST && tries < CREATE_TRIES; tries++) {
		struct run run = { .path = request->path,
				   .job = &request->job,
				   .sources = &request->sources };

		rc = try_run(&run, request, err);
		run_close(&run);
	}
	return rc;
}

static bool has_ring(const struct tti_sources *sources)
{
	for (size_t i = 0; i < sources->count; i++)
		if (sources->items[i]->in_ring)
			return true;
	return false;
}

/* Sealed files of a ring change only when they are merged, pruned or recovered: a new list
 * has what they became.  A file that a feed appends to would change again. */
static int find_and_run(struct request *request, struct tt_error *err)
{
	struct tti_sources *sources = &request->sources;
	int rc;

	for (int tries = 1;; tries++) {
		rc = tti_sources_find(sources, &request->job, err);
		if (rc == TT_OK)
			rc = run_all(request, err);
		if (rc != TT_E_CHANGED || tries == MOVED_TRIES || !has_ring(sources))
			return rc;
		tti_sources_fini(sources);
		request->job.seal = false; /* was asked for once */
	}
}

static int delete_archived(struct request *request, struct tt_error *err)
{
	const struct tt_archive_job *job = &request->job;

	if (!request->applied) {
		if (job->warn)
			job->warn(job->ctx,
				  "no file was deleted: the commit waits in the journal "
				  "until the archive can be written to");
		return TT_OK;
	}
	/* nothing archived, no archive: nothing to delete either */
	return request->out->rows == 0 && faccessat(AT_FDCWD, request->path, F_OK, 0) < 0
		       ? TT_OK
		       : tti_remove_archived(request->path, job, &request->sources, err);
}

int tt_archive_commit(const char *path, const struct tt_archive_job *job,
		      struct tt_archive_result *out, struct tt_error *err)
{
	TTI_H5_QUIET;
	struct tt_archive_result local;
	struct request request = { .path = path,
				   .job = TT_ARCHIVE_JOB_INIT,
				   .out = out ? out : &local };
	int64_t began = tti_clock_monotonic_ns();
	int rc;

	if (job->struct_size > sizeof(request.job))
		return tti_fail(err, TT_E_MISUSE,
				"struct tt_archive_job is newer than the library");
	memcpy(&request.job, job, job->struct_size);
	*request.out = (struct tt_archive_result){ .io = request.job.io };
	rc = find_and_run(&request, err);
	if (rc == TT_OK && request.job.delete_archived)
		rc = delete_archived(&request, err);
	tti_sources_fini(&request.sources);
	request.out->seconds = (double)(tti_clock_monotonic_ns() - began) / 1e9;
	return rc;
}
