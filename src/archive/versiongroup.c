/* SPDX-License-Identifier: Apache-2.0 */
/* Version groups, written.  Invariant: a dataset that did not change is the parent's object
 * under one more link, so a version costs what is new in it. */
#include "archive/versiongroup.h"

#include <errno.h>
#include <string.h>

#include "archive/h5.h"
#include "archive/h5put.h"
#include "archive/names.h"

static int fail(struct tti_driver *driver, const char *what, struct tt_error *err)
{
	return tti_driver_fail(driver, err, -EIO, what);
}

static hid_t make_group(hid_t at, const char *name)
{
	tti_auto_hid lcpl = H5Pcreate(H5P_LINK_CREATE);

	if (lcpl < 0 || H5Pset_create_intermediate_group(lcpl, 1) < 0)
		return -1;
	return H5Gcreate2(at, name, lcpl, H5P_DEFAULT, H5P_DEFAULT);
}

int tti_archive_make(struct tti_driver *driver, const char *timestamp,
		     struct tt_error *err)
{
	TTI_H5_QUIET;
	const uint64_t data_version = TTI_DATA_VERSION;
	tti_auto_hid versions = make_group(tti_driver_file(driver), TTI_GROUP_VERSIONS);
	tti_auto_hid first = versions < 0 ? -1 : make_group(versions, TTI_FIRST_VERSION);

	if (first < 0 ||
	    tti_put_string(versions, TTI_ATTR_CURRENT, TTI_FIRST_VERSION) < 0 ||
	    tti_put_ints(versions, TTI_ATTR_DATA_VERSION, &data_version, 0) < 0 ||
	    tti_put_string(first, TTI_ATTR_TIMESTAMP, timestamp) < 0)
		return fail(driver, "making the groups of an archive", err);
	return TT_OK;
}

int tti_archive_upgrade(struct tti_driver *driver, struct tt_error *err)
{
	TTI_H5_QUIET;
	const uint64_t data_version = TTI_DATA_VERSION;
	tti_auto_hid versions =
		H5Gopen2(tti_driver_file(driver), TTI_GROUP_VERSIONS, H5P_DEFAULT);

	if (versions < 0 ||
	    tti_put_ints(versions, TTI_ATTR_DATA_VERSION, &data_version, 0) < 0)
		return fail(driver, "data_version", err);
	return TT_OK;
}

struct inheriting {
	struct tti_driver *driver;
	const struct tti_new_version *version;
	hid_t from, to;
	struct tt_error *err;
};

/* A link to what is in it may have made the group already. */
static int inherit_group(struct inheriting *in, const char *name)
{
	tti_auto_hid from = H5Gopen2(in->from, name, H5P_DEFAULT), to = -1;

	if (from < 0)
		return -EIO;
	to = H5Lexists(in->to, name, H5P_DEFAULT) > 0
		     ? H5Gopen2(in->to, name, H5P_DEFAULT)
		     : make_group(in->to, name);
	return to < 0 ? -EIO : tti_copy_attributes(to, from, NULL);
}

static int inherit_link(struct inheriting *in, const char *name)
{
	tti_auto_hid lcpl = H5Pcreate(H5P_LINK_CREATE);

	if (lcpl < 0 || H5Pset_create_intermediate_group(lcpl, 1) < 0 ||
	    H5Lcreate_hard(in->from, name, in->to, name, lcpl, H5P_DEFAULT) < 0)
		return -EIO;
	return TT_OK;
}

static int inherit(void *ctx, const char *name, H5O_type_t type)
{
	struct inheriting *in = ctx;
	const char *leaf = strrchr(name, '/');
	int rc;

	leaf = leaf ? leaf + 1 : name;
	if (strncmp(leaf, TTI_LEAF_TMP, strlen(TTI_LEAF_TMP)) == 0)
		return TT_OK; /* left by an interrupted delete_versions */
	if (type == H5O_TYPE_GROUP)
		rc = inherit_group(in, name);
	else if (type == H5O_TYPE_DATASET && in->version->is_own(in->version->ctx, name))
		rc = TT_OK;
	else
		rc = inherit_link(in, name);
	return rc < 0 ? fail(in->driver, name, in->err) : TT_OK;
}

