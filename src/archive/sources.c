/* SPDX-License-Identifier: Apache-2.0 */
/* From SRC arguments to items.  Invariant: an item describes rows that were published when it
 * was made; of a ring only sealed files become items. */
#include "archive/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/names.h"
#include "archive/timefield.h"
#include "base/error.h"
#include "base/num.h"

#define FIND_TRIES 16

static void item_free(struct tti_item *item)
{
	tti_item_close(item);
	pthread_mutex_destroy(&item->lock);
	tt_dtype_unref(item->dtype);
	free(item->path);
	free(item->file);
	free(item->dataset);
	free(item);
}

void tti_sources_fini(struct tti_sources *sources)
{
	for (size_t i = 0; i < sources->count; i++)
		item_free(sources->items[i]);
	free(sources->items);
	*sources = (struct tti_sources){ 0 };
}

static struct tti_item *item_new(struct tti_sources *sources)
{
	struct tti_item *item;

	if (sources->count == sources->room) {
		size_t room = sources->room ? sources->room * 2 : 16;
		void *grown = realloc(sources->items, room * sizeof(*sources->items));

		if (!grown)
			return NULL;
		sources->items = grown;
		sources->room = room;
	}
	item = calloc(1, sizeof(*item));
	if (!item)
		return NULL;
	item->fd = -1;
	item->cut_at = UINT64_MAX;
	pthread_mutex_init(&item->lock, NULL);
	sources->items[sources->count++] = item;
	return item;
}

static void item_drop(struct tti_sources *sources)
{
	item_free(sources->items[--sources->count]);
}

/* What a tt_file tells, and the identity of the inode it told it of: the path may be renamed
 * over between the two looks, so they are taken until they agree. */
static int look(struct tti_item *item, struct tt_error *err)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file_info info;
	struct tt_file *file;
	struct stat after;
	int rc;

	opts.plain = true;
	opts.by_pread = true;
	do {
		if (stat(item->path, &item->stat) < 0)
			return tti_fail_sys(err, -errno, item->path, NULL);
		rc = tt_file_open(&file, item->path, &opts, err);
		if (rc < 0)
			return rc;
		rc = tt_file_info(file, &info, err);
		if (rc == TT_OK && stat(item->path, &after) < 0)
			rc = tti_fail_sys(err, -errno, item->path, NULL);
		if (rc == TT_OK && after.st_ino == item->stat.st_ino &&
		    after.st_dev == item->stat.st_dev)
			break;
		tt_file_close(file);
		if (rc < 0)
			return rc;
	} while (true);
	item->dtype = tt_dtype_ref(info.dtype);
	item->row_rank = info.row_rank;
	if (info.row_rank > 0)
		memcpy(item->row_shape, info.row_shape,
		       info.row_rank * sizeof(*info.row_shape));
	item->row_bytes = info.row_bytes;
	item->start = item->path_start = info.start;
	item->end = item->path_end = info.end;
	item->update_timestamp = info.update_timestamp;
	item->data_off = info.data_off;
	item->tail_words = info.tail_words;
	item->fortran_order = info.fortran_order;
	tt_file_close(file);
	return TT_OK;
}

/* The day of a single file is that of its first row, which does not move as it grows. */
static int file_day(struct tti_item *item, int64_t *out, struct tt_error *err)
{
	const struct tt_leaf *leaf = tti_time_leaf(item->dtype);
	tti_auto_free uint8_t *row = NULL;
	int rc;

	if (!leaf && item->tail_words != 0)
		return tti_fail(
			err, TT_E_UNSUPPORTED,
			"%s: --dataset with a date needs a time field (the first M8, or "
			"an "
			"8-byte integer named ts, time or *_ns), this file has none",
			item->path);
	if (!leaf) {
		*out = (int64_t)item->stat.st_mtim.tv_sec * 1000000000 +
		       item->stat.st_mtim.tv_nsec;
		return TT_OK;
	}
	row = malloc(item->row_bytes);
	if (!row)
		return tti_fail(err, -ENOMEM, "%s: out of memory", item->path);
	rc = tti_item_open(item, err);
	if (rc < 0)
		return rc;
	rc = tti_item_read(item, item->start, 1, row);
	tti_item_close(item);
	if (rc < 0)
		return tti_fail_sys(err, rc, item->path, "reading the first row");
	if (!tti_time_leaf_ns(leaf, row, out))
		return tti_fail(err, TT_E_RANGE,
				"%s: the time of the first row (field %s) is no day for "
				"--dataset",
				item->path, leaf->name);
	return TT_OK;
}

