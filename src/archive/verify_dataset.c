/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying one dataset: raw_data and hash_table by themselves, and the mappings of every
 * version against both; then its slots (verify_slots.c).
 *
 * Invariant: objects that several versions share are looked at once, and what is damaged is
 * told without ending the look at the rest. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/dataset.h"
#include "archive/h5.h"
#include "archive/h5attr.h"
#include "archive/verify_dataset.h"
#include "base/num.h"

/* ---- raw_data and hash_table by themselves ---- */

static int check_chunks_attribute(struct tti_subject *s)
{
	struct tti_damage_place place = { .dataset = s->name, .chunk = -1, .row = -1 };
	int64_t chunks[TT_MAX_RANK];
	struct tt_error why;
	size_t count;
	int rc = tti_attr_ints(
		chunks, TT_MAX_RANK, &count,
		(struct tti_attr){ s->raw.id, TTI_ATTR_CHUNKS, s->raw.path }, &why);
	bool same = count == s->raw.rank;

	if (rc < 0) {
		tti_verify_tell(s->v, &place, "%s", why.text);
		return TT_OK;
	}
	for (size_t i = 0; same && i < count; i++)
		same = chunks[i] >= 0 && (uint64_t)chunks[i] == s->raw.chunk[i];
	if (!same)
		tti_verify_tell(s->v, &place, "attribute chunks of raw_data %s",
				count ? "is not its chunk shape"
				      : "is missing, which versioned_hdf5 needs");
	return TT_OK;
}

static void check_extents(struct tti_subject *s)
{
	struct tti_damage_place place = { .dataset = s->name, .chunk = -1, .row = -1 };
	tti_auto_hid space = H5Dget_space(s->raw.id);
	hsize_t dims[H5S_MAX_RANK], max[H5S_MAX_RANK];

	if (s->raw.rows % s->raw.chunk[0] != 0)
		tti_verify_tell(s->v, &place,
				"raw_data has %" PRIu64 " rows, no whole number of "
				"slots of %" PRIu64,
				s->raw.rows, s->raw.chunk[0]);
	if (space < 0 || H5Sget_simple_extent_dims(space, dims, max) < 0)
		return;
	if (max[0] != H5S_UNLIMITED)
		tti_verify_tell(s->v, &place, "raw_data cannot grow");
}

static void check_table_row(struct tti_subject *s, uint64_t r)
{
	struct tti_damage_place place = { .dataset = s->name, .chunk = -1, .row = -1 };
	const struct tti_table_row *row = &s->table.rows[r];
	uint64_t c0 = s->raw.chunk[0], slot;

	if (row->start < 0 || row->start % (int64_t)c0 != 0 || row->stop <= row->start ||
	    (uint64_t)(row->stop - row->start) > c0 ||
	    (uint64_t)row->stop > s->raw.rows) {
		tti_verify_tell(s->v, &place,
				"row %" PRIu64 " of hash_table names rows %" PRId64
				" to %" PRId64 " of raw_data, which are no slot of it",
				r, row->start, row->stop);
		return;
	}
	slot = row->start / c0;
	if (slot >= s->slot_count)
		return;
	if (s->slots[slot].table_row != 0)
		tti_verify_tell(s->v, &place,
				"rows %" PRIu64 " and %" PRIu64 " of hash_table name "
				"the same slot %" PRIu64,
				s->slots[slot].table_row - 1, r, slot);
	else
		s->slots[slot].table_row = r + 1;
}

static int read_table(struct tti_subject *s)
{
	tti_auto_free char *path = tti_path_of_hashes(s->name);
	struct tti_damage_place place = { .dataset = s->name, .chunk = -1, .row = -1 };
	uint64_t rows;
	int rc;

	if (!path)
		return tti_subject_no_memory(s);
	rc = tti_table_read(&s->table, tti_driver_file(s->v->driver), path, s->where,
			    s->v->err);
	if (rc < 0 && rc != TT_E_DAMAGED)
		return rc;
	s->table_known = rc == TT_OK;
	if (!s->table_known)
		tti_verify_tell(s->v, &place, "%s", s->v->err->text);
	else if (tti_mul_overflow(s->table.count, s->raw.chunk[0], &rows) ||
		 rows > s->raw.rows)
		tti_verify_tell(s->v, &place,
				"raw_data has %" PRIu64 " rows, too few for the "
				"%" PRIu64 " chunks that largest_index counts",
				s->raw.rows, s->table.count);
	return TT_OK;
}

