/* SPDX-License-Identifier: Apache-2.0 */
/* An array's life, and what must be its own before it is written. */
#include "staged/array.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "staged/cast.h"
#include "staged/nd.h"

int tti_grid_shape(const struct tti_array_form *form, uint64_t *grid_shape,
		   uint64_t *chunks, struct tt_error *err)
{
	uint32_t rank = form->rank;
	const uint64_t *shape = form->shape, *chunk = form->chunk;
	char text[TTI_SHAPE_TEXT];
	bool over = false;

	*chunks = 1;
	for (uint32_t i = 0; i < rank; i++)
		grid_shape[i] = shape[i] / chunk[i] + (shape[i] % chunk[i] > 0);
	if (tti_shape_empty(rank, grid_shape)) {
		*chunks = 0;
		return TT_OK;
	}
	for (uint32_t i = 0; i < rank; i++)
		over |= tti_mul_overflow(*chunks, grid_shape[i], chunks);
	if (over || *chunks > PTRDIFF_MAX / 16)
		return tti_fail(
			err, -EOVERFLOW,
			"shape %s: more chunks than can be counted; choose larger ones",
			tti_shape_text(rank, shape, text));
	return TT_OK;
}

static int check_form(const struct tti_array_form *form, struct tt_error *err)
{
	uint64_t bytes;

	if (form->rank < 1 || form->rank > TT_MAX_RANK)
		return tti_fail(err, TT_E_RANGE, "rank %" PRIu32 ": must be 1 to %d",
				form->rank, TT_MAX_RANK);
	for (uint32_t i = 0; i < form->rank; i++)
		if (form->chunk[i] == 0)
			return tti_fail(err, TT_E_RANGE,
					"chunk size of axis %" PRIu32
					" is 0: must be at least 1",
					i);
	if (tt_element_check(form->element, err) < 0)
		return TT_E_DTYPE;
	if (tti_shape_bytes(form->rank, form->chunk, form->element.bytes, &bytes, err) <
	    0)
		return -EOVERFLOW;
	return tti_shape_bytes(form->rank, form->shape, form->element.bytes, &bytes, err);
}

int tti_array_new(struct tt_staged **out, const struct tti_array_form *form,
		  struct tt_error *err)
{
	tti_auto_staged *array = NULL;
	tti_auto_slab *full = NULL;
	struct tt_nd like;
	uint64_t chunks;
	int rc = check_form(form, err);

	if (rc < 0)
		return rc;
	array = calloc(1, sizeof(*array));
	if (!array)
		return tti_fail(err, -ENOMEM, "an array: out of memory");
	array->element = form->element;
	array->rank = form->rank;
	memcpy(array->shape, form->shape, form->rank * sizeof(*form->shape));
	memcpy(array->chunk, form->chunk, form->rank * sizeof(*form->chunk));
	rc = tti_grid_shape(form, array->grid_shape, &chunks, err);
	if (rc < 0)
		return rc;
	array->grid = tti_grid_new(chunks);
	if (!array->grid)
		return tti_fail(err, -ENOMEM,
				"the places of %" PRIu64 " chunks: out of memory",
				chunks);
	like = tti_chunk_like(array);
	rc = tti_slab_full(&full, &like, form->fill, err);
	if (rc == TT_OK)
		rc = tti_array_push(array, &full, err);
	if (rc == TT_OK)
		*out = tti_steal_ptr(&array);
	return rc;
}

int tti_array_push(struct tt_staged *array, struct tti_slab **slab, struct tt_error *err)
{
	struct tti_entry *entry = tti_vec_add(&array->entries, 1, sizeof(*entry));

	if (!entry)
		return tti_fail(err, -ENOMEM, "a slab: out of memory");
	*entry = (struct tti_entry){ *slab, (*slab)->nd.shape[0], NULL };
	*slab = NULL;
	return TT_OK;
}

