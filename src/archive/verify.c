/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying an archive: its versions and their groups here, the chunks of each dataset in
 * verify_dataset.c.  Verifying goes on after damage, as far as what is left can be read. */
#include "archive/verify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "archive/lzf.h"
#include "archive/names.h"
#include "base/error.h"

void tti_verify_tell(struct tti_verify *v, const struct tti_damage_place *place,
		     const char *fmt, ...)
{
	char text[700];
	struct tt_damage damage = {
		.path = v->path,
		.version = place->version,
		.dataset = place->dataset,
		.chunk = place->chunk,
		.row = place->row,
		.row_count = place->row_count,
		.what = text,
	};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	v->found++;
	if (v->fn)
		v->fn(v->ctx, &damage);
}

static void tell_version(void *ctx, const char *version, const char *what)
{
	struct tti_damage_place place = TTI_DAMAGE_NOWHERE;

	place.version = version;
	tti_verify_tell(ctx, &place, "%s", what);
}

/* Damage that a callee returned as an error becomes a report; other errors end it all. */
static int absorb(struct tti_verify *v, const struct tti_damage_place *place, int rc)
{
	if (rc != TT_E_DAMAGED)
		return rc;
	tti_verify_tell(v, place, "%s", v->err->text);
	return TT_OK;
}

/* ---- The current version ---- */

static void check_current(struct tti_verify *v)
{
	const struct tti_versions *versions = &v->versions;
	struct tti_damage_place nowhere = TTI_DAMAGE_NOWHERE;

	for (size_t i = 0; i < versions->count; i++)
		if (versions->items[i].current && !versions->items[i].committed)
			tti_verify_tell(v, &nowhere,
					"current_version names '%s', which was never "
					"committed: versioned_hdf5 would build on it",
					versions->items[i].name);
}

static void check_names(struct tti_verify *v)
{
	for (size_t i = 0; i < v->versions.count; i++) {
		const char *name = v->versions.items[i].name;
		struct tti_damage_place place = TTI_DAMAGE_NOWHERE;
		struct tt_error why;

		place.version = name;
		if (tti_check_version_name(name, &why) < 0)
			tti_verify_tell(v, &place, "%s", why.text);
	}
}

/* ---- Groups ---- */

struct finding {
	struct tti_verify *v;
	char **names; /* of datasets that have a raw_data */
	size_t count, room;
	const char *version; /* of the walk at hand */
};

