/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a commit: which staged chunks are new, and where everything will be.
 *
 * The full slab wins over the base slabs, a lower slab and row over a higher, and among
 * staged chunks the first.  Only digests that are wanted are looked for: the table holds
 * those of the staged chunks, and the base slabs' are scanned against it, however many
 * there are. */
#include "staged/plan.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "staged/dedup.h"

struct commit {
	struct tt_staged_plan *plan;
	const struct tt_staged *array;
	struct tti_geometry geometry;
	struct tt_staged_plan hash; /* its pieces: staged chunks in use, in scan order */
	const struct tti_piece *pieces;
	size_t count;
	struct tti_dedup first; /* of each digest, its first piece */
	uint64_t *first_of;	/* [count] the same, by piece */
	struct place {
		bool known;
		uint64_t slab, offset;
	} * places; /* [count] where a first piece's bytes will be */
	struct tt_error *err;
};

static int no_memory(const struct commit *commit)
{
	return tti_fail(commit->err, -ENOMEM, "a plan: out of memory");
}

static const struct tti_digest *digest_of(const struct commit *commit, size_t i)
{
	const struct tti_piece *piece = &commit->pieces[i];
	const struct tti_digests *digests =
		tti_entry_at(commit->array, piece->slab)->digests;

	return (const struct tti_digest *)
		digests->bytes[piece->offset / commit->plan->chunk[0]];
}

static int find_firsts(struct commit *commit)
{
	if (tti_dedup_reserve(&commit->first, commit->count) < 0)
		return no_memory(commit);
	for (size_t i = 0; i < commit->count; i++)
		if (tti_dedup_put(&commit->first, digest_of(commit, i), i,
				  &commit->first_of[i]) < 0)
			return no_memory(commit);
	return TT_OK;
}

/* Growing step by step copies all of it again and again: at most one row a digest, an update a
 * piece. */
static int reserve(struct commit *commit)
{
	struct tt_staged_plan *plan = commit->plan;

	if (commit->count == 0)
		return TT_OK;
	if (!tti_vec_reserve(&plan->rows, commit->first.count,
			     5 * plan->rank * sizeof(uint64_t)) ||
	    !tti_vec_reserve(&plan->updates, commit->count, sizeof(struct tti_update)))
		return no_memory(commit);
	return TT_OK;
}

/* The chunks of slabs 0 to bases that staged ones are equal to. */
static void match_slab(struct commit *commit, uint64_t slab)
{
	const struct tti_digests *digests = tti_entry_at(commit->array, slab)->digests;
	uint64_t first;

	for (uint64_t i = 0; digests && i < digests->count; i++) {
		const struct tti_digest *digest =
			(const struct tti_digest *)digests->bytes[i];

		if (!tti_dedup_find(&commit->first, digest, &first) ||
		    commit->places[first].known || tti_digest_is_zero(digest))
			continue;
		commit->places[first] =
			(struct place){ true, slab, i * commit->plan->chunk[0] };
	}
}

static int survive(struct commit *commit, size_t i, uint64_t row)
{
	const struct tti_piece *piece = &commit->pieces[i];
	const struct tti_group *groups = commit->plan->groups.items;
	size_t n = commit->plan->groups.count;
	struct tti_row_mut to;
	int rc = TT_OK;

	if (n == 0 || groups[n - 1].from != piece->slab)
		rc = tti_staged_plan_group(commit->plan, piece->slab,
					   commit->plan->first_appended, commit->err);
	if (rc == TT_OK)
		rc = tti_staged_plan_row(commit->plan, &to, commit->err);
	if (rc < 0)
		return rc;
	tti_chunk_size(&commit->geometry, piece->chunk, to.count);
	for (uint32_t axis = 0; axis < commit->plan->rank; axis++) {
		to.from[axis] = axis == 0 ? piece->offset : 0;
		to.to[axis] = axis == 0 ? row : 0;
		to.from_stride[axis] = to.to_stride[axis] = 1;
	}
	return TT_OK;
}

/* Give every piece its place; those that are nowhere yet get a row of the new slab. */
static int place_pieces(struct commit *commit, uint64_t *survivors)
{
	uint64_t chunk = commit->plan->chunk[0];
	int rc = TT_OK;

	*survivors = 0;
	for (size_t i = 0; rc == TT_OK && i < commit->count; i++) {
		struct place *place = &commit->places[commit->first_of[i]];

		if (!place->known) {
			*place = (struct place){ true, commit->array->bases + 1,
						 *survivors * chunk };
			rc = survive(commit, i, place->offset);
			++*survivors;
		}
		if (rc == TT_OK)
			rc = tti_staged_plan_update(commit->plan, commit->pieces[i].chunk,
						    place->slab, place->offset,
						    commit->err);
	}
	return rc;
}

static int new_digests(struct commit *commit, uint64_t survivors)
{
	struct tti_digests *digests;
	uint64_t number;
	int rc = tti_staged_plan_append(commit->plan, survivors, &number, commit->err);

	if (rc < 0)
		return rc;
	digests = commit->plan->digests = tti_digests_new(survivors);
	if (!digests)
		return no_memory(commit);
	for (size_t i = 0; i < commit->count; i++) {
		const struct tti_digest *digest = digest_of(commit, i);
		const struct place *place = &commit->places[commit->first_of[i]];

		if (place->slab == commit->array->bases + 1)
			memcpy(digests->bytes[place->offset / commit->plan->chunk[0]],
			       digest->b, sizeof(digest->b));
	}
	return TT_OK;
}

static int plan_commit(struct commit *commit)
{
	uint64_t survivors;
	int rc;

	commit->places = calloc(commit->count + 1, sizeof(*commit->places));
	commit->first_of = calloc(commit->count + 1, sizeof(*commit->first_of));
	if (!commit->places || !commit->first_of)
		return no_memory(commit);
	rc = find_firsts(commit);
	if (rc == TT_OK)
		rc = reserve(commit);
	for (uint64_t i = 0; rc == TT_OK && i <= commit->array->bases; i++)
		match_slab(commit, i);
	if (rc == TT_OK)
		rc = place_pieces(commit, &survivors);
	if (rc == TT_OK && survivors > 0)
		rc = new_digests(commit, survivors);
	return rc;
}

int tti_staged_plan_commit(struct tt_staged_plan *plan, const struct tt_staged *array,
			   struct tt_error *err)
{
	struct commit commit = { .plan = plan,
				 .array = array,
				 .err = err,
				 .geometry = tti_geometry_of(array) };
	int rc;

	tti_staged_plan_init(plan, TT_PLAN_COMMIT, array);
	if (array->entries.count == array->bases + 1 || array->grid->chunks == 0)
		return TT_OK;
	if (array->hashed != array->changed + 1)
		return tti_fail(
			err, TT_E_MISUSE,
			"a plan of a commit needs digests: call tt_staged_hash() first");
	rc = tti_staged_plan_staged(&commit.hash, array, err);
	commit.pieces = commit.hash.pieces.items;
	commit.count = commit.hash.pieces.count;
	if (rc == TT_OK)
		rc = plan_commit(&commit);
	tti_dedup_fini(&commit.first);
	free(commit.places);
	free(commit.first_of);
	tti_staged_plan_fini(&commit.hash);
	return rc;
}