void tti_array_unref(struct tt_staged **array)
{
	struct tt_staged *it = *array;

	*array = NULL;
	if (!it)
		return;
	for (size_t i = 0; i < it->entries.count; i++) {
		tti_slab_unref(&tti_entry_at(it, i)->slab);
		tti_digests_unref(&tti_entry_at(it, i)->digests);
	}
	tti_vec_fini(&it->entries);
	tti_grid_unref(&it->grid);
	free(it);
}

int tti_own_grid(struct tt_staged *array, struct tt_error *err)
{
	struct tti_grid *copy;

	if (tti_grid_is_alone(array->grid))
		return TT_OK;
	copy = tti_grid_copy(array->grid);
	if (!copy)
		return tti_fail(err, -ENOMEM,
				"the places of %" PRIu64 " chunks: out of memory",
				array->grid->chunks);
	tti_grid_unref(&array->grid);
	array->grid = copy;
	return TT_OK;
}

/* n rounded up to whole chunks; false on overflow. */
static bool whole_chunks(uint64_t n, uint64_t chunk, uint64_t *out)
{
	uint64_t rest = n % chunk;

	*out = n;
	return rest == 0 || !tti_add_overflow(n, chunk - rest, out);
}

/* Copy the chunks that are in use; those that no one uses may be most of a slab. */
static void copy_used(const struct tt_staged *array, uint64_t slab, struct tti_slab *copy)
{
	const struct tti_slab *old = tti_entry_at(array, slab)->slab;
	struct tti_geometry geometry = tti_geometry_of(array);
	uint64_t extent[TT_MAX_RANK];
	struct tt_nd to, from;

	for (uint64_t i = 0; i < array->grid->chunks; i++) {
		uint64_t offset = array->grid->offset[i];

		if (array->grid->slab[i] != slab)
			continue;
		tti_chunk_size(&geometry, i, extent);
		tti_slab_chunk(copy, offset, extent, &to);
		tti_slab_chunk(old, offset, extent, &from);
		tti_cast(&to, &from);
	}
}

static void copy_chunks(const struct tt_staged *array, const struct tti_entry *entry,
			struct tti_slab *copy)
{
	uint64_t step = array->chunk[0], extent[TT_MAX_RANK];
	struct tt_nd to, from;

	for (uint32_t i = 0; i < array->rank; i++)
		extent[i] = tti_min_u64(tti_slab_box(entry->slab, i, array->chunk[i]),
					tti_slab_box(copy, i, array->chunk[i]));
	for (uint64_t offset = 0; offset < entry->rows; offset += step) {
		extent[0] = tti_min_u64(extent[0], entry->rows - offset);
		tti_slab_chunk(copy, offset, extent, &to);
		tti_slab_chunk(entry->slab, offset, extent, &from);
		tti_cast(&to, &from);
	}
}

/* Copy all that counts of a slab. */
static void copy_all(const struct tt_staged *array, const struct tti_entry *entry,
		     struct tti_slab *copy)
{
	const struct tti_packing *a = &copy->packing, *b = &entry->slab->packing;
	struct tt_nd to = copy->nd, from = entry->slab->nd;

	if (a->rows == 0 && b->rows == 0) {
		from.shape[0] = entry->rows;
		memcpy(to.shape, from.shape, sizeof(to.shape));
		tti_cast(&to, &from);
	} else if (a->rows == b->rows && tt_element_equal(to.element, from.element) &&
		   memcmp(to.strides, from.strides, sizeof(to.strides)) == 0 &&
		   a->step == b->step) {
		memcpy(to.data, from.data, entry->rows / a->rows * (uint64_t)a->step);
	} else {
		copy_chunks(array, entry, copy);
	}
}

/* Whether looking for what is in use costs less than copying all. */
static bool is_mostly_unused(const struct tt_staged *array,
			     const struct tti_slab_form *form)
{
	enum { A_LOOK = 64 }; /* bytes that are copied in the time of one */
	uint64_t bytes;

	return tti_shape_bytes(form->rank, form->box, form->element.bytes, &bytes, NULL) <
		       0 ||
	       tti_mul_overflow(bytes, form->rows / form->chunk[0], &bytes) ||
	       bytes / A_LOOK > array->grid->chunks;
}

