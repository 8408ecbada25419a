/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of every operation fails once.  Each time the call says so, values, tables
 * and slabs are as before, no memory is lost, and the same call then does its work. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "staged/failing.h"
#include "staged/help.h"

/* ---- Arrays to work on ---- */

struct fixture {
	struct tt_staged *array, *other; /* other shares with it */
	struct tt_staged *made;		 /* by the call */
	struct tt_staged_plan *plan;
	struct tt_nd out;
	char *text;
};

static struct tt_staged *mixed(void)
{
	struct tt_nd slab = nd_of("i8", "6,2", "1..12");
	struct tt_staged *a =
		tabled("5,5", "2,2", &slab, "1 0 1 1 1 0 0 1 1", "0 0 2 4 2 0 0 0 2");

	put(a, "0,0", "", "77");
	put(a, "3:,1", "2", "5 6");
	return a;
}

static struct tt_staged *trimmed(void)
{
	struct tt_nd nd = nd_of("i8", "5,5", "0..24");
	const uint64_t chunk[] = { 2, 2 };
	struct tt_staged *a;

	ck_assert_int_eq(
		tt_staged_from_array(
			&a,
			&(struct tt_staged_over){ sizeof(struct tt_staged_over), &nd,
						  chunk, NULL, TT_FROM_STAGED, false },
			NULL),
		TT_OK);
	return keep(a);
}

static struct tt_staged *lazy(void)
{
	struct tt_staged *a = full("i4", "5,5", "2,2", "3"), *b;

	put(a, "1:4,1:", "3,4", "1..12");
	put(a, "0,0", "", "77");
	ck_assert_int_eq(tt_staged_astype(&b, a, element_of("i8"), NULL, NULL), TT_OK);
	return keep(b);
}

static struct tt_staged *stored(void)
{
	struct tt_staged *a = full("i8", "5,5", "2,2", "3");

	put(a, "...", "5,5", "0..24");
	commit(a);
	put(a, "0", "", "9");
	put(a, "4,3:", "2", "5 6");
	return a;
}

static struct tt_staged *(*const setups[])(void) = { mixed, trimmed, lazy, stored };

/* ---- Calls ---- */

static int with_index(struct fixture *f, const char *text, const struct tt_nd *value)
{
	struct tt_index_list *list;
	int rc = tt_index_parse(&list, text, NULL);

	if (rc < 0)
		return rc;
	rc = value ? tt_staged_set(f->array, list->items, list->count, value, NULL)
		   : tt_staged_get(f->array, list->items, list->count, &f->out, NULL);
	tt_index_free(list);
	return rc;
}

/* made before the failures begin */
static struct tt_nd scalar, row, column, ints, rows;
static int64_t numbers[] = { -1, -2, -3, -4, -5, -6, -7, -8, -9, -10 };
static int32_t narrow[] = { -1, -2, -3, -4, -5 };

static void make_values(void)
{
	static const uint64_t five[] = { 5 }, by_one[] = { 5, 1 }, two[] = { 2, 5 };

	tt_nd_c_order(&scalar, element_of("i8"), 0, NULL, numbers);
	tt_nd_c_order(&row, element_of("i8"), 1, five, numbers);
	tt_nd_c_order(&column, element_of("i8"), 2, by_one, numbers);
	tt_nd_c_order(&ints, element_of("i4"), 1, five, narrow);
	tt_nd_c_order(&rows, element_of("i8"), 2, two, numbers);
}

static int get_all(struct fixture *f)
{
	return with_index(f, "...", NULL);
}

static int get_list(struct fixture *f)
{
	return with_index(f, ":,[4,0,0,3]", NULL);
}

static int set_point(struct fixture *f)
{
	return with_index(f, "2,2", &scalar);
}

static int set_all(struct fixture *f)
{
	return with_index(f, "...", &column);
}

static int set_list(struct fixture *f)
{
	return with_index(f, "[4,0,3,0,1],::2", &column);
}

static int set_converted(struct fixture *f)
{
	return with_index(f, "1:4", &ints);
}

static int resize_to(struct fixture *f, uint64_t a, uint64_t b)
{
	return tt_staged_resize(f->array, (uint64_t[]){ a, b }, NULL);
}

static int grow(struct fixture *f)
{
	return resize_to(f, 7, 8);
}

static int shrink(struct fixture *f)
{
	return resize_to(f, 3, 1);
}

static int reshape(struct fixture *f)
{
	return resize_to(f, 3, 6);
}

static int append(struct fixture *f)
{
	return tt_staged_append(f->array, &rows, NULL);
}

