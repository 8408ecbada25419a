/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of the ledger count.  Invariant: a row of a file is called archived only if it
 * lies in the version's dataset, as far as the ledger and the chain of versions can tell; in
 * doubt it is archived again rather than lost. */
#include "archive/history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/compare.h"
#include "archive/dataset.h"
#include "archive/names.h"
#include "base/error.h"
#include "base/num.h"

uint64_t tti_block_rows(uint64_t rows, uint64_t row_bytes)
{
	uint64_t fit = TTI_BLOCK_BYTES / row_bytes;

	return tti_min_u64(rows, fit ? fit : 1);
}

static bool same_rows_of_file(const struct tti_ledger_row *a,
			      const struct tti_ledger_row *b)
{
	return tti_digest_equal(&a->source, &b->source) &&
	       strcmp(a->file, b->file) == 0 && a->file_row == b->file_row &&
	       a->rows == b->rows;
}

static bool share_a_place(const struct tti_ledger_row *a, const struct tti_ledger_row *b)
{
	return strcmp(a->dataset, b->dataset) == 0 &&
	       a->first_row < b->first_row + b->rows &&
	       b->first_row < a->first_row + a->rows;
}

static int by_version_then_place(const void *a, const void *b, void *ledger_p)
{
	const struct tti_ledger *ledger = ledger_p;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	const struct tti_ledger_row *x = &ledger->rows[i], *y = &ledger->rows[k];
	int order = strcmp(x->version, y->version);

	if (order == 0)
		order = strcmp(x->timestamp, y->timestamp);
	if (order == 0)
		order = strcmp(x->dataset, y->dataset);
	if (order == 0)
		order = (x->first_row > y->first_row) - (x->first_row < y->first_row);
	return order ? order : (i > k) - (i < k);
}

/* A deleted version's name and time were given to another one, which is what the name finds.
 * That one holds what its own rows of the ledger say, and they are the later ones: rows of
 * one commit never share a place. */
static int find_namesakes(struct tti_history *history)
{
	const struct tti_ledger *ledger = history->ledger;
	tti_auto_free size_t *order = malloc((ledger->stored + 1) * sizeof(*order));

	history->of_namesake = calloc(ledger->stored + 1, sizeof(*history->of_namesake));
	if (!order || !history->of_namesake)
		return -ENOMEM;
	for (size_t i = 0; i < ledger->stored; i++)
		order[i] = i;
	qsort_r(order, ledger->stored, sizeof(*order), by_version_then_place,
		(void *)ledger);
	for (size_t i = 1; i < ledger->stored; i++) {
		const struct tti_ledger_row *x = &ledger->rows[order[i - 1]],
					    *y = &ledger->rows[order[i]];

		if (strcmp(x->version, y->version) == 0 &&
		    strcmp(x->timestamp, y->timestamp) == 0 && share_a_place(x, y) &&
		    !same_rows_of_file(x, y))
			history->of_namesake[tti_min_u64(order[i - 1], order[i])] = true;
	}
	return TT_OK;
}

static void mark_chain(struct tti_history *history, size_t at)
{
	const struct tti_versions *versions = history->versions;

	/* each version once: a loop of prev_versions, however it came to be, ends */
	while (at != TTI_NO_VERSION && !history->in_chain[at]) {
		bool has_prev = versions->items[at].prev != NULL;

		history->in_chain[at] = true;
		at = tti_versions_parent(versions, at);
		history->is_cut = has_prev && at == TTI_NO_VERSION;
	}
}

int tti_history_open(struct tti_history *history, struct tt_error *err)
{
	const struct tti_versions *versions = history->versions;

	history->in_chain = calloc(versions->count + 1, sizeof(*history->in_chain));
	if (!history->in_chain || find_namesakes(history) < 0)
		return tti_fail(err, -ENOMEM, "versions: out of memory");
	if (strcmp(history->version, TTI_FIRST_VERSION) != 0)
		mark_chain(history, tti_versions_find(versions, history->version));
	return tti_hasher_new(&history->hasher, err);
}

void tti_history_close(struct tti_history *history)
{
	free(history->in_chain);
	free(history->of_namesake);
	free(history->found);
	free(history->dataset);
	tti_hasher_free(&history->hasher);
	*history = (struct tti_history){ 0 };
}