struct finder {
	struct tti_sources *sources;
	const struct tt_archive_job *job;
	size_t source;
	const char *given; /* the SRC as given */
	char *real, *name;
};

/* Single files: known by the digest of where they are. */
static int single_id(struct tti_item *item, const char *real, struct tt_error *err)
{
	tti_auto_hasher *hasher = NULL;
	int rc = tti_hasher_new(&hasher, err);

	if (rc < 0)
		return rc;
	return tti_digest_bytes(hasher, real, strlen(real), &item->source_id);
}

static int add_file(struct finder *finder, struct tt_error *err)
{
	const char *template =
		finder->job->dataset ? finder->job->dataset : TTI_TEMPLATE_FILE;
	struct tti_item *item = item_new(finder->sources);
	int64_t day = 0;
	int rc;

	if (!item || !(item->path = strdup(finder->real)) ||
	    !(item->file = strdup(finder->real)))
		return tti_fail(err, -ENOMEM, "%s: out of memory", finder->given);
	item->source = finder->source;
	rc = look(item, err);
	if (rc < 0)
		return rc;
	if (item->start == item->end) {
		item_drop(finder->sources);
		return TT_OK;
	}
	rc = single_id(item, finder->real, err);
	if (rc == TT_OK && tti_template_has_time(template))
		rc = file_day(item, &day, err);
	if (rc == TT_OK)
		rc = tti_template_expand(&item->dataset, template, finder->name, day,
					 err);
	return rc;
}

/* What an item of a ring is by itself, whatever its file holds. */
static struct tti_item *ring_item(struct finder *finder, const struct tt_ring_info *info,
				  const struct tt_ring_file *file, const char *name)
{
	struct tti_item *item = item_new(finder->sources);

	if (!item)
		return NULL;
	if (asprintf(&item->path, "%s/%s", finder->real, file->file_name) < 0)
		item->path = NULL; /* asprintf() leaves it undefined */
	item->file = strdup(name);
	item->source = finder->source;
	item->in_ring = true;
	item->queued = file->queued;
	item->ring_file = file->name;
	memcpy(item->source_id.b, info->ring_id, sizeof(info->ring_id));
	return item->path && item->file ? item : NULL;
}

/* A damaged file is no reason to leave the others unarchived. */
static int leave_out(const struct finder *finder, const char *name, const char *words)
{
	struct tt_error more;

	if (finder->job->warn) {
		tti_fail(&more, TT_E_DAMAGED, "%s/%s: %s", finder->given, name, words);
		finder->job->warn(finder->job->ctx, more.text);
	}
	return TT_OK;
}

/* Of a merged file only what came from this one. */
static void take_part(struct finder *finder, struct tti_item *item,
		      const struct tt_ring_part *part)
{
	uint64_t there = item->path_end > part->row ? item->path_end - part->row : 0;

	if (part->rows > there)
		leave_out(finder, part->file_name,
			  "lost rows to damage after it was merged: what is there is "
			  "taken");
	item->moved = part->row;
	item->start = item->path_start > part->row ? item->path_start - part->row : 0;
	item->end = tti_min_u64(part->rows, there);
}

/* part NULL: the file as a whole. */
static int add_ring_rows(struct finder *finder, const struct tt_ring_info *info,
			 const struct tt_ring_file *file, const struct tt_ring_part *part,
			 struct tt_error *err)
{
	const char *template =
		finder->job->dataset ? finder->job->dataset : TTI_TEMPLATE_RING;
	struct tti_item *item =
		ring_item(finder, info, file, part ? part->file_name : file->file_name);
	int rc;

