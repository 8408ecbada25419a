/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying the chunks of one dataset: raw_data and hash_table by themselves, the mappings of
 * every version against both, and the digest of every slot.
 *
 * Invariant: a slot is hashed once, however many versions share it; damage to it is told with
 * the first version that uses it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/dataset.h"
#include "archive/h5.h"
#include "archive/h5attr.h"
#include "archive/slotdigest.h"
#include "archive/table.h"
#include "archive/verify.h"
#include "base/num.h"

/* What versions and hash_table say about one slot. */
struct slot {
	uint64_t version;		/* first that uses it, + 1; 0: none */
	uint64_t chunk, row, row_count; /* there */
	uint64_t table_row;		/* + 1; 0: none */
};

struct subject {
	struct tti_verify *v;
	const char *name;
	char *where;
	struct tti_raw raw;
	struct tti_table table;
	bool table_known, padded;
	struct slot *slots;
	uint64_t *extents;	 /* of the chunk in each slot, raw.rank a slot */
	uint64_t slot_count;	 /* room in both */
	uint64_t need;		 /* slots that versions use, counted from 0 */
	struct tti_object *seen; /* objects that several versions share */
	size_t seen_count;
	size_t version; /* at hand */
};

static int no_memory(struct subject *s)
{
	return tti_fail(s->v->err, -ENOMEM, "%s: out of memory", s->where);
}

static struct tti_place place_of_slot(const struct subject *s, uint64_t slot)
{
	const struct slot *used = &s->slots[slot];
	struct tti_place p = { .dataset = s->name, .chunk = -1, .row = -1 };

	if (used->version == 0)
		return p;
	p.version = s->v->versions.items[used->version - 1].name;
	p.chunk = used->chunk;
	p.row = used->row;
	p.row_count = used->row_count;
	return p;
}

/* ---- raw_data and hash_table by themselves ---- */