bool tti_version_descends(const struct tti_versions *versions, const char *version,
			  const char *above)
{
	size_t at = tti_versions_find(versions, version);

	/* no chain is longer than there are versions */
	for (size_t left = versions->count; left > 0 && at != TTI_NO_VERSION; left--) {
		if (strcmp(versions->items[at].name, above) == 0)
			return true;
		at = tti_versions_parent(versions, at);
	}
	return false;
}

/* The version of a row, if it is still the one it was. */
static size_t version_of(const struct tti_versions *versions,
			 const struct tti_ledger_row *row)
{
	size_t at = *row->version ? tti_versions_find(versions, row->version)
				  : TTI_NO_VERSION;

	if (at != TTI_NO_VERSION && versions->items[at].timestamp &&
	    strcmp(versions->items[at].timestamp, row->timestamp) == 0)
		return at;
	return TTI_NO_VERSION;
}

size_t tti_history_newest(const struct tti_versions *versions,
			  const struct tti_ledger *ledger)
{
	for (size_t i = ledger->stored; i-- > 0;) {
		size_t at = version_of(versions, &ledger->rows[i]);

		if (at != TTI_NO_VERSION && versions->items[at].committed)
			return at;
	}
	return TTI_NO_VERSION;
}

int tti_history_rows(struct tti_history *history, const char *dataset, uint64_t *out,
		     struct tt_error *err)
{
	struct tt_error why = { 0 };
	struct tt_dataset *open;
	int rc;

	if (!history->dataset || strcmp(history->dataset, dataset) != 0) {
		free(history->dataset);
		history->dataset = NULL;
		history->dataset_rows = 0;
		rc = strcmp(history->version, TTI_FIRST_VERSION) == 0
			     ? TT_E_RANGE
			     : tti_dataset_open(&open, history->driver, history->version,
						dataset, &why);
		if (rc < 0 && rc != TT_E_RANGE)
			return tti_fail(err, rc, "%s", why.text);
		if (rc == TT_OK) {
			history->dataset_rows = open->grid.shape[0];
			tt_dataset_close(open);
		}
		history->dataset = strdup(dataset);
	}
	*out = history->dataset_rows;
	return TT_OK;
}

/* ---- Which rows count ---- */

/* Another file's rows were put where these had been before their version was deleted. */
static bool is_overwritten(const struct tti_history *history, size_t index)
{
	const struct tti_ledger_row *row = &history->ledger->rows[index];

	for (size_t i = index + 1; i < history->ledger->stored; i++) {
		const struct tti_ledger_row *later = &history->ledger->rows[i];
		size_t at;

		if (!share_a_place(row, later) || same_rows_of_file(row, later))
			continue;
		at = version_of(history->versions, later);
		if (at == TTI_NO_VERSION || history->in_chain[at])
			return true;
	}
	return false;
}

/* The version that the name finds has such a dataset.  Files in order ask about the same one
 * again and again. */
static bool has_dataset(struct tti_history *history, const struct tti_ledger_row *row)
{
	tti_auto_free char *path = tti_path_of_dataset(row->version, row->dataset);
	bool is_there;

	if (path && history->found && strcmp(path, history->found) == 0)
		return true;
	is_there = path && tti_is_hard_path(tti_driver_file(history->driver), path);
	if (is_there) {
		free(history->found);
		history->found = path;
		path = NULL;
	}
	return is_there;
}

/* How many of the row's rows the file still has: the others were archived before a power loss
 * took them. */
static uint64_t rows_kept(const struct tti_item *item, const struct tti_ledger_row *row)
{
	if (!tti_digest_equal(&row->source, &item->source_id))
		return row->rows;
	return item->cut_at <= row->file_row
		       ? 0
		       : tti_min_u64(row->rows, item->cut_at - row->file_row);
}

/* The rows at the place that the ledger names are the file's, as far as its first and last
 * block tell. */
