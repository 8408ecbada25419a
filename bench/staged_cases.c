/* SPDX-License-Identifier: Apache-2.0 */
/* The operations, the arrays they are done on, and the table of both with what is to be
 * reached. staged_python.py has the same by the same names. */
#include "staged_cases.h"

#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const struct form tiny = {
	2, { 301, 302 }, { 3, 3 }, { 'i', false, 2 }, "301x302 c3", "i2"
};
static const struct form c25 = {
	2, { 1000, 1000 }, { 25, 25 }, { 'f', false, 8 }, "1000x1000 c25", "f8"
};
static const struct form c50 = {
	2, { 1000, 1000 }, { 50, 50 }, { 'f', false, 8 }, "1000x1000 c50", "f8"
};
static const struct form c250 = {
	2, { 1000, 1000 }, { 250, 250 }, { 'f', false, 8 }, "1000x1000 c250", "f8"
};
static const struct form wide = {
	3, { 2, 15220, 2 }, { 600, 2, 4 }, { 'f', false, 8 }, "2x15220x2", "f8"
};

/* ---- Operations ---- */

struct tt_nd staged_whole, staged_result;
const char *const staged_state_names[] = { "full", "base", "staged", "fragmented" };

void staged_must(int rc, const struct tt_error *err)
{
	if (rc < 0)
		bench_die("%s", err->text);
}

static void get(struct tt_staged *array, const struct tt_index *index, uint32_t count,
		struct tt_nd *out)
{
	struct tt_error err;

	staged_must(tt_staged_get(array, index, count, out, &err), &err);
}

void staged_set(struct tt_staged *array, const struct tt_index *index, uint32_t count,
		const struct tt_nd *value)
{
	struct tt_error err;

	staged_must(tt_staged_set(array, index, count, value, &err), &err);
}

static void run_get_all(const struct bench_case *c, struct tt_staged *array)
{
	(void)c;
	get(array, NULL, 0, &staged_result);
}

void staged_get(struct tt_staged *array, const struct tt_index *index, uint32_t count)
{
	struct tt_nd out = { .rank = 0 };

	get(array, index, count, &out);
	free(out.data);
}

static void middle(const struct form *form, struct tt_index *index)
{
	for (uint32_t i = 0; i < form->rank; i++)
		index[i] = TT_INDEX_AT((int64_t)(form->shape[i] / 2));
}

static void every_other(const struct form *form, struct tt_index *index)
{
	for (uint32_t i = 0; i < form->rank; i++) {
		index[i] = TT_INDEX_ALL;
		index[i].step = 2;
	}
}

static void run_get_point(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_index index[3];

	middle(c->form, index);
	staged_get(array, index, c->form->rank);
}

static void run_get_other(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_index index[3];

	every_other(c->form, index);
	staged_get(array, index, c->form->rank);
}

static void run_get_list(const struct bench_case *c, struct tt_staged *array)
{
	static const int64_t list[] = { 3, 55, 194 };
	struct tt_index index = { .kind = TT_INDEX_INTS, .ints = list, .count = 3 };

	(void)c;
	staged_get(array, &index, 1);
}

static void run_plan(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_staged_plan *plan;
	struct tt_error err;

	(void)c;
	staged_must(tt_staged_plan(&plan, array,
				   &(struct tt_plan_what){ .op = TT_PLAN_GET }, &err),
		    &err);
	tt_staged_plan_free(plan);
}

static void run_set_all(const struct bench_case *c, struct tt_staged *array)
{
	(void)c;
	staged_set(array, NULL, 0, &staged_whole);
}

const struct tt_nd *staged_seven(void)
{
	static int64_t number = 7;
	static struct tt_nd nd = { .element = { 'i', false, 8 }, .data = &number };

	return &nd;
}

static void run_set_point(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_index index[3];

	middle(c->form, index);
	staged_set(array, index, c->form->rank, staged_seven());
}

static void run_set_other(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_index index[3];

	every_other(c->form, index);
	staged_set(array, index, c->form->rank, staged_seven());
}

static void resize(const struct bench_case *c, struct tt_staged *array,
		   const uint64_t *shape)
{
	struct tt_error err;

	(void)c;
	staged_must(tt_staged_resize(array, shape, &err), &err);
}

static void run_resize_row(const struct bench_case *c, struct tt_staged *array)
{
	uint64_t shape[3];

	memcpy(shape, c->form->shape, sizeof(shape));
	shape[0]++;
	resize(c, array, shape);
}

