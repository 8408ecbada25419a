/* SPDX-License-Identifier: Apache-2.0 */
/* The versions of an archive: reading their attributes and putting them in order.
 *
 * Invariant: a version comes after its parent, whatever the timestamps say; among those that
 * the chains leave open the timestamp decides (as text, as the layout compares them), then
 * the name.  What other writers get wrong is reported and read as well as it can be. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "archive/h5attr.h"
#include "archive/layout.h"
#include "archive/names.h"
#include "base/error.h"

struct reading {
	struct tti_versions *out;
	size_t room;
	hid_t group;			 /* versions */
	const struct tti_faults *faults; /* or NULL */
	struct tt_error *err;
	const char *path;
	int rc;
};

static void TTI_PRINTF(3, 4)
	report(struct reading *r, const char *version, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (!r->faults)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->faults->tell(r->faults->ctx, version, text);
}

static int no_memory(struct reading *r)
{
	return tti_fail(r->err, -ENOMEM, "%s: out of memory for the list of versions",
			r->path);
}

/* A string attribute, or NULL with a report; only lack of memory is an error. */
static int text_of(struct reading *r, hid_t object, const char *version, const char *name,
		   char **out)
{
	struct tt_error why = { 0 };
	bool fixed;
	int rc = tti_attr_string(out, &fixed, (struct tti_attr){ object, name, version },
				 &why);

	if (rc == -ENOMEM)
		return no_memory(r);
	if (rc < 0)
		report(r, version, "%s", why.text);
	else if (!*out)
		report(r, version, "attribute %s is missing", name);
	else if (fixed)
		report(r, version,
		       "attribute %s is a string of fixed length, which "
		       "versioned_hdf5 does not read",
		       name);
	return TT_OK;
}

static bool is_timestamp(const char *text)
{
	static const char form[] = "dddd-dd-dd dd:dd:dd.dddddd+0000";

	if (strlen(text) != sizeof(form) - 1)
		return false;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	return true;
}

static int read_committed(struct reading *r, hid_t object, struct tt_archive_version *v)
{
	struct tt_error why = { 0 };
	bool found;

	if (tti_attr_bool(&v->committed, &found,
			  (struct tti_attr){ object, TTI_ATTR_COMMITTED, v->name },
			  &why) < 0)
		report(r, v->name, "%s", why.text);
	else if (!found)
		report(r, v->name, "attribute committed is missing");
	else if (!v->committed)
		report(r, v->name,
		       "was never committed (left by a writer that was killed)");
	return TT_OK;
}

static void free_version(struct tt_archive_version *v)
{
	free((char *)v->name);
	free((char *)v->prev);
	free((char *)v->timestamp);
}

static int read_version(struct reading *r, hid_t object, struct tt_archive_version *v)
{
	char *prev = NULL, *timestamp = NULL;
	int rc = text_of(r, object, v->name, TTI_ATTR_PREV, &prev);

	if (rc == TT_OK)
		rc = text_of(r, object, v->name, TTI_ATTR_TIMESTAMP, &timestamp);
	if (rc == TT_OK && !timestamp && !(timestamp = strdup("")))
		rc = no_memory(r);
	if (prev && (*prev == '\0' || strcmp(prev, TTI_FIRST_VERSION) == 0)) {
		free(prev);
		prev = NULL;
	}
	v->prev = prev;
	v->timestamp = timestamp;
	if (rc < 0)
		return rc;
	if (*timestamp && !is_timestamp(timestamp))
		report(r, v->name,
		       "timestamp '%.64s' is not of the form "
		       "YYYY-MM-DD HH:MM:SS.ffffff+0000, so it sorts wrongly",
		       timestamp);
	return read_committed(r, object, v);
}

static int add_version(struct reading *r, const char *name)
{
	struct tti_versions *out = r->out;
	struct tt_archive_version v = { .name = strdup(name) };
	tti_auto_hid object = H5Gopen2(r->group, name, H5P_DEFAULT);
	int rc;

	if (!v.name)
		return no_memory(r);
	if (object < 0) {
		struct tt_error why = { 0 };

		tti_h5_fail(&why, TT_E_DAMAGED, NULL, NULL);
		report(r, name, "its group cannot be opened: %s", why.text);
		free_version(&v);
		return TT_OK;
	}
	rc = read_version(r, object, &v);
	if (rc == TT_OK && out->count == r->room) {
		size_t room = r->room ? 2 * r->room : 16;
		void *more = reallocarray(out->items, room, sizeof(*out->items));

		if (more) {
			out->items = more;
			r->room = room;
		} else {
			rc = no_memory(r);
		}
	}
	if (rc < 0)
		free_version(&v);
	else
		out->items[out->count++] = v;
	return rc;
}