static int load_it(struct fixture *f)
{
	return tt_staged_load(f->array, NULL);
}

static int ignore(void *ctx, const struct tt_staged_change *change)
{
	(void)ctx;
	(void)change;
	return 0;
}

static int changes(struct fixture *f)
{
	return tt_staged_changes(f->array, ignore, NULL, NULL);
}

static int hash(struct fixture *f)
{
	return tt_staged_hash(f->array, 1, NULL);
}

static int commit_it(struct fixture *f)
{
	return tt_staged_commit(f->array, tt_staged_alloc_memory, NULL, 1, NULL);
}

static int copy(struct fixture *f)
{
	return tt_staged_copy(&f->made, f->array, NULL);
}

static int astype(struct fixture *f)
{
	return tt_staged_astype(&f->made, f->array, element_of("f4"), NULL, NULL);
}

static int refill(struct fixture *f)
{
	return tt_staged_refill(&f->made, f->array, numbers, NULL);
}

static int rechunk(struct fixture *f)
{
	return tt_staged_rechunk(&f->made, f->array, (uint64_t[]){ 3, 4 }, NULL);
}

static int create(struct fixture *f)
{
	static const uint8_t digests[64];
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	struct tt_base_slab base = { .element = rows.element,
				     .rank = 2,
				     .shape = { 2, 5 },
				     .memory = numbers,
				     .strides = { 40, 8 },
				     .digests = digests,
				     .digest_count = 2 };

	opts.rank = 2;
	opts.shape = (uint64_t[]){ 2, 5 };
	opts.chunk = (uint64_t[]){ 1, 5 };
	opts.bases = &base;
	opts.base_count = 1;
	opts.slab_indices = (uint64_t[]){ 1, 1 };
	opts.slab_offsets = (uint64_t[]){ 0, 1 };
	return tt_staged_create(&f->made, &opts, NULL);
}

static int from_array(struct fixture *f)
{
	return tt_staged_from_array(
		&f->made,
		&(struct tt_staged_over){ sizeof(struct tt_staged_over), &rows,
					  (uint64_t[]){ 1, 2 }, NULL, TT_FROM_BASES,
					  false },
		NULL);
}

static int plan(struct fixture *f, enum tt_staged_op op, uint64_t rows_wanted)
{
	struct tt_index list = { .kind = TT_INDEX_INTS,
				 .ints = (int64_t[]){ 4, 0, 3, 0 },
				 .count = 4 };
	int rc = tt_staged_plan(
		&f->plan, f->array,
		&(struct tt_plan_what){ op, &list, 1, (uint64_t[]){ rows_wanted, 6 } },
		NULL);

	if (rc == TT_OK)
		rc = tt_staged_plan_text(f->plan, false, &f->text, NULL);
	tt_staged_plan_free(f->plan);
	f->plan = NULL;
	return rc;
}

static int plan_get(struct fixture *f)
{
	return plan(f, TT_PLAN_GET, 0);
}

static int plan_set(struct fixture *f)
{
	return plan(f, TT_PLAN_SET, 0);
}

static int plan_resize(struct fixture *f)
{
	return plan(f, TT_PLAN_RESIZE, 8);
}

static int plan_load(struct fixture *f)
{
	return plan(f, TT_PLAN_LOAD, 0);
}

static int plan_changes(struct fixture *f)
{
	return plan(f, TT_PLAN_CHANGES, 0);
}

static int plan_hash(struct fixture *f)
{
	return plan(f, TT_PLAN_HASH, 0);
}

static int plan_commit(struct fixture *f)
{
	int rc = tt_staged_hash(f->array, 1, NULL);

	return rc < 0 ? rc : plan(f, TT_PLAN_COMMIT, 0);
}

#define CALL(name) \
	{ \
#name, name \
	}
static const struct {
	const char *name;
	int (*run)(struct fixture *f);
} calls[] = {
	CALL(get_all),	    CALL(get_list),	 CALL(set_point),   CALL(set_all),
	CALL(set_list),	    CALL(set_converted), CALL(grow),	    CALL(shrink),
	CALL(reshape),	    CALL(append),	 CALL(load_it),	    CALL(changes),
	CALL(hash),	    CALL(commit_it),	 CALL(copy),	    CALL(astype),
	CALL(refill),	    CALL(rechunk),	 CALL(create),	    CALL(from_array),
	CALL(plan_get),	    CALL(plan_set),	 CALL(plan_resize), CALL(plan_load),
	CALL(plan_changes), CALL(plan_hash),	 CALL(plan_commit),
};

/* ---- Comparing ---- */