static const char *leaf_of(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

static bool is_leftover(const char *leaf)
{
	return strncmp(leaf, TTI_LEAF_TMP, strlen(TTI_LEAF_TMP)) == 0 ||
	       strcmp(leaf, "__tmp__") == 0;
}

static int add_name(struct finding *f, const char *name, size_t len)
{
	if (f->count == f->room) {
		size_t room = f->room ? 2 * f->room : 16;
		char **more = reallocarray(f->names, room, sizeof(*more));

		if (!more)
			return tti_fail(f->v->err, -ENOMEM, "%s: out of memory",
					f->v->path);
		f->names = more;
		f->room = room;
	}
	f->names[f->count] = strndup(name, len);
	if (!f->names[f->count])
		return tti_fail(f->v->err, -ENOMEM, "%s: out of memory", f->v->path);
	f->count++;
	return TT_OK;
}

/* Below _version_data: each raw_data is a dataset; versions are looked at apart. */
static int find_raw(void *ctx, const char *name, H5O_type_t type)
{
	struct finding *f = ctx;
	const char *leaf = leaf_of(name);
	struct tti_damage_place place = TTI_DAMAGE_NOWHERE;

	if (strcmp(name, "versions") == 0 || strncmp(name, "versions/", 9) == 0 ||
	    strncmp(name, "__tmp__/", 8) == 0)
		return TT_OK;
	place.dataset = name;
	if (is_leftover(leaf))
		tti_verify_tell(f->v, &place,
				"is left over from a run of versioned_hdf5 that was "
				"interrupted");
	else if (type == H5O_TYPE_DATASET && strcmp(leaf, TTI_LEAF_RAW) == 0 &&
		 leaf != name)
		return add_name(f, name, leaf - 1 - name);
	else if (type != H5O_TYPE_DATASET && type != H5O_TYPE_GROUP)
		tti_verify_tell(f->v, &place, "is neither a group nor a dataset");
	return TT_OK;
}

static bool has_raw(struct tti_verify *v, const char *name)
{
	tti_auto_free char *path = tti_path_of_raw(name);
	hid_t file = tti_driver_file(v->driver);
	struct tti_object object;

	return path && tti_is_hard_path(file, path) &&
	       tti_object_at(&object, file, path) == 0 && object.type == H5O_TYPE_DATASET;
}

static int check_member(void *ctx, const char *name, H5O_type_t type)
{
	struct finding *f = ctx;
	struct tti_damage_place place = {
		.version = f->version, .dataset = name, .chunk = -1, .row = -1
	};
	struct tt_error why;

	if (is_leftover(leaf_of(name)))
		tti_verify_tell(f->v, &place,
				"is left over from a run of versioned_hdf5 that was "
				"interrupted");
	else if (type == H5O_TYPE_DATASET && tti_check_dataset_name(name, &why) < 0)
		tti_verify_tell(f->v, &place, "%s", why.text);
	else if (type == H5O_TYPE_DATASET && !has_raw(f->v, name))
		tti_verify_tell(f->v, &place, "there is no %s/%s/raw_data for it",
				TTI_GROUP_DATA, name);
	else if (type != H5O_TYPE_DATASET && type != H5O_TYPE_GROUP)
		tti_verify_tell(f->v, &place, "is neither a group nor a dataset");
	return TT_OK;
}

static int walk(struct finding *f, const char *path, tti_walk_fn *fn)
{
	tti_auto_hid group = H5Gopen2(tti_driver_file(f->v->driver), path, H5P_DEFAULT);
	struct tti_damage_place place = { .version = f->version, .chunk = -1, .row = -1 };
	int rc = group < 0 ? tti_h5_fail(f->v->err, TT_E_DAMAGED, path, NULL)
			   : tti_walk(group, path, fn, f, f->v->err);

	return absorb(f->v, &place, rc);
}

static int check_groups(struct finding *f)
{
	int rc = walk(f, TTI_GROUP_DATA, find_raw);

	for (size_t i = 0; i < f->v->versions.count && rc == TT_OK; i++) {
		tti_auto_free char *path = NULL;

		f->version = f->v->versions.items[i].name;
		path = tti_path_of_version(f->version);
		rc = path ? walk(f, path, check_member)
			  : tti_fail(f->v->err, -ENOMEM, "%s: out of memory", f->v->path);
	}
	f->version = NULL;
	return rc;
}

/* ---- The whole ---- */

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int check_datasets(struct tti_verify *v)
{
	struct finding f = { .v = v };
	int rc = check_groups(&f);

	if (f.count > 0)
		qsort(f.names, f.count, sizeof(*f.names), by_bytes);
	for (size_t i = 0; i < f.count && rc == TT_OK; i++) {
		struct tti_damage_place place = TTI_DAMAGE_NOWHERE;

		place.dataset = f.names[i];
		rc = absorb(v, &place, tti_verify_dataset(v, f.names[i]));
	}
	tt_archive_free_names(f.names, f.count);
	return rc;
}

static int check_all(struct tti_verify *v)
{
	struct tti_damage_place nowhere = TTI_DAMAGE_NOWHERE;
	const struct tti_faults faults = { tell_version, v };
	int rc = tti_versions_read(&v->versions, tti_driver_file(v->driver), v->path,
				   &faults, v->err);

	if (rc < 0)
		return absorb(v, &nowhere, rc);
	check_names(v);
	check_current(v);
	return check_datasets(v);
}

int tt_archive_verify(const char *path, tt_damage_fn *fn, void *ctx, uint64_t *found_out,
		      struct tt_error *err)
{
	TTI_H5_QUIET;
	const struct tt_archive_open_opts init = TT_ARCHIVE_OPEN_OPTS_INIT;
	const struct tti_driver_opts opts = { .apply_wait_ns = init.apply_wait_ns };
	struct tt_error local;
	struct tti_verify v = {
		.path = path, .fn = fn, .ctx = ctx, .err = err ? err : &local
	};
	struct tti_damage_place nowhere = TTI_DAMAGE_NOWHERE;
	int rc;

	if (found_out)
		*found_out = 0;
	rc = tti_lzf_register(v.err);
	if (rc == TT_OK)
		rc = tti_driver_open(&v.driver, path, TTI_DRIVER_READ, &opts, v.err);
	rc = rc < 0 ? absorb(&v, &nowhere, rc) : check_all(&v);
	tti_versions_fini(&v.versions);
	tti_driver_close(&v.driver);
	if (rc == TT_OK && found_out)
		*found_out = v.found;
	return rc;
}