static void run_resize_double(const struct bench_case *c, struct tt_staged *array)
{
	uint64_t shape[3];

	for (int i = 0; i < 3; i++)
		shape[i] = 2 * c->form->shape[i];
	resize(c, array, shape);
}

static void run_resize_half(const struct bench_case *c, struct tt_staged *array)
{
	uint64_t shape[3];

	for (int i = 0; i < 3; i++)
		shape[i] = c->form->shape[i] / 2;
	resize(c, array, shape);
}

static void run_resize_edges(const struct bench_case *c, struct tt_staged *array)
{
	uint64_t shape[3];

	for (uint32_t i = 0; i < c->form->rank; i++)
		shape[i] = c->form->shape[i] + (i == 1 && c->form->rank == 3 ? 2 : 1);
	resize(c, array, shape);
}

static void run_load(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_error err;

	(void)c;
	staged_must(tt_staged_load(array, &err), &err);
}

static void run_commit(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_error err;

	(void)c;
	staged_must(tt_staged_commit(array, tt_staged_alloc_memory, NULL, 0, &err), &err);
}

/* Not the function that lets a commit keep the staged slab. */
static int alloc_own(void *ctx, const struct tt_nd *like, struct tt_base_slab *out,
		     struct tt_error *err)
{
	return tt_staged_alloc_memory(ctx, like, out, err);
}

static void run_commit_own(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_error err;

	(void)c;
	staged_must(tt_staged_commit(array, alloc_own, NULL, 0, &err), &err);
}

const struct bench_case staged_cases[] = {
	{ &tiny, BASE, "get all", run_get_all, NONE, 10, 0 },
	{ &tiny, STAGED, "get all", run_get_all, MEMCPY_INTO, 10, 0 },
	{ &tiny, FRAGMENTED, "get all", run_get_all, NONE, 10, 0 },
	{ &tiny, FULL, "get all", run_get_all, NONE, 10, 0 },
	{ &tiny, STAGED, "plan get all", run_plan, NONE, 10, 0 },
	{ &tiny, BASE, "get point", run_get_point, NONE, 10, 0 },
	{ &tiny, BASE, "get ::2", run_get_other, NONE, 10, 0 },
	{ &tiny, BASE, "get list", run_get_list, NONE, 10, 0 },
	{ &tiny, BASE, "set point", run_set_point, NONE, 10, 0 },
	{ &tiny, STAGED, "set point", run_set_point, NONE, 10, 0 },
	{ &tiny, BASE, "set ::2", run_set_other, NONE, 10, 0 },
	{ &tiny, BASE, "set all", run_set_all, NONE, 10, 0 },
	{ &tiny, STAGED, "set all", run_set_all, NONE, 10, 0 },
	{ &tiny, BASE, "resize +1 row", run_resize_row, NONE, 10, 0 },
	{ &tiny, STAGED, "resize double", run_resize_double, NONE, 10, 0 },
	{ &tiny, STAGED, "resize half", run_resize_half, NONE, 10, 0 },
	{ &tiny, BASE, "resize edges", run_resize_edges, NONE, 10, 0 },
	{ &tiny, BASE, "load", run_load, NONE, 10, 0 },
	{ &tiny, STAGED, "commit", run_commit, SHA256, 0, 0 },
	{ &tiny, FRAGMENTED, "commit", run_commit, NONE, 0, 0 },
	{ &c25, BASE, "get all", run_get_all, MEMCPY_INTO, 0, 0 },
	{ &c25, BASE, "set point", run_set_point, NONE, 10, 0 },
	{ &c25, STAGED, "commit", run_commit, SHA256, 0, 0.8 },
	{ &c25, STAGED, "commit into own memory", run_commit_own, SHA256_COPY, 0, 0 },
	{ &c25, STAGED, "commit into own memory", run_commit_own, SHA256, 0, 0 },
	{ &c50, BASE, "get all", run_get_all, MEMCPY_INTO, 0, 0.7 },
	{ &c50, STAGED, "get all", run_get_all, MEMCPY_INTO, 0, 0.7 },
	{ &c50, BASE, "set all", run_set_all, MEMCPY_FRESH, 0, 0.7 },
	{ &c50, BASE, "set point", run_set_point, NONE, 10, 0 },
	{ &c50, STAGED, "commit", run_commit, SHA256, 0, 0.8 },
	{ &c50, STAGED, "commit into own memory", run_commit_own, SHA256_COPY, 0, 0 },
	{ &c50, STAGED, "commit into own memory", run_commit_own, SHA256, 0, 0 },
	{ &c250, BASE, "get all", run_get_all, MEMCPY_INTO, 0, 0.7 },
	{ &c250, BASE, "set all", run_set_all, MEMCPY_FRESH, 0, 0.7 },
	{ &c250, STAGED, "commit", run_commit, SHA256, 0, 0.8 },
	{ &c250, STAGED, "commit into own memory", run_commit_own, SHA256_COPY, 0, 0 },
	{ &c250, STAGED, "commit into own memory", run_commit_own, SHA256, 0, 0 },
	{ &wide, STAGED, "get all", run_get_all, NONE, 10, 0 },
	{ &wide, STAGED, "set point", run_set_point, NONE, 10, 0 },
	{ &wide, STAGED, "set all", run_set_all, NONE, 10, 0 },
	{ &wide, STAGED, "resize edges", run_resize_edges, NONE, 10, 0 },
	{ &wide, STAGED, "commit", run_commit, SHA256, 0, 0 },
};
const size_t staged_case_count = sizeof(staged_cases) / sizeof(staged_cases[0]);

