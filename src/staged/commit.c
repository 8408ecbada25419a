/* SPDX-License-Identifier: Apache-2.0 */
/* Hashing and committing: carry those two plans out. */
#include "ticktail/staged.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "staged/hash.h"
#include "staged/nd.h"
#include "staged/plan.h"
#include "staged/team.h"
#include "staged/transfer.h"

#define auto_plan TTI_CLEANUP(tti_staged_plan_fini) struct tt_staged_plan

/* ---- Hashing ---- */

/* Tables for the slabs that pieces name; those of staged slabs anew. */
static int make_tables(const struct tt_staged *array, const struct tt_staged_plan *plan,
		       struct tti_digests **tables, struct tt_error *err)
{
	const struct tti_piece *pieces = plan->pieces.items;

	for (size_t i = 0; i < plan->pieces.count; i++) {
		uint64_t slab = pieces[i].slab, rows = tti_entry_at(array, slab)->rows;

		if (tables[slab])
			continue;
		tables[slab] = tti_digests_new(rows / array->chunk[0] +
					       (rows % array->chunk[0] > 0));
		if (!tables[slab])
			return tti_fail(err, -ENOMEM, "digests of a slab: out of memory");
	}
	return TT_OK;
}

/* Nothing here can fail. */
static void take_digests(struct tt_staged *array, const struct tt_staged_plan *plan,
			 struct tti_digests **tables, unsigned char (*digests)[32])
{
	const struct tti_piece *pieces = plan->pieces.items;
	bool stale = array->hashed != array->changed + 1;

	for (size_t i = 0; i < plan->pieces.count; i++)
		memcpy(tables[pieces[i].slab]->bytes[pieces[i].offset / array->chunk[0]],
		       digests[i], 32);
	for (size_t i = 0; i < array->entries.count; i++) {
		struct tti_entry *entry = tti_entry_at(array, i);

		if (!tables[i] && !(stale && tti_is_staged(array, i)))
			continue;
		tti_digests_unref(&entry->digests);
		entry->digests = tables[i];
		tables[i] = NULL;
	}
	array->hashed = array->changed + 1;
}

static int hash_plan(struct tt_staged *array, const struct tt_staged_plan *plan,
		     unsigned threads, struct tt_error *err)
{
	const struct tti_piece *pieces = plan->pieces.items;
	struct tti_digests **tables =
		calloc(array->entries.count, sizeof(struct tti_digests *));
	unsigned char(*digests)[32] = calloc(plan->pieces.count + 1, sizeof(*digests));
	int rc = TT_OK;

	if (!tables || !digests)
		rc = tti_fail(err, -ENOMEM, "digests of %zu chunks: out of memory",
			      plan->pieces.count);
	for (size_t i = 0; rc == TT_OK && i < plan->pieces.count; i++)
		rc = tti_slab_converted(array, pieces[i].slab, err);
	if (rc == TT_OK)
		rc = make_tables(array, plan, tables, err);
	if (rc == TT_OK)
		rc = tti_hash_pieces(array, plan, threads, digests, err);
	if (rc == TT_OK)
		take_digests(array, plan, tables, digests);
	for (size_t i = 0; tables && i < array->entries.count; i++)
		tti_digests_unref(&tables[i]);
	free(tables);
	free(digests);
	return rc;
}

int tt_staged_hash(struct tt_staged *array, unsigned threads, struct tt_error *err)
{
	auto_plan plan = { .rank = 0 };
	int rc = tti_staged_plan_hash(&plan, array, err);

	return rc < 0 ? rc : hash_plan(array, &plan, threads, err);
}

/* ---- Committing ---- */

/* Elements of the slab that share their place would be written one over the other. */
static bool has_still_axis(const struct tt_base_slab *base)
{
	for (uint32_t i = 0; i < base->rank; i++)
		if (base->shape[i] > 1 && base->strides[i] == 0)
			return true;
	return false;
}

static int check_new_base(const struct tt_nd *like, const struct tt_base_slab *base,
			  struct tt_error *err)
{
	bool fits = base->rank == like->rank &&
		    tt_element_equal(base->element, like->element) &&
		    tti_shape_equal(like->rank, base->shape, like->shape);

	if (!fits || !(base->memory || (base->read && base->write)))
		return tti_fail(
			err, TT_E_MISMATCH,
			"commit: the new base slab has another shape or element than "
			"was asked for, or cannot be written and read");
	if (base->memory && has_still_axis(base))
		return tti_fail(err, TT_E_MISMATCH,
				"commit: the new base slab has a stride of 0: set the "
				"strides of its memory");
	return TT_OK;
}

/* Into a slab in memory: every row has a place of its own there, so threads take rows from one
 * counter. */
