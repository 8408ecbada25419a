/* SPDX-License-Identifier: Apache-2.0 */
/* Strict decimal parsers: all of the text or nothing. */
#include "base/num.h"

bool tti_parse_u64(const char *text, size_t len, uint64_t *out)
{
	uint64_t value = 0;

	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		if (tti_mul_overflow(value, 10, &value) ||
		    tti_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
			return false;
	}
	*out = value;
	return true;
}

bool tti_parse_i64(const char *text, size_t len, int64_t *out)
{
	bool negative = len > 0 && text[0] == '-';
	size_t sign = len > 0 && (text[0] == '-' || text[0] == '+');
	uint64_t magnitude;

	if (!tti_parse_u64(text + sign, len - sign, &magnitude))
		return false;
	if (magnitude > (uint64_t)INT64_MAX + negative)
		return false;
	*out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	return true;
}
