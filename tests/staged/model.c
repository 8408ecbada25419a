/* SPDX-License-Identifier: Apache-2.0 */
#include "staged/model.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* ---- Choices ---- */

static uint64_t state;

static uint64_t next(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void model_start(uint64_t seed, uint64_t sequence)
{
	state = seed * 0x2545f4914f6cdd1du + sequence;
	next();
}

uint64_t model_pick(uint64_t below)
{
	return next() % below;
}

uint64_t model_size(uint32_t rank, const uint64_t *shape)
{
	uint64_t size = 1;

	for (uint32_t i = 0; i < rank; i++)
		size *= shape[i];
	return size;
}

bool model_step(uint32_t rank, const uint64_t *box, uint64_t *at)
{
	for (uint32_t i = rank; i-- > 0; at[i] = 0)
		if (++at[i] < box[i])
			return true;
	return false;
}

/* ---- Elements: numbers from 0 to 100, or bytes ---- */

static const struct tt_element numbers[] = {
	{ 'b', 0, 1 }, { 'i', 0, 1 }, { 'i', 0, 2 }, { 'i', 0, 4 }, { 'i', 0, 8 },
	{ 'u', 0, 1 }, { 'u', 0, 2 }, { 'u', 0, 4 }, { 'u', 0, 8 }, { 'f', 0, 4 },
	{ 'f', 0, 8 }, { 'i', 1, 4 }, { 'f', 1, 8 }, { 'u', 1, 2 },
};
static const uint32_t sizes[] = { 1, 3, 7, 12, 16, 24 };

static void encode(struct tt_element element, uint8_t number, unsigned char *out)
{
	double d = number;
	float f = number;
	uint64_t n = element.kind == 'b' ? number != 0 : number;
	const void *from = element.kind != 'f'	? (void *)&n
			   : element.bytes == 8 ? (void *)&d
						: (void *)&f;

	for (uint32_t i = 0; i < element.bytes; i++)
		out[element.swapped ? element.bytes - 1 - i : i] =
			((const unsigned char *)from)[i];
}

static uint8_t decode(struct tt_element element, const unsigned char *in)
{
	unsigned char bytes[8] = { 0 };
	double d;
	float f;

	for (uint32_t i = 0; i < element.bytes; i++)
		bytes[i] = in[element.swapped ? element.bytes - 1 - i : i];
	memcpy(&d, bytes, 8);
	memcpy(&f, bytes, 4);
	if (element.kind != 'f')
		return bytes[0];
	return (uint8_t)(element.bytes == 8 ? d : (double)f);
}

static void random_element(struct tt_element element, unsigned char *out, uint64_t range)
{
	if (element.kind != TT_VOID) {
		encode(element, (uint8_t)model_pick(range), out);
		return;
	}
	memset(out, (int)model_pick(range), element.bytes);
	out[element.bytes - 1] ^= (unsigned char)model_pick(2);
}

void model_fill_random(struct tt_element element, void *out, uint64_t count)
{
	uint64_t range = model_pick(2) ? 3 : 100;

	for (uint64_t i = 0; i < count; i++)
		random_element(element, (unsigned char *)out + i * element.bytes, range);
}

/* ---- Worlds ---- */

static uint64_t plain_bytes(const struct world *w)
{
	return model_size(w->rank, w->shape) * w->element.bytes;
}

void model_pick_chunk(struct world *w)
{
	for (uint32_t i = 0; i < w->rank; i++)
		w->chunk[i] = 1 + model_pick(w->shape[i] + 1);
}

void model_new(struct world *w)
{
	static const uint32_t most[] = { 0, 25, 12, 6, 5, 0, 3 };
	static const uint32_t ranks[] = { 1, 1, 1, 2, 2, 2, 3, 3, 4, 6 };

	*w = (struct world){ .rank = ranks[model_pick(10)] };
	w->element = model_pick(2) ? numbers[model_pick(14)]
				   : (struct tt_element){ TT_VOID, false,
							  sizes[model_pick(6)] };
	for (uint32_t i = 0; i < w->rank; i++)
		w->shape[i] = (model_pick(20) > 0) + model_pick(most[w->rank]);
	model_pick_chunk(w);
	random_element(w->element, w->fill, 3);
	w->plain = calloc(1, plain_bytes(w) + 1);
}

void model_all_fill(struct world *w)
{
	for (uint64_t i = 0; i < model_size(w->rank, w->shape); i++)
		memcpy(w->plain + i * w->element.bytes, w->fill, w->element.bytes);
}

static uint64_t place_of(const struct world *w, const uint64_t *at)
{
	uint64_t place = 0;

	for (uint32_t i = 0; i < w->rank; i++)
		place = place * w->shape[i] + at[i];
	return place * w->element.bytes;
}

void model_from_tables(struct world *w, const struct tt_nd *slab, const uint64_t *slabs,
		       const uint64_t *offsets)
{
	uint64_t at[TT_MAX_RANK] = { 0 };

	model_all_fill(w);
	if (model_size(w->rank, w->shape) == 0)
		return;
	do {
		const unsigned char *from = slab->data;
		uint64_t chunk = 0;

		for (uint32_t i = 0; i < w->rank; i++)
			chunk = chunk * ((w->shape[i] + w->chunk[i] - 1) / w->chunk[i]) +
				at[i] / w->chunk[i];
		for (uint32_t i = 0; i < w->rank; i++)
			from += slab->strides[i] *
				(int64_t)(at[i] % w->chunk[i] +
					  (i == 0 ? offsets[chunk] : 0));
		if (slabs[chunk])
			memcpy(w->plain + place_of(w, at), from, w->element.bytes);
	} while (model_step(w->rank, w->shape, at));
}

void model_copy(struct world *to, const struct world *from)
{
	*to = *from;
	to->array = NULL;
	to->plain = malloc(plain_bytes(from) + 1);
	memcpy(to->plain, from->plain, plain_bytes(from));
}

void model_free(struct world *w)
{
	tt_staged_destroy(w->array);
	free(w->plain);
	*w = (struct world){ .array = NULL };
}

void model_pick_element(struct world *w)
{
	struct tt_element old = w->element, new = numbers[model_pick(14)];
	uint64_t size = model_size(w->rank, w->shape);
	unsigned char *plain;

	if (old.kind == TT_VOID)
		return;
	plain = malloc(size * new.bytes + 1);
	for (uint64_t i = 0; i < size; i++)
		encode(new, decode(old, w->plain + i * old.bytes), plain + i * new.bytes);
	encode(new, decode(old, w->fill), w->fill);
	free(w->plain);
	w->plain = plain;
	w->element = new;
}

void model_pick_fill(struct world *w)
{
	unsigned char old[32];
	uint32_t bytes = w->element.bytes;

	memcpy(old, w->fill, sizeof(old));
	random_element(w->element, w->fill, 100);
	for (uint64_t i = 0; i < model_size(w->rank, w->shape); i++)
		if (memcmp(w->plain + i * bytes, old, bytes) == 0)
			memcpy(w->plain + i * bytes, w->fill, bytes);
}

/* ---- Indices ---- */

static void select_slice(struct picked *p, uint32_t axis, uint64_t size)
{
	struct tt_index *index = &p->index[axis];
	int64_t n = (int64_t)size, start = (int64_t)model_pick(size + 3) - 1, stop;

	stop = start + (int64_t)model_pick(size + 3) - 1;
	*index = (struct tt_index){ .kind = TT_INDEX_SLICE,
				    .has_start = model_pick(4) > 0,
				    .has_stop = model_pick(4) > 0,
				    .start = start,
				    .stop = stop,
				    .step = 1 };
	if (model_pick(2))
		index->step += (int64_t)model_pick(size + 2);
	start = !index->has_start ? 0 : start < 0 ? start + n : start;
	stop = !index->has_stop ? n : stop < 0 ? stop + n : stop;
	start = start < 0 ? 0 : start;
	for (int64_t i = start; i < stop && i < n; i += index->step)
		p->places[axis][p->selected[axis]++] = (uint64_t)i;
}

static void select_ints(struct picked *p, uint32_t axis, uint64_t size)
{
	uint64_t count = size > 0 ? model_pick(2 * size + 1) : 0;

	p->ints = malloc((count + 1) * sizeof(*p->ints));
	for (uint64_t i = 0; i < count; i++) {
		uint64_t place = model_pick(size);

		p->places[axis][i] = place;
		p->ints[i] = (int64_t)place - (model_pick(2) ? (int64_t)size : 0);
	}
	p->selected[axis] = count;
	p->index[axis] = (struct tt_index){ .kind = TT_INDEX_INTS,
					    .ints = p->ints,
					    .count = count };
}

static void select_bools(struct picked *p, uint32_t axis, uint64_t size)
{
	p->bools = malloc(size + 1);
	for (uint64_t i = 0; i < size; i++) {
		p->bools[i] = model_pick(3) > 0;
		if (p->bools[i])
			p->places[axis][p->selected[axis]++] = i;
	}
	p->index[axis] = (struct tt_index){ .kind = TT_INDEX_BOOLS,
					    .bools = p->bools,
					    .count = size };
}

void model_pick_index(const struct world *w, struct picked *out)
{
	uint64_t listed = model_pick(3) == 0 ? model_pick(w->rank) : TT_MAX_RANK;

	*out = (struct picked){ .count = w->rank };
	for (uint32_t i = 0; i < w->rank; i++) {
		uint64_t size = w->shape[i];

		out->places[i] = malloc((2 * size + 1) * sizeof(uint64_t));
		if (i == listed && model_pick(3) > 0) {
			select_ints(out, i, size);
		} else if (i == listed) {
			select_bools(out, i, size);
		} else if (size > 0 && listed == TT_MAX_RANK && model_pick(3) == 0) {
			out->point[i] = true;
			out->selected[i] = 1;
			out->places[i][0] = model_pick(size);
			out->index[i] = TT_INDEX_AT((int64_t)out->places[i][0]);
		} else {
			select_slice(out, i, size);
		}
	}
}

void model_drop(struct picked *picked)
{
	for (uint32_t i = 0; i < TT_MAX_RANK; i++)
		free(picked->places[i]);
	free(picked->ints);
	free(picked->bools);
}

static uint32_t result_shape(const struct world *w, const struct picked *picked,
			     uint64_t *shape)
{
	uint32_t rank = 0;

	for (uint32_t i = 0; i < w->rank; i++)
		if (!picked->point[i])
			shape[rank++] = picked->selected[i];
	return rank;
}

void model_value_of(const struct world *w, uint32_t rank, const uint64_t *shape,
		    struct tt_nd *out)
{
	uint64_t size = model_size(rank, shape);
	void *data = malloc(size * w->element.bytes + 1);

	model_fill_random(w->element, data, size);
	ck_assert_int_eq(tt_nd_c_order(out, w->element, rank, shape, data), TT_OK);
}

void model_pick_value(const struct world *w, const struct picked *picked,
		      struct tt_nd *out)
{
	uint64_t shape[TT_MAX_RANK];
	uint32_t rank = result_shape(w, picked, shape);
	uint32_t gone = rank > 0 && model_pick(5) == 0 ? 1 : 0;

	for (uint32_t i = 0; i < rank; i++)
		if (model_pick(6) == 0)
			shape[i] = 1;
	model_value_of(w, rank - gone, shape + gone, out);
}

void model_pick_shape(const struct world *w, uint64_t *shape)
{
	uint64_t size = 1;

	for (uint32_t i = 0; i < w->rank; i++) {
		shape[i] = model_pick(2) ? w->shape[i] : model_pick(w->shape[i] + 5);
		size *= shape[i];
	}
	if (size > 4000)
		memcpy(shape, w->shape, w->rank * sizeof(*shape));
}

/* ---- What operations do ---- */

static void visit(const struct world *w, const struct picked *picked,
		  const struct tt_nd *nd, bool write)
{
	uint64_t at[TT_MAX_RANK] = { 0 }, from[TT_MAX_RANK];

	if (model_size(w->rank, picked->selected) == 0)
		return;
	do {
		unsigned char *value = nd->data, *plain;
		uint32_t axis = nd->rank;

		for (uint32_t i = w->rank; i-- > 0;) {
			from[i] = picked->places[i][at[i]];
			if (!picked->point[i] && axis > 0 && nd->shape[--axis] > 1)
				value += (int64_t)at[i] * nd->strides[axis];
		}
		plain = w->plain + place_of(w, from);
		if (write)
			memcpy(plain, value, w->element.bytes);
		else
			ck_assert_mem_eq(value, plain, w->element.bytes);
	} while (model_step(w->rank, picked->selected, at));
}

void model_check_get(const struct world *w, const struct picked *picked,
		     const struct tt_nd *out)
{
	uint64_t shape[TT_MAX_RANK];
	uint32_t rank = result_shape(w, picked, shape);

	ck_assert_uint_eq(out->rank, rank);
	for (uint32_t i = 0; i < rank; i++)
		ck_assert_uint_eq(out->shape[i], shape[i]);
	visit(w, picked, out, false);
}

void model_set(struct world *w, const struct picked *picked, const struct tt_nd *value)
{
	visit(w, picked, value, true);
}

void model_replay(const struct world *w, const struct tt_staged_change *change,
		  unsigned char *into)
{
	uint64_t at[TT_MAX_RANK] = { 0 }, place[TT_MAX_RANK];

	ck_assert_uint_gt(change->slab, 0);
	do {
		const unsigned char *from = w->plain;

		for (uint32_t i = 0; i < w->rank; i++)
			place[i] = change->start[i] + at[i];
		from += place_of(w, place);
		if (change->data) {
			from = change->data->data;
			for (uint32_t i = 0; i < w->rank; i++)
				from += (int64_t)at[i] * change->data->strides[i];
		}
		memcpy(into + place_of(w, place), from, w->element.bytes);
	} while (model_step(w->rank, change->count, at));
}

void model_resize(struct world *w, const uint64_t *shape)
{
	struct world old = *w;
	uint64_t at[TT_MAX_RANK] = { 0 }, both[TT_MAX_RANK];

	memcpy(w->shape, shape, w->rank * sizeof(*shape));
	w->plain = malloc(plain_bytes(w) + 1);
	model_all_fill(w);
	for (uint32_t i = 0; i < w->rank; i++)
		both[i] = old.shape[i] < shape[i] ? old.shape[i] : shape[i];
	if (model_size(w->rank, both) > 0)
		do {
			memcpy(w->plain + place_of(w, at), old.plain + place_of(&old, at),
			       w->element.bytes);
		} while (model_step(w->rank, both, at));
	free(old.plain);
}
