/* SPDX-License-Identifier: Apache-2.0 */
/* An archive open for reading: its versions and their datasets' names.
 *
 * Invariant: the driver's shared lock is held from open to close, so what was read about the
 * file stays true for the life of the handle. */
#include "archive/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "archive/lzf.h"
#include "archive/names.h"
#include "base/error.h"
#include "base/opts.h"

struct notes {
	FILE *f;
	unsigned count;
};

/* Opening tells the first few; verify tells all. */
static void note_fault(void *ctx, const char *version, const char *what)
{
	struct notes *notes = ctx;

	if (notes->count++ >= 8)
		return;
	fprintf(notes->f, "%s%s%s%s", notes->count > 1 ? "; " : "",
		version ? "version " : "", version ? version : "", version ? ": " : "");
	fputs(what, notes->f);
}

static int read_versions(struct tt_archive *a, struct tt_error *err)
{
	const char *before = tti_driver_notes(a->driver);
	size_t len = 0;
	struct notes notes = { .f = open_memstream(&a->notes, &len) };
	const struct tti_faults faults = { note_fault, &notes };
	int rc;

	if (!notes.f)
		return tti_fail(err, -ENOMEM, "out of memory");
	if (before && *before) {
		fputs(before, notes.f);
		notes.count++;
	}
	rc = tti_versions_read(&a->versions, tti_driver_file(a->driver),
			       tti_driver_path(a->driver), &faults, err);
	if (notes.count > 8)
		fprintf(notes.f, "; and %u more (verify names them)", notes.count - 8);
	if (fclose(notes.f) != 0 && rc == TT_OK)
		rc = tti_fail(err, -ENOMEM, "out of memory");
	return rc;
}

int tt_archive_open(struct tt_archive **out, const char *path,
		    const struct tt_archive_open_opts *opts, struct tt_error *err)
{
	TTI_H5_QUIET;
	struct tt_archive_open_opts mine = TT_ARCHIVE_OPEN_OPTS_INIT;
	struct tti_driver_opts driver = { 0 };
	struct tt_archive *a;
	int rc;

	*out = NULL;
	if (opts && !tti_take_opts(&mine, sizeof(mine), opts))
		return tti_fail(err, TT_E_MISUSE, "%s: options of an unknown size", path);
	driver.apply_wait_ns = mine.apply_wait_ns;
	driver.force_network_fs = mine.force_network_fs;
	a = calloc(1, sizeof(*a));
	if (!a)
		return tti_fail(err, -ENOMEM, "%s: out of memory", path);
	rc = tti_lzf_register(err);
	if (rc == TT_OK)
		rc = tti_driver_open(&a->driver, path, TTI_DRIVER_READ, &driver, err);
	if (rc == TT_OK)
		rc = read_versions(a, err);
	if (rc < 0) {
		tt_archive_close(a);
		return rc;
	}
	*out = a;
	return TT_OK;
}

void tt_archive_close(struct tt_archive *archive)
{
	if (!archive)
		return;
	tti_holds_free(archive->holds);
	tti_versions_fini(&archive->versions);
	tti_driver_close(&archive->driver);
	free(archive->notes);
	free(archive);
}

const char *tt_archive_notes(const struct tt_archive *archive)
{
	return archive->notes;
}

size_t tt_archive_version_count(const struct tt_archive *archive)
{
	return archive->versions.count;
}

const struct tt_archive_version *tt_archive_version(const struct tt_archive *archive,
						    size_t i)
{
	return i < archive->versions.count ? &archive->versions.items[i] : NULL;
}

int tt_archive_find_version(const struct tt_archive *archive, const char *name,
			    size_t *out, struct tt_error *err)
{
	const struct tti_versions *v = &archive->versions;
	const char *path = tti_driver_path(archive->driver);
	size_t at = tti_versions_find(v, name);

	if (at == TTI_NO_VERSION && !name &&
	    (!v->current || strcmp(v->current, TTI_FIRST_VERSION) == 0))
		return tti_fail(err, TT_E_RANGE, "%s: has no version yet", path);
	if (at == TTI_NO_VERSION)
		return tti_fail(err, TT_E_RANGE, "%s: there is no version '%s'", path,
				name ? name : v->current);
	if (!v->items[at].committed)
		return tti_fail(err, TT_E_RANGE, "%s: version '%s' was never committed%s",
				path, v->items[at].name,
				name ? ""
				     : ", though it is the current one; name another");
	*out = at;
	return TT_OK;
}

