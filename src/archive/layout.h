/* SPDX-License-Identifier: Apache-2.0 */
/* Where things are in an archive (versioned-hdf5's layout, docs/FORMAT.md), and its list of
 * versions.  Reading only; untrusted. */
#ifndef TTI_LAYOUT_H
#define TTI_LAYOUT_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "ticktail/archive.h"

#define TTI_DATA_VERSION 4
#define TTI_GROUP_DATA "/_version_data"
#define TTI_GROUP_VERSIONS "/_version_data/versions"
#define TTI_LEAF_RAW "raw_data"
#define TTI_LEAF_HASHES "hash_table"
#define TTI_LEAF_TMP "_tmp_" /* prefix of what an interrupted versioned_hdf5 leaves */

#define TTI_ATTR_CURRENT "current_version"
#define TTI_ATTR_DATA_VERSION "data_version"
#define TTI_ATTR_PREV "prev_version"
#define TTI_ATTR_COMMITTED "committed"
#define TTI_ATTR_TIMESTAMP "timestamp"
#define TTI_ATTR_RAW "raw_data"
#define TTI_ATTR_CHUNKS "chunks"
#define TTI_ATTR_LARGEST "largest_index"

/* malloc'ed, NULL when out of memory. */
char *tti_path_of_version(const char *version); /* /_version_data/versions/V */
char *tti_path_of_dataset(const char *version, const char *name); /* .../V/NAME */
char *tti_path_of_raw(const char *name); /* /_version_data/NAME/raw_data */
char *tti_path_of_hashes(const char *name);
char *tti_path_of_data(const char *name); /* /_version_data/NAME */

/* Called for what breaks the layout where reading can go on. */
struct tti_faults {
	void (*tell)(void *ctx, const char *version, const char *what);
	void *ctx;
};

struct tti_versions {
	struct tt_archive_version
		*items; /* ancestors before descendants, then by timestamp */
	size_t count;
	char *current;	      /* as stored, may name none of them; NULL: missing */
	int64_t data_version; /* 1 (vlen digests are not to be trusted) or 4 */
};
#define TTI_NO_VERSION SIZE_MAX

/* All versions, committed or not.  path is the archive's, for errors.  faults may be NULL.
 * TT_E_FORMAT: no archive, or a data_version that is not supported. */
int tti_versions_read(struct tti_versions *out, hid_t file, const char *path,
		      const struct tti_faults *faults, struct tt_error *err);
void tti_versions_fini(struct tti_versions *versions);
/* The place of a name (NULL: the current one) or TTI_NO_VERSION. */
size_t tti_versions_find(const struct tti_versions *versions, const char *name);
/* The place of the parent of the version there, or TTI_NO_VERSION.  Quick where parents are
 * near, as in a chain; following a chain of any length is then no quadratic work. */
size_t tti_versions_parent(const struct tti_versions *versions, size_t at);

/* What an object is, and which: equal ids are one object under several links. */
struct tti_object {
	uint8_t id[16];
	H5O_type_t type;
};
/* TT_E_DAMAGED (libhdf5's words are on its stack) when there is none such. */
int tti_object_at(struct tti_object *out, hid_t location, const char *name);

/* true when every part of path is a hard link: nothing outside the file is reached. */
bool tti_is_hard_path(hid_t file, const char *path);

/* Call fn for each thing in a group tree of hard links, in no order; each group once, so that
 * a loop ends.  name is relative to group.  Stops at the first negative return. */
typedef int tti_walk_fn(void *ctx, const char *name, H5O_type_t type);
int tti_walk(hid_t group, const char *where, tti_walk_fn *fn, void *ctx,
	     struct tt_error *err);

/* A file as long as this one can hold n things, of a byte each at least.  What a file claims to
 * hold beyond that is damage, and neither memory nor time is spent on it. */
bool tti_fits_file(hid_t file, uint64_t n);

#endif
