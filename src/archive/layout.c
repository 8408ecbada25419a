/* SPDX-License-Identifier: Apache-2.0 */
/* Paths in an archive, and walking its groups.
 *
 * Invariant of the walk: only hard links are followed and each group is entered once, so a
 * file whose groups form a loop, or whose soft links lead elsewhere, is walked like a tree. */
#include "archive/layout.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "base/compiler.h"

#define MAX_DEPTH 128 /* groups in groups */

static char *join(const char *a, const char *b, const char *c)
{
	char *out;

	return asprintf(&out, "%s/%s%s%s", a, b, c ? "/" : "", c ? c : "") < 0 ? NULL
									       : out;
}

char *tti_path_of_version(const char *version)
{
	return join(TTI_GROUP_VERSIONS, version, NULL);
}

char *tti_path_of_dataset(const char *version, const char *name)
{
	return join(TTI_GROUP_VERSIONS, version, name);
}

char *tti_path_of_data(const char *name)
{
	return join(TTI_GROUP_DATA, name, NULL);
}

char *tti_path_of_raw(const char *name)
{
	return join(TTI_GROUP_DATA, name, TTI_LEAF_RAW);
}

char *tti_path_of_hashes(const char *name)
{
	return join(TTI_GROUP_DATA, name, TTI_LEAF_HASHES);
}

int tti_object_at(struct tti_object *out, hid_t location, const char *name)
{
#if H5_VERSION_GE(1, 12, 0)
	H5O_info2_t info;

	if (H5Oget_info_by_name3(location, name, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
		return TT_E_DAMAGED;
	memcpy(out->id, &info.token, sizeof(out->id));
#else
	H5O_info_t info;

	if (H5Oget_info_by_name2(location, name, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
		return TT_E_DAMAGED;
	memset(out->id, 0, sizeof(out->id));
	memcpy(out->id, &info.addr, sizeof(info.addr));
#endif
	out->type = info.type;
	return TT_OK;
}

bool tti_is_hard_path(hid_t file, const char *path)
{
	tti_auto_free char *prefix = strdup(path);
	H5L_info_t info;
	char *at = prefix;

	if (!prefix || *prefix != '/')
		return false;
	for (bool last = false; !last;) {
		at = strchr(at + 1, '/');
		last = at == NULL;
		if (at)
			*at = '\0';
		if (H5Lget_info(file, prefix, &info, H5P_DEFAULT) < 0 ||
		    info.type != H5L_TYPE_HARD)
			return false;
		if (at)
			*at = '/';
	}
	return true;
}

bool tti_fits_file(hid_t file, uint64_t n)
{
	hsize_t bytes;

	return H5Fget_filesize(file, &bytes) >= 0 && n <= bytes;
}

struct walk {
	tti_walk_fn *fn;
	void *ctx;
	struct tt_error *err;
	const char *where;
	char *prefix;		 /* of the names in the group at hand, "" or "a/b/" */
	struct tti_object *seen; /* the groups entered */
	size_t seen_count, seen_room;
	unsigned depth;
	int rc;
};

static int enter(struct walk *w, const struct tti_object *group)
{
	for (size_t i = 0; i < w->seen_count; i++)
		if (memcmp(w->seen[i].id, group->id, sizeof(group->id)) == 0)
			return 0;
	if (w->seen_count == w->seen_room) {
		size_t room = w->seen_room ? 2 * w->seen_room : 16;
		struct tti_object *more = reallocarray(w->seen, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->seen = more;
		w->seen_room = room;
	}
	w->seen[w->seen_count++] = *group;
	return 1;
}

static herr_t visit(hid_t group, const char *leaf, const H5L_info_t *info, void *ctx);

static int descend(struct walk *w, hid_t group, const char *leaf, const char *name)
{
	tti_auto_hid child = H5Gopen2(group, leaf, H5P_DEFAULT);
	char *outer = w->prefix;
	int rc = TT_OK;

	if (child < 0)
		return tti_h5_fail(w->err, TT_E_DAMAGED, w->where, name);
	if (w->depth == MAX_DEPTH)
		return tti_fail(w->err, TT_E_DAMAGED,
				"%s: %s: groups are nested more than %d deep", w->where,
				name, MAX_DEPTH);
	if (asprintf(&w->prefix, "%s/", name) < 0) {
		w->prefix = outer;
		return tti_fail(w->err, -ENOMEM, "%s: out of memory", w->where);
	}
	w->depth++;
	if (H5Literate(child, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, w) < 0)
		rc = w->rc < 0 ? w->rc
			       : tti_h5_fail(w->err, TT_E_DAMAGED, w->where, name);
	w->depth--;
	free(w->prefix);
	w->prefix = outer;
	return rc;
}

static int visit_object(struct walk *w, hid_t group, const char *leaf, const char *name)
{
	struct tti_object object;
	int rc = tti_object_at(&object, group, leaf);

	if (rc < 0)
		return tti_h5_fail(w->err, rc, w->where, name);
	if (object.type != H5O_TYPE_GROUP)
		return w->fn(w->ctx, name, object.type);
	rc = enter(w, &object);
	if (rc < 0)
		return tti_fail(w->err, rc, "%s: out of memory", w->where);
	if (rc == 0)
		return TT_OK;
	rc = w->fn(w->ctx, name, object.type);
	return rc < 0 ? rc : descend(w, group, leaf, name);
}

static herr_t visit(hid_t group, const char *leaf, const H5L_info_t *info, void *ctx)
{
	struct walk *w = ctx;
	tti_auto_free char *name = NULL;

	if (info->type != H5L_TYPE_HARD)
		return 0;
	if (asprintf(&name, "%s%s", w->prefix, leaf) < 0) {
		name = NULL;
		w->rc = tti_fail(w->err, -ENOMEM, "%s: out of memory", w->where);
		return -1;
	}
	w->rc = visit_object(w, group, leaf, name);
	return w->rc < 0 ? -1 : 0;
}

int tti_walk(hid_t group, const char *where, tti_walk_fn *fn, void *ctx,
	     struct tt_error *err)
{
	char empty[] = "";
	struct walk w = {
		.fn = fn, .ctx = ctx, .err = err, .where = where, .prefix = empty
	};
	struct tti_object top;
	int rc = tti_object_at(&top, group, ".");

	if (rc < 0)
		return tti_h5_fail(err, rc, where, NULL);
	rc = enter(&w, &top);
	if (rc < 0)
		return tti_fail(err, rc, "%s: out of memory", where);
	rc = TT_OK;
	if (H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, &w) < 0)
		rc = w.rc < 0 ? w.rc : tti_h5_fail(err, TT_E_DAMAGED, where, NULL);
	free(w.seen);
	return rc;
}
