/* SPDX-License-Identifier: Apache-2.0 */
/* Which chunks a commit writes. */
#include "staged/help.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(numbers_are_equal_when_their_bytes_are)
{
	struct tt_staged *a = full("f8", "4", "1", "5");

	put(a, "...", "4", "0 -0 nan nan");
	commit(a);
	tables(a, "1 1 1 1 / 0 1 2 2");
}
END_TEST

START_TEST(what_is_new_is_written)
{
	struct tt_staged *a = full("i8", "6", "2", "42");
	uint64_t count;

	put(a, "0:2", "2", "1 2");
	put(a, "2:4", "2", "3 4");
	commit(a);
	tables(a, "1 1 0 / 0 2 0");
	slabs(a, "2; 4");
	gives(a, "...", "6: 1 2 3 4 42 42");
	ck_assert_ptr_nonnull(tt_staged_digests(a, 1, &count));
	ck_assert_uint_eq(count, 2);
	ck_assert(!info_of(a).has_changes);
}
END_TEST

START_TEST(equal_chunks_are_written_once)
{
	struct tt_staged *a = full("i8", "6", "2", "0");

	put(a, "...", "6", "7 8 7 8 9 9");
	commit(a);
	tables(a, "1 1 1 / 0 0 2");
	slabs(a, "2; 4");
	/* what a base holds is not written again, and the full chunk wins over both */
	put(a, "...", "6", "9 9 0 0 7 8");
	commit(a);
	tables(a, "1 0 1 / 2 0 0");
	slabs(a, "2; 4");
}
END_TEST

/* An array of int64 over one base slab whose digests are right. */
static struct tt_staged *committed(const char *shape, const char *numbers)
{
	struct tt_staged *a = full("i8", shape, "2", "0");

	put(a, "...", shape, numbers);
	commit(a);
	return a;
}

START_TEST(of_equal_base_chunks_the_first_is_taken)
{
	struct tt_nd nd = nd_of("i8", "6", "10 11 10 11 20 21");
	struct tt_staged *from = committed("6", "10 11 12 13 20 21"), *a;
	uint8_t digests[96];
	struct tt_base_slab slab = { .element = nd.element,
				     .rank = 1,
				     .shape = { 6 },
				     .memory = nd.data,
				     .strides = { 8 },
				     .digests = digests,
				     .digest_count = 3 };
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	const uint64_t shape[] = { 6 }, chunk[] = { 2 }, ones[] = { 1, 1, 1 };
	const uint64_t offsets[] = { 0, 2, 4 };

	memcpy(digests, digest_at(from, 1, 0), 96);
	memcpy(digests + 32, digests, 32);
	opts.rank = 1;
	opts.shape = shape;
	opts.chunk = chunk;
	opts.bases = &slab;
	opts.base_count = 1;
	opts.slab_indices = ones;
	opts.slab_offsets = offsets;
	ck_assert_int_eq(tt_staged_create(&a, &opts, NULL), TT_OK);
	keep(a);
	put(a, "4:", "2", "10 11");
	commit(a);
	tables(a, "1 1 1 / 0 2 0");
	slabs(a, "2; 6");
	/* a zero digest is no candidate: it is written again */
	memset(digests + 64, 0, 32);
	ck_assert_int_eq(tt_staged_create(&a, &opts, NULL), TT_OK);
	keep(a);
	put(a, "0:2", "2", "20 21");
	commit(a);
	tables(a, "2 1 1 / 0 2 4");
	slabs(a, "2; 6; 2");
	digests[64] = 1;
	slab.digest_count = 2;
	ck_assert_int_eq(tt_staged_create(&a, &opts, NULL), TT_E_MISMATCH);
}
END_TEST

START_TEST(an_unused_base_chunk_is_used_again)
{
	struct tt_staged *a = committed("6", "10 11 20 21 30 31");

	resize(a, "2");
	resize(a, "4");
	put(a, "2:", "2", "30 31");
	commit(a);
	tables(a, "1 1 / 0 4");
	slabs(a, "2; 6");
}
END_TEST

START_TEST(what_a_resize_dropped_is_not_written)
{
	struct tt_staged *a = full("i8", "6", "2", "0");

	put(a, "0:2", "2", "1 2");
	put(a, "2:6", "4", "3 4 5 6");
	resize(a, "4");
	commit(a);
	tables(a, "1 1 / 0 2");
	slabs(a, "2; 4");
	put(a, "2:4", "2", "8 9");
	resize(a, "2");
	ck_assert_uint_eq(info_of(a).staged, 1);
	commit(a);
	tables(a, "1 / 0");
	slabs(a, "2; 4");
	gives(a, "...", "2: 1 2");
}
END_TEST