	if (!item)
		return tti_fail(err, -ENOMEM, "%s: out of memory", finder->given);
	rc = look(item, err);
	if (rc == -ENOENT)
		return tti_fail(err, TT_E_CHANGED,
				"%s: was merged or removed while the ring was looked at; "
				"nothing was committed, run it again",
				item->path);
	if (rc < 0)
		return rc;
	/* the tail may still say more than was on disk when the power went */
	if (part ? part->cut : file->cut)
		item->cut_at = part ? part->cut_at : file->cut_at;
	if (!part && file->cut) {
		item->end = tti_min_u64(item->end, file->cut_at);
		item->start = tti_min_u64(item->start, item->end);
	}
	if (part)
		take_part(finder, item, part);
	if (item->start >= item->end) {
		item_drop(finder->sources);
		return TT_OK;
	}
	return tti_template_expand(&item->dataset, template, finder->name,
				   part ? part->first_row_ns : file->first_row_ns, err);
}

/* Parts that leave rows of the merged file out would let those pass for archived: then its
 * parts are not known. */
static bool is_covered(const struct tt_ring_file *file, const struct tt_ring_part *parts,
		       size_t count)
{
	uint64_t row = 0;

	for (size_t i = 0; i < count; i++) {
		if (parts[i].row != row || parts[i].rows > file->end - row)
			return false;
		row += parts[i].rows;
	}
	return row == file->end;
}

/* Of a merged file the joined ones are looked up singly, as they were archived. */
static int add_ring_file(struct finder *finder, const struct tt_ring_info *info,
			 const struct tt_ring_file *file, struct tt_error *err)
{
	tti_auto_free struct tt_ring_part *parts = NULL;
	size_t count = 0;
	int rc = TT_OK;

	if (file->damaged)
		return leave_out(finder, file->file_name,
				 "is damaged and left out: ticktail recover brings back "
				 "what can be read of it, the next run then takes it");
	if (!file->sealed || file->start == file->end)
		return TT_OK;
	if (file->merged)
		rc = tt_ring_parts(finder->real, file->name, &parts, &count, err);
	if (rc == TT_OK && !is_covered(file, parts, count))
		return add_ring_rows(finder, info, file, NULL, err);
	for (size_t i = 0; rc == TT_OK && i < count; i++)
		rc = add_ring_rows(finder, info, file, &parts[i], err);
	return rc;
}

/* A feed that does not answer is no reason to leave yesterday unarchived. */
static int seal(struct finder *finder, struct tt_error *err)
{
	const struct tt_archive_job *job = finder->job;
	struct tt_ring_seal_opts opts = TT_RING_SEAL_OPTS_INIT;
	struct tt_error words = { .text = "" };
	int rc;

	opts.timeout_ns = job->seal_timeout_ns;
	opts.force_network_fs = job->force_network_fs;
	rc = tt_ring_seal_with(finder->real, &opts, NULL, &words);

	if (rc == TT_E_TIMEOUT) {
		if (job->warn) {
			struct tt_error more;

			tti_fail(&more, rc, "%s; its newest file is left to the next run",
				 words.text);
			job->warn(job->ctx, more.text);
		}
		return TT_OK;
	}
	return rc < 0 ? tti_fail(err, rc, "%s", words.text) : TT_OK;
}

static int add_ring(struct finder *finder, struct tt_error *err)
{
	struct tt_ring_info info;
	int rc = finder->job->seal ? seal(finder, err) : TT_OK;

	if (rc == TT_OK)
		rc = tt_ring_info(finder->real, &info, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == TT_OK && i < info.file_count; i++)
		rc = add_ring_file(finder, &info, &info.files[i], err);
	tt_ring_info_free(&info);
	return rc;
}

