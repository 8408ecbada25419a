/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that others ask before they act: is a ring's file in the archive (every doubt
 * means no, because files are deleted on the answer), can rows of a type be archived. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "archive/h5type.h"
#include "archive/history.h"
#include "archive/names.h"
#include "archive/reader.h"
#include "base/error.h"

/* What does not change while a handle holds the archive's shared lock is read once: a ring has
 * thousands of files. */
struct tti_holds {
	struct tti_ledger ledger;
	struct tti_history history;
	char *ring_dir;		  /* the ring that was asked about last, */
	struct tt_ring_info info; /* and what it is; its list of files is of then */
};

void tti_holds_free(struct tti_holds *holds)
{
	if (!holds)
		return;
	tti_history_close(&holds->history);
	tti_ledger_fini(&holds->ledger);
	tt_ring_info_free(&holds->info);
	free(holds->ring_dir);
	free(holds);
}

static int open_holds(struct tt_archive *archive, struct tt_error *err)
{
	const struct tti_versions *versions = &archive->versions;
	struct tti_holds *holds;
	int rc;

	if (archive->holds)
		return TT_OK;
	holds = calloc(1, sizeof(*holds));
	if (!holds)
		return tti_fail(err, -ENOMEM, "ledger: out of memory");
	holds->history = (struct tti_history){
		.driver = archive->driver,
		.versions = versions,
		.ledger = &holds->ledger,
		.version = versions->current ? versions->current : TTI_FIRST_VERSION,
	};
	rc = tti_ledger_load(&holds->ledger, archive->driver, err);
	if (rc == TT_OK)
		rc = tti_history_open(&holds->history, err);
	if (rc < 0) {
		tti_holds_free(holds);
		return rc;
	}
	archive->holds = holds;
	return TT_OK;
}

static int look_at_ring(struct tti_holds *holds, const char *ring_dir,
			struct tt_error *err)
{
	struct tt_ring_info info;
	char *copy;
	int rc;

	if (holds->ring_dir && strcmp(holds->ring_dir, ring_dir) == 0)
		return TT_OK;
	rc = tt_ring_info(ring_dir, &info, err);
	if (rc < 0)
		return rc;
	copy = strdup(ring_dir);
	if (!copy) {
		tt_ring_info_free(&info);
		return tti_fail(err, -ENOMEM, "%s: out of memory", ring_dir);
	}
	tt_ring_info_free(&holds->info);
	free(holds->ring_dir);
	holds->info = info;
	holds->ring_dir = copy;
	return TT_OK;
}

static int holds_item(struct tti_history *history, struct tti_item *item, bool *out,
		      struct tt_error *err)
{
	struct tti_ranges missing = { 0 };
	struct tt_error why = { 0 };
	int rc = tti_history_missing(history, item, true, &missing, &why);

	*out &= rc == TT_OK && missing.count == 0;
	tti_ranges_fini(&missing);
	if (rc == TT_E_MISMATCH)
		return TT_OK; /* a file of that name is archived, but not this one */
	return rc < 0 ? tti_fail(err, rc, "%s", why.text) : TT_OK;
}

int tt_archive_holds(struct tt_archive *archive, const char *ring_dir,
		     const struct tt_ring_file *file, bool *out, struct tt_error *err)
{
	TTI_H5_QUIET;
	struct tti_sources sources = { 0 };
	bool holds = file->sealed; /* more rows may come to one that is not */
	int rc = open_holds(archive, err);

	if (rc == TT_OK)
		rc = look_at_ring(archive->holds, ring_dir, err);
	if (rc == TT_OK)
		rc = tti_sources_of_file(&sources, ring_dir, &archive->holds->info, file,
					 err);
	for (size_t i = 0; rc == TT_OK && i < sources.count; i++)
		rc = holds_item(&archive->holds->history, sources.items[i], &holds, err);
	if (rc == TT_OK)
		*out = holds;
	tti_sources_fini(&sources);
	return rc;
}

int tt_archive_accepts(const struct tt_dtype *dtype, struct tt_error *err)
{
	TTI_H5_QUIET;
	tti_auto_h5type type = TTI_H5TYPE_EMPTY;

	return tti_h5type_from_dtype(&type, dtype, err);
}
