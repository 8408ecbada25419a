/* SPDX-License-Identifier: Apache-2.0 */
/* Threads take pieces from one counter, a handful at a time; each has a hasher of its own
 * and writes digests that no other writes. */
#include "staged/hash.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "staged/cast.h"
#include "staged/digest.h"
#include "staged/nd.h"
#include "staged/team.h"

enum {
	/* bytes a thread takes at a time, about */
	TAKE = 1 << 16,
	/* runs shorter than this are gathered first: a call each costs more */
	GAP_RUN = 256,
};

struct work {
	const struct tt_staged *array;
	const struct tti_piece *pieces;
	size_t count, take;
	unsigned char (*digests)[32];
	_Atomic(size_t) next; /* take_share() only */
};

struct worker {
	struct work *work;
	struct tti_hasher *hasher;
	void *scratch; /* a chunk, packed; made when first needed */
	uint64_t scratch_bytes;
	int rc;
};

static void piece_view(const struct tt_staged *array, const struct tti_piece *piece,
		       struct tt_nd *out)
{
	struct tti_geometry geometry = tti_geometry_of(array);
	uint64_t extent[TT_MAX_RANK];

	tti_chunk_size(&geometry, piece->chunk, extent);
	tti_slab_chunk(tti_entry_at(array, piece->slab)->slab, piece->offset, extent,
		       out);
}

/* The bytes that lie without gaps, and how many axes remain outside them. */
static uint64_t run_of(const struct tt_nd *nd, uint32_t *outer)
{
	uint64_t run = nd->element.bytes;
	uint32_t axis = nd->rank;

	while (axis > 0 &&
	       (nd->shape[axis - 1] == 1 || nd->strides[axis - 1] == (int64_t)run)) {
		run *= nd->shape[axis - 1];
		axis--;
	}
	*outer = axis;
	return run;
}

static int update_runs(struct tti_hasher *hasher, const struct tt_nd *nd, uint64_t run,
		       uint32_t outer)
{
	uint64_t at[TT_MAX_RANK] = { 0 };
	int rc;

	do {
		const unsigned char *from = nd->data;

		for (uint32_t i = 0; i < outer; i++)
			from += (int64_t)at[i] * nd->strides[i];
		rc = tti_hasher_update(hasher, from, run);
	} while (rc == TT_OK && tti_step(outer, nd->shape, at));
	return rc;
}

static int update_gathered(struct worker *worker, const struct tt_nd *nd)
{
	struct tt_nd packed;
	uint64_t bytes;
	int rc = tti_shape_bytes(nd->rank, nd->shape, nd->element.bytes, &bytes, NULL);

	if (rc < 0)
		return rc;
	if (bytes > worker->scratch_bytes) {
		void *grown = realloc(worker->scratch, bytes);

		if (!grown)
			return -ENOMEM;
		worker->scratch = grown;
		worker->scratch_bytes = bytes;
	}
	rc = tt_nd_c_order(&packed, nd->element, nd->rank, nd->shape, worker->scratch);
	if (rc < 0)
		return rc;
	tti_cast(&packed, nd);
	return tti_hasher_update(worker->hasher, worker->scratch, bytes);
}

static int hash_piece(struct worker *worker, size_t i)
{
	struct tt_nd nd;
	uint32_t outer;
	uint64_t run;
	struct tti_digest digest;
	int rc = tti_hasher_begin(worker->hasher);

	if (rc < 0)
		return rc;
	piece_view(worker->work->array, &worker->work->pieces[i], &nd);
	run = run_of(&nd, &outer);
	if (outer == 0)
		rc = tti_hasher_update(worker->hasher, nd.data, run);
	else if (run >= GAP_RUN)
		rc = update_runs(worker->hasher, &nd, run, outer);
	else
		rc = update_gathered(worker, &nd);
	if (rc == TT_OK)
		rc = tti_hasher_end(worker->hasher, nd.rank, nd.shape, &digest);
	if (rc == TT_OK)
		memcpy(worker->work->digests[i], digest.b, sizeof(digest.b));
	return rc;
}

/* The first of the next pieces.  Relaxed: a thread gets a number that no other gets,
 * nothing else; creation and join order the digests. */
static size_t take_share(struct work *work)
{
	return atomic_fetch_add_explicit(&work->next, work->take, memory_order_relaxed);
}

static void *run(void *arg)
{
	struct worker *worker = arg;
	struct work *work = worker->work;
	size_t first;

	while (worker->rc == TT_OK && (first = take_share(work)) < work->count) {
		size_t end = tti_min_u64(work->count, first + work->take);

		for (size_t i = first; worker->rc == TT_OK && i < end; i++)
			worker->rc = hash_piece(worker, i);
	}
	return NULL;
}

int tti_hash_pieces(const struct tt_staged *array, const struct tt_staged_plan *plan,
		    unsigned threads, unsigned char (*digests)[32], struct tt_error *err)
{
	size_t count = plan->pieces.count;
	struct work work = { array, plan->pieces.items, count, 1, digests, 0 };
	struct worker workers[TTI_TEAM_MAX] = { { .work = NULL } };
	uint64_t chunk_bytes;
	int rc = tti_shape_bytes(array->rank, array->chunk, array->element.bytes,
				 &chunk_bytes, err);

	if (rc < 0 || count == 0)
		return rc;
	threads = tti_team_size(threads, chunk_bytes > UINT64_MAX / count
						 ? UINT64_MAX
						 : chunk_bytes * count);
	work.take = TAKE / chunk_bytes + 1;
	for (unsigned i = 0; rc == TT_OK && i < threads; i++) {
		workers[i].work = &work;
		rc = tti_hasher_new(&workers[i].hasher, err);
	}
	if (rc == TT_OK)
		tti_team_run(run, workers, sizeof(*workers), threads);
	for (unsigned i = 0; i < threads; i++) {
		if (rc == TT_OK && workers[i].rc < 0)
			rc = tti_fail(err, workers[i].rc, "hashing chunks: %s",
				      tt_strerror(workers[i].rc));
		tti_hasher_free(&workers[i].hasher);
		free(workers[i].scratch);
	}
	return rc;
}