static int inherit_all(hid_t group, struct tti_driver *driver,
		       const struct tti_new_version *version, struct tt_error *err)
{
	tti_auto_free char *path = tti_path_of_version(version->parent);
	struct inheriting in = {
		.driver = driver, .version = version, .to = group, .err = err
	};
	tti_auto_hid from = -1;

	if (!path)
		return tti_fail(err, -ENOMEM, "%s: out of memory", version->name);
	from = H5Gopen2(tti_driver_file(driver), path, H5P_DEFAULT);
	if (from < 0)
		return tti_driver_fail(driver, err, TT_E_DAMAGED, path);
	in.from = from;
	return tti_walk(from, path, inherit, &in, err);
}

int tti_version_begin(hid_t *out, struct tti_driver *driver,
		      const struct tti_new_version *version, struct tt_error *err)
{
	TTI_H5_QUIET;
	tti_auto_free char *path = tti_path_of_version(version->name);
	tti_auto_hid group = -1;
	int rc = TT_OK;

	if (!path)
		return tti_fail(err, -ENOMEM, "%s: out of memory", version->name);
	group = make_group(tti_driver_file(driver), path);
	if (group < 0 || tti_put_string(group, TTI_ATTR_PREV, version->parent) < 0 ||
	    tti_put_bool(group, TTI_ATTR_COMMITTED, false) < 0 ||
	    tti_put_string(group, TTI_ATTR_TIMESTAMP, version->timestamp) < 0)
		return fail(driver, version->name, err);
	if (strcmp(version->parent, TTI_FIRST_VERSION) != 0)
		rc = inherit_all(group, driver, version, err);
	if (rc == TT_OK)
		*out = tti_steal_hid(&group);
	return rc;
}

int tti_version_end(hid_t group, struct tti_driver *driver,
		    const struct tti_new_version *version, struct tt_error *err)
{
	TTI_H5_QUIET;
	tti_auto_hid versions =
		H5Gopen2(tti_driver_file(driver), TTI_GROUP_VERSIONS, H5P_DEFAULT);

	if (versions < 0 || tti_put_bool(group, TTI_ATTR_COMMITTED, true) < 0 ||
	    tti_put_string(versions, TTI_ATTR_CURRENT, version->name) < 0)
		return fail(driver, version->name, err);
	return TT_OK;
}

/* An error stops the walk: found. */
static int is_strings(void *ctx, const char *name, H5O_type_t type)
{
	hid_t group = *(hid_t *)ctx;
	tti_auto_hid dataset = -1, element = -1;

	if (type != H5O_TYPE_DATASET)
		return TT_OK;
	dataset = H5Dopen2(group, name, H5P_DEFAULT);
	element = dataset < 0 ? -1 : H5Dget_type(dataset);
	return element >= 0 && H5Tdetect_class(element, H5T_STRING) > 0 &&
			       H5Tis_variable_str(element) > 0
		       ? TT_E_UNSUPPORTED
		       : TT_OK;
}

bool tti_archive_has_strings(struct tti_driver *driver)
{
	TTI_H5_QUIET;
	tti_auto_hid group =
		H5Gopen2(tti_driver_file(driver), TTI_GROUP_DATA, H5P_DEFAULT);

	return group < 0 || tti_walk(group, TTI_GROUP_DATA, is_strings, &group, NULL) < 0;
}

static herr_t address_of(hid_t object, haddr_t *out)
{
#if H5_VERSION_GE(1, 12, 0)
	H5O_info2_t info;

	return H5Oget_info3(object, &info, H5O_INFO_BASIC) < 0 ||
			       H5VLnative_token_to_addr(object, info.token, out) < 0
		       ? -1
		       : 0;
#else
	H5O_info_t info;

	if (H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0)
		return -1;
	*out = info.addr;
	return 0;
#endif
}

int tti_archive_watch(struct tti_driver *driver, struct tt_error *err)
{
	TTI_H5_QUIET;
	tti_auto_hid versions =
		H5Gopen2(tti_driver_file(driver), TTI_GROUP_VERSIONS, H5P_DEFAULT);
	haddr_t address;

	if (versions < 0 || address_of(versions, &address) < 0)
		return fail(driver, TTI_GROUP_VERSIONS, err);
	return tti_driver_watch(driver, address, err);
}