struct copying {
	const struct tt_staged_plan *plan;
	const struct tt_staged *array;
	const struct tti_slab *to;
	bool stream;
	uint64_t take;
	_Atomic(uint64_t) next; /* take_rows() only */
};

enum {
	A_TAKE = 256 << 10,	/* bytes, about */
	STREAM_BYTES = 4 << 20, /* more will not stay in the caches */
};

/* The first of the next rows. Relaxed: a thread gets a number that no other gets, nothing
 * else; starting and joining order the copies. */
static uint64_t take_rows(struct copying *copying)
{
	return atomic_fetch_add_explicit(&copying->next, copying->take,
					 memory_order_relaxed);
}

/* Rows first to end of a group, as far as they are its. */
static void copy_part(const struct copying *copying, struct tti_convoy *convoy,
		      const struct tti_group *group, uint64_t first, uint64_t end)
{
	const struct tti_entry *entry = tti_entry_at(copying->array, group->from);
	struct tti_side from = tti_slab_side(entry->slab, entry->rows);
	struct tti_side to = tti_slab_side(copying->to, copying->to->nd.shape[0]);

	first = tti_max_u64(first, group->first);
	end = tti_min_u64(end, group->first + group->count);
	tti_transfer(convoy, &to, &from,
		     (struct tti_rows){ (const uint64_t *)copying->plan->rows.items +
						first * 5 * copying->plan->rank,
					end - first });
}

static void *copy_shares(void *member)
{
	struct copying *copying = *(struct copying **)member;
	const struct tti_group *groups = copying->plan->groups.items;
	uint64_t all = copying->plan->rows.count, first;
	struct tti_convoy convoy;
	size_t i = 0;

	tti_convoy_begin(&convoy, (struct tti_manner){ TTI_JOINED, copying->stream });
	while ((first = take_rows(copying)) < all) {
		uint64_t end = tti_min_u64(all, first + copying->take);

		while (groups[i].first + groups[i].count <= first)
			i++;
		for (size_t k = i;
		     k < copying->plan->groups.count && groups[k].first < end; k++)
			copy_part(copying, &convoy, &groups[k], first, end);
	}
	tti_convoy_end(&convoy);
	return NULL;
}

static void copy_groups(const struct tt_staged_plan *plan, const struct tt_staged *array,
			const struct tti_slab *to, unsigned threads)
{
	struct copying copying = { .plan = plan, .array = array, .to = to },
		       *members[TTI_TEAM_MAX];
	uint64_t bytes = array->element.bytes; /* of a chunk: fits, the slab does */

	for (uint32_t i = 0; i < array->rank; i++)
		bytes *= tti_min_u64(array->chunk[i], array->shape[i]);
	copying.take = A_TAKE / bytes + 1;
	bytes *= plan->rows.count;
	copying.stream = bytes >= STREAM_BYTES;
	for (unsigned i = 0; i < TTI_TEAM_MAX; i++)
		members[i] = &copying;
	tti_team_run(copy_shares, members, sizeof(*members),
		     tti_team_size(threads, bytes));
}

/* Into one that is written by its own function, on this thread. */
static int write_groups(const struct tt_staged_plan *plan, const struct tt_staged *array,
			const struct tti_slab *to, struct tt_error *err)
{
	const struct tti_group *groups = plan->groups.items;
	int rc = TT_OK;

	for (size_t i = 0; rc == TT_OK && i < plan->groups.count; i++) {
		const struct tti_entry *entry = tti_entry_at(array, groups[i].from);
		struct tti_side from = tti_slab_side(entry->slab, entry->rows);
		struct tti_rows rows = { .rows = (const uint64_t *)plan->rows.items +
						 groups[i].first * 5 * plan->rank,
					 .count = groups[i].count };

		rc = tti_transfer_write(&to->base, &from, rows, err);
	}
	return rc;
}

/* Whom to ask for a new base slab, and with how many threads to fill it. */
struct target {
	tt_staged_alloc_fn *alloc;
	void *ctx;
	unsigned threads;
};

/* The staged slab that is what the new base slab would be: all of its chunks are new and stay in
 * their places.  Or NULL. */
static struct tti_slab *find_twin(const struct tt_staged_plan *plan,
				  const struct tt_staged *array)
{
	const struct tti_group *group = plan->groups.items;
	const struct tti_entry *entry = tti_entry_at(array, group->from);
	uint64_t rank = plan->rank, chunk = plan->chunk[0];

	if (plan->groups.count != 1 || entry->slab->borrowed ||
	    entry->slab->packing.rows > 0 ||
	    entry->slab->nd.shape[0] != group->count * chunk ||
	    tti_is_trimmed(array, entry))
		return NULL;
	for (uint64_t i = 0; i < group->count; i++)
		if (((const uint64_t *)plan->rows.items)[i * 5 * rank] != i * chunk)
			return NULL;
	return entry->slab;
}