/* ---- Versions ---- */

static int grow_slots(struct tti_subject *s, uint64_t count)
{
	struct tti_subject_slot *slots;
	uint64_t *extents;

	if (count <= s->slot_count)
		return TT_OK;
	count = tti_max_u64(count, 2 * s->slot_count);
	slots = reallocarray(s->slots, count, sizeof(*slots));
	if (!slots)
		return tti_subject_no_memory(s);
	s->slots = slots;
	extents = reallocarray(s->extents, count, s->raw.rank * sizeof(*extents));
	if (!extents)
		return tti_subject_no_memory(s);
	s->extents = extents;
	memset(slots + s->slot_count, 0, (count - s->slot_count) * sizeof(*slots));
	s->slot_count = count;
	return TT_OK;
}

static int use_slot(struct tti_subject *s, const struct tti_grid *grid,
		    struct tti_mapped item)
{
	uint64_t start[TT_MAX_RANK], extent[TT_MAX_RANK], *known;
	size_t bytes = grid->rank * sizeof(*known);
	struct tti_subject_slot *slot;
	int rc = grow_slots(s, item.slot + 1);

	if (rc < 0)
		return rc;
	tti_grid_box(grid, item.chunk, start, extent);
	slot = &s->slots[item.slot];
	known = &s->extents[item.slot * grid->rank];
	s->need = tti_max_u64(s->need, item.slot + 1);
	if (slot->version == 0) {
		*slot = (struct tti_subject_slot){ s->version + 1, item.chunk, start[0],
						   extent[0], 0 };
		memcpy(known, extent, bytes);
	} else if (memcmp(known, extent, bytes) != 0) {
		struct tti_damage_place place = {
			s->v->versions.items[s->version].name,
			s->name,
			item.chunk,
			start[0],
			extent[0],
		};

		tti_verify_tell(s->v, &place,
				"shares slot %" PRIu64 " with chunk %" PRIu64 " of "
				"version %s, which has another shape",
				item.slot, slot->chunk,
				s->v->versions.items[slot->version - 1].name);
	}
	return TT_OK;
}

static void on_fault(void *ctx, const struct tti_mapping_fault *fault)
{
	struct tti_subject *s = ctx;
	struct tti_damage_place place = {
		s->v->versions.items[s->version].name,
		s->name,
		fault->chunk,
		fault->row,
		fault->row_count,
	};

	tti_verify_tell(s->v, &place, "%s", fault->what);
}

/* The shape stands in the file twice, which shows when one of them is damaged. */
static void check_shape(struct tti_subject *s, struct tt_dataset *d)
{
	struct tti_damage_place place = { s->v->versions.items[s->version].name, s->name,
					  -1, -1, 0 };
	tti_auto_hid space = H5Dget_space(d->id);
	hsize_t dims[H5S_MAX_RANK], max[H5S_MAX_RANK];
	int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dims, max);

	for (int i = 0; i < rank; i++) {
		if (dims[i] == max[i])
			continue;
		tti_verify_tell(s->v, &place,
				"axis %d has %" PRIu64 " places but may have %" PRIu64
				": a version's shape is fixed",
				i, (uint64_t)dims[i], (uint64_t)max[i]);
		return;
	}
}

static int check_mappings(struct tti_subject *s, struct tt_dataset *d)
{
	struct tti_damage_place place = { s->v->versions.items[s->version].name, s->name,
					  -1, -1, 0 };
	int rc;

	check_shape(s, d);
	if (strcmp(d->raw.path, s->raw.path) != 0) {
		tti_verify_tell(s->v, &place, "its attribute raw_data names %s, not %s",
				d->raw.path, s->raw.path);
		return TT_OK;
	}
	rc = tti_dataset_resolve(d, on_fault, s, s->v->err);
	for (size_t i = 0; i < d->mapping.count && rc == TT_OK; i++)
		rc = use_slot(s, &d->grid, d->mapping.items[i]);
	return rc;
}