static int is_in_place(struct tti_history *history, struct tti_item *item, size_t index,
		       bool *out, struct tt_error *err)
{
	const struct tti_ledger_row *row = &history->ledger->rows[index];
	uint64_t kept = rows_kept(item, row), block = tti_min_u64(row->block_rows, kept);
	struct tt_dataset *dataset;
	int rc = tti_dataset_open(&dataset, history->driver, history->version,
				  row->dataset, err);

	*out = false;
	if (rc < 0)
		return rc;
	if (tt_dataset_info(dataset)->row_bytes == item->row_bytes &&
	    (kept == 0 || item->end >= row->file_row + kept)) {
		struct tti_overlap first = { row->file_row, row->first_row, block };
		struct tti_overlap last = first;

		last.file_row += kept - block;
		last.first_row += kept - block;
		*out = true;
		rc = tti_item_compare(item, dataset, &first, out, err);
		if (rc == TT_OK && *out)
			rc = tti_item_compare(item, dataset, &last, out, err);
	}
	tt_dataset_close(dataset);
	return rc;
}

static int counts(struct tti_history *history, struct tti_item *item, size_t index,
		  bool *out, struct tt_error *err)
{
	const struct tti_ledger_row *row = &history->ledger->rows[index];
	size_t at = version_of(history->versions, row);
	uint64_t rows;
	int rc;

	*out = at != TTI_NO_VERSION && history->in_chain[at];
	if (*out)
		*out = !history->of_namesake[index] && has_dataset(history, row);
	if (*out || (at != TTI_NO_VERSION && !history->is_cut))
		return TT_OK;
	rc = tti_history_rows(history, row->dataset, &rows, err);
	if (rc < 0)
		return rc;
	*out = rows >= row->first_row + row->rows && !is_overwritten(history, index);
	/* an ancestor or a side branch: what joined it to the chain is gone */
	if (*out && at != TTI_NO_VERSION)
		return is_in_place(history, item, index, out, err);
	return TT_OK;
}

/* ---- Whether they speak of this file ---- */

/* A single file that lost rows to a power loss goes on where it was cut, and keeps them in
 * FILE.cut. */
static bool was_cut(const struct tti_item *item)
{
	tti_auto_free char *cut = NULL;
	struct stat st;

	return !item->in_ring && asprintf(&cut, "%s.cut", item->path) >= 0 &&
	       stat(cut, &st) == 0;
}

static int not_the_file(const struct tti_item *item, const struct tti_ledger_row *row,
			struct tt_error *err)
{
	uint64_t end = row->file_row + row->rows;
	bool cut = was_cut(item);

	if (!item->in_ring && (item->end < end || cut))
		return tti_fail(
			err, TT_E_MISMATCH,
			"%s: is not the file archived before: rows %" PRIu64 "-%" PRIu64
			" are archived in version %s, dataset '%.200s', and the file %s "
			"now: %s, and one position of a dataset never means two rows; "
			"archive the file under another name with --dataset",
			item->path, row->file_row, end - 1, row->version, row->dataset,
			item->end < end ? "has fewer" : "has others there",
			cut ? "what was not on disk when the power was lost was cut"
			    : "it was cleared, or rows are missing since a power loss");
	return tti_fail(err, TT_E_MISMATCH,
			"%s: is not the file archived before: its rows %" PRIu64
			"-%" PRIu64 " are not those in version %s, dataset '%.200s'; "
			"archive it under another "
			"name with --dataset",
			item->path, row->file_row, row->file_row + row->rows - 1,
			row->version, row->dataset);
}

/* 1 when the rows have that digest, or the file does not have them any more; 0 if not. */
static int block_matches(struct tti_history *history, struct tti_item *item,
			 struct tti_range rows, const struct tti_digest *digest,
			 struct tt_error *err)
{
	struct tti_digest now;
	int rc;

	if (rows.first < item->start)
		return 1;
	rc = tti_item_digest(item, history->hasher, rows, &now, err);
	return rc < 0 ? rc : tti_digest_equal(&now, digest);
}

/* 1 when the file may be the one the row tells of, 0 if not. */
static int matches(struct tti_history *history, struct tti_item *item,
		   const struct tti_ledger_row *row, struct tt_error *err)
{
	uint64_t first = row->file_row, end = first + row->rows;
	uint64_t kept = rows_kept(item, row);
	int rc = kept == 0 || item->end >= first + kept;

	if (rc == 1 && kept >= row->block_rows)
		rc = block_matches(history, item,
				   (struct tti_range){ first, first + row->block_rows },
				   &row->first_digest, err);
	if (rc == 1 && kept == row->rows)
		rc = block_matches(history, item,
				   (struct tti_range){ end - row->block_rows, end },
				   &row->last_digest, err);
	return rc;
}