const char *staged_case_name(const struct bench_case *c)
{
	static char name[120];

	snprintf(name, sizeof(name), "%s, %s, %s", c->form->words,
		 staged_state_names[c->state], c->words);
	return name;
}

/* ---- Arrays ---- */

static uint64_t form_bytes(const struct form *form)
{
	uint64_t bytes = form->element.bytes;

	for (uint32_t i = 0; i < form->rank; i++)
		bytes *= form->shape[i];
	return bytes;
}

/* Of a chunk, cut at the array's size. */
uint64_t staged_chunk_bytes(const struct form *form)
{
	uint64_t bytes = form->element.bytes;

	for (uint32_t i = 0; i < form->rank; i++)
		bytes *=
			form->chunk[i] < form->shape[i] ? form->chunk[i] : form->shape[i];
	return bytes;
}

static void number_memory(const struct form *form, void *memory)
{
	uint64_t n = form_bytes(form) / form->element.bytes;

	for (uint64_t i = 0; i < n; i++) {
		if (form->element.bytes == 2)
			((int16_t *)memory)[i] = (int16_t)i;
		else
			((double *)memory)[i] = (double)i;
	}
}

/* staged_whole and staged_result for the form. */
void staged_use_form(const struct form *form)
{
	free(staged_whole.data);
	free(staged_result.data);
	staged_whole.data = malloc(form_bytes(form));
	staged_result.data = calloc(1, form_bytes(form));
	if (!staged_whole.data || !staged_result.data)
		bench_die("out of memory");
	number_memory(form, staged_whole.data);
	tt_nd_c_order(&staged_whole, form->element, form->rank, form->shape,
		      staged_whole.data);
	tt_nd_c_order(&staged_result, form->element, form->rank, form->shape,
		      staged_result.data);
}

static void fragment(const struct form *form, struct tt_staged *array)
{
	for (uint64_t i = 0; i < form->shape[0]; i += form->chunk[0])
		for (uint64_t j = 0; j < form->shape[1]; j += form->chunk[1]) {
			struct tt_index index[2] = {
				TT_INDEX_RANGE((int64_t)i, (int64_t)(i + form->chunk[0])),
				TT_INDEX_RANGE((int64_t)j, (int64_t)(j + form->chunk[1]))
			};
			struct tt_nd part = staged_whole;

			part.data = (char *)staged_whole.data +
				    (int64_t)i * staged_whole.strides[0] +
				    (int64_t)j * staged_whole.strides[1];
			for (int k = 0; k < 2; k++) {
				uint64_t at = k == 0 ? i : j;
				uint64_t left = form->shape[k] - at;

				part.shape[k] =
					left < form->chunk[k] ? left : form->chunk[k];
			}
			staged_set(array, index, 2, &part);
		}
}

struct tt_staged *staged_make(const struct form *form, enum state state)
{
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	struct tt_staged *array;
	struct tt_error err;

	if (state == BASE) {
		staged_must(tt_staged_from_array(&array,
						 &(struct tt_staged_over){
							 sizeof(struct tt_staged_over),
							 &staged_whole, form->chunk, NULL,
							 TT_FROM_BASES, false },
						 &err),
			    &err);
		return array;
	}
	opts.element = form->element;
	opts.rank = form->rank;
	opts.shape = form->shape;
	opts.chunk = form->chunk;
	staged_must(tt_staged_create(&array, &opts, &err), &err);
	if (state == STAGED)
		staged_set(array, NULL, 0, &staged_whole);
	if (state == FRAGMENTED)
		fragment(form, array);
	return array;
}
