/* SPDX-License-Identifier: Apache-2.0 */
#include "staged/help.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "staged/cast.h"

enum { TEXT = 1 << 16, MANY = 1 << 12 };

static struct tt_staged *arrays[64];
static void *memories[4096];
static size_t array_count, memory_count;
static struct tt_error err;

void help_end(void)
{
	while (array_count > 0)
		tt_staged_destroy(arrays[--array_count]);
	while (memory_count > 0)
		free(memories[--memory_count]);
}

struct tt_staged *keep(struct tt_staged *array)
{
	ck_assert_uint_lt(array_count, 64);
	arrays[array_count++] = array;
	return array;
}

void *keep_memory(void *memory)
{
	ck_assert_uint_lt(memory_count, 4096);
	memories[memory_count++] = memory;
	return memory;
}

static void want_ok(int rc)
{
	ck_assert_msg(rc == TT_OK, "%d %s", rc, err.text);
}

/* ---- Text in ---- */

struct tt_element element_of(const char *text)
{
	bool swapped = *text == '>';

	text += swapped;
	return (struct tt_element){ text[0], swapped,
				    (uint32_t)strtoul(text + 1, NULL, 10) };
}

uint32_t shape_of(const char *text, uint64_t shape[TT_MAX_RANK])
{
	uint32_t rank = 0;
	char *end;

	for (; *text; text = *end ? end + 1 : end)
		shape[rank++] = strtoull(text, &end, 10);
	return rank;
}

/* One word of numbers: value, how often, and what to add each time. */
static const char *take_word(const char *text, double *value, int64_t *count,
			     int64_t *step)
{
	char *end;

	*value = strtod(text, &end);
	*count = 1;
	*step = 0;
	if (strncmp(end, "..", 2) == 0 || strncmp(end - 1, "..", 2) == 0) {
		const char *last = strstr(text, "..") + 2;

		*value = (double)strtoll(text, NULL, 10);
		*count = strtoll(last, &end, 10) - (int64_t)*value + 1;
		*step = 1;
	} else if (*end == '*') {
		*count = strtoll(end + 1, &end, 10);
	}
	ck_assert_msg(end != text, "no number: %s", text);
	return end + strspn(end, " ");
}

static size_t numbers_of(const char *text, double *out)
{
	size_t n = 0;

	while (*text) {
		double value;
		int64_t count, step;

		text = take_word(text, &value, &count, &step);
		for (int64_t i = 0; i < count; i++) {
			ck_assert_uint_lt(n, MANY);
			out[n++] = step ? value + (double)i : value;
		}
	}
	return n;
}

static struct tt_nd nd_over(const char *element, const char *shape, size_t spare)
{
	uint64_t sizes[TT_MAX_RANK], bytes = element_of(element).bytes;
	uint32_t rank = shape_of(shape, sizes);
	struct tt_nd nd;

	for (uint32_t i = 0; i < rank; i++)
		bytes *= sizes[i];
	ck_assert_int_eq(tt_nd_c_order(&nd, element_of(element), rank, sizes,
				       keep_memory(calloc(1, bytes + spare))),
			 TT_OK);
	return nd;
}

struct tt_nd nd_of(const char *element, const char *shape, const char *numbers)
{
	static double values[MANY];
	struct tt_nd nd = nd_over(element, shape, 1), from;
	uint64_t size = 1;

	for (uint32_t i = 0; i < nd.rank; i++)
		size *= nd.shape[i];
	ck_assert_uint_eq(numbers_of(numbers, values), size);
	ck_assert_int_eq(
		tt_nd_c_order(&from, element_of("f8"), nd.rank, nd.shape, values), TT_OK);
	if (size > 0)
		tti_cast(&nd, &from);
	return nd;
}

/* ---- Arrays ---- */

struct tt_staged *full(const char *element, const char *shape, const char *chunk,
		       const char *fill)
{
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	uint64_t sizes[TT_MAX_RANK], chunks[TT_MAX_RANK];
	struct tt_staged *array;

	opts.element = element_of(element);
	opts.fill = nd_of(element, "", fill).data;
	opts.rank = shape_of(shape, sizes);
	opts.shape = sizes;
	opts.chunk = chunks;
	ck_assert_uint_eq(shape_of(chunk, chunks), opts.rank);
	want_ok(tt_staged_create(&array, &opts, &err));
	return keep(array);
}

