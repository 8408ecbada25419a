/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and ranging the time field.  Invariant: integers are read in the byte order of the
 * file; a range only ever widens. */
#include "archive/timefield.h"

#include <endian.h>
#include <string.h>

#include "base/compiler.h"

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && memcmp(text + n - m, end, m) == 0;
}

static bool is_named_time(const struct tt_leaf *leaf)
{
	return (leaf->kind == TT_INT || leaf->kind == TT_UINT) && leaf->size == 8 &&
	       (strcmp(leaf->name, "ts") == 0 || strcmp(leaf->name, "time") == 0 ||
		ends_in(leaf->name, "_ns"));
}

const struct tt_leaf *tti_time_leaf(const struct tt_dtype *dtype)
{
	size_t n = tt_dtype_leaf_count(dtype);

	for (size_t i = 0; i < n; i++)
		if (tt_dtype_leaf(dtype, i)->kind == TT_DATETIME)
			return tt_dtype_leaf(dtype, i);
	for (size_t i = 0; i < n; i++)
		if (is_named_time(tt_dtype_leaf(dtype, i)))
			return tt_dtype_leaf(dtype, i);
	return NULL;
}

static int64_t load(const struct tt_leaf *leaf, const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	if (leaf->order == '>')
		word = be64toh(word);
	if (leaf->kind == TT_UINT && word > INT64_MAX)
		return INT64_MAX;
	return (int64_t)word;
}

static void widen(struct tti_time_range *range, int64_t value)
{
	if (range->min == TT_NAT || value < range->min)
		range->min = value;
	if (range->max == TT_NAT || value > range->max)
		range->max = value;
}

void tti_time_range_scan(struct tti_time_range *range, const struct tt_leaf *leaf,
			 const void *elements, uint64_t count, size_t element_bytes)
{
	const uint8_t *at = (const uint8_t *)elements + leaf->offset;

	for (uint64_t i = 0; i < count; i++, at += element_bytes)
		for (uint64_t k = 0; k < leaf->count; k++) {
			int64_t value = load(leaf, at + k * 8);

			if (value != TT_NAT)
				widen(range, value);
		}
}

void tti_time_range_join(struct tti_time_range *range, const struct tti_time_range *other)
{
	if (other->min == TT_NAT)
		return;
	widen(range, other->min);
	widen(range, other->max);
}

/* A unit as num/den nanoseconds; den > 1 only below a nanosecond. */
static bool unit_ns(enum tt_unit unit, int64_t *num, int64_t *den)
{
	static const struct {
		enum tt_unit unit;
		int64_t num, den;
	} units[] = {
		{ TT_UNIT_W, 604800000000000, 1 }, { TT_UNIT_D, 86400000000000, 1 },
		{ TT_UNIT_h, 3600000000000, 1 },   { TT_UNIT_m, 60000000000, 1 },
		{ TT_UNIT_s, 1000000000, 1 },	   { TT_UNIT_ms, 1000000, 1 },
		{ TT_UNIT_us, 1000, 1 },	   { TT_UNIT_ns, 1, 1 },
		{ TT_UNIT_ps, 1, 1000 },	   { TT_UNIT_fs, 1, 1000000 },
		{ TT_UNIT_as, 1, 1000000000 },	   { TT_UNIT_NONE, 1, 1 },
	};

	for (size_t i = 0; i < TTI_LEN(units); i++)
		if (units[i].unit == unit) {
			*num = units[i].num;
			*den = units[i].den;
			return true;
		}
	return false;
}

bool tti_time_leaf_ns(const struct tt_leaf *leaf, const void *element, int64_t *out)
{
	int64_t value = load(leaf, (const uint8_t *)element + leaf->offset), num, den;

	if (value == TT_NAT || !unit_ns(leaf->unit, &num, &den) ||
	    __builtin_mul_overflow(
		    value, (int64_t)(leaf->unit_step ? leaf->unit_step : 1), &value))
		return false;
	if (den > 1) {
		*out = value / den - (value % den < 0);
		return true;
	}
	return !__builtin_mul_overflow(value, num, out);
}