static herr_t each_link(hid_t group, const char *name, const H5L_info_t *info, void *ctx)
{
	struct reading *r = ctx;
	struct tti_object object;

	if (strcmp(name, TTI_FIRST_VERSION) == 0)
		return 0;
	if (info->type != H5L_TYPE_HARD || tti_object_at(&object, group, name) < 0 ||
	    object.type != H5O_TYPE_GROUP) {
		report(r, name, "is no group, so it is no version");
		return 0;
	}
	r->rc = add_version(r, name);
	return r->rc < 0 ? -1 : 0;
}

/* ---- Order ---- */

static int by_time(const void *a, const void *b)
{
	const struct tt_archive_version *x = a, *y = b;
	int rc = strcmp(x->timestamp, y->timestamp);

	return rc ? rc : strcmp(x->name, y->name);
}

struct named {
	const char *name;
	size_t index;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

struct order {
	struct named *names; /* ascending */
	size_t *parent;	     /* or TTI_NO_VERSION */
	size_t *chain;	     /* scratch: from a version up to what is placed already */
	uint8_t *placed;     /* 1 in the chain at hand, 2 in the result */
	struct tt_archive_version *result;
	size_t count;
};

static int order_begin(struct order *o, const struct tti_versions *v)
{
	size_t n = v->count;

	o->names = calloc(n, sizeof(*o->names));
	o->parent = calloc(n, sizeof(*o->parent));
	o->chain = calloc(n, sizeof(*o->chain));
	o->placed = calloc(n, 1);
	o->result = calloc(n, sizeof(*o->result));
	if (!o->names || !o->parent || !o->chain || !o->placed || !o->result)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		o->names[i] = (struct named){ v->items[i].name, i };
	qsort(o->names, n, sizeof(*o->names), by_name);
	for (size_t i = 0; i < n; i++) {
		const struct named key = { v->items[i].prev ? v->items[i].prev : "", 0 };
		const struct named *hit =
			bsearch(&key, o->names, n, sizeof(key), by_name);

		o->parent[i] = hit ? hit->index : TTI_NO_VERSION;
	}
	return TT_OK;
}

static void order_end(struct order *o)
{
	free(o->names);
	free(o->parent);
	free(o->chain);
	free(o->placed);
	free(o->result);
}

/* Place the ancestors of i that are not placed yet, oldest first, then i. */
static void place(struct reading *r, struct order *o, size_t i)
{
	size_t length = 0;

	while (i != TTI_NO_VERSION && o->placed[i] == 0) {
		o->placed[i] = 1;
		o->chain[length++] = i;
		i = o->parent[i];
	}
	if (i != TTI_NO_VERSION && o->placed[i] == 1)
		report(r, r->out->items[i].name, "is its own ancestor by prev_version");
	while (length > 0) {
		i = o->chain[--length];
		o->placed[i] = 2;
		o->result[o->count++] = r->out->items[i];
	}
}

static int put_in_order(struct reading *r)
{
	struct tti_versions *out = r->out;
	struct order o = { 0 };

	if (out->count == 0)
		return TT_OK;
	qsort(out->items, out->count, sizeof(*out->items), by_time);
	if (order_begin(&o, out) < 0) {
		order_end(&o);
		return no_memory(r);
	}
	for (size_t i = 0; i < out->count; i++)
		if (o.placed[i] == 0)
			place(r, &o, i);
	memcpy(out->items, o.result, out->count * sizeof(*out->items));
	order_end(&o);
	return TT_OK;
}

/* ---- The whole ---- */

static int read_data_version(struct reading *r)
{
	int64_t value = 1;
	size_t count;
	int rc = tti_attr_ints(
		&value, 1, &count,
		(struct tti_attr){ r->group, TTI_ATTR_DATA_VERSION, r->path }, r->err);

	if (rc < 0)
		return rc;
	r->out->data_version = value;
	if (value == 1 || value == TTI_DATA_VERSION)
		return TT_OK;
	if (value > TTI_DATA_VERSION)
		return tti_fail(r->err, TT_E_FORMAT,
				"%s: data_version %" PRId64 " was written by "
				"a later version of versioned_hdf5, at most %d is known",
				r->path, value, TTI_DATA_VERSION);
	return tti_fail(
		r->err, TT_E_FORMAT,
		"%s: data_version %" PRId64 " has wrong hash tables "
		"and is not supported (rebuild_hashtables of versioned_hdf5 mends it)",
		r->path, value);
}

static int read_current(struct reading *r)
{
	size_t at;
	int rc = text_of(r, r->group, NULL, TTI_ATTR_CURRENT, &r->out->current);

	if (rc < 0 || !r->out->current || strcmp(r->out->current, TTI_FIRST_VERSION) == 0)
		return rc;
	at = tti_versions_find(r->out, r->out->current);
	if (at == TTI_NO_VERSION)
		report(r, NULL, "current_version '%.200s' names no version",
		       r->out->current);
	else
		r->out->items[at].current = true;
	return TT_OK;
}

static int open_versions(struct reading *r, hid_t file, hid_t *group)
{
	struct tti_object object;

	if (H5Lexists(file, TTI_GROUP_DATA, H5P_DEFAULT) <= 0 ||
	    H5Lexists(file, TTI_GROUP_VERSIONS, H5P_DEFAULT) <= 0 ||
	    tti_object_at(&object, file, TTI_GROUP_VERSIONS) < 0 ||
	    object.type != H5O_TYPE_GROUP)
		return tti_fail(r->err, TT_E_FORMAT,
				"%s: is an HDF5 file but no archive: there is "
				"no group %s in it",
				r->path, TTI_GROUP_VERSIONS);
	*group = H5Gopen2(file, TTI_GROUP_VERSIONS, H5P_DEFAULT);
	return *group < 0 ? tti_h5_fail(r->err, TT_E_DAMAGED, r->path, TTI_GROUP_VERSIONS)
			  : TT_OK;
}

static int read_all(struct reading *r, hid_t file)
{
	tti_auto_hid group = -1;
	int rc = open_versions(r, file, &group);

	if (rc < 0)
		return rc;
	r->group = group;
	rc = read_data_version(r);
	if (rc < 0)
		return rc;
	if (H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, each_link, r) < 0)
		return r->rc < 0 ? r->rc
				 : tti_h5_fail(r->err, TT_E_DAMAGED, r->path,
					       TTI_GROUP_VERSIONS);
	rc = put_in_order(r);
	return rc < 0 ? rc : read_current(r);
}