/* 1 not seen before, 0 seen or not there. */
static int is_new_object(struct tti_subject *s, const char *path)
{
	hid_t file = tti_driver_file(s->v->driver);
	struct tti_object object, *more;

	if (!tti_is_hard_path(file, path) || tti_object_at(&object, file, path) < 0 ||
	    object.type != H5O_TYPE_DATASET)
		return 0;
	/* links are shared by neighbours: the last one is looked at first */
	for (size_t i = s->seen_count; i-- > 0;)
		if (memcmp(s->seen[i].id, object.id, sizeof(object.id)) == 0)
			return 0;
	more = reallocarray(s->seen, s->seen_count + 1, sizeof(*more));
	if (!more)
		return tti_subject_no_memory(s);
	s->seen = more;
	s->seen[s->seen_count++] = object;
	return 1;
}

static int check_version(struct tti_subject *s)
{
	const char *version = s->v->versions.items[s->version].name;
	tti_auto_free char *path = tti_path_of_dataset(version, s->name);
	struct tti_damage_place place = { version, s->name, -1, -1, 0 };
	struct tt_dataset *d;
	int rc = path ? is_new_object(s, path) : tti_subject_no_memory(s);

	if (rc <= 0)
		return rc;
	rc = tti_dataset_open(&d, s->v->driver, version, s->name, s->v->err);
	if (rc == TT_OK)
		rc = check_mappings(s, d);
	tt_dataset_close(d);
	if (rc == TT_E_DAMAGED || rc == TT_E_UNSUPPORTED) {
		tti_verify_tell(s->v, &place, "%s", s->v->err->text);
		rc = TT_OK;
	}
	return rc;
}

/* ---- All of it ---- */

static void check_table(struct tti_subject *s)
{
	struct tti_damage_place place = { .dataset = s->name, .chunk = -1, .row = -1 };

	for (uint64_t r = 0; r < s->table.count; r++)
		check_table_row(s, r);
	if (s->table_known && s->need > s->table.count)
		tti_verify_tell(
			s->v, &place,
			"versions use %" PRIu64 " slots, largest_index counts "
			"%" PRIu64
			": the next commit by versioned_hdf5 overwrites chunks in "
			"use (rebuild the hash table)",
			s->need, s->table.count);
}

/* versioned_hdf5 hashes the padding of structs as it lies in its memory, then stores a copy
 * whose padding may differ: of such types a wrong digest need not mean wrong rows. */
static bool has_padding(struct tti_subject *s)
{
	const struct tti_h5stored stored = { .type = s->raw.type,
					     .rank = s->raw.rank,
					     .shape = s->raw.chunk,
					     .where = s->where };
	struct tti_h5rows rows;
	bool padded;

	if (tti_h5type_rows(&rows, &stored, NULL) < 0)
		return false;
	padded = rows.dtype && tt_dtype_has_padding(rows.dtype);
	tti_h5rows_fini(&rows);
	return padded;
}

static int check_all(struct tti_subject *s)
{
	int rc = check_chunks_attribute(s);

	check_extents(s);
	s->padded = has_padding(s);
	if (rc == TT_OK)
		rc = read_table(s);
	for (s->version = 0; s->version < s->v->versions.count && rc == TT_OK;
	     s->version++)
		if (s->v->versions.items[s->version].committed)
			rc = check_version(s);
	if (rc == TT_OK)
		rc = grow_slots(
			s, tti_min_u64(s->table.count, s->raw.rows / s->raw.chunk[0]));
	if (rc < 0)
		return rc;
	check_table(s);
	rc = tti_verify_duplicates(s);
	return rc < 0 ? rc : tti_verify_slots(s);
}

int tti_verify_dataset(struct tti_verify *v, const char *name)
{
	struct tti_subject s = { .v = v, .name = name };
	tti_auto_free char *path = tti_path_of_raw(name);
	int rc;

	if (!path || asprintf(&s.where, "%s: dataset %s", v->path, name) < 0)
		return tti_fail(v->err, -ENOMEM, "%s: out of memory", v->path);
	rc = tti_raw_open(&s.raw, tti_driver_file(v->driver), path, s.where, v->err);
	if (rc == TT_OK)
		rc = check_all(&s);
	tti_raw_close(&s.raw);
	tti_table_fini(&s.table);
	free(s.slots);
	free(s.extents);
	free(s.seen);
	free(s.where);
	return rc;
}
