/* SPDX-License-Identifier: Apache-2.0 */
#include "json_text.h"

#include <stdint.h>
#include <string.h>

#include "value.h"

enum { UNIT_LENGTH = 6, PAIR_LENGTH = 2 * UNIT_LENGTH }; /* \uXXXX */

bool cli_json_is_plain(const char *line, size_t n)
{
	size_t i = 0;

	while (i < n && (unsigned char)line[i] < 0x80 && line[i] != '\\')
		i++;
	return i == n;
}

/* A character whose pair json-c takes for half of one. */
static bool looks_like_half(uint32_t code)
{
	return code > 0xffff && (code & 0xf800) == 0xd800;
}

static size_t put_unit(char *out, uint32_t unit)
{
	static const char digits[] = "0123456789abcdef";

	out[0] = '\\';
	out[1] = 'u';
	for (int i = 0; i < 4; i++)
		out[2 + i] = digits[unit >> (12 - 4 * i) & 15];
	return UNIT_LENGTH;
}

/* A character of two bytes becomes an escape of six, one of four an escape of twelve. */
static size_t put_wide(char *out, uint32_t code)
{
	size_t len = 0;

	if (code >= 0x10000) {
		len = put_unit(out, 0xd7c0 + (code >> 10));
		code = 0xdc00 + (code & 0x3ff);
	}
	return len + put_unit(out + len, code);
}

/* The value of \uXXXX at text; 0xffffffff when there is none. */
static uint32_t get_unit(const char *text, size_t n)
{
	uint32_t unit = 0;

	if (n < UNIT_LENGTH || text[0] != '\\' || text[1] != 'u')
		return UINT32_MAX;
	for (int i = 2; i < UNIT_LENGTH; i++) {
		int digit = cli_hex_digit(text[i]);

		if (digit < 0)
			return UINT32_MAX;
		unit = unit << 4 | (uint32_t)digit;
	}
	return unit;
}

/* The character of the two escapes at text; 0 when they are no pair. */
static uint32_t get_pair(const char *text, size_t n)
{
	uint32_t high = get_unit(text, n), low;

	if (high < 0xd800 || high > 0xdbff)
		return 0;
	low = get_unit(text + UNIT_LENGTH, n - UNIT_LENGTH);
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	return 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
}

/* The length of the escape at text, of which a pair is one, or of its ASCII character; *code:
 * the character of a pair, or 0. */
static size_t skip_ascii(const char *text, size_t n, uint32_t *code)
{
	*code = 0;
	if (*text != '\\' || n < 2)
		return 1;
	*code = get_pair(text, n);
	return *code ? PAIR_LENGTH : 2;
}

size_t cli_json_escape_wide(const char *line, size_t n, char *out, bool *lossy)
{
	size_t len = 0, i = 0;

	*lossy = false;
	while (i < n) {
		uint32_t code;
		size_t step;

		if ((unsigned char)line[i] < 0x80) {
			step = skip_ascii(line + i, n - i, &code);
			memcpy(out + len, line + i, step);
			len += step;
		} else {
			step = cli_utf8_get((const unsigned char *)line + i, n - i,
					    &code);
			len += put_wide(out + len, code);
		}
		*lossy |= looks_like_half(code);
		i += step;
	}
	return len;
}

size_t cli_json_join_pairs(const char *line, size_t n, char *out)
{
	size_t len = 0, i = 0;

	while (i < n) {
		uint32_t code;
		size_t step = skip_ascii(line + i, n - i, &code);

		if (looks_like_half(code)) {
			len += cli_utf8_put(code, (unsigned char *)out + len);
		} else {
			memcpy(out + len, line + i, step);
			len += step;
		}
		i += step;
	}
	return len;
}
