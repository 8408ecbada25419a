/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that others ask before they act: is a ring's file in the archive (every doubt
 * means no, because files are deleted on the answer), can rows of a type be archived. */
#include <string.h>

#include "archive/h5.h"
#include "archive/h5type.h"
#include "archive/history.h"
#include "archive/names.h"
#include "archive/reader.h"
#include "base/error.h"

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

static int holds_all(struct tt_archive *archive, struct tti_ledger *ledger,
		     struct tti_sources *sources, bool *out, struct tt_error *err)
{
	const struct tti_versions *versions = &archive->versions;
	struct tti_history history = { 0 };
	int rc = tti_history_open(
		&history, archive->driver, versions, ledger,
		versions->current ? versions->current : TTI_FIRST_VERSION, err);

	for (size_t i = 0; rc == TT_OK && i < sources->count; i++)
		rc = holds_item(&history, sources->items[i], out, err);
	tti_history_close(&history);
	return rc;
}

int tt_archive_holds(struct tt_archive *archive, const char *ring_dir,
		     const struct tt_ring_file *file, bool *out, struct tt_error *err)
{
	TTI_H5_QUIET;
	struct tti_ledger ledger = { 0 };
	struct tti_sources sources;
	bool holds = file->sealed; /* more rows may come to one that is not */
	int rc = tti_sources_of_file(&sources, ring_dir, file, err);

	if (rc == TT_OK)
		rc = tti_ledger_load(&ledger, archive->driver, err);
	if (rc == TT_OK)
		rc = holds_all(archive, &ledger, &sources, &holds, err);
	if (rc == TT_OK)
		*out = holds;
	tti_ledger_fini(&ledger);
	tti_sources_fini(&sources);
	return rc;
}

int tt_archive_accepts(const struct tt_dtype *dtype, struct tt_error *err)
{
	TTI_H5_QUIET;
	tti_auto_h5type type = TTI_H5TYPE_EMPTY;

	return tti_h5type_from_dtype(&type, dtype, err);
}
