/* SPDX-License-Identifier: Apache-2.0 */
/* Invariant: a file goes only after every one of its rows was read back from the archive, as
 * any reader would, and found equal; and only while it is still the file that was compared,
 * which is looked at under the lock that keeps merges out: a merged file has the name of the
 * first that it joined. */
#include "archive/removal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/compare.h"
#include "archive/history.h"
#include "archive/names.h"
#include "archive/reader.h"
#include "base/error.h"
#include "base/num.h"

static void warn(const struct tt_archive_job *job, const char *path, const char *what)
{
	char text[512];

	if (!job->warn)
		return;
	snprintf(text, sizeof(text), "%s: not deleted: %s", path, what);
	job->warn(job->ctx, text);
}

struct comparing {
	struct tt_archive *archive;
	struct tti_history *history;
	struct tti_item *item;
	bool is_equal;
};

/* The version the rows were archived in shows them as they were; it may be gone. */
static size_t version_of(const struct comparing *c, const struct tti_ledger_row *row)
{
	size_t at = tti_versions_find(&c->archive->versions, row->version);

	if (at != TTI_NO_VERSION && c->history->in_chain[at] &&
	    strcmp(c->archive->versions.items[at].timestamp, row->timestamp) == 0)
		return at;
	return tti_versions_find(&c->archive->versions, NULL);
}

static int compare(void *ctx, const struct tti_ledger_row *row, struct tt_error *err)
{
	struct comparing *c = ctx;
	const struct tti_item *item = c->item;
	/* those behind a cut are not the file's any more */
	const struct tti_overlap overlap = {
		row->file_row, row->first_row,
		item->end <= row->file_row
			? 0
			: tti_min_u64(row->rows, item->end - row->file_row)
	};
	struct tt_dataset *dataset;
	int rc = tt_dataset_open(&dataset, c->archive, version_of(c, row), row->dataset,
				 err);

	if (rc < 0)
		return rc;
	if (tt_dataset_info(dataset)->row_bytes != c->item->row_bytes ||
	    tt_dataset_info(dataset)->shape[0] < row->first_row + row->rows)
		c->is_equal = false;
	else
		rc = tti_item_compare(c->item, dataset, &overlap, &c->is_equal, err);
	tt_dataset_close(dataset);
	return rc;
}

struct removing {
	struct tt_archive *archive;
	struct tti_history *history;
	const struct tt_archive_job *job;
	/* of one ring; safe: the file of the item may go, set at its first item */
	struct tti_item **items;
	size_t count;
	bool *safe;
};

/* Every row of the item is archived and comes back as it is in the file. */
static int is_safe(const struct removing *r, struct tti_item *item, bool *out,
		   struct tt_error *err)
{
	struct comparing c = { .archive = r->archive,
			       .history = r->history,
			       .item = item,
			       .is_equal = true };
	const struct tti_visitor comparing = { compare, &c, true };
	struct tti_ranges missing = { 0 };
	int rc = tti_history_missing(r->history, item, true, &missing, err);

	*out = rc == TT_OK && missing.count == 0;
	tti_ranges_fini(&missing);
	if (rc < 0 || !*out)
		return rc;
	rc = tti_history_each(r->history, item, &comparing, err);
	*out = rc == TT_OK && c.is_equal;
	if (rc == TT_OK && !c.is_equal)
		warn(r->job, item->path,
		     "its rows are not those that the archive gives back");
	return rc;
}

/* The items of one file follow each other (several when it was merged): all or none. */
static int judge_file(const struct removing *r, size_t first, size_t count,
		      struct tt_error *err)
{
	bool safe = !r->items[first]->queued;
	int rc = TT_OK;

	for (size_t i = first; rc == TT_OK && safe && i < first + count; i++)
		rc = is_safe(r, r->items[i], &safe, err);
	r->safe[first] = rc == TT_OK && safe;
	/* merged or pruned since: the next run has what it became */
	return rc == TT_E_CHANGED || rc == -ENOENT ? TT_OK : rc;
}

