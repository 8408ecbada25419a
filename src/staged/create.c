/* SPDX-License-Identifier: Apache-2.0 */
/* Making an array from base slabs and tables, or over memory; asking it what it is. */
#include "ticktail/staged.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/opts.h"
#include "staged/array.h"
#include "staged/nd.h"

/* ---- From base slabs ---- */

static int check_base(const struct tt_staged *array, const struct tt_base_slab *base,
		      uint64_t number, struct tt_error *err)
{
	uint64_t chunks;

	if (!tt_element_equal(base->element, array->element))
		return tti_fail(err, TT_E_MISMATCH,
				"base slab %" PRIu64
				": its element is not the array's (%c%" PRIu32
				" against %c%" PRIu32 ")",
				number, base->element.kind, base->element.bytes,
				array->element.kind, array->element.bytes);
	if (base->rank != array->rank)
		return tti_fail(err, TT_E_MISMATCH,
				"base slab %" PRIu64 ": rank %" PRIu32
				", the array's is %" PRIu32,
				number, base->rank, array->rank);
	chunks =
		base->shape[0] / array->chunk[0] + (base->shape[0] % array->chunk[0] > 0);
	if (base->digests && base->digest_count != chunks)
		return tti_fail(err, TT_E_MISMATCH,
				"base slab %" PRIu64 ": %" PRIu64 " digests for %" PRIu64
				" chunks",
				number, base->digest_count, chunks);
	if (!base->memory && !base->read)
		return tti_fail(err, TT_E_MISUSE,
				"base slab %" PRIu64
				": neither memory nor a way to read it",
				number);
	return TT_OK;
}

static int push_base(struct tt_staged *array, const struct tt_base_slab *base,
		     struct tt_error *err)
{
	tti_auto_slab *slab = NULL;
	struct tti_digests *digests = NULL;
	int rc;

	if (base->digests) {
		digests = tti_digests_new(base->digest_count);
		if (!digests)
			return tti_fail(err, -ENOMEM,
					"%" PRIu64 " digests: out of memory",
					base->digest_count);
		memcpy(digests->bytes, base->digests, 32 * base->digest_count);
	}
	rc = tti_slab_base(&slab, base, err);
	if (rc == TT_OK) {
		/* until the array is whole, ctx is the caller's */
		slab->base.release = NULL;
		rc = tti_array_push(array, &slab, err);
	}
	if (rc < 0) {
		tti_digests_unref(&digests);
		return rc;
	}
	tti_entry_at(array, array->entries.count - 1)->digests = digests;
	array->bases++;
	return TT_OK;
}

/* The chunk at place lies inside its slab, cut at the edge of the array. */
static bool chunk_inside(const struct tt_staged *array, const struct tti_entry *entry,
			 const uint64_t *place, uint64_t offset)
{
	for (uint32_t i = 0; i < array->rank; i++) {
		uint64_t extent = place[i] + 1 == array->grid_shape[i]
					  ? array->shape[i] - place[i] * array->chunk[i]
					  : array->chunk[i];
		uint64_t size = entry->slab->nd.shape[i], at = i == 0 ? offset : 0;

		if (at > size || extent > size - at)
			return false;
	}
	return true;
}

static int take_tables(struct tt_staged *array, const uint64_t *slabs,
		       const uint64_t *offsets, struct tt_error *err)
{
	uint64_t at[TT_MAX_RANK] = { 0 };
	char text[TTI_SHAPE_TEXT];

	for (uint64_t i = 0; i < array->grid->chunks; i++) {
		bool good =
			slabs[i] < array->entries.count &&
			offsets[i] % array->chunk[0] == 0 &&
			(slabs[i] > 0 ? chunk_inside(array, tti_entry_at(array, slabs[i]),
						     at, offsets[i])
				      : offsets[i] == 0);

		if (!good)
			return tti_fail(err, TT_E_RANGE,
					"chunk %s: slab %" PRIu64 " at row %" PRIu64
					" does not hold it",
					tti_shape_text(array->rank, at, text), slabs[i],
					offsets[i]);
		array->grid->slab[i] = slabs[i];
		array->grid->offset[i] = offsets[i];
		tti_step(array->rank, array->grid_shape, at);
	}
	return TT_OK;
}

/* From here on the bases' ctx are the array's. */
static void own_bases(struct tt_staged *array, const struct tt_base_slab *bases)
{
	for (uint64_t i = 0; i < array->bases; i++)
		tti_entry_at(array, i + 1)->slab->base.release = bases[i].release;
}

int tt_staged_create(struct tt_staged **out, const struct tt_staged_opts *opts,
		     struct tt_error *err)
{
	struct tt_staged_opts mine = TT_STAGED_OPTS_INIT;
	tti_auto_staged *array = NULL;
	struct tti_array_form form;
	int rc;

	*out = NULL;
	if (!tti_take_opts(&mine, sizeof(mine), opts) || !mine.shape || !mine.chunk)
		return tti_fail(
			err, TT_E_MISUSE,
			"options of an array: begin with TT_STAGED_OPTS_INIT and set "
			"shape and chunk");
	if (!mine.slab_indices != !mine.slab_offsets)
		return tti_fail(
			err, TT_E_MISUSE,
			"slab_indices and slab_offsets go together: set both or none");
	if (mine.base_count > 0 && !mine.bases)
		return tti_fail(err, TT_E_MISUSE,
				"%" PRIu64 " base slabs, but bases is not set",
				mine.base_count);
	form = (struct tti_array_form){ mine.element, mine.rank, mine.shape, mine.chunk,
					mine.fill };
	if (form.element.bytes == 0 && mine.base_count > 0)
		form.element = mine.bases[0].element;
	rc = tti_array_new(&array, &form, err);
	for (uint64_t i = 0; rc == TT_OK && i < mine.base_count; i++) {
		rc = check_base(array, &mine.bases[i], i + 1, err);
		if (rc == TT_OK)
			rc = push_base(array, &mine.bases[i], err);
	}
	if (rc == TT_OK && mine.slab_indices)
		rc = take_tables(array, mine.slab_indices, mine.slab_offsets, err);
	if (rc < 0)
		return rc;
	own_bases(array, mine.bases);
	*out = tti_steal_ptr(&array);
	return TT_OK;
}