struct snapshot {
	uint64_t shape[TT_MAX_RANK], chunks, slabs, bases, tables[2][64], bytes;
	unsigned char values[1024];
	bool there[16], has_changes, resized;
	/* last, since a view may have been copied to whole chunks before the failure */
	uint64_t slab_shapes[16][TT_MAX_RANK];
};

static void look(struct tt_staged *array, struct snapshot *out)
{
	struct tt_staged_info info = info_of(array);
	struct tt_nd all = { .rank = 0 };

	memset(out, 0, sizeof(*out));
	memcpy(out->shape, info.shape, info.rank * sizeof(*info.shape));
	out->chunks = info.chunks;
	out->slabs = info.slabs;
	out->bases = info.bases;
	out->bytes = info.bytes;
	out->has_changes = info.has_changes;
	out->resized = info.resized;
	ck_assert(info.chunks <= 64 && info.bytes <= sizeof(out->values) &&
		  info.slabs <= 16);
	memcpy(out->tables[0], info.slab_indices, info.chunks * 8);
	memcpy(out->tables[1], info.slab_offsets, info.chunks * 8);
	for (uint64_t i = 0; i < info.slabs; i++)
		out->there[i] = tt_staged_slab_shape(array, i, out->slab_shapes[i]);
	ck_assert_int_eq(tt_staged_get(array, NULL, 0, &all, NULL), TT_OK);
	memcpy(out->values, all.data, info.bytes);
	free(all.data);
}

static void same(struct tt_staged *array, const struct snapshot *before, const char *name,
		 long n)
{
	struct snapshot now;

	look(array, &now);
	ck_assert_msg(memcmp(&now, before, offsetof(struct snapshot, slab_shapes)) == 0,
		      "%s: something changed when allocation %ld failed", name, n);
}

static void drop_made(struct fixture *f)
{
	tt_staged_destroy(f->made);
	free(f->out.data);
	free(f->text);
	f->made = NULL;
	f->out.data = NULL;
	f->text = NULL;
}

/* ---- Allocation n of a call fails; false when it has no such ---- */

static struct snapshot before, other, after, wanted, made, made_wanted;

static void after_call(struct fixture *f, struct snapshot *array, struct snapshot *result)
{
	memset(result, 0, sizeof(*result));
	look(f->array, array);
	if (f->made)
		look(f->made, result);
	drop_made(f);
}

static bool fail_once(size_t call, size_t setup, bool shared, long n)
{
	struct fixture f = { .array = setups[setup]() };
	const char *name = calls[call].name;
	bool fired;
	int rc;

	if (shared)
		f.other = copy_of(f.array);
	look(f.array, &before);
	look(f.other ? f.other : f.array, &other);
	failing_arm(n);
	rc = calls[call].run(&f);
	fired = failing_disarm() && n > 0;
	ck_assert_msg(rc == (fired ? -ENOMEM : TT_OK),
		      "%s: %d when allocation %ld failed", name, rc, fired ? n : 0);
	if (fired) {
		ck_assert_msg(!f.made && !f.out.data && !f.text,
			      "%s: a result in spite of %d", name, rc);
		same(f.array, &before, name, n);
		ck_assert_int_eq(calls[call].run(&f), TT_OK);
	}
	after_call(&f, n > 0 ? &after : &wanted, n > 0 ? &made : &made_wanted);
	if (shared)
		same(f.other, &other, name, n);
	ck_assert_msg(n == 0 || (memcmp(&after, &wanted, sizeof(after)) == 0 &&
				 memcmp(&made, &made_wanted, sizeof(made)) == 0),
		      "%s: another outcome after allocation %ld failed", name, n);
	help_end();
	return fired;
}

static void fail_each(size_t call, size_t setup, bool shared)
{
	long before_all, n = 1;

	fail_once(call, setup, shared, 0);
	before_all = failing_living();
	while (fail_once(call, setup, shared, n)) {
		ck_assert_msg(failing_living() == before_all,
			      "%s: %ld pieces of memory lost at allocation %ld",
			      calls[call].name, failing_living() - before_all, n);
		n++;
	}
	printf("# %s, array %zu%s: %ld allocations\n", calls[call].name, setup,
	       shared ? " shared" : "", n - 1);
}

START_TEST(every_allocation_fails)
{
	make_values();
	for (size_t setup = 0; setup < sizeof(setups) / sizeof(setups[0]); setup++) {
		fail_each((size_t)_i, setup, false);
		fail_each((size_t)_i, setup, true);
	}
	fflush(stdout);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, every_allocation_fails, 0,
			    sizeof(calls) / sizeof(calls[0]));
}

int main(void)
{
	return help_run("staged allocations", add);
}