/* Have the new base slab made and filled. */
static int fill_base(const struct tt_staged_plan *plan, struct tt_staged *array,
		     const struct target *target, struct tti_slab **out,
		     struct tt_error *err)
{
	struct tt_base_slab base = { .rank = 0 };
	tti_auto_slab *slab = NULL;
	struct tti_slab *twin = NULL;
	struct tt_nd like = { .element = array->element, .rank = array->rank };
	int rc;

	/* memory of our own is as good as any other, and full already: base slabs are not
	 * written, and a copy that holds it as a staged one copies it first */
	if (target->alloc == tt_staged_alloc_memory)
		twin = find_twin(plan, array);
	if (twin) {
		*out = tti_slab_ref(twin);
		return TT_OK;
	}
	memcpy(like.shape, array->chunk, sizeof(array->chunk));
	like.shape[0] = *(const uint64_t *)plan->appended.items;
	tti_before_call(err);
	rc = tti_after_call(target->alloc(target->ctx, &like, &base, err),
			    "the allocator of base slabs", err);
	if (rc < 0)
		return rc;
	rc = tti_slab_base(&slab, &base, err);
	if (rc < 0) {
		if (base.release)
			base.release(base.ctx);
		return rc;
	}
	rc = check_new_base(&like, &base, err);
	if (rc == TT_OK && slab->nd.data)
		copy_groups(plan, array, slab, target->threads);
	else if (rc == TT_OK)
		rc = write_groups(plan, array, slab, err);
	if (rc == TT_OK)
		*out = tti_steal_ptr(&slab);
	return rc;
}

/* Nothing here can fail: the list has room, since a staged slab goes for the new base. */
static void settle(struct tt_staged_plan *plan, struct tt_staged *array,
		   struct tti_slab **base)
{
	const struct tti_update *updates = plan->updates.items;

	for (size_t i = 0; i < plan->updates.count; i++) {
		array->grid->slab[updates[i].chunk] = updates[i].slab;
		array->grid->offset[updates[i].chunk] = updates[i].offset;
	}
	for (size_t i = array->bases + 1; i < array->entries.count; i++) {
		tti_slab_unref(&tti_entry_at(array, i)->slab);
		tti_digests_unref(&tti_entry_at(array, i)->digests);
	}
	array->entries.count = array->bases + 1;
	if (*base) {
		tti_array_push(array, base, NULL);
		tti_entry_at(array, array->entries.count - 1)->digests = plan->digests;
		plan->digests = NULL;
		array->bases++;
	}
	array->resized = false;
	array->changed++;
}

int tt_staged_commit(struct tt_staged *array, tt_staged_alloc_fn *alloc, void *ctx,
		     unsigned threads, struct tt_error *err)
{
	auto_plan plan = { .rank = 0 };
	tti_auto_slab *base = NULL;
	int rc = TT_OK;

	if (array->read_only)
		return tti_fail(err, TT_E_MISUSE,
				"the array is read-only; commit a copy of it");
	if (!alloc)
		return tti_fail(err, TT_E_MISUSE,
				"a commit needs an allocator of base slabs: "
				"tt_staged_alloc_memory is one");
	if (array->entries.count > array->bases + 1)
		rc = tt_staged_hash(array, threads, err);
	if (rc == TT_OK)
		rc = tti_staged_plan_commit(&plan, array, err);
	if (rc == TT_OK && plan.updates.count > 0)
		rc = tti_own_grid(array, err);
	if (rc == TT_OK && plan.appended.count > 0)
		rc = fill_base(&plan, array, &(struct target){ alloc, ctx, threads },
			       &base, err);
	if (rc == TT_OK)
		settle(&plan, array, &base);
	return rc;
}

static void release_memory(void *ctx)
{
	free(ctx);
}

int tt_staged_alloc_memory(void *ctx, const struct tt_nd *like, struct tt_base_slab *out,
			   struct tt_error *err)
{
	struct tt_nd nd;
	uint64_t bytes;
	int rc = tti_shape_bytes(like->rank, like->shape, like->element.bytes, &bytes,
				 err);

	(void)ctx;
	if (rc == TT_OK)
		rc = tt_nd_c_order(&nd, like->element, like->rank, like->shape, NULL);
	if (rc < 0)
		return rc;
	*out = (struct tt_base_slab){ .element = like->element,
				      .rank = like->rank,
				      .memory = malloc(bytes > 0 ? bytes : 1),
				      .release = release_memory };
	if (!out->memory)
		return tti_fail(err, -ENOMEM,
				"a base slab of %" PRIu64 " bytes: out of memory", bytes);
	out->ctx = out->memory;
	memcpy(out->shape, nd.shape, sizeof(nd.shape));
	memcpy(out->strides, nd.strides, sizeof(nd.strides));
	return TT_OK;
}