START_TEST(edge_chunks_are_compared_as_they_are)
{
	struct tt_staged *a = full("i8", "4,5", "2,2", "0");
	struct tt_staged *b = full("i8", "5", "3", "1");

	put(a, "0:2,4", "2", "3 3");
	put(a, "2:4,4", "2", "3 3");
	put(a, "0,0", "", "1");
	commit(a);
	tables(a, "1 0 1 0 0 1 / 2 0 0 0 0 0");
	put(b, "...", "", "1");
	commit(b);
	tables(b, "0 1 / 0 0");
	gives(b, "...", "5: 1 1 1 1 1");
}
END_TEST

struct allocator {
	int calls, error;
	uint64_t rows;
	int64_t *memory;
};

static int prefilled(void *ctx, const struct tt_nd *like, struct tt_base_slab *out,
		     struct tt_error *err)
{
	struct allocator *it = ctx;
	int rc;

	it->calls++;
	it->rows = like->shape[0];
	if (it->error)
		return it->error;
	rc = tt_staged_alloc_memory(NULL, like, out, err);
	it->memory = out->memory;
	for (uint64_t i = 0; rc == TT_OK && i < like->shape[0]; i++)
		it->memory[i] = 1337;
	return rc;
}

START_TEST(beyond_the_edge_nothing_is_written)
{
	struct tt_staged *a = full("i8", "3", "2", "0");
	struct allocator it = { 0 };

	put(a, "2", "", "5");
	ck_assert_int_eq(tt_staged_commit(a, prefilled, &it, 1, NULL), TT_OK);
	ck_assert_int_eq(it.calls, 1);
	ck_assert_uint_eq(it.rows, 2);
	ck_assert_int_eq(it.memory[0], 5);
	ck_assert_int_eq(it.memory[1], 1337);
	ck_assert_int_eq(tt_staged_commit(a, prefilled, &it, 1, NULL), TT_OK);
	put(a, "2", "", "5");
	ck_assert_int_eq(tt_staged_commit(a, prefilled, &it, 1, NULL), TT_OK);
	ck_assert_int_eq(it.calls, 1);
}
END_TEST

START_TEST(survivors_lie_in_the_order_of_slabs)
{
	struct tt_staged *a = full("i8", "8", "2", "0");

	put(a, "6", "", "1");
	put(a, "0", "", "2");
	put(a, "2:4", "2", "2 0");
	commit(a);
	tables(a, "1 1 0 1 / 2 2 0 0");
	gives(a, "...", "8: 2 0 2 0 0 0 1 0");
	slabs(a, "2; 4");
}
END_TEST

START_TEST(plans_of_a_commit)
{
	struct tt_staged *a = full("i8", "2,10", "2,2", "0");

	put(a, "0,0:6", "6", "1 2 1 2 3 4");
	put(a, "1,7", "", "5");
	plan_is(a, TT_PLAN_HASH, NULL,
		"HashPlan<5 chunks over 3 slabs>\n"
		"  # hash 1 chunks of slabs[0]\n"
		"  hash_tables[0] = np.empty((1, sizeof(sha256)))\n"
		"  hash_tables[0][0] = hash(slabs[0][0:2, :2])\n"
		"  # hash 3 chunks of slabs[1]\n"
		"  hash_tables[1] = np.empty((3, sizeof(sha256)))\n"
		"  hash_tables[1][0] = hash(slabs[1][0:2, :2])\n"
		"  hash_tables[1][1] = hash(slabs[1][2:4, :2])\n"
		"  hash_tables[1][2] = hash(slabs[1][4:6, :2])\n"
		"  # hash 1 chunks of slabs[2]\n"
		"  hash_tables[2] = np.empty((1, sizeof(sha256)))\n"
		"  hash_tables[2][0] = hash(slabs[2][0:2, :2])");
	ck_assert_int_eq(tt_staged_hash(a, 0, NULL), TT_OK);
	plan_is(a, TT_PLAN_COMMIT, NULL,
		"CommitPlan<append 1 empty slabs, 3 slice transfers among 2 slab pairs, "
		"drop 0 slabs>\n"
		"  slabs.append(empty((6, 2)))  # slabs[1]\n"
		"  # 2 transfers from slabs[1] to slabs[3]\n"
		"  slabs[3][0:2, 0:2] = slabs[1][0:2, 0:2]\n"
		"  slabs[3][2:4, 0:2] = slabs[1][4:6, 0:2]\n"
		"  # 1 transfers from slabs[2] to slabs[3]\n"
		"  slabs[3][4:6, 0:2] = slabs[2][0:2, 0:2]\n"
		"slab_indices:\n[[1 1 1 1 0]]\n"
		"slab_offsets:\n[[0 0 2 4 0]]");
	commit(a);
	tables(a, "1 1 1 1 0 / 0 0 2 4 0");
}
END_TEST

/* ---- What goes wrong elsewhere ---- */