struct tt_staged *base(const char *element, const char *shape, const char *chunk,
		       const char *fill, const char *numbers)
{
	struct tt_nd nd = nd_of(element, shape, numbers);
	uint64_t chunks[TT_MAX_RANK];
	struct tt_staged *array;

	shape_of(chunk, chunks);
	want_ok(tt_staged_from_array(
		&array,
		&(struct tt_staged_over){ sizeof(struct tt_staged_over), &nd, chunks,
					  nd_of(element, "", fill).data, TT_FROM_BASES,
					  false },
		&err));
	return keep(array);
}

struct tt_staged *tabled(const char *shape, const char *chunk, const struct tt_nd *slab,
			 const char *indices, const char *offsets)
{
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	uint64_t sizes[TT_MAX_RANK], chunks[TT_MAX_RANK];
	struct tt_base_slab one = { .element = slab->element,
				    .rank = slab->rank,
				    .memory = slab->data };
	struct tt_staged *array;
	char count[32];
	double values[64];

	memcpy(one.shape, slab->shape, sizeof(one.shape));
	memcpy(one.strides, slab->strides, sizeof(one.strides));
	snprintf(count, sizeof(count), "%zu", numbers_of(indices, values));
	opts.rank = shape_of(shape, sizes);
	shape_of(chunk, chunks);
	opts.shape = sizes;
	opts.chunk = chunks;
	opts.bases = &one;
	opts.base_count = 1;
	opts.slab_indices = nd_of("u8", count, indices).data;
	opts.slab_offsets = nd_of("u8", count, offsets).data;
	want_ok(tt_staged_create(&array, &opts, &err));
	return keep(array);
}

struct tt_staged *copy_of(struct tt_staged *array)
{
	struct tt_staged *copy;

	want_ok(tt_staged_copy(&copy, array, &err));
	return keep(copy);
}

/* ---- Doing ---- */

static const char *value_element(const struct tt_staged *array)
{
	return info_of(array).element.kind == TT_FLOAT ? "f8" : "i8";
}

int try_put(struct tt_staged *array, const char *index, const char *shape,
	    const char *numbers)
{
	struct tt_nd value = nd_of(value_element(array), shape, numbers);
	struct tt_index_list *list;
	int rc = tt_index_parse(&list, index, &err);

	if (rc < 0)
		return rc;
	rc = tt_staged_set(array, list->items, list->count, &value, &err);
	tt_index_free(list);
	return rc;
}

void put(struct tt_staged *array, const char *index, const char *shape,
	 const char *numbers)
{
	want_ok(try_put(array, index, shape, numbers));
}

int try_resize(struct tt_staged *array, const char *shape)
{
	uint64_t sizes[TT_MAX_RANK];

	ck_assert_uint_eq(shape_of(shape, sizes), info_of(array).rank);
	return tt_staged_resize(array, sizes, &err);
}

void resize(struct tt_staged *array, const char *shape)
{
	want_ok(try_resize(array, shape));
}

void load(struct tt_staged *array)
{
	want_ok(tt_staged_load(array, &err));
}

void commit(struct tt_staged *array)
{
	want_ok(tt_staged_commit(array, tt_staged_alloc_memory, NULL, 0, &err));
}

static int get(struct tt_staged *array, const char *index, struct tt_nd *out)
{
	struct tt_index_list *list;
	int rc = tt_index_parse(&list, index, &err);

	*out = (struct tt_nd){ .rank = 0 };
	if (rc < 0)
		return rc;
	rc = tt_staged_get(array, list->items, list->count, out, &err);
	tt_index_free(list);
	if (rc == TT_OK)
		keep_memory(out->data);
	else
		ck_assert_msg(err.code == rc && err.text[0], "an error without words");
	return rc;
}

int try_get(struct tt_staged *array, const char *index)
{
	struct tt_nd out;

	return get(array, index, &out);
}

/* ---- Text out ---- */

static char said[TEXT];
static size_t said_bytes;

static void TTI_PRINTF(1, 2) say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	said_bytes +=
		(size_t)vsnprintf(said + said_bytes, TEXT - said_bytes, format, args);
	va_end(args);
	ck_assert_uint_lt(said_bytes, TEXT);
}

static void say_shape(uint32_t rank, const uint64_t *shape)
{
	for (uint32_t i = 0; i < rank; i++)
		say("%s%" PRIu64, i ? "," : "", shape[i]);
}

