/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the product of the mappers' chunks; sorts by radix, over the bytes that differ
 * only. */
#include "staged/query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/num.h"
#include "staged/nd.h"

/* The hits of one row of chunks: all axes but the last stand at base. */
static void add_row(struct tti_hit *hit, const struct tti_mapper *last,
		    const struct tti_where *where, uint64_t base, uint64_t at)
{
	for (uint64_t i = 0; i < last->count; i++) {
		uint64_t chunk = base + tti_mapper_chunk(last, i);

		hit[i] = (struct tti_hit){ where->slab[chunk], where->offset[chunk],
					   chunk, at + i };
	}
}

int tti_query(struct tti_vec *hits, const struct tti_mapper *mappers,
	      const struct tti_where *where, struct tt_error *err)
{
	uint64_t place[TT_MAX_RANK] = { 0 }, box[TT_MAX_RANK], count = 1, done = 0;
	uint32_t rank = where->rank;
	struct tti_hit *all = NULL;
	bool over = false;

	for (uint32_t axis = 0; axis < rank; axis++) {
		box[axis] = mappers[axis].count;
		over |= tti_mul_overflow(count, box[axis], &count);
	}
	if (!over)
		all = tti_vec_add(hits, count, sizeof(*all));
	if (!all)
		return tti_fail(err, -ENOMEM, "%" PRIu64 " chunks: out of memory", count);
	do {
		uint64_t base = 0;

		for (uint32_t axis = 0; axis + 1 < rank; axis++)
			base = (base + tti_mapper_chunk(&mappers[axis], place[axis])) *
			       where->grid_shape[axis + 1];
		add_row(all + done, &mappers[rank - 1], where, base, done);
		done += box[rank - 1];
	} while (tti_step(rank - 1, box, place));
	return TT_OK;
}

/* ---- Sorting ---- */

static bool in_order(const struct tti_hit *a, const struct tti_hit *b)
{
	return a->slab < b->slab || (a->slab == b->slab && a->offset <= b->offset);
}

/* Which bits of slab and offset are not the same everywhere; true: already in order. */
static bool scan(const struct tti_hit *hits, uint64_t count, uint64_t *slab_bits,
		 uint64_t *offset_bits)
{
	bool sorted = true;

	for (uint64_t i = 1; i < count; i++) {
		*slab_bits |= hits[i].slab ^ hits[0].slab;
		*offset_bits |= hits[i].offset ^ hits[0].offset;
		sorted &= in_order(&hits[i - 1], &hits[i]);
	}
	return sorted;
}

static inline uint64_t key_of(const struct tti_hit *hit, bool by_slab)
{
	return by_slab ? hit->slab : hit->offset;
}

/* One pass: from hits to out by the byte at shift. */
static void radix_pass(const struct tti_hit *hits, uint64_t count, struct tti_hit *out,
		       bool by_slab, unsigned shift)
{
	uint64_t start[257] = { 0 };

	for (uint64_t i = 0; i < count; i++)
		start[(key_of(&hits[i], by_slab) >> shift & 255) + 1]++;
	for (unsigned i = 0; i < 256; i++)
		start[i + 1] += start[i];
	for (uint64_t i = 0; i < count; i++)
		out[start[key_of(&hits[i], by_slab) >> shift & 255]++] = hits[i];
}

static void insertion_sort(struct tti_hit *hits, uint64_t count)
{
	for (uint64_t i = 1; i < count; i++) {
		struct tti_hit hit = hits[i];
		uint64_t j = i;

		for (; j > 0 && !in_order(&hits[j - 1], &hit); j--)
			hits[j] = hits[j - 1];
		hits[j] = hit;
	}
}

enum { SMALL = 48 }; /* below this the 256 counters cost more than the sorting */

int tti_hits_sort(struct tti_hit *hits, uint64_t count, struct tt_error *err)
{
	uint64_t bits[2] = { 0, 0 }; /* of the offset, of the slab */
	struct tti_hit *a = hits, *b;
	tti_auto_free struct tti_hit *scratch = NULL;

	if (scan(hits, count, &bits[1], &bits[0]))
		return TT_OK;
	if (count <= SMALL) {
		insertion_sort(hits, count);
		return TT_OK;
	}
	b = scratch = malloc(count * sizeof(*scratch));
	if (!scratch)
		return tti_fail(err, -ENOMEM, "%" PRIu64 " chunks: out of memory", count);
	for (unsigned key = 0; key < 2; key++) {
		for (unsigned shift = 0; shift < 64; shift += 8) {
			struct tti_hit *swap = a;

			if ((bits[key] >> shift & 255) == 0)
				continue;
			radix_pass(a, count, b, key == 1, shift);
			a = b;
			b = swap;
		}
	}
	if (a != hits)
		memcpy(hits, a, count * sizeof(*hits));
	return TT_OK;
}