/* Room for what the slab has and for what an array of shape can have of its chunks; where
 * that is more, for as much again, so that growing by and by copies each place once or
 * twice. */
static uint64_t choose_box(const struct tti_slab *slab, uint32_t axis, uint64_t chunk,
			   uint64_t shape)
{
	uint64_t have = tti_slab_box(slab, axis, chunk);
	uint64_t want = tti_min_u64(chunk, shape);

	return want <= have ? have : tti_min_u64(chunk, tti_max_u64(want, 2 * have));
}

int tti_slab_replace(struct tt_staged *array, uint64_t slab, const uint64_t *shape,
		     struct tt_error *err)
{
	struct tti_entry *entry = tti_entry_at(array, slab);
	struct tti_slab_form form = { .element = array->element,
				      .rank = array->rank,
				      .chunk = array->chunk };
	struct tti_slab *copy;
	bool used_only;
	int rc;

	if (!whole_chunks(entry->rows, array->chunk[0], &form.rows))
		return tti_fail(err, -EOVERFLOW,
				"a slab of more rows than can be counted");
	form.zeroed = form.rows != entry->rows;
	for (uint32_t i = 0; i < array->rank; i++) {
		form.box[i] = choose_box(entry->slab, i, array->chunk[i], shape[i]);
		form.zeroed |=
			form.box[i] > tti_slab_box(entry->slab, i, array->chunk[i]);
	}
	used_only = is_mostly_unused(array, &form);
	form.zeroed |= used_only;
	rc = tti_slab_new(&copy, &form, err);
	if (rc < 0)
		return rc;
	if (used_only)
		copy_used(array, slab, copy);
	else
		copy_all(array, entry, copy);
	tti_slab_unref(&entry->slab);
	entry->slab = copy;
	entry->rows = form.rows;
	return TT_OK;
}

bool tti_is_trimmed(const struct tt_staged *array, const struct tti_entry *entry)
{
	bool trimmed = entry->rows % array->chunk[0] != 0;

	for (uint32_t i = 1; i < array->rank; i++)
		trimmed |= entry->slab->nd.shape[i] < array->chunk[i];
	return trimmed && entry->rows > 0 && entry->slab->packing.rows == 0;
}

/* A copy of the shape it has, of the array's element. */
static int convert_trimmed(const struct tt_staged *array, struct tti_entry *entry,
			   struct tt_error *err)
{
	struct tti_slab_form form = { .element = array->element,
				      .rank = array->rank,
				      .rows = entry->rows,
				      .chunk = form.box };
	struct tti_slab *copy;
	int rc;

	memcpy(form.box, entry->slab->nd.shape, sizeof(form.box));
	form.box[0] = entry->rows;
	rc = tti_slab_new(&copy, &form, err);
	if (rc < 0)
		return rc;
	copy_all(array, entry, copy);
	tti_slab_unref(&entry->slab);
	entry->slab = copy;
	return TT_OK;
}

int tti_slab_converted(struct tt_staged *array, uint64_t slab, struct tt_error *err)
{
	struct tti_entry *entry = tti_entry_at(array, slab);

	if (tt_element_equal(entry->slab->nd.element, array->element))
		return TT_OK;
	return tti_is_trimmed(array, entry)
		       ? convert_trimmed(array, entry, err)
		       : tti_slab_replace(array, slab, array->shape, err);
}

int tti_slab_writable(struct tt_staged *array, uint64_t slab, struct tt_error *err)
{
	struct tti_entry *entry = tti_entry_at(array, slab);
	int rc = tti_slab_converted(array, slab, err);

	if (rc < 0 || (tti_slab_is_alone(entry->slab) && entry->slab->writable))
		return rc;
	return tti_slab_replace(array, slab, array->shape, err);
}