static bool is_file_of(const struct tti_item *item, const struct tt_ring_file *file)
{
	return item->ring_file == file->name &&
	       strcmp(strrchr(item->path, '/') + 1, file->file_name) == 0;
}

/* Asked under the ring's lock. */
static bool may_go(void *ctx, const struct tt_ring_file *file)
{
	const struct removing *r = ctx;

	for (size_t i = 0; i < r->count; i++)
		if (r->safe[i] && is_file_of(r->items[i], file))
			return tti_item_unchanged(r->items[i], NULL) == TT_OK;
	return false;
}

static int remove_safe(struct removing *r, struct tt_error *err)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	tti_auto_free char *dir = strdup(r->items[0]->path);
	struct tt_ring_pruned pruned;
	int rc;

	if (!dir)
		return tti_fail(err, -ENOMEM, "%s: out of memory", r->items[0]->path);
	*strrchr(dir, '/') = '\0';
	opts.allow = may_go;
	opts.ctx = r;
	rc = tt_ring_prune(dir, &opts, &pruned, err);
	if (rc == TT_E_BUSY) { /* the rows are committed: no reason to call that failed */
		warn(r->job, dir,
		     "another process is merging or removing files, the next run does");
		return TT_OK;
	}
	if (rc == TT_OK && pruned.unsynced > 0)
		warn(r->job, dir, "files with rows that are not on disk yet");
	return rc;
}

static int remove_of_ring(struct removing *r, struct tt_error *err)
{
	tti_auto_free bool *safe = calloc(r->count, sizeof(*safe));
	bool any = false;
	int rc = TT_OK;

	if (!safe)
		return tti_fail(err, -ENOMEM, "%s: out of memory", r->items[0]->path);
	r->safe = safe;
	for (size_t i = 0, n; rc == TT_OK && i < r->count; i += n) {
		n = 1;
		while (i + n < r->count &&
		       strcmp(r->items[i + n]->path, r->items[i]->path) == 0)
			n++;
		rc = judge_file(r, i, n, err);
		any = any || safe[i];
	}
	return rc == TT_OK && any ? remove_safe(r, err) : rc;
}

static int remove_all(struct removing *r, struct tti_sources *sources,
		      struct tt_error *err)
{
	int rc = TT_OK;

	for (size_t i = 0; rc == TT_OK && i < sources->count; i += r->count) {
		r->items = sources->items + i;
		r->count = 1;
		while (i + r->count < sources->count &&
		       r->items[r->count]->source == r->items[0]->source)
			r->count++;
		if (r->items[0]->in_ring)
			rc = remove_of_ring(r, err);
	}
	return rc;
}

int tti_remove_archived(const char *path, const struct tt_archive_job *job,
			struct tti_sources *sources, struct tt_error *err)
{
	struct tt_archive_open_opts opts = TT_ARCHIVE_OPEN_OPTS_INIT;
	struct tti_history history = { 0 };
	struct tti_ledger ledger = { 0 };
	struct tt_archive *archive;
	int rc;

	opts.apply_wait_ns = job->apply_wait_ns;
	opts.force_network_fs = job->force_network_fs;
	rc = tt_archive_open(&archive, path, &opts, err);
	if (rc < 0)
		return rc;
	history.driver = archive->driver;
	history.versions = &archive->versions;
	history.ledger = &ledger;
	history.version =
		archive->versions.current ? archive->versions.current : TTI_FIRST_VERSION;
	rc = tti_ledger_load(&ledger, archive->driver, err);
	if (rc == TT_OK)
		rc = tti_history_open(&history, err);
	if (rc == TT_OK)
		rc = remove_all(&(struct removing){ .archive = archive,
						    .history = &history,
						    .job = job },
				sources, err);
	tti_history_close(&history);
	tti_ledger_fini(&ledger);
	tt_archive_close(archive);
	return rc;
}
