/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of a file the archive does not hold: what the counting rows of the ledger leave
 * open.  Invariant: the ranges ascend, do not touch and lie within the rows that the file has. */
#include "archive/history.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/num.h"

void tti_ranges_fini(struct tti_ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct tti_ranges){ 0 };
}

static int add_range(struct tti_ranges *ranges, uint64_t first, uint64_t end,
		     struct tt_error *err)
{
	if (ranges->count == ranges->room) {
		size_t room = ranges->room ? ranges->room * 2 : 8;
		void *grown = realloc(ranges->items, room * sizeof(*ranges->items));

		if (!grown)
			return tti_fail(err, -ENOMEM, "ranges of rows: out of memory");
		ranges->items = grown;
		ranges->room = room;
	}
	ranges->items[ranges->count++] = (struct tti_range){ first, end };
	return TT_OK;
}

static int collect(void *ctx, const struct tti_ledger_row *row, struct tt_error *err)
{
	return add_range(ctx, row->file_row, row->file_row + row->rows, err);
}

static int by_first(const void *a, const void *b)
{
	const struct tti_range *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Of ranges in order: what lies behind the cut, each row once. */
static uint64_t count_cut(const struct tti_ranges *held, uint64_t cut_at)
{
	uint64_t at = cut_at, count = 0;

	for (size_t i = 0; i < held->count; i++) {
		uint64_t first = tti_max_u64(held->items[i].first, at);

		if (held->items[i].end <= first)
			continue;
		count += held->items[i].end - first;
		at = held->items[i].end;
	}
	return count;
}

int tti_history_missing(struct tti_history *history, struct tti_item *item,
			bool any_dataset, struct tti_ranges *out, struct tt_error *err)
{
	struct tti_ranges held = { 0 };
	const struct tti_visitor collecting = { collect, &held, any_dataset };
	uint64_t at = item->start;
	int rc = tti_history_each(history, item, &collecting, err);

	*out = (struct tti_ranges){ 0 };
	if (rc == TT_OK && held.count > 1)
		qsort(held.items, held.count, sizeof(*held.items), by_first);
	for (size_t i = 0; rc == TT_OK && i < held.count && at < item->end; i++) {
		if (held.items[i].first > at)
			rc = add_range(out, at,
				       tti_min_u64(held.items[i].first, item->end), err);
		at = tti_max_u64(at, held.items[i].end);
	}
	if (rc == TT_OK && at < item->end)
		rc = add_range(out, at, item->end, err);
	out->cut = count_cut(&held, item->cut_at);
	tti_ranges_fini(&held);
	return rc;
}
