/* SPDX-License-Identifier: Apache-2.0 */
/* Making the plan.  Invariant: every row of the sources is in the archive already, or in
 * exactly one stretch of the plan; datasets are planned only under names that can exist
 * beside those that there are. */
#include "archive/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "archive/slots.h"
#include "base/clock.h"
#include "base/error.h"

void tti_plan_fini(struct tti_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		free(plan->works[i].stretches);
	free(plan->works);
	*plan = (struct tti_plan){ 0 };
}

const struct tti_work *tti_plan_find(const struct tti_plan *plan, const char *dataset)
{
	for (size_t i = plan->count; i-- > 0;)
		if (strcmp(plan->works[i].name, dataset) == 0)
			return &plan->works[i];
	return NULL;
}

/* ---- Version and parent ---- */

static int name_version(struct tti_plan *plan, const struct tti_plan_input *input,
			struct tt_error *err)
{
	const struct tt_archive_job *job = input->job;
	int64_t now = tti_clock_realtime_ns();
	int rc;

	tti_timestamp_text(plan->timestamp, job->timestamp_ns ? *job->timestamp_ns : now);
	if (job->version) {
		rc = tti_check_version_name(job->version, err);
		if (rc < 0)
			return rc;
		snprintf(plan->version, sizeof(plan->version), "%s", job->version);
	} else {
		tti_version_text(plan->version, now);
	}
	if (tti_versions_find(input->versions, plan->version) != TTI_NO_VERSION)
		return tti_fail(
			err, TT_E_MISMATCH,
			"%s: version '%s' exists; give another name with --version",
			tti_driver_path(input->driver), plan->version);
	return TT_OK;
}

static int check_committed(const struct tti_plan_input *input, const char *name,
			   struct tt_error *err)
{
	size_t at = tti_versions_find(input->versions, name);

	if (at == TTI_NO_VERSION)
		return tti_fail(err, TT_E_RANGE,
				"%s: there is no version '%s' to build on; name "
				"another with --parent",
				tti_driver_path(input->driver), name);
	if (!input->versions->items[at].committed)
		return tti_fail(err, TT_E_RANGE,
				"%s: version '%s' was never committed, nothing can build "
				"on it; name "
				"another with --parent",
				tti_driver_path(input->driver), name);
	return TT_OK;
}

/* Rows that a version off the line holds would be archived again on this one. */
static int check_line(const struct tti_plan_input *input, const char *current,
		      struct tt_error *err)
{
	size_t newest = tti_history_newest(input->versions, input->ledger);
	const char *name;

	if (newest == TTI_NO_VERSION)
		return TT_OK;
	name = input->versions->items[newest].name;
	if (tti_version_descends(input->versions, current, name))
		return TT_OK;
	return tti_fail(err, TT_E_MISMATCH,
			"%s: the current version '%s' does not descend from '%s', to "
			"which rows were "
			"archived last; say with --parent on which to build",
			tti_driver_path(input->driver), current, name);
}

static int choose_parent(struct tti_plan *plan, const struct tti_plan_input *input,
			 struct tt_error *err)
{
	const char *current = input->versions->current;
	int rc;

	if (input->job->parent) {
		plan->parent = input->job->parent;
		return strcmp(plan->parent, TTI_FIRST_VERSION) == 0
			       ? TT_OK
			       : check_committed(input, plan->parent, err);
	}
	plan->parent = current ? current : TTI_FIRST_VERSION;
	rc = strcmp(plan->parent, TTI_FIRST_VERSION) == 0
		     ? TT_OK
		     : check_committed(input, current, err);
	return rc < 0 ? rc : check_line(input, plan->parent, err);
}

/* ---- Rows ---- */

static struct tti_work *work_of(struct tti_plan *plan, const struct tti_item *item)
{
	struct tti_work *work = (struct tti_work *)tti_plan_find(plan, item->dataset);

	if (work)
		return work;
	if (plan->count == plan->room) {
		size_t room = plan->room ? plan->room * 2 : 8;
		void *grown = realloc(plan->works, room * sizeof(*plan->works));

		if (!grown)
			return NULL;
		plan->works = grown;
		plan->room = room;
	}
	work = &plan->works[plan->count++];
	*work = (struct tti_work){ .name = item->dataset, .model = item };
	return work;
}

static bool same_rows(const struct tti_item *a, const struct tti_item *b)
{
	return tt_dtype_equal(a->dtype, b->dtype) && a->row_rank == b->row_rank &&
	       memcmp(a->row_shape, b->row_shape, a->row_rank * sizeof(*a->row_shape)) ==
		       0;
}

static int add_stretch(struct tti_plan *plan, struct tti_item *item,
		       struct tti_range range, struct tt_error *err)
{
	struct tti_work *work = work_of(plan, item);

	if (work && work->count == work->room) {
		size_t room = work->room ? work->room * 2 : 8;
		void *grown = realloc(work->stretches, room * sizeof(*work->stretches));

		if (grown) {
			work->stretches = grown;
			work->room = room;
		}
	}
	if (!work || work->count == work->room)
		return tti_fail(err, -ENOMEM, "%s: out of memory", item->path);
	if (!same_rows(work->model, item))
		return tti_fail(
			err, TT_E_MISMATCH,
			"%s: its rows are of type %s, those of %s, for the same dataset "
			"'%.100s', of type %s",
			item->path, tt_dtype_descr(item->dtype), work->model->path,
			item->dataset, tt_dtype_descr(work->model->dtype));
	work->stretches[work->count++] = (struct tti_stretch){
		.item = item,
		.file_row = range.first,
		.rows = range.end - range.first,
		.times = TTI_TIME_RANGE_EMPTY,
	};
	work->rows += range.end - range.first;
	plan->rows += range.end - range.first;
	return TT_OK;
}