static int check_chunks_attribute(struct subject *s)
{
	struct tti_place place = { .dataset = s->name, .chunk = -1, .row = -1 };
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

static void check_extents(struct subject *s)
{
	struct tti_place place = { .dataset = s->name, .chunk = -1, .row = -1 };
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

static void check_table_row(struct subject *s, uint64_t r)
{
	struct tti_place place = { .dataset = s->name, .chunk = -1, .row = -1 };
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

static int read_table(struct subject *s)
{
	tti_auto_free char *path = tti_path_of_hashes(s->name);
	struct tti_place place = { .dataset = s->name, .chunk = -1, .row = -1 };
	uint64_t rows;
	int rc;

	if (!path)
		return no_memory(s);
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

static int grow_slots(struct subject *s, uint64_t count)
{
	struct slot *slots;
	uint64_t *extents;

	if (count <= s->slot_count)
		return TT_OK;
	count = tti_max_u64(count, 2 * s->slot_count);
	slots = reallocarray(s->slots, count, sizeof(*slots));
	if (!slots)
		return no_memory(s);
	s->slots = slots;
	extents = reallocarray(s->extents, count, s->raw.rank * sizeof(*extents));
	if (!extents)
		return no_memory(s);
	s->extents = extents;
	memset(slots + s->slot_count, 0, (count - s->slot_count) * sizeof(*slots));
	s->slot_count = count;
	return TT_OK;
}

static int use_slot(struct subject *s, const struct tti_grid *grid,
		    struct tti_mapped item)
{
	uint64_t start[TT_MAX_RANK], extent[TT_MAX_RANK], *known;
	size_t bytes = grid->rank * sizeof(*known);
	struct slot *slot;
	int rc = grow_slots(s, item.slot + 1);

	if (rc < 0)
		return rc;
	tti_grid_box(grid, item.chunk, start, extent);
	slot = &s->slots[item.slot];
	known = &s->extents[item.slot * grid->rank];
	s->need = tti_max_u64(s->need, item.slot + 1);
	if (slot->version == 0) {
		*slot = (struct slot){ s->version + 1, item.chunk, start[0], extent[0],
				       0 };
		memcpy(known, extent, bytes);
	} else if (memcmp(known, extent, bytes) != 0) {
		struct tti_place place = {
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
	struct subject *s = ctx;
	struct tti_place place = {
		s->v->versions.items[s->version].name,
		s->name,
		fault->chunk,
		fault->row,
		fault->row_count,
	};

	tti_verify_tell(s->v, &place, "%s", fault->what);
}

/* The shape stands in the file twice, which shows when one of them is damaged. */
static void check_shape(struct subject *s, struct tt_dataset *d)
{
	struct tti_place place = { s->v->versions.items[s->version].name, s->name, -1, -1,
				   0 };
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

static int check_mappings(struct subject *s, struct tt_dataset *d)
{
	struct tti_place place = { s->v->versions.items[s->version].name, s->name, -1, -1,
				   0 };
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
static int is_new_object(struct subject *s, const char *path)
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
		return no_memory(s);
	s->seen = more;
	s->seen[s->seen_count++] = object;
	return 1;
}

static int check_version(struct subject *s)
{
	const char *version = s->v->versions.items[s->version].name;
	tti_auto_free char *path = tti_path_of_dataset(version, s->name);
	struct tti_place place = { version, s->name, -1, -1, 0 };
	struct tt_dataset *d;
	int rc = path ? is_new_object(s, path) : no_memory(s);

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

/* ---- Slots ---- */

static void check_table(struct subject *s)
{
	struct tti_place place = { .dataset = s->name, .chunk = -1, .row = -1 };

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

/* The digest that the table has for a slot, NULL (and told) when there is none to compare. */
static const struct tti_digest *expected(struct subject *s, uint64_t slot)
{
	struct tti_place place = place_of_slot(s, slot);
	const struct slot *at = &s->slots[slot];
	const struct tti_table_row *row;

	if (!s->table_known)
		return NULL;
	if (at->table_row == 0) {
		tti_verify_tell(s->v, &place,
				"hash_table has no row for its slot %" PRIu64, slot);
		return NULL;
	}
	row = &s->table.rows[at->table_row - 1];
	if ((uint64_t)(row->stop - row->start) != s->extents[slot * s->raw.rank])
		tti_verify_tell(s->v, &place,
				"has %" PRIu64 " rows, hash_table says %" PRId64,
				s->extents[slot * s->raw.rank], row->stop - row->start);
	if (tti_digest_is_zero(&row->digest)) {
		tti_verify_tell(s->v, &place,
				"its digest is not known to hash_table, so it cannot "
				"be checked");
		return NULL;
	}
	return &row->digest;
}

static int check_slot(struct subject *s, struct tti_slot_digester *digester,
		      uint64_t slot)
{
	const struct tti_digest *want = expected(s, slot);
	struct tti_place place = place_of_slot(s, slot);
	char stored[TTI_DIGEST_TEXT], made[TTI_DIGEST_TEXT];
	struct tti_digest digest;
	int rc = tti_slot_digest(digester, slot, &s->extents[slot * s->raw.rank], &digest,
				 s->v->err);

	if (rc == TT_E_DAMAGED) {
		tti_verify_tell(s->v, &place, "slot %" PRIu64 ": %s", slot,
				s->v->err->text);
		return TT_OK;
	}
	/* strings of data_version 1 were hashed by their addresses */
	if (rc < 0 || !want || (s->raw.vlen_string && s->v->versions.data_version == 1) ||
	    tti_digest_equal(&digest, want))
		return rc;
	tti_digest_print(want, stored);
	tti_digest_print(&digest, made);
	tti_verify_tell(
		s->v, &place,
		"its bytes have the digest %s, hash_table says %s (slot %" PRIu64 "%s)%s",
		made, stored, slot,
		s->slots[slot].version ? "" : ", which no version uses",
		s->padded
			? "; versioned_hdf5 may have hashed other padding than it stored"
			: "");
	return TT_OK;
}

/* A slot that no version uses has its length in the table, and on other axes it can only be
 * whole when there are none: such slots of more axes cannot be checked. */
static bool can_check_unused(struct subject *s, uint64_t slot)
{
	const struct slot *at = &s->slots[slot];
	const struct tti_table_row *row;

	if (at->version != 0 || at->table_row == 0 || s->raw.rank != 1)
		return false;
	row = &s->table.rows[at->table_row - 1];
	s->extents[slot] = row->stop - row->start;
	return !tti_digest_is_zero(&row->digest);
}

static int check_slots(struct subject *s)
{
	struct tti_slot_digester digester;
	int rc = tti_slot_digester_init(&digester, s->v->driver, &s->raw, s->v->err);

	for (uint64_t i = 0; i < s->slot_count && rc == TT_OK; i++)
		if (s->slots[i].version != 0 || can_check_unused(s, i))
			rc = check_slot(s, &digester, i);
	tti_slot_digester_fini(&digester);
	return rc;
}

static int by_digest(const void *a, const void *b)
{
	const struct tti_table_row *const *x = a, *const *y = b;
	int rc = memcmp(&(*x)->digest, &(*y)->digest, sizeof((*x)->digest));

	return rc ? rc : (*x)->start < (*y)->start ? -1 : (*x)->start > (*y)->start;
}

/* Two slots in use with one digest: deduplication failed, and delete_versions does too. */
static int check_duplicates(struct subject *s)
{
	tti_auto_free const struct tti_table_row **used =
		calloc(s->slot_count + 1, sizeof(*used));
	size_t count = 0;

	if (!used)
		return no_memory(s);
	for (uint64_t i = 0; i < s->slot_count; i++) {
		const struct slot *at = &s->slots[i];

		if (at->version != 0 && at->table_row != 0 &&
		    !tti_digest_is_zero(&s->table.rows[at->table_row - 1].digest))
			used[count++] = &s->table.rows[at->table_row - 1];
	}
	qsort(used, count, sizeof(*used), by_digest);
	for (size_t i = 1; i < count; i++) {
		uint64_t slot = used[i]->start / s->raw.chunk[0];
		struct tti_place place = place_of_slot(s, slot);

		if (tti_digest_equal(&used[i - 1]->digest, &used[i]->digest))
			tti_verify_tell(s->v, &place,
					"slots %" PRIu64 " and %" PRIu64 " are both in "
					"use and have the same digest",
					(uint64_t)used[i - 1]->start / s->raw.chunk[0],
					slot);
	}
	return TT_OK;
}

/* versioned_hdf5 hashes the padding of structs as it lies in its memory, then stores a copy
 * whose padding may differ: of such types a wrong digest need not mean wrong rows. */
static bool has_padding(struct subject *s)
{
	struct tti_h5rows rows;
	bool padded;

	if (tti_h5type_rows(&rows, s->raw.type, s->raw.rank, s->raw.chunk, NULL, s->where,
			    NULL) < 0)
		return false;
	padded = rows.dtype && tt_dtype_has_padding(rows.dtype);
	tti_h5rows_fini(&rows);
	return padded;
}

static int check_all(struct subject *s)
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
	rc = check_duplicates(s);
	return rc < 0 ? rc : check_slots(s);
}

int tti_verify_dataset(struct tti_verify *v, const char *name)
{
	struct subject s = { .v = v, .name = name };
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