static int add_source(struct finder *finder, struct tt_error *err)
{
	enum tt_path_kind kind;
	int rc = tt_path_kind(finder->given, &kind, err);

	if (rc < 0)
		return rc;
	finder->real = realpath(finder->given, NULL);
	if (!finder->real)
		return tti_fail_sys(err, -errno, finder->given, NULL);
	finder->name = tti_source_name(finder->real);
	if (!finder->name)
		return tti_fail(err, -ENOMEM, "%s: out of memory", finder->given);
	switch (kind) {
	case TT_PATH_NPY8: return add_ring(finder, err);
	case TT_PATH_NPYT:
	case TT_PATH_NPY: return add_file(finder, err);
	default:
		return tti_fail(err, TT_E_FORMAT,
				"%s: is an archive; sources are rings and .npy files",
				finder->given);
	}
}

static int by_dataset(const void *a, const void *b)
{
	const struct tti_item *x = *(struct tti_item *const *)a,
			      *y = *(struct tti_item *const *)b;
	int order = strcmp(x->dataset, y->dataset);

	return order ? order : (x->source > y->source) - (x->source < y->source);
}

/* Rows of two feeds in one dataset could never be told apart again. */
static int check_apart(const struct tti_sources *sources,
		       const struct tt_archive_job *job, struct tt_error *err)
{
	tti_auto_free struct tti_item **sorted = NULL;

	if (sources->count == 0)
		return TT_OK;
	sorted = malloc(sources->count * sizeof(*sorted));
	if (!sorted)
		return tti_fail(err, -ENOMEM, "sources: out of memory");
	memcpy(sorted, sources->items, sources->count * sizeof(*sorted));
	qsort(sorted, sources->count, sizeof(*sorted), by_dataset);
	for (size_t i = 1; i < sources->count; i++) {
		const struct tti_item *a = sorted[i - 1], *b = sorted[i];

		if (a->source != b->source && strcmp(a->dataset, b->dataset) == 0)
			return tti_fail(err, TT_E_MISMATCH,
					"%s and %s both go to dataset '%.200s'; archive "
					"them in two "
					"runs or give a --dataset with {name}",
					job->sources[a->source], job->sources[b->source],
					a->dataset);
	}
	return TT_OK;
}

static int find_once(struct tti_sources *out, const struct tt_archive_job *job,
		     struct tt_error *err)
{
	int rc = TT_OK;

	*out = (struct tti_sources){ 0 };
	for (size_t i = 0; rc == TT_OK && i < job->source_count; i++) {
		struct finder finder = {
			.sources = out, .job = job, .source = i, .given = job->sources[i]
		};

		rc = add_source(&finder, err);
		free(finder.real);
		free(finder.name);
	}
	return rc < 0 ? rc : check_apart(out, job, err);
}

/* A merge or prune may take a file away between the list of them and the look at it; what it
 * left is found by a new list. */
int tti_sources_find(struct tti_sources *out, const struct tt_archive_job *job,
		     struct tt_error *err)
{
	int rc = find_once(out, job, err);

	for (int tries = 1; rc == TT_E_CHANGED && tries < FIND_TRIES; tries++) {
		tti_sources_fini(out);
		rc = find_once(out, job, err);
	}
	return rc;
}

int tti_sources_of_file(struct tti_sources *out, const char *ring_dir,
			const struct tt_ring_info *info, const struct tt_ring_file *file,
			struct tt_error *err)
{
	const struct tt_archive_job job = { .dataset = TTI_TEMPLATE_FILE };
	struct finder finder = { .sources = out, .job = &job, .given = ring_dir };
	int rc;

	*out = (struct tti_sources){ 0 };
	finder.real = realpath(ring_dir, NULL);
	finder.name = strdup("any");
	if (!finder.real || !finder.name)
		rc = tti_fail_sys(err, -errno, ring_dir, NULL);
	else
		rc = add_ring_file(&finder, info, file, err);
	free(finder.real);
	free(finder.name);
	return rc;
}
