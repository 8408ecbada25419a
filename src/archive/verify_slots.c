/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying the slots of one dataset: the digest of each, and that no two hold the same chunk.
 *
 * Invariant: a slot is hashed once, however many versions share it; damage to it is told with
 * the first version that uses it. */
#include "archive/verify_dataset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/slotdigest.h"

static struct tti_damage_place place_of_slot(const struct tti_subject *s, uint64_t slot)
{
	const struct tti_subject_slot *used = &s->slots[slot];
	struct tti_damage_place p = { .dataset = s->name, .chunk = -1, .row = -1 };

	if (used->version == 0)
		return p;
	p.version = s->v->versions.items[used->version - 1].name;
	p.chunk = used->chunk;
	p.row = used->row;
	p.row_count = used->row_count;
	return p;
}

/* The digest that the table has for a slot, NULL (and told) when there is none to compare. */
static const struct tti_digest *expected(struct tti_subject *s, uint64_t slot)
{
	struct tti_damage_place place = place_of_slot(s, slot);
	const struct tti_subject_slot *at = &s->slots[slot];
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

static int check_slot(struct tti_subject *s, struct tti_slot_digester *digester,
		      uint64_t slot)
{
	const struct tti_digest *want = expected(s, slot);
	struct tti_damage_place place = place_of_slot(s, slot);
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
static bool can_check_unused(struct tti_subject *s, uint64_t slot)
{
	const struct tti_subject_slot *at = &s->slots[slot];
	const struct tti_table_row *row;

	if (at->version != 0 || at->table_row == 0 || s->raw.rank != 1)
		return false;
	row = &s->table.rows[at->table_row - 1];
	s->extents[slot] = row->stop - row->start;
	return !tti_digest_is_zero(&row->digest);
}

int tti_verify_slots(struct tti_subject *s)
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

int tti_verify_duplicates(struct tti_subject *s)
{
	tti_auto_free const struct tti_table_row **used =
		calloc(s->slot_count + 1, sizeof(*used));
	size_t count = 0;

	if (!used)
		return tti_subject_no_memory(s);
	for (uint64_t i = 0; i < s->slot_count; i++) {
		const struct tti_subject_slot *at = &s->slots[i];

		if (at->version != 0 && at->table_row != 0 &&
		    !tti_digest_is_zero(&s->table.rows[at->table_row - 1].digest))
			used[count++] = &s->table.rows[at->table_row - 1];
	}
	qsort(used, count, sizeof(*used), by_digest);
	for (size_t i = 1; i < count; i++) {
		uint64_t slot = used[i]->start / s->raw.chunk[0];
		struct tti_damage_place place = place_of_slot(s, slot);

		if (tti_digest_equal(&used[i - 1]->digest, &used[i]->digest))
			tti_verify_tell(s->v, &place,
					"slots %" PRIu64 " and %" PRIu64 " are both in "
					"use and have the same digest",
					(uint64_t)used[i - 1]->start / s->raw.chunk[0],
					slot);
	}
	return TT_OK;
}