START_TEST(a_copy_commits_chunks_that_exist_already)
{
	struct tt_staged *a = full("i8", "4", "2", "0"), *b;

	put(a, "0:2", "2", "0 0");
	b = copy_of(a);
	commit(b);
	tables(b, "0 0 / 0 0");
	gives(b, "...", "4: 0 0 0 0");
	tables(a, "1 0 / 0 0");
	commit(a);
	tables(a, "0 0 / 0 0");
}
END_TEST

START_TEST(after_a_trailing_axis_shrank_a_commit_remaps)
{
	struct tt_staged *a = full("i8", "4,6", "2,2", "0");

	put(a, "...", "4,6", "0..23");
	commit(a);
	resize(a, "4,4");
	put(a, "2:,2:", "2,2", "0 1 6 7");
	commit(a);
	tables(a, "1 1 1 1 / 0 2 6 0");
	gives(a, "...", "4,4: 0 1 2 3 6 7 8 9 12 13 0 1 18 19 6 7");
}
END_TEST

START_TEST(a_commit_leaves_no_changes)
{
	struct tt_staged *a = full("i8", "4", "2", "0");

	resize(a, "5");
	ck_assert(info_of(a).resized && info_of(a).has_changes);
	commit(a);
	ck_assert(!info_of(a).resized && !info_of(a).has_changes);
	put(a, "0", "", "1");
	resize(a, "6");
	commit(a);
	ck_assert(!info_of(a).resized && !info_of(a).has_changes);
}
END_TEST

/* The digests that a failed commit made are of chunks that a resize then changes. */
START_TEST(digests_of_a_failed_commit_are_not_used)
{
	struct tt_staged *a = full("i8", "4", "4", "0");
	struct allocator it = { .error = -EIO };
	uint64_t count;

	put(a, "...", "4", "1 2 3 4");
	ck_assert_int_eq(tt_staged_commit(a, prefilled, &it, 1, NULL), -EIO);
	ck_assert_int_eq(it.calls, 1);
	tables(a, "1 / 0");
	ck_assert(info_of(a).has_changes);
	resize(a, "2");
	ck_assert_ptr_null(tt_staged_digests(a, 1, &count));
	resize(a, "4");
	it.error = 0;
	ck_assert_int_eq(tt_staged_commit(a, prefilled, &it, 1, NULL), TT_OK);
	gives(a, "...", "4: 1 2 0 0");
	/* with a digest of [1 2 3 4] this would be taken for what is there */
	put(a, "...", "4", "1 2 3 4");
	commit(a);
	gives(a, "...", "4: 1 2 3 4");
	put(a, "...", "4", "1 2 0 0");
	commit(a);
	tables(a, "1 / 0");
}
END_TEST

/* A slab that becomes a base slab in its place is not written by those that hold it as a
 * staged one. */
START_TEST(a_slab_kept_as_base_stays_as_it_is)
{
	struct tt_staged *a = full("i4", "4,4", "2,2", "0"), *b, *c;

	put(a, "...", "4,4", "1..16");
	b = copy_of(a);
	commit(a);
	tables(a, "1 1 1 1 / 0 2 4 6");
	ck_assert_uint_eq(info_of(a).bases, 1);
	c = copy_of(a);
	put(b, "0, 0", "", "99");
	put(c, "0, 0", "", "98");
	put(a, "3, 3", "", "97");
	gives(b, "0", "4: 99 2 3 4");
	gives(c, "0", "4: 98 2 3 4");
	gives(a, "0", "4: 1 2 3 4");
	gives(a, "3", "4: 13 14 15 97");
	commit(b);
	gives(b, "0", "4: 99 2 3 4");
	gives(a, "0", "4: 1 2 3 4");
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, a_slab_kept_as_base_stays_as_it_is);
	tcase_add_test(tc, numbers_are_equal_when_their_bytes_are);
	tcase_add_test(tc, what_is_new_is_written);
	tcase_add_test(tc, equal_chunks_are_written_once);
	tcase_add_test(tc, of_equal_base_chunks_the_first_is_taken);
	tcase_add_test(tc, an_unused_base_chunk_is_used_again);
	tcase_add_test(tc, what_a_resize_dropped_is_not_written);
	tcase_add_test(tc, edge_chunks_are_compared_as_they_are);
	tcase_add_test(tc, beyond_the_edge_nothing_is_written);
	tcase_add_test(tc, survivors_lie_in_the_order_of_slabs);
	tcase_add_test(tc, plans_of_a_commit);
	tcase_add_test(tc, a_copy_commits_chunks_that_exist_already);
	tcase_add_test(tc, after_a_trailing_axis_shrank_a_commit_remaps);
	tcase_add_test(tc, a_commit_leaves_no_changes);
	tcase_add_test(tc, digests_of_a_failed_commit_are_not_used);
}

int main(void)
{
	return help_run("staged commit", add);
}