static void say_nd(const struct tt_nd *nd)
{
	struct tt_nd wide = *nd;
	uint64_t size = 1;
	bool real = nd->element.kind == TT_FLOAT;

	said_bytes = 0;
	for (uint32_t i = 0; i < nd->rank; i++)
		size *= nd->shape[i];
	say_shape(nd->rank, nd->shape);
	if (nd->rank > 0)
		say(":");
	if (size == 0)
		return;
	ck_assert_int_eq(tt_nd_c_order(&wide, element_of(real ? "f8" : "i8"), nd->rank,
				       nd->shape, keep_memory(calloc(size, 8))),
			 TT_OK);
	tti_cast(&wide, nd);
	for (uint64_t i = 0; i < size; i++) {
		say("%s", nd->rank > 0 ? " " : "");
		if (real)
			say("%g", ((double *)wide.data)[i]);
		else
			say("%" PRId64, ((int64_t *)wide.data)[i]);
	}
}

void gives(struct tt_staged *array, const char *index, const char *expected)
{
	struct tt_nd out;

	want_ok(get(array, index, &out));
	say_nd(&out);
	ck_assert_msg(strcmp(said, expected) == 0, "[%s] gives \"%s\", expected \"%s\"",
		      index, said, expected);
}

const uint8_t *digest_at(struct tt_staged *array, uint64_t slab, uint64_t row)
{
	uint64_t count;
	const uint8_t *digests = tt_staged_digests(array, slab, &count);

	ck_assert_ptr_nonnull(digests);
	ck_assert_uint_lt(row, count);
	return digests + 32 * row;
}

struct tt_staged_info info_of(const struct tt_staged *array)
{
	struct tt_staged_info info;

	tt_staged_info(array, &info);
	return info;
}

void tables(struct tt_staged *array, const char *expected)
{
	struct tt_staged_info info = info_of(array);

	said_bytes = 0;
	said[0] = '\0';
	for (uint64_t i = 0; i < info.chunks; i++)
		say("%" PRIu64 " ", info.slab_indices[i]);
	say("/");
	for (uint64_t i = 0; i < info.chunks; i++)
		say(" %" PRIu64, info.slab_offsets[i]);
	ck_assert_str_eq(said, expected);
}

void slabs(struct tt_staged *array, const char *expected)
{
	struct tt_staged_info info = info_of(array);
	uint64_t shape[TT_MAX_RANK];

	said_bytes = 0;
	for (uint64_t i = 0; i < info.slabs; i++) {
		say("%s", i ? "; " : "");
		if (tt_staged_slab_shape(array, i, shape))
			say_shape(info.rank, shape);
		else
			say("None");
	}
	ck_assert_str_eq(said, expected);
}

static struct tt_staged_plan *plan_of(struct tt_staged *array, enum tt_staged_op op,
				      const char *argument)
{
	struct tt_index_list *list = NULL;
	struct tt_staged_plan *plan;
	uint64_t shape[TT_MAX_RANK];

	if (op == TT_PLAN_RESIZE)
		shape_of(argument, shape);
	else if (op <= TT_PLAN_SET)
		want_ok(tt_index_parse(&list, argument, &err));
	want_ok(tt_staged_plan(&plan, array,
			       &(struct tt_plan_what){ op, list ? list->items : NULL,
						       list ? list->count : 0, shape },
			       &err));
	tt_index_free(list);
	return plan;
}

void plan_is(struct tt_staged *array, enum tt_staged_op op, const char *argument,
	     const char *expected)
{
	struct tt_staged_plan *plan = plan_of(array, op, argument);
	size_t head = strcspn(expected, "\n");
	char *text;

	want_ok(tt_staged_plan_text(plan, false, &text, &err));
	ck_assert_str_eq(text, expected);
	free(text);
	want_ok(tt_staged_plan_text(plan, true, &text, &err));
	ck_assert(strlen(text) == head && memcmp(text, expected, head) == 0);
	free(text);
	tt_staged_plan_free(plan);
}

struct tt_plan_info plan_info(struct tt_staged *array, enum tt_staged_op op,
			      const char *argument)
{
	struct tt_staged_plan *plan = plan_of(array, op, argument);
	struct tt_plan_info info;

	tt_staged_plan_info(plan, &info);
	tt_staged_plan_free(plan);
	return info;
}

int help_run(const char *name, void (*add)(TCase *tc))
{
	Suite *suite = suite_create(name);
	TCase *tc = tcase_create(name);
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, help_end);
	tcase_set_timeout(tc, 120);
	add(tc);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