/* ---- Over memory ---- */

/* The column of chunks at place (axis 0 aside) as a slab. */
static int push_column(struct tt_staged *array, const struct tt_staged_over *over,
		       const uint64_t *place, struct tt_error *err)
{
	struct tt_nd nd = *over->from;
	tti_auto_slab *slab = NULL;
	int rc;

	for (uint32_t i = 1; i < array->rank; i++) {
		uint64_t start = place[i] * array->chunk[i];

		nd.data = (unsigned char *)nd.data + (int64_t)start * nd.strides[i];
		nd.shape[i] = tti_min_u64(array->chunk[i], nd.shape[i] - start);
	}
	rc = tti_slab_borrow(&slab, &nd, over->writable && over->how == TT_FROM_STAGED,
			     err);
	if (rc == TT_OK && over->how == TT_FROM_BASES) {
		slab->kind = TTI_SLAB_BASE;
		array->bases++;
	}
	return rc < 0 ? rc : tti_array_push(array, &slab, err);
}

static int push_columns(struct tt_staged *array, const struct tt_staged_over *over,
			struct tt_error *err)
{
	uint64_t at[TT_MAX_RANK] = { 0 }, box[TT_MAX_RANK];
	uint64_t columns = array->grid->chunks / array->grid_shape[0];
	int rc = TT_OK;

	memcpy(box, array->grid_shape, sizeof(box));
	box[0] = 1;
	do {
		rc = push_column(array, over, at, err);
	} while (rc == TT_OK && tti_step(array->rank, box, at));
	for (uint64_t i = 0; rc == TT_OK && i < array->grid->chunks; i++) {
		array->grid->slab[i] = 1 + i % columns;
		array->grid->offset[i] = i / columns * array->chunk[0];
	}
	return rc;
}

int tt_staged_from_array(struct tt_staged **out, const struct tt_staged_over *over,
			 struct tt_error *err)
{
	struct tt_staged_over mine = TT_STAGED_OVER_INIT;
	struct tti_array_form form;
	tti_auto_staged *array = NULL;
	int rc;

	*out = NULL;
	if (!tti_take_opts(&mine, sizeof(mine), over) || !mine.from || !mine.chunk)
		return tti_fail(
			err, TT_E_MISUSE,
			"an array over memory: begin with TT_STAGED_OVER_INIT and set "
			"from and chunk");
	form = (struct tti_array_form){ mine.from->element, mine.from->rank,
					mine.from->shape, mine.chunk, mine.fill };
	rc = tti_array_new(&array, &form, err);
	if (rc == TT_OK && array->grid->chunks > 0 && !mine.from->data)
		rc = tti_fail(err, TT_E_MISUSE,
			      "an array over memory: from has no data, set where it is");
	if (rc == TT_OK && array->grid->chunks > 0)
		rc = push_columns(array, &mine, err);
	if (rc == TT_OK)
		*out = tti_steal_ptr(&array);
	return rc;
}

void tt_staged_destroy(struct tt_staged *array)
{
	tti_array_unref(&array);
}

/* ---- What it is ---- */

static uint64_t count_staged(const struct tt_staged *array)
{
	return array->entries.count - 1 - array->bases;
}

void tt_staged_info(const struct tt_staged *array, struct tt_staged_info *out)
{
	uint64_t size = 1;

	for (uint32_t i = 0; i < array->rank; i++)
		size *= array->shape[i]; /* checked when the shape was set */
	*out = (struct tt_staged_info){
		.element = array->element,
		.fill = tti_fill_of(array),
		.rank = array->rank,
		.shape = array->shape,
		.chunk = array->chunk,
		.size = size,
		.bytes = size * array->element.bytes,
		.chunks = array->grid->chunks,
		.grid = array->grid_shape,
		.slab_indices = array->grid->slab,
		.slab_offsets = array->grid->offset,
		.slabs = array->entries.count,
		.bases = array->bases,
		.staged = count_staged(array),
		.resized = array->resized,
		.has_changes = array->resized || count_staged(array) > 0,
		.writable = !array->read_only,
	};
}

bool tt_staged_slab_shape(const struct tt_staged *array, uint64_t slab, uint64_t *shape)
{
	const struct tti_entry *entry;

	if (slab >= array->entries.count)
		return false;
	entry = tti_entry_at(array, slab);
	if (!entry->slab)
		return false;
	for (uint32_t i = 0; i < array->rank; i++)
		shape[i] = entry->slab->packing.rows > 0 ? array->chunk[i]
							 : entry->slab->nd.shape[i];
	shape[0] = entry->rows;
	return true;
}

const uint8_t *tt_staged_digests(const struct tt_staged *array, uint64_t slab,
				 uint64_t *count_out)
{
	const struct tti_digests *digests =
		slab < array->entries.count ? tti_entry_at(array, slab)->digests : NULL;
	/* those of staged slabs are only as good as the last change */
	bool stale = tti_is_staged(array, slab) && array->hashed != array->changed + 1;

	*count_out = digests && !stale ? digests->count : 0;
	return *count_out > 0 ? digests->bytes[0] : NULL;
}

void tt_staged_set_read_only(struct tt_staged *array)
{
	array->read_only = true;
}
