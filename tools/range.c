/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of time.  Both bounds become counts of the field itself, rounded up where T is finer
 * than its unit: for whole counts v >= T and v >= ceil(T) are the same, v < T and v < ceil(T)
 * too. */
#include "range.h"

#include <stdlib.h>
#include <string.h>
#include <ticktail/time.h>

static const char *last_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

static bool is_time_name(const char *name)
{
	size_t len;

	name = last_name(name);
	len = strlen(name);
	return strcmp(name, "ts") == 0 || strcmp(name, "time") == 0 ||
	       (len > 3 && strcmp(name + len - 3, "_ns") == 0);
}

static bool is_integer(const struct tt_leaf *leaf)
{
	return leaf->kind == TT_INT || leaf->kind == TT_UINT;
}

static const struct tt_leaf *default_field(const struct tt_dtype *row)
{
	size_t count = tt_dtype_leaf_count(row);

	for (size_t i = 0; i < count; i++) {
		const struct tt_leaf *leaf = tt_dtype_leaf(row, i);

		if (leaf->rank == 0 && leaf->kind == TT_DATETIME)
			return leaf;
	}
	for (size_t i = 0; i < count; i++) {
		const struct tt_leaf *leaf = tt_dtype_leaf(row, i);

		if (leaf->rank == 0 && is_integer(leaf) && leaf->size == 8 &&
		    is_time_name(leaf->name))
			return leaf;
	}
	return NULL;
}

static int choose_field(const struct cli_ctx *ctx, const struct tt_dtype *row,
			const struct tt_leaf **out)
{
	const char *name = cli_opt_text(ctx, "time-field");

	*out = name ? NULL : default_field(row);
	for (size_t i = 0; name && i < tt_dtype_leaf_count(row); i++)
		if (strcmp(tt_dtype_leaf(row, i)->name, name) == 0)
			*out = tt_dtype_leaf(row, i);
	if (!*out && !name)
		return cli_usage(
			ctx, "no field is a time (M8, or 8-byte integers named ts, time "
			     "or *_ns): name one by --time-field");
	if (!*out)
		return cli_usage(ctx, "--time-field: no field '%s'", name);
	if ((*out)->rank != 0 || (!is_integer(*out) && (*out)->kind != TT_DATETIME))
		return cli_usage(ctx, "--time-field: %s is neither M8 nor an integer",
				 (*out)->name);
	return 0;
}

/* Before every count of the unit, or after: it was out of range. */
static __int128 beyond(const char *text, size_t len)
{
	int64_t seconds;

	if (tt_time_parse(text, len, TT_UNIT_s, 1, TT_TIME_ROUND_DOWN, &seconds) ==
		    TT_OK &&
	    seconds < 0)
		return INT64_MIN;
	return text[0] == '-' ? INT64_MIN : (__int128)UINT64_MAX + 1;
}

/* T as a count of the field; an exit status. */
static int read_bound(const struct cli_ctx *ctx, const char *option, const char *text,
		      const struct tt_leaf *leaf, __int128 *out)
{
	size_t len = strlen(text);
	bool is_count = leaf->kind != TT_DATETIME;
	uint64_t magnitude;
	int64_t count;
	int rc;

	if (cli_parse_count(text, &magnitude)) {
		*out = magnitude;
		return 0;
	}
	if (cli_parse_signed(text, len, &count)) {
		*out = count;
		return 0;
	}
	if (is_count && leaf->size != 8)
		return cli_usage(
			ctx,
			"--%s: '%s': field %s is no 8-byte integer of nanoseconds; "
			"give an integer in its own unit",
			option, text, leaf->name);
	rc = tt_time_parse(text, len, is_count ? TT_UNIT_ns : leaf->unit,
			   is_count ? 1 : leaf->unit_step, TT_TIME_ROUND_UP, &count);
	if (rc == TT_E_RANGE) {
		*out = beyond(text, len);
		return 0;
	}
	if (rc < 0 || count == TT_NAT)
		return cli_usage(ctx, "--%s: '%s' is no time (RFC 3339, or an integer)",
				 option, text);
	*out = count;
	return 0;
}

int cli_range_init(struct cli_range *range, const struct cli_ctx *ctx,
		   const struct tt_dtype *row, bool *given)
{
	const char *from = cli_opt_text(ctx, "from"), *to = cli_opt_text(ctx, "to");
	const struct tt_leaf *leaf;
	int status;

	*given = from || to;
	if (!*given && !cli_opt_text(ctx, "time-field"))
		return 0;
	status = choose_field(ctx, row, &leaf);
	if (status)
		return status;
	cli_value_init(&range->value, leaf);
	range->offset = leaf->offset;
	range->is_unsigned = leaf->kind == TT_UINT;
	range->skips_nat = leaf->kind == TT_DATETIME;
	range->min = INT64_MIN;
	range->max = UINT64_MAX;
	if (from)
		status = read_bound(ctx, "from", from, leaf, &range->min);
	if (status == 0 && to) {
		status = read_bound(ctx, "to", to, leaf, &range->max);
		range->max--;
	}
	return status;
}

bool cli_range_holds(const struct cli_range *range, const void *row)
{
	size_t size = range->value.size;
	int shift = (int)(64 - 8 * size);
	uint64_t bits = 0;
	int64_t count;

	cli_load(&range->value, (const char *)row + range->offset, &bits, size);
	if (range->is_unsigned)
		return bits >= range->min && bits <= range->max;
	count = (int64_t)(bits << shift) >> shift;
	if (range->skips_nat && count == TT_NAT)
		return false;
	return count >= range->min && count <= range->max;
}