int tt_archive_version_as_of(const struct tt_archive *archive, int64_t t_ns, size_t *out,
			     struct tt_error *err)
{
	const struct tti_versions *v = &archive->versions;
	char limit[TTI_TIMESTAMP_TEXT];
	const char *oldest = NULL;
	size_t best = TTI_NO_VERSION;

	/* stored times have microseconds: one is <= t exactly when it is <= t cut to them */
	tti_timestamp_text(limit, t_ns);
	for (size_t i = 0; i < v->count; i++) {
		const char *timestamp = v->items[i].timestamp;

		if (!v->items[i].committed)
			continue;
		if (!oldest || strcmp(timestamp, oldest) < 0)
			oldest = timestamp;
		if (strcmp(timestamp, limit) <= 0 &&
		    (best == TTI_NO_VERSION ||
		     strcmp(timestamp, v->items[best].timestamp) >= 0))
			best = i;
	}
	if (best == TTI_NO_VERSION && !oldest)
		return tti_fail(err, TT_E_RANGE, "%s: has no version yet",
				tti_driver_path(archive->driver));
	if (best == TTI_NO_VERSION)
		return tti_fail(
			err, TT_E_RANGE,
			"%s: there is no version as old as %s; the oldest is of %s",
			tti_driver_path(archive->driver), limit, oldest);
	*out = best;
	return TT_OK;
}

/* ---- Names ---- */

struct names {
	char **items;
	size_t count, room;
	struct tt_error *err;
};

static int collect(void *ctx, const char *name, H5O_type_t type)
{
	struct names *names = ctx;
	const char *leaf = strrchr(name, '/');

	leaf = leaf ? leaf + 1 : name;
	if (type != H5O_TYPE_DATASET ||
	    strncmp(leaf, TTI_LEAF_TMP, strlen(TTI_LEAF_TMP)) == 0)
		return TT_OK;
	if (names->count == names->room) {
		size_t room = names->room ? 2 * names->room : 16;
		char **more = reallocarray(names->items, room, sizeof(*more));

		if (!more)
			return tti_fail(names->err, -ENOMEM, "out of memory for names");
		names->items = more;
		names->room = room;
	}
	names->items[names->count] = strdup(name);
	if (!names->items[names->count])
		return tti_fail(names->err, -ENOMEM, "out of memory for names");
	names->count++;
	return TT_OK;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_names(hid_t file, const char *version, char ***names_out,
		      size_t *count_out, struct tt_error *err)
{
	TTI_H5_QUIET;
	tti_auto_free char *path = tti_path_of_version(version);
	struct names names = { .err = err };
	tti_auto_hid group = -1;
	int rc;

	*names_out = NULL;
	*count_out = 0;
	if (!path)
		return tti_fail(err, -ENOMEM, "out of memory for names");
	group = H5Gopen2(file, path, H5P_DEFAULT);
	if (group < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, path, NULL);
	rc = tti_walk(group, path, collect, &names, err);
	if (rc < 0) {
		tt_archive_free_names(names.items, names.count);
		return rc;
	}
	if (names.count > 0)
		qsort(names.items, names.count, sizeof(*names.items), by_bytes);
	*names_out = names.items;
	*count_out = names.count;
	return TT_OK;
}

int tt_archive_datasets(struct tt_archive *archive, size_t version, char ***names_out,
			size_t *count_out, struct tt_error *err)
{
	if (version >= archive->versions.count)
		return tti_fail(err, TT_E_RANGE, "%s: there is no version number %zu",
				tti_driver_path(archive->driver), version);
	return read_names(tti_driver_file(archive->driver),
			  archive->versions.items[version].name, names_out, count_out,
			  err);
}

void tt_archive_free_names(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}