/* The ring's own id, or zero for what was archived before the ring had one (or has one that
 * cannot be read); then the digests alone decide. */
static bool may_be(const struct tti_item *item, const struct tti_ledger_row *row,
		   bool any_dataset)
{
	if (!any_dataset && strcmp(row->dataset, item->dataset) != 0)
		return false;
	return tti_digest_equal(&row->source, &item->source_id) ||
	       (item->in_ring && tti_digest_is_zero(&row->source));
}

/* 1: the row counts and is about this file. */
static int is_about(struct tti_history *history, struct tti_item *item, size_t index,
		    bool any_dataset, struct tt_error *err)
{
	const struct tti_ledger_row *row = &history->ledger->rows[index];
	bool yes = false;
	int rc;

	if (!may_be(item, row, any_dataset))
		return 0;
	rc = counts(history, item, index, &yes, err);
	if (rc < 0 || !yes)
		return rc;
	rc = matches(history, item, row, err);
	if (rc != 0)
		return rc;
	return tti_digest_equal(&row->source, &item->source_id)
		       ? not_the_file(item, row, err)
		       : 0;
}

/* ---- Files that npyt joined, of which nothing tells but their rows ---- */

struct joined {
	struct tti_history *history;
	struct tti_item *item;
	const struct tti_visitor *visitor;
	uint64_t at; /* where the next one begins in item */
	uint64_t rows;
};

/* One row of the ledger about a file whose rows may be those from at on. */
static int try_joined(struct joined *j, size_t index, struct tt_error *err)
{
	struct tti_ledger_row row = j->history->ledger->rows[index];
	bool yes = false;
	int rc;

	if (!may_be(j->item, &row, j->visitor->any_dataset) ||
	    row.rows > j->item->end - j->at -
			       tti_min_u64(row.file_row, j->item->end - j->at))
		return TT_OK;
	row.file_row += j->at;
	rc = matches(j->history, j->item, &row, err);
	if (rc <= 0)
		return rc;
	j->rows = tti_max_u64(j->rows, row.file_row + row.rows - j->at);
	rc = counts(j->history, j->item, index, &yes, err);
	return rc == TT_OK && yes ? j->visitor->visit(j->visitor->ctx, &row, err) : rc;
}

/* They follow each other in the order of their names, the first of which is the item's. */
static int each_joined(struct joined *j, struct tt_error *err)
{
	const struct tti_ledger *ledger = j->history->ledger;
	size_t n = strlen(j->item->file), next;
	tti_auto_free char *first = strndup(j->item->file, n - 1);
	int rc = TT_OK;

	if (!first)
		return tti_fail(err, -ENOMEM, "%s: out of memory", j->item->path);
	tti_ledger_find(ledger, first, &next);
	while (rc == TT_OK && next < ledger->stored && j->at < j->item->end) {
		const char *file = ledger->rows[ledger->by_file[next]].file;
		size_t at, end = next + tti_ledger_find(ledger, file, &at);

		j->rows = 0;
		for (; rc == TT_OK && next < end; next++)
			rc = try_joined(j, ledger->by_file[next], err);
		j->at += j->rows;
	}
	return rc;
}

static bool is_joined(const struct tti_item *item)
{
	size_t n = strlen(item->file);

	return item->in_ring && n > 5 && strcmp(item->file + n - 5, ".npy_") == 0;
}

int tti_history_each(struct tti_history *history, struct tti_item *item,
		     const struct tti_visitor *visitor, struct tt_error *err)
{
	struct joined joined = { .history = history, .item = item, .visitor = visitor };
	size_t first, count = tti_ledger_find(history->ledger, item->file, &first);
	int rc = count || is_joined(item) ? tti_item_open(item, err) : TT_OK;

	for (size_t i = 0; rc == TT_OK && i < count; i++) {
		size_t index = history->ledger->by_file[first + i];

		rc = is_about(history, item, index, visitor->any_dataset, err);
		if (rc == 1)
			rc = visitor->visit(visitor->ctx, &history->ledger->rows[index],
					    err);
	}
	if (rc == TT_OK && is_joined(item))
		rc = each_joined(&joined, err);
	tti_item_close(item);
	return rc;
}