int tti_versions_read(struct tti_versions *out, hid_t file, const char *path,
		      const struct tti_faults *faults, struct tt_error *err)
{
	TTI_H5_QUIET;
	struct reading r = {
		.out = out,
		.faults = faults,
		.err = err,
		.path = path,
		.group = -1,
	};
	int rc;

	*out = (struct tti_versions){ 0 };
	rc = read_all(&r, file);
	if (rc < 0)
		tti_versions_fini(out);
	return rc;
}

void tti_versions_fini(struct tti_versions *versions)
{
	for (size_t i = 0; i < versions->count; i++)
		free_version(&versions->items[i]);
	free(versions->items);
	free(versions->current);
	*versions = (struct tti_versions){ 0 };
}

size_t tti_versions_find(const struct tti_versions *versions, const char *name)
{
	if (!name)
		name = versions->current;
	if (!name)
		return TTI_NO_VERSION;
	for (size_t i = 0; i < versions->count; i++)
		if (strcmp(versions->items[i].name, name) == 0)
			return i;
	return TTI_NO_VERSION;
}

size_t tti_versions_parent(const struct tti_versions *versions, size_t at)
{
	const char *prev = versions->items[at].prev;

	/* parents come first, so from at downwards; only in a loop does one lie above */
	for (size_t i = 0; prev && i < versions->count; i++) {
		size_t k = at > i ? at - 1 - i : versions->count - 1 - (i - at);

		if (strcmp(versions->items[k].name, prev) == 0)
			return k;
	}
	return TTI_NO_VERSION;
}