/* No reason to refuse: the archive keeps what it has. */
static void say_cut(const struct tt_archive_job *job, const struct tti_item *item,
		    uint64_t rows)
{
	struct tt_error words;

	if (!job->warn || rows == 0)
		return;
	tti_fail(&words, TT_E_MISMATCH,
		 "%s: %" PRIu64 " rows that are archived were cut later, after a power "
		 "loss; the archive keeps them",
		 item->path, rows);
	job->warn(job->ctx, words.text);
}

static int plan_item(struct tti_plan *plan, struct tti_history *history,
		     struct tti_item *item, const struct tt_archive_job *job,
		     struct tt_error *err)
{
	struct tti_ranges missing = { 0 };
	int rc = tti_history_missing(history, item, false, &missing, err);

	if (rc == TT_OK)
		say_cut(job, item, missing.cut);
	for (size_t i = 0; rc == TT_OK && i < missing.count; i++)
		rc = add_stretch(plan, item, missing.items[i], err);
	tti_ranges_fini(&missing);
	return rc;
}

/* Where the rows of a dataset go: behind those that the parent has. */
static int place_rows(struct tti_work *work, struct tti_history *history,
		      struct tt_error *err)
{
	int rc = tti_history_rows(history, work->name, &work->rows_before, err);
	uint64_t at = work->rows_before;

	for (size_t i = 0; i < work->count; i++) {
		work->stretches[i].first_row = at;
		at += work->stretches[i].rows;
	}
	if (rc == TT_OK && (at < work->rows_before || at > INT64_MAX))
		rc = tti_fail(err, TT_E_RANGE, "dataset '%.200s': more than 2^63 rows",
			      work->name);
	return rc;
}

/* ---- Names beside each other ---- */

static int conflict(const char *name, const char *other, struct tt_error *err)
{
	return tti_fail(err, TT_E_MISMATCH,
			"dataset '%.200s': '%.200s' is there already, and one name "
			"cannot be a dataset "
			"and a directory of datasets; give another with --dataset",
			name, other);
}

/* Links of a group, -1 when there is no such group. */
static int64_t links_in(struct tti_driver *driver, const char *path)
{
	tti_auto_hid group = -1;
	H5G_info_t info;

	if (!path || !tti_is_hard_path(tti_driver_file(driver), path))
		return -1;
	group = H5Gopen2(tti_driver_file(driver), path, H5P_DEFAULT);
	return group >= 0 && H5Gget_info(group, &info) >= 0 ? (int64_t)info.nlinks : -1;
}

/* A name that is new: no ancestor is a dataset, and nothing lies below it, neither in the
 * store of chunks nor in the parent version. */
static int check_new_name(const struct tti_plan *plan, const struct tti_plan_input *input,
			  const char *name, struct tt_error *err)
{
	tti_auto_free char *above = strdup(name), *data = tti_path_of_data(name);
	tti_auto_free char *in_parent = tti_path_of_dataset(plan->parent, name);

	if (!above || !data || !in_parent)
		return tti_fail(err, -ENOMEM, "dataset '%.200s': out of memory", name);
	for (char *slash = strrchr(above, '/'); slash; slash = strrchr(above, '/')) {
		*slash = '\0';
		if (tti_slots_exist(input->driver, above))
			return conflict(name, above, err);
	}
	if (tti_slots_exist(input->driver, name))
		return TT_OK;
	if (links_in(input->driver, data) > 0 || links_in(input->driver, in_parent) >= 0)
		return conflict(name, name, err);
	return TT_OK;
}

static int by_name(const void *a, const void *b)
{
	const struct tti_work *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Also among the names of this run; sorted they are made in a fixed order, too. */
static int check_names(struct tti_plan *plan, const struct tti_plan_input *input,
		       struct tt_error *err)
{
	int rc = TT_OK;

	if (plan->count > 1)
		qsort(plan->works, plan->count, sizeof(*plan->works), by_name);
	for (size_t i = 0; rc == TT_OK && i < plan->count; i++) {
		const char *name = plan->works[i].name;
		size_t n = strlen(name);

		for (size_t k = i + 1; rc == TT_OK && k < plan->count; k++) {
			if (strncmp(plan->works[k].name, name, n) != 0)
				break;
			if (plan->works[k].name[n] == '/')
				rc = conflict(plan->works[k].name, name, err);
		}
		if (rc == TT_OK)
			rc = check_new_name(plan, input, name, err);
	}
	return rc;
}

static int plan_rows(struct tti_plan *plan, struct tti_history *history,
		     const struct tti_plan_input *input, struct tt_error *err)
{
	int rc = TT_OK;

	for (size_t i = 0; rc == TT_OK && i < input->sources->count; i++)
		rc = plan_item(plan, history, input->sources->items[i], input->job, err);
	for (size_t i = 0; rc == TT_OK && i < plan->count; i++)
		rc = place_rows(&plan->works[i], history, err);
	return rc == TT_OK ? check_names(plan, input, err) : rc;
}

int tti_plan_make(struct tti_plan *out, const struct tti_plan_input *input,
		  struct tt_error *err)
{
	TTI_H5_QUIET;
	struct tti_history history = { .driver = input->driver,
				       .versions = input->versions,
				       .ledger = input->ledger };
	int rc;

	*out = (struct tti_plan){ 0 };
	rc = name_version(out, input, err);
	if (rc == TT_OK)
		rc = choose_parent(out, input, err);
	history.version = out->parent;
	if (rc == TT_OK)
		rc = tti_history_open(&history, err);
	if (rc == TT_OK)
		rc = plan_rows(out, &history, input, err);
	tti_history_close(&history);
	return rc;
}
